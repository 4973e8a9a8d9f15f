//! Curve's pools: what is placed where, how it is filled, and the trades that each of them has seen. All are stand-ins, since no
//! package holds the deployed contracts.

use alloy::{
    primitives::{Address, FixedBytes, U256, keccak256},
    sol,
    sol_types::{SolCall, SolValue},
};

use super::{
    Batch,
    deploy::{self, Placement},
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
    interface NextFactory { function announcePlain(address pool, address[] coins, uint8[] assetTypes) external; }
    interface CryptoFactory { function announceTwo(address pool, address[] coins, address share) external; }
    interface Meta { function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external; }
}

mod lending;
mod listed;

/// A coin by its symbol, ether as the pools name it.
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

/// `uint8` values of the enum of rounding habits.
const TIMES_N: u8 = 0;
const TIMES_N_PLUS_ONE: u8 = 1;
const WHOLE: u8 = 2;

/// The habits of the plain factory's pools.
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

/// Amplification without its precision; fees in units of 10⁻¹⁰.
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

/// Prices are dollars' worth of the coins in the first.
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

/// The oracle of wstETH is wstETH itself.
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

/// The pools that stand alone, with their shares.
fn alone() -> Vec<Placement> {
    let three = Habits {
        precision: U256::ONE,
        viewFeeAfterScaling: true,
        givesUnsettled: true,
        answersNothing: true,
        ..habits(TIMES_N)
    };
    let steth = Habits { held: true, ..habits(TIMES_N_PLUS_ONE) };
    let two = |terms: Terms, shares: Address| (terms, shares).abi_encode_params();
    let name = "Curve.fi (stand-in)";
    vec![
        share("Curve.fi DAI/USDC/USDT (stand-in)", "3Crv", at::CURVE_3CRV, at::CURVE_3POOL),
        (
            "StandInCurveStableSwap3",
            at::CURVE_3POOL,
            two(stable(&["DAI", "USDC", "USDT"], 4_000, 1_500_000, 0, three), at::CURVE_3CRV),
        ),
        share(name, "steCRV", at::CURVE_STETH_SHARE, at::CURVE_STETH),
        (
            "StandInCurveStableSwap2",
            at::CURVE_STETH,
            two(stable(&["ETH", "stETH"], 200, 1_000_000, 0, steth), at::CURVE_STETH_SHARE),
        ),
        (
            "StandInCurvePlainPool2",
            at::CURVE_2POOL,
            (stable(&["USDC", "USDT"], 2_000, 1_000_000, 0, habits(TIMES_N)), name.to_owned(), "2CRV".to_owned())
                .abi_encode_params(),
        ),
        next(&["USDC", "USDT"], (10_000, 100_000, 200_000_000_000), vec![plain_rate(); 2], name, at::CURVE_NG_DOLLARS),
        next(&["sDAI", "sUSDe"], (200, 4_000_000, 50_000_000_000), vec![vault_rate(); 2], name, at::CURVE_NG_SAVINGS),
        next(
            &["pufETH", "wstETH"],
            (200, 4_000_000, 20_000_000_000),
            vec![vault_rate(), wrapped_rate()],
            name,
            at::CURVE_NG_STAKED,
        ),
        share(name, "crvCRVETH", at::CURVE_CRVETH_SHARE, at::CURVE_CRVETH),
        (
            "StandInCurveCryptoSwap",
            at::CURVE_CRVETH,
            (
                crypto(
                    &["WETH", "CRV"],
                    (400_000, 145_000_000_000_000),
                    (26_000_000, 45_000_000, 230_000_000_000_000),
                    146_000_000_000_000,
                ),
                at::CURVE_CRVETH_SHARE,
            )
                .abi_encode_params(),
        ),
        share(name, "crvRETH", at::CURVE_RETH_SHARE, at::CURVE_RETH),
        (
            "StandInCurveCryptoSwap",
            at::CURVE_RETH,
            (
                crypto(
                    &["WETH", "rETH"],
                    (20_000_000, 10_000_000_000_000_000),
                    (5_000_000, 45_000_000, 5_000_000_000_000_000),
                    5_500_000_000_000,
                ),
                at::CURVE_RETH_SHARE,
            )
                .abi_encode_params(),
        ),
        share(name, "crv3crypto", at::CURVE_TRICRYPTO2_SHARE, at::CURVE_TRICRYPTO2),
        (
            "StandInCurveTricrypto",
            at::CURVE_TRICRYPTO2,
            (
                crypto(
                    &["USDT", "WBTC", "WETH"],
                    (1_707_629, 11_809_167_828_997),
                    (3_000_000, 30_000_000, 500_000_000_000_000),
                    490_000_000_000_000,
                ),
                at::CURVE_TRICRYPTO2_SHARE,
            )
                .abi_encode_params(),
        ),
        (
            "StandInCurveTricryptoNG",
            at::CURVE_TRICRYPTO_USDC,
            (
                crypto(
                    &["USDC", "WBTC", "WETH"],
                    (1_707_629, 11_809_167_828_997),
                    (3_000_000, 30_000_000, 500_000_000_000_000),
                    100_000_000_000_000,
                ),
                "TricryptoUSDC (stand-in)".to_owned(),
                "crvUSDCWBTCWETH".to_owned(),
            )
                .abi_encode_params(),
        ),
        (
            "StandInCurveTwocryptoNG",
            at::CURVE_WETH_INV,
            (
                crypto(
                    &["WETH", "INV"],
                    (400_000, 145_000_000_000_000),
                    (26_000_000, 45_000_000, 230_000_000_000_000),
                    146_000_000_000_000,
                ),
                "WETH/INV (stand-in)".to_owned(),
                "WETHINV".to_owned(),
            )
                .abi_encode_params(),
        ),
        (
            "StandInCurvePlainPool2",
            at::CURVE_LISTED_PLAIN,
            (stable(&["PYUSD", "FRAX"], 500, 4_000_000, 0, habits(WHOLE)), name.to_owned(), "PYUSDFRAX".to_owned())
                .abi_encode_params(),
        ),
        next(&["PYUSD", "USDe"], (500, 1_000_000, 50_000_000_000), vec![plain_rate(); 2], name, at::CURVE_LISTED_NEXT),
        share(name, "crvCOMPETH", at::CURVE_LISTED_CRYPTO_SHARE, at::CURVE_LISTED_CRYPTO),
        (
            "StandInCurveCryptoSwap",
            at::CURVE_LISTED_CRYPTO,
            (
                crypto(
                    &["WETH", "COMP"],
                    (400_000, 145_000_000_000_000),
                    (26_000_000, 45_000_000, 230_000_000_000_000),
                    146_000_000_000_000,
                ),
                at::CURVE_LISTED_CRYPTO_SHARE,
            )
                .abi_encode_params(),
        ),
        ("StandInCurveStableFactory", at::CURVE_STABLE_FACTORY, vec![]),
        ("StandInCurveStableFactoryNG", at::CURVE_NEXT_FACTORY, vec![]),
        ("StandInCurveCryptoFactory", at::CURVE_CRYPTO_FACTORY, vec![]),
        ("StandInCurveCryptoFactoryNG", at::CURVE_TRICRYPTO_FACTORY, vec![]),
        ("StandInCurveCryptoFactoryNG", at::CURVE_TWOCRYPTO_FACTORY, vec![]),
    ]
}

