//! Reads a Vault V2: itself, its adapters, what each of them has, and the markets. What its previews say is compared.
//!
//! Known adapters are those of Morpho Blue's markets, in both versions, and of MetaMorpho vaults; a vault with another is left out.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolValue, sol};
use arrayvec::ArrayVec;

use super::{Adapter, Cap, Liquidity, MAX_CAPS, VaultV2};
use crate::{
    DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader,
    answers::{Answers, MULTICALL3, Question, ask, calls, impossible, narrow},
    morpho::{ADAPTIVE_CURVE_IRM, Holding, Irm, MORPHO_BLUE, Market, reader::MetaMorphoReader},
};

sol! {
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }

    // of a vault
    function asset() external view returns (address);
    function totalSupply() external view returns (uint256);
    function virtualShares() external view returns (uint256);
    function _totalAssets() external view returns (uint128);
    function lastUpdate() external view returns (uint64);
    function maxRate() external view returns (uint64);
    function performanceFee() external view returns (uint96);
    function managementFee() external view returns (uint96);
    function receiveSharesGate() external view returns (address);
    function sendSharesGate() external view returns (address);
    function receiveAssetsGate() external view returns (address);
    function sendAssetsGate() external view returns (address);
    function liquidityAdapter() external view returns (address);
    function liquidityData() external view returns (bytes memory);
    function adaptersLength() external view returns (uint256);
    function adapters(uint256 index) external view returns (address);
    function allocation(bytes32 id) external view returns (uint256);
    function absoluteCap(bytes32 id) external view returns (uint256);
    function relativeCap(bytes32 id) external view returns (uint256);
    function previewDeposit(uint256 assets) external view returns (uint256);
    function previewRedeem(uint256 shares) external view returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function getCurrentBlockTimestamp() external view returns (uint256);

    // of adapters
    function morpho() external view returns (address);
    function marketIdsLength() external view returns (uint256);
    function marketIds(uint256 index) external view returns (bytes32);
    function supplyShares(bytes32 id) external view returns (uint256);
    function marketParamsListLength() external view returns (uint256);
    function marketParamsList(uint256 index) external view returns (address loanToken, address collateralToken, address oracle, address irm, uint256 lltv);
    function morphoVaultV1() external view returns (address);

    // of Morpho Blue
    function market(bytes32 id) external view returns (uint128 totalSupplyAssets, uint128 totalSupplyShares, uint128 totalBorrowAssets, uint128 totalBorrowShares, uint128 lastUpdate, uint128 fee);
    function idToMarketParams(bytes32 id) external view returns (address loanToken, address collateralToken, address oracle, address irm, uint256 lltv);
    function position(bytes32 id, address user) external view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral);
    function rateAtTarget(bytes32 id) external view returns (int256);
}

/// An amount whose conversion shows every digit that matters.
const PROBE: U256 = U256::from_limbs([0xf00d_1234_5678_9abd, 0x0001_0fed_cba9_8765, 0, 0]);
/// More adapters, or markets of one, are not read.
const MOST: usize = 64;

/// Reads one vault.
#[derive(Clone, Debug)]
pub(super) struct VaultV2Reader {
    vault: Address,
    asset: Address,
    asked: Vec<Question>,
    stage: Stage,
    read: Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Itself,
    Adapters,
    Kinds,
    Contents,
    Markets,
}

/// What is known so far.
#[derive(Clone, Debug, Default)]
struct Read {
    total_shares: U256,
    virtual_shares: U256,
    total_assets: U256,
    last_update: u64,
    max_rate_wad: u64,
    fees_wad: [U256; 2],
    gated: [bool; 2],
    idle_assets: U256,
    morpho_balance_assets: U256,
    timestamp: u64,
    liquidity: Option<(Address, Bytes)>,
    count: usize,
    adapters: Vec<Found>,
}

/// An adapter, and what it turned out to be.
#[derive(Clone, Debug)]
struct Found {
    address: Address,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Unknown,
    /// Of markets; `own_shares` where the adapter counts its shares itself.
    Markets {
        own_shares: bool,
        count: usize,
        ids: Vec<B256>,
    },
    /// Of a MetaMorpho vault, which is read by its own reader, round by round.
    Vault(Box<Nested>),
}

#[derive(Clone, Debug)]
struct Nested {
    vault: Address,
    reader: MetaMorphoReader,
    state: Option<Arc<super::MetaMorpho>>,
    /// How many of the questions of this round are its own.
    asked: usize,
    shares: U256,
    allocated: bool,
}

/// The id of what an adapter has in all, as its vault counts.
fn adapter_id(adapter: Address) -> B256 {
    keccak256(("this".to_owned(), adapter).abi_encode_params())
}

