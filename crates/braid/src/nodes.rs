//! Options of nodes, for the commands that follow a chain.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use braid_ethereum::{Endpoint, Node, NodeConfig, NodeError};
use eyre::{Report, Result};

use crate::exit::usage;
use crate::secrets;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NodeArgs {
    #[command(flatten)]
    urls: NodeUrls,
    /// How often several nodes are compared with each other, in seconds
    #[arg(help_heading = "Nodes", long, env = "BRAID_NODE_CHECK_S", value_name = "SECONDS", default_value_t = 6,
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    node_check_s: u64,
    /// Blocks that a node may be behind the others before it is asked last
    #[arg(help_heading = "Nodes", long, env = "BRAID_NODE_LAG_BLOCKS", value_name = "N", default_value_t = 3)]
    node_lag_blocks: u64,
}

/// The nodes that a service follows.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NodeUrls {
    /// An Ethereum node: http://, https://, ws://, wss:// or the path of an ipc socket. Its chain id must be 1. Given
    /// several times, the best of them is asked first and the others when it fails, lags, disagrees or is slow
    #[arg(
        help_heading = "Nodes",
        long = "rpc-url",
        env = "BRAID_RPC_URL",
        value_name = "URL",
        value_delimiter = ',',
        hide_env_values = true
    )]
    rpc_urls: Vec<String>,
    /// A file with more node URLs, one per line
    #[arg(help_heading = "Nodes", long, env = "BRAID_RPC_URL_FILE", value_name = "FILE")]
    rpc_url_file: Option<PathBuf>,
}

impl NodeUrls {
    /// Returns the URLs of all nodes; there is at least one.
    pub(crate) fn urls(&self) -> Result<Vec<String>> {
        let urls = secrets::with(&self.rpc_urls, self.rpc_url_file.as_ref())?;
        if urls.is_empty() { Err(no_node()) } else { Ok(urls) }
    }
}

/// The node of a command that ends when it is done. It takes the variables of `braid serve`, which may name several.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OneNode {
    /// A node: http://, https://, ws://, wss:// or the path of an ipc socket. Of several with commas, the first is used
    #[arg(long = "rpc-url", env = "BRAID_RPC_URL", value_name = "URL", value_delimiter = ',', hide_env_values = true)]
    rpc_urls: Vec<String>,
    /// A file with node URLs, one per line; the first is used if no other is named
    #[arg(long, env = "BRAID_RPC_URL_FILE", value_name = "FILE")]
    rpc_url_file: Option<PathBuf>,
}

impl OneNode {
    /// Returns the URL of the node to use, if one is named.
    pub(crate) fn named(&self) -> Result<Option<String>> {
        Ok(secrets::with(&self.rpc_urls, self.rpc_url_file.as_ref())?.into_iter().next())
    }

    /// Returns the URL of the node to use.
    pub(crate) fn url(&self) -> Result<String> {
        self.named()?.ok_or_else(no_node)
    }
}

fn no_node() -> Report {
    usage("no node is named: give --rpc-url URL or --rpc-url-file FILE, or set BRAID_RPC_URL")
}

impl NodeArgs {
    /// Returns the URLs of all nodes.
    pub(crate) fn urls(&self) -> Result<Vec<String>> {
        self.urls.urls()
    }

    /// Checks the nodes' addresses, and that a socket can be opened if there are only sockets; one is enough.
    pub(crate) fn check_addresses(&self) -> Result<()> {
        let urls = self.urls()?;
        let endpoints = urls.iter().map(|url| Endpoint::parse(url)).collect::<Result<Vec<_>, _>>()?;
        let mut failed = None;
        for endpoint in endpoints {
            let Some(path) = endpoint.socket() else { return Ok(()) };
            match UnixStream::connect(path) {
                Ok(_) => return Ok(()),
                Err(error) => failed = failed.or(Some((endpoint.to_string(), error.to_string()))),
            }
        }
        failed.map_or(Ok(()), |(endpoint, why)| Err(NodeError::Unreachable { endpoint, why }.into()))
    }

    /// Connects to all of them; one that serves chain 1 is enough.
    pub(crate) async fn connect(&self) -> Result<Node> {
        let config = NodeConfig {
            check_every: Duration::from_secs(self.node_check_s),
            lag_blocks: self.node_lag_blocks,
            ..NodeConfig::default()
        };
        let node = Node::connect_all(&self.urls()?, config).await?;
        for report in node.report() {
            match report.fault {
                None => tracing::info!(node = report.name, "connected to a node"),
                Some(fault) => tracing::warn!(node = report.name, %fault, "a node cannot be used at present"),
            }
        }
        Ok(node)
    }
}
