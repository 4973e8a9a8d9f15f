//! Reference prices, and the shares, impacts and dollar values computed from them. No amount that is paid.

use braid_primitives::{Address, BPS, TokenId, U256, address};
use braid_routing::{Prepared, Route};

use crate::feed::Published;

/// The stablecoins that price ether in dollars: USDC, USDT, DAI.
const DOLLARS: [Address; 3] = [
    address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"),
    address!("6B175474E89094C44Da98b954EedeAC495271d0F"),
];

/// Returns a token's reference price, in ether per whole token.
pub fn ether_per_token(prepared: &Prepared, token: TokenId) -> Option<f64> {
    prepared.reference_price(token).filter(|price| price.is_finite() && *price > 0.0)
}

/// Values an amount in ether, at the block's reference prices.
pub(crate) fn value_in_ether(published: &Published, token: TokenId, amount: U256) -> Option<f64> {
    value_at(&published.prepared, token, amount)
}

fn value_at(prepared: &Prepared, token: TokenId, amount: U256) -> Option<f64> {
    let decimals = prepared.market().tokens().get(token)?.decimals;
    let whole = f64::from(amount) / 10f64.powi(i32::from(decimals));
    ether_per_token(prepared, token).map(|price| whole * price)
}

/// Returns dollars per ether: the median over the market's stablecoins.
pub fn dollars_per_ether(prepared: &Prepared) -> Option<f64> {
    let tokens = prepared.market().tokens();
    let known = DOLLARS.iter().filter_map(|dollar| tokens.id(*dollar));
    let prices = known.filter_map(|id| ether_per_token(prepared, id));
    let mut rates: Vec<f64> = prices.map(f64::recip).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len().saturating_sub(1) / 2).copied()
}

/// Rounds a sum of dollars to cents; a sum below one dollar to two significant digits.
pub(crate) fn sum_in_dollars(value: f64) -> f64 {
    rounded(value, 2)
}

/// Rounds a price in dollars to six significant digits, and never coarser than cents.
pub fn price_in_dollars(value: f64) -> f64 {
    rounded(value, 6)
}

/// Rounds a number to two decimals, or to more if `significant` digits need them.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 2 and 330
fn rounded(value: f64, significant: i32) -> f64 {
    let magnitude = value.abs().log10().floor();
    if !magnitude.is_finite() {
        return value;
    }
    let decimals = (significant - 1 - magnitude as i32).max(2) as usize;
    // through decimal text, so that the number prints with these digits
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Price impacts of a route, in basis points; negative where it pays more than the reference prices, `None` where a token
/// that counts has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impacts {
    /// That of all outputs together.
    pub total_bps: Option<i64>,
    /// That of each output, on the part of the inputs' value that was spent on it.
    pub outputs_bps: Vec<Option<i64>>,
}

/// Returns the price impacts of a route. `given` lists each input with the amount that the route starts from, `got` each
/// output with the amount that it ends with.
pub fn impacts(prepared: &Prepared, route: &Route, given: &[(TokenId, U256)], got: &[(TokenId, U256)]) -> Impacts {
    let given = given.iter().map(|(id, amount)| Some((*id, *amount, value_at(prepared, *id, *amount)?)));
    let given: Option<Vec<_>> = given.collect();
    let values: Vec<_> = got.iter().map(|(id, amount)| value_at(prepared, *id, *amount)).collect();
    let Some(given) = given else { return Impacts { total_bps: None, outputs_bps: vec![None; got.len()] } };
    let total: Option<f64> = values.iter().copied().sum();
    let outputs: Vec<TokenId> = got.iter().map(|(id, _)| *id).collect();
    let spent = value_spent(route, &given, &outputs);
    Impacts {
        total_bps: total.and_then(|total| impact_bps(given.iter().map(|(.., value)| value).sum(), total)),
        outputs_bps: spent.iter().zip(values).map(|(spent, value)| impact_bps(*spent, value?)).collect(),
    }
}

/// Returns how much less `got` is than `given`, in basis points of `given`; negative if it is more.
#[allow(clippy::cast_possible_truncation)] // rounded and clamped
pub(crate) fn impact_bps(given: f64, got: f64) -> Option<i64> {
    let impact = (1.0 - got / given) * 10_000.0;
    impact.is_finite().then(|| impact.round().clamp(-1e9, 10_000.0) as i64)
}

/// Returns the part of the inputs' value that was spent on each output: at every step value moves in proportion to the
/// amounts.
///
/// `given` lists each input with the amount that the route starts from, and its value.
pub(crate) fn value_spent(route: &Route, given: &[(TokenId, U256, f64)], outputs: &[TokenId]) -> Vec<f64> {
    let mut held: Vec<(TokenId, f64, f64)> =
        given.iter().map(|(token, amount, value)| (*token, f64::from(*amount), *value)).collect();
    for step in &route.steps {
        let Some((_, amount, value)) = held.iter_mut().find(|(token, ..)| *token == step.token_in) else { continue };
        let moved = *value * (f64::from(step.amount_in) / *amount).clamp(0.0, 1.0);
        *amount -= f64::from(step.amount_in);
        *value -= moved;
        let out = f64::from(step.amount_out);
        match held.iter_mut().find(|(token, ..)| *token == step.token_out) {
            Some((_, amount, value)) => (*amount, *value) = (*amount + out, *value + moved),
            None => held.push((step.token_out, out, moved)),
        }
    }
    let at_end = |token: &TokenId| held.iter().find(|(known, ..)| known == token).map_or(0.0, |(.., value)| *value);
    outputs.iter().map(at_end).collect()
}

