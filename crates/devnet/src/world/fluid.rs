//! Fluid: the liquidity layer, its fTokens, a borrower, and pools with collateral, with debt, and with both.

use alloy::{
    primitives::{Address, U256, keccak256},
    sol,
    sol_types::SolValue,
};

use super::{Batch, placement::Placement};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at, WETH9},
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    function list(address token, uint256 highestRate, uint256 feePercent) external;
    function allow(address user, address token, uint256 supply, uint256 loan) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function borrow(address token, uint256 amount) external;
    function fill(uint256[2] deposits, uint256[2] loans) external payable;
    interface IDexFactory { function announce(address dex, uint256 id) external; }
    interface ILendingFactory { function announce(address token, uint256 count, string kind) external; }
}

/// The address by which Fluid names native ether.
const ETHER: Address = alloy::primitives::address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");
/// The annual interest rate of a token that is borrowed completely, in basis points.
const HIGHEST_RATE: u64 = 1_500;
/// The liquidity layer's share of the interest, in percent.
const LAYER_FEE_PERCENT: u64 = 10;
/// The time in which limits expand, in seconds.
const EXPAND_SECONDS: u64 = 12 * 3_600;

/// An fToken: its symbol, asset, address, and the maker's deposit in whole tokens.
struct Share {
    symbol: &'static str,
    asset: &'static str,
    address: Address,
    whole: u64,
}

const SHARES: [Share; 3] = [
    Share { symbol: "fUSDC", asset: "USDC", address: at::FLUID_FUSDC, whole: 4_000_000_000 },
    Share { symbol: "fUSDT", asset: "USDT", address: at::FLUID_FUSDT, whole: 4_000_000_000 },
    Share { symbol: "fWETH", asset: "WETH", address: at::FLUID_FWETH, whole: 1_000_000 },
];

/// The amounts borrowed by accounts other than pools, in whole tokens.
const BORROWED: [(&str, u64); 3] = [("USDC", 1_600_000_000), ("USDT", 1_200_000_000), ("ETH", 350_000)];

