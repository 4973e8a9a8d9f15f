//! The command `braid-devnet swap`: one swap that uses only the public API and a node's JSON-RPC, and is checked to the
//! wei.

use alloy::primitives::{
    Address, Bytes, U256, address,
    utils::{ParseUnits, format_units, parse_units},
};
use braid_devnet::{accounts::TAKER_KEY, rpc::Rpc, tokens};
use eyre::{WrapErr, bail, eyre};
use serde_json::{Value, json};

use super::{
    say,
    wallet::{Receipt, Unsigned, Wallet},
};

/// The address by which the API names native ether.
const ETHER: Address = address!("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");

/// The arguments of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Token to sell: a symbol of the demo's chain, its address, or ETH
    #[arg(long, env = "SWAP_FROM", default_value = "USDC")]
    from: String,
    /// Token to buy
    #[arg(long, env = "SWAP_TO", default_value = "WETH")]
    to: String,
    /// How much to sell, in whole tokens
    #[arg(long, env = "SWAP_AMOUNT", default_value = "10000")]
    amount: String,
    /// Use only these, separated by commas: families or products of `GET /v1/protocols`; wrapping of ether is always
    /// allowed
    #[arg(long = "protocol", env = "SWAP_PROTOCOL", value_delimiter = ',')]
    protocols: Vec<String>,
    /// The API; by default on 127.0.0.1, at the port that `BRAID_PORT` names or 8080
    #[arg(long, env = "BRAID_API")]
    api: Option<String>,
    /// The node; by default on 127.0.0.1, at the port that `DEMO_NODE_PORT` names or 8545
    #[arg(long, env = "BRAID_RPC")]
    rpc: Option<String>,
    /// The API key
    #[arg(long, env = "BRAID_KEY", default_value = "demo-key")]
    api_key: String,
}

/// A token, or ether.
#[derive(Clone)]
struct Asset {
    symbol: String,
    address: Address,
    decimals: u8,
}

impl Asset {
    /// Returns by how much a balance may differ from the expected one, in atomic units. stETH moves whole shares, so
    /// that its balances can differ by 2 wei.
    fn crumbs(&self) -> U256 {
        if self.symbol == "stETH" { U256::from(2) } else { U256::ZERO }
    }
}

/// Seconds from one block of mainnet to the next.
const SLOT_SECONDS: u64 = 12;

pub(crate) async fn run(args: Args) -> eyre::Result<()> {
    let (sold, bought) = (asset(&args.from)?, asset(&args.to)?);
    let amount = atomic(&args.amount, &sold)?;
    let api = Api::new(&args);
    let rpc = Rpc::new(&args.rpc.unwrap_or_else(|| local("DEMO_NODE_PORT", "8545")))?;
    let wallet = Wallet::new(&rpc, TAKER_KEY)?;

    api.catch_up(&rpc).await?;
    let quote = api.quote((&sold, amount), &bought, wallet.address(), &args.protocols).await?;
    let quoted = integer(&quote, "/estimated_outputs/0/expected_amount")?;
    describe_route(&quote);
    approve(&wallet, &quote).await?;
    let build = api.build(text(&quote, "/quote_id")?).await?;
    let transaction = unsigned(build.pointer("/transaction").unwrap_or(&Value::Null))?;

    let before = (balance(&rpc, &sold, &wallet).await?, balance(&rpc, &bought, &wallet).await?);
    keep_time(&rpc, &quote).await?;
    let receipt = wallet.send("swap", transaction).await?;
    let after = (balance(&rpc, &sold, &wallet).await?, balance(&rpc, &bought, &wallet).await?);
    say(format!("mined in block {}, {} gas: {}", receipt.block_number, receipt.gas_used, receipt.transaction_hash));

    let spent =
        before.0.checked_sub(after.0 + fee(&sold, &receipt)).ok_or_else(|| eyre!("more came back than was sold"))?;
    let received = (after.1 + fee(&bought, &receipt))
        .checked_sub(before.1)
        .ok_or_else(|| eyre!("the balance of {} fell", bought.symbol))?;
    // Wait until the service has read the swap's block, so that whoever asks next is quoted on the market after it.
    api.catch_up(&rpc).await?;
    report(&sold, &bought, (amount, spent), (quoted, received))
}

/// Makes the node mine the next block at the timestamp that the quote is for. Mainnet's next block comes twelve seconds
/// after the last one. The demo's comes sooner, and then tokens that earn interest by the second would be worth a
/// little less. Does nothing if that time has already passed.
async fn keep_time(rpc: &Rpc, quote: &Value) -> eyre::Result<()> {
    let Some(block) = quote.pointer("/block/timestamp").and_then(Value::as_u64) else { return Ok(()) };
    let second = block.saturating_add(SLOT_SECONDS);
    if rpc.head_timestamp().await? < second {
        rpc.call("evm_setNextBlockTimestamp", json!([U256::from(second)])).await?;
    }
    Ok(())
}

