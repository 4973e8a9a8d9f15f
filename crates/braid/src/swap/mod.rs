//! `braid swap`: quotes, approves, simulates and sends a swap with a local key.
//!
//! Nothing that is signed is taken from the service unchecked: this verifies the quote's receipt, compares its order with
//! the arguments, and encodes approvals and transaction from that order.

mod ask;
mod confirm;
mod contracts;
mod order;
mod quote;
mod send;

use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use braid_execution::{Permit, calldata, calldata_with_permit2, permit2, proxy};
use braid_primitives::{Address, Bytes};
use eyre::{Report, Result, eyre};
use serde_json::{Value, json};

use crate::address;
use crate::api::{Api, ApiArgs};
use crate::chain::{self, Chain, ProxyCode};
use crate::exit::{Exit, Failed};
use crate::key::KeyArgs;
use crate::local::Local;
use crate::nodes::OneNode;
use crate::out;
use crate::quote::words;
use crate::rules::FloorArgs;
use crate::tokens::Sides;
use quote::Quote;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples, with the node in BRAID_RPC_URL:
  braid swap 1.5 ETH USDC --key-file key.txt           (shows what would happen)
  braid swap 1.5 ETH USDC --key-file key.txt --send    (does it)
  braid swap ETH 3000 USDC --key-file key.txt          (buys 3,000 USDC with ETH)
  braid swap 1000 USDC WETH:60 WBTC:40 --key-file keystore.json --permit2 --send    (a basket)
  braid swap 1.5 ETH USDC --key-file key.txt --api http://127.0.0.1:8080 --send     (by a service)

Nothing is signed or sent without --send. With --api a running service finds the route; without it the market is read from the node first:
on mainnet only the pools that this version lists, about 400.
Ends with 7 where the transaction would revert, or did.")]
pub(crate) struct Args {
    /// What to sell, each as AMOUNT TOKEN, then what to get, each as TOKEN or TOKEN:SHARE. Tokens by symbol or address.
    /// Or TOKEN AMOUNT TOKEN: what pays, and how much of what to buy
    #[arg(value_name = "AMOUNT TOKEN", required = true, allow_negative_numbers = true)]
    words: Vec<String>,
    #[command(flatten)]
    node: OneNode,
    /// Sign and send. Without it nothing is
    #[arg(long)]
    send: bool,
    /// Sign a Permit2 message instead of approving the proxy. Permit2 itself is approved once, without a limit
    #[arg(long)]
    permit2: bool,
    /// Largest acceptable slippage, in basis points
    #[arg(long, value_name = "BPS", default_value_t = 50, value_parser = clap::value_parser!(u16).range(..=5_000))]
    slippage_bps: u16,
    /// Largest price impact to send at without a question, in basis points: 2500 is 25%. Without it, an impact of 10% or
    /// more, or an unknown one, is asked about on the terminal, and refused where there is none
    #[arg(long, value_name = "BPS", value_parser = clap::value_parser!(u16).range(..=10_000))]
    accept_impact_bps: Option<u16>,
    /// Who receives what is bought. By default the key's account
    #[arg(long, value_name = "ADDRESS", value_parser = address::parse)]
    recipient: Option<Address>,
    /// Seconds that the quote and its order are good for
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(10..=900))]
    ttl_s: Option<u16>,
    /// How fast to be included: slow, standard, fast or urgent
    #[arg(long, value_name = "TIER", default_value = "standard", value_parser = ["slow", "standard", "fast", "urgent"])]
    gas_priority: String,
    #[command(flatten)]
    api: ApiArgs,
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    floor: FloorArgs,
}

/// `braid swap`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let asked = words::parse(&args.words)?;
    let (url, key) = (args.node.url()?, args.key.read()?);
    out::go_on_without_reader();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let work = async {
        let chain = Chain::connect(&url, Some(key.clone())).await?.expect(1, |_| String::new())?;
        if let Some(api) = Api::of(&args.api)? {
            return swap(args, &asked, &key, &chain, &api).await;
        }
        let local = Local::start(&url, args.floor).await?;
        swap(args, &asked, &key, &chain, &local.api).await
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = work => done,
            // drop the work, which removes its files
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
        }
    });
    // do not wait for an answer on the terminal
    runtime.shutdown_background();
    done
}

fn interrupted() -> Report {
    let text = if chain::has_sent() {
        "interrupted: the transactions named above were sent and may still be mined; look them up before anything is sent again"
    } else {
        "interrupted: nothing was sent"
    };
    Failed::new(Exit::Interrupted, text).into()
}

