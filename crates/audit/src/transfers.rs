//! Checks whether a token's transfers move exactly the amount that is sent.

use braid_execution::{proxy, revert};
use braid_market::Market;
use braid_primitives::{Address, PoolId, TokenId, U256};
use braid_protocols::After;
use braid_simulation::evm::Overlay;
use braid_simulation::grant::{Granted, grant};
use braid_simulation::simulate::{balance, transfer};
use braid_simulation::{Fork, Grant, SimulationError, Status, Transferred};
use braid_store::quarantine::TokenAtFault;

/// The account that swaps and transfers in a check: nobody has its key, and it holds nothing.
pub(crate) const AUDITOR: Address = Address::repeat_byte(0xad);

/// Most holders whose balances of a token are read.
const HOLDERS_READ: usize = 8;

/// Most of them, those with the largest balances, that the token is sent from.
const HOLDERS_TRIED: usize = 3;

/// Largest deviation of a transfer that counts as rounding, in atomic units.
const ROUNDING_UNITS: U256 = U256::from_limbs([2, 0, 0, 0]);

/// How a token's transfers behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transfers {
    /// They move the amount sent.
    Exact,
    /// They deviate by a unit or two, as those of tokens that count in shares do.
    Rounded,
    /// They do something else, in words that complete a sentence about the token.
    Irregular(String),
    /// The check could not be made, for this reason.
    Unknown(String),
}

impl Transfers {
    /// Returns what keeps the token from being quoted.
    pub(crate) fn fault(self, token: Address) -> Option<TokenAtFault> {
        let does = match self {
            Self::Rounded => "rebases: it counts in shares, and a transfer moves a unit or two less".into(),
            Self::Irregular(does) => does,
            Self::Exact | Self::Unknown(_) => return None,
        };
        Some(TokenAtFault { token, does })
    }
}

/// Sends a token from the holders among its pools with the largest balances, and back. Pools in `first` are looked at
/// before others.
///
/// # Errors
/// When the state could not be read.
pub(crate) fn of_token(
    fork: &Fork,
    market: &Market,
    token: TokenId,
    first: &[PoolId],
) -> Result<Transfers, SimulationError> {
    let Some((address, decimals)) = market.tokens().get(token).map(|known| (known.address, known.decimals)) else {
        return Ok(Transfers::Unknown("the market does not have it".into()));
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
        // Two odd amounts, so that shares do not come out even by chance.
        for part in [1_000_u64, 7_919] {
            let amount = held / U256::from(part) + U256::from(1);
            let transfers = of_amount(fork, market, address, holder, amount)?;
            if transfers != Transfers::Exact {
                return Ok(transfers);
            }
        }
    }
    Ok(Transfers::Exact)
}

/// Returns accounts that hold a token for its pools, those of the pools in `first` before others.
pub(crate) fn holders(market: &Market, token: TokenId, address: Address, first: &[PoolId]) -> Vec<Address> {
    let mut holders = Vec::new();
    for pool in first.iter().chain(market.pools_of(token)).filter_map(|id| market.pool(*id)) {
        let holder = pool.holder();
        if holder != address && !holders.contains(&holder) {
            holders.push(holder);
        }
        if holders.len() == HOLDERS_READ {
            break;
        }
    }
    holders
}

/// Sends an amount of a token, at most the holder's balance, from a holder to the auditor, and the amount back.
///
/// # Errors
/// When the state could not be read.
pub(crate) fn of_amount(
    fork: &Fork,
    market: &Market,
    token: Address,
    holder: Address,
    amount: U256,
) -> Result<Transfers, SimulationError> {
    let mut overlay = Overlay::new(fork);
    // Some tokens refuse to be sent to themselves.
    let holder = if holder == token { proxy::address() } else { holder };
    let sent = balance(&mut overlay, holder, token)?.min(amount);
    let mut returned = sent;
    if !sent.is_zero() {
        let transfers = of_transfer(&mut overlay, market, token, [holder, AUDITOR], sent)?;
        if transfers != Transfers::Exact {
            return Ok(transfers);
        }
    }
    if sent < amount {
        match grant(&mut overlay, &Grant::Balance { token, owner: AUDITOR, amount })? {
            Granted::NotFound if sent.is_zero() => {
                return Ok(Transfers::Unknown("none of its pools holds any, and none can be granted".into()));
            }
            Granted::NotFound => {}
            Granted::NotNeeded | Granted::Overridden => returned = amount,
        }
    }
    // Modelled rounding may have taken a unit on the way.
    returned = returned.min(balance(&mut overlay, AUDITOR, token)?);
    of_transfer(&mut overlay, market, token, [AUDITOR, holder], returned)
}

/// Transfers an amount, and compares it with what the two balances changed by.
fn of_transfer(
    overlay: &mut Overlay<'_>,
    market: &Market,
    token: Address,
    ends: [Address; 2],
    amount: U256,
) -> Result<Transfers, SimulationError> {
    let Transferred { status, sent, received } = transfer(overlay, token, ends, amount)?;
    let refusal = match status {
        Status::Success(_) => None,
        Status::Reverted(data) => Some(revert::decode(&data).message),
        Status::Halted(reason) => Some(reason),
    };
    if let Some(reason) = refusal {
        return Ok(Transfers::Irregular(format!("refuses to be transferred: {reason}")));
    }
    let is_near = |moved: U256| moved.abs_diff(amount) <= ROUNDING_UNITS;
    Ok(if sent == amount && received == amount {
        Transfers::Exact
    } else if amount > ROUNDING_UNITS && is_near(sent) && is_near(received) {
        if is_rounding_modelled(market, token, amount) { Transfers::Exact } else { Transfers::Rounded }
    } else if received < amount {
        let taken = f64::from(amount - received) / f64::from(amount) * 100.0;
        Transfers::Irregular(format!("takes {taken:.2}% of a transfer"))
    } else if sent > amount {
        Transfers::Irregular("takes more from a sender than the amount".into())
    } else {
        Transfers::Irregular("moves more than the amount".into())
    })
}

/// Returns whether a pool's model accounts for the shares that a token counts in.
fn is_rounding_modelled(market: &Market, token: Address, amount: U256) -> bool {
    let Some(token) = market.tokens().id(token) else { return false };
    market.share_keepers().any(|(_, pool)| pool.shares_of(&After::Unchanged, token, amount).is_some())
}