fn market_id(params: &MarketParams) -> B256 {
    keccak256(params.abi_encode())
}

impl VaultV2Reader {
    pub(super) fn new(pool: &Discovered) -> Self {
        let asset = pool.coins.first().copied().unwrap_or_default();
        Self { vault: pool.key.contract, asset, asked: Vec::new(), stage: Stage::Itself, read: Read::default() }
    }

    const fn odd(&self, what: &'static str) -> DecodeError {
        impossible(self.vault, what)
    }

    fn ask_itself(&self) -> Vec<Question> {
        let vault = self.vault;
        vec![
            ask(vault, &assetCall {}),
            ask(vault, &totalSupplyCall {}),
            ask(vault, &virtualSharesCall {}),
            ask(vault, &_totalAssetsCall {}),
            ask(vault, &lastUpdateCall {}),
            ask(vault, &maxRateCall {}),
            ask(vault, &performanceFeeCall {}),
            ask(vault, &managementFeeCall {}),
            ask(vault, &receiveSharesGateCall {}),
            ask(vault, &sendSharesGateCall {}),
            ask(vault, &receiveAssetsGateCall {}),
            ask(vault, &sendAssetsGateCall {}),
            ask(vault, &liquidityAdapterCall {}),
            ask(vault, &liquidityDataCall {}),
            ask(vault, &adaptersLengthCall {}),
            ask(self.asset, &balanceOfCall { owner: vault }),
            ask(self.asset, &balanceOfCall { owner: MORPHO_BLUE }),
            ask(MULTICALL3, &getCurrentBlockTimestampCall {}),
        ]
    }

    fn itself(&self, answers: &mut Answers<'_>) -> Result<Read, DecodeError> {
        if answers.next::<assetCall>()? != self.asset {
            return Err(self.odd("another asset than was announced"));
        }
        let mut read = Read {
            total_shares: answers.next::<totalSupplyCall>()?,
            virtual_shares: answers.next::<virtualSharesCall>()?,
            total_assets: U256::from(answers.next::<_totalAssetsCall>()?),
            last_update: answers.next::<lastUpdateCall>()?,
            max_rate_wad: answers.next::<maxRateCall>()?,
            ..Read::default()
        };
        read.fees_wad =
            [U256::from(answers.next::<performanceFeeCall>()?), U256::from(answers.next::<managementFeeCall>()?)];
        let receive_shares = answers.next::<receiveSharesGateCall>()?;
        let send_shares = answers.next::<sendSharesGateCall>()?;
        let receive_assets = answers.next::<receiveAssetsGateCall>()?;
        let send_assets = answers.next::<sendAssetsGateCall>()?;
        if receive_shares != Address::ZERO && read.fees_wad.iter().any(|fee| !fee.is_zero()) {
            // the gate also says who is paid fees
            return Err(self.odd("a gate on shares and fees"));
        }
        let gated = |gates: [Address; 2]| gates.iter().any(|gate| *gate != Address::ZERO);
        read.gated = [gated([receive_shares, send_assets]), gated([send_shares, receive_assets])];
        let (adapter, data) = (answers.next::<liquidityAdapterCall>()?, answers.next::<liquidityDataCall>()?);
        read.liquidity = (adapter != Address::ZERO).then_some((adapter, data));
        read.count = self.few(answers.next::<adaptersLengthCall>()?)?;
        read.idle_assets = answers.next::<balanceOfCall>()?;
        read.morpho_balance_assets = answers.next::<balanceOfCall>()?;
        read.timestamp = narrow(self.vault, answers.next::<getCurrentBlockTimestampCall>()?, "a time beyond 64 bits")?;
        Ok(read)
    }

    fn few(&self, count: U256) -> Result<usize, DecodeError> {
        usize::try_from(count).ok().filter(|count| *count <= MOST).ok_or(self.odd("more than 64 adapters or markets"))
    }

    fn ask_kinds(&self) -> Vec<Question> {
        let of_adapter = |found: &Found| {
            let adapter = found.address;
            [
                ask(adapter, &morphoCall {}),
                ask(adapter, &marketIdsLengthCall {}),
                ask(adapter, &marketParamsListLengthCall {}),
                ask(adapter, &morphoVaultV1Call {}),
            ]
        };
        self.read.adapters.iter().flat_map(of_adapter).collect()
    }

