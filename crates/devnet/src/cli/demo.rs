//! The command `braid-devnet demo`: the chain and the service on one machine, in the foreground.

use std::path::PathBuf;

use braid_devnet::{
    Devnet, DevnetError,
    accounts::{TAKER, TAKER_KEY},
    tokens::by_symbol,
};
use eyre::{WrapErr, bail};

use super::{chain, ending::Ending, say, service};

/// The arguments of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    chain: chain::ChainArgs,
    /// Port of the API on 127.0.0.1
    #[arg(long, env = "BRAID_PORT", default_value_t = 8080)]
    port: u16,
    /// The API key that the service accepts
    #[arg(long, default_value = "demo-key")]
    api_key: String,
    /// The `braid` binary; by default the one beside this program
    #[arg(long)]
    braid: Option<PathBuf>,
    /// Folder for the service's log
    #[arg(long, default_value = ".demo")]
    logs: PathBuf,
    /// End when the process that started this one ends or receives a signal to end
    #[arg(long)]
    end_with_parent: bool,
}

pub(crate) async fn run(args: Args) -> eyre::Result<()> {
    let mut ending = Ending::new(args.end_with_parent)?;
    let mut stage = tokio::select! {
        stage = Stage::set(&args) => stage?,
        () = ending.wait() => return Ok(()),
    };
    say(welcome(&stage, &args));
    tokio::select! {
        () = ending.wait() => say("Stopping."),
        error = stage.service.ended() => return Err(error),
        () = node_ended(&mut stage.chain) => bail!("the local node ended by itself"),
    }
    Ok(())
}

/// The running processes. Fields are dropped in their order: first the service, then the node that it follows.
struct Stage {
    service: service::Service,
    chain: Devnet,
}

impl Stage {
    async fn set(args: &Args) -> eyre::Result<Self> {
        let braid = braid_binary(args)?;
        service::check_port(args.port)?;
        let chain = args.chain.start().await.map_err(name_the_variable)?;
        say(format!("The chain runs: {} and {}", chain.http_url(), chain.ws_url()));
        let log = args.logs.join(format!("braid-{}.log", args.port));
        let mut service = service::Service::start(&braid, args.port, &chain.ws_url(), &args.api_key, log)?;
        service.ready().await?;
        Ok(Self { service, chain })
    }
}

/// Adds to the error of a taken node port the name of the variable that sets the port.
fn name_the_variable(report: eyre::Report) -> eyre::Report {
    match report.downcast_ref::<DevnetError>() {
        Some(DevnetError::PortInUse { port }) => eyre::eyre!(
            "port {port} of 127.0.0.1 is in use: stop what listens there, or set DEMO_NODE_PORT to another port"
        ),
        _ => report,
    }
}

fn braid_binary(args: &Args) -> eyre::Result<PathBuf> {
    let path = match &args.braid {
        Some(path) => path.clone(),
        None => std::env::current_exe().wrap_err("cannot tell where this program is")?.with_file_name("braid"),
    };
    if !path.is_file() {
        bail!("{} is missing: run `cargo build -p braid`, or start with `make demo`", path.display());
    }
    Ok(path)
}

async fn node_ended(chain: &mut Devnet) {
    while !chain.has_ended() {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

fn welcome(stage: &Stage, args: &Args) -> String {
    let (url, key) = (stage.service.url(), &args.api_key);
    let (usdc, weth) = (by_symbol("USDC").address, by_symbol("WETH").address);
    let request = format!(
        r#"{{"inputs": [{{"chain_id": 1, "address": "{usdc}", "amount": "1000000000"}}], "outputs": [{{"chain_id": 1, "address": "{weth}", "ratio_bps": 10000}}], "taker": "{TAKER}"}}"#
    );
    let headers = format!("-H 'Content-Type: application/json' -H 'X-API-Key: {key}'");
    let quote = format!("curl -s {url}/v1/quote {headers} -d '{request}'");
    let quote_id = format!(r#"$({quote} | sed 's/.*"quote_id": *"\([^"]*\)".*/\1/')"#);
    let proxy = stage.chain.proxy().map_or_else(|| "not deployed".to_owned(), |p| p.to_string());
    format!(
        r#"
Braid is ready: {url}

  API key    {key}
  node       {http} and {ws}, chain id 1, a block every {block_time} s
  taker      {TAKER} (unlocked, holds ether and every token)
  its key    {TAKER_KEY} (public: never send it anything of value)
  proxy      {proxy}
  log        {log}

A quote for 1,000 USDC in ether:

{quote}

A transaction from a fresh quote:

curl -s {url}/v1/build {headers} -d "{{\"quote_id\": \"{quote_id}\"}}"

Health and readiness:

curl -s {url}/health
curl -s {url}/ready

A whole swap, in a second terminal: make demo-swap
Ctrl-C ends everything."#,
        http = stage.chain.http_url(),
        ws = stage.chain.ws_url(),
        block_time = args.chain.block_time,
        log = args.logs.join(format!("braid-{}.log", args.port)).display(),
    )
}
