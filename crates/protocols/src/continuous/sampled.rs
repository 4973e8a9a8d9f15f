//! Builds a direction from exact quotes, for pools whose curve has no formula of constant-product segments.
//!
//! The pool is first quoted at amounts a factor of eight apart, then in the middle of every stretch where the segments
//! mispredict. The upper concave hull of the quotes removes dents from rounding, and from fees that fall as the pool
//! comes into balance. Two constant-product segments join each pair of neighbouring points. The remaining samples go
//! where a concave curve through the points has the most room above them.
//!
//! Finally the whole curve is raised by the errors seen at the middles, and by a part of that room, so that it lies
//! above exact quotes. It serves both planning and the bound. A fixed rate leaves no room and is not raised.
//!
//! The part is measured, not proved: no quote of a recorded mainnet pool is above its curve
//! (`crates/lab/tests/it/sampled.rs`), and none of random pools (`tests/it/sampled_bounds.rs`), apart from the
//! contracts' rounding.

use std::cell::Cell;

use alloy_primitives::U256;

use super::{Direction, Stretch, fall_of_inverse};

/// Maximum exact quotes for refining one direction, including the coarse ones.
const MAX_SAMPLES: usize = 72;
/// Maximum exact quotes in total, except those at peaks.
const MOST_SAMPLES: usize = 88;
/// Maximum iterations for the invariant from which a pool's quotes start: each sample repeats them.
pub(crate) const MAX_SAMPLED_ROUNDS: usize = 32;
/// Maximum refused quotes. Finding the largest accepted amount takes up to [`MAX_COARSE`] and [`BISECTIONS`]; more can
/// be refused in between, where a contract's own search fails.
const MOST_REFUSALS: usize = 48;
/// Rounds of refinement: neighbours are a factor of eight apart, then √8, and so on; a cliff needs many.
const ROUNDS: usize = 16;
/// Maximum coarse samples: 8²⁰ between the largest amount and the smallest.
const MAX_COARSE: usize = 20;
/// Tolerated error at a middle, as a share of the amount out.
const MISSED: f64 = 4.0e-6;
/// Tolerated error at the end of the pool's balance, where a cliff would need many samples of no use.
const MISSED_AT_THE_END: f64 = 2.0e-4;
/// Factor from the error seen around a stretch to the error assumed elsewhere in it.
const UNSEEN: f64 = 3.0;
const UNSEEN_LEAST: f64 = 6.0e-6;
/// Minimum assumed error where some samples are not concave.
const UNSEEN_LEAST_WITH_BENDS: f64 = 5.0e-5;
/// Assumed error as a share of the room; a smooth curve uses little of it.
const UNSEEN_OF_ROOM: f64 = 0.1;
/// Assumed error as a share of the room next to samples that are not concave.
const UNSEEN_OF_ROOM_AT_A_BEND: f64 = 0.3;
/// Room that needs no finer sample, as a share of the amount out.
const NARROW: f64 = 1.0e-4;
/// Exponent of the decay of the assumed error away from a sample, in the ratio of amounts in. Neighbouring samples must
/// be raised alike, or the slope between them would be wrong.
const FADES: i32 = 4;
/// Maximum distortion of a curve by a contract's rounding, in atomic units.
const ROUNDING_UNITS: f64 = 2.0;
/// The same as a share of the pool's balance: Newton loops of Curve pools stop within 10⁻¹⁴, and a metapool runs
/// several.
const ROUNDING_SHARE: f64 = 5.0e-14;
/// Minimum output of the first sample in atomic units, so that rounding does not matter; in shallow pools a thousandth
/// of all.
const ENOUGH_UNITS: f64 = 1.0e7;
/// Minimum output of the first sample as a share of all.
const SMALL_SHARE: f64 = 1.0e-7;
/// Tolerance within which a point counts as on the line between its neighbours.
const STRAIGHT: f64 = 1.0e-10;
/// Relative distance below the line between its neighbours from which a sample counts as not concave.
const BENT: f64 = 1.0e-7;
/// Minimum relative fall of the root rate along a segment, which the division needs.
const LEAST_FALL: f64 = 1.0e-10;
/// Bisection steps to find where a pool refuses.
const BISECTIONS: u32 = 20;

/// An amount in, and the amount out for it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// A constant-product segment from one point to the next, with the inverse root rates at its ends.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: Point,
    to: Point,
    inverse_start: f64,
    inverse_end: f64,
}

