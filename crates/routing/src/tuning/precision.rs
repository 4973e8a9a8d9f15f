//! What floating point may have lost, and how full a plan makes a pool.

use super::Tuning;

impl Tuning {
    /// Factor that rounds a product of rates up. A few operations of 2⁻⁵³ each; not measured.
    pub(crate) const OUTWARD: f64 = 1.0 + 1e-12;
    /// The same for a longer sum of products; not measured.
    pub(crate) const FAR_OUTWARD: f64 = 1.0 + 1e-9;
    /// Margin for the rounding of a formula that replaces a curve; a test compares it with the curve.
    pub(crate) const FORMULA_ROUNDING: f64 = 1e-12;
    /// Share by which a sum of pools' terms is rounded up. As [`Self::OUTWARD`]; not measured.
    pub(crate) const BOUND_ROUNDING: f64 = 1e-12;
    /// Share of the bound by which a route has to be worth more to count as beyond it: rounding explains up to 3e-10.
    pub(crate) const EXCEEDED_BOUND_SHARE: f64 = 1e-8;
    /// Share of a pool's capacity that a plan may fill: the rest covers the rounding of the exact arithmetic.
    /// No record.
    pub(crate) const CAPACITY_FILLED: f64 = 1.0 - 1e-9;
    /// Most that rounding may add to the value of a flow, as a share; above it, the flow's prices count as diverged.
    /// No record.
    pub(crate) const FLOW_VALUE_ROUNDING: f64 = 5e-3;
}
