//! `braid proxy`: prints the execution proxy's address, verifies its code, and deploys it.

use std::future::Future;
use std::path::PathBuf;

use alloy::rpc::types::TransactionRequest;
use alloy::signers::local::PrivateKeySigner;
use braid_execution::proxy;
use braid_primitives::{Address, B256};
use clap::Subcommand;
use eyre::{Report, Result, eyre};

use crate::chain::{Chain, ProxyCode};
use crate::nodes::OneNode;
use crate::{key, out};

#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the proxy's address
    Address,
    /// Compare the code at the proxy's address with the proxy's own
    Verify(ChainArgs),
    /// Deploy the proxy through the canonical CREATE2 deployer, unless it is there already
    Deploy(DeployArgs),
}

#[derive(Debug, clap::Args)]
struct ChainArgs {
    #[command(flatten)]
    node: OneNode,
    /// The chain that is meant; a node of another one is refused
    #[arg(long, value_name = "ID", default_value_t = 1)]
    chain_id: u64,
}

impl ChainArgs {
    /// Connects to the node, which must be of the chain.
    async fn connect(&self, key: Option<PrivateKeySigner>) -> Result<Chain> {
        let chain = Chain::connect(&self.node.url()?, key).await?;
        chain.expect(self.chain_id, |got| format!(", or say --chain-id {got} if this one is meant"))
    }
}

#[derive(Debug, clap::Args)]
struct DeployArgs {
    #[command(flatten)]
    chain: ChainArgs,
    /// A file with the private key that pays for the deployment, as 64 hexadecimal digits. Without it, the key is read
    /// from the environment variable BRAID_PRIVATE_KEY
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    private_key_file: Option<PathBuf>,
    /// An account that the node itself signs for (unlocked), instead of a private key
    #[arg(long, value_name = "ADDRESS", value_parser = crate::address::parse)]
    from: Option<Address>,
}

const EXAMPLES: &str = "Examples:
  braid proxy address
  braid proxy verify --rpc-url http://127.0.0.1:8545
  braid proxy deploy --rpc-url http://127.0.0.1:8545 --private-key-file key.txt
  braid proxy deploy --rpc-url http://127.0.0.1:8545 --from 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266

Whoever deploys it: the proxy has no owner, and its code and address are the same. Anyone can do it, once. It works where the
chain id is 1, on mainnet or a copy of it: elsewhere it refuses every call.";

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Address => out::line(proxy::address()),
        Command::Verify(args) => wait(verify(args)),
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

async fn verify(args: &ChainArgs) -> Result<()> {
    let chain = args.connect(None).await?;
    match chain.proxy().await? {
        ProxyCode::Proxy => say_deployed(&chain, "is deployed"),
        ProxyCode::None => {
            let address = proxy::address();
            Err(eyre!("there is nothing at {address} on chain {}: `braid proxy deploy` puts the proxy there", chain.id))
        }
        ProxyCode::Other(hash) => Err(other_code(&chain, hash)),
    }
}

async fn deploy(args: &DeployArgs) -> Result<()> {
    let payer = Payer::of(args)?;
    out::go_on_without_reader();
    let chain = args.chain.connect(payer.key()).await?;
    match chain.proxy().await? {
        ProxyCode::Proxy => return say_deployed(&chain, "was deployed before; nothing was sent"),
        ProxyCode::None => {}
        ProxyCode::Other(hash) => return Err(other_code(&chain, hash)),
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
    let receipt = chain.send(transaction).await?;
    let hash = receipt.transaction_hash;
    match chain.proxy().await? {
        ProxyCode::Proxy => {
            out::line(format_args!("transaction {hash}, {} gas, paid by {}", receipt.gas_used, payer.address()))?;
            say_deployed(&chain, "is deployed")
        }
        ProxyCode::None => Err(eyre!("{hash} is mined, but it left nothing at {}", proxy::address())),
        ProxyCode::Other(hash) => Err(other_code(&chain, hash)),
    }
}

fn say_deployed(chain: &Chain, what: &str) -> Result<()> {
    out::line(format_args!("{} {what} on chain {}, code hash {}", proxy::address(), chain.id, proxy::code_hash()))
}

fn other_code(chain: &Chain, got: B256) -> Report {
    let (address, expected) = (proxy::address(), proxy::code_hash());
    eyre!("the code at {address} on chain {} is not the proxy's: its hash is {got}, expected {expected}", chain.id)
}

/// Account that pays for the deployment.
enum Payer {
    Key(PrivateKeySigner),
    Account(Address),
}

impl Payer {
    fn of(args: &DeployArgs) -> Result<Self> {
        if let Some(account) = args.from {
            return Ok(Self::Account(account));
        }
        let key = args.private_key_file.as_deref().map_or_else(key::from_variable, |file| key::of_file(file, None))?;
        let key = key.ok_or_else(|| {
            crate::exit::usage(format!(
                "name who pays: --private-key-file FILE, {} in the environment, or --from ADDRESS for an account that the node signs for",
                key::VARIABLE
            ))
        })?;
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
