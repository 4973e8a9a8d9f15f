//! Reads a pool's words: its own, and those of its tokens in the liquidity layer.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;

use super::{State, Storage};
use crate::{
    DecodeError, PoolState, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible},
    fluid::{
        arith::small_bits,
        reading::{LIQUIDITY, ask_status, ask_token, ask_word, paused, readFromStorageCall, slot, token},
    },
};

sol! {
    struct Implementations {
        address shift;
        address admin;
        address colOperations;
        address debtOperations;
        address perfectOperationsAndSwapOut;
    }
    struct ConstantViews {
        uint256 dexId;
        address liquidity;
        address factory;
        Implementations implementations;
        address deployerContract;
        address token0;
        address token1;
        bytes32 supplyToken0Slot;
        bytes32 borrowToken0Slot;
        bytes32 supplyToken1Slot;
        bytes32 borrowToken1Slot;
        bytes32 exchangePriceToken0Slot;
        bytes32 exchangePriceToken1Slot;
        uint256 oracleMapping;
    }
    function constantsView() external view returns (ConstantViews memory constants);
    function centerPrice() external returns (uint256 price);
}

/// Slots of a pool: `dexVariables`, `dexVariables2`, `_rangeShift` and `_thresholdShift`, `_centerPriceShift`. Source: `DexSlotsLink`.
const POOL_SLOTS: [u64; 4] = [0, 1, 7, 8];

/// Reads one pool in a round; where a contract tells its centre price, and is not known from before, a second asks that. What never
/// changes is not asked again of a pool that was read before.
#[derive(Clone, Debug)]
pub(super) struct DexReader {
    pool: Address,
    tokens: [Address; 2],
    /// The pool when it was read last.
    was: Option<Box<Storage>>,
    asked: Vec<Question>,
    /// What the first round gave.
    read: Option<Storage>,
}

impl DexReader {
    pub(super) const fn new(pool: Address, tokens: [Address; 2], was: Option<Box<Storage>>) -> Self {
        Self { pool, tokens, was, asked: Vec::new(), read: None }
    }

    /// Decimals of a token, where they are known.
    fn decimals(&self, place: usize) -> Option<u8> {
        self.was.as_ref().and_then(|was| was.decimals.get(place).copied())
    }

    /// Who told the centre when the pool was read last.
    fn told_by(&self) -> Option<Address> {
        self.was.as_ref().and_then(|was| was.centre_told_by)
    }

    /// The pool's words, and who made its centre price contract, where that was asked.
    fn storage(&self, answers: &mut Answers<'_>) -> Result<(Storage, Option<Address>), DecodeError> {
        let mut word = || answers.next::<readFromStorageCall>();
        let (variables, variables2, shifts, centre_shift) = (word()?, word()?, word()?, word()?);
        let deployer = match self.was {
            Some(_) => None,
            None => Some(self.deployer(answers)?),
        };
        let layer_paused = paused(answers)?;
        let (token0, decimals0) = token(self.pool, self.tokens[0], self.decimals(0), answers)?;
        let (token1, decimals1) = token(self.pool, self.tokens[1], self.decimals(1), answers)?;
        let storage = Storage {
            addresses: self.tokens,
            decimals: [decimals0, decimals1],
            variables,
            variables2,
            shifts,
            centre_shift,
            external_centre: None,
            centre_told_by: None,
            tokens: [token0, token1],
            layer_paused,
        };
        Ok((storage, deployer))
    }

    /// Who makes the pool's contracts, if it is of the layer and the tokens that it should be of.
    fn deployer(&self, answers: &mut Answers<'_>) -> Result<Address, DecodeError> {
        let constants = answers.next::<constantsViewCall>()?;
        if constants.liquidity != LIQUIDITY || [constants.token0, constants.token1] != self.tokens {
            return Err(impossible(self.pool, "another liquidity layer, or other tokens"));
        }
        Ok(constants.deployerContract)
    }

    fn proceed(&mut self, asked: Vec<Question>) -> ReadProgress {
        self.asked = asked;
        ReadProgress::Calls(calls(&self.asked))
    }
}

/// As the how manieth contract of the deployer the one was made that tells the centre; zero for none.
fn nonce_of(variables2: U256) -> u64 {
    small_bits(variables2, 112, 30)
}

fn done(storage: Storage) -> ReadProgress {
    ReadProgress::Done(PoolState::FluidDexT1(State::Storage(Box::new(storage))))
}

impl StateReader for DexReader {
    fn start(&mut self) -> ReadProgress {
        self.read = None;
        let mut asked: Vec<Question> = POOL_SLOTS.iter().map(|number| ask_word(self.pool, slot(*number))).collect();
        asked.extend(self.was.is_none().then(|| ask(self.pool, &constantsViewCall {})));
        asked.push(ask_status());
        for (place, token) in self.tokens.into_iter().enumerate() {
            asked.extend(ask_token(token, self.pool, self.decimals(place)));
        }
        asked.extend(self.told_by().map(|teller| ask(teller, &centerPriceCall {})));
        self.proceed(asked)
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.pool, &asked, answers)?;
        if let Some(mut storage) = self.read.take() {
            let price: U256 = answers.next::<centerPriceCall>()?;
            storage.external_centre = Some(price);
            return Ok(done(storage));
        }
        let (mut storage, deployer) = self.storage(&mut answers)?;
        let nonce = nonce_of(storage.variables2);
        if nonce == 0 {
            return Ok(done(storage));
        }
        let Some(deployer) = deployer else {
            let same = self.was.as_ref().is_some_and(|was| nonce_of(was.variables2) == nonce);
            if let Some(teller) = self.told_by().filter(|_| same) {
                storage.centre_told_by = Some(teller);
                storage.external_centre = Some(answers.next::<centerPriceCall>()?);
                return Ok(done(storage));
            }
            // another contract tells the centre now: everything is asked
            self.was = None;
            return Ok(self.start());
        };
        // the contract that the deployer made as its n-th. Source: `AddressCalcs.addressCalc`
        let teller = deployer.create(nonce);
        storage.centre_told_by = Some(teller);
        self.read = Some(storage);
        Ok(self.proceed(vec![ask(teller, &centerPriceCall {})]))
    }
}

/// Asks the contract that tells a pool's centre price, and nothing else.
#[derive(Clone, Debug)]
pub(super) struct CentreReader {
    pool: Address,
    storage: Box<Storage>,
    asked: Vec<Question>,
}

impl CentreReader {
    pub(super) const fn new(pool: Address, storage: Box<Storage>) -> Self {
        Self { pool, storage, asked: Vec::new() }
    }
}

impl StateReader for CentreReader {
    fn start(&mut self) -> ReadProgress {
        let Some(teller) = self.storage.centre_told_by else { return done(*self.storage.clone()) };
        self.asked = vec![ask(teller, &centerPriceCall {})];
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let price = Answers::new(self.pool, &self.asked, answers)?.next::<centerPriceCall>()?;
        Ok(done(Storage { external_centre: Some(price), ..*self.storage.clone() }))
    }
}
