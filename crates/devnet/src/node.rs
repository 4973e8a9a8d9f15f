//! The anvil process.

use std::{
    io::{BufRead, BufReader, PipeReader},
    net::TcpListener,
    path::PathBuf,
    sync::mpsc,
    time::Duration,
};

use crate::{DevnetError, Kit, process::Bound, rpc::Rpc};

/// The maximum time from anvil's start until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of past states that the node keeps, at three megabytes each. It limits how far back calls,
/// reorganisations and forks reach: a quarter of an hour at two seconds per block.
const STATES: u32 = 450;

/// When blocks are mined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mining {
    /// One block for every transaction, at once.
    Automatic,
    /// One block every this many seconds.
    EverySeconds(u64),
    /// Only by explicit request.
    Manual,
}

/// Options of anvil.
#[derive(Debug, Clone)]
pub(crate) struct NodeOptions {
    /// The port; 0 for a free one.
    pub(crate) port: u16,
    pub(crate) mining: Mining,
    pub(crate) load_state: Option<PathBuf>,
    /// The node whose newest state this one starts from.
    pub(crate) fork_url: Option<String>,
    pub(crate) dump_state: Option<PathBuf>,
    /// Timestamp of the first block, in unix seconds.
    pub(crate) timestamp: Option<u64>,
    /// The gas limit of a block; anvil's default if absent.
    pub(crate) block_gas_units: Option<u64>,
}

/// A running anvil. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Node {
    process: Bound,
    port: u16,
    rpc: Rpc,
}

impl Node {
    pub(crate) async fn start(kit: &Kit, options: NodeOptions) -> Result<Self, DevnetError> {
        let kit = kit.clone();
        let (process, port) = tokio::task::spawn_blocking(move || launch(&kit, &options)).await.map_err(|e| {
            DevnetError::Failed { program: "anvil".into(), output: format!("the starting thread stopped: {e}") }
        })??;
        let rpc = Rpc::new(&format!("http://127.0.0.1:{port}"))?;
        Ok(Self { process, port, rpc })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends the process and waits for it, so that the dumped state file is complete.
    pub(crate) fn stop(mut self) {
        self.process.stop();
    }
}

fn launch(kit: &Kit, options: &NodeOptions) -> Result<(Bound, u16), DevnetError> {
    if options.port != 0 {
        // Binds the port and releases it at once: anvil itself reports a taken port only indirectly.
        TcpListener::bind(("127.0.0.1", options.port)).map_err(|_| DevnetError::PortInUse { port: options.port })?;
    }
    let program = kit.anvil().display().to_string();
    let spawn_error = |source| DevnetError::Spawn { program: program.clone(), source };
    let (output, writer) = std::io::pipe().map_err(spawn_error)?;
    let errors = writer.try_clone().map_err(spawn_error)?;
    let process = Bound::start(kit.anvil(), arguments(options), writer, errors).map_err(spawn_error)?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || drain(output, &sender));
    match receiver.recv_timeout(START_TIMEOUT) {
        Ok(Ok(port)) => Ok((process, port)),
        Ok(Err(output)) => Err(DevnetError::Failed { program, output }),
        Err(_) => Err(DevnetError::Failed { program, output: format!("silent for {START_TIMEOUT:?}") }),
    }
}

fn arguments(options: &NodeOptions) -> Vec<String> {
    let mut args: Vec<String> =
        ["--host", "127.0.0.1", "--chain-id", "1", "--color", "never", "--no-request-size-limit"]
            .map(String::from)
            .to_vec();
    let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
    add("--port", options.port.to_string());
    add("--prune-history", STATES.to_string());
    if let Some(path) = &options.load_state {
        add("--load-state", path.display().to_string());
    }
    if let Some(url) = &options.fork_url {
        add("--fork-url", url.clone());
    }
    if let Some(path) = &options.dump_state {
        add("--dump-state", path.display().to_string());
    }
    if let Some(timestamp) = options.timestamp {
        add("--timestamp", timestamp.to_string());
    }
    if let Some(gas) = options.block_gas_units {
        add("--gas-limit", gas.to_string());
    }
    match options.mining {
        Mining::Automatic => {}
        Mining::EverySeconds(seconds) => add("--block-time", seconds.to_string()),
        Mining::Manual => args.push("--no-mining".to_owned()),
    }
    args
}

/// Reads anvil's output to its end, so that anvil never blocks on a full pipe. Sends the port when anvil listens, or
/// the last line of output if anvil ends before.
fn drain(output: PipeReader, sender: &mpsc::Sender<Result<u16, String>>) {
    let mut last_words = String::new();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(port) = line.strip_prefix("Listening on ").and_then(|a| a.rsplit(':').next()?.trim().parse().ok()) {
            // The receiver is gone if the start was given up.
            let _ = sender.send(Ok(port));
        }
        if !line.trim().is_empty() {
            last_words = line;
        }
    }
    let _ = sender.send(Err(format!("it ended: {last_words}")));
}