/// Builds the direction of a pool that pays `quote(amount_in)`, or `None` where it refuses.
///
/// Quotes amounts up to `most_in`; if the pool refuses that, up to the largest amount that it accepts. `most_out` is
/// the maximum output for any input. If it exceeds the output for `most_in`, the curve continues beyond, above the
/// pool's. From the first sample on, the curve is at most a few millionths above a concave `quote`. Before it, the
/// curve is a straight line.
///
/// `None` if the pool pays nothing, or refuses more than [`MOST_REFUSALS`] quotes: a refusal may take hundreds of
/// iterations, and anyone can create such pools.
pub fn sampled(most_in: U256, most_out: U256, quote: impl Fn(U256) -> Option<U256>) -> Option<Direction> {
    sampled_at(most_in, most_out, &[], quote)
}

/// Builds a direction like [`sampled`], with extra samples at `peaks`: amounts in where the fee is lowest, which other
/// samples may miss.
pub fn sampled_at(
    most_in: U256,
    most_out: U256,
    peaks: &[U256],
    quote: impl Fn(U256) -> Option<U256>,
) -> Option<Direction> {
    let refusals = Cell::new(0_usize);
    let ask = |x: U256| {
        let paid = if refusals.get() > MOST_REFUSALS { None } else { quote(x).filter(|y| !y.is_zero()) };
        refusals.set(refusals.get() + usize::from(paid.is_none()));
        paid.map(|y| Point { x: f64::from(x), y: f64::from(y) })
    };
    let (top_in, refused) = largest(most_in, |x| ask(x).is_some())?;
    let mut top = ask(top_in)?;
    let held = f64::from(most_out).max(top.y);
    let mut samples = coarse(top_in, top, held, ask);
    let slack = ROUNDING_UNITS + held * ROUNDING_SHARE;
    let tolerance = |y: f64| MISSED + (MISSED_AT_THE_END - MISSED) * (y / held).powi(4);
    let mut missed = refine(&mut samples, slack, tolerance, ask);
    for peak in peaks {
        if let Some(point) = ask(*peak).filter(|point| point.x < top.x) {
            include(&mut samples, &mut missed, point);
        }
    }
    narrow(&mut samples, &mut missed, slack, ask);
    if refusals.get() > MOST_REFUSALS {
        return None;
    }
    if refused {
        // the true limit may be slightly above the bisected one
        let more = 1.0 + 2.0 / f64::from(1_u32 << BISECTIONS);
        (top.x, top.y) = (top.x * more, top.y * more);
        if let Some(last) = samples.last_mut() {
            *last = top;
        }
    }
    let raised = raise(&samples, &missed, slack, held);
    let segments = chain(&hull(raised.into_iter()));
    let beyond = if refused { 0.0 } else { held - top.y };
    direction(&segments, beyond)
}

/// Spends the remaining samples where a concave curve through the present ones has the most room.
fn narrow(samples: &mut Vec<Point>, missed: &mut Vec<f64>, slack: f64, ask: impl Fn(U256) -> Option<Point>) {
    for _ in samples.len()..MOST_SAMPLES {
        let points = hull(samples.iter().copied());
        let rooms = rooms(&points, samples.first().map_or(0.0, |first| first.x), slack);
        let widest = rooms.iter().enumerate().skip(1).max_by(|a, b| a.1.total_cmp(b.1));
        let Some((place, _)) = widest.filter(|(_, room)| **room > NARROW) else { return };
        let (Some(from), Some(to)) = (points.get(place), points.get(place + 1)) else { return };
        let middle = ask(U256::saturating_from((from.x * to.x).sqrt()));
        match middle.filter(|middle| from.x < middle.x && middle.x < to.x) {
            Some(middle) if include(samples, missed, middle) => {}
            _ => return,
        }
    }
}

/// Inserts a sample, unless there is one for that amount.
fn include(samples: &mut Vec<Point>, missed: &mut Vec<f64>, point: Point) -> bool {
    let at = samples.partition_point(|sample| sample.x < point.x);
    let is_new = samples.get(at).is_none_or(|sample| sample.x > point.x);
    if is_new {
        samples.insert(at, point);
        missed.insert(at, missed.get(at).copied().unwrap_or(0.0));
    }
    is_new
}