    fn kind(&self, answers: &mut Answers<'_>) -> Result<Kind, DecodeError> {
        let blue = answers.try_next::<morphoCall>();
        let (ids, list) = (answers.try_next::<marketIdsLengthCall>(), answers.try_next::<marketParamsListLengthCall>());
        let inner = answers.try_next::<morphoVaultV1Call>();
        let count = match (blue, ids, list, inner) {
            (Some(MORPHO_BLUE), Some(count), None, None) => (true, count),
            (Some(MORPHO_BLUE), None, Some(count), None) => (false, count),
            (None, None, None, Some(vault)) => {
                let inner = Discovered {
                    key: vault.into(),
                    product: Product::Metamorpho,
                    coins: vec![self.asset, vault],
                    fee_pips: 0,
                    tick_spacing: 0,
                };
                let reader = MetaMorphoReader::new(&inner);
                let nothing = U256::ZERO;
                return Ok(Kind::Vault(Box::new(Nested {
                    vault,
                    reader,
                    state: None,
                    asked: 0,
                    shares: nothing,
                    allocated: false,
                })));
            }
            _ => return Err(self.odd("an adapter that is not known")),
        };
        Ok(Kind::Markets { own_shares: count.0, count: self.few(count.1)?, ids: Vec::new() })
    }

    /// Markets' ids, and the first round of nested vaults.
    fn ask_contents(&mut self) -> Vec<Question> {
        let mut asked = Vec::new();
        let outer = self.vault;
        for found in &mut self.read.adapters {
            let adapter = found.address;
            match &mut found.kind {
                Kind::Markets { own_shares: true, count, .. } => {
                    asked.extend((0..*count).map(|n| ask(adapter, &marketIdsCall { index: U256::from(n) })));
                }
                Kind::Markets { count, .. } => {
                    asked.extend((0..*count).map(|n| ask(adapter, &marketParamsListCall { index: U256::from(n) })));
                }
                Kind::Vault(nested) => {
                    asked.push(ask(nested.vault, &balanceOfCall { owner: adapter }));
                    asked.push(ask(outer, &allocationCall { id: adapter_id(adapter) }));
                    nested.begin(&mut asked);
                }
                Kind::Unknown => {}
            }
        }
        asked
    }

    /// Of each market what it is and what the adapter has there; the caps of liquidity; the next round of nested vaults.
    fn ask_markets(&mut self) -> Vec<Question> {
        let mut asked = Vec::new();
        for found in &self.read.adapters {
            let adapter = found.address;
            let Kind::Markets { own_shares, ids, .. } = &found.kind else { continue };
            for id in ids.iter().copied() {
                asked.push(ask(MORPHO_BLUE, &marketCall { id }));
                asked.push(ask(MORPHO_BLUE, &idToMarketParamsCall { id }));
                asked.push(ask(ADAPTIVE_CURVE_IRM, &rateAtTargetCall { id }));
                asked.push(if *own_shares {
                    ask(adapter, &supplySharesCall { id })
                } else {
                    ask(MORPHO_BLUE, &positionCall { id, user: adapter })
                });
            }
        }
        for id in self.cap_ids() {
            asked.push(ask(self.vault, &allocationCall { id }));
            asked.push(ask(self.vault, &absoluteCapCall { id }));
            asked.push(ask(self.vault, &relativeCapCall { id }));
        }
        asked.push(ask(self.vault, &previewDepositCall { assets: PROBE }));
        asked.push(ask(self.vault, &previewRedeemCall { shares: PROBE }));
        asked
    }

    /// Where deposits go, if that is a market.
    fn liquidity_market(&self) -> Option<MarketParams> {
        let (adapter, data) = self.read.liquidity.as_ref()?;
        let found = self.read.adapters.iter().find(|found| found.address == *adapter)?;
        let Kind::Markets { .. } = found.kind else { return None };
        MarketParams::abi_decode_validate(data).ok()
    }

    /// What an allocation to the liquidity adapter counts towards, the narrowest last.
    fn cap_ids(&self) -> Vec<B256> {
        let Some((adapter, _)) = self.read.liquidity else { return Vec::new() };
        let mut ids = vec![adapter_id(adapter)];
        if let Some(params) = self.liquidity_market() {
            ids.push(keccak256(("collateralToken".to_owned(), params.collateralToken).abi_encode_params()));
            ids.push(keccak256(("this/marketParams".to_owned(), adapter, params).abi_encode_params()));
        }
        ids
    }

