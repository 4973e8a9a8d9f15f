//! Tests of how Curve's lending pools are read, with artificial answers: which lenders are accepted and which are
//! refused.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    Call, PoolState, Product, ReadProgress, SwapError,
    curve::{Model, lending::State, stable::Rate},
};

sol! {
    function decimals() external view returns (uint8);
    function balanceOf(address owner) external view returns (uint256);
    function getCurrentBlockTimestamp() external view returns (uint256);
    function getBlockNumber() external view returns (uint256);
    function balances(uint256 coin) external view returns (uint256);
    interface First { function balances(int128 coin) external view returns (uint256); }
    function A() external view returns (uint256);
    function A_precise() external view returns (uint256);
    function initial_A() external view returns (uint256);
    function future_A() external view returns (uint256);
    function fee() external view returns (uint256);
    function admin_fee() external view returns (uint256);
    function offpeg_fee_multiplier() external view returns (uint256);
    function admin_balances(uint256 coin) external view returns (uint256);
    function paused() external view returns (bool);
    function scaledBalanceOf(address owner) external view returns (uint256);
    function getReserveData(address asset) external view returns (uint256[12]);
    function exchangeRateStored() external view returns (uint256);
    function borrowRatePerBlock() external view returns (uint256);
    function accrualBlockNumber() external view returns (uint256);
    function getCash() external view returns (uint256);
    function totalBorrows() external view returns (uint256);
    function totalReserves() external view returns (uint256);
    function reserveFactorMantissa() external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function mintGuardianPaused(address market) external view returns (bool);
}

const AAVE: Address = address!("DeBF20617708857ebe4F679508E7b7863a8A8EeE");
const COMPOUND: Address = address!("A2B47E3D5c44877cca798226B7B8118F9BFb7A56");
const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
const CDAI: Address = address!("5d3a536E4D6DbD6114cc1Ead35777bAB948E3643");
const A_TOKENS: [Address; 3] = [
    address!("028171bCA77440897B824Ca71D1c56caC55b68A3"),
    address!("BcCA60bB61934080951369a648Fb03DF4F96263C"),
    address!("3Ed3B47Dd13EC9a98b44e6204A523E766B225811"),
];
const NOW: u64 = 1_700_000_000;
const BLOCK: u64 = 20_000_000;
const YEAR: u64 = 31_536_000;
const ACTIVE: u64 = 1 << 56;
const FROZEN: u64 = 1 << 57;

fn e(power: u64) -> U256 {
    U256::from(10).pow(U256::from(power))
}

/// Returns a million of each coin, in atomic units.
fn million(asset: Address) -> U256 {
    e(if asset == DAI { 24 } else { 12 })
}

/// Returns a reserve of Aave with an index of 1.1 and a rate of 10 percent, updated at the current timestamp.
fn reserve(asset: Address, flags: u64) -> Vec<u8> {
    let token = A_TOKENS[if asset == DAI { 0 } else { 1 + usize::from(asset != USDC) }];
    let mut words = [U256::ZERO; 12];
    words[0] = U256::from(flags);
    words[1] = e(26) * U256::from(11);
    words[3] = e(26);
    words[6] = U256::from(NOW);
    words[7] = U256::from_be_slice(token.as_slice());
    words.abi_encode()
}

