//! Swaps, by the model and by the EVM.

use braid_execution::gas::MAX_GAS_LIMIT;
use braid_execution::{MAX_AMOUNT, Order, TokenAmount, encode_program, execute_calldata, proxy, received, revert};
use braid_market::Market;
use braid_primitives::{Address, ExecutionBlock, NATIVE_ETHER, U256};
use braid_protocols::{Pool, SwapError};
use braid_routing::{Route, Step};
use braid_simulation::grant::Granted;
use braid_simulation::{Fork, Grant, SimulationError, Status, Transaction, simulate};
use braid_store::quarantine::TokenAtFault;

use crate::conduct::{self, AUDITOR, Conduct};
use crate::predictions::unforetold;
use crate::verdict::{Difference, Probe, Verdict};

/// How often a swap that the model refuses is tried with a hundredth of the amount.
const SMALLER: usize = 3;

/// Looks again at a pool that is set aside for a token's sake: first at the token. A swap that the model refuses then says nothing
/// against it.
pub(crate) fn check_again(fork: &Fork, market: &Market, probe: &Probe, token: Address) -> Verdict {
    let Some(id) = market.tokens().id(token) else {
        return Verdict::Unknown("the market does not have the token".into());
    };
    let pools: Vec<_> = market.pool_id(probe.pool).into_iter().collect();
    match conduct::of_token(fork, market, id, &pools) {
        Err(error) => unknown(&error),
        Ok(Conduct::Unknown(why)) => Verdict::Unknown(why),
        Ok(conduct) => match conduct.fault() {
            Some(does) => {
                let why = format!("{token} {does}");
                Verdict::Differs(Difference { why, token: Some(TokenAtFault { token, does }) })
            }
            None => match check(fork, market, probe) {
                Verdict::Unknown(_) => Verdict::Agrees,
                told => told,
            },
        },
    }
}

