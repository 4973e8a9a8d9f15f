//! The listed vaults that have special rules: a stand-in for each, behind a proxy where mainnet has one, with the
//! contracts that it depends on. They are filled so that their prices change with time. Periods that last a week on
//! mainnet last a century here, since the world is built long before it is used.

use alloy::{
    primitives::{Address, Bytes, U256, address, bytes},
    sol,
    sol_types::{SolCall, SolValue},
};
use serde_json::json;

use super::{
    Batch,
    placement::{self, Placement},
};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    kit::Bundle,
    rpc::{Rpc, Tx},
    tokens::{self, Token},
};

sol! {
    interface Vault {
        function deposit(uint256 assets, address receiver) external returns (uint256);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    }
    interface Sky { function initialize(uint192 chi, uint256 ssr) external; }
    interface Spark { function initialize(address asset, uint192 chi, uint256 vsr, uint256 cap) external; }
    interface SkyThroughPsm { function initialize() external; }
    interface Falcon {
        function initialize(address asset, uint32 period) external;
        function transferInRewards(uint256 amount) external;
    }
    interface Staked { function initialize(address asset) external; }
    interface Resolv { function initialize(address asset, address staked) external; }
    interface AaveSavings {
        function initialize(address asset, uint256 cap) external;
        function setTargetRate(uint16 rate, uint40 at) external;
    }
    interface Yearn {
        function initialize(address asset) external;
        function report(uint256 gain, uint256 time) external;
    }
    interface Vat {
        function rely(address account) external;
        function suck(address debtor, address to, uint256 rad) external;
    }
}

/// MakerDAO's vat and vow, and the joins that mint DAI and USDS. Source: chainlog `MCD_VAT`, `MCD_VOW`, `MCD_JOIN_DAI`,
/// `USDS_JOIN`.
const VAT: Address = address!("35D1b3F3D7966A1DFe207aa4514C12a259A0492B");
const VOW: Address = address!("A950524441892A31ebddF91d3cEEFa04Bf454466");
const DAI_JOIN: Address = address!("9759A6Ac90977b93B58547b4A71c78317f391A28");
const USDS_JOIN: Address = address!("3C0f895007CA717Aa01c8693e59DF1e8C3777FEB");
/// Sky's PSMs, which exchange USDC for DAI and for USDS, and the pocket that holds their USDC. Source: chainlog
/// `MCD_LITE_PSM_USDC_A`, `WRAPPER_USDS_LITE_PSM_USDC_A`, `MCD_LITE_PSM_USDC_A_POCKET`.
const LITE_PSM: Address = address!("f6e72Db5454dd049d0788e411b06CfAF16853042");
const USDS_PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
const POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");
/// Resolv's rebasing token, which wstUSR wraps. Source: `WstUSR.stUSRAddress`.
const STUSR: Address = address!("6c8984bc7DBBeDAf4F6b2FD766f16eBB7d10AAb4");
/// Frankencoin's savings contract and the reserve that pays its interest. Source: `SavingsVaultZCHF_2.savings`,
/// Frankencoin's list of addresses.
const ZCHF_SAVINGS: Address = address!("27d9AD987BdE08a0d083ef7e0e4043C857A17B38");
const ZCHF_RESERVE: Address = address!("1bA26788dfDe592fec8bcB0Eaff472a42BE341B2");

/// A century, in seconds.
const CENTURY: u32 = 3_155_760_000;
/// The initial value of a rate accumulator and its growth per second, four percent a year, in ray.
const RATE_RAY: u128 = 1_090_000_000_000_000_000_000_000_000;
const FOUR_PERCENT_RAY: u128 = 1_000_000_001_243_680_656_318_820_312;
/// The maximum reward that sFRAX distributes per second and whole token: ten percent a year, in wad.
const MOST_FRAX_WAD: u64 = 3_170_979_198;
/// The annual interest of Frankencoin's savings, in millionths, and of Aave's savings, in basis points.
const ZCHF_RATE_PPM: u32 = 35_000;
const GHO_RATE_BIPS: u16 = 425;

/// The vaults and their deposits, in millions of whole assets.
const DEPOSITS: [(&str, &str, u64); 10] = [
    ("USDS", "sUSDS", 2_000),
    ("USDC", "spUSDC", 1_500),
    ("frxETH", "sfrxETH", 1),
    ("USDC", "sUSDC", 1_500),
    ("USDf", "sUSDf", 2_000),
    ("FRAX", "sFRAX", 2_000),
    ("USR", "wstUSR", 2_000),
    ("GHO", "sGHO", 2_000),
    ("ZCHF", "svZCHF", 2_000),
    ("USG", "sUSG", 2_000),
];

fn at(symbol: &str) -> Address {
    tokens::by_symbol(symbol).address
}

