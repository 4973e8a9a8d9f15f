//! What quotes and builds are made with.

use std::sync::Arc;

use braid_audit::Audit;

use crate::accounts::Accounts;
use crate::feed::Markets;
use crate::simulation::Simulations;
use crate::stored::StoredQuotes;

/// What quotes and builds are made with. Clones share all of it.
#[derive(Clone)]
pub struct Context {
    /// The market.
    pub markets: Markets,
    /// Tells which pools and tokens are excluded.
    pub audit: Arc<Audit>,
    /// The node, for what takers hold.
    pub accounts: Accounts,
    /// Runs transactions before they are sent.
    pub simulations: Simulations,
    /// The quotes that were given, and the clock that they end by.
    pub stored: StoredQuotes,
}
