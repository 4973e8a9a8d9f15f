//! A direction from exact quotes, for pools whose exchange has no formula of constant-product segments.
//!
//! The pool is asked at amounts a factor of eight apart, then in the middle of every stretch that the segments through the
//! answers do not predict. The answers' upper concave hull repairs what rounding (and fees that fall on the way to balance)
//! bend the wrong way; a constant-product segment joins each two points of it. What samples are left go where a concave curve through
//! those at hand has the most room above them. The whole is then raised by what the middles missed and by a part of that room, so that
//! exact quotes are below it: it plans and it bounds. A fixed rate leaves no room, and is not raised. The part is measured, not
//! proved: no quote of any recorded mainnet pool is above its curve (`crates/lab/tests/it/sampled.rs`), and none of those of random
//! pools (`tests/it/sampled_bounds.rs`), but for what contracts round.

use alloy_primitives::U256;

use super::{Direction, Stretch};

/// The most exact quotes that refining spends on one direction, the first coarse ones included.
const MAX_SAMPLES: usize = 72;
/// The most that are spent altogether, but for those at peaks.
const MOST_SAMPLES: usize = 88;
/// Rounds of refining: neighbours are a factor of eight apart, then √8, …; a cliff wants many.
const ROUNDS: usize = 16;
/// Coarse samples at most: 8²⁰ between the largest amount and the smallest.
const MAX_COARSE: usize = 20;
/// A middle that is missed by less than this share of the amount out needs no finer stretch.
const MISSED: f64 = 4.0e-6;
/// The same for a trade that takes all that the pool holds: there a cliff would ask for many samples that nobody needs.
const MISSED_AT_THE_END: f64 = 2.0e-4;
/// What a stretch may miss elsewhere, in terms of what it was seen to miss, and at least.
const UNSEEN: f64 = 3.0;
const UNSEEN_LEAST: f64 = 6.0e-6;
/// The same where some samples bend the wrong way.
const UNSEEN_LEAST_WITH_BENDS: f64 = 5.0e-5;
/// And in terms of the room that it leaves, which a smooth curve uses little of.
const UNSEEN_OF_ROOM: f64 = 0.1;
/// The same beside samples that bend the wrong way.
const UNSEEN_OF_ROOM_AT_A_BEND: f64 = 0.3;
/// Room in which no finer sample is wanted, as a share of the amount out.
const NARROW: f64 = 1.0e-4;
/// How fast what one place may miss fades from the places around it: with this power of the ratio of amounts in. Places that lie
/// close together must be raised alike, or the slope between them would say nothing.
const FADES: i32 = 4;
/// Atomic units by which a contract's rounding may bend a curve.
const ROUNDING_UNITS: f64 = 2.0;
/// The same as a share of what the pool holds: the Newton loops of Curve's pools stop within 10⁻¹⁴, and a metapool runs several.
const ROUNDING_SHARE: f64 = 5.0e-14;
/// From the first sample on, rounding shall not matter: this many atomic units out, or a thousandth of all in shallow pools.
const ENOUGH_UNITS: f64 = 1.0e7;
/// And the first sample need not be below this share of all.
const SMALL_SHARE: f64 = 1.0e-7;
/// Points nearer than this to the line between their neighbours say nothing of the curve's bend.
const STRAIGHT: f64 = 1.0e-10;
/// Samples further than this below the line between their neighbours, as a share, are bent the wrong way.
const BENT: f64 = 1.0e-7;
/// How much the root rate falls along a segment at least: division needs it.
const LEAST_FALL: f64 = 1.0e-10;
/// Bisections for where a pool refuses.
const BISECTIONS: u32 = 20;

/// An amount in and what is paid for it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// A constant-product segment from one point to the next: inverse root rates at its ends.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: Point,
    to: Point,
    inverse_start: f64,
    inverse_end: f64,
}

