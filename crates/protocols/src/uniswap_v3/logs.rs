//! Applies pool logs to a state. Each log carries all that changed.

use std::sync::Arc;

use alloy_primitives::{B256, Log, LogData, U256, b256};
use alloy_sol_types::{SolEvent, sol};

use super::{After, State, Tick};
use crate::{DecodeError, Freshness, logs::decode};

sol! {
    event Initialize(uint160 sqrtPriceX96, int24 tick);
    event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick);
    event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    event Burn(address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    event SetFeeProtocol(uint8 feeProtocol0Old, uint8 feeProtocol1Old, uint8 feeProtocol0New, uint8 feeProtocol1New);
}

/// `topic0` of `Initialize`, which sets the first price.
pub(crate) const INITIALIZE: B256 = b256!("98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95");
const SWAP: B256 = b256!("c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67");
/// `topic0` of `Mint`, which adds liquidity.
pub(crate) const MINT: B256 = b256!("7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde");
/// `topic0` of `Burn`, which removes liquidity.
pub(crate) const BURN: B256 = b256!("0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c");

/// `topic0` of `SetFeeProtocol`, which sets the protocol's share of the fee. PancakeSwap's has wider numbers.
const SET_FEE_PROTOCOL: B256 = b256!("973d8d92bb299f4af6ce49b52a8adb85ae46b9f214c4c4fc06ac77401237b133");

/// Events of a pool's code. Forks differ in their `Swap` event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logs {
    /// `topic0` of every event that changes the output or the gas of swaps. `Collect`, `Flash` and the oracle's events
    /// do not.
    pub(super) topics: &'static [B256],
    swap: B256,
    price_after: fn(&LogData) -> Option<After>,
}

impl Logs {
    /// Uniswap's own events.
    pub(crate) const UNISWAP: Self = Self::with_swap(SWAP, &[INITIALIZE, SWAP, MINT, BURN, SET_FEE_PROTOCOL], |data| {
        let event = Swap::decode_log_data_validate(data).ok()?;
        let (sqrt_price_x96, tick) = (U256::from(event.sqrtPriceX96), event.tick.as_i32());
        Some(After { sqrt_price_x96, tick, liquidity: event.liquidity })
    });

    /// Returns Uniswap's events with another `Swap`; `topics` lists all.
    pub(crate) const fn with_swap(
        swap: B256,
        topics: &'static [B256],
        price_after: fn(&LogData) -> Option<After>,
    ) -> Self {
        Self { topics, swap, price_after }
    }

    /// Applies one log.
    pub(super) fn apply(&self, state: &mut State, log: &Log) -> Result<Freshness, DecodeError> {
        let topic0 = log.topics().first().copied().unwrap_or_default();
        if topic0 != self.swap {
            return apply(state, topic0, log);
        }
        let malformed = DecodeError::Log { event: "Swap", emitter: log.address };
        let after = (self.price_after)(&log.data).ok_or(malformed)?;
        applied(log, move_price(state, after))
    }
}

/// Converts the violation that a log's change would cause.
fn applied(log: &Log, changed: Result<(), &'static str>) -> Result<Freshness, DecodeError> {
    changed.map(|()| Freshness::Applied).map_err(|what| DecodeError::State { pool: log.address, what })
}

/// Applies any log other than `Swap`.
fn apply(state: &mut State, topic0: B256, log: &Log) -> Result<Freshness, DecodeError> {
    let changed = match topic0 {
        INITIALIZE => {
            let event: Initialize = decode(log)?;
            initialise(state, U256::from(event.sqrtPriceX96), event.tick.as_i32())
        }
        MINT => {
            let event: Mint = decode(log)?;
            let range = (event.tickLower.as_i32(), event.tickUpper.as_i32());
            change_liquidity(state, range, Change { amount: event.amount, minted: true })
        }
        BURN => {
            let event: Burn = decode(log)?;
            let range = (event.tickLower.as_i32(), event.tickUpper.as_i32());
            change_liquidity(state, range, Change { amount: event.amount, minted: false })
        }
        SET_FEE_PROTOCOL => {
            let event: SetFeeProtocol = decode(log)?;
            state.fee_protocol = event.feeProtocol0New | event.feeProtocol1New << 4;
            Ok(())
        }
        _ => return Ok(Freshness::Unaffected),
    };
    applied(log, changed)
}

