//! A queue for a few places, in which jobs that continue go before jobs that begin. The place of a job may be kept for
//! the one that continues it.
//!
//! A burst may wait as long as a caller accepts. But where more is asked for than the places can do, or the queue never
//! empties, waiting makes everybody slower and serves nobody: its limit is then halved again and again, down to one job
//! for two places, enough that no place stays empty. Where several times as much is asked for, even a single place soon
//! gets another job, and nobody waits for it. The limit grows back once less is asked for than the places can do.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot::{self, Receiver, Sender};

/// Time after which the limit is decided again.
const STEP: Duration = Duration::from_millis(100);

/// Work that is asked for, as a multiple of what the places can do: below the first the limit grows, above the second
/// it shrinks, and above the third it is cut at once, since even a single place needs nobody who waits.
const LOADS: [f64; 3] = [0.9, 2.0, 2.5];

/// A queue for some places.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<State>,
    places: usize,
    /// Highest limit on waiting jobs.
    most: usize,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Places that are kept for jobs that continue, taken or free.
    kept: usize,
    continuing: VecDeque<Sender<Place>>,
    beginning: VecDeque<Sender<Place>>,
    /// Most jobs that may wait now.
    limit: usize,
    /// How long a job holds its place, on average.
    each: Duration,
    /// When the limit was last decided, and what came since.
    decided_at: Instant,
    since: Since,
}

/// What came since the limit was last decided.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    taken: u32,
    turned_away: u32,
    /// Whether the queue was empty for a moment, and whether a place was free then.
    was_empty: bool,
    was_idle: bool,
}

/// A place; when it is dropped, the next job in the queue gets it.
#[derive(Debug)]
pub(crate) struct Place(Option<Arc<Line>>);

/// A place that no job that begins gets until this is dropped: where a job is about to continue, and waits for nothing
/// before it does.
#[derive(Debug)]
pub struct Kept(Arc<Line>);

impl Line {
    pub(crate) fn new(places: usize, most: usize) -> Self {
        let (free, limit, decided_at) = (places, most.max(places / 2).max(1), Instant::now());
        let (kept, continuing, beginning, since, each) = Default::default();
        let state = State { free, kept, continuing, beginning, limit, each, decided_at, since };
        Self { state: Mutex::new(state), places, most: limit }
    }