/// Returns for each stretch of a hull how far above it a concave curve through its points can be: up to the
/// intersection of its extended neighbours. The result is a share of the amount out there; rounding is excluded.
/// `first` is the first sample's amount in.
fn rooms(points: &[Point], first: f64, slack: f64) -> Vec<f64> {
    let rate = |k: usize| points.get(k..k + 2).map(|pair| (pair[1].y - pair[0].y) / (pair[1].x - pair[0].x));
    let room = |(k, pair): (usize, &[Point])| {
        let (this, next) = (rate(k).unwrap_or(0.0), rate(k + 1));
        match k.checked_sub(1).and_then(rate) {
            Some(last) if last > next.unwrap_or(0.0) => {
                let next = next.unwrap_or(0.0);
                let along = (pair[1].x - pair[0].x) * (this - next) / (last - next);
                ((last - this) * along - slack).max(0.0) / (pair[0].y + last * along)
            }
            Some(_) => 0.0,
            // the curve is a line up to the first sample; a hull point beyond it may still be on that line
            None if pair[1].x > first => 0.0,
            None => next.map_or(0.0, |next| 1.0 - next / this),
        }
    };
    points.windows(2).enumerate().map(room).collect()
}

/// Returns the samples, raised by the errors assumed around them.
fn raise(samples: &[Point], missed: &[f64], slack: f64, held: f64) -> Vec<Point> {
    let points = hull(samples.iter().copied());
    let rooms = rooms(&points, samples.first().map_or(0.0, |first| first.x), slack);
    let below = |pair: &[Point]| {
        let rate = (pair[1].y - pair[0].y) / (pair[1].x - pair[0].x);
        let between = samples.iter().filter(|sample| pair[0].x < sample.x && sample.x < pair[1].x);
        let line = |x: f64| pair[0].y + rate * (x - pair[0].x);
        between.into_iter().any(|sample| sample.y + slack < line(sample.x) * (1.0 - BENT))
    };
    let bends: Vec<bool> = points.windows(2).map(below).collect();
    let is_concave = !bends.contains(&true);
    let least = if is_concave { UNSEEN_LEAST } else { UNSEEN_LEAST_WITH_BENDS };
    let most = |room: f64| if is_concave { room } else { room.max(least) };
    let own = |(place, point): (usize, &Point)| {
        let miss = samples.iter().zip(missed).find(|(sample, _)| sample.x >= point.x).map_or(0.0, |(_, miss)| *miss);
        let room = rooms.iter().skip(place - 1).take(2).copied().fold(0.0, f64::max);
        let bent = bends.iter().skip(place.saturating_sub(2)).take(4).any(|bent| *bent);
        let rest = least + MISSED_AT_THE_END * (point.y / held).powi(4) + UNSEEN * miss;
        // where the curve is not concave, the room is not a bound
        if bent { rest + UNSEEN_OF_ROOM_AT_A_BEND * room } else { most(room).min(rest + UNSEEN_OF_ROOM * room) }
    };
    let own: Vec<(f64, f64)> = points.iter().enumerate().skip(1).map(|at| (at.1.x, own(at))).collect();
    let raised = |point: &Point| {
        let faded = |(x, share): &(f64, f64)| share * (point.x / x).min(x / point.x).powi(FADES);
        let share = own.iter().map(faded).fold(0.0, f64::max);
        Point { x: point.x, y: (point.y + slack) * (1.0 + share) }
    };
    points.iter().skip(1).map(raised).collect()
}

/// Finds the largest accepted amount up to `most`, to one part in 2²⁰, and tells whether larger amounts are refused.
fn largest(most: U256, taken: impl Fn(U256) -> bool) -> Option<(U256, bool)> {
    if taken(most) {
        return Some((most, false));
    }
    let (mut low, mut high) = (most >> 3, most);
    let mut falls = 1;
    while !taken(low) {
        (low, high) = (low >> 3, low);
        falls += 1;
        if low.is_zero() || falls > MAX_COARSE {
            return None;
        }
    }
    for _ in 0..BISECTIONS + 3 {
        let middle = low + ((high - low) >> 1);
        if taken(middle) {
            low = middle
        } else {
            high = middle
        }
        if high - low <= low >> BISECTIONS {
            break;
        }
    }
    Some((low, true))
}

