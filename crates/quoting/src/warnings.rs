//! Warnings of answers.

use braid_primitives::{Address, PoolKey};
use braid_routing::Uncertified;

use crate::model::Warning;
use crate::proxy::ProxyState;

/// Largest deviation of a share from the request without a warning, in basis points.
const MAX_SHARE_DEVIATION_BPS: f64 = 1.0;

/// Least price impact with a warning, in basis points.
const HIGH_IMPACT_BPS: i64 = 500;

/// Warns if the proxy is not deployed.
pub(crate) fn proxy(state: ProxyState) -> Option<Warning> {
    let message = match state {
        ProxyState::Unknown | ProxyState::Deployed => return None,
        ProxyState::Missing => "the execution proxy is not deployed on this chain: do not send the transaction",
        ProxyState::Foreign => {
            "the code at the execution proxy's address is not the proxy's: do not send the transaction"
        }
    };
    Some(Warning { code: "PROXY_NOT_DEPLOYED", message: message.into() })
}

/// Warns of a large price impact.
pub(crate) fn impact(impact_bps: Option<i64>) -> Option<Warning> {
    let high = impact_bps.filter(|impact| *impact >= HIGH_IMPACT_BPS)?;
    let message = format!("the trade pays {}.{:02}% less than the reference prices", high / 100, high % 100);
    Some(Warning { code: "HIGH_PRICE_IMPACT", message })
}

/// Warns that more than the exact output may be bought.
pub(crate) fn surplus() -> Warning {
    let message = "this route cannot buy an exact amount, so the maximum of the input is sold: \
                   what that buys beyond the output's amount goes to the recipient";
    Warning { code: "EXACT_OUTPUT_SURPLUS", message: message.into() }
}

/// Warns that the route wraps or unwraps ether although the request excludes that.
pub(crate) fn wrapping() -> Warning {
    let message = "wrapped_ether cannot be excluded: wrapping costs no fee, is one to one, and is how native ether reaches the pools";
    Warning { code: "WRAPPING_NOT_EXCLUDED", message: message.into() }
}

/// Most pools that a warning names.
const MAX_POOLS_NAMED: usize = 5;

/// Warns that the request excludes pools that Braid does not know.
pub(crate) fn unknown_pools(pools: &[PoolKey]) -> Option<Warning> {
    let mut named: Vec<String> = pools.iter().take(MAX_POOLS_NAMED).map(PoolKey::to_string).collect();
    let more = pools.len() - named.len();
    named.extend((more > 0).then(|| format!("and {more} more")));
    let message = format!("exclude_pools names what is no pool that Braid knows: {}", named.join(", "));
    (!pools.is_empty()).then_some(Warning { code: "UNKNOWN_POOLS", message })
}

/// Longest lifetime without a warning, in seconds: the default.
const DEFAULT_TTL_S: u32 = 120;

/// Warns of a long lifetime, during which prices may pass the minimum. Assumes that a price's standard deviation grows
/// with the square root of time.
pub(crate) fn long_ttl(ttl_ms: u64, slippage_bps: u16) -> Option<Warning> {
    let ttl_s = Some(u32::try_from(ttl_ms / 1_000).unwrap_or(u32::MAX)).filter(|ttl_s| *ttl_s > DEFAULT_TTL_S)?;
    let ratio = (f64::from(ttl_s) / f64::from(DEFAULT_TTL_S)).sqrt();
    let message = format!(
        "in {ttl_s} s prices move about {ratio:.1} times as far as in {DEFAULT_TTL_S} s, and the minimum is {slippage_bps} basis points below what is \
         expected: the order may revert, or pay the minimum alone. Gas fees are those of the build's block: set current ones when you send the transaction"
    );
    Some(Warning { code: "LONG_TTL", message })
}

