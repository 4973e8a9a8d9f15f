//! Curve's pools: where they are placed, how they are filled, and the trades that have been made in each. All are
//! stand-ins, since no package contains the deployed contracts.

use alloy::{
    primitives::{Address, FixedBytes, U256, keccak256},
    sol,
    sol_types::{SolCall, SolValue},
};

use super::{
    Batch,
    placement::{self, Placement},
    shape,
};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at},
    kit::Bundle,
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    struct Habits {
        uint256 precision; uint8 product; bool exchangeKeepsOne; bool viewKeepsOne; bool viewFeeAfterScaling; bool givesUnsettled; bool held;
        bool answersNothing;
    }
    struct Terms {
        address[] coins; uint256[] rates; uint256 amp; uint256 fee; uint256 adminFee; uint256 offpegFeeMultiplier; Habits habits;
    }
    struct RateSource { uint8 kind; address oracle; bytes4 selector; }
    struct CryptoTerms {
        address[] coins; uint256[] precisions; uint256[] prices; uint256 amp; uint256 gamma; uint256 midFee; uint256 outFee;
        uint256 feeGamma; uint256 allowedExtraProfit; uint256 adjustmentStep; uint256 maHalfTime;
    }
    interface OfTwo { function add_liquidity(uint256[2] amounts, uint256 least) external payable; }
    interface OfThree { function add_liquidity(uint256[3] amounts, uint256 least) external; }
    interface OfMany { function add_liquidity(uint256[] amounts, uint256 least) external; }
    interface Stable { function exchange(int128 i, int128 j, uint256 dx, uint256 least) external payable; }
    interface Crypto { function exchange(uint256 i, uint256 j, uint256 dx, uint256 least) external; }
    interface Factory { function announceThree(address pool) external; function announceTwo(address pool) external; }
    interface StableFactory {
        function announcePlain(address pool, address[] coins, address implementation) external;
        function announceMeta(address pool, address[] coins, address[] underlying, address implementation) external;
    }
    interface NextFactory {
        function announcePlain(address pool, address[] coins, uint8[] assetTypes) external;
        function announceMeta(address pool, address[] coins, address[] underlying, address base) external;
    }
    interface CryptoFactory { function announceTwo(address pool, address[] coins, address share) external; }
    interface Meta { function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external; }
}

mod alone;
mod lending;
mod metapools;

use alone::{CRYPTO, Deposit, alone, deposits};

/// Returns the address of a coin by its symbol. Ether has the address that the pools use for it.
fn coin(symbol: &str) -> Address {
    if symbol == "ETH" { Address::repeat_byte(0xee) } else { tokens::by_symbol(symbol).address }
}

fn decimals(symbol: &str) -> u8 {
    if symbol == "ETH" { 18 } else { tokens::by_symbol(symbol).decimals }
}

fn power(exponent: u8) -> U256 {
    U256::from(10).pow(U256::from(exponent))
}

fn units(symbol: &str, whole: u64) -> U256 {
    U256::from(whole) * power(decimals(symbol))
}

/// Values of the contract's enum of rounding rules for the product of balances.
const TIMES_N: u8 = 0;
const TIMES_N_PLUS_ONE: u8 = 1;
const WHOLE: u8 = 2;

/// Returns the rounding rules of the first factory's plain pools.
fn habits(product: u8) -> Habits {
    Habits {
        precision: U256::from(100),
        product,
        exchangeKeepsOne: true,
        viewKeepsOne: true,
        viewFeeAfterScaling: false,
        givesUnsettled: false,
        held: false,
        answersNothing: false,
    }
}

/// Returns the parameters of a StableSwap pool. `amp` is the amplification without its precision; fees are in units of
/// 10⁻¹⁰.
fn stable(coins: &[&str], amp: u64, fee: u64, offpeg: u64, habits: Habits) -> Terms {
    Terms {
        coins: coins.iter().map(|symbol| coin(symbol)).collect(),
        rates: coins.iter().map(|symbol| power(36 - decimals(symbol))).collect(),
        amp: U256::from(amp) * habits.precision,
        fee: U256::from(fee),
        adminFee: U256::from(5_000_000_000_u64),
        offpegFeeMultiplier: U256::from(offpeg),
        habits,
    }
}

/// Returns the parameters of a CryptoSwap pool. Its initial prices are the coins' dollar prices, expressed in the first
/// coin.
fn crypto(coins: &[&str], (amp, gamma): (u64, u64), fees: (u64, u64, u64), step: u64) -> CryptoTerms {
    let price = |symbol: &str| tokens::by_symbol(symbol).price_usd;
    let first = coins.first().map_or(1.0, |symbol| price(symbol));
    CryptoTerms {
        coins: coins.iter().map(|symbol| coin(symbol)).collect(),
        precisions: coins.iter().map(|symbol| power(18 - decimals(symbol))).collect(),
        prices: coins.iter().skip(1).map(|symbol| shape::whole(price(symbol) / first * 1e18)).collect(),
        amp: U256::from(amp),
        gamma: U256::from(gamma),
        midFee: U256::from(fees.0),
        outFee: U256::from(fees.1),
        feeGamma: U256::from(fees.2),
        allowedExtraProfit: U256::from(2_000_000_000_000_u64),
        adjustmentStep: U256::from(step),
        maHalfTime: U256::from(600),
    }
}

fn plain_rate() -> RateSource {
    RateSource { kind: 0, oracle: Address::ZERO, selector: FixedBytes::ZERO }
}

fn vault_rate() -> RateSource {
    RateSource { kind: 3, ..plain_rate() }
}

