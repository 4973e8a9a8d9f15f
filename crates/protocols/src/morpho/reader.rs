//! Reads a MetaMorpho vault in three rounds: itself, its queues, its markets. What the vault's own previews say is compared.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::sol;

use super::{ADAPTIVE_CURVE_IRM, Holding, Irm, MAX_QUEUE, MORPHO_BLUE, Market, MetaMorpho};
use crate::{
    DecodeError, Discovered, PoolState, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
};

sol! {
    function asset() external view returns (address);
    function MORPHO() external view returns (address);
    function totalSupply() external view returns (uint256);
    function lastTotalAssets() external view returns (uint256);
    function lostAssets() external view returns (uint256);
    function fee() external view returns (uint96);
    function DECIMALS_OFFSET() external view returns (uint8);
    function supplyQueueLength() external view returns (uint256);
    function withdrawQueueLength() external view returns (uint256);
    function supplyQueue(uint256 index) external view returns (bytes32);
    function withdrawQueue(uint256 index) external view returns (bytes32);
    function config(bytes32 id) external view returns (uint184 cap, bool enabled, uint64 removableAt);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function market(bytes32 id) external view returns (uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares, uint128 lastUpdate, uint128 fee);
    function idToMarketParams(bytes32 id) external view returns (address loanToken, address collateralToken, address oracle, address irm, uint256 lltv);
    function position(bytes32 id, address user) external view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral);
    function rateAtTarget(bytes32 id) external view returns (int256);
    function getCurrentBlockTimestamp() external view returns (uint256);
}

/// An amount whose conversion shows every digit that matters.
const PROBE: U256 = U256::from_limbs([0xf00d_1234_5678_9abd, 0x0001_0fed_cba9_8765, 0, 0]);

/// Reads one vault.
#[derive(Clone, Debug)]
pub(super) struct MetaMorphoReader {
    vault: Address,
    asset: Address,
    asked: Vec<Question>,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Itself,
    Queues { read: Read, supplies: usize, withdrawals: usize },
    Markets { read: Read, supply: Vec<B256>, withdraw: Vec<B256> },
}

/// The first round's answers.
#[derive(Clone, Debug)]
struct Read {
    vault: MetaMorpho,
    timestamp: u64,
}