/// Warns of outputs whose shares deviate from the request by more than a basis point: integers or the market's pools did
/// not allow more.
pub(crate) fn shares(asked_bps: &[u16], values: &[Option<f64>]) -> Option<Warning> {
    let total: f64 = values.iter().copied().sum::<Option<f64>>().filter(|_| values.len() > 1)?;
    let share = |value: &Option<f64>| value.map_or(0.0, |value| value / total * 10_000.0);
    let rows = asked_bps.iter().zip(values).enumerate();
    let off: Vec<String> = rows
        .filter(|(_, (asked, value))| (share(value) - f64::from(**asked)).abs() > MAX_SHARE_DEVIATION_BPS)
        .map(|(index, (asked, value))| format!("output {index} is {:.2} instead of {asked}", share(value)))
        .collect();
    let message = format!("value shares in basis points are not those asked for: {}", off.join(", "));
    (!off.is_empty()).then_some(Warning { code: "RATIO_NOT_MET", message })
}

/// Warns that a token's pools are excluded, because its transfers are unverified.
pub(crate) fn unverified((token, why): &(Address, String)) -> Warning {
    let token = token.to_checksum(None);
    Warning {
        code: "TOKEN_UNCHECKED",
        message: format!("{token} is excluded because unverified, with all its pools: {why}"),
    }
}

/// Warns that a quote is in memory only.
pub(crate) fn not_on_disk() -> Warning {
    let message =
        "the service's disk did not take this quote in time: it can be built, but not after a restart of the service";
    Warning { code: "QUOTE_NOT_ON_DISK", message: message.into() }
}

/// Warns that only this service can build the quote.
pub(crate) fn not_shared() -> Warning {
    let message = "the service could not share this quote with its replicas in time: build it at the one that gave it";
    Warning { code: "QUOTE_NOT_SHARED", message: message.into() }
}

/// Warns that the taker's balances and allowances are unknown.
pub(crate) fn accounts_unread() -> Warning {
    let message = "the node did not answer the reads of balances and allowances: they are null here";
    Warning { code: "ALLOWANCES_UNAVAILABLE", message: message.into() }
}

/// Warns that the signature's nonce is used: the quote's transaction ran already, or the taker cancelled it.
pub(crate) fn nonce_used() -> Warning {
    let message =
        "the nonce of this signature was used on the chain: the transaction would revert. Ask for a new quote";
    Warning { code: "PERMIT2_NONCE_USED", message: message.into() }
}

/// Warns that the account must be deployed before its signature is valid.
pub(crate) fn not_deployed() -> Warning {
    let message = "the taker's account has no code yet: deploy it before the transaction is sent";
    Warning { code: "ACCOUNT_NOT_DEPLOYED", message: message.into() }
}

/// Warns that the requested dollar values are unavailable.
pub(crate) fn no_dollars() -> Warning {
    let message = "the market has no pool of ether and a stablecoin that is deep enough for a dollar price";
    Warning { code: "USD_PRICE_UNAVAILABLE", message: message.into() }
}

/// Warns that the route has no certificate.
pub(crate) fn uncertified(reason: &Uncertified) -> Warning {
    Warning { code: "CERTIFICATE_UNAVAILABLE", message: format!("the route has no certificate: {reason}") }
}

/// Warns that the certificate is no proof.
pub(crate) fn exceeded() -> Warning {
    let message = "several trades with one pool gain from each other, which the upper bound does not cover: it states what \
                   this route achieves, and another may pay more";
    Warning { code: "BOUND_EXCEEDED", message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_lifetime_warns_of_price_movement() {
        assert!(long_ttl(10_000, 100).is_none() && long_ttl(120_000, 100).is_none());
        let warning = long_ttl(900_000, 50).unwrap();
        assert!(
            warning.message.contains("50 basis points") && warning.message.contains("900 s"),
            "{}",
            warning.message
        );
        assert!(warning.message.contains("2.7 times"), "{}", warning.message);
    }

    #[test]
    fn a_share_that_deviates_by_more_than_a_basis_point_is_named() {
        assert!(shares(&[5_000, 5_000], &[Some(1.0), Some(1.0001)]).is_none());
        let warning = shares(&[5_000, 5_000], &[Some(1.0), Some(3.0)]).unwrap();
        assert_eq!(warning.code, "RATIO_NOT_MET");
        assert!(warning.message.contains("output 0 is 2500.00 instead of 5000"), "{}", warning.message);
        assert!(shares(&[10_000], &[None]).is_none());
    }
}