/// A pool: its address, coins, fee and the protocol's cut of it, how far its range extends to each side in millionths,
/// its centre, and what the maker deposits and borrows, in whole tokens.
struct Dex {
    address: Address,
    coins: [&'static str; 2],
    fee_pips: u64,
    cut_percent: u64,
    range_millionths: u64,
    centre: Centre,
    deposits: [u64; 2],
    loans: [u64; 2],
}

/// The centre price of a pool's range, token 1 per token 0: stored by the pool, or supplied by another contract.
enum Centre {
    Stored { numerator: u64, denominator: u64 },
    Told { numerator: u64, denominator: u64 },
}

const POOLS: [Dex; 3] = [
    Dex {
        address: at::FLUID_DEX_USDC_ETH,
        coins: ["USDC", "ETH"],
        fee_pips: 1_000,
        cut_percent: 10,
        range_millionths: 200_000,
        centre: Centre::Stored { numerator: 1, denominator: 3_000 },
        deposits: [15_000_000, 5_000],
        loans: [9_000_000, 3_000],
    },
    Dex {
        address: at::FLUID_DEX_WSTETH_ETH,
        coins: ["wstETH", "ETH"],
        fee_pips: 100,
        cut_percent: 49,
        range_millionths: 1_000,
        centre: Centre::Told { numerator: 6, denominator: 5 },
        deposits: [5_000, 6_000],
        loans: [0, 0],
    },
    Dex {
        address: at::FLUID_DEX_USDC_USDT,
        coins: ["USDC", "USDT"],
        fee_pips: 50,
        cut_percent: 10,
        range_millionths: 1_500,
        centre: Centre::Stored { numerator: 1, denominator: 1 },
        deposits: [0, 0],
        loans: [12_000_000, 12_000_000],
    },
];

/// Returns the account that deploys the contract that supplies a centre price, with its first transaction.
fn deployer() -> Address {
    Address::from_word(keccak256("a deployer of Fluid's centre prices"))
}

fn borrower() -> Address {
    Address::from_word(keccak256("a borrower from Fluid"))
}

/// Returns the address by which the liquidity layer knows the token.
fn coin(symbol: &str) -> Address {
    if symbol == "ETH" { ETHER } else { tokens::by_symbol(symbol).address }
}

/// Returns whole tokens in atomic units.
fn units(symbol: &str, whole: u64) -> U256 {
    let symbol = if symbol == "ETH" { "WETH" } else { symbol };
    tokens::by_symbol(symbol).units(whole)
}

/// Packs a value as a coefficient of this many bits above an exponent of eight bits, rounded down.
fn pack(value: U256, coefficient_bits: usize) -> U256 {
    let exponent = value.bit_len().saturating_sub(coefficient_bits);
    ((value >> exponent) << 8) + U256::from(exponent)
}

impl Centre {
    /// Returns the price with 27 decimals.
    fn price(&self) -> U256 {
        let (Self::Stored { numerator, denominator } | Self::Told { numerator, denominator }) = self;
        U256::from(10).pow(U256::from(27)) * U256::from(*numerator) / U256::from(*denominator)
    }
}

impl Dex {
    /// Returns `dexVariables2`: whether it has collateral and debt, fees, range, source and bounds of the centre price,
    /// and the utilization limits of both tokens.
    fn configuration(&self) -> U256 {
        let has = |amounts: [u64; 2]| u64::from(amounts != [0, 0]);
        let told = u64::from(matches!(self.centre, Centre::Told { .. }));
        let price = self.centre.price();
        let fields = [
            (0_usize, has(self.deposits)),
            (1, has(self.loans)),
            (2, self.fee_pips),
            (19, self.cut_percent),
            (27, self.range_millionths),
            (47, self.range_millionths),
            // The centre shifts when the price is in the last tenth of the range; a shift takes a day.
            (68, 100),
            (78, 100),
            (88, 86_400),
            (112, told),
            (228, 950),
            (238, 950),
        ];
        let word = fields.iter().fold(U256::ZERO, |word, (at, value)| word | (U256::from(*value) << *at));
        let (most, least) = (price * U256::from(2), price / U256::from(2));
        word | (pack(most, 20) << 172) | (pack(least, 20) << 200)
    }
}

/// Returns the limits of a protocol in a token: whether it bears interest, the percentage by which the limit expands,
/// and the amount that is always available, in atomic units.
fn supply_word(interest: bool, percent: u64, base: U256) -> U256 {
    U256::from(u64::from(interest))
        | (U256::from(percent * 100) << 162)
        | (U256::from(EXPAND_SECONDS) << 176)
        | (pack(base, 10) << 200)
}

fn loan_word(interest: bool, percent: u64, base: U256) -> U256 {
    supply_word(interest, percent, base) | (pack(base * U256::from(4), 10) << 218)
}

/// Returns the contracts in the order in which their constructors run.
pub(super) fn placements() -> Vec<Placement> {
    let layer = at::FLUID_LIQUIDITY;
    let mut placements = vec![
        ("StandInFluidLiquidity", layer, MAKER.abi_encode()),
        ("StandInFluidDexFactory", at::FLUID_DEX_FACTORY, vec![]),
        ("StandInFluidLendingFactory", at::FLUID_LENDING_FACTORY, vec![]),
        ("StandInFluidBorrower", borrower(), (layer, MAKER).abi_encode_params()),
    ];
    for share in SHARES {
        let asset = tokens::by_symbol(share.asset).address;
        let stored = if asset == WETH9 { ETHER } else { asset };
        let name = format!("Fluid {} (stand-in)", share.asset);
        let args = (layer, asset, stored, name, share.symbol.to_owned()).abi_encode_params();
        placements.push(("StandInFluidFToken", share.address, args));
    }
    for dex in POOLS {
        let coins = dex.coins.map(coin);
        let args = (layer, MAKER, deployer(), coins, dex.configuration(), dex.centre.price()).abi_encode_params();
        placements.push(("StandInFluidDexT1", dex.address, args));
        if matches!(dex.centre, Centre::Told { .. }) {
            let args = (MAKER, dex.centre.price()).abi_encode_params();
            placements.push(("StandInFluidCentrePrice", deployer().create(1), args));
        }
    }
    placements
}

/// Lists tokens, supplies and borrows, fills the pools, and announces them.
pub(super) async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let layer = at::FLUID_LIQUIDITY;
    for symbol in ["USDC", "USDT", "ETH", "wstETH"] {
        let (rate, fee) = (U256::from(HIGHEST_RATE), U256::from(LAYER_FEE_PERCENT));
        let call = listCall { token: coin(symbol), highestRate: rate, feePercent: fee };
        batch.send("listing a token at Fluid", Tx::call(MAKER, layer, &call).gas(300_000)).await?;
    }
    let allow = |user: Address, symbol: &str, supply: U256, loan: U256| {
        Tx::call(MAKER, layer, &allowCall { user, token: coin(symbol), supply, loan }).gas(300_000)
    };
    for share in SHARES {
        let stored = if share.asset == "WETH" { "ETH" } else { share.asset };
        let base = units(stored, share.whole / 40);
        batch.send("letting a share in", allow(share.address, stored, supply_word(true, 25, base), U256::ZERO)).await?;
    }
    for (symbol, whole) in BORROWED {
        let loan = loan_word(true, 20, units(symbol, whole) * U256::from(2));
        batch.send("letting a borrower in", allow(borrower(), symbol, U256::ZERO, loan)).await?;
    }
    // The pools pay no interest, so that a pool's output does not depend on the timestamp while its range does not
    // shift.
    for dex in POOLS {
        for (k, symbol) in dex.coins.iter().enumerate() {
            let supply = if dex.deposits == [0, 0] {
                U256::ZERO
            } else {
                supply_word(false, 35, units(symbol, dex.deposits[k] / 20))
            };
            let loan =
                if dex.loans == [0, 0] { U256::ZERO } else { loan_word(false, 50, units(symbol, dex.loans[k] * 2)) };
            batch.send("letting a pool in", allow(dex.address, symbol, supply, loan)).await?;
        }
    }
    batch.mine().await?;
    lend(rpc).await?;
    fill_pools(rpc).await
}