    fn take_contents(&mut self, answers: &mut Answers<'_>) -> Result<(), DecodeError> {
        let market = self.liquidity_market();
        let chosen = self.read.liquidity.as_ref().map(|(adapter, _)| *adapter);
        for found in &mut self.read.adapters {
            match &mut found.kind {
                Kind::Markets { own_shares, count, ids } => {
                    for _ in 0..*count {
                        ids.push(if *own_shares {
                            answers.next::<marketIdsCall>()?
                        } else {
                            let params = answers.next::<marketParamsListCall>()?;
                            market_id(&MarketParams {
                                loanToken: params.loanToken,
                                collateralToken: params.collateralToken,
                                oracle: params.oracle,
                                irm: params.irm,
                                lltv: params.lltv,
                            })
                        });
                    }
                    // deposits may go where nothing is yet
                    let fresh = market.as_ref().filter(|_| chosen == Some(found.address)).map(market_id);
                    ids.extend(fresh.filter(|id| !ids.contains(id)));
                }
                Kind::Vault(nested) => {
                    nested.shares = answers.next::<balanceOfCall>()?;
                    nested.allocated = !answers.next::<allocationCall>()?.is_zero();
                    nested.feed(answers)?;
                }
                Kind::Unknown => {}
            }
        }
        Ok(())
    }

    fn take_markets(&self, answers: &mut Answers<'_>) -> Result<VaultV2, DecodeError> {
        let mut adapters = Vec::with_capacity(self.read.adapters.len());
        for found in &self.read.adapters {
            adapters.push(match &found.kind {
                Kind::Markets { own_shares, ids, .. } => {
                    let holdings = ids.iter().map(|id| self.holding(*id, *own_shares, answers));
                    Adapter::Markets(holdings.collect::<Result<Vec<_>, _>>()?.into())
                }
                Kind::Vault(nested) => {
                    let vault = nested.state.clone().ok_or(self.odd("a vault that was not read"))?;
                    let Nested { shares, allocated, vault: address, .. } = **nested;
                    Adapter::Vault { address, vault, shares, allocated }
                }
                Kind::Unknown => return Err(self.odd("an adapter that is not known")),
            });
        }
        let mut caps = ArrayVec::<Cap, MAX_CAPS>::new();
        for _ in self.cap_ids() {
            let allocation = answers.next::<allocationCall>()?;
            let absolute_assets = answers.next::<absoluteCapCall>()?;
            let relative_wad = answers.next::<relativeCapCall>()?;
            caps.push(Cap { allocation, absolute_assets, relative_wad });
        }
        let read = &self.read;
        let vault = VaultV2 {
            total_shares: read.total_shares,
            virtual_shares: read.virtual_shares,
            total_assets: read.total_assets,
            last_update: read.last_update,
            max_rate_wad: read.max_rate_wad,
            performance_fee_wad: read.fees_wad[0],
            management_fee_wad: read.fees_wad[1],
            idle_assets: read.idle_assets,
            adapters: adapters.into(),
            liquidity: self.liquidity(caps)?,
            morpho_balance_assets: read.morpho_balance_assets,
            deposits_gated: read.gated[0],
            redemptions_gated: read.gated[1],
        };
        let (shares, assets) = (answers.next::<previewDepositCall>()?, answers.next::<previewRedeemCall>()?);
        let now = vault.at(read.timestamp).ok_or(self.odd("numbers that overflow its arithmetic"))?;
        if now.shares_of(PROBE) != Some(shares) || now.assets_of(PROBE) != Some(assets) {
            return Err(self.odd("previews that do not follow from its adapters"));
        }
        Ok(vault)
    }

    fn liquidity(&self, caps: ArrayVec<Cap, MAX_CAPS>) -> Result<Option<Liquidity>, DecodeError> {
        let Some((adapter, data)) = &self.read.liquidity else { return Ok(None) };
        let odd = || self.odd("a liquidity adapter or market that is not there");
        let place = self.read.adapters.iter().position(|found| found.address == *adapter).ok_or_else(odd)?;
        let market = match self.read.adapters.get(place).map(|found| &found.kind) {
            Some(Kind::Markets { ids, .. }) => {
                let id = self.liquidity_market().as_ref().map(market_id).ok_or_else(odd)?;
                ids.iter().position(|known| *known == id).ok_or_else(odd)?
            }
            Some(Kind::Vault(_)) if data.is_empty() => 0,
            _ => return Err(odd()),
        };
        let narrowed = |index: usize| u8::try_from(index).map_err(|_| odd());
        Ok(Some(Liquidity { adapter: narrowed(place)?, market: narrowed(market)?, caps }))
    }