/// The direction of a pool that pays `quote(amount_in)`, `None` where it refuses.
///
/// Asks for amounts up to `most_in`; a pool that refuses them takes what it takes. `most_out` is what the pool can pay at most
/// for however much: where it is more than what `most_in` pays, the curve goes on beyond, above the pool's. At and beyond the
/// first sample the curve is at most a few millionths above a concave `quote`; before it, it is a straight line.
///
/// `None` where the pool pays nothing.
pub fn sampled(most_in: U256, most_out: U256, quote: impl Fn(U256) -> Option<U256>) -> Option<Direction> {
    sampled_at(most_in, most_out, &[], quote)
}

/// As [`sampled`], with some amounts in at which the pool is asked in any case: where a fee is least, which makes a peak that other
/// samples may miss.
pub fn sampled_at(
    most_in: U256,
    most_out: U256,
    peaks: &[U256],
    quote: impl Fn(U256) -> Option<U256>,
) -> Option<Direction> {
    let ask = |x: U256| quote(x).filter(|y| !y.is_zero()).map(|y| Point { x: f64::from(x), y: f64::from(y) });
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
    if refused {
        // it may take a little more than what it was seen to take
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

/// Spends what is left of the samples where a concave curve through those at hand has the most room.
fn narrow(samples: &mut Vec<Point>, missed: &mut Vec<f64>, slack: f64, ask: impl Fn(U256) -> Option<Point>) {
    for _ in samples.len()..MOST_SAMPLES {
        let points = hull(samples.iter().copied());
        let rooms = rooms(&points, samples.first().map_or(0.0, |first| first.x), slack);
        let widest = rooms.iter().enumerate().skip(1).max_by(|a, b| a.1.total_cmp(b.1));
        let Some((place, _)) = widest.filter(|(_, room)| **room > NARROW) else { return };
        let (Some(from), Some(to)) = (points.get(place), points.get(place + 1)) else { return };
        let middle = ask(U256::from((from.x * to.x).sqrt()));
        match middle.filter(|middle| from.x < middle.x && middle.x < to.x) {
            Some(middle) if include(samples, missed, middle) => {}
            _ => return,
        }
    }
}

/// Puts a point among the samples, unless there is one for that amount.
fn include(samples: &mut Vec<Point>, missed: &mut Vec<f64>, point: Point) -> bool {
    let at = samples.partition_point(|sample| sample.x < point.x);
    let is_new = samples.get(at).is_none_or(|sample| sample.x > point.x);
    if is_new {
        samples.insert(at, point);
        missed.insert(at, missed.get(at).copied().unwrap_or(0.0));
    }
    is_new
}

/// How far above each stretch of a hull a concave curve through its points can be: up to where its neighbours, extended, meet. As a
/// share of what would be paid there; what rounding may do is not counted. `first` is the first sample's amount in.
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
            // up to the first sample the curve is a line; one beyond others on the way to it is on a line with them
            None if pair[1].x > first => 0.0,
            None => next.map_or(0.0, |next| 1.0 - next / this),
        }
    };
    points.windows(2).enumerate().map(room).collect()
}

/// The samples raised by what may be missed around them.
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
        // where the curve is not concave, the room is no bound
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

