//! Makes swaps in the EVM, through the proxy, and compares them with the model.

use std::iter::{once, successors};

use braid_execution::gas::MAX_GAS_LIMIT;
use braid_execution::{MAX_AMOUNT, Order, TokenAmount, encode_program, execute_calldata, proxy, received, revert};
use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, NATIVE_ETHER, TokenId, U256};
use braid_protocols::{Pool, Swap, SwapError};
use braid_routing::{MAX_ROUTE_GAS_UNITS, Route, Step, arrives};
use braid_simulation::grant::Granted;
use braid_simulation::{Fork, Grant, Outcome, SimulationError, Status, Transaction, simulate};
use braid_store::quarantine::TokenAtFault;

use crate::predictions::wrong_prediction;
use crate::transfers::{self, AUDITOR, Transfers};
use crate::verdict::{Difference, Probe, Verdict};

/// Times that a swap which the model refuses is tried with a hundredth of the amount.
const SMALLER: usize = 3;

/// How long the order of a check is valid after its block, in seconds.
const VALID_SECONDS: u64 = 3_600;

const NO_POOL: &str = "the market does not have the pool";

/// Why a check could not be made.
struct Unknown(String);

impl From<SimulationError> for Unknown {
    fn from(error: SimulationError) -> Self {
        Self(error.to_string())
    }
}

impl From<&str> for Unknown {
    fn from(why: &str) -> Self {
        Self(why.into())
    }
}

fn verdict(checked: Result<Verdict, Unknown>) -> Verdict {
    checked.unwrap_or_else(|Unknown(why)| Verdict::Unknown(why))
}

/// Makes a swap on a fork of the market's block, and compares what it pays with the model.
pub(crate) fn check(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    verdict(try_check(fork, market, probe))
}

/// Checks a pool that is in quarantine for a token's sake: first the token, then a swap. A swap that the model refuses
/// then says nothing against the pool.
pub(crate) fn check_again(fork: &Fork, market: &Market, probe: &Probe, token: Address) -> Verdict {
    let pools: Vec<_> = market.pool_id(probe.pool).into_iter().collect();
    let Some(id) = market.tokens().id(token) else {
        return Verdict::Unknown("the market does not have the token".into());
    };
    let transfers = match transfers::of_token(fork, market, id, &pools) {
        Ok(Transfers::Unknown(why)) => return Verdict::Unknown(why),
        Ok(transfers) => transfers,
        Err(error) => return Verdict::Unknown(error.to_string()),
    };
    if let Some(fault) = transfers.fault(token) {
        return Verdict::Differs(Difference::of_token(fault));
    }
    match check(fork, market, probe) {
        Verdict::Unknown(_) => Verdict::Agrees,
        verdict => verdict,
    }
}

/// Makes swaps of a pool both ways, each of the amount given and of half the largest that the model accepts. It agrees
/// if there is one and each pays what the model says.
pub(crate) fn check_both_ways(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    let Some(pool) = market.pool_id(probe.pool).and_then(|id| market.pool(id)) else {
        return Verdict::Unknown(NO_POOL.into());
    };
    let at = market.block().next();
    let back = Probe { coin_in: probe.coin_out, coin_out: probe.coin_in, ..*probe };
    let mut verdict = Verdict::Unknown("the model pays nothing either way".into());
    for probe in [*probe, back].into_iter().flat_map(|probe| sizes(pool, &at, probe)) {
        verdict = check(fork, market, &probe);
        if verdict != Verdict::Agrees {
            break;
        }
    }
    verdict
}

/// Returns the swaps one way that the model pays for: of the amount given, and of half the largest.
fn sizes(pool: &Pool, at: &ExecutionBlock, probe: Probe) -> Vec<Probe> {
    let swap = |amount_in| pool.swap(at, probe.coin_in, probe.coin_out, amount_in);
    let most = match swap(MAX_AMOUNT) {
        Err(SwapError::LimitExceeded { limit, .. }) => limit,
        Err(SwapError::InsufficientLiquidity { consumed, .. }) => consumed,
        _ => U256::ZERO,
    };
    let amounts = [probe.amount_in, most / U256::from(2)];
    let pays = |amount_in: &U256| swap(*amount_in).is_ok_and(|swap| !swap.amount_out.is_zero());
    amounts.into_iter().filter(pays).map(|amount_in| Probe { amount_in, ..probe }).collect()
}

