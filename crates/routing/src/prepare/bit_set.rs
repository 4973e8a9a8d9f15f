//! A set of small numbers that is traversed in order while it changes.

/// A bit set (see the module's text).
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSet(Vec<u64>);

impl BitSet {
    /// Returns the set of every number below `count`.
    pub(crate) fn all(count: usize) -> Self {
        let mut words = vec![u64::MAX; count.div_ceil(64)];
        if let Some(last) = words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last = (1 << (count % 64)) - 1;
        }
        Self(words)
    }

    /// Adds a number below the count.
    #[inline]
    pub(crate) fn set(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Removes and returns the least number that is not below `from`.
    pub(crate) fn take_from(&mut self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut left = self.0.get(word)? & (u64::MAX << (from % 64));
        while left == 0 {
            word += 1;
            left = *self.0.get(word)?;
        }
        let bit = left.trailing_zeros();
        self.0[word] &= !(1 << bit);
        Some(word * 64 + bit as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_ahead_comes_in_the_same_walk_and_what_lies_behind_in_the_next() {
        let mut set = BitSet::all(130);
        let mut walk = |from: usize, added: &[usize]| {
            added.iter().for_each(|number| set.set(*number));
            let mut taken = Vec::new();
            let mut next = from;
            while let Some(number) = set.take_from(next) {
                next = number + 1;
                taken.push(number);
                if number == 64 {
                    set.set(3);
                    set.set(129);
                }
            }
            taken
        };
        assert_eq!(walk(0, &[]), (0..130).collect::<Vec<_>>());
        assert_eq!(walk(0, &[]), [3], "129 came in the walk before");
        assert_eq!(walk(64, &[63, 64]), [64, 129]);
        assert_eq!(walk(0, &[]), [3, 63]);
    }
}