impl MetaMorphoReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        let asset = pool.coins.first().copied().unwrap_or_default();
        Self { vault: pool.key.contract, asset, asked: Vec::new(), stage: Stage::Itself }
    }

    /// The questions of the round that was asked last.
    pub(super) fn asked(&self) -> &[Question] {
        &self.asked
    }

    fn itself(&self, answers: &mut Answers<'_>) -> Result<Stage, DecodeError> {
        let vault = self.vault;
        if answers.next::<assetCall>()? != self.asset {
            return Err(impossible(vault, "another asset than was announced"));
        }
        if answers.next::<MORPHOCall>()? != MORPHO_BLUE {
            return Err(impossible(vault, "another Morpho than Morpho Blue"));
        }
        let total_shares = answers.next::<totalSupplyCall>()?;
        let last_total_assets = answers.next::<lastTotalAssetsCall>()?;
        let lost_assets = answers.try_next::<lostAssetsCall>();
        let fee_wad = U256::from(answers.next::<feeCall>()?);
        let offset = answers.next::<DECIMALS_OFFSETCall>()?;
        let virtual_shares = U256::from(10).checked_pow(U256::from(offset));
        let length = |queue: U256| {
            let length = usize::try_from(queue).ok().filter(|length| *length <= MAX_QUEUE);
            length.ok_or(impossible(vault, "a queue of more than 30 markets"))
        };
        let supplies = length(answers.next::<supplyQueueLengthCall>()?)?;
        let withdrawals = length(answers.next::<withdrawQueueLengthCall>()?)?;
        let morpho_balance_assets = answers.next::<balanceOfCall>()?;
        let timestamp = narrow(vault, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        let read = MetaMorpho {
            total_shares,
            last_total_assets,
            lost_assets,
            fee_wad,
            virtual_shares: virtual_shares.ok_or(impossible(vault, "an offset above 77"))?,
            holdings: Arc::new([]),
            supply_queue: Arc::new([]),
            morpho_balance_assets,
        };
        Ok(Stage::Queues { read: Read { vault: read, timestamp }, supplies, withdrawals })
    }

    fn markets(
        &self,
        read: Read,
        supply: &[B256],
        withdraw: &[B256],
        answers: &mut Answers<'_>,
    ) -> Result<MetaMorpho, DecodeError> {
        let Read { mut vault, timestamp } = read;
        let holdings = withdraw.iter().map(|id| self.holding(*id, answers)).collect::<Result<Vec<_>, _>>()?;
        let position = |id: &B256| withdraw.iter().position(|known| known == id).and_then(|n| u8::try_from(n).ok());
        // a market that is not in the withdraw queue is not enabled, and takes nothing
        vault.supply_queue = supply.iter().filter_map(position).collect();
        vault.holdings = holdings.into();
        let (shares, assets) = (answers.next::<previewDepositCall>()?, answers.next::<previewRedeemCall>()?);
        let overflow = impossible(self.vault, "numbers that overflow its arithmetic");
        let now = vault.at(timestamp).ok_or(overflow)?;
        if now.shares_of(PROBE) != Some(shares) || now.assets_of(PROBE) != Some(assets) {
            return Err(impossible(self.vault, "previews that do not follow from its markets"));
        }
        Ok(vault)
    }

    fn holding(&self, id: B256, answers: &mut Answers<'_>) -> Result<Holding, DecodeError> {
        let vault = self.vault;
        let market = answers.next::<marketCall>()?;
        let params = answers.next::<idToMarketParamsCall>()?;
        let position = answers.next::<positionCall>()?;
        let config = answers.next::<configCall>()?;
        // only asked for its own model's markets
        let rate = answers.try_next::<rateAtTargetCall>();
        let irm = match params.irm {
            Address::ZERO => Irm::None,
            ADAPTIVE_CURVE_IRM => {
                let rate = rate.and_then(|rate| u64::try_from(rate).ok());
                Irm::AdaptiveCurve { rate_at_target_wad: rate.ok_or(impossible(vault, "a rate out of range"))? }
            }
            _ => return Err(impossible(vault, "a market with an interest rate model that is not known")),
        };
        let fits =
            |value: u128| u64::try_from(value).map_err(|_| impossible(vault, "a market's number beyond 64 bits"));
        let shares = u128::try_from(position.supplyShares).map_err(|_| impossible(vault, "shares beyond 128 bits"))?;
        Ok(Holding {
            id,
            market: Market {
                supply_assets: market.totalSupplyAssets,
                supply_shares: market.totalSupplyShares,
                borrow_assets: market.totalBorrowAssets,
                last_update: fits(market.lastUpdate)?,
                fee_wad: fits(market.fee)?,
                irm,
            },
            shares,
            cap_assets: config.cap.to::<U256>(),
        })
    }

    fn ask_itself(&self) -> Vec<Question> {
        vec![
            ask(self.vault, &assetCall {}),
            ask(self.vault, &MORPHOCall {}),
            ask(self.vault, &totalSupplyCall {}),
            ask(self.vault, &lastTotalAssetsCall {}),
            ask(self.vault, &lostAssetsCall {}),
            ask(self.vault, &feeCall {}),
            ask(self.vault, &DECIMALS_OFFSETCall {}),
            ask(self.vault, &supplyQueueLengthCall {}),
            ask(self.vault, &withdrawQueueLengthCall {}),
            ask(self.asset, &balanceOfCall { owner: MORPHO_BLUE }),
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
        ]
    }

    fn ask_queues(&self, supplies: usize, withdrawals: usize) -> Vec<Question> {
        let supply = (0..supplies).map(|n| ask(self.vault, &supplyQueueCall { index: U256::from(n) }));
        let withdraw = (0..withdrawals).map(|n| ask(self.vault, &withdrawQueueCall { index: U256::from(n) }));
        supply.chain(withdraw).collect()
    }

    fn ask_markets(&self, ids: &[B256]) -> Vec<Question> {
        let user = self.vault;
        let of_market = |id: &B256| {
            let id = *id;
            [
                ask(MORPHO_BLUE, &marketCall { id }),
                ask(MORPHO_BLUE, &idToMarketParamsCall { id }),
                ask(MORPHO_BLUE, &positionCall { id, user }),
                ask(user, &configCall { id }),
                ask(ADAPTIVE_CURVE_IRM, &rateAtTargetCall { id }),
            ]
        };
        let mut asked: Vec<Question> = ids.iter().flat_map(of_market).collect();
        asked.push(ask(user, &previewDepositCall { assets: PROBE }));
        asked.push(ask(user, &previewRedeemCall { shares: PROBE }));
        asked
    }

    /// Asks the next round; one without questions is passed over.
    fn proceed(&mut self, stage: Stage) -> ReadProgress {
        self.stage = stage;
        self.asked = match &self.stage {
            Stage::Itself => self.ask_itself(),
            Stage::Queues { supplies: 0, withdrawals: 0, read } => {
                let (read, nothing) = (read.clone(), Vec::new());
                return self.proceed(Stage::Markets { read, supply: nothing.clone(), withdraw: nothing });
            }
            Stage::Queues { supplies, withdrawals, .. } => self.ask_queues(*supplies, *withdrawals),
            Stage::Markets { withdraw, .. } => self.ask_markets(withdraw),
        };
        ReadProgress::Calls(calls(&self.asked))
    }
}

impl StateReader for MetaMorphoReader {
    fn start(&mut self) -> ReadProgress {
        self.proceed(Stage::Itself)
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.vault, &asked, answers)?;
        match std::mem::replace(&mut self.stage, Stage::Itself) {
            Stage::Itself => {
                let next = self.itself(&mut answers)?;
                Ok(self.proceed(next))
            }
            Stage::Queues { read, supplies, withdrawals } => {
                let supply = (0..supplies).map(|_| answers.next::<supplyQueueCall>()).collect::<Result<Vec<_>, _>>()?;
                let withdraw =
                    (0..withdrawals).map(|_| answers.next::<withdrawQueueCall>()).collect::<Result<Vec<_>, _>>()?;
                Ok(self.proceed(Stage::Markets { read, supply, withdraw }))
            }
            Stage::Markets { read, supply, withdraw } => {
                let vault = self.markets(read, &supply, &withdraw, &mut answers)?;
                Ok(ReadProgress::Done(PoolState::Metamorpho(Arc::new(vault))))
            }
        }
    }
}
