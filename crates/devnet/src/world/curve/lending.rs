//! Curve's pools of lenders' tokens, and stand-ins for the lenders.

use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::SolValue,
};

use super::{Habits, TIMES_N_PLUS_ONE, Terms, coin, decimals, habits, power, share, stable, units};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses::{self as at},
    kit::Bundle,
    rpc::{Rpc, Tx},
    world::{
        Batch,
        deploy::{self, Placement},
    },
};

sol! {
    interface Aave {
        function open(address asset, address aToken, uint256 index, uint256 lent) external;
        function deposit(address asset, uint256 amount, address onBehalfOf, uint16 referral) external;
    }
    interface Market { function mint(uint256 amount) external; }
    interface OfAave { function add_liquidity(uint256[3] amounts, uint256 least, bool underlying) external; }
    interface OfTwo { function add_liquidity(uint256[2] amounts, uint256 least) external; }
    interface OfThree { function add_liquidity(uint256[3] amounts, uint256 least) external; }
    interface Lending { function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external; }
}

const COINS: [&str; 3] = ["DAI", "USDC", "USDT"];

/// Aave's tokens, and in parts of a million what one at the beginning has become.
const A_TOKENS: [(Address, u64); 3] = [(at::A_DAI, 1_114_159), (at::A_USDC, 1_127_182), (at::A_USDT, 1_141_421)];

/// Compound's markets, and what a unit of their shares is worth, 18 decimals: of 8 in shares of coins of 18 and of 6.
const C_TOKENS: [(&str, Address, u128); 2] =
    [("DAI", at::C_DAI, 223_606_797_749_978_969_640_917_366), ("USDC", at::C_USDC, 230_940_107_675_850)];

/// A pool of these tokens for these coins.
fn terms(tokens: &[Address], symbols: &[&str], terms: Terms) -> (Terms, Vec<Address>) {
    let underlying = symbols.iter().map(|symbol| coin(symbol)).collect();
    (Terms { coins: tokens.to_vec(), ..terms }, underlying)
}

fn placements() -> Vec<Placement> {
    let name = |symbol: &str| format!("{symbol} (stand-in)");
    let mut all = vec![("StandInAavePool", at::AAVE, vec![]), ("StandInComptroller", at::COMPOUND, vec![])];
    for (symbol, (token, _)) in COINS.iter().zip(A_TOKENS) {
        let text = (name(&format!("Aave interest bearing {symbol}")), format!("a{symbol}"));
        let args = (text.0, text.1, U256::from(decimals(symbol)), coin(symbol), at::AAVE);
        all.push(("StandInAToken", token, args.abi_encode_params()));
    }
    for (symbol, market, rate) in C_TOKENS {
        let text = (name(&format!("Compound {symbol}")), format!("c{symbol}"));
        let args = (text.0, text.1, coin(symbol), at::COMPOUND, units(symbol, 30_000_000), U256::from(rate));
        all.push(("StandInCToken", market, args.abi_encode_params()));
    }
    all
}

fn pools() -> Vec<Placement> {
    let name = "Curve.fi (stand-in)";
    let aave = Habits {
        exchangeKeepsOne: false,
        viewKeepsOne: false,
        viewFeeAfterScaling: true,
        held: true,
        ..habits(TIMES_N_PLUS_ONE)
    };
    let compound =
        Habits { precision: U256::ONE, held: false, givesUnsettled: true, answersNothing: true, ..aave.clone() };
    let of_aave =
        terms(&A_TOKENS.map(|(token, _)| token), &COINS, stable(&COINS, 2_000, 4_000_000, 20_000_000_000, aave));
    let two = terms(
        &[at::C_DAI, at::C_USDC],
        &["DAI", "USDC"],
        stable(&["DAI", "USDC"], 4_500, 4_000_000, 0, compound.clone()),
    );
    let three = terms(&[at::C_DAI, at::C_USDC, coin("USDT")], &COINS, stable(&COINS, 2_000, 4_000_000, 0, compound));
    vec![
        share(name, "a3CRV", at::CURVE_AAVE_SHARE, at::CURVE_AAVE),
        (
            "StandInCurveAave",
            at::CURVE_AAVE,
            (of_aave.0, of_aave.1, at::CURVE_AAVE_SHARE, at::AAVE).abi_encode_params(),
        ),
        share(name, "cDAI+cUSDC", at::CURVE_COMPOUND_SHARE, at::CURVE_COMPOUND),
        ("StandInCurveCompound", at::CURVE_COMPOUND, (two.0, two.1, at::CURVE_COMPOUND_SHARE).abi_encode_params()),
        share(name, "cDAI+cUSDC+USDT", at::CURVE_COMPOUND_USDT_SHARE, at::CURVE_COMPOUND_USDT),
        (
            "StandInCurveCompoundTether",
            at::CURVE_COMPOUND_USDT,
            (three.0, three.1, at::CURVE_COMPOUND_USDT_SHARE).abi_encode_params(),
        ),
    ]
}

