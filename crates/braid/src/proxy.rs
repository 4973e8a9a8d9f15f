//! `braid proxy`: where the execution proxy is, whether it is there, and putting it there.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use alloy::network::EthereumWallet;
use alloy::providers::{DynProvider, Provider as _, ProviderBuilder};
use alloy::rpc::types::TransactionRequest;
use alloy::signers::local::PrivateKeySigner;
use alloy::transports::{RpcError, TransportError};
use braid_execution::proxy;
use braid_primitives::{Address, B256};
use clap::Subcommand;
use eyre::{Report, Result, eyre};
use indicatif::ProgressBar;

use crate::out;

/// How long a node may take to answer one question.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a transaction may take to be mined.
const MINED: Duration = Duration::from_secs(600);
/// A private key, where no file names one.
const KEY_VARIABLE: &str = "BRAID_PRIVATE_KEY";

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the proxy's address, which is the same on every chain
    Address,
    /// Compare the code at the proxy's address with the proxy's own
    Verify(NodeArgs),
    /// Deploy the proxy through the canonical CREATE2 deployer, unless it is there already
    Deploy(DeployArgs),
}

#[derive(Debug, clap::Args)]
struct NodeArgs {
    /// A node of the chain: http://, https://, ws://, wss:// or the path of an ipc socket
    #[arg(long, env = "BRAID_RPC_URL", value_name = "URL", hide_env_values = true)]
    rpc_url: String,
    /// The chain that is meant; a node of another one is refused
    #[arg(long, value_name = "ID", default_value_t = 1)]
    chain_id: u64,
}

#[derive(Debug, clap::Args)]
struct DeployArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// A file with the private key that pays for the deployment, as 64 hexadecimal digits. Without it, the key is read from the
    /// environment variable BRAID_PRIVATE_KEY
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    private_key_file: Option<PathBuf>,
    /// An account that the node itself signs for (unlocked), instead of a private key
    #[arg(long, value_name = "ADDRESS")]
    from: Option<Address>,
}

const EXAMPLES: &str = "Examples:
  braid proxy address
  braid proxy verify --rpc-url http://127.0.0.1:8545
  braid proxy deploy --rpc-url http://127.0.0.1:8545 --private-key-file key.txt
  braid proxy deploy --rpc-url http://127.0.0.1:8545 --from 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266

Whoever deploys it: the proxy has no owner, and its code and address are the same. Anyone can do it once for a chain.";

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Address => out::line(proxy::address()),
        Command::Verify(node) => wait(verify(node)),
        Command::Deploy(args) => wait(deploy(args)),
    }
}

fn wait(work: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| eyre!("the connection to the node cannot be started: {error}"))?
        .block_on(work)
}

async fn verify(args: &NodeArgs) -> Result<()> {
    let chain = Chain::connect(args, None).await?;
    match chain.proxy().await? {
        Found::Proxy => say_deployed(&chain, "is deployed"),
        Found::Nothing => {
            let address = proxy::address();
            Err(eyre!("there is nothing at {address} on chain {}: `braid proxy deploy` puts the proxy there", chain.id))
        }
        Found::Other(hash) => Err(other_code(&chain, hash)),
    }
}

async fn deploy(args: &DeployArgs) -> Result<()> {
    let payer = Payer::of(args)?;
    let chain = Chain::connect(&args.node, payer.key()).await?;
    match chain.proxy().await? {
        Found::Proxy => return say_deployed(&chain, "was deployed before; nothing was sent"),
        Found::Nothing => {}
        Found::Other(hash) => return Err(other_code(&chain, hash)),
    }
    if chain.code_hash(proxy::CREATE2_DEPLOYER).await?.is_none() {
        return Err(eyre!(
            "the canonical CREATE2 deployer is not on chain {} (nothing is at {}): it has to be put there first, by the \
             transaction without a chain id that its makers published",
            chain.id,
            proxy::CREATE2_DEPLOYER
        ));
    }
    let transaction = TransactionRequest::default()
        .from(payer.address())
        .to(proxy::CREATE2_DEPLOYER)
        .input(proxy::deployment_calldata().into());
    let pending = chain.ask(chain.provider.send_transaction(transaction)).await?;
    let spinner = ProgressBar::new_spinner().with_message(format!("waiting for {} to be mined", pending.tx_hash()));
    spinner.enable_steady_tick(Duration::from_millis(100));
    let hash = *pending.tx_hash();
    let receipt = pending.with_timeout(Some(MINED)).get_receipt().await;
    spinner.finish_and_clear();
    let receipt = receipt.map_err(|_| {
        eyre!("{hash} is sent, but not mined within {} s: ask again with `braid proxy verify`", MINED.as_secs())
    })?;
    match chain.proxy().await? {
        Found::Proxy => {
            out::line(format_args!("transaction {hash}, {} gas, paid by {}", receipt.gas_used, payer.address()))?;
            say_deployed(&chain, "is deployed")
        }
        Found::Nothing => Err(eyre!("{hash} is mined, but it left nothing at {}", proxy::address())),
        Found::Other(hash) => Err(other_code(&chain, hash)),
    }
}

