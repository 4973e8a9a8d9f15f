//! The command `braid-devnet chain`.

use std::sync::Arc;

use braid_devnet::{Devnet, Mining, Options, world::Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::{ending::Ending, say};

/// Blocks mined before the chain is announced: as many as a service keeps markets of, and a few more.
const PAST_BLOCKS: u64 = 70;

/// The arguments that concern the chain.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChainArgs {
    /// Port of the node on 127.0.0.1, http and websocket; 0 for a free one
    #[arg(long, env = "DEMO_NODE_PORT", default_value_t = 8545)]
    pub(crate) node_port: u16,
    /// Seconds between blocks; 0 for a block per transaction
    #[arg(long, default_value_t = 2)]
    pub(crate) block_time: u64,
}

impl ChainArgs {
    pub(crate) async fn start(&self) -> eyre::Result<Devnet> {
        let mining = if self.block_time == 0 { Mining::Automatic } else { Mining::EverySeconds(self.block_time) };
        let (port, past_blocks) = (self.node_port, PAST_BLOCKS);
        Ok(Devnet::start(Options { port, mining, past_blocks, progress: progress(), ..Options::default() }).await?)
    }
}

pub(crate) async fn run(args: ChainArgs) -> eyre::Result<()> {
    let mut ending = Ending::new(false)?;
    let chain = tokio::select! {
        chain = args.start() => chain?,
        () = ending.wait() => return Ok(()),
    };
    say(format!("node   {} and {}", chain.http_url(), chain.ws_url()));
    say(format!("proxy  {}", chain.proxy().map_or_else(|| "not deployed".to_owned(), |p| p.to_string())));
    ending.wait().await;
    Ok(())
}

/// Returns a progress callback that draws a bar on a terminal, and elsewhere prints a line for each new kind of work.
fn progress() -> Progress {
    let bar = ProgressBar::hidden();
    bar.set_style(
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let told = std::sync::Mutex::new(String::new());
    Arc::new(move |done, total, what| {
        let Ok(mut told) = told.lock() else { return };
        if told.is_empty() {
            say("Making the local chain's world; the next start finds it ready.");
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
        if what != told.as_str() {
            if bar.is_hidden() {
                say(format!("  {what}"));
            }
            what.clone_into(&mut told);
        }
        if total > 0 && done == total {
            bar.finish_and_clear();
        }
    })
}
