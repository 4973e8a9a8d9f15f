//! Cholesky factors of a symmetric matrix that is stored by the rows of its lower envelope.

/// Row-major `n × n` storage, of which row `i` uses columns `first[i]..=i`. Holds the inverses of the factor's diagonal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Factor {
    rows: Vec<f64>,
    n: usize,
}

impl Factor {
    /// Factors the leading `size` rows of the matrix that `entry(i, j)` gives; returns `false` if it is not positive
    /// definite.
    pub(crate) fn compute(
        &mut self,
        n: usize,
        size: usize,
        first: &[usize],
        entry: impl Fn(usize, usize) -> f64,
    ) -> bool {
        self.n = n;
        if self.rows.len() < n * n {
            self.rows.resize(n * n, 0.0);
        }
        for i in 0..size {
            for j in first[i]..=i {
                let low = first[i].max(first[j]);
                let (row_i, row_j) = (&self.rows[i * n + low..i * n + j], &self.rows[j * n + low..j * n + j]);
                let sum = entry(i, j) - dot(row_i, row_j);
                if i == j {
                    if !(sum > 0.0 && sum.is_finite()) {
                        return false;
                    }
                    self.rows[i * n + i] = sum.sqrt().recip();
                } else {
                    self.rows[i * n + j] = sum * self.rows[j * n + j];
                }
            }
        }
        true
    }

    /// Solves for a right-hand side of `size` entries, in place.
    pub(crate) fn solve(&self, size: usize, first: &[usize], x: &mut [f64]) {
        let n = self.n;
        for i in 0..size {
            let row = &self.rows[i * n + first[i]..i * n + i];
            x[i] = (x[i] - dot(row, &x[first[i]..i])) * self.rows[i * n + i];
        }
        for i in (0..size).rev() {
            x[i] *= self.rows[i * n + i];
            let xi = x[i];
            let row = &self.rows[i * n + first[i]..i * n + i];
            for (entry, a) in x[first[i]..i].iter_mut().zip(row) {
                *entry -= a * xi;
            }
        }
    }
}

/// Number of sums that a product of rows is divided into: a processor waits some cycles for each addition to a sum.
const LANES: usize = 4;

/// Computes the product of two rows of equal length.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_small_system_by_its_envelope() {
        // Rows 2 and 0 share no entry: the envelope of row 2 starts at column 1.
        let matrix = [[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 2.0]];
        let first = [0, 0, 1];
        let mut factor = Factor::default();
        assert!(factor.compute(3, 3, &first, |i, j| matrix[i][j]));
        let mut x = [1.0, 2.0, 3.0];
        factor.solve(3, &first, &mut x);
        for (row, expected) in matrix.iter().zip([1.0, 2.0, 3.0]) {
            let got: f64 = row.iter().zip(x).map(|(a, b)| a * b).sum();
            assert!((got - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn solves_a_system_whose_rows_are_longer_than_the_sums() {
        // Every length of a row from 0 to 10: with and without a rest beside groups of four.
        const N: usize = 11;
        let entry = |i: usize, j: usize| if i == j { 3.0 } else { 1.0 / (1 + i.abs_diff(j)) as f64 };
        let first = [0; N];
        let mut factor = Factor::default();
        assert!(factor.compute(N, N, &first, entry));
        let right = |i: usize| 1.0 + i as f64;
        let mut x: [f64; N] = std::array::from_fn(right);
        factor.solve(N, &first, &mut x);
        for i in 0..N {
            let got: f64 = x.iter().enumerate().map(|(j, x)| entry(i, j) * x).sum();
            assert!((got - right(i)).abs() < 1e-12, "row {i}: {got}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_refused() {
        let mut factor = Factor::default();
        assert!(!factor.compute(2, 2, &[0, 0], |_, _| 1.0));
    }
}