/// The metapools, of which the first's constructor asks its base pool for a price.
fn on_top() -> Vec<Placement> {
    let terms = stable(&["GUSD", "3Crv"], 1_000, 4_000_000, 0, habits(TIMES_N));
    let args = (terms, at::CURVE_GUSD_SHARE, at::CURVE_3POOL, U256::from(3), false);
    let terms = stable(&["LUSD", "3Crv"], 200, 4_000_000, 0, habits(TIMES_N));
    let name = "Curve.fi LUSD/3Crv (stand-in)".to_owned();
    let listed = (terms, at::CURVE_3POOL, U256::from(3), false, name, "LUSD3CRV-f".to_owned());
    vec![
        ("StandInCurveFactoryMetaPool", at::CURVE_LISTED_META, listed.abi_encode_params()),
        share("Curve.fi GUSD/3Crv (stand-in)", "gusd3CRV", at::CURVE_GUSD_SHARE, at::CURVE_GUSD),
        ("StandInCurveMetaPool", at::CURVE_GUSD, args.abi_encode_params()),
    ]
}

/// The pools that count their coins without a sign.
const CRYPTO: [Address; 6] = [
    at::CURVE_CRVETH,
    at::CURVE_RETH,
    at::CURVE_TRICRYPTO2,
    at::CURVE_TRICRYPTO_USDC,
    at::CURVE_WETH_INV,
    at::CURVE_LISTED_CRYPTO,
];

