//! A queue for a few places, in which jobs that continue go before jobs that begin.
//!
//! A burst may wait as long as a caller accepts. A queue that never empties makes everybody wait without serving more jobs,
//! so its limit is halved again and again, down to one job for two places: enough that no place stays empty. The limit
//! grows back once places stay free.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot::{self, Receiver, Sender};

/// Time without an empty queue after which the limit is halved, and time with free places after which it grows.
const STEP: Duration = Duration::from_millis(100);

/// A queue for some places.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<State>,
    places: usize,
    /// Highest limit on waiting jobs, and the lowest.
    most: usize,
    least: usize,
}

#[derive(Debug)]
struct State {
    free: usize,
    continuing: VecDeque<Sender<Place>>,
    beginning: VecDeque<Sender<Place>>,
    /// Most jobs that may wait now.
    limit: usize,
    /// When the queue was last empty, or the limit last fell.
    emptied_at: Instant,
    /// When the limit last grew.
    grown_at: Instant,
}

/// A place; when it is dropped, the next job in the queue gets it.
#[derive(Debug)]
pub(crate) struct Place(Option<Arc<Line>>);

impl Line {
    pub(crate) fn new(places: usize, most: usize) -> Self {
        let least = (places / 2).max(1);
        let (free, limit) = (places, most.max(least));
        let (emptied_at, grown_at) = (Instant::now(), Instant::now());
        let (continuing, beginning) = Default::default();
        Self {
            state: Mutex::new(State { free, continuing, beginning, limit, emptied_at, grown_at }),
            places,
            most: limit,
            least,
        }
    }