fn millions(symbol: &str, count: u64) -> U256 {
    tokens::by_symbol(symbol).units(count * 1_000_000)
}

/// Returns the address of a proxy's implementation, which is our own.
fn code(place: u8) -> Address {
    Address::left_padding_from(&[0x11, 0x57, 0xed, place])
}

/// Returns the contracts without proxies, in the order in which their constructors call each other.
fn foundations() -> [Vec<Placement>; 2] {
    let usdc = at("USDC");
    let first = vec![
        ("StandInVat", VAT, vec![]),
        ("StandInSkyJoin", DAI_JOIN, (VAT, at("DAI")).abi_encode()),
        ("StandInSkyJoin", USDS_JOIN, (VAT, at("USDS")).abi_encode()),
        ("StandInPocket", POCKET, (usdc, LITE_PSM).abi_encode()),
        ("StandInLitePsm", LITE_PSM, (usdc, at("DAI"), POCKET).abi_encode()),
        ("StandInFrankencoinReserve", ZCHF_RESERVE, (at("ZCHF"), ZCHF_SAVINGS).abi_encode()),
        ("StandInFrankencoinSavings", ZCHF_SAVINGS, (at("ZCHF"), ZCHF_RESERVE, ZCHF_RATE_PPM).abi_encode()),
        ("StandInSavingsZchf", at("svZCHF"), (at("ZCHF"), ZCHF_SAVINGS).abi_encode()),
        ("StandInSfrxEth", at("sfrxETH"), (at("frxETH"), CENTURY).abi_encode()),
        ("StandInStakedFrax", at("sFRAX"), (at("FRAX"), CENTURY, U256::from(MOST_FRAX_WAD)).abi_encode()),
        ("StandInSusds", code(0), (at("USDS"), VAT, USDS_JOIN, VOW).abi_encode()),
        ("StandInSparkVault", code(1), vec![]),
        ("StandInStakedUsdf", code(2), vec![]),
        ("StandInStUsr", code(3), vec![]),
        ("StandInWstUsr", code(4), vec![]),
        ("StandInSavingsGho", code(5), false.abi_encode()),
        ("StandInYearnVault", code(6), vec![]),
    ];
    let second = vec![
        ("StandInUsdsPsm", USDS_PSM, (LITE_PSM, DAI_JOIN, USDS_JOIN, at("USDS"), VAT).abi_encode()),
        ("StandInSavingsUsdc", code(7), (usdc, at("DAI"), LITE_PSM, USDS_PSM, at("sUSDS")).abi_encode()),
    ];
    [first, second]
}

/// Returns the proxies in two stages. Those of the second call those of the first.
fn proxies() -> [Vec<Placement>; 2] {
    let upgradeable = |address: Address, place: u8, begin: Vec<u8>| -> Placement {
        ("OpenZeppelinProxy", address, (code(place), Bytes::from(begin)).abi_encode_params())
    };
    // A proxy whose admin is a contract that the maker owns.
    let transparent = |address: Address, place: u8, begin: Vec<u8>| -> Placement {
        ("TransparentProxy", address, (code(place), MAKER, Bytes::from(begin)).abi_encode_params())
    };
    let (rate, growth) = (RATE_RAY, U256::from(FOUR_PERCENT_RAY));
    let chi = alloy::primitives::aliases::U192::from(rate);
    let spark = Spark::initializeCall { asset: at("USDC"), chi, vsr: growth, cap: millions("USDC", 6_000) };
    let gho = AaveSavings::initializeCall { asset: at("GHO"), cap: U256::from(10_000_000_000_u64) };
    let first = vec![
        upgradeable(at("sUSDS"), 0, Sky::initializeCall { chi, ssr: growth }.abi_encode()),
        upgradeable(at("spUSDC"), 1, spark.abi_encode()),
        transparent(at("sUSDf"), 2, Falcon::initializeCall { asset: at("USDf"), period: CENTURY }.abi_encode()),
        transparent(STUSR, 3, Staked::initializeCall { asset: at("USR") }.abi_encode()),
        transparent(at("sGHO"), 5, gho.abi_encode()),
    ];
    let second = vec![
        transparent(at("wstUSR"), 4, Resolv::initializeCall { asset: at("USR"), staked: STUSR }.abi_encode()),
        upgradeable(at("sUSDC"), 7, SkyThroughPsm::initializeCall {}.abi_encode()),
    ];
    [first, second]
}

/// Returns the code of a minimal proxy. Source: EIP-1167.
fn clone_of(other: Address) -> Bytes {
    [bytes!("363d3d373d3d3d363d73").as_ref(), other.as_slice(), bytes!("5af43d82803e903d91602b57fd5bf3").as_ref()]
        .concat()
        .into()
}

