//! Learns the largest size that a node accepts: blocks of a range, requests or bytes of a message, calls of an
//! aggregate. Pure.

use braid_store::node_limits::Limit;

/// Answers at the full size before a refused size is tried again, if the refusal did not state the limit.
const PATIENCE: u32 = 32;

/// The same if it did.
const PATIENCE_STATED: u32 = 1_024;

/// The largest size that a node is known to accept.
///
/// Nodes limit ranges, results, sizes and time in ways that only a refusal shows. A refusal halves the size, or sets it
/// to the limit that it states. Answers double it again, but never to a refused size: the middle between the largest
/// answered and the smallest refused size is tried, until they differ by less than an eighth. A refused size is tried
/// again after ever more answers, because some limits depend on the contents of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    now: u64,
    most: u64,
    /// Smallest size that was refused.
    refused: Option<u64>,
    /// Values of `now` and `refused` before a refused size was tried again.
    before: Option<(u64, u64)>,
    /// Answers at the full size since it last changed.
    answers: u32,
    patience: u32,
    /// Whether the newest answer at the full size did not change it.
    steady: bool,
    /// Whether the refusal that set it spoke of a size.
    told: bool,
}

/// Size below which a limit makes everything slow.
const FEW: u64 = 10;

impl Size {
    /// A size that starts at `first` and grows up to `most`.
    pub(super) const fn new(first: u64, most: u64) -> Self {
        let (refused, before, patience) = (None, None, PATIENCE);
        Self { now: first, most, refused, before, answers: 0, patience, steady: false, told: false }
    }

    /// Returns the size to ask for now.
    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// Returns whether the size is settled, so that several requests of it may be under way.
    pub(super) const fn is_steady(&self) -> bool {
        self.steady
    }

    /// Returns whether a size was refused.
    pub(super) const fn is_limited(&self) -> bool {
        self.refused.is_some()
    }

    /// Returns whether it is so small that everything takes long.
    pub(super) const fn is_few(&self) -> bool {
        self.now < FEW
    }

    /// Returns the limit to store; `None` if nothing was refused, or if the refusal did not speak of a size: it may
    /// have been a failure.
    pub(super) fn found(&self) -> Option<Limit> {
        let found = self.before.or_else(|| Some((self.now, self.refused?))).filter(|_| self.told);
        found.map(|(accepted, refused)| Limit { accepted, refused })
    }

    /// Starts from a stored limit.
    pub(super) fn recall(&mut self, Limit { accepted, refused }: Limit) {
        if (1..self.most).contains(&accepted) && accepted < refused {
            (self.now, self.refused) = (accepted, Some(refused));
            (self.patience, self.steady, self.told) = (PATIENCE_STATED, true, true);
        }
    }

    /// Notes that a request of some size was answered; the next one may be larger if `grows`.
    pub(super) fn answered(&mut self, size: u64, grows: bool) {
        if size < self.now {
            return;
        }
        let before = self.now;
        self.answers = self.answers.saturating_add(1);
        if self.before.take().is_some() {
            // The node accepts more than before: the limit moved.
            (self.refused, self.patience) = (None, PATIENCE);
        }
        if grows {
            self.grow();
        }
        self.steady = self.now == before;
    }

    fn grow(&mut self) {
        let doubled = self.now.saturating_mul(2).min(self.most);
        let Some(refused) = self.refused else {
            self.now = doubled;
            return;
        };
        let step = refused.saturating_sub(self.now) / 2;
        if step > self.now / 8 {
            self.now += step;
        } else if self.answers >= self.patience && doubled > self.now {
            self.before = Some((self.now, refused));
            (self.now, self.answers) = (doubled, 0);
        }
    }

