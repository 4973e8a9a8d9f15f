//! A buffer of Balancer V3 and the vault behind it.

use alloy_primitives::{Address, Log, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Discovered, Pool, Product,
    erc4626::MAKER_POT,
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::support::{
    aave::{self, Configuration},
    balancer_v3::{FILLER, place_vault},
    bytecode,
    chain::{Chain, OWNER, read_state},
    morpho,
    random::Random,
};

sol! {
    function fillBuffer(address wrapped, address asset, uint256 assets, uint256 shares) external;
    function exchange(address wrapped, address asset, bool wraps, uint256 amount) external returns (uint256 amountOut);
    function approve(address spender, uint256 amount) external returns (bool);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function setFee(uint96 fee) external;
    function setRates(uint64 maxRate, uint96 performanceFee, uint96 managementFee) external;
    function announce(address vault) external;
    function balanceOf(address owner) external view returns (uint256);
    function list(address token, uint256 highestRate, uint256 feePercent) external;
    function allow(address user, address token, uint256 supply, uint256 loan) external;
    interface Borrower { function borrow(address token, uint256 amount) external; }
    interface Lending { function announce(address token, uint256 count, string kind) external; }
}

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
/// Listed vaults.
const PUFETH: Address = address!("D9A442856C234a39a81a089C06451EBAa4306a72");
const SDAI: Address = address!("83F20F44975D03b1b09e64809B757c47f942BEeA");
/// Vaults that are not listed.
const UNVERIFIED: Address = Address::repeat_byte(0x57);
const METAMORPHO: Address = Address::repeat_byte(0x4d);
const VAULT_V2: Address = Address::repeat_byte(0x22);
const WRAPPED: Address = Address::repeat_byte(0x3e);
const FTOKEN: Address = Address::repeat_byte(0xf7);
/// The borrower from Fluid's liquidity layer.
const BORROWER: Address = Address::repeat_byte(0xb0);
pub const START: u64 = 1_700_000_000;

/// The vault behind a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    OpenZeppelin { offset: u8 },
    Solmate,
    Unverified,
    Savings,
    MetaMorpho,
    VaultV2,
    Aave,
    Fluid,
}

impl Behind {
    pub const fn coins(self) -> [Address; 2] {
        match self {
            Self::OpenZeppelin { .. } | Self::Solmate => [WETH, PUFETH],
            Self::Unverified => [WETH, UNVERIFIED],
            Self::Savings => [DAI, SDAI],
            Self::MetaMorpho => [DAI, METAMORPHO],
            Self::VaultV2 => [DAI, VAULT_V2],
            Self::Aave => [DAI, WRAPPED],
            Self::Fluid => [DAI, FTOKEN],
        }
    }
}

pub struct World {
    pub chain: Chain,
    pub random: Random,
    pub behind: Behind,
    pub now: u64,
}