fn report(
    sold: &Asset,
    bought: &Asset,
    (amount, spent): (U256, U256),
    (quoted, received): (U256, U256),
) -> eyre::Result<()> {
    let row = |asked: U256, done: U256, asset: &Asset| {
        let whole = |x: U256| format_units(x, asset.decimals).unwrap_or_else(|_| x.to_string());
        format!("{:>38} {:>38}  {}", whole(asked), whole(done), asset.symbol)
    };
    say(format!("\n          {:>38} {:>38}", "quoted", "on chain"));
    say(format!("sold      {}", row(amount, spent, sold)));
    say(format!("received  {}", row(quoted, received, bought)));
    if amount == spent && quoted == received {
        say("\nEqual to the wei.");
        return Ok(());
    }
    let moved = |asset: &Asset, one: U256, other: U256| one.abs_diff(other) <= asset.crumbs();
    if spent <= amount && moved(sold, amount, spent) && quoted <= received && moved(bought, quoted, received) {
        say("\nEqual to the wei, but for what stETH rounds to whole shares.");
        return Ok(());
    }
    bail!(
        "not equal: sold {spent} of {amount}, received {received} of {quoted} (difference {})",
        if received > quoted { format!("+{}", received - quoted) } else { format!("-{}", quoted - received) }
    )
}

/// Returns the gas fee that was paid in the asset itself, in wei: all of it for ether, zero for a token.
fn fee(asset: &Asset, receipt: &Receipt) -> U256 {
    if asset.address == ETHER { receipt.fee_wei() } else { U256::ZERO }
}

fn asset(name: &str) -> eyre::Result<Asset> {
    if name.eq_ignore_ascii_case("ETH") || name.parse() == Ok(ETHER) {
        return Ok(Asset { symbol: "ETH".into(), address: ETHER, decimals: 18 });
    }
    let token = tokens::find(name)?;
    Ok(Asset { symbol: token.symbol.into(), address: token.address, decimals: token.decimals })
}

fn atomic(amount: &str, asset: &Asset) -> eyre::Result<U256> {
    let digits = amount.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    match parse_units(amount, asset.decimals) {
        Ok(ParseUnits::U256(units)) if !units.is_zero() && digits <= usize::from(asset.decimals) => Ok(units),
        _ => bail!(
            "{amount} is no amount of {}: a number above zero with at most {} decimals",
            asset.symbol,
            asset.decimals
        ),
    }
}

/// Returns the value of `include_protocols`: the given names and the wrapping of ether, which ether needs to reach
/// pools of WETH. `None` if no name is given.
fn included(protocols: &[String]) -> Option<Vec<&str>> {
    let named: Vec<&str> = protocols.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    (!named.is_empty()).then(|| named.into_iter().chain(["wrapped_ether"]).collect())
}

fn local(variable: &str, usual: &str) -> String {
    format!("http://127.0.0.1:{}", std::env::var(variable).unwrap_or_else(|_| usual.to_owned()))
}

async fn balance(rpc: &Rpc, asset: &Asset, wallet: &Wallet<'_>) -> eyre::Result<U256> {
    if asset.address == ETHER {
        return Ok(rpc.get("eth_getBalance", json!([wallet.address(), "latest"])).await?);
    }
    let mut data = vec![0x70, 0xa0, 0x82, 0x31]; // balanceOf(address)
    data.extend_from_slice(wallet.address().into_word().as_slice());
    let call = json!({"to": asset.address, "data": Bytes::from(data)});
    let word: Bytes = rpc.get("eth_call", json!([call, "latest"])).await?;
    U256::try_from_be_slice(&word).ok_or_else(|| eyre!("{} has no balance", asset.symbol))
}

fn describe_route(quote: &Value) {
    let steps = quote.pointer("/path/steps").and_then(Value::as_array).cloned().unwrap_or_default();
    say(format!("quote {}: {} step(s)", quote["quote_id"].as_str().unwrap_or("?"), steps.len()));
    let field = |step: &Value, name: &str| step[name].as_str().unwrap_or("?").to_owned();
    for warning in quote["warnings"].as_array().into_iter().flatten() {
        say(format!("  warning: {}", field(warning, "message")));
    }
    for step in &steps {
        let (tokens, pool) = ((field(step, "token_in"), field(step, "token_out")), field(step, "pool"));
        let symbol = |name: &str| asset(name).map_or_else(|_| name.to_owned(), |asset| asset.symbol);
        let pair = format!("{} → {}", symbol(&tokens.0), symbol(&tokens.1));
        say(format!("  {:>4} {:<12} {pair:<16} {pool}", field(step, "id"), field(step, "protocol")));
    }
}