/// The largest amount up to `most` that is taken, to one part in 2²⁰, and whether more than that is refused.
fn largest(most: U256, taken: impl Fn(U256) -> bool) -> Option<(U256, bool)> {
    if taken(most) {
        return Some((most, false));
    }
    let (mut low, mut high) = (most >> 3, most);
    while !taken(low) {
        (low, high) = (low >> 3, low);
        if low.is_zero() {
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

/// Samples a factor of eight apart, from the largest down to where rounding would begin to matter; ascending.
fn coarse(top_in: U256, top: Point, held: f64, ask: impl Fn(U256) -> Option<Point>) -> Vec<Point> {
    let least = ENOUGH_UNITS.min(held * 1e-3).max(held * SMALL_SHARE);
    let mut samples = Vec::with_capacity(MAX_SAMPLES);
    samples.push(top);
    // close to the end, where nothing beyond tells the bend
    samples.extend(ask(top_in - (top_in >> 3)));
    let mut amount_in: U256 = top_in >> 3;
    while samples.len() < MAX_COARSE && !amount_in.is_zero() {
        match ask(amount_in) {
            Some(point) if point.y < least => break,
            Some(point) => samples.push(point),
            // a refusal in between, where the contract's own search gives up: the hull goes over it
            None => {}
        }
        amount_in >>= 3;
    }
    samples.reverse();
    samples
}

/// What the middle of a stretch said, before it became a sample.
#[derive(Clone, Copy, Debug)]
struct Middle {
    /// How much more it paid than the segments, as a share; what rounding may do is not counted.
    miss: f64,
    /// Whether its halves want middles of their own.
    finer: bool,
}

/// Adds middles where the segments through the samples miss them, the worst first. Returns for each sample the largest miss
/// from below on the way to it and in the stretch after it, as a share, as it was before the last middles became samples.
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
            let middle = if wanted { ask(U256::from(half)) } else { None };
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

/// Whether the segments tell what is paid in the middle of three points.
fn judge(segments: &[Segment], points: [Point; 3], parent: f64, slack: f64, tolerance: impl Fn(f64) -> f64) -> Middle {
    let [before, middle, after] = points;
    let more = middle.y - value(segments, middle.x);
    let miss = (more.abs() - slack).max(0.0).copysign(more) / middle.y;
    // below the line between its neighbours: bent the wrong way, and no finer sample would help
    let bent = (middle.y - before.y) * (after.x - before.x) < (after.y - before.y) * (middle.x - before.x);
    // a small miss after a large one may be luck: an error of odd shape is zero in the middle
    let tolerance = tolerance(middle.y);
    let luck = parent.abs() > 30.0 * tolerance && miss.abs() > 0.1 * tolerance;
    Middle { miss, finer: (miss.abs() > tolerance || luck) && !bent }
}

/// Upper concave hull of ascending points, from nothing for nothing; points on a line are one stretch.
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
        // more for more, or the curve has ended
        if hull.last().is_some_and(|last| point.x > last.x && point.y > last.y) {
            hull.push(point);
        }
    }
    hull
}

/// Constant-product segments through the points of a hull, two for each stretch between neighbours.
///
/// Along a segment that falls from inverse root rate `w` to `w′` the average inverse rate is `w·w′`. At a point, `w²` is
/// interpolated between the average inverse rates on its sides, which is exact for a constant product; the rate in the middle of
/// a stretch is then the one at which the two segments meet both points. Where that is not between the rates at the ends, one
/// segment bends no more than both ends allow, so that the whole is concave in any case.
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

/// What the segments pay for an amount.
fn value(segments: &[Segment], x: f64) -> f64 {
    let k = segments.partition_point(|segment| segment.to.x < x).min(segments.len().saturating_sub(1));
    let Some(segment) = segments.get(k) else { return 0.0 };
    let more = (x - segment.from.x) / (segment.to.x - segment.from.x);
    let (start, end) = (segment.inverse_start, segment.inverse_end);
    segment.from.y + (segment.to.y - segment.from.y) * more * end / (start + more * (end - start))
}

/// The segments as a direction; beyond the last, up to twice `beyond` more is paid, at rates that fall like a constant
/// product's.
fn direction(segments: &[Segment], beyond: f64) -> Option<Direction> {
    let start = 1.0 / segments.first()?.inverse_start * (1.0 + LEAST_FALL);
    let mut root = start;
    let mut stretches = Vec::with_capacity(2 * segments.len() + 1);
    let bare = |end: f64| Stretch { end, liquidity: 0.0, gas_units: 0.0 };
    for segment in segments {
        // a gap between rates, where two segments meet in a corner
        let begin = 1.0 / segment.inverse_start;
        if begin < root * (1.0 - LEAST_FALL) {
            stretches.push(bare(begin));
            root = begin;
        }
        let end = (1.0 / segment.inverse_end).min(root * (1.0 - LEAST_FALL));
        let liquidity = (segment.to.x - segment.from.x) / (1.0 / end - 1.0 / root);
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
