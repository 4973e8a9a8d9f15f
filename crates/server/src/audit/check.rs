//! One swap, by the model and by the EVM.

use braid_execution::approvals::balance_calldata;
use braid_execution::gas::MAX_GAS_LIMIT;
use braid_execution::{MAX_AMOUNT, Order, TokenAmount, encode_program, execute_calldata, proxy, revert};
use braid_market::Market;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256};
use braid_protocols::{After, Pool};
use braid_routing::{Route, Step};
use braid_simulation::grant::Granted;
use braid_simulation::{Fork, Grant, SimulationError, Status, Transaction, evm, simulate};
use braid_store::quarantine::TokenAtFault;

use super::queue::Probe;

/// Who swaps in a check: an account that nobody has a key of, and that holds nothing.
const AUDITOR: Address = Address::repeat_byte(0xad);

/// Selector of `transfer(address,uint256)` of ERC-20.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

/// How often a swap that the model refuses is tried with a hundredth of the amount.
const SMALLER: usize = 3;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The EVM paid what the model says, to the wei.
    Agrees,
    /// It did not.
    Differs(Difference),
    /// It could not be told, for this reason.
    Unknown(String),
}

/// What was different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In words.
    pub why: String,
    /// The token that is at fault, if one is.
    pub token: Option<TokenAtFault>,
}

/// Makes a swap on a fork of the market's block and compares. Waits for the node: call it where that is fine.
pub(super) fn check(fork: &Fork, market: &Market, probe: &Probe) -> Verdict {
    let Some((id, pool)) = market.pool_id(probe.pool).and_then(|id| Some((id, market.pool(id)?))) else {
        return Verdict::Unknown("the market does not have the pool".into());
    };
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
    let outcome = match simulate(fork, &transaction, &grants, AUDITOR, &[token_out]) {
        Ok(outcome) => outcome,
        Err(error) => return unknown(&error),
    };
    if outcome.grants.iter().any(|(_, granted)| *granted == Granted::NotFound) {
        return Verdict::Unknown("the token in cannot be granted".into());
    }
    let why = match &outcome.status {
        Status::Success => {
            let paid = outcome.gains.first().map_or(U256::ZERO, |(_, gain)| *gain);
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
        let held = balance(fork, token, pool.address)?;
        // What the pool does not hold itself comes from elsewhere: such a pool says nothing of its token.
        let leaves = amount.min(held);
        let ways = [(pool.address, AUDITOR, leaves), (AUDITOR, pool.address, amount)];
        for (from, to, value) in ways.into_iter().filter(|(.., value)| !value.is_zero()) {
            match moves(fork, token, from, to, value)? {
                Moves::Whole => {}
                Moves::Rounded if rounds_as_modelled(market, token, value) => {}
                Moves::Rounded => {
                    let does = "rebases: it counts in shares, and a transfer moves a unit or two less".into();
                    return Ok(Some(TokenAtFault { token, does }));
                }
                Moves::Otherwise(does) => return Ok(Some(TokenAtFault { token, does })),
            }
        }
    }
    Ok(None)
}

/// What a transfer moved.
enum Moves {
    /// The amount, or what it moves could not be told.
    Whole,
    /// A unit or two less, as of tokens that count in shares.
    Rounded,
    /// Something else, in words that finish a sentence about the token.
    Otherwise(String),
}

/// Whether amounts of a token that counts in shares are modelled as such.
fn rounds_as_modelled(market: &Market, token: Address, amount: U256) -> bool {
    let Some(token) = market.tokens().id(token) else { return false };
    let mut pools = market.pools_of(token).iter().filter_map(|id| market.pool(*id));
    pools.any(|pool| pool.shares_of(&After::Unchanged, token, amount).is_some())
}

fn moves(fork: &Fork, token: Address, from: Address, to: Address, value: U256) -> Result<Moves, SimulationError> {
    let data = Bytes::from([&TRANSFER, to.into_word().as_slice(), &value.to_be_bytes::<32>()].concat());
    let transaction = Transaction { from, to: token, data, value_wei: U256::ZERO, gas_limit: 3_000_000 };
    let outcome = simulate(fork, &transaction, &[Grant::Balance { token, owner: from, amount: value }], to, &[token])?;
    if outcome.grants.iter().any(|(_, granted)| *granted == Granted::NotFound) {
        return Ok(Moves::Whole);
    }
    let moved = outcome.gains.first().map_or(U256::ZERO, |(_, gain)| *gain);
    Ok(match outcome.status {
        Status::Success if moved == value => Moves::Whole,
        Status::Success if moved < value && value - moved <= U256::from(2) => Moves::Rounded,
        Status::Success if moved < value => {
            let taken = f64::from(value - moved) / f64::from(value) * 100.0;
            Moves::Otherwise(format!("takes {taken:.2}% of a transfer"))
        }
        Status::Success => Moves::Otherwise("moves more than it is told to".into()),
        Status::Reverted(data) => {
            Moves::Otherwise(format!("refuses to be transferred: {}", revert::decode(&data).message))
        }
        Status::Halted(reason) => Moves::Otherwise(format!("refuses to be transferred: {reason}")),
    })
}

fn balance(fork: &Fork, token: Address, owner: Address) -> Result<U256, SimulationError> {
    let mut overlay = evm::Overlay::new(fork);
    let output = evm::view(&mut overlay, token, balance_calldata(owner))?;
    Ok(output.filter(|bytes| bytes.len() >= 32).map_or(U256::ZERO, |bytes| U256::from_be_slice(&bytes[..32])))
}