/// Samples amounts a factor of eight apart, from the largest down to where rounding would matter; ascending.
fn coarse(top_in: U256, top: Point, held: f64, ask: impl Fn(U256) -> Option<Point>) -> Vec<Point> {
    let least = ENOUGH_UNITS.min(held * 1e-3).max(held * SMALL_SHARE);
    let mut samples = Vec::with_capacity(MAX_SAMPLES);
    samples.push(top);
    // one sample near the end, because no later sample shows the curvature there
    samples.extend(ask(top_in - (top_in >> 3)));
    let mut amount_in: U256 = top_in >> 3;
    while samples.len() < MAX_COARSE && !amount_in.is_zero() {
        match ask(amount_in) {
            Some(point) if point.y < least => break,
            Some(point) => samples.push(point),
            // skip a refusal in between, where the contract's own search fails; the hull spans the gap
            None => {}
        }
        amount_in >>= 3;
    }
    samples.reverse();
    samples
}

/// Result of testing the middle of a stretch.
#[derive(Clone, Copy, Debug)]
struct Middle {
    /// Relative excess of the quote over the segments, without rounding.
    miss: f64,
    /// Whether its halves need middles of their own.
    finer: bool,
}

/// Adds samples in the middle of stretches that the segments mispredict, the worst first.
///
/// Returns, for each sample, the largest underestimate in the stretches before and after it, as a share, measured
/// before the last middles became samples.
fn refine(
    samples: &mut Vec<Point>,
    slack: f64,
    tolerance: impl Fn(f64) -> f64,
    ask: impl Fn(U256) -> Option<Point>,
) -> Vec<f64> {
    let mut middles = vec![Middle { miss: f64::INFINITY, finer: true }; samples.len()];
    for _ in 0..ROUNDS {
        let budget = MAX_SAMPLES.saturating_sub(samples.len());
        let mut open: Vec<f64> = middles.iter().filter(|middle| middle.finer).map(|middle| middle.miss.abs()).collect();
        if budget == 0 || open.is_empty() {
            break;
        }
        open.sort_unstable_by(|a, b| b.total_cmp(a));
        let least = open.get(budget - 1).copied().unwrap_or(0.0);
        let segments = chain(&hull(samples.iter().copied()));
        let coarser = std::mem::replace(samples, Vec::with_capacity(MAX_SAMPLES));
        let mut before = Point { x: 0.0, y: 0.0 };
        for (after, judged) in coarser.into_iter().zip(std::mem::take(&mut middles)) {
            let wanted = judged.finer && judged.miss.abs() >= least;
            let half = if before.x > 0.0 { (before.x * after.x).sqrt() } else { after.x * 0.5 };
            let middle = if wanted { ask(U256::saturating_from(half)) } else { None };
            match middle.filter(|middle| before.x < middle.x && middle.x < after.x) {
                Some(middle) => {
                    samples.push(middle);
                    middles.extend([judge(&segments, [before, middle, after], judged.miss, slack, &tolerance); 2]);
                }
                None => middles.push(Middle { finer: judged.finer && !wanted, ..judged }),
            }
            samples.push(after);
            before = after;
        }
    }
    let left = |middle: &Middle| if middle.finer { middle.miss.abs() } else { middle.miss };
    let misses = || middles.iter().map(left).map(|miss| if miss.is_finite() { miss } else { 0.0 });
    let largest = |so_far: &mut f64, miss: f64| {
        *so_far = so_far.max(miss);
        Some(*so_far)
    };
    misses().skip(1).chain([0.0]).zip(misses()).map(|(next, this)| this.max(next)).scan(0.0, largest).collect()
}

/// Tests whether the segments predict the quote in the middle of three points.
fn judge(segments: &[Segment], points: [Point; 3], parent: f64, slack: f64, tolerance: impl Fn(f64) -> f64) -> Middle {
    let [before, middle, after] = points;
    let more = middle.y - value(segments, middle.x);
    let miss = (more.abs() - slack).max(0.0).copysign(more) / middle.y;
    // below the line between its neighbours, so not concave: finer samples would not help
    let bent = (middle.y - before.y) * (after.x - before.x) < (after.y - before.y) * (middle.x - before.x);
    // a small error after a large one may be chance: an odd error function is zero in the middle
    let tolerance = tolerance(middle.y);
    let luck = parent.abs() > 30.0 * tolerance && miss.abs() > 0.1 * tolerance;
    Middle { miss, finer: (miss.abs() > tolerance || luck) && !bent }
}

