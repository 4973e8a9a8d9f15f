//! `braid doctor`: checks what a service needs, and prints the fix for each problem.

use std::path::Path;

use alloy::primitives::keccak256;
use braid_ethereum::{Node, NodeError};
use braid_execution::proxy;
use braid_primitives::Block;
use braid_quoting::{Clock as _, SystemClock};
use eyre::{Result, eyre};

use crate::chain::host_of;
use crate::config_file::ConfigFile;
use crate::data::{cannot_store, check_dir};
use crate::nodes::NodeUrls;
use crate::out;
use crate::paths::DataDir;

/// Age of the newest block in seconds from which the node lags or this machine's clock is ahead.
const MAX_AGE_S: u64 = 60;

/// Most seconds that a block may be ahead of this machine's clock.
const MAX_AHEAD_S: u64 = 15;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: braid doctor --rpc-url http://127.0.0.1:8545 --data /var/lib/braid

Takes the variables and the configuration file of `braid serve` too. Exits with 1 if a problem must be fixed before `braid serve` works.")]
pub(crate) struct Args {
    #[command(flatten)]
    nodes: NodeUrls,
    #[command(flatten)]
    data: DataDir,
    #[command(flatten)]
    _config: ConfigFile,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// The service works with a limitation.
    Weak,
    Bad,
}

/// Name of a check, its result, and an explanation or fix.
#[derive(Debug)]
struct Finding(&'static str, Verdict, String);

impl Finding {
    /// Names the node that a finding is about, if there are several.
    fn about(self, node: &str) -> Self {
        Self(self.0, self.1, format!("{node}: {}", self.2))
    }
}

/// `braid doctor`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let urls = args.nodes.urls()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut findings = Vec::new();
    for url in &urls {
        let of_one = runtime.block_on(of_node(url));
        findings.extend(
            of_one.into_iter().map(|finding| if urls.len() > 1 { finding.about(&host_of(url)) } else { finding }),
        );
    }
    findings.push(of_data(&args.data.data_dir));
    for Finding(what, verdict, text) in &findings {
        let mark = match verdict {
            Verdict::Good => out::good("ok   "),
            Verdict::Weak => out::faint("note "),
            Verdict::Bad => out::bad("bad  "),
        };
        out::line(format_args!("{mark} {what:<8} {text}"))?;
    }
    let bad = findings.iter().filter(|finding| finding.1 == Verdict::Bad).count();
    if bad == 0 { Ok(()) } else { Err(eyre!("{bad} of {} checks failed", findings.len())) }
}

async fn of_node(url: &str) -> Vec<Finding> {
    let node = match connected(url).await {
        Ok(node) => node,
        Err(error) => return vec![Finding("node", Verdict::Bad, error.to_string())],
    };
    let block = match node.latest_block().await {
        Ok(block) => block,
        Err(error) => return vec![Finding("node", Verdict::Bad, format!("it serves chain 1, and no block: {error}"))],
    };
    let height = Finding("node", Verdict::Good, format!("it serves chain 1, block {}", block.number));
    vec![height, of_clock(&block, SystemClock.now_s()), of_market(&node, &block).await, of_proxy(&node, &block).await]
}

async fn connected(url: &str) -> Result<Node, NodeError> {
    let node = Node::connect(url).await?;
    node.check_chain().await?;
    Ok(node)
}

fn of_clock(block: &Block, now_s: u64) -> Finding {
    let age_s = now_s.saturating_sub(block.timestamp);
    let ahead_s = block.timestamp.saturating_sub(now_s);
    if ahead_s > MAX_AHEAD_S {
        let text = format!("the newest block is {ahead_s} s ahead of this machine's clock: set the clock");
        return Finding("clock", Verdict::Bad, text);
    }
    if age_s > MAX_AGE_S {
        let text = format!(
            "the newest block is {age_s} s old: the node is not synchronised, or this machine's clock is ahead"
        );
        return Finding("clock", Verdict::Bad, text);
    }
    Finding("clock", Verdict::Good, format!("the newest block is {age_s} s old"))
}

/// Checks whether the node supports state overrides, by which the market is read in few calls.
async fn of_market(node: &Node, block: &Block) -> Finding {
    match node.supports_overrides(block.hash).await {
        Ok(true) => Finding(
            "market",
            Verdict::Good,
            "the node supports state overrides: many values are read in one call".into(),
        ),
        Ok(false) => {
            let text = "the node does not support state overrides of eth_call: reading the market takes more calls";
            Finding("market", Verdict::Weak, text.into())
        }
        Err(error) => Finding("market", Verdict::Bad, format!("the node runs no calls: {error}")),
    }
}

async fn of_proxy(node: &Node, block: &Block) -> Finding {
    let address = proxy::address();
    match node.code(block.hash, address).await {
        Ok(code) if code.is_empty() => {
            let text = format!("no contract is at {address}: quotes work, swaps need `braid proxy deploy` first");
            Finding("proxy", Verdict::Weak, text)
        }
        Ok(code) if keccak256(&code) == proxy::code_hash() => {
            Finding("proxy", Verdict::Good, format!("it is at {address}"))
        }
        Ok(_) => Finding("proxy", Verdict::Bad, format!("other code is at {address}: swaps through it are not safe")),
        Err(error) => Finding("proxy", Verdict::Bad, format!("the node does not return its code: {error}")),
    }
}

/// Checks the data directory as a start uses it.
fn of_data(dir: &Path) -> Finding {
    let (is_there, shown) = (dir.exists(), dir.display());
    let quarantined = || -> Result<usize> {
        check_dir(dir)?;
        Ok(braid_store::quarantine::load(dir).map_err(cannot_store)?.len())
    };
    match quarantined() {
        Ok(_) if !is_there => {
            Finding("store", Verdict::Good, format!("{shown} is not there yet: `braid serve` makes it"))
        }
        Ok(pools) => Finding("store", Verdict::Good, format!("{shown} can be used, {pools} pools in quarantine")),
        Err(error) => Finding("store", Verdict::Bad, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_primitives::B256;

    #[test]
    fn a_clock_that_is_off_is_told_from_a_block_in_time() {
        let block = Block {
            number: 1,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 1_000_000,
            base_fee_per_gas_wei: 0,
            gas_used: 0,
            gas_limit: 0,
        };
        let verdict = |now_s| of_clock(&block, now_s).1;
        assert_eq!([1_000_000, 1_000_060, 999_985].map(verdict), [Verdict::Good; 3]);
        assert_eq!([1_000_061, 999_984, 0].map(verdict), [Verdict::Bad; 3]);
    }
}