/// Places lenders and pools, fills both, and trades in each pool one way and back.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    deploy::place(rpc, bundle, &placements()).await?;
    deploy::place(rpc, bundle, &pools()).await?;
    approve(rpc).await?;
    let mut batch = Batch::new(rpc);
    for (symbol, (token, millionths)) in COINS.iter().zip(A_TOKENS) {
        let index = U256::from(millionths) * power(21);
        let open = Aave::openCall { asset: coin(symbol), aToken: token, index, lent: units(symbol, 40_000_000) };
        batch.send("opening a reserve", Tx::call(MAKER, at::AAVE, &open).gas(300_000)).await?;
        let amount = units(symbol, 20_000_000);
        let deposit = Aave::depositCall { asset: coin(symbol), amount, onBehalfOf: MAKER, referral: 0 };
        batch.send("depositing at Aave", Tx::call(MAKER, at::AAVE, &deposit).gas(1_000_000)).await?;
    }
    for (symbol, market, _) in C_TOKENS {
        let mint = Market::mintCall { amount: units(symbol, 20_000_000) };
        batch.send("depositing at Compound", Tx::call(MAKER, market, &mint).gas(1_000_000)).await?;
    }
    batch.mine().await?;
    fill(rpc).await?;
    trade(rpc).await
}

async fn approve(rpc: &Rpc) -> Result<(), DevnetError> {
    let of = |symbols: &[&str], spender: Address| -> Vec<(Address, Address)> {
        symbols.iter().map(|symbol| (coin(symbol), spender)).collect()
    };
    let mut allowances = [
        of(&COINS, at::AAVE),
        of(&COINS, at::CURVE_AAVE),
        of(&["DAI", "USDC"], at::CURVE_COMPOUND),
        of(&COINS, at::CURVE_COMPOUND_USDT),
    ]
    .concat();
    for (symbol, market, _) in C_TOKENS {
        let pools = [at::CURVE_COMPOUND, at::CURVE_COMPOUND_USDT];
        allowances.push((coin(symbol), market));
        allowances.extend(pools.map(|pool| (market, pool)));
    }
    let mut batch = Batch::new(rpc);
    for (token, spender) in allowances {
        let call = IErc20::approveCall { spender, value: U256::MAX };
        batch.send("an allowance for a lending pool", Tx::call(MAKER, token, &call).gas(100_000)).await?;
    }
    batch.mine().await
}

async fn fill(rpc: &Rpc) -> Result<(), DevnetError> {
    let least = U256::ZERO;
    let whole = |amounts: [u64; 3]| core::array::from_fn(|k| units(COINS[k], amounts[k]));
    let aave = OfAave::add_liquidityCall { amounts: whole([2_000_000, 2_200_000, 1_700_000]), least, underlying: true };
    // shares of 8 decimals, a forty-fourth or so of a dollar each
    let shares = |millions: u64| U256::from(millions * 1_000_000) * power(8);
    let two = OfTwo::add_liquidityCall { amounts: [shares(90), shares(110)], least };
    let three = OfThree::add_liquidityCall { amounts: [shares(40), shares(50), units("USDT", 900_000)], least };
    let mut batch = Batch::new(rpc);
    batch.send("filling Curve's Aave pool", Tx::call(MAKER, at::CURVE_AAVE, &aave).gas(5_000_000)).await?;
    batch.send("filling Curve's Compound pool", Tx::call(MAKER, at::CURVE_COMPOUND, &two).gas(5_000_000)).await?;
    batch.send("filling Curve's USDT pool", Tx::call(MAKER, at::CURVE_COMPOUND_USDT, &three).gas(5_000_000)).await?;
    batch.mine().await
}

async fn trade(rpc: &Rpc) -> Result<(), DevnetError> {
    for (pool, count) in [(at::CURVE_AAVE, 3_i128), (at::CURVE_COMPOUND, 2), (at::CURVE_COMPOUND_USDT, 3)] {
        let mut batch = Batch::new(rpc);
        for (i, symbol) in (0..count).zip(COINS) {
            let j = (i + 1) % count;
            let there = Lending::exchange_underlyingCall { i, j, dx: units(symbol, 1_000), least: U256::ZERO };
            batch.send("trading in a lending pool", Tx::call(MAKER, pool, &there).gas(5_000_000)).await?;
        }
        batch.mine().await?;
    }
    Ok(())
}