/// Builds the upper concave hull of ascending points, starting from zero; points on a line form one stretch.
fn hull(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut hull = vec![Point { x: 0.0, y: 0.0 }];
    for point in points {
        while let [.., a, b] = hull[..] {
            let line = a.y + (point.y - a.y) * (b.x - a.x) / (point.x - a.x);
            if b.y > line * (1.0 + STRAIGHT) {
                break;
            }
            hull.pop();
        }
        // a larger input pays more, or the curve has ended
        if hull.last().is_some_and(|last| point.x > last.x && point.y > last.y) {
            hull.push(point);
        }
    }
    hull
}

/// Builds constant-product segments through the points of a hull, two for each stretch between neighbours.
///
/// Along a segment whose inverse root rate rises from `w` to `w′`, the average inverse rate is `w·w′`. At a point, `w²`
/// is interpolated between the average inverse rates on its sides, which is exact for a constant product. The rate in
/// the middle of a stretch is then the one at which the two segments meet both points. If that rate is not between the
/// rates at the ends, the curvature of one segment is limited to what both ends allow, so the whole is always concave.
fn chain(points: &[Point]) -> Vec<Segment> {
    let inverse = |k: usize| points.get(k..k + 2).map(|p| ((p[1].x - p[0].x) / (p[1].y - p[0].y), p[1].x - p[0].x));
    let between = |k: usize| {
        let ((a, h), (b, i)) = (inverse(k.checked_sub(1)?)?, inverse(k)?);
        Some(((a * i + b * h) / (h + i)).sqrt())
    };
    let mut segments = Vec::with_capacity(2 * points.len());
    for (k, pair) in points.windows(2).enumerate() {
        let ([from, to], Some((mean, width))) = ([pair[0], pair[1]], inverse(k)) else { break };
        let (start, end) = (between(k), between(k + 1));
        if let (Some(start), Some(end)) = (start, end) {
            let middle = mean * (start + end) / (2.0 * start * end);
            if start <= middle && middle <= end {
                let half = Point { x: from.x + width * 0.5, y: from.y + width * 0.5 / (start * middle) };
                segments.push(Segment { from, to: half, inverse_start: start, inverse_end: middle });
                segments.push(Segment { from: half, to, inverse_start: middle, inverse_end: end });
                continue;
            }
        }
        let mean = mean.sqrt();
        let fall = [start.map(|w| mean / w), end.map(|w| w / mean)].into_iter().flatten().fold(f64::INFINITY, f64::min);
        let fall = if fall.is_finite() { fall.max(1.0) } else { 1.0 };
        segments.push(Segment { from, to, inverse_start: mean / fall, inverse_end: mean * fall });
    }
    segments
}

/// Returns the output of the segments for an amount in.
fn value(segments: &[Segment], x: f64) -> f64 {
    let k = segments.partition_point(|segment| segment.to.x < x).min(segments.len().saturating_sub(1));
    let Some(segment) = segments.get(k) else { return 0.0 };
    let more = (x - segment.from.x) / (segment.to.x - segment.from.x);
    let (start, end) = (segment.inverse_start, segment.inverse_end);
    segment.from.y + (segment.to.y - segment.from.y) * more * end / (start + more * (end - start))
}

/// Converts the segments to a direction. Beyond the last, the curve pays up to twice `beyond` more, at rates that fall
/// like those of a constant product.
fn direction(segments: &[Segment], beyond: f64) -> Option<Direction> {
    let start = 1.0 / segments.first()?.inverse_start * (1.0 + LEAST_FALL);
    let mut root = start;
    let mut stretches = Vec::with_capacity(2 * segments.len() + 1);
    let bare = |end: f64| Stretch { end, liquidity: 0.0, gas_units: 0.0 };
    for segment in segments {
        // two segments meet in a corner: bridge the gap between their rates
        let begin = 1.0 / segment.inverse_start;
        if begin < root * (1.0 - LEAST_FALL) {
            stretches.push(bare(begin));
            root = begin;
        }
        let end = (1.0 / segment.inverse_end).min(root * (1.0 - LEAST_FALL));
        let liquidity = (segment.to.x - segment.from.x) / fall_of_inverse(root, end);
        stretches.push(Stretch { end, liquidity, gas_units: 0.0 });
        root = end;
    }
    if beyond > 0.0 {
        stretches.push(Stretch { end: root * 1e-3, liquidity: 2.0 * beyond / root, gas_units: 0.0 });
    }
    Direction::new(1.0, start, &stretches)
}

#[cfg(test)]
mod tests;