/// Returns correct answers: a million of each coin lent at Aave, and shares worth a fiftieth of a coin at Compound.
fn honest(call: &Call) -> Vec<u8> {
    let selector: [u8; 4] = call.data[..4].try_into().unwrap();
    let said = match selector {
        getReserveDataCall::SELECTOR => {
            return reserve(getReserveDataCall::abi_decode(&call.data).unwrap().asset, ACTIVE);
        }
        pausedCall::SELECTOR | mintGuardianPausedCall::SELECTOR => U256::ZERO,
        getCurrentBlockTimestampCall::SELECTOR => U256::from(NOW),
        getBlockNumberCall::SELECTOR => U256::from(BLOCK),
        decimalsCall::SELECTOR => U256::from(if call.to == DAI { 18 } else { 6 }),
        scaledBalanceOfCall::SELECTOR => million(if call.to == A_TOKENS[0] { DAI } else { USDC }),
        admin_balancesCall::SELECTOR => U256::from(7),
        balancesCall::SELECTOR => {
            let coin = balancesCall::abi_decode(&call.data).unwrap().coin;
            million(if coin.is_zero() { DAI } else { USDC }) / U256::from(10) * U256::from(11) - U256::from(7)
        }
        // Fifty million shares with 8 decimals.
        First::balancesCall::SELECTOR => e(15) * U256::from(5),
        ACall::SELECTOR => U256::from(2_000),
        A_preciseCall::SELECTOR | initial_ACall::SELECTOR | future_ACall::SELECTOR => U256::from(200_000),
        feeCall::SELECTOR => U256::from(4_000_000),
        admin_feeCall::SELECTOR => e(9) * U256::from(5),
        offpeg_fee_multiplierCall::SELECTOR => e(10) * U256::from(2),
        balanceOfCall::SELECTOR => million(call.to) * U256::from(5),
        getCashCall::SELECTOR => million(if call.to == CDAI { DAI } else { USDC }) * U256::from(5),
        totalBorrowsCall::SELECTOR => million(if call.to == CDAI { DAI } else { USDC }) * U256::from(6),
        totalReservesCall::SELECTOR => million(if call.to == CDAI { DAI } else { USDC }),
        totalSupplyCall::SELECTOR => e(16) * U256::from(5),
        exchangeRateStoredCall::SELECTOR => e(if call.to == CDAI { 26 } else { 14 }) * U256::from(2),
        reserveFactorMantissaCall::SELECTOR => e(17),
        borrowRatePerBlockCall::SELECTOR => e(10),
        accrualBlockNumberCall::SELECTOR => U256::from(BLOCK - 9),
        _ => U256::ZERO,
    };
    said.abi_encode()
}