async fn swap(args: &Args, asked: &words::Asked, key: &PrivateKeySigner, chain: &Chain, api: &Api) -> Result<()> {
    let sides = Sides::of(api, asked).await?;
    contracts::check(chain, &sides).await?;
    for (word, tokens) in [("sells", &sides.inputs), ("buys", &sides.outputs)] {
        for token in tokens {
            out::line(format_args!("{word:<12} {} {}", token.symbol, token.address.to_checksum(None)))?;
            token.note().iter().for_each(out::note);
        }
    }
    let quote = ask::quote(args, sides, key.address(), api).await?;
    quote.print(args.api.url.is_none())?;
    let approvals = send::approvals(&quote, args.permit2)?;
    for approval in &approvals {
        out::line(format_args!("approval     {}", approval.words))?;
    }
    let is_simulated = quote.check_simulation()?;
    if !args.send {
        confirm::tell(&quote.impact(), args.accept_impact_bps)?;
        return out::line("Nothing was signed or sent: --send does it.");
    }
    if !is_simulated {
        return Err(not_simulated(args));
    }
    let (impact, accepted_bps) = (quote.impact(), args.accept_impact_bps);
    tokio::task::spawn_blocking(move || confirm::impact(&impact, accepted_bps, confirm::of_terminal)).await??;
    match chain.proxy().await? {
        ProxyCode::Proxy => {}
        ProxyCode::None => return Err(eyre!("the proxy is not on this chain: `braid proxy deploy` puts it there")),
        ProxyCode::Other(_) => return Err(eyre!("other code is at the proxy's address: nothing was signed")),
    }
    for approval in approvals {
        send::approve(chain, api, key.address(), approval).await?;
    }
    let transaction = built(args, &quote, key, api).await?;
    send::swap(chain, &quote, transaction).await
}

/// Returns the failure of a swap without a simulation. The build would have none either: approvals would be sent for nothing.
fn not_simulated(args: &Args) -> Report {
    let advice = match args.api.url {
        Some(_) => "use a service with a node, or leave out --api",
        None => "try again",
    };
    let text = format!("the swap cannot be simulated, so nothing was signed or sent: {advice}");
    Failed::new(Exit::Unreachable, text).into()
}

/// Requests a quote's transaction from the service, and compares it with the one encoded here from its order.
async fn built(args: &Args, quote: &Quote, key: &PrivateKeySigner, api: &Api) -> Result<Value> {
    let signature = match quote.plan.order.erc20_inputs().next() {
        Some(_) if args.permit2 => Some(signed(quote, key)?),
        _ => None,
    };
    let body = json!({"quote_id": quote.id, "permit2_signature": signature, "simulate": true});
    let built = api.post("/v1/build", &body).await?;
    let simulation = &built["simulation"];
    if simulation["status"] != "success" {
        let why = simulation["revert"]["message"].as_str().unwrap_or("the simulation is unavailable");
        return Err(Failed::new(
            Exit::Reverted,
            format!("the swap was not sent, since it would not go through: {why}"),
        )
        .into());
    }
    out::line(format_args!("simulation   {}, {} gas", out::good("goes through"), simulation["gas_used"]))?;
    let transaction = built["rpc_transaction"].clone();
    let mut order = quote.plan.order.clone();
    order.deadline = built["deadline"].as_u64().unwrap_or_default();
    let data = match &signature {
        Some(signature) => calldata_with_permit2(&order, &quote.plan.program, &quote.plan.permit, signature),
        None => calldata(&order, &quote.plan.program),
    };
    let field = |name: &str| transaction[name].as_str().unwrap_or_default().to_ascii_lowercase();
    let same = field("to") == format!("{:#x}", proxy::address())
        && field("from") == format!("{:#x}", key.address())
        && field("value") == format!("{:#x}", order.value_wei())
        && field("chainId") == "0x1"
        && field("data") == data.to_string();
    if same {
        Ok(transaction)
    } else {
        Err(eyre!("the service built another transaction than the quote's order comes to: it was not sent"))
    }
}

/// Signs the quote's Permit2 message, encoded here from its order.
fn signed(quote: &Quote, key: &PrivateKeySigner) -> Result<Bytes> {
    let (order, program, permit) = (&quote.plan.order, &quote.plan.program, &quote.plan.permit);
    let expected = Permit { owner: key.address(), sender: key.address(), ..*permit };
    if *permit != expected || permit.deadline != order.deadline {
        return Err(eyre!("the service's Permit2 message is not for this account: nothing was signed"));
    }
    let message =
        permit2::typed_data(order, program.sent(), permit).ok_or_else(|| eyre!("there is nothing to sign"))?;
    Ok(key.sign_hash_sync(&message.hash)?.as_bytes().into())
}