/// Makes a swap on a fork of the market's block and compares. Waits for the node: call it where that is fine.
pub(crate) fn check(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    let Some((id, pool)) = market.pool_id(probe.pool).and_then(|id| Some((id, market.pool(id)?))) else {
        return Verdict::Unknown("the market does not have the pool".into());
    };
    match unforetold(fork, market, pool) {
        Ok(None) => {}
        Ok(Some(difference)) => return Verdict::Differs(difference),
        Err(error) => return unknown(&error),
    }
    let at = market.block().next();
    let mut amount_in = probe.amount_in.min(MAX_AMOUNT);
    let mut modelled = pool.swap(&at, probe.coin_in, probe.coin_out, amount_in);
    for _ in 0..SMALLER {
        if modelled.as_ref().is_ok_and(|swap| !swap.amount_out.is_zero()) {
            break;
        }
        amount_in /= U256::from(100);
        modelled = pool.swap(&at, probe.coin_in, probe.coin_out, amount_in);
    }
    let swap = match modelled {
        Ok(swap) if !swap.amount_out.is_zero() => swap,
        Ok(_) => return Verdict::Unknown("the model pays nothing for so little".into()),
        Err(error) => return Verdict::Unknown(format!("the model refuses: {error}")),
    };
    let coin = |index: u8| {
        let id = *pool.coins.get(usize::from(index))?;
        Some((id, market.tokens().get(id)?.address))
    };
    let (Some((id_in, token_in)), Some((id_out, token_out))) = (coin(probe.coin_in), coin(probe.coin_out)) else {
        return Verdict::Unknown("the pool does not have the coins".into());
    };
    let step = Step {
        pool: id,
        coin_in: probe.coin_in,
        coin_out: probe.coin_out,
        token_in: id_in,
        token_out: id_out,
        share: 0,
        amount_in,
        amount_out: swap.amount_out,
        gas_units: swap.gas_units,
    };
    let route = Route { steps: vec![step], amounts_out: vec![swap.amount_out] };
    let expected = braid_routing::arrives(market, &route, &at, id_out, (swap.amount_out, swap.amount_out));
    let order = Order {
        inputs: vec![TokenAmount { token: token_in, amount: amount_in }],
        outputs: vec![TokenAmount { token: token_out, amount: U256::ONE }],
        recipient: AUDITOR,
        deadline: at.timestamp.saturating_add(3_600),
        partner_fee: None,
    };
    let program = match encode_program(market, &route, &order) {
        Ok(program) => program,
        Err(error) => return Verdict::Unknown(error.to_string()),
    };
    let mut grants = vec![
        Grant::Code { account: proxy::address(), code: proxy::runtime_code().clone() },
        Grant::Balance { token: token_in, owner: AUDITOR, amount: amount_in },
    ];
    if token_in != NATIVE_ETHER {
        let spender = proxy::address();
        grants.push(Grant::Allowance { token: token_in, owner: AUDITOR, spender, amount: amount_in });
    }
    let transaction = Transaction {
        from: AUDITOR,
        to: proxy::address(),
        data: execute_calldata(&order, &program.bytes),
        value_wei: order.value_wei(),
        gas_limit: MAX_GAS_LIMIT,
    };
    let outcome = match simulate(fork, &transaction, &grants) {
        Ok(outcome) => outcome,
        Err(error) => return unknown(&error),
    };
    if outcome.grants.iter().any(|(_, granted)| *granted == Granted::NotFound) {
        return Verdict::Unknown("the token in cannot be granted".into());
    }
    let why = match &outcome.status {
        Status::Success(answer) => {
            let paid = received(answer).and_then(|gains| gains.first().copied()).unwrap_or_default();
            if paid == expected {
                return Verdict::Agrees;
            }
            format!("for {amount_in} of {token_in} it pays {paid} of {token_out}, the model says {expected}")
        }
        Status::Reverted(data) => {
            let said = revert::decode(data).message;
            format!("for {amount_in} of {token_in} it should pay {expected} of {token_out}, and reverts: {said}")
        }
        Status::Halted(reason) => {
            format!("for {amount_in} of {token_in} it should pay {expected} of {token_out}, and halts: {reason}")
        }
    };
    match faults(fork, market, pool, [(token_in, amount_in), (token_out, swap.amount_out)]) {
        Ok(token) => Verdict::Differs(Difference { why, token }),
        Err(error) => unknown(&error),
    }
}

/// Makes swaps of a pool of two coins both ways, a small one and half of the most that the model lets through: it agrees if there is one and
/// each pays what the model says.
pub(crate) fn check_both_ways(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    let Some(pool) = market.pool_id(probe.pool).and_then(|id| market.pool(id)) else {
        return Verdict::Unknown("the market does not have the pool".into());
    };
    let at = market.block().next();
    let back = Probe { coin_in: probe.coin_out, coin_out: probe.coin_in, ..*probe };
    let mut told = Verdict::Unknown("the model pays nothing either way".into());
    for probe in [*probe, back].into_iter().flat_map(|probe| probes(pool, &at, probe)) {
        told = check(fork, market, &probe);
        if told != Verdict::Agrees {
            break;
        }
    }
    told
}

/// Swaps one way that the model pays for: of about so much, and of half of the most.
fn probes(pool: &Pool, at: &ExecutionBlock, probe: Probe) -> Vec<Probe> {
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

fn unknown(error: &SimulationError) -> Verdict {
    Verdict::Unknown(error.to_string())
}

/// The first of a swap's tokens that does not move as amounts say.
fn faults(
    fork: &Fork,
    market: &Market,
    pool: &Pool,
    tokens: [(Address, U256); 2],
) -> Result<Option<TokenAtFault>, SimulationError> {
    for (token, amount) in tokens.into_iter().filter(|(token, _)| *token != NATIVE_ETHER) {
        if let Some(does) = conduct::of_amount(fork, market, token, pool.holder(), amount)?.fault() {
            return Ok(Some(TokenAtFault { token, does }));
        }
    }
    Ok(None)
}