fn say_deployed(chain: &Chain, what: &str) -> Result<()> {
    out::line(format_args!("{} {what} on chain {}, code hash {}", proxy::address(), chain.id, proxy::code_hash()))
}

fn other_code(chain: &Chain, got: B256) -> Report {
    let (address, expected) = (proxy::address(), proxy::code_hash());
    eyre!("the code at {address} on chain {} is not the proxy's: its hash is {got}, expected {expected}", chain.id)
}

/// Who pays for the deployment.
enum Payer {
    Key(PrivateKeySigner),
    Account(Address),
}

impl Payer {
    fn of(args: &DeployArgs) -> Result<Self> {
        if let Some(account) = args.from {
            return Ok(Self::Account(account));
        }
        let (text, place) = match &args.private_key_file {
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| eyre!("the private key cannot be read from {}: {error}", file.display()))?;
                (text, file.display().to_string())
            }
            None => match std::env::var(KEY_VARIABLE) {
                Ok(text) => (text, KEY_VARIABLE.to_owned()),
                Err(_) => {
                    return Err(eyre!(
                        "nobody is named to pay: --private-key-file FILE, {KEY_VARIABLE} in the environment, or --from ADDRESS \
                         for an account that the node signs for"
                    ));
                }
            },
        };
        // what was read is not repeated: it may be a key with a typing error
        let key = text.trim().parse().map_err(|_| eyre!("{place} holds no private key: 64 hexadecimal digits are"))?;
        Ok(Self::Key(key))
    }

    fn key(&self) -> Option<PrivateKeySigner> {
        match self {
            Self::Key(key) => Some(key.clone()),
            Self::Account(_) => None,
        }
    }

    fn address(&self) -> Address {
        match self {
            Self::Key(key) => key.address(),
            Self::Account(account) => *account,
        }
    }
}

/// What stands at the proxy's address.
enum Found {
    Proxy,
    Nothing,
    Other(B256),
}

/// A node of the chain that is meant.
struct Chain {
    provider: DynProvider,
    id: u64,
    /// The node's address without what may be secret in it.
    host: String,
}

impl Chain {
    async fn connect(args: &NodeArgs, key: Option<PrivateKeySigner>) -> Result<Self> {
        let host = host_of(&args.rpc_url);
        let url = args.rpc_url.as_str();
        let connected = match key {
            Some(key) => {
                let builder = ProviderBuilder::new().wallet(EthereumWallet::from(key));
                answer(&host, builder.connect(url)).await?.erased()
            }
            None => answer(&host, ProviderBuilder::new().connect(url)).await?.erased(),
        };
        let mut chain = Self { provider: connected, id: args.chain_id, host };
        let got = chain.ask(async { chain.provider.get_chain_id().await }).await?;
        if got != args.chain_id {
            return Err(eyre!(
                "the node at {} is on chain {got}, not {}: name a node of that chain, or say --chain-id {got} if this one is meant",
                chain.host,
                args.chain_id
            ));
        }
        chain.id = got;
        Ok(chain)
    }

    async fn ask<T>(&self, question: impl Future<Output = Result<T, TransportError>>) -> Result<T> {
        answer(&self.host, question).await
    }

    /// `None` where there is no code.
    async fn code_hash(&self, address: Address) -> Result<Option<B256>> {
        let code = self.ask(async { self.provider.get_code_at(address).await }).await?;
        Ok((!code.is_empty()).then(|| alloy::primitives::keccak256(code)))
    }

    async fn proxy(&self) -> Result<Found> {
        Ok(match self.code_hash(proxy::address()).await? {
            None => Found::Nothing,
            Some(hash) if hash == proxy::code_hash() => Found::Proxy,
            Some(hash) => Found::Other(hash),
        })
    }
}

/// The node's answer, or one sentence that says why there is none.
async fn answer<T>(host: &impl fmt::Display, question: impl Future<Output = Result<T, TransportError>>) -> Result<T> {
    let answered = tokio::time::timeout(ANSWER, question).await;
    let answered = answered.map_err(|_| eyre!("the node at {host} gave no answer within {} s", ANSWER.as_secs()))?;
    answered.map_err(|error| match error {
        RpcError::ErrorResp(refusal) => eyre!("the node at {host} refused: {}", refusal.message),
        // the error's own words may hold the whole address, with a key in it
        RpcError::Transport(_) => eyre!("cannot reach the node at {host}"),
        _ => eyre!("the node at {host} gave an answer that cannot be read"),
    })
}

/// Scheme, host and port of an address; the path of a socket.
fn host_of(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(parsed) if parsed.has_host() => {
            let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}", parsed.scheme(), parsed.host_str().unwrap_or_default())
        }
        _ => url.to_owned(),
    }
}