/// Reads a pool from correct answers, some of which `odd` replaces.
fn read(pool: Address, odd: impl Fn(&Call) -> Option<Vec<u8>>) -> Result<State, String> {
    let record = Product::CurveStableswap;
    let pool = record.fixed_pools().into_iter().find(|listed| listed.key.contract == pool).unwrap();
    let mut reader = record.reader(&pool);
    let ReadProgress::Calls(calls) = reader.start() else { panic!("nothing is asked") };
    let answer = |call: &Call| Some(Bytes::from(odd(call).unwrap_or_else(|| honest(call))));
    let answers: Vec<Option<Bytes>> = calls.iter().map(answer).collect();
    match reader.feed(&answers).map_err(|error| error.to_string())? {
        ReadProgress::Done(PoolState::Curve(state)) => match &state.model {
            Model::Lending(state) => Ok(state.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("one round is enough: {other:?}"),
    }
}

/// Replaces the answer to one call, of one contract or of all.
fn odd<C: SolCall>(to: Option<Address>, said: Vec<u8>) -> impl Fn(&Call) -> Option<Vec<u8>> {
    move |call| (call.data[..4] == C::SELECTOR && to.is_none_or(|to| to == call.to)).then(|| said.clone())
}

fn block(seconds: u64, blocks: u64) -> ExecutionBlock {
    ExecutionBlock { number: BLOCK + blocks, timestamp: NOW + seconds }
}

#[test]
fn a_pool_at_aave_has_what_its_reserves_have_made_of_it() {
    let state = read(AAVE, |_| None).unwrap();
    let amount = e(21);
    let now = state.swap(&block(0, 1), 0, 1, amount).unwrap();
    let later = state.swap(&block(YEAR, 1), 0, 1, amount).unwrap();
    assert!(now > e(9) / U256::from(1_000) * U256::from(999) && now < e(9), "a thousand: {now}");
    // A year's interest is ten percent of all balances. The result must equal that of a state whose reserves already
    // have that index.
    let mut grown = state.clone();
    for market in &mut grown.markets {
        let growth = market.growth.as_mut().unwrap();
        (growth.index, growth.rate) = (e(25) * U256::from(121), U256::ZERO);
    }
    assert_eq!(grown.swap(&block(0, 1), 0, 1, amount), Ok(later));
    assert_ne!(now, later, "the same trade moves a larger pool less");
}

#[test]
fn a_reserve_that_is_frozen_takes_nothing_and_one_that_is_not_active_does_nothing() {
    let closed = |flags: u64| {
        let state = read(AAVE, |call| {
            let asked = getReserveDataCall::abi_decode(&call.data).ok()?.asset;
            (asked == USDC).then(|| reserve(asked, flags))
        });
        let state = state.unwrap();
        let says = |i, j| state.swap(&block(12, 1), i, j, if i == 0 { e(20) } else { e(8) });
        [(0, 1), (1, 0), (0, 2)].map(|(i, j)| says(i, j) == Err(SwapError::Closed))
    };
    assert_eq!(closed(ACTIVE), [false, false, false]);
    assert_eq!(closed(ACTIVE | FROZEN), [false, true, false]);
    assert_eq!(closed(0), [true, true, false]);
    let paused = read(AAVE, odd::<pausedCall>(None, true.abi_encode())).unwrap();
    assert_eq!(paused.swap(&block(12, 1), 0, 2, e(20)), Err(SwapError::Closed));
}

#[test]
fn numbers_that_do_not_fit_each_other_leave_a_pool_at_aave_out() {
    let why = |odd: &dyn Fn(&Call) -> Option<Vec<u8>>| read(AAVE, odd).unwrap_err();
    let other = |call: &Call| {
        let asset = getReserveDataCall::abi_decode(&call.data).ok()?.asset;
        (asset == USDC).then(|| reserve(DAI, ACTIVE))
    };
    assert!(why(&other).contains("another token"));
    assert!(why(&odd::<admin_balancesCall>(None, U256::from(8).abi_encode())).contains("do not follow"));
    assert!(why(&odd::<decimalsCall>(None, U256::from(19).abi_encode())).contains("decimals"));
    assert!(read(AAVE, odd::<scaledBalanceOfCall>(None, Vec::new())).is_err());
}

#[test]
fn a_share_at_compound_is_worth_what_the_next_block_makes_of_it() {
    let state = read(COMPOUND, |_| None).unwrap();
    let paid = |blocks: u64| state.swap(&block(12, blocks), 0, 1, e(21)).unwrap();
    assert!(paid(1) > e(9) / U256::from(1_000) * U256::from(999) && paid(1) < e(9), "a thousand: {}", paid(1));
    // Of ten coins 0.6 are borrowed at 10⁻⁸ per block, and the shares earn nine tenths of the interest. After a million
    // blocks each share is worth 1.0054 times as much. The result must equal that of a state with this exchange rate.
    let mut grown = state.clone();
    for rate in &mut grown.pool.rates.0 {
        let Rate::Compound(market) = rate else { panic!("{rate:?}") };
        market.exchange_rate_stored = market.exchange_rate_stored / U256::from(10_000) * U256::from(10_054);
        (market.accrual_block, market.accrual) = (BLOCK + 1, None);
    }
    assert_eq!(grown.swap(&block(12, 1), 0, 1, e(21)), Ok(paid(1_000_000 - 9)));
    assert_ne!(paid(1_000_000 - 9), paid(1), "the same trade moves a larger pool less");
    let paused = read(COMPOUND, odd::<mintGuardianPausedCall>(None, true.abi_encode())).unwrap();
    assert_eq!(paused.swap(&block(12, 1), 0, 1, e(20)), Err(SwapError::Closed));
}

#[test]
fn a_market_whose_cash_grows_elsewhere_or_whose_numbers_do_not_fit_is_left_out() {
    let why = |odd: &dyn Fn(&Call) -> Option<Vec<u8>>| read(COMPOUND, odd).unwrap_err();
    assert!(
        why(&odd::<getCashCall>(Some(CDAI), (e(24) * U256::from(5) + U256::from(1)).abi_encode())).contains("cash")
    );
    assert!(
        why(&odd::<exchangeRateStoredCall>(Some(CDAI), (e(26) * U256::from(2) + U256::from(1)).abi_encode()))
            .contains("share rate")
    );
    assert!(
        why(&odd::<borrowRatePerBlockCall>(None, (e(12) * U256::from(5) + U256::from(1)).abi_encode()))
            .contains("rate")
    );
    assert!(read(COMPOUND, odd::<totalSupplyCall>(Some(CDAI), U256::ZERO.abi_encode())).is_err());
}