    fn holding(&self, id: B256, own_shares: bool, answers: &mut Answers<'_>) -> Result<Holding, DecodeError> {
        let market = answers.next::<marketCall>()?;
        let params = answers.next::<idToMarketParamsCall>()?;
        // only asked for its own model's markets
        let rate = answers.try_next::<rateAtTargetCall>().and_then(|rate| u64::try_from(rate).ok());
        let shares =
            if own_shares { answers.next::<supplySharesCall>()? } else { answers.next::<positionCall>()?.supplyShares };
        let irm = match params.irm {
            Address::ZERO => Irm::None,
            ADAPTIVE_CURVE_IRM => {
                Irm::AdaptiveCurve { rate_at_target_wad: rate.ok_or(self.odd("a rate out of range"))? }
            }
            _ => return Err(self.odd("a market with an interest rate model that is not known")),
        };
        let fits = |value: u128| u64::try_from(value).map_err(|_| self.odd("a market's number beyond 64 bits"));
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
            shares: u128::try_from(shares).map_err(|_| self.odd("shares beyond 128 bits"))?,
            // the vault's caps count, not the market's
            cap_assets: U256::MAX,
        })
    }

    /// Whether some nested vault wants another round.
    fn nested(&mut self) -> impl Iterator<Item = &mut Nested> {
        self.read.adapters.iter_mut().filter_map(|found| match &mut found.kind {
            Kind::Vault(nested) => Some(&mut **nested),
            Kind::Markets { .. } | Kind::Unknown => None,
        })
    }

    /// Asks what comes next; rounds without a question are passed over.
    fn proceed(&mut self, stage: Stage) -> Result<ReadProgress, DecodeError> {
        self.stage = stage;
        self.asked = match stage {
            Stage::Itself => self.ask_itself(),
            Stage::Adapters => {
                (0..self.read.count).map(|n| ask(self.vault, &adaptersCall { index: U256::from(n) })).collect()
            }
            Stage::Kinds => self.ask_kinds(),
            Stage::Contents => self.ask_contents(),
            Stage::Markets => {
                let mut asked = Vec::new();
                self.nested().for_each(|nested| nested.go_on(&mut asked));
                // nested vaults first come to their end
                if asked.is_empty() { self.ask_markets() } else { asked }
            }
        };
        if self.asked.is_empty() {
            return self.take(&[]);
        }
        Ok(ReadProgress::Calls(calls(&self.asked)))
    }

    fn take(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let asked = std::mem::take(&mut self.asked);
        let mut answers = Answers::new(self.vault, &asked, answers)?;
        match self.stage {
            Stage::Itself => {
                self.read = self.itself(&mut answers)?;
                self.proceed(Stage::Adapters)
            }
            Stage::Adapters => {
                for _ in 0..self.read.count {
                    let address = answers.next::<adaptersCall>()?;
                    self.read.adapters.push(Found { address, kind: Kind::Unknown });
                }
                self.proceed(Stage::Kinds)
            }
            Stage::Kinds => {
                for place in 0..self.read.adapters.len() {
                    let kind = self.kind(&mut answers)?;
                    if let Some(found) = self.read.adapters.get_mut(place) {
                        found.kind = kind;
                    }
                }
                self.proceed(Stage::Contents)
            }
            Stage::Contents => {
                self.take_contents(&mut answers)?;
                self.proceed(Stage::Markets)
            }
            Stage::Markets => {
                if self.nested().any(|nested| nested.asked > 0) {
                    for nested in self.nested() {
                        nested.feed(&mut answers)?;
                    }
                    return self.proceed(Stage::Markets);
                }
                let vault = self.take_markets(&mut answers)?;
                Ok(ReadProgress::Done(PoolState::VaultV2(Arc::new(vault))))
            }
        }
    }
}

impl Nested {
    fn begin(&mut self, asked: &mut Vec<Question>) {
        let progress = self.reader.start();
        self.follow(progress);
        self.go_on(asked);
    }

    /// Adds the questions of this round.
    fn go_on(&mut self, asked: &mut Vec<Question>) {
        let questions = self.reader.asked();
        self.asked = if self.state.is_some() { 0 } else { questions.len() };
        asked.extend(questions.iter().take(self.asked).cloned());
    }

    fn follow(&mut self, progress: ReadProgress) {
        if let ReadProgress::Done(PoolState::Metamorpho(vault)) = progress {
            self.state = Some(vault);
        }
    }

    /// Gives its answers to the nested reader.
    fn feed(&mut self, answers: &mut Answers<'_>) -> Result<(), DecodeError> {
        if self.asked == 0 {
            return Ok(());
        }
        let own = answers.raw(self.asked);
        self.asked = 0;
        let progress = self.reader.feed(&own)?;
        self.follow(progress);
        Ok(())
    }
}

impl StateReader for VaultV2Reader {
    fn start(&mut self) -> ReadProgress {
        self.stage = Stage::Itself;
        self.asked = self.ask_itself();
        ReadProgress::Calls(calls(&self.asked))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        self.take(answers)
    }
}
