//! How a token moves between a pool and somebody else.

use braid_execution::{proxy, revert};
use braid_market::Market;
use braid_primitives::{Address, PoolId, TokenId, U256};
use braid_protocols::After;
use braid_simulation::evm::Overlay;
use braid_simulation::grant::{Granted, grant};
use braid_simulation::simulate::{balance, transfer};
use braid_simulation::{Fork, Grant, SimulationError, Status, Transferred};

/// Who swaps and transfers in a check: an account that nobody has a key of, and that holds nothing.
pub(crate) const AUDITOR: Address = Address::repeat_byte(0xad);

/// Pools whose holdings of a token are looked at, and of how many of them, those that hold most, it is sent.
const POOLS_ASKED: usize = 8;
const HOLDERS_TRIED: usize = 3;

/// What a token does with an amount that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// It moves it.
    Whole,
    /// It moves a unit or two less or more, as tokens do that count in shares.
    Rounded,
    /// It does something else, in words that finish a sentence about the token.
    Strange(String),
    /// It could not be told, for this reason.
    Unknown(String),
}

/// Sends a token from those of its pools' holders that hold most, and back; `first` are pools to look at before others.
///
/// # Errors
/// When the state cannot be had.
pub(crate) fn of_token(
    fork: &Fork,
    market: &Market,
    token: TokenId,
    first: &[PoolId],
) -> Result<Conduct, SimulationError> {
    let Some((address, decimals)) = market.tokens().get(token).map(|known| (known.address, known.decimals)) else {
        return Ok(Conduct::Unknown("the market does not have it".into()));
    };
    let mut overlay = Overlay::new(fork);
    let mut holders: Vec<(U256, Address)> = Vec::new();
    for holder in self::holders(market, token, address, first) {
        holders.push((balance(&mut overlay, holder, address)?, holder));
    }
    holders.sort_by(|(a, _), (b, _)| b.cmp(a));
    holders.retain(|(held, _)| !held.is_zero());
    holders.truncate(HOLDERS_TRIED);
    if holders.is_empty() {
        let whole = U256::from(10).pow(U256::from(decimals.min(36)));
        return of_amount(fork, market, address, proxy::address(), whole + U256::from(7));
    }
    for (held, holder) in holders {
        // two odd amounts, so that what is counted in shares does not come out even by chance
        for part in [1_000_u64, 7_919] {
            let amount = held / U256::from(part) + U256::from(1);
            let conduct = of_amount(fork, market, address, holder, amount)?;
            if conduct != Conduct::Whole {
                return Ok(conduct);
            }
        }
    }
    Ok(Conduct::Whole)
}

/// Who is asked what it holds of a token: its pools' holders, those of `first` before others.
pub(crate) fn holders(market: &Market, token: TokenId, address: Address, first: &[PoolId]) -> Vec<Address> {
    let mut holders = Vec::new();
    for pool in first.iter().chain(market.pools_of(token)).filter_map(|id| market.pool(*id)) {
        let holder = pool.holder();
        if holder != address && !holders.contains(&holder) {
            holders.push(holder);
        }
        if holders.len() == POOLS_ASKED {
            break;
        }
    }
    holders
}

/// Sends an amount of a token, or what there is of it, from a holder to somebody else, and the amount back.
///
/// # Errors
/// When the state cannot be had.
pub(crate) fn of_amount(
    fork: &Fork,
    market: &Market,
    token: Address,
    holder: Address,
    amount: U256,
) -> Result<Conduct, SimulationError> {
    let mut overlay = Overlay::new(fork);
    // some tokens refuse to be sent to themselves
    let holder = if holder == token { proxy::address() } else { holder };
    let leaves = balance(&mut overlay, holder, token)?.min(amount);
    let mut returns = leaves;
    if !leaves.is_zero() {
        let conduct = moves(&mut overlay, market, token, [holder, AUDITOR], leaves)?;
        if conduct != Conduct::Whole {
            return Ok(conduct);
        }
    }
    if leaves < amount {
        match grant(&mut overlay, &Grant::Balance { token, owner: AUDITOR, amount })? {
            Granted::NotFound if leaves.is_zero() => {
                return Ok(Conduct::Unknown("none of its pools holds any, and none can be granted".into()));
            }
            Granted::NotFound => {}
            Granted::NotNeeded | Granted::Overridden => returns = amount,
        }
    }
    // a unit of what came may have been rounded away
    returns = returns.min(balance(&mut overlay, AUDITOR, token)?);
    moves(&mut overlay, market, token, [AUDITOR, holder], returns)
}

fn moves(
    overlay: &mut Overlay<'_>,
    market: &Market,
    token: Address,
    ends: [Address; 2],
    value: U256,
) -> Result<Conduct, SimulationError> {
    let Transferred { status, left, came } = transfer(overlay, token, ends, value)?;
    match status {
        Status::Success(_) => {}
        Status::Reverted(data) => {
            let said = revert::decode(&data).message;
            return Ok(Conduct::Strange(format!("refuses to be transferred: {said}")));
        }
        Status::Halted(reason) => return Ok(Conduct::Strange(format!("refuses to be transferred: {reason}"))),
    }
    let near = |moved: U256| moved.abs_diff(value) <= U256::from(2);
    Ok(if left == value && came == value {
        Conduct::Whole
    } else if value > U256::from(2) && near(left) && near(came) {
        if rounds_as_modelled(market, token, value) { Conduct::Whole } else { Conduct::Rounded }
    } else if came < value {
        let taken = f64::from(value - came) / f64::from(value) * 100.0;
        Conduct::Strange(format!("takes {taken:.2}% of a transfer"))
    } else if left > value {
        Conduct::Strange("takes more from a sender than it is told to".into())
    } else {
        Conduct::Strange("moves more than it is told to".into())
    })
}

/// Whether amounts of a token that counts in shares are modelled as such.
fn rounds_as_modelled(market: &Market, token: Address, amount: U256) -> bool {
    let Some(token) = market.tokens().id(token) else { return false };
    market.dependent_pools().any(|(_, pool)| pool.shares_of(&After::Unchanged, token, amount).is_some())
}

impl Conduct {
    /// What keeps the token from being quoted, in words that finish a sentence about it.
    pub(crate) fn fault(self) -> Option<String> {
        match self {
            Self::Rounded => Some("rebases: it counts in shares, and a transfer moves a unit or two less".into()),
            Self::Strange(does) => Some(does),
            Self::Whole | Self::Unknown(_) => None,
        }
    }
}
