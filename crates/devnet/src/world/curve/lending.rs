//! Curve's pools of Aave's and Compound's tokens, with stand-ins for both lenders.

use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::{SolCall, SolValue},
};

use super::{
    Habits, OfThree, OfTwo, TIMES_N_PLUS_ONE, Terms, allow, coin, decimals, habits, power, share, stable, units,
};
use crate::{
    DevnetError,
    accounts::MAKER,
    addresses::{self as at},
    kit::Bundle,
    rpc::{Rpc, Tx},
    world::{
        Batch,
        placement::{self, Placement},
    },
};

sol! {
    interface Aave {
        function open(address asset, address aToken, uint256 index, uint256 lent) external;
        function deposit(address asset, uint256 amount, address onBehalfOf, uint16 referral) external;
    }
    interface Market { function mint(uint256 amount) external; }
    interface OfAaveThree { function add_liquidity(uint256[3] amounts, uint256 least, bool underlying) external; }
    interface OfAaveTwo { function add_liquidity(uint256[2] amounts, uint256 least, bool underlying) external; }
    interface Lending { function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external; }
}

/// The coins that Aave lends, its tokens for them, and their index in millionths.
const AT_AAVE: [(&str, Address, u64); 4] = [
    ("DAI", at::A_DAI, 1_114_159),
    ("USDC", at::A_USDC, 1_127_182),
    ("USDT", at::A_USDT, 1_141_421),
    ("sUSD", at::A_SUSD, 1_106_180),
];

/// The coins that Compound lends, its markets, and the exchange rate with 18 decimals: atomic units of the coin (of 18
/// and 6 decimals) for one atomic unit of the market's token (of 8 decimals).
const AT_COMPOUND: [(&str, Address, u128); 2] =
    [("DAI", at::C_DAI, 223_606_797_749_978_969_640_917_366), ("USDC", at::C_USDC, 230_940_107_675_850)];

/// A pool of a lender's tokens.
struct Lent {
    pool: Address,
    contract: &'static str,
    shares: (Address, &'static str),
    of_aave: bool,
    amp: u64,
    coins: &'static [&'static str],
    /// The deposit: thousands of coins at Aave, millions of shares at Compound, and whole coins that are not lent.
    holds: &'static [u64],
}

const LENT: [Lent; 4] = [
    Lent {
        pool: at::CURVE_AAVE,
        contract: "StandInCurveAave",
        shares: (at::CURVE_AAVE_SHARE, "a3CRV"),
        of_aave: true,
        amp: 2_000,
        coins: &["DAI", "USDC", "USDT"],
        holds: &[2_000, 2_200, 1_700],
    },
    Lent {
        pool: at::CURVE_SAAVE,
        contract: "StandInCurveAaveTwo",
        shares: (at::CURVE_SAAVE_SHARE, "saCRV"),
        of_aave: true,
        amp: 100,
        coins: &["DAI", "sUSD"],
        holds: &[900, 1_050],
    },
    Lent {
        pool: at::CURVE_COMPOUND,
        contract: "StandInCurveCompound",
        shares: (at::CURVE_COMPOUND_SHARE, "cDAI+cUSDC"),
        of_aave: false,
        amp: 4_500,
        coins: &["DAI", "USDC"],
        holds: &[90, 110],
    },
    Lent {
        pool: at::CURVE_COMPOUND_USDT,
        contract: "StandInCurveCompoundTether",
        shares: (at::CURVE_COMPOUND_USDT_SHARE, "cDAI+cUSDC+USDT"),
        of_aave: false,
        amp: 2_000,
        coins: &["DAI", "USDC", "USDT"],
        holds: &[40, 50, 900_000],
    },
];

impl Lent {
    /// Returns the lender's token of a coin, or the coin itself if it is not lent.
    fn token(&self, symbol: &str) -> Address {
        let at_aave = AT_AAVE.iter().find(|(lent, ..)| *lent == symbol).map(|(_, token, _)| *token);
        let at_compound = AT_COMPOUND.iter().find(|(lent, ..)| *lent == symbol).map(|(_, market, _)| *market);
        if self.of_aave { at_aave } else { at_compound }.unwrap_or_else(|| coin(symbol))
    }

    fn placements(&self) -> [Placement; 2] {
        let first = Habits {
            exchangeKeepsOne: false,
            viewKeepsOne: false,
            viewFeeAfterScaling: true,
            held: true,
            ..habits(TIMES_N_PLUS_ONE)
        };
        let habits = match self.of_aave {
            true => first,
            false => Habits { precision: U256::ONE, held: false, givesUnsettled: true, answersNothing: true, ..first },
        };
        let offpeg = if self.of_aave { 20_000_000_000 } else { 0 };
        let tokens = self.coins.iter().map(|symbol| self.token(symbol)).collect();
        let terms = Terms { coins: tokens, ..stable(self.coins, self.amp, 4_000_000, offpeg, habits) };
        let coins: Vec<Address> = self.coins.iter().map(|symbol| coin(symbol)).collect();
        let (shares, name) = self.shares;
        let args = match self.of_aave {
            true => (terms, coins, shares, at::AAVE).abi_encode_params(),
            false => (terms, coins, shares).abi_encode_params(),
        };
        [share("Curve.fi (stand-in)", name, shares, self.pool), (self.contract, self.pool, args)]
    }