fn initialise(state: &mut State, sqrt_price_x96: U256, tick: i32) -> Result<(), &'static str> {
    if !state.sqrt_price_x96.is_zero() {
        return Err("a pool initialised twice");
    }
    let next = State { sqrt_price_x96, tick, ..state.clone() };
    next.validate_price()?;
    *state = next;
    Ok(())
}

fn move_price(state: &mut State, after: After) -> Result<(), &'static str> {
    let After { sqrt_price_x96, tick, liquidity } = after;
    let next = State { sqrt_price_x96, tick, liquidity, ..state.clone() };
    next.validate_price()?;
    next.validate_liquidity()?;
    *state = next;
    Ok(())
}

/// Liquidity added or removed.
#[derive(Clone, Copy)]
struct Change {
    amount: u128,
    minted: bool,
}

impl Change {
    fn apply(self, liquidity: u128) -> Result<u128, &'static str> {
        let changed = if self.minted { liquidity.checked_add(self.amount) } else { liquidity.checked_sub(self.amount) };
        changed.ok_or("liquidity below zero or above 128 bits")
    }

    /// Returns a tick's net liquidity after the change. The lower end of a range adds liquidity to a rising price, the
    /// upper end removes it.
    fn apply_net(self, net: i128, is_lower: bool) -> Result<i128, &'static str> {
        let amount = i128::try_from(self.amount).map_err(|_| "more net liquidity than 127 bits")?;
        let changed = if self.minted == is_lower { net.checked_add(amount) } else { net.checked_sub(amount) };
        changed.ok_or("more net liquidity than 127 bits")
    }
}

fn change_liquidity(state: &mut State, (lower, upper): (i32, i32), change: Change) -> Result<(), &'static str> {
    if change.amount == 0 {
        // a burn of zero only collects fees
        return Ok(());
    }
    if state.sqrt_price_x96.is_zero() {
        return Err("liquidity in a pool that was never initialised");
    }
    if lower >= upper || state.tick_spacing <= 0 || lower % state.tick_spacing != 0 || upper % state.tick_spacing != 0 {
        return Err("a range off the tick spacing");
    }
    let in_range = lower <= state.tick && state.tick < upper;
    let liquidity = if in_range { change.apply(state.liquidity)? } else { state.liquidity };
    let mut ticks = Vec::with_capacity(state.ticks.len() + 2);
    ticks.extend_from_slice(&state.ticks);
    change_tick(&mut ticks, lower, change, true)?;
    change_tick(&mut ticks, upper, change, false)?;
    state.ticks = Arc::from(ticks);
    state.liquidity = liquidity;
    Ok(())
}

/// Updates a tick. The first liquidity initialises it, and the last to leave removes it.
fn change_tick(ticks: &mut Vec<Tick>, index: i32, change: Change, is_lower: bool) -> Result<(), &'static str> {
    match ticks.binary_search_by_key(&index, |tick| tick.index) {
        Ok(at) => {
            let Some(tick) = ticks.get_mut(at) else { return Err("a tick that is not initialised") };
            tick.liquidity_gross = change.apply(tick.liquidity_gross)?;
            tick.liquidity_net = change.apply_net(tick.liquidity_net, is_lower)?;
            if tick.liquidity_gross == 0 {
                ticks.remove(at);
            }
        }
        Err(at) => {
            let gross = change.apply(0)?;
            let net = change.apply_net(0, is_lower)?;
            ticks.insert(at, Tick::new(index, net, gross).ok_or("a tick out of range")?);
        }
    }
    Ok(())
}