/// What is put into a pool, in atomic units of its coins.
struct Deposit {
    pool: Address,
    amounts: Vec<(&'static str, U256)>,
    next_generation: bool,
}

fn deposit(pool: Address, amounts: &[(&'static str, u64)]) -> Deposit {
    let amounts = amounts.iter().map(|(symbol, whole)| (*symbol, units(symbol, *whole))).collect();
    Deposit { pool, amounts, next_generation: false }
}

fn deposits() -> Vec<Deposit> {
    let next = |deposit: Deposit| Deposit { next_generation: true, ..deposit };
    vec![
        deposit(at::CURVE_3POOL, &[("DAI", 60_000_000), ("USDC", 58_000_000), ("USDT", 61_000_000)]),
        deposit(at::CURVE_STETH, &[("ETH", 30_000), ("stETH", 30_500)]),
        deposit(at::CURVE_2POOL, &[("USDC", 4_000_000), ("USDT", 4_100_000)]),
        next(deposit(at::CURVE_NG_DOLLARS, &[("USDC", 5_000_000), ("USDT", 5_200_000)])),
        next(deposit(at::CURVE_NG_SAVINGS, &[("sDAI", 5_000_000), ("sUSDe", 4_700_000)])),
        next(deposit(at::CURVE_NG_STAKED, &[("pufETH", 2_000), ("wstETH", 1_750)])),
        deposit(at::CURVE_CRVETH, &[("WETH", 1_000), ("CRV", 4_838_709)]),
        deposit(at::CURVE_RETH, &[("WETH", 1_130), ("rETH", 1_000)]),
        deposit(at::CURVE_TRICRYPTO2, &[("USDT", 9_000_000), ("WBTC", 100), ("WETH", 3_000)]),
        deposit(at::CURVE_TRICRYPTO_USDC, &[("USDC", 7_200_000), ("WBTC", 80), ("WETH", 2_400)]),
        deposit(at::CURVE_WETH_INV, &[("WETH", 500), ("INV", 50_000)]),
        deposit(at::CURVE_LISTED_PLAIN, &[("PYUSD", 4_000_000), ("FRAX", 4_200_000)]),
        next(deposit(at::CURVE_LISTED_NEXT, &[("PYUSD", 3_600_000), ("USDe", 3_400_000)])),
        deposit(at::CURVE_LISTED_CRYPTO, &[("WETH", 800), ("COMP", 52_173)]),
    ]
}

impl Deposit {
    fn call(&self) -> Tx {
        let amount = |place: usize| self.amounts.get(place).map(|(_, amount)| *amount).unwrap_or_default();
        let least = U256::ZERO;
        let data = match self.amounts.len() {
            _ if self.next_generation => {
                let amounts = self.amounts.iter().map(|(_, amount)| *amount).collect();
                OfMany::add_liquidityCall { amounts, least }.abi_encode()
            }
            3 => OfThree::add_liquidityCall { amounts: [amount(0), amount(1), amount(2)], least }.abi_encode(),
            _ => OfTwo::add_liquidityCall { amounts: [amount(0), amount(1)], least }.abi_encode(),
        };
        let ether = self.amounts.iter().find(|(symbol, _)| *symbol == "ETH").map(|(_, amount)| *amount);
        Tx {
            from: MAKER,
            to: self.pool,
            data: data.into(),
            value_wei: ether.unwrap_or_default(),
            gas_units: Some(3_000_000),
        }
    }
}

/// Places the pools, fills them, and trades in each one way and back.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    deploy::place(rpc, bundle, &alone()).await?;
    fill(rpc, &deposits()).await?;
    deploy::place(rpc, bundle, &on_top()).await?;
    let metapools = [
        deposit(at::CURVE_GUSD, &[("GUSD", 3_000_000), ("3Crv", 3_100_000)]),
        deposit(at::CURVE_LISTED_META, &[("LUSD", 3_000_000), ("3Crv", 3_060_000)]),
    ];
    fill(rpc, &metapools).await?;
    lending::build(rpc, bundle).await?;
    listed::build(rpc, bundle).await?;
    announce(rpc).await?;
    trade(rpc).await
}

/// Has the factories announce what they would have made.
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
    let meta = StableFactory::announceMetaCall {
        pool: at::CURVE_LISTED_META,
        coins: coins(&["LUSD", "3Crv"]),
        underlying: coins(&["LUSD", "DAI", "USDC", "USDT"]),
        implementation: at::CURVE_META_IMPLEMENTATION,
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
    batch.send("listing a metapool", Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &meta).gas(1_000_000)).await?;
    batch.send("listing a pool", Tx::call(MAKER, at::CURVE_NEXT_FACTORY, &next).gas(1_000_000)).await?;
    batch.send("listing a CryptoSwap pool", Tx::call(MAKER, at::CURVE_CRYPTO_FACTORY, &crypto).gas(1_000_000)).await?;
    batch.mine().await
}

async fn fill(rpc: &Rpc, deposits: &[Deposit]) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for Deposit { pool, amounts, .. } in deposits {
        for (symbol, _) in amounts.iter().filter(|(symbol, _)| *symbol != "ETH") {
            approve(&mut batch, symbol, *pool).await?;
        }
    }
    batch.mine().await?;
    let mut batch = Batch::new(rpc);
    for deposit in deposits {
        batch.send(&format!("liquidity of Curve's {}", deposit.pool), deposit.call()).await?;
    }
    batch.mine().await
}

async fn approve(batch: &mut Batch<'_>, symbol: &str, spender: Address) -> Result<(), DevnetError> {
    let call = IErc20::approveCall { spender, value: U256::MAX };
    batch.send(symbol, Tx::call(MAKER, coin(symbol), &call).gas(100_000)).await
}

/// A trade each way in every pool, so that a swap writes over what was written before, as on mainnet.
async fn trade(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for symbol in ["DAI", "USDC", "USDT"] {
        approve(&mut batch, symbol, at::CURVE_GUSD).await?;
    }
    batch.mine().await?;
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
        for (own, other) in [("GUSD", 1_i128), ("GUSD", 2), ("GUSD", 3)] {
            let dx = units(own, 1_000);
            let base = if other == 1 { power(18) } else { power(6) };
            let call = if there {
                Meta::exchange_underlyingCall { i: 0, j: other, dx, least: U256::ZERO }
            } else {
                Meta::exchange_underlyingCall { i: other, j: 0, dx: U256::from(1_000) * base, least: U256::ZERO }
            };
            batch.send("trading in Curve's metapool", Tx::call(MAKER, at::CURVE_GUSD, &call).gas(3_000_000)).await?;
        }
        batch.mine().await?;
    }
    Ok(())
}
