//! Writes price impacts, and says which of them need a confirmation.

use crate::units::percent;

/// Least price impact with a warning, in basis points.
const HIGH_BPS: i64 = 500;

/// Least price impact that must be confirmed before a swap, in basis points.
const CONFIRMED_FROM_BPS: i64 = 1_000;

/// Price impact of an unknown size: as the largest.
const UNKNOWN_BPS: i64 = 10_000;

/// Price impact of a swap, in basis points; negative where it pays more than the reference prices, `None` where a token
/// has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Impact {
    /// That of all outputs together.
    pub total_bps: Option<i64>,
    /// Symbols of the outputs, and the impact of each.
    pub outputs: Vec<(String, Option<i64>)>,
}

impl Impact {
    /// Writes the impact, and that of each output if there are several.
    pub(crate) fn text(&self) -> String {
        let total = match self.total_bps {
            Some(bps) => percent(bps),
            None => "unknown, since a token has no reference price".into(),
        };
        if self.outputs.len() < 2 {
            return total;
        }
        let written = |bps: Option<i64>| bps.map_or_else(|| "unknown".into(), percent);
        let outputs = self.outputs.iter().map(|(symbol, bps)| format!("{symbol} {}", written(*bps)));
        format!("{total} in total: {}", outputs.collect::<Vec<_>>().join(", "))
    }

    /// Returns the largest of all of them. One output that loses much counts, however small its share.
    fn largest(&self) -> Option<i64> {
        let outputs = self.outputs.iter().map(|(_, bps)| *bps);
        outputs.chain([self.total_bps]).collect::<Option<Vec<i64>>>()?.into_iter().max()
    }

    /// Returns a warning, if the impact is high.
    pub(crate) fn warning(&self) -> Option<String> {
        let largest = self.largest().filter(|bps| *bps >= HIGH_BPS)?;
        Some(format!(
            "the price impact is {}: the trade pays that much less than the reference prices",
            percent(largest)
        ))
    }

    /// Returns what must be confirmed before a swap, and the limit that accepts it. `accepted_bps` is the user's limit.
    pub(crate) fn to_confirm(&self, accepted_bps: Option<u16>) -> Option<(String, i64)> {
        let largest = self.largest();
        let bps = largest.unwrap_or(UNKNOWN_BPS);
        let is_accepted = match accepted_bps {
            Some(accepted) => bps <= i64::from(accepted),
            None => bps < CONFIRMED_FROM_BPS,
        };
        let size = largest.map_or_else(|| "unknown".into(), percent);
        (!is_accepted).then(|| (format!("the price impact is {size}"), bps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impact(total_bps: Option<i64>, outputs: &[Option<i64>]) -> Impact {
        let symbols = ["USDC", "WBTC"].into_iter().map(str::to_owned);
        Impact { total_bps, outputs: symbols.zip(outputs.iter().copied()).collect() }
    }

    #[test]
    fn an_impact_is_written_in_total_and_for_each_of_several_outputs() {
        assert_eq!(impact(Some(31), &[Some(31)]).text(), "0.31%");
        assert_eq!(impact(Some(-5), &[Some(10), Some(-9)]).text(), "-0.05% in total: USDC 0.10%, WBTC -0.09%");
        assert_eq!(impact(None, &[None]).text(), "unknown, since a token has no reference price");
        assert!(impact(None, &[Some(7), None]).text().ends_with("in total: USDC 0.07%, WBTC unknown"));
    }

    #[test]
    fn from_five_per_cent_on_it_warns() {
        assert_eq!(impact(Some(499), &[Some(499)]).warning(), None);
        assert!(impact(Some(500), &[Some(500)]).warning().unwrap().starts_with("the price impact is 5.00%"));
        assert!(impact(Some(100), &[Some(10), Some(4_000)]).warning().unwrap().contains("40.00%"));
    }

    #[test]
    fn from_ten_per_cent_on_or_beyond_the_limit_it_must_be_confirmed() {
        let asked = |bps: Option<i64>, accepted| impact(bps, &[bps]).to_confirm(accepted).map(|(_, bps)| bps);
        assert_eq!(
            [Some(-20), Some(999), Some(1_000), None].map(|bps| asked(bps, None)),
            [None, None, Some(1_000), Some(10_000)]
        );
        assert_eq!([Some(100), Some(101)].map(|bps| asked(bps, Some(100))), [None, Some(101)]);
        assert_eq!((asked(Some(2_340), Some(2_340)), asked(None, Some(10_000))), (None, None));
        assert_eq!(impact(None, &[None]).to_confirm(None).unwrap().0, "the price impact is unknown");
    }
}