async fn approve(wallet: &Wallet<'_>, quote: &Value) -> eyre::Result<()> {
    for approval in quote.pointer("/approvals").and_then(Value::as_array).into_iter().flatten() {
        if approval["satisfied"] == Value::Bool(true) {
            say("the allowance is large enough");
            continue;
        }
        for transaction in approval["transactions"].as_array().into_iter().flatten() {
            let receipt = wallet.send("approval", unsigned(transaction)?).await?;
            say(format!("approved in block {}: {}", receipt.block_number, receipt.transaction_hash));
        }
    }
    Ok(())
}

/// Reads a transaction of the API. Its `value` is decimal in an approval and hexadecimal in a build.
fn unsigned(transaction: &Value) -> eyre::Result<Unsigned> {
    let value = text(transaction, "/value")?;
    let fees = (transaction["max_fee_per_gas"].as_u64(), transaction["max_priority_fee_per_gas"].as_u64());
    Ok(Unsigned {
        to: text(transaction, "/to")?.parse()?,
        data: text(transaction, "/data")?.parse()?,
        value_wei: value.parse().wrap_err_with(|| format!("`value` is {value}"))?,
        gas_units: transaction["gas"].as_u64(),
        fees_wei: fees.0.zip(fees.1).map(|(fee, tip)| (fee.into(), tip.into())),
    })
}

fn text<'a>(value: &'a Value, pointer: &str) -> eyre::Result<&'a str> {
    value.pointer(pointer).and_then(Value::as_str).ok_or_else(|| eyre!("the answer has no text at {pointer}"))
}

fn integer(value: &Value, pointer: &str) -> eyre::Result<U256> {
    let text = text(value, pointer)?;
    U256::from_str_radix(text, 10).wrap_err_with(|| format!("{pointer} is {text}"))
}

/// A client of the service's HTTP API.
struct Api {
    client: reqwest::Client,
    url: String,
    key: String,
}

impl Api {
    fn new(args: &Args) -> Self {
        let url = args.api.clone().unwrap_or_else(|| local("BRAID_PORT", "8080"));
        Self { client: reqwest::Client::new(), url, key: args.api_key.clone() }
    }

    /// Waits until the service's market is at the node's head. If it lagged by a block with a trade, its quote would be
    /// out of date.
    async fn catch_up(&self, rpc: &Rpc) -> eyre::Result<()> {
        let mut market_block = self.market_block().await?;
        let head: U256 = rpc.get("eth_blockNumber", json!([])).await?;
        for _ in 0..100 {
            if market_block.is_some_and(|number| U256::from(number) >= head) {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            market_block = self.market_block().await?;
        }
        bail!("the service's market does not get to block {head}, the node's head")
    }

    async fn market_block(&self) -> eyre::Result<Option<u64>> {
        let ready = self.client.get(format!("{}/ready", self.url)).send().await;
        let ready = ready.wrap_err_with(|| format!("{} does not answer: start it with `make demo`", self.url))?;
        let body: Value = ready.json().await.wrap_err("/ready did not answer with JSON")?;
        Ok(body.pointer("/block/number").and_then(Value::as_u64))
    }

    async fn quote(
        &self,
        (sold, amount): (&Asset, U256),
        bought: &Asset,
        taker: Address,
        protocols: &[String],
    ) -> eyre::Result<Value> {
        let mut request = json!({
            "inputs": [{"chain_id": 1, "address": sold.address, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": bought.address, "ratio_bps": 10_000}],
            "taker": taker,
        });
        if let Some(names) = included(protocols) {
            request["include_protocols"] = json!(names);
        }
        self.post("/v1/quote", &request).await
    }

    async fn build(&self, quote_id: &str) -> eyre::Result<Value> {
        self.post("/v1/build", &json!({"quote_id": quote_id})).await
    }

    async fn post(&self, path: &str, body: &Value) -> eyre::Result<Value> {
        let url = format!("{}{path}", self.url);
        let answer = self.client.post(&url).header("X-API-Key", &self.key).json(body).send().await;
        let answer = answer.wrap_err_with(|| format!("{} does not answer: start it with `make demo`", self.url))?;
        let status = answer.status();
        let body: Value = answer.json().await.wrap_err_with(|| format!("{path} did not answer with JSON"))?;
        if !status.is_success() {
            bail!("{path} answered {status}: {}", body["detail"].as_str().unwrap_or("no detail"));
        }
        Ok(body.get("data").cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::included;

    #[test]
    fn protocols_are_included_with_wrapping_and_none_means_all() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(included(&names(&[])), None);
        assert_eq!(included(&names(&["", " "])), None, "an empty SWAP_PROTOCOL is none");
        assert_eq!(included(&names(&["lido", " curve "])), Some(vec!["lido", "curve", "wrapped_ether"]));
    }
}