/// Places the contracts, fills them, and makes a few deposits and redemptions, so that every storage word has been
/// written before.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    // The reward of a cycle is the vault's surplus balance when the cycle begins.
    pay(rpc, &[("FRAX", at("sFRAX"), 5_000), ("frxETH", at("sfrxETH"), 2)]).await?;
    let [first, second] = foundations();
    let [proxies, others] = proxies();
    for stage in [first, proxies, second, others] {
        placement::place(rpc, bundle, &stage).await?;
    }
    placement::set_code(rpc, at("sUSG"), &clone_of(code(6))).await?;
    set_up(rpc).await?;
    pay(rpc, &STOCK).await?;
    fill(rpc).await?;
    grow(rpc).await?;
    visit(rpc).await
}

/// The balances from which interest and exchanges are paid, in millions.
const STOCK: [(&str, Address, u64); 5] = [
    ("DAI", DAI_JOIN, 2_000),
    ("DAI", LITE_PSM, 3_000),
    ("USDS", USDS_JOIN, 5_000),
    ("USDC", POCKET, 300),
    ("ZCHF", ZCHF_RESERVE, 3_000),
];

/// The internal dai of each join, in millions.
const BACKING: u64 = 10_000;
/// The reward of sUSDf and the profit that sUSG unlocks, each over a century, in millions.
const REWARD: u64 = 5_000;

async fn pay(rpc: &Rpc, payments: &[(&str, Address, u64)]) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for (symbol, to, count) in payments {
        let call = IErc20::transferCall { to: *to, value: millions(symbol, *count) };
        batch.send(symbol, Tx::call(MAKER, at(symbol), &call).gas(200_000)).await?;
    }
    batch.mine().await
}

async fn set_up(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for account in [MAKER, at("sUSDS")] {
        batch.send("the vat's permissions", Tx::call(MAKER, VAT, &Vat::relyCall { account }).gas(100_000)).await?;
    }
    let rad = millions("DAI", BACKING) * U256::from(10).pow(U256::from(27));
    for to in [DAI_JOIN, USDS_JOIN] {
        batch.send("internal dai", Tx::call(MAKER, VAT, &Vat::suckCall { debtor: VOW, to, rad }).gas(300_000)).await?;
    }
    let rate = AaveSavings::setTargetRateCall { rate: GHO_RATE_BIPS, at: Default::default() };
    batch.send("a rate of sGHO", Tx::call(MAKER, at("sGHO"), &rate).gas(200_000)).await?;
    let begin = Yearn::initializeCall { asset: at("USG") };
    batch.send("beginning sUSG", Tx::call(MAKER, at("sUSG"), &begin).gas(300_000)).await?;
    for (asset, vault, _) in DEPOSITS {
        let call = IErc20::approveCall { spender: at(vault), value: U256::MAX };
        batch.send("approving a vault", Tx::call(MAKER, at(asset), &call).gas(100_000)).await?;
    }
    batch.mine().await
}

async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for (asset, vault, count) in DEPOSITS {
        let call = Vault::depositCall { assets: millions(asset, count), receiver: MAKER };
        batch.send(vault, Tx::call(MAKER, at(vault), &call).gas(2_000_000)).await?;
    }
    batch.mine().await
}

/// Starts the rewards that go on, and pays in what interest is paid from.
async fn grow(rpc: &Rpc) -> Result<(), DevnetError> {
    pay(rpc, &[("USR", STUSR, 100), ("USDC", at("spUSDC"), 300), ("GHO", at("sGHO"), 1_000)]).await?;
    let mut batch = Batch::new(rpc);
    let call = Falcon::transferInRewardsCall { amount: millions("USDf", REWARD) };
    batch.send("a reward of sUSDf", Tx::call(MAKER, at("sUSDf"), &call).gas(300_000)).await?;
    let call = Yearn::reportCall { gain: millions("USG", REWARD), time: U256::from(CENTURY) };
    batch.send("a profit of sUSG", Tx::call(MAKER, at("sUSG"), &call).gas(300_000)).await?;
    batch.mine().await
}

/// Makes a deposit in each vault, 12 seconds later, and a redemption where holders need not wait.
async fn visit(rpc: &Rpc) -> Result<(), DevnetError> {
    rpc.call("evm_increaseTime", json!([12])).await?;
    let mut batch = Batch::new(rpc);
    for (asset, vault, _) in DEPOSITS {
        let (asset, share): (&Token, &Token) = (tokens::by_symbol(asset), tokens::by_symbol(vault));
        let call = Vault::depositCall { assets: asset.units(1_000), receiver: MAKER };
        batch.send(vault, Tx::call(MAKER, share.address, &call).gas(2_000_000)).await?;
        if vault != "sUSDf" {
            let call = Vault::redeemCall { shares: share.units(100), receiver: MAKER, owner: MAKER };
            batch.send(vault, Tx::call(MAKER, share.address, &call).gas(2_000_000)).await?;
        }
    }
    batch.mine().await
}