/// Returns each value's share of their sum, in basis points. The shares sum to 10000: each is rounded down, and the missing
/// points go to those that lost most.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // between 0 and 10000
pub(crate) fn shares_bps(values: &[Option<f64>]) -> Vec<Option<u64>> {
    let unknown = vec![None; values.len()];
    if values.len() == 1 {
        return vec![Some(BPS)];
    }
    let Some(values) = values.iter().copied().collect::<Option<Vec<f64>>>() else { return unknown };
    let total: f64 = values.iter().sum();
    let exact: Vec<f64> = values.iter().map(|value| value / total * BPS as f64).collect();
    if !exact.iter().all(|share| share.is_finite()) {
        return unknown;
    }
    let mut shares: Vec<u64> = exact.iter().map(|share| share.clamp(0.0, BPS as f64) as u64).collect();
    let mut by_loss: Vec<usize> = (0..exact.len()).collect();
    let lost = |at: &usize| exact.get(*at).map_or(0.0, |share| share.fract());
    by_loss.sort_by(|one, other| lost(other).total_cmp(&lost(one)));
    let missing = BPS.saturating_sub(shares.iter().sum());
    for at in by_loss.into_iter().take(usize::try_from(missing).unwrap_or(0)) {
        if let Some(share) = shares.get_mut(at) {
            *share += 1;
        }
    }
    shares.into_iter().map(Some).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impact_is_what_is_lost() {
        assert_eq!(impact_bps(100.0, 99.0), Some(100));
        assert_eq!(impact_bps(100.0, 101.0), Some(-100));
        assert_eq!(impact_bps(0.0, 1.0), None);
    }

    #[test]
    fn dollars_are_rounded_to_few_digits() {
        for (value, sum, price) in [
            (10_005.221_381_690_004, 10_005.22, 10_005.22),
            (3_000.485_123_024_543_6, 3_000.49, 3_000.49),
            (1.804_593_782_113_299_8, 1.8, 1.80459),
            (0.999_987_654_3, 1.0, 0.999_988),
            (0.000_123_456_789, 0.000_12, 0.000_123_457),
            (0.0, 0.0, 0.0),
            (-0.5, -0.5, -0.5),
        ] {
            assert_eq!((sum_in_dollars(value), price_in_dollars(value)), (sum, price), "{value}");
        }
        assert!(sum_in_dollars(f64::NAN).is_nan());
    }

    #[test]
    fn value_goes_where_the_amounts_go() {
        let step = |token_in: u32, token_out: u32, amount_in: u64, amount_out: u64| braid_routing::Step {
            pool: braid_primitives::PoolId(0),
            coin_in: 0,
            coin_out: 1,
            token_in: TokenId(token_in),
            token_out: TokenId(token_out),
            share: 0,
            amount_in: U256::from(amount_in),
            amount_out: U256::from(amount_out),
            gas_units: 0,
        };
        // Token 4 receives all of input 2 and a quarter of input 1. Half of what reaches it continues to token 5.
        let steps = vec![step(1, 3, 75, 7), step(1, 4, 25, 5), step(2, 4, 10, 5), step(4, 5, 5, 1)];
        let route = Route { steps, amounts_out: Vec::new() };
        let given = [(TokenId(1), U256::from(100), 8.0), (TokenId(2), U256::from(10), 4.0)];
        let spent = value_spent(&route, &given, &[TokenId(3), TokenId(4), TokenId(5)]);
        assert_eq!(spent, [6.0, 3.0, 3.0]);
    }

    #[test]
    fn shares_need_every_value_unless_there_is_one() {
        assert_eq!(shares_bps(&[None]), [Some(10_000)]);
        assert_eq!(shares_bps(&[Some(3.0), Some(1.0)]), [Some(7_500), Some(2_500)]);
        assert_eq!(shares_bps(&[Some(3.0), None]), [None, None]);
        assert_eq!(shares_bps(&[Some(0.0), Some(0.0)]), [None, None]);
    }

    /// Rounded to the nearest, five shares once summed to 9999.
    #[test]
    fn shares_sum_to_all() {
        let thirds = [Some(1.0); 3];
        assert_eq!(shares_bps(&thirds), [Some(3_334), Some(3_333), Some(3_333)]);
        let told = [679.4, 5_405.4, 1_731.4, 663.4, 1_520.4].map(Some);
        assert_eq!(shares_bps(&told).into_iter().flatten().sum::<u64>(), 10_000);
        assert_eq!(shares_bps(&[Some(0.0), Some(7.0)]), [Some(0), Some(10_000)]);
    }
}