/// Returns the rate source of wstETH, which is the wstETH contract itself.
fn wrapped_rate() -> RateSource {
    RateSource { kind: 1, oracle: at::WSTETH, selector: FixedBytes::from_slice(&keccak256("stEthPerToken()")[..4]) }
}

fn share(name: &str, symbol: &str, address: Address, pool: Address) -> Placement {
    ("StandInCurveToken", address, (name.to_owned(), symbol.to_owned(), pool).abi_encode_params())
}

fn next(coins: &[&str], terms: (u64, u64, u64), sources: Vec<RateSource>, name: &str, address: Address) -> Placement {
    let (amp, fee, offpeg) = terms;
    let args = (stable(coins, amp, fee, offpeg, habits(WHOLE)), sources, name.to_owned(), name.to_owned());
    ("StandInCurveStableSwapNG", address, args.abi_encode_params())
}

/// Places the pools, fills them, and trades in each one way and back.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    placement::place(rpc, bundle, &alone()).await?;
    fill(rpc, &deposits()).await?;
    lending::build(rpc, bundle).await?;
    announce(rpc).await?;
    trade(rpc).await?;
    metapools::build(rpc, bundle).await
}

/// Makes the factories emit the logs of pools that they would have created.
async fn announce(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let three = Factory::announceThreeCall { pool: at::CURVE_TRICRYPTO_USDC };
    let two = Factory::announceTwoCall { pool: at::CURVE_WETH_INV };
    batch.send("announcing Tricrypto", Tx::call(MAKER, at::CURVE_TRICRYPTO_FACTORY, &three).gas(1_000_000)).await?;
    batch.send("announcing Twocrypto", Tx::call(MAKER, at::CURVE_TWOCRYPTO_FACTORY, &two).gas(1_000_000)).await?;
    let coins = |symbols: &[&str]| symbols.iter().map(|symbol| coin(symbol)).collect::<Vec<_>>();
    let plain = StableFactory::announcePlainCall {
        pool: at::CURVE_LISTED_PLAIN,
        coins: coins(&["PYUSD", "FRAX"]),
        implementation: at::CURVE_PLAIN_IMPLEMENTATION,
    };
    let held = StableFactory::announcePlainCall {
        pool: at::CURVE_LISTED_HELD,
        coins: coins(&["FRAX", "LUSD"]),
        implementation: at::CURVE_HELD_IMPLEMENTATION,
    };
    let base = NextFactory::announcePlainCall {
        pool: at::CURVE_NG_DOLLARS,
        coins: coins(&["USDC", "USDT"]),
        assetTypes: vec![0, 0],
    };
    let next = NextFactory::announcePlainCall {
        pool: at::CURVE_LISTED_NEXT,
        coins: coins(&["PYUSD", "USDe"]),
        assetTypes: vec![0, 0],
    };
    let crypto = CryptoFactory::announceTwoCall {
        pool: at::CURVE_LISTED_CRYPTO,
        coins: coins(&["WETH", "COMP"]),
        share: at::CURVE_LISTED_CRYPTO_SHARE,
    };
    batch.send("listing a plain pool", Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &plain).gas(1_000_000)).await?;
    batch.send("listing a plain pool", Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &held).gas(1_000_000)).await?;
    batch.send("listing a base pool", Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &base).gas(1_000_000)).await?;
    batch.send("listing a pool", Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &next).gas(1_000_000)).await?;
    batch.send("listing a CryptoSwap pool", Tx::call(MAKER, at::CURVE_CRYPTO_FACTORY, &crypto).gas(1_000_000)).await?;
    batch.mine().await
}

async fn fill(rpc: &Rpc, deposits: &[Deposit]) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for Deposit { pool, amounts, .. } in deposits {
        for (symbol, _) in amounts.iter().filter(|(symbol, _)| *symbol != "ETH") {
            allow(&mut batch, coin(symbol), *pool).await?;
        }
    }
    batch.mine().await?;
    let mut batch = Batch::new(rpc);
    for deposit in deposits {
        batch.send(&format!("liquidity of Curve's {}", deposit.pool), deposit.call()).await?;
    }
    batch.mine().await
}

/// Approves a spender for an unlimited amount of the maker's tokens.
async fn allow(batch: &mut Batch<'_>, token: Address, spender: Address) -> Result<(), DevnetError> {
    let call = IErc20::approveCall { spender, value: U256::MAX };
    batch.send(&format!("an allowance for Curve's {spender}"), Tx::call(MAKER, token, &call).gas(100_000)).await
}

/// Trades in each direction in every pool, so that a swap overwrites storage that was written before, as on mainnet.
async fn trade(rpc: &Rpc) -> Result<(), DevnetError> {
    for there in [true, false] {
        let mut batch = Batch::new(rpc);
        for Deposit { pool, amounts, .. } in deposits() {
            let least = U256::ZERO;
            for out in 1..u8::try_from(amounts.len()).unwrap_or(0) {
                let (i, j) = if there { (0, out) } else { (out, 0) };
                let Some((symbol, held)) = amounts.get(usize::from(i)) else { continue };
                let dx = *held / U256::from(2_000);
                let data = if CRYPTO.contains(&pool) {
                    Crypto::exchangeCall { i: U256::from(i), j: U256::from(j), dx, least }.abi_encode()
                } else {
                    Stable::exchangeCall { i: i.into(), j: j.into(), dx, least }.abi_encode()
                };
                let value_wei = if *symbol == "ETH" { dx } else { U256::ZERO };
                let tx = Tx { from: MAKER, to: pool, data: data.into(), value_wei, gas_units: Some(3_000_000) };
                batch.send(&format!("trading in Curve's {pool}"), tx).await?;
            }
        }
        batch.mine().await?;
    }
    Ok(())
}
