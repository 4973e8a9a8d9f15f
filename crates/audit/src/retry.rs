//! When a check that failed is made again.

/// Most blocks between two tries.
const LONGEST_WAIT_BLOCKS: u64 = 64;

/// Waits of 1, 2, 4, … blocks, up to [`LONGEST_WAIT_BLOCKS`]. The default is due at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retry {
    tries: u32,
    due_at: u64,
}

impl Retry {
    /// Notes a failed try at a block: the next one is due after twice the blocks as the one before.
    pub(crate) fn wait(&mut self, block: u64) {
        let blocks = 1_u64.checked_shl(self.tries).unwrap_or(LONGEST_WAIT_BLOCKS).min(LONGEST_WAIT_BLOCKS);
        self.tries = self.tries.saturating_add(1);
        self.due_at = block.saturating_add(blocks);
    }

    /// Returns the height from which the next try is due.
    pub(crate) const fn due_at(self) -> u64 {
        self.due_at
    }

    /// Returns whether the next try is due at a block.
    pub(crate) const fn is_due(self, block: u64) -> bool {
        self.due_at <= block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_get_ever_rarer_up_to_the_longest_wait() {
        let (mut retry, mut block) = (Retry::default(), 100);
        assert!(retry.is_due(0), "the first try");
        for wait in [1, 2, 4, 8, 16, 32, 64, 64, 64] {
            retry.wait(block);
            assert!(!retry.is_due(block + wait - 1) && retry.is_due(block + wait));
            block += wait;
        }
        (0..100).for_each(|_| retry.wait(block));
        assert_eq!(retry.due_at(), block + LONGEST_WAIT_BLOCKS);
    }
}
