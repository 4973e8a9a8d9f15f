//! How the payer authorizes the proxy.

/// How the payer lets the proxy take the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// By allowances to the proxy (or nothing, when only ether is sold).
    Allowance,
    /// By a Permit2 signature.
    Permit2,
}