    /// Notes that a request of some size was refused; `stated` is the limit in the refusal, and `told` whether it speaks
    /// of a size at all. Returns whether that is news.
    pub(super) fn refused(&mut self, size: u64, stated: Option<u64>, told: bool) -> bool {
        if size > self.now {
            // Sent before the limit was known.
            return false;
        }
        (self.steady, self.answers) = (false, 0);
        if let Some((now, refused)) = self.before.take().filter(|(now, _)| *now < size) {
            self.patience = self.patience.saturating_mul(2);
            (self.now, self.refused, self.steady) = (now, Some(refused), true);
            return false;
        }
        let stated = stated.filter(|stated| (1..size).contains(stated));
        if stated.is_some() {
            self.patience = self.patience.max(PATIENCE_STATED);
        }
        self.told = told;
        self.refused = Some(stated.map_or(size, |stated| stated + 1));
        self.now = stated.unwrap_or(size / 2).max(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sends requests to a node with a limit. Returns the answered units and the number of refusals. `tells` states
    /// whether a refusal contains the limit.
    fn ask(size: &mut Size, limit: u64, times: u32, tells: bool) -> (u64, u32) {
        let (mut answered, mut refusals) = (0, 0);
        for _ in 0..times {
            let asked = size.now();
            if asked > limit {
                size.refused(asked, tells.then_some(limit), true);
                refusals += 1;
            } else {
                size.answered(asked, true);
                answered += asked;
            }
        }
        (answered, refusals)
    }

    #[test]
    fn a_limit_that_is_told_is_kept_and_hardly_tried_again() {
        let mut size = Size::new(10_000, 250_000);
        let (answered, refusals) = ask(&mut size, 2_000, 7_000, true);
        assert!(refusals <= 4, "{refusals}");
        assert_eq!(answered, u64::from(7_000 - refusals) * 2_000);
    }

    #[test]
    fn a_limit_that_moves_is_followed_both_ways() {
        let mut size = Size::new(10_000, 250_000);
        ask(&mut size, 300, 100, false);
        assert!(size.now() <= 300);
        ask(&mut size, 250_000, 100, false);
        assert_eq!(size.now(), 250_000);
        ask(&mut size, 300, 100, false);
        assert!(size.now() <= 300);
    }

    #[test]
    fn a_single_one_that_is_refused_stays_one() {
        let mut size = Size::new(1, 100);
        assert!(size.refused(1, None, true));
        assert_eq!(size.now(), 1);
    }

    #[test]
    fn many_refusals_of_one_size_count_once() {
        let mut size = Size::new(800, 1_000);
        assert!(size.refused(800, None, true));
        (0..7).for_each(|_| assert!(!size.refused(800, None, true)));
        assert_eq!(size.now(), 400);
    }

    #[test]
    fn from_one_it_grows_again_when_single_ones_are_answered() {
        let mut size = Size::new(1_000, 1_000);
        while size.now() > 1 {
            size.refused(size.now(), None, false);
        }
        ask(&mut size, 1_000, 100, false);
        assert_eq!(size.now(), 1_000);
    }

    #[test]
    fn a_limit_that_no_refusal_spoke_of_is_not_stored() {
        let mut size = Size::new(1_000, 1_000);
        size.refused(1_000, None, false);
        assert_eq!((size.now(), size.found()), (500, None));
        size.refused(500, None, true);
        assert_eq!(size.found(), Some(Limit { accepted: 250, refused: 500 }));
    }

    #[test]
    fn what_was_found_is_begun_with_and_nonsense_is_not() {
        let mut size = Size::new(10_000, 250_000);
        assert_eq!(size.found(), None);
        ask(&mut size, 500, 60, false);
        let found = size.found().unwrap();
        assert!(found.accepted <= 500 && found.refused > 500, "{found:?}");
        let mut next = Size::new(10_000, 250_000);
        next.recall(found);
        assert_eq!((next.now(), next.is_steady(), next.found()), (found.accepted, true, Some(found)));
        assert_eq!(ask(&mut next, 500, 1_000, false).1, 0, "it is not looked for again");
        for (accepted, refused) in [(0, 1), (5, 5), (250_000, 250_001), (u64::MAX, 0)] {
            let mut size = Size::new(10_000, 250_000);
            size.recall(Limit { accepted, refused });
            assert_eq!(size, Size::new(10_000, 250_000));
        }
    }

    proptest! {
        #[test]
        fn whatever_the_limit_few_questions_are_refused_and_most_of_it_is_used(limit in 1u64..250_000) {
            let mut size = Size::new(10_000, 250_000);
            let (_, finding) = ask(&mut size, limit, 40, false);
            prop_assert!(finding <= 20, "{}", finding);
            let (answered, refusals) = ask(&mut size, limit, 10_000, false);
            prop_assert!(refusals <= 12, "{}", refusals);
            prop_assert!(answered >= limit * 10_000 / 5 * 4, "{} of {}", answered / 10_000, limit);
        }
    }
}