fn approve(token: Address, spender: Address) -> Tx {
    Tx::call(MAKER, token, &IErc20::approveCall { spender, value: U256::MAX }).gas(100_000)
}

async fn lend(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for share in SHARES {
        let asset = tokens::by_symbol(share.asset);
        batch.send("approving a share of Fluid", approve(asset.address, share.address)).await?;
        let call = depositCall { assets: asset.units(share.whole), receiver: MAKER };
        batch.send("lending at Fluid", Tx::call(MAKER, share.address, &call).gas(1_000_000)).await?;
    }
    for (symbol, whole) in BORROWED {
        let call = borrowCall { token: coin(symbol), amount: units(symbol, whole) };
        batch.send("borrowing at Fluid", Tx::call(MAKER, borrower(), &call).gas(1_000_000)).await?;
    }
    for (count, share) in (1_u64..).zip(SHARES) {
        let kind = if share.asset == "WETH" { "NativeUnderlying" } else { "fToken" }.to_owned();
        let call = ILendingFactory::announceCall { token: share.address, count: U256::from(count), kind };
        batch.send("announcing a share", Tx::call(MAKER, at::FLUID_LENDING_FACTORY, &call).gas(300_000)).await?;
    }
    batch.mine().await
}

async fn fill_pools(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for (id, dex) in (1_u64..).zip(POOLS) {
        let amounts = |whole: [u64; 2]| [units(dex.coins[0], whole[0]), units(dex.coins[1], whole[1])];
        let (deposits, loans) = (amounts(dex.deposits), amounts(dex.loans));
        for symbol in dex.coins.iter().filter(|symbol| **symbol != "ETH") {
            batch.send("approving a pool of Fluid", approve(coin(symbol), dex.address)).await?;
        }
        let mut tx = Tx::call(MAKER, dex.address, &fillCall { deposits, loans }).gas(2_000_000);
        if dex.coins[1] == "ETH" {
            tx.value_wei = deposits[1];
        }
        batch.send("filling a pool of Fluid", tx).await?;
        let call = IDexFactory::announceCall { dex: dex.address, id: U256::from(id) };
        batch.send("announcing a pool of Fluid", Tx::call(MAKER, at::FLUID_DEX_FACTORY, &call).gas(300_000)).await?;
    }
    batch.mine().await
}
