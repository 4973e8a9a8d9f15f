//! A sum over all records that does not depend on their order: it is updated record by record, and differs if a record
//! was lost, kept or changed by mistake.

use sha2::{Digest as _, Sha256};

/// The sum, modulo 2^128, of the first 16 bytes of the SHA-256 of every record: its table, key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) u128);

impl Sum {
    pub(crate) fn add(&mut self, table: &str, key: &[u8], value: &[u8]) {
        self.0 = self.0.wrapping_add(term(table, key, value));
    }

    pub(crate) fn remove(&mut self, table: &str, key: &[u8], value: &[u8]) {
        self.0 = self.0.wrapping_sub(term(table, key, value));
    }
}

fn term(table: &str, key: &[u8], value: &[u8]) -> u128 {
    let mut hasher = Sha256::new();
    for part in [table.as_bytes(), key, value] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_matter_and_everything_else_does() {
        type Record<'a> = (&'a str, &'a [u8], &'a [u8]);
        let of = |records: &[Record<'_>]| {
            let mut sum = Sum::default();
            records.iter().for_each(|(table, key, value)| sum.add(table, key, value));
            sum
        };
        let (one, two): (Record<'_>, Record<'_>) = (("pools", b"1", b"a"), ("pools", b"2", b"b"));
        assert_eq!(of(&[one, two]), of(&[two, one]));
        assert_ne!(of(&[one, two]), of(&[("pools", b"1", b"b"), ("pools", b"2", b"a")]), "values changed places");
        assert_ne!(of(&[one]), of(&[("known", b"1", b"a")]), "another table");
        assert_ne!(of(&[("t", b"ab", b"c")]), of(&[("t", b"a", b"bc")]), "the border of key and value");
        let mut sum = of(&[one, two]);
        sum.remove("pools", b"2", b"b");
        assert_eq!(sum, of(&[one]));
    }
}
