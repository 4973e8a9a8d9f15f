//! Curve's pools that are not built on another pool, with their share tokens and deposits.

use alloy::{
    primitives::{Address, U256},
    sol_types::{SolCall, SolValue},
};

use super::{
    Habits, OfMany, OfThree, OfTwo, TIMES_N, TIMES_N_PLUS_ONE, Terms, WHOLE, crypto, habits, next, plain_rate, share,
    stable, units, vault_rate, wrapped_rate,
};
use crate::{
    accounts::MAKER,
    addresses::{self as at},
    rpc::Tx,
    world::placement::Placement,
};

/// Returns the pools and their share tokens.
pub(super) fn alone() -> Vec<Placement> {
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
            two(stable(&["DAI", "USDC", "USDT"], 4_000, 1_500_000, 0, three.clone()), at::CURVE_3CRV),
        ),
        share("Curve.fi renBTC/WBTC (stand-in)", "crvRenWBTC", at::CURVE_REN_SHARE, at::CURVE_REN),
        (
            "StandInCurveFirst2",
            at::CURVE_REN,
            two(stable(&["renBTC", "WBTC"], 200, 4_000_000, 0, three.clone()), at::CURVE_REN_SHARE),
        ),
        share("Curve.fi renBTC/WBTC/sBTC (stand-in)", "crvRenWSBTC", at::CURVE_SBTC_SHARE, at::CURVE_SBTC),
        (
            "StandInCurveFirst3",
            at::CURVE_SBTC,
            two(stable(&["renBTC", "WBTC", "sBTC"], 250, 4_000_000, 0, three), at::CURVE_SBTC_SHARE),
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
        (
            "StandInCurvePlainPool2",
            at::CURVE_LISTED_HELD,
            (
                stable(&["FRAX", "LUSD"], 500, 4_000_000, 0, Habits { held: true, ..habits(WHOLE) }),
                name.to_owned(),
                "FRAXLUSD".to_owned(),
            )
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

/// The pools that index their coins with unsigned integers.
pub(super) const CRYPTO: [Address; 6] = [
    at::CURVE_CRVETH,
    at::CURVE_RETH,
    at::CURVE_TRICRYPTO2,
    at::CURVE_TRICRYPTO_USDC,
    at::CURVE_WETH_INV,
    at::CURVE_LISTED_CRYPTO,
];

/// A deposit into a pool, in atomic units of its coins.
pub(super) struct Deposit {
    pub(super) pool: Address,
    pub(super) amounts: Vec<(&'static str, U256)>,
    next_generation: bool,
}

fn deposit(pool: Address, amounts: &[(&'static str, u64)]) -> Deposit {
    let amounts = amounts.iter().map(|(symbol, whole)| (*symbol, units(symbol, *whole))).collect();
    Deposit { pool, amounts, next_generation: false }
}

pub(super) fn deposits() -> Vec<Deposit> {
    let next = |deposit: Deposit| Deposit { next_generation: true, ..deposit };
    vec![
        deposit(at::CURVE_3POOL, &[("DAI", 60_000_000), ("USDC", 58_000_000), ("USDT", 61_000_000)]),
        deposit(at::CURVE_REN, &[("renBTC", 300), ("WBTC", 310)]),
        deposit(at::CURVE_SBTC, &[("renBTC", 200), ("WBTC", 210), ("sBTC", 190)]),
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
        deposit(at::CURVE_LISTED_HELD, &[("FRAX", 900_000), ("LUSD", 900_000)]),
        next(deposit(at::CURVE_LISTED_NEXT, &[("PYUSD", 3_600_000), ("USDe", 3_400_000)])),
        deposit(at::CURVE_LISTED_CRYPTO, &[("WETH", 800), ("COMP", 52_173)]),
    ]
}

impl Deposit {
    pub(super) fn call(&self) -> Tx {
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