impl World {
    pub fn new(behind: Behind, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut chain = Chain::new();
        chain.set_block(1, START);
        chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
        place_vault(&mut chain);
        let [asset, share] = behind.coins();
        chain.place(asset, "Asset", &[]);
        chain.set_balance(asset, OWNER, U256::ONE << 125);
        let much = U256::ONE << 110;
        match behind {
            Behind::OpenZeppelin { offset } => {
                chain.place(share, "OzVaultWithOffset", &(asset, U256::from(offset)).abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 0);
            }
            Behind::Unverified => {
                chain.place(share, "OzVaultWithOffset", &(asset, U256::ZERO).abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 0);
            }
            Behind::Solmate => {
                chain.place(share, "RariVault", &asset.abi_encode());
                give_shares(&mut chain, share, [asset, OWNER], much, 3);
            }
            Behind::Savings => {
                let rate = U256::from(1_000_000_003_022_265_980_097_387_650_u128);
                let chi = U256::from(1_098_765_432_109_876_543_210_987_654_u128);
                chain.place(MAKER_POT, "StandInPot", &(OWNER, chi, rate).abi_encode());
                chain.place(share, "StandInSavingsDai", &(asset, MAKER_POT, OWNER, U256::ONE << 120).abi_encode());
                chain.set_balance(asset, share, U256::ONE << 180);
            }
            Behind::MetaMorpho => metamorpho(&mut chain, asset, share),
            Behind::Aave => {
                let (factor_bps, cap) = (random.below(3) * 2_500, random.below(3) * 4_000_000_000);
                let configuration = Configuration { decimals: 18, frozen: false, paused: false, factor_bps, cap };
                aave::place(&mut chain, asset, share, configuration);
                aave::others(&mut chain, asset, 0, much / U256::from(1_000_000));
                chain.send(share, &depositCall { assets: much / U256::from(1_000_000), receiver: OWNER }).unwrap();
                aave::others(&mut chain, asset, 1, much / U256::from(1_500_000));
            }
            Behind::Fluid => fluid(&mut chain, asset, share),
            Behind::VaultV2 => {
                let args = (asset, OWNER, String::new(), String::new());
                chain.place(share, "StandInVaultV2", &args.abi_encode_params());
                chain.send(share, &depositCall { assets: much, receiver: OWNER }).unwrap();
                let call = setRatesCall {
                    maxRate: 1 + random.below(30_000_000_000),
                    performanceFee: alloy_primitives::aliases::U96::from(random.below(500_000_000_000_000_000)),
                    managementFee: alloy_primitives::aliases::U96::from(random.below(1_500_000_000)),
                };
                chain.send(share, &call).unwrap();
                let factory = Product::MorphoVaultV2.sources()[0].emitter;
                chain.place(factory, "StandInVaultV2Factory", &[]);
                chain.send(factory, &announceCall { vault: share }).unwrap();
            }
        }
        chain.send(share, &approveCall { spender: FILLER, amount: U256::MAX }).unwrap();
        Self { chain, random, behind, now: START }
    }

    /// Creates the buffer with balances of both coins or of one, and discovers it as the follower does.
    pub fn fill(&mut self) -> Discovered {
        let [asset, wrapped] = self.behind.coins();
        let empty = self.random.below(8);
        let mut some = |side: u64| {
            let amount = self.random.log_uniform_between(20, 88);
            if side == empty { U256::ZERO } else { amount }
        };
        let call = fillBufferCall { wrapped, asset, assets: some(0), shares: some(1) };
        let done = self.chain.send(FILLER, &call).unwrap();
        let record = Product::BalancerV3Buffer;
        let source = record.sources()[0];
        let announced = done.logs.iter().find(|log| log.topics().first() == Some(&source.topic0)).unwrap();
        let mut found = record.discover(announced).unwrap();
        assert_eq!(found.coins, [wrapped], "the asset is not announced");
        let question = record.unnamed_coin(&found).unwrap();
        let answer = self.chain.try_data(question.to, question.data).unwrap();
        found.coins.insert(0, Address::abi_decode(&answer.output).unwrap());
        assert!(found.coins == [asset, wrapped] && record.unnamed_coin(&found).is_none());
        found
    }

    pub fn read(&mut self, found: &Discovered) -> Pool {
        let state = read_state(&mut self.chain, found.product, found);
        Pool {
            key: found.key.contract.into(),
            product: found.product,
            coins: [TokenId(0), TokenId(1)].into_iter().collect(),
            state,
        }
    }

    /// Returns what the vault pays for an amount, with the logs. `keep` decides whether the trade changes the chain.
    pub fn exchange(&mut self, coin_in: u8, amount: U256, keep: bool) -> Option<(U256, Vec<Log>)> {
        let [asset, wrapped] = self.behind.coins();
        let call = exchangeCall { wrapped, asset, wraps: coin_in == 0, amount };
        let done = if keep { self.chain.send(FILLER, &call) } else { self.chain.try_call(FILLER, &call) };
        done.ok().map(|done| (U256::from_be_slice(&done.output), done.logs))
    }

    /// Makes the changes that other users make to the vault behind the buffer.
    pub fn live(&mut self) {
        let [asset, share] = self.behind.coins();
        match self.behind {
            Behind::OpenZeppelin { .. } | Behind::Solmate | Behind::Unverified | Behind::VaultV2 => {
                let held = self.chain.view(asset, &balanceOfCall { owner: share });
                let gift = self.random.up_to(held / U256::from(50));
                self.chain.set_balance(asset, share, held + gift);
            }
            Behind::MetaMorpho => {
                let params = morpho::params(asset, self.random.below(2) as u8, ADAPTIVE_CURVE_IRM);
                morpho::borrow(&mut self.chain, &params, self.random.log_uniform(90));
            }
            Behind::Aave => {
                let (what, amount) = (self.random.below(6), self.random.log_uniform_between(40, 84));
                aave::others(&mut self.chain, asset, what, amount);
            }
            Behind::Fluid => {
                let amount = self.random.log_uniform_between(40, 76);
                drop(self.chain.send(BORROWER, &Borrower::borrowCall { token: asset, amount }));
            }
            Behind::Savings => {}
        }
    }