    /// Returns how many jobs wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting()
    }

    /// Returns whether a job that begins now would wait at most `wait` and within the limit, if each job holds its
    /// place for `each` and `admitted` others are about to join. A job without room counts as turned away.
    pub(crate) fn has_room(&self, admitted: usize, each: Duration, wait: Duration) -> bool {
        let mut state = self.state.lock();
        state.beginning.retain(|waiter| !waiter.is_closed());
        state.each = each;
        state.look(self, Instant::now());
        let ahead = state.waiting() + admitted;
        let places = u32::try_from(self.places.max(1)).unwrap_or(u32::MAX);
        let expected = each.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX)) / places;
        let has_room = (ahead < state.limit || ahead < state.open()) && expected <= wait;
        state.since.turned_away = state.since.turned_away.saturating_add(u32::from(!has_room));
        has_room
    }

    /// Joins the queue; the receiver gets a place when it is this job's turn.
    pub(crate) fn join(self: &Arc<Self>, continues: bool) -> Receiver<Place> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        let open = if continues { state.free } else { state.open() };
        if open > 0 {
            state.took(self, Instant::now());
            state.free -= 1;
            // The receiver is still here.
            let _ = sender.send(Place(Some(Arc::clone(self))));
        } else if continues {
            state.continuing.push_back(sender);
        } else {
            state.beginning.push_back(sender);
        }
        receiver
    }

    /// Keeps a place for a job that continues another.
    pub(crate) fn keep(self: &Arc<Self>) -> Kept {
        self.state.lock().kept += 1;
        Kept(Arc::clone(self))
    }

    /// Gives free places to the next jobs in the queue.
    fn give(self: &Arc<Self>, state: &mut State) {
        while let Some(next) = state.next() {
            match next.send(Place(Some(Arc::clone(self)))) {
                Ok(()) => {
                    state.free -= 1;
                    state.took(self, Instant::now());
                }
                // Its caller gave up: emptied, so that dropping it does not give it again.
                Err(mut place) => place.0 = None,
            }
        }
        state.look(self, Instant::now());
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.continuing.len() + self.beginning.len()
    }

    /// Returns how many places a job that begins may take.
    fn open(&self) -> usize {
        self.free.saturating_sub(self.kept)
    }

    /// Takes the next job for a free place from the queue.
    fn next(&mut self) -> Option<Sender<Place>> {
        let continues = if self.free > 0 { self.continuing.pop_front() } else { None };
        continues.or_else(|| if self.open() > 0 { self.beginning.pop_front() } else { None })
    }

    /// Notes that a job gets a place.
    fn took(&mut self, line: &Line, now: Instant) {
        self.look(line, now);
        self.since.taken = self.since.taken.saturating_add(1);
        if now.duration_since(self.decided_at) <= STEP {
            return;
        }
        let [_, high, highest] = LOADS;
        let load = self.load(line, now);
        let few = line.places / 2;
        if load > highest {
            self.limit = self.limit.min(few);
        } else if !self.since.was_empty || load > high {
            self.limit = (self.limit.min(self.waiting().max(1)) / 2).max(few).max(1);
        } else {
            self.limit = self.limit.max(few).max(1);
        }
        self.decided(now);
    }

    /// Returns how much was asked for since the limit was decided, as a multiple of what the places can do.
    fn load(&self, line: &Line, now: Instant) -> f64 {
        let asked = f64::from(self.since.taken) + f64::from(self.since.turned_away);
        let time = now.duration_since(self.decided_at).as_secs_f64();
        let places = u32::try_from(line.places).unwrap_or(u32::MAX);
        asked * self.each.as_secs_f64() / (time * f64::from(places))
    }

    /// Notes whether any job waits. Raises the limit for each step that passed, if a place was free and less was asked
    /// for than the places can do.
    fn look(&mut self, line: &Line, now: Instant) {
        if self.waiting() == 0 {
            self.since.was_empty = true;
            self.since.was_idle |= self.open() > 0;
        }
        let steps = now.duration_since(self.decided_at).as_millis() / STEP.as_millis();
        if steps > 0 && self.since.was_idle && self.load(line, now) < LOADS[0] {
            let more = usize::try_from(steps).unwrap_or(usize::MAX).saturating_mul(line.places);
            self.limit = self.limit.saturating_add(more).min(line.most);
            self.decided(now);
        }
    }

    fn decided(&mut self, now: Instant) {
        let was_empty = self.waiting() == 0;
        self.decided_at = now;
        self.since = Since { was_empty, was_idle: was_empty && self.open() > 0, ..Since::default() };
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            let mut state = line.state.lock();
            state.free += 1;
            line.give(&mut state);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.kept -= 1;
        self.0.give(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(places: usize, most: usize) -> Arc<Line> {
        Arc::new(Line::new(places, most))
    }

    #[tokio::test]
    async fn who_goes_on_goes_before_who_begins_and_who_gave_up_is_passed_over() {
        let line = line(1, 9);
        let first = line.join(false).await.unwrap();
        let [gave_up, begins] = [line.join(false), line.join(false)];
        let mut goes_on = line.join(true);
        drop(gave_up);
        assert_eq!(line.waiting(), 3);
        drop(first);
        let place = goes_on.try_recv().unwrap();
        let mut begins = begins;
        assert!(begins.try_recv().is_err());
        drop(place);
        let place = begins.try_recv().unwrap();
        assert_eq!((line.waiting(), line.state.lock().free), (0, 0));
        drop((place, begins));
        assert_eq!(line.state.lock().free, 1);
        drop(line.join(false));
        assert_eq!(line.state.lock().free, 1, "a place that nobody took comes back");
    }

    #[tokio::test]
    async fn a_kept_place_is_for_a_job_that_continues_alone() {
        let line = line(1, 9);
        let place = line.join(false).await.unwrap();
        let mut begins = line.join(false);
        let kept = line.keep();
        drop(place);
        assert!(begins.try_recv().is_err() && line.join(false).try_recv().is_err());
        let continues = line.join(true).try_recv().unwrap();
        drop(kept);
        assert!(begins.try_recv().is_err(), "the place is taken");
        let kept = line.keep();
        drop(continues);
        assert!(begins.try_recv().is_err());
        // What was to continue does not.
        drop(kept);
        drop(begins.try_recv().unwrap());
        let state = line.state.lock();
        assert_eq!((state.free, state.kept), (1, 0));
    }

    #[tokio::test]
    async fn the_slower_each_is_the_fewer_are_let_in() {
        let line = line(2, 100);
        let _places = [line.join(false), line.join(false)];
        let waiting: Vec<_> = (0..10).map(|_| line.join(false)).collect();
        let ms = Duration::from_millis;
        assert!(line.has_room(0, ms(50), ms(250)) && !line.has_room(0, ms(51), ms(250)));
        assert!(!line.has_room(1, ms(50), ms(250)), "one more is about to join");
        drop(waiting);
        assert!(line.has_room(0, ms(50), ms(0)), "nobody waits any more");
    }

    #[test]
    fn a_line_that_does_not_empty_gets_short_and_one_that_does_may_get_long_again() {
        let line = line(2, 64);
        let (mut state, mut now) = (line.state.lock(), Instant::now());
        // For five seconds, more requests come than there is room for.
        state.free = 0;
        let mut waiting = Vec::new();
        state.each = Duration::from_millis(20);
        for _ in 0..500 {
            while state.waiting() < state.limit {
                let (sender, receiver) = oneshot::channel();
                state.beginning.push_back(sender);
                waiting.push(receiver);
            }
            now += Duration::from_millis(10);
            drop(state.beginning.pop_front());
            state.took(&line, now);
        }
        assert_eq!(state.limit, 1);
        // Few requests come, and a slot is mostly free.
        state.beginning.clear();
        state.look(&line, now + Duration::from_secs(1));
        assert_eq!(state.limit, 1, "whoever waits gets a place, and none is free");
        state.free = 1;
        for _ in 0..16 {
            now += Duration::from_millis(150);
            state.look(&line, now);
        }
        assert!((33..64).contains(&state.limit), "{}: a step at a time", state.limit);
        // No request comes for a while.
        state.look(&line, now + Duration::from_secs(5));
        assert_eq!(state.limit, 64);
    }

    #[test]
    fn where_several_times_as_much_is_asked_for_the_line_is_cut_at_once() {
        for (load, limit) in [(1, 64), (2, 64), (3, 0)] {
            let line = line(1, 64);
            let (mut state, now) = (line.state.lock(), Instant::now());
            (state.free, state.each, state.since.was_empty) = (0, Duration::from_millis(10), true);
            // In 100 ms ten jobs can be done; the last of those that were taken is the next one.
            (state.since.taken, state.since.turned_away) = (9, 10 * (load - 1));
            state.decided_at = now;
            state.took(&line, now + Duration::from_millis(101));
            assert_eq!(state.limit, limit, "load {load}");
        }
    }

    /// The longest wait for which a request is accepted.
    const WAIT: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Quotes with some slots: the cumulative percentages of solves by their maximum duration in microseconds, and the
    /// duration of the simulation that follows.
    struct Quotes {
        places: usize,
        solves: &'static [(u64, u64)],
        simulated: Duration,
    }

    /// What became of the quotes of a minute.
    #[derive(Default)]
    struct Minute {
        /// How long the accepted ones took.
        took: Vec<Duration>,
        /// When others were turned away.
        turned_away: Vec<Duration>,
    }

    impl Minute {
        fn percentiles(&mut self) -> [Duration; 2] {
            self.took.sort_unstable();
            [50, 99].map(|percent| self.took[self.took.len() * percent / 100])
        }
    }

    impl Quotes {
        fn solve(&self, dice: &mut u64) -> Duration {
            *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Duration::from_micros(self.solves.iter().find(|(below, _)| (*dice >> 33) % 100 < *below).unwrap().1)
        }

        /// How long a quote holds a place.
        fn mean(&self) -> Duration {
            let mut dice = 7;
            (0..10_000).map(|_| self.solve(&mut dice)).sum::<Duration>() / 10_000 + self.simulated
        }

        /// The time between two quotes if so many times what the places can do is asked for.
        fn gap(&self, load: f64) -> Duration {
            self.mean().div_f64(load * f64::from(u32::try_from(self.places).unwrap()))
        }

        /// Simulates a minute on a manual clock, in which the gap after a quote depends on its time.
        fn minute(&self, gap: impl Fn(Duration) -> Duration) -> Minute {
            let line = line(self.places, 512);
            let (mut state, start, mut dice) = (line.state.lock(), Instant::now(), 7);
            let each = if self.simulated.is_zero() { self.mean() } else { self.mean() / 2 };
            state.each = each;
            // The arrival times of waiting requests, in the order of the line's own queues; and for each occupied slot
            // the time at which it becomes free, the arrival time, and whether the last job of the quote runs.
            let (mut beginning, mut continuing) = (VecDeque::new(), VecDeque::new());
            let mut busy: Vec<(Instant, Instant, bool)> = Vec::new();
            let (mut next_at, mut minute) = (start, Minute::default());
            while next_at - start <= ms(60_000) {
                let leaves = (0..busy.len()).min_by_key(|at: &usize| -> Instant { busy[*at].0 });
                if let Some(at) = leaves.filter(|at| busy[*at].0 <= next_at) {
                    let (now, came_at, is_last) = busy.swap_remove(at);
                    if is_last {
                        minute.took.push(now - came_at);
                    } else {
                        state.continuing.push_back(oneshot::channel().0);
                        continuing.push_back(came_at);
                    }
                    let goes_on = !state.continuing.is_empty();
                    state.free += 1;
                    if state.next().is_some() {
                        state.free -= 1;
                        let came_at = if goes_on { continuing.pop_front() } else { beginning.pop_front() };
                        let lasts = if goes_on { self.simulated } else { self.solve(&mut dice) };
                        state.took(&line, now);
                        busy.push((now + lasts, came_at.unwrap(), goes_on || self.simulated.is_zero()));
                    } else {
                        state.look(&line, now);
                    }
                } else {
                    let now = next_at;
                    next_at += gap(now - start);
                    state.look(&line, now);
                    let ahead = state.waiting();
                    let places = u32::try_from(self.places).unwrap();
                    if state.free > 0 {
                        state.took(&line, now);
                        state.free -= 1;
                        busy.push((now + self.solve(&mut dice), now, self.simulated.is_zero()));
                    } else if ahead < state.limit && each * u32::try_from(ahead).unwrap() / places <= WAIT {
                        state.beginning.push_back(oneshot::channel().0);
                        beginning.push_back(now);
                    } else {
                        state.since.turned_away += 1;
                        minute.turned_away.push(now - start);
                    }
                }
            }
            minute
        }
    }

    /// Slow solves with simulations, and those of a market with some thousand pools, over one place and over two.
    const KINDS: [Quotes; 4] = {
        const SLOW: &[(u64, u64)] = &[(88, 12_000), (98, 40_000), (100, 130_000)];
        const USUAL: &[(u64, u64)] = &[(24, 700), (42, 1_800), (68, 3_700), (88, 7_500), (100, 17_000)];
        const SIMULATED: Duration = Duration::from_millis(14);
        [
            Quotes { places: 1, solves: SLOW, simulated: SIMULATED },
            Quotes { places: 2, solves: SLOW, simulated: SIMULATED },
            Quotes { places: 1, solves: USUAL, simulated: Duration::ZERO },
            Quotes { places: 2, solves: USUAL, simulated: Duration::ZERO },
        ]
    };

    #[test]
    fn at_five_times_what_can_be_done_the_accepted_wait_at_most_as_long_as_they_take_and_no_place_stays_empty() {
        for quotes in &KINDS {
            let quiet = quotes.minute(|_| ms(1_000)).percentiles();
            let gap = quotes.gap(5.0);
            let mut loaded = quotes.minute(|_| gap);
            let percentiles = loaded.percentiles();
            assert!((0..2).all(|part| percentiles[part] <= 2 * quiet[part]), "{quiet:?} {percentiles:?}");
            let most = Duration::from_secs(60).div_duration_f64(quotes.gap(1.0));
            // The one place of a quote without a simulation is empty until the next quote comes.
            let least = if quotes.places == 1 { 0.8 } else { 0.9 };
            assert!(loaded.took.len() as f64 > least * most, "{} of {most}", loaded.took.len());
        }
    }

    #[test]
    fn below_what_can_be_done_next_to_nobody_is_turned_away_even_after_an_overload() {
        for quotes in &KINDS {
            let (overload, usual) = (quotes.gap(5.0), quotes.gap(0.7));
            let minute = quotes.minute(|at| if at < ms(20_000) { overload } else { usual });
            let late = minute.turned_away.iter().filter(|at| **at > ms(30_000)).count();
            let asked = ms(30_000).div_duration_f64(usual);
            assert!((late as f64) < 0.01 * asked, "{late} of {asked}");
            assert!(minute.turned_away.iter().any(|at| *at < ms(20_000)), "there was no overload");
        }
    }
}
