//! The benchmark's plots: the distributions of gaps and times by trade size, and their growth with the market.

use std::path::Path;

use eyre::{Result, WrapErr};

use super::report::{BANDS, at_percent, within};
use super::run::{Answer, Row};
use super::svg::{Axis, Line, chart};

/// The limits of the axes. Gaps and times outside of them are drawn at the edge.
const GAP_BPS: (f64, f64) = (1e-5, 1e3);
const TIME_US: (f64, f64) = (10.0, 1e6);

/// The quantity of a request that is drawn.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Gap,
    Time,
}

impl Figure {
    const ALL: [Self; 2] = [Self::Gap, Self::Time];

    const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Time => "time",
        }
    }

    const fn axis(self) -> Axis<'static> {
        let (label, (low, high)) = match self {
            Self::Gap => ("gap, basis points", GAP_BPS),
            Self::Time => ("solve with certificate, µs", TIME_US),
        };
        Axis { label, low, high, is_logarithmic: true }
    }

    fn of(self, row: &Row, answer: &Answer) -> Option<f64> {
        match self {
            Self::Gap => answer.gap_bps,
            Self::Time => Some(row.solve_us),
        }
    }

    /// Returns the quantity for all solved requests in a band of trade sizes, or for all of them, in ascending order.
    fn all(self, rows: &[Row], band: Option<usize>) -> Vec<f64> {
        let solved = rows.iter().filter_map(|row| Some((row, row.outcome.as_ref().ok()?)));
        let inside = solved.filter(|(_, answer)| band.is_none_or(|band| within(answer, band)));
        let mut values: Vec<f64> = inside.filter_map(|(row, answer)| self.of(row, answer)).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// Writes `NAME-gap.svg` and `NAME-time.svg`: the cumulative distribution of a quantity over the requests, by trade
/// size.
pub(crate) fn distributions(folder: &Path, name: &str, rows: &[Row]) -> Result<()> {
    let shares = Axis { label: "share of requests, %", low: 0.0, high: 100.0, is_logarithmic: false };
    for figure in Figure::ALL {
        let bands = BANDS.iter().enumerate().map(|(at, (label, _))| (format!("{label} ETH"), Some(at)));
        let line = |(label, band): (String, Option<usize>)| {
            let values = figure.all(rows, band);
            let points = values.iter().enumerate().map(|(at, value)| (*value, share(at + 1, values.len())));
            Line { name: format!("{label} ({})", values.len()), points: points.collect() }
        };
        let lines: Vec<Line> = bands.chain([("all".to_owned(), None)]).map(line).collect();
        let title = format!("{name}: {}", figure.name());
        write(folder, &format!("{name}-{}", figure.name()), &chart(&title, &figure.axis(), &shares, &lines))?;
    }
    Ok(())
}

/// Writes `size-gap.svg` and `size-time.svg`: percentiles against the number of pools.
pub(crate) fn growth(folder: &Path, markets: &[(usize, Vec<Row>)]) -> Result<()> {
    let pools = Axis { label: "pools", low: 100.0, high: 1e5, is_logarithmic: true };
    for figure in Figure::ALL {
        let line = |percent: usize| {
            let points = markets.iter().filter_map(|(pools, rows)| {
                let values = figure.all(rows, None);
                Some((count(*pools), at_percent(&values, percent)?))
            });
            Line { name: format!("p{percent}"), points: points.collect() }
        };
        let lines = [50, 90, 95, 99].map(line);
        let title = format!("generated markets: {}", figure.name());
        write(folder, &format!("size-{}", figure.name()), &chart(&title, &pools, &figure.axis(), &lines))?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, svg: &str) -> Result<()> {
    let path = folder.join(format!("{name}.svg"));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, svg))
        .wrap_err_with(|| format!("cannot write {}", path.display()))
}

fn share(part: usize, whole: usize) -> f64 {
    count(part) / count(whole) * 100.0
}

#[allow(clippy::cast_precision_loss, reason = "a count to draw")]
fn count(number: usize) -> f64 {
    number as f64
}
