//! Compares a few pools with the chain now and then, to notice logs that a node left out of a block's list.
//!
//! A list that lacks some of its logs agrees with the block's bloom, so nothing shows it at once. But a pool whose log is
//! missing keeps a wrong state until its next log. So the pools that trade most, and some others in turn, are compared
//! with a word or two of the chain's state every few blocks, in one call.

use std::collections::BTreeSet;

use braid_market::Market;
use braid_primitives::{B256, Bytes, PoolKey, U256};
use braid_protocols::Prediction;

use super::synchronizer::Synchronizer;
use crate::FollowError;

/// Blocks after every pool was read again because logs were missing, before that is done again.
const READ_ALL_AGAIN_AFTER: u64 = 300;

impl Synchronizer {
    /// Notes the pools that the logs of the block after the tip concern.
    pub(super) fn note_activity(
        &mut self,
        number: u64,
        parent: B256,
        changed: &BTreeSet<PoolKey>,
        stale: &BTreeSet<PoolKey>,
    ) {
        let confirmed = self.activity.confirmed(parent, |pool| changed.contains(pool) || stale.contains(pool));
        self.activity.note(number, changed.iter().copied());
        let Some(example) = confirmed.first() else { return };
        let is_recent = |at: u64| number.saturating_sub(at) < READ_ALL_AGAIN_AFTER;
        let pools = confirmed.len();
        if self.activity.read_all_at.is_some_and(is_recent) {
            tracing::warn!(pools, %example, "pools were wrong again because a node leaves out logs: they were read again");
        } else {
            tracing::warn!(pools, %example, "pools were wrong: a node left out logs of blocks, without an error");
            self.activity.read_all_at = Some(number);
            self.node.mistrust();
        }
    }

    /// Returns whether some pools should be compared with the chain.
    pub(crate) fn is_comparison_due(&self) -> bool {
        let every = self.config.compare_every_blocks;
        let due = |tip: u64| every > 0 && tip >= self.activity.compared_at.saturating_add(every);
        !self.unpublished && self.tip().is_some_and(|tip| due(tip.block().number))
    }

    /// Compares some pools of the tip with the chain. Those that do not agree wait to be read.
    pub(crate) async fn compare(&mut self) -> Result<(), FollowError> {
        let Some(tip) = self.tip().cloned() else { return Ok(()) };
        self.activity.compared_at = tip.block().number;
        let checks: Vec<(PoolKey, Vec<Prediction>)> =
            self.activity.sample().into_iter().filter_map(|pool| Some((pool, checks(&tip, pool)?))).collect();
        if checks.is_empty() {
            return Ok(());
        }
        let calls = checks.iter().flat_map(|(_, checks)| checks).map(|check| check.call.clone()).collect();
        let mut answers = self.node.read(tip.block().hash, calls).await?.into_iter();
        let mut wrong = BTreeSet::new();
        for (pool, checks) in checks {
            let said: Vec<Option<Bytes>> = checks.iter().map(|_| answers.next().flatten()).collect();
            if checks
                .iter()
                .zip(&said)
                .any(|(check, said)| word(said.as_ref()).is_some_and(|word| word != check.answer))
            {
                wrong.insert(pool);
            }
        }
        if !wrong.is_empty() {
            let block = tip.block();
            tracing::debug!(number = block.number, ?wrong, "pools do not agree with the chain: they are read again");
            self.pending.extend(wrong.iter().copied());
            self.activity.suspects = Some((block.hash, wrong));
        }
        Ok(())
    }
}

/// Returns how to compare a pool of a market; `None` if its product is not compared.
fn checks(market: &Market, pool: PoolKey) -> Option<Vec<Prediction>> {
    let pool = market.pool(market.pool_id(pool)?)?;
    Some(pool.product.spot_checks(pool.key.contract, &pool.state)).filter(|checks| !checks.is_empty())
}

fn word(said: Option<&Bytes>) -> Option<U256> {
    U256::try_from_be_slice(said?.get(..32)?)
}
