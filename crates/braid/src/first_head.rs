//! Waits for the first market of a node, and says what it waits for.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{FollowerConfig, FollowerHandle, Head, SyncStatus};
use eyre::{Result, eyre};
use indicatif::ProgressBar;
use tokio::time::Instant;

use crate::exit::{Exit, Failed};
use crate::out;

/// Longest time for which a node may fail before the wait ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the first market of a follower. Shows the progress on a terminal, and each new failure of the node.
///
/// # Errors
/// If the node fails for half a minute.
pub(crate) async fn first_head(follower: &mut FollowerHandle) -> Result<Arc<Head>> {
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(200));
    let (mut told, mut failing_since) = (None, None);
    let found = loop {
        let status = follower.status.borrow_and_update().clone();
        spinner.set_message(progress(&status));
        match &status.last_error {
            Some(error) => {
                if told.as_ref() != Some(error) {
                    spinner.suspend(|| out::note(format_args!("waiting for the node's market: {error}")));
                    told = Some(error.clone());
                }
                failing_since.get_or_insert_with(Instant::now);
            }
            None => failing_since = None,
        }
        let given_up = async {
            match failing_since {
                Some(since) => tokio::time::sleep_until(since + PATIENCE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            found = follower.heads.wait_for(Option::is_some) => {
                break found.ok().and_then(|head| head.clone()).ok_or_else(|| eyre!("the follower ended"));
            }
            changed = follower.status.changed() => changed.map_err(|_| eyre!("the follower ended"))?,
            () = given_up => {
                let seconds = PATIENCE.as_secs();
                let text = format!("the node gave no market: it has failed for {seconds} s. `braid doctor` checks it, or name another with --rpc-url");
                break Err(Failed::new(Exit::Unreachable, text).into());
            }
        }
    };
    spinner.finish_and_clear();
    let head = found?;
    partial(head.block().number, head.market.pools().len()).iter().for_each(out::note);
    Ok(head)
}

/// Says that a market has the listed pools alone: on a chain of many blocks the follower finds the others after the first
/// market.
fn partial(block: u64, pools: usize) -> Option<String> {
    (block > FollowerConfig::default().scan_before_serving_blocks).then(|| {
        format!(
            "only the {pools} pools that this version lists: a service finds the others (`braid swap --api`), or `braid sync` \
             (`braid market save --data DIR FILE`, then --market FILE)"
        )
    })
}

fn progress(status: &SyncStatus) -> String {
    format!("reading the market: {} pools, {} to read", status.pools, status.waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The market of mainnet had a few hundred pools without a word.
    #[test]
    fn a_market_of_the_listed_pools_is_said_to_be_one() {
        assert_eq!(partial(264, 190), None);
        assert!(partial(24_000_000, 402).unwrap().starts_with("only the 402 pools that this version lists"));
    }
}