    pub fn at(&mut self, now: u64) -> ExecutionBlock {
        self.now = now;
        self.chain.set_block(1, now);
        ExecutionBlock { number: 1, timestamp: now }
    }
}

/// Puts assets into a library's vault and gives the holder shares of them. The supply is at slot 2.
fn give_shares(chain: &mut Chain, share: Address, [asset, holder]: [Address; 2], amount: U256, balances: u64) {
    chain.set_balance(asset, share, amount + amount / U256::from(7));
    chain.set_storage(share, 2, amount);
    let slot = alloy_primitives::keccak256((holder, U256::from(balances)).abi_encode());
    chain.set_word(share, slot.into(), amount);
}

/// Sets up an fToken of Fluid's liquidity layer, whose interest grows with the debt of a borrower.
fn fluid(chain: &mut Chain, asset: Address, share: Address) {
    let layer = braid_protocols::fluid::LIQUIDITY;
    chain.place(layer, "StandInFluidLiquidity", &OWNER.abi_encode());
    chain.send(layer, &listCall { token: asset, highestRate: U256::from(9_000), feePercent: U256::from(10) }).unwrap();
    let args = (layer, asset, asset, String::new(), String::new());
    chain.place(share, "StandInFluidFToken", &args.abi_encode_params());
    // Supply bears interest; a part of it can be withdrawn at once and the rest gradually. Debt is limited.
    let bits = |value: u64, place: usize| U256::from(value) << place;
    let big = |exponent: u64| U256::from((1_023 << 8) | exponent);
    let supply = bits(1, 0) | bits(2_000, 162) | bits(9_999, 176);
    let loan = bits(1, 0) | bits(5_000, 162) | bits(9_999, 176) | (big(66) << 200) | (big(68) << 218);
    chain.place(BORROWER, "StandInFluidBorrower", &(layer, OWNER).abi_encode());
    chain.send(layer, &allowCall { user: share, token: asset, supply, loan: U256::ZERO }).unwrap();
    chain.send(layer, &allowCall { user: BORROWER, token: asset, supply: U256::ZERO, loan }).unwrap();
    chain.send(asset, &approveCall { spender: share, amount: U256::MAX }).unwrap();
    // The layer accepts little of a token of which it holds nothing, and gradually more.
    for bits in 78..90 {
        chain.send(share, &depositCall { assets: U256::ONE << bits, receiver: OWNER }).unwrap();
    }
    let factory = Product::FluidFToken.sources()[0].emitter;
    chain.place(factory, "StandInFluidLendingFactory", &[]);
    let call = Lending::announceCall { token: share, count: U256::ONE, kind: "fToken".to_owned() };
    chain.send(factory, &call).unwrap();
}

fn metamorpho(chain: &mut Chain, asset: Address, share: Address) {
    morpho::place(chain);
    let args = (MORPHO_BLUE, asset, U256::ZERO, OWNER, String::new(), String::new());
    chain.place(share, "StandInMetaMorpho", &args.abi_encode_params());
    for (place, bits) in [(0, 88_u64), (1, 92)] {
        let params = morpho::market(chain, asset, place, ADAPTIVE_CURVE_IRM);
        chain.send(share, &morpho::Vault::setCapCall { params, cap: (U256::ONE << bits).to() }).unwrap();
    }
    chain.send(share, &setFeeCall { fee: (U256::from(15) * U256::from(10).pow(U256::from(16))).to() }).unwrap();
    chain.send(share, &depositCall { assets: U256::ONE << 91, receiver: OWNER }).unwrap();
    let factory = Product::Metamorpho.sources()[1].emitter;
    chain.place(factory, "StandInMetaMorphoFactory", &[]);
    chain.send(factory, &announceCall { vault: share }).unwrap();
}