    /// Returns the tokens that the pool must be approved for: the coins, to trade, and at Compound the lender's tokens,
    /// to fill it.
    fn taken(&self) -> Vec<Address> {
        let coins = self.coins.iter().map(|symbol| coin(symbol));
        let lent = self.coins.iter().map(|symbol| self.token(symbol)).zip(coins.clone());
        let tokens = lent.filter(|(token, coin)| !self.of_aave && token != coin).map(|(token, _)| token);
        coins.chain(tokens).collect()
    }

    fn fill(&self) -> Vec<u8> {
        let amount = |place: usize| {
            let Some((symbol, holds)) = self.coins.get(place).zip(self.holds.get(place)) else { return U256::ZERO };
            match self.of_aave {
                true => units(symbol, holds * 1_000),
                false if self.token(symbol) == coin(symbol) => units(symbol, *holds),
                // A share has 8 decimals and is worth about a forty-fourth of a dollar.
                false => U256::from(holds * 1_000_000) * power(8),
            }
        };
        let (two, three, least) = ([0, 1].map(amount), [0, 1, 2].map(amount), U256::ZERO);
        match (self.of_aave, self.coins.len()) {
            (true, 2) => OfAaveTwo::add_liquidityCall { amounts: two, least, underlying: true }.abi_encode(),
            (true, _) => OfAaveThree::add_liquidityCall { amounts: three, least, underlying: true }.abi_encode(),
            (false, 2) => OfTwo::add_liquidityCall { amounts: two, least }.abi_encode(),
            (false, _) => OfThree::add_liquidityCall { amounts: three, least }.abi_encode(),
        }
    }
}

fn lenders() -> Vec<Placement> {
    let name = |symbol: &str| format!("{symbol} (stand-in)");
    let mut all = vec![("StandInAavePool", at::AAVE, vec![]), ("StandInComptroller", at::COMPOUND, vec![])];
    for (symbol, token, _) in AT_AAVE {
        let text = (name(&format!("Aave interest bearing {symbol}")), format!("a{symbol}"));
        let args = (text.0, text.1, U256::from(decimals(symbol)), coin(symbol), at::AAVE);
        all.push(("StandInAToken", token, args.abi_encode_params()));
    }
    for (symbol, market, rate) in AT_COMPOUND {
        let text = (name(&format!("Compound {symbol}")), format!("c{symbol}"));
        let args = (text.0, text.1, coin(symbol), at::COMPOUND, units(symbol, 30_000_000), U256::from(rate));
        all.push(("StandInCToken", market, args.abi_encode_params()));
    }
    all
}

/// Places the lenders and the pools, fills both, and trades in each pool one way and back.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    placement::place(rpc, bundle, &lenders()).await?;
    placement::place(rpc, bundle, &LENT.iter().flat_map(Lent::placements).collect::<Vec<_>>()).await?;
    approve(rpc).await?;
    let mut batch = Batch::new(rpc);
    for (symbol, token, millionths) in AT_AAVE {
        let index = U256::from(millionths) * power(21);
        let open = Aave::openCall { asset: coin(symbol), aToken: token, index, lent: units(symbol, 40_000_000) };
        batch.send("opening a reserve", Tx::call(MAKER, at::AAVE, &open).gas(300_000)).await?;
        let amount = units(symbol, 20_000_000);
        let deposit = Aave::depositCall { asset: coin(symbol), amount, onBehalfOf: MAKER, referral: 0 };
        batch.send("depositing at Aave", Tx::call(MAKER, at::AAVE, &deposit).gas(1_000_000)).await?;
    }
    for (symbol, market, _) in AT_COMPOUND {
        let mint = Market::mintCall { amount: units(symbol, 20_000_000) };
        batch.send("depositing at Compound", Tx::call(MAKER, market, &mint).gas(1_000_000)).await?;
    }
    batch.mine().await?;
    let mut batch = Batch::new(rpc);
    for lent in &LENT {
        let tx = Tx {
            from: MAKER,
            to: lent.pool,
            data: lent.fill().into(),
            value_wei: U256::ZERO,
            gas_units: Some(5_000_000),
        };
        batch.send(&format!("filling Curve's {}", lent.shares.1), tx).await?;
    }
    batch.mine().await?;
    trade(rpc).await
}

async fn approve(rpc: &Rpc) -> Result<(), DevnetError> {
    let lenders = AT_AAVE.iter().map(|(symbol, ..)| (coin(symbol), at::AAVE));
    let markets = AT_COMPOUND.iter().map(|(symbol, market, _)| (coin(symbol), *market));
    let pools = LENT.iter().flat_map(|lent| lent.taken().into_iter().map(|token| (token, lent.pool)));
    let mut batch = Batch::new(rpc);
    for (token, spender) in lenders.chain(markets).chain(pools) {
        allow(&mut batch, token, spender).await?;
    }
    batch.mine().await
}

async fn trade(rpc: &Rpc) -> Result<(), DevnetError> {
    for lent in &LENT {
        let mut batch = Batch::new(rpc);
        let count = i128::try_from(lent.coins.len()).unwrap_or(0);
        for (i, symbol) in (0..count).zip(lent.coins) {
            let j = (i + 1) % count;
            let there = Lending::exchange_underlyingCall { i, j, dx: units(symbol, 1_000), least: U256::ZERO };
            batch.send("trading in a lending pool", Tx::call(MAKER, lent.pool, &there).gas(5_000_000)).await?;
        }
        batch.mine().await?;
    }
    Ok(())
}