fn try_check(fork: &Fork, market: &Market, probe: &Probe) -> Result<Verdict, Unknown> {
    let id = market.pool_id(probe.pool).ok_or(NO_POOL)?;
    let pool = market.pool(id).ok_or(NO_POOL)?;
    if let Some(difference) = wrong_prediction(fork, market, pool)? {
        return Ok(Verdict::Differs(difference));
    }
    let at = market.block().next();
    let (amount_in, swap) = modelled(pool, &at, probe)?;
    let coin = |index: u8| {
        let id = *pool.coins.get(usize::from(index))?;
        Some((id, market.tokens().get(id)?.address))
    };
    let coins = coin(probe.coin_in).zip(coin(probe.coin_out));
    let ((token_in, sold), (token_out, bought)): ((TokenId, Address), (TokenId, Address)) =
        coins.ok_or("the pool does not have the coins")?;
    let Probe { coin_in, coin_out, .. } = *probe;
    let amount_out = swap.amount_out;
    let gas_units = swap.gas_units;
    let step = Step { pool: id, coin_in, coin_out, token_in, token_out, share: 0, amount_in, amount_out, gas_units };
    let route = Route { steps: vec![step], amounts_out: vec![amount_out] };
    let expected = arrives(market, &route, &at, token_out, (amount_out, amount_out));
    let order = Order {
        inputs: vec![TokenAmount { token: sold, amount: amount_in }],
        outputs: vec![TokenAmount { token: bought, amount: U256::ONE }],
        recipient: AUDITOR,
        deadline: at.timestamp.saturating_add(VALID_SECONDS),
        partner_fee: None,
    };
    let outcome = run(fork, market, &route, &order)?;
    let result = match &outcome.status {
        Status::Success(answer) => {
            let paid = received(answer).and_then(|gains| gains.first().copied()).unwrap_or_default();
            if paid == expected {
                return Ok(Verdict::Agrees);
            }
            format!("it pays {paid} of {bought}")
        }
        Status::Reverted(data) => format!("it reverts ({})", revert::decode(data).message),
        Status::Halted(reason) => format!("the EVM stops it ({reason})"),
    };
    let why = format!("for {amount_in} of {sold} {result}, the model says {expected} of {bought}");
    let token = token_at_fault(fork, market, pool, [(sold, amount_in), (bought, amount_out)])?;
    Ok(Verdict::Differs(Difference { why, token }))
}

/// Returns the amount that a check of a swap sells; zero if none can be made.
pub(crate) fn amount_checked(market: &Market, probe: &Probe) -> U256 {
    let pool = market.pool_id(probe.pool).and_then(|id| market.pool(id));
    let sold = pool.and_then(|pool| modelled(pool, &market.block().next(), probe).ok());
    sold.map_or(U256::ZERO, |(amount_in, _)| amount_in)
}

/// Returns the swap that the model pays for and that a route could contain: of the amount given, of the most that the
/// pool consumes, or of a hundredth of the amount, and so on.
fn modelled(pool: &Pool, at: &ExecutionBlock, probe: &Probe) -> Result<(U256, Swap), Unknown> {
    let swap = |amount_in| pool.swap(at, probe.coin_in, probe.coin_out, amount_in);
    let asked = probe.amount_in.min(MAX_AMOUNT);
    let most = match swap(asked) {
        Err(SwapError::InsufficientLiquidity { consumed, .. }) => Some(consumed),
        _ => None,
    };
    let smaller = successors(Some(asked), |amount_in| Some(*amount_in / U256::from(100))).skip(1).take(SMALLER);
    let mut refusal = String::new();
    for amount_in in once(asked).chain(most).chain(smaller) {
        refusal = match swap(amount_in) {
            Ok(swap) if swap.gas_units > MAX_ROUTE_GAS_UNITS => "the swap takes more gas than a route may".into(),
            Ok(swap) if swap.amount_out.is_zero() => "the model pays nothing for so little".into(),
            Ok(swap) => return Ok((amount_in, swap)),
            Err(error) => format!("the model refuses: {error}"),
        };
    }
    Err(Unknown(refusal))
}

/// Runs an order of the auditor through the proxy, with everything granted that it lacks.
fn run(fork: &Fork, market: &Market, route: &Route, order: &Order) -> Result<Outcome, Unknown> {
    let program = encode_program(market, route, order).map_err(|error| Unknown(error.to_string()))?;
    let mut grants = vec![Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() }];
    for &TokenAmount { token, amount } in &order.inputs {
        grants.push(Grant::Balance { token, owner: AUDITOR, amount });
        if token != NATIVE_ETHER {
            grants.push(Grant::Allowance { token, owner: AUDITOR, spender: proxy::address(), amount });
        }
    }
    let transaction = Transaction {
        from: AUDITOR,
        to: proxy::address(),
        data: execute_calldata(order, &program.bytes),
        value_wei: order.value_wei(),
        gas_limit: MAX_GAS_LIMIT,
    };
    let outcome = simulate(fork, &transaction, &grants)?;
    if outcome.grants.iter().any(|(_, granted)| *granted == Granted::NotFound) {
        return Err("the input token cannot be granted".into());
    }
    Ok(outcome)
}

/// Returns the first of a swap's tokens whose transfers do not move the amount.
fn token_at_fault(
    fork: &Fork,
    market: &Market,
    pool: &Pool,
    amounts: [(Address, U256); 2],
) -> Result<Option<TokenAtFault>, SimulationError> {
    for (token, amount) in amounts.into_iter().filter(|(token, _)| *token != NATIVE_ETHER) {
        if let Some(fault) = transfers::of_amount(fork, market, token, pool.holder(), amount)?.fault(token) {
            return Ok(Some(fault));
        }
    }
    Ok(None)
}
