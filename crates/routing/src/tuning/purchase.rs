//! Exact output, and witnesses of bounds.

use super::Tuning;

impl Tuning {
    /// Most solves of sales for one purchase, apart from one more for its bound. No record.
    pub(crate) const PURCHASE_SOLVES: usize = 8;
    /// Divisor of an input: plans of inputs that differ by less than that part count as the same. No record.
    pub(crate) const PURCHASE_SETTLED_PART: u64 = 10_000;
    /// Factor by which more is sold if an amount was too small to plan. No record.
    pub(crate) const PURCHASE_LARGER: u64 = 1_024;
    /// Divisor of an input that made too little: that part is sold beyond the proportional amount, because larger inputs
    /// get worse rates. If a sale is planned again, and if the same plan is run again. No record.
    pub(crate) const PURCHASE_EXTRA_PARTS: [u64; 2] = [16, 200];
    /// Most runs of one plan until it makes enough. No record.
    pub(crate) const PURCHASE_LARGER_RUNS: usize = 64;
    /// Gap in basis points above which the bound of a witness says nothing, if it is also above the second constant times
    /// the certificate's gap. No record.
    pub(crate) const WITNESS_GAP_BPS: f64 = 1_000.0;
    pub(crate) const WITNESS_GAPS: f64 = 2.0;
}