    /// Returns how many jobs wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting()
    }

    /// Returns whether a job that begins now would wait at most `wait` and within the limit, if each job holds its place for
    /// `each` and `admitted` others are about to join.
    pub(crate) fn has_room(&self, admitted: usize, each: Duration, wait: Duration) -> bool {
        let mut state = self.state.lock();
        state.beginning.retain(|waiter| !waiter.is_closed());
        let ahead = state.waiting() + admitted;
        let places = u32::try_from(self.places.max(1)).unwrap_or(u32::MAX);
        let expected = each.saturating_mul(u32::try_from(ahead).unwrap_or(u32::MAX)) / places;
        ahead < state.limit && expected <= wait
    }

    /// Joins the queue; the receiver gets a place when it is this job's turn.
    pub(crate) fn join(self: &Arc<Self>, continues: bool) -> Receiver<Place> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        if state.waiting() == 0 {
            state.note_empty(self, Instant::now());
        }
        if state.free > 0 {
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

    /// Gives a free place to the next job in the queue.
    fn give(self: Arc<Self>) {
        let mut state = self.state.lock();
        while let Some(next) = state.next() {
            match next.send(Place(Some(Arc::clone(&self)))) {
                Ok(()) => {
                    state.note_taken(&self, Instant::now());
                    return;
                }
                // Its caller gave up: emptied, so that dropping it does not give it again.
                Err(mut place) => place.0 = None,
            }
        }
        state.free += 1;
        state.note_empty(&self, Instant::now());
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.continuing.len() + self.beginning.len()
    }

    fn next(&mut self) -> Option<Sender<Place>> {
        self.continuing.pop_front().or_else(|| self.beginning.pop_front())
    }

    /// Notes that a job left the queue for a place.
    fn note_taken(&mut self, line: &Line, now: Instant) {
        if self.waiting() == 0 {
            self.note_empty(line, now);
        } else if now.duration_since(self.emptied_at) > STEP {
            self.limit = (self.limit.min(self.waiting()) / 2).max(line.least);
            self.emptied_at = now;
        }
    }

    /// Notes that no job waits.
    fn note_empty(&mut self, line: &Line, now: Instant) {
        self.emptied_at = now;
        // A free place: there is less work than capacity.
        if self.free > 0 && now.duration_since(self.grown_at) > STEP {
            self.limit = self.limit.saturating_add(line.places).min(line.most);
            self.grown_at = now;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(line) = self.0.take() {
            line.give();
        }
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
        // for five seconds more ask than there is room for
        state.free = 0;
        let mut waiting = Vec::new();
        for _ in 0..500 {
            while state.waiting() < state.limit {
                let (sender, receiver) = oneshot::channel();
                state.beginning.push_back(sender);
                waiting.push(receiver);
            }
            now += Duration::from_millis(10);
            drop(state.next());
            state.note_taken(&line, now);
        }
        assert_eq!(state.limit, 1);
        // few ask, and a place is mostly free
        state.beginning.clear();
        state.note_empty(&line, now + Duration::from_secs(1));
        assert_eq!(state.limit, 1, "whoever waits gets a place, and none is free");
        state.free = 1;
        for _ in 0..32 {
            now += Duration::from_millis(150);
            state.note_empty(&line, now);
        }
        assert_eq!(state.limit, 64);
    }

    /// Longest wait that somebody is accepted for.
    const WAIT: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Quotes with simulations before two places, on a clock of their own: one every `gap`, for a minute. Each is a solve, mostly short, and a
    /// simulation that goes on with it. Gives what the accepted ones took, the quickest first.
    fn quotes_of_a_minute(gap: Duration) -> Vec<Duration> {
        let line = line(2, 512);
        let (mut state, start, mean) = (line.state.lock(), Instant::now(), ms(26));
        let mut dice = 7_u64;
        let mut solve = || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            [(88, ms(12)), (98, ms(40)), (100, ms(130))]
                .into_iter()
                .find(|(below, _)| (dice >> 33) % 100 < *below)
                .unwrap()
                .1
        };
        // when each who waits came, in the order of the line's own queues; when each who is in a place leaves it, came, and whether it goes on
        let (mut beginning, mut continuing) = (VecDeque::new(), VecDeque::new());
        let mut busy: Vec<(Instant, Instant, bool)> = Vec::new();
        let (mut next_at, mut took) = (start, Vec::new());
        let simulated = ms(14);
        loop {
            let leaves = (0..busy.len()).min_by_key(|at: &usize| -> Instant { busy[*at].0 });
            match leaves.filter(|at| busy[*at].0 <= next_at) {
                Some(at) => {
                    let (now, came_at, is_solved) = busy.swap_remove(at);
                    if is_solved {
                        took.push(now - came_at);
                    }
                    let mut enter = |state: &mut State, goes_on: bool| {
                        let came_at: Instant =
                            if goes_on { continuing.pop_front() } else { beginning.pop_front() }.unwrap();
                        let lasts = if goes_on { simulated } else { solve() };
                        state.note_taken(&line, now);
                        busy.push((now + lasts, came_at, goes_on));
                    };
                    let goes_on = !state.continuing.is_empty();
                    match state.next() {
                        Some(_) => enter(&mut state, goes_on),
                        None => {
                            state.free += 1;
                            state.note_empty(&line, now);
                        }
                    }
                    if !is_solved && state.free > 0 {
                        state.free -= 1;
                        busy.push((now + simulated, came_at, true));
                    } else if !is_solved {
                        state.continuing.push_back(oneshot::channel().0);
                        continuing.push_back(came_at);
                    }
                }
                None => {
                    let now = next_at;
                    next_at += gap;
                    if now - start > ms(60_000) {
                        break;
                    }
                    let ahead = state.waiting();
                    if ahead == 0 {
                        state.note_empty(&line, now);
                    }
                    if state.free > 0 {
                        state.free -= 1;
                        busy.push((now + solve(), now, false));
                    } else if ahead < state.limit && mean * u32::try_from(ahead).unwrap() / 2 <= WAIT {
                        state.beginning.push_back(oneshot::channel().0);
                        beginning.push_back(now);
                    }
                }
            }
        }
        took.sort_unstable();
        took
    }

    #[test]
    fn at_six_times_what_can_be_done_the_accepted_wait_at_most_as_long_as_they_take() {
        let of = |gap: Duration| {
            let took = quotes_of_a_minute(gap);
            [50, 99].map(|percent| took[took.len() * percent / 100])
        };
        // a quote takes two places for 30 ms in the mean: one every 15 ms is all that can be done
        let [quiet, loaded] = [ms(1_000), Duration::from_micros(2_500)].map(of);
        assert!(loaded[1] <= 2 * quiet[1], "{quiet:?} {loaded:?}");
    }
}
