//! How many blocks the next `eth_getLogs` asks for. Pure.

/// Block ranges that shrink where a node refuses and grow back where it does not.
///
/// Nodes limit ranges, results, answer sizes and time in ways that only a refusal shows. A refusal halves the range; an
/// answer that came with few logs doubles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeWindow {
    next: u64,
    last: u64,
    blocks: u64,
}

/// Blocks asked for at first by a scan for announcements, which are few.
pub(crate) const FIRST_BLOCKS: u64 = 10_000;

/// Most blocks asked for at once.
pub(crate) const MOST_BLOCKS: u64 = 250_000;

/// An answer with more logs than this does not make the range grow.
pub(crate) const COMFORTABLE_LOGS: usize = 2_000;

impl RangeWindow {
    /// Ranges that cover `from..=to`, of `first_blocks` (at least 1) at first.
    pub(crate) const fn new(from: u64, to: u64, first_blocks: u64) -> Self {
        let blocks = if first_blocks == 0 { 1 } else { first_blocks };
        Self { next: from, last: to, blocks }
    }

    /// The range to ask for now, both ends included; `None` when all is covered.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        let end = self.next.saturating_add(self.blocks - 1).min(self.last);
        (self.next <= self.last).then_some((self.next, end))
    }

    /// How many blocks are asked for at once by now.
    pub(crate) const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Asks for that many blocks at once from here on: what another window learnt of the same node.
    pub(crate) const fn resize(&mut self, blocks: u64) {
        self.blocks = if blocks == 0 { 1 } else { blocks };
    }

    /// The range was answered with that many logs: go on behind it.
    pub(crate) fn answered(&mut self, logs: usize) {
        let Some((_, end)) = self.range() else { return };
        // A range that ends at the last possible block has nothing behind it.
        (self.next, self.last) = end.checked_add(1).map_or((1, 0), |next| (next, self.last));
        if logs <= COMFORTABLE_LOGS {
            self.blocks = self.blocks.saturating_mul(2).min(MOST_BLOCKS);
        }
    }

    /// The range was refused: halve it. `false` when a single block was refused, which cannot be halved.
    pub(crate) fn refused(&mut self) -> bool {
        let Some((start, end)) = self.range() else { return false };
        let asked = end - start + 1;
        self.blocks = (asked / 2).max(1);
        asked > 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refused_range_is_halved_down_to_one_block() {
        let mut window = RangeWindow::new(100, 1_099, FIRST_BLOCKS);
        let mut asked = vec![];
        loop {
            let (from, to) = window.range().unwrap();
            assert_eq!(from, 100, "nothing is skipped");
            asked.push(to - from + 1);
            if !window.refused() {
                break;
            }
        }
        assert_eq!(asked, [1_000, 500, 250, 125, 62, 31, 15, 7, 3, 1]);
    }

    #[test]
    fn the_range_grows_back_while_answers_are_small() {
        let mut window = RangeWindow::new(0, u64::MAX, FIRST_BLOCKS);
        window.refused();
        assert_eq!(window.range(), Some((0, 4_999)));
        window.answered(COMFORTABLE_LOGS);
        assert_eq!(window.range(), Some((5_000, 14_999)));
        window.answered(COMFORTABLE_LOGS + 1);
        assert_eq!(window.range(), Some((15_000, 24_999)));
    }

    #[test]
    fn an_empty_span_asks_for_nothing() {
        assert_eq!(RangeWindow::new(5, 4, FIRST_BLOCKS).range(), None);
        let mut end = RangeWindow::new(u64::MAX, u64::MAX, FIRST_BLOCKS);
        end.answered(0);
        assert_eq!(end.range(), None);
    }

    proptest! {
        #[test]
        fn every_block_is_asked_for_once_whatever_the_node_refuses(
            from in 0u64..1_000_000, length in 0u64..300_000, limit in 1u64..50_000, logs in 0usize..4_000,
        ) {
            let to = from + length;
            let mut window = RangeWindow::new(from, to, FIRST_BLOCKS);
            let mut covered = from;
            while let Some((start, end)) = window.range() {
                prop_assert_eq!(start, covered);
                prop_assert!(end <= to);
                if end - start + 1 > limit {
                    prop_assert!(window.refused());
                } else {
                    covered = end + 1;
                    window.answered(logs);
                }
            }
            prop_assert_eq!(covered, to + 1);
        }
    }
}
