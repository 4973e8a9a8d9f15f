//! The parts of the service that quotes and builds use.

use std::sync::Arc;

use braid_audit::Audit;

use crate::accounts::Accounts;
use crate::feed::Markets;
use crate::simulation::Simulations;
use crate::stored::StoredQuotes;

/// The parts of the service that quotes and builds use. Clones share them.
#[derive(Clone)]
pub struct Context {
    /// The market.
    pub markets: Markets,
    /// The audit, which excludes pools and tokens.
    pub audit: Arc<Audit>,
    /// Balances and allowances, from the node.
    pub accounts: Accounts,
    /// Simulations of transactions.
    pub simulations: Simulations,
    /// Stored quotes, with the clock for their expiry.
    pub stored: StoredQuotes,
}
