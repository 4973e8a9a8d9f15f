//! Reads a share in one round, and compares what it says of its price. The prices that it stored last have no view: its storage
//! is read.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::sol;
use braid_primitives::WETH;

use super::{PRICE_ONE, State};
use crate::{
    DecodeError, PoolState, ReadProgress, StateReader,
    answers::{Answers, Question, ask, calls, impossible, narrow},
    fluid::{
        arith::small_bits,
        reading::{ETHER, LIQUIDITY, MULTICALL3, ask_status, ask_token, getCurrentBlockTimestampCall, paused, token},
    },
    storage::{ask_storage, storageAtCall},
};

sol! {
    function asset() external view returns (address);
    function totalSupply() external view returns (uint256);
    function getData() external view returns (address liquidity, address lendingFactory, address rewardsRateModel, address permit2, address rebalancer, bool rewardsActive, uint256 liquidityBalance, uint256 liquidityExchangePrice, uint256 tokenExchangePrice);
}

/// The slot of `_liquidityExchangePrice`, `_tokenExchangePrice`, `_lastUpdateTimestamp`, `_status`, `_rewardsActive`. Source: the
/// share's `Variables`.
const PRICES: u64 = 8;

/// Reads one share.
#[derive(Clone, Debug)]
pub(super) struct FTokenReader {
    share: Address,
    asset: Address,
    asked: Vec<Question>,
}

impl FTokenReader {
    pub(super) const fn new(share: Address, asset: Address) -> Self {
        Self { share, asset, asked: Vec::new() }
    }

    /// Of wrapped ether, ether lies in the layer.
    fn stored(&self) -> Address {
        if self.asset == WETH { ETHER } else { self.asset }
    }

    fn state(&self, answers: &mut Answers<'_>) -> Result<State, DecodeError> {
        let share = self.share;
        let odd = |what| Err(impossible(share, what));
        if answers.next::<assetCall>()? != self.asset {
            return odd("another asset than was announced");
        }
        let total_shares = answers.next::<totalSupplyCall>()?;
        let data = answers.next::<getDataCall>()?;
        let word = answers.next::<storageAtCall>()?;
        let now: u64 = narrow(share, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        let layer_paused = paused(answers)?;
        let (layer, _) = token(share, self.stored(), None, answers)?;
        if data.liquidity != LIQUIDITY {
            return odd("another liquidity layer");
        }
        if data.rewardsActive {
            return odd("rewards, which are not covered");
        }
        let state = State {
            stored: self.stored(),
            layer,
            layer_paused,
            token_price: small_bits(word, 64, 64),
            layer_price: small_bits(word, 0, 64),
            total_shares,
        };
        if U256::from(state.token_price) < PRICE_ONE || U256::from(state.layer_price) < PRICE_ONE {
            return odd("prices below one");
        }
        if state.price(now) != Ok(data.tokenExchangePrice) {
            return odd("a price that does not follow from the layer's");
        }
        Ok(state)
    }
}

impl StateReader for FTokenReader {
    fn start(&mut self) -> ReadProgress {
        let share = self.share;
        self.asked = vec![
            ask(share, &assetCall {}),
            ask(share, &totalSupplyCall {}),
            ask(share, &getDataCall {}),
            ask_storage(share, PRICES),
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
            ask_status(),
        ];
        self.asked.extend(ask_token(self.stored(), share, None));
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.share, &asked, answers)?;
        Ok(ReadProgress::Done(PoolState::FluidFToken(Box::new(self.state(&mut answers)?))))
    }
}
