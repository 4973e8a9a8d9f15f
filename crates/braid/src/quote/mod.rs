//! `braid quote`: computes one quote locally, and prints it as text or JSON.

mod json;
mod print;
pub(crate) mod tree;
pub(crate) mod words;

use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{PoolId, Token, TokenId, U256};
use braid_quoting::prices::{Impacts, impacts};
use braid_routing::purchase::{Bought, Purchase, buy};
use braid_routing::{PoolFilter, Prepared, Request, Solution, SolveError, solve};
use braid_server::Config;
use eyre::Result;

use crate::exit::{Exit, Failed, usage};
use crate::impact::Impact;
use crate::out;
use crate::source::{Source, find, plain};
use crate::units::{amount_of, format_units, parse_gwei};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid quote --market now.market 1.5 ETH USDC                   (sells 1.5 ETH)
  braid quote --market now.market ETH 3000 USDC                  (buys 3,000 USDC with ETH)
  braid quote --market now.market 1.5 ETH 2000 DAI USDC:60 WBTC:40    (a basket: shares in per cent)
  braid quote --rpc-url http://127.0.0.1:8545 1.5 ETH USDC       (reads it from a node first)
  braid quote --market now.market --json 1000 USDC WETH

On mainnet --rpc-url reads only the pools that this version lists, about 400. `braid market save --data DIR FILE` writes the market of a
stopped service, or of `braid sync`, with all.")]
pub(crate) struct Args {
    /// What to sell, each as AMOUNT TOKEN, then what to get, each as TOKEN or TOKEN:SHARE. Tokens by symbol or address.
    /// Or TOKEN AMOUNT TOKEN: what pays, and how much of what to buy
    #[arg(
        value_name = "AMOUNT TOKEN",
        conflicts_with = "sell",
        required_unless_present = "sell",
        allow_negative_numbers = true
    )]
    words: Vec<String>,
    /// What to sell: symbol or address, and how many whole tokens, unless --buy says how many
    #[arg(long, value_name = "TOKEN[:AMOUNT]", requires = "buy")]
    sell: Option<String>,
    /// What to buy: symbol or address, and how many whole tokens, unless --sell says how many
    #[arg(long, value_name = "TOKEN[:AMOUNT]", requires = "sell")]
    buy: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Maximum number of pools on a path
    #[arg(long, value_name = "STEPS", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_HOPS)))]
    max_hops: u8,
    /// What a unit of gas costs, in gwei, with up to nine decimals. By default the next block's base fee
    #[arg(long = "gas-price-gwei", value_name = "GWEI", value_parser = parse_gwei)]
    gas_price_wei: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A quote with its market, for printing.
struct Quoted<'a> {
    market: &'a Market,
    request: &'a Request,
    solution: &'a Solution,
    /// For a purchase: the amount to buy, and the lower bound of the input along any route, if there is one.
    exact: Option<(U256, Option<U256>)>,
    impacts: Impacts,
}

/// `braid quote`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let asked = match (&args.sell, &args.buy) {
        (Some(sell), Some(buy)) => words::from_options(sell, buy)?,
        _ => words::parse(&args.words)?,
    };
    let market = Arc::new(args.source.market()?);
    let gas_price_wei = args.gas_price_wei.unwrap_or_else(|| market.block().next_base_fee_per_gas_wei());
    let Sides { inputs, outputs, exact } = resolve(&market, &asked)?;
    let request = Request {
        inputs,
        outputs,
        max_hops: args.max_hops,
        filter: without_unverified(&market),
        gas_price_wei,
        // as a service does
        max_steps: Config::default().max_steps,
        at: market.block().next(),
    };
    let prepared = Prepared::new(Arc::clone(&market));
    let (request, solution, exact) = match exact {
        None => {
            let solution = solve(&prepared, &request).map_err(|error| no_quote(&request, &market, error))?;
            (request, solution, None)
        }
        Some(amount) => {
            let purchase = Purchase { trade: &request, amount, is_enough: &|_| true };
            let bought = buy(&prepared, &purchase).map_err(|error| no_quote(&request, &market, error))?;
            let Bought { route, amount_in, bound, pools_visited, .. } = bought;
            let known = bound.and_then(|bound| bound.certificate(amount_in, &route));
            let least_in = known.as_ref().ok().map(|known| known.least_amount_in);
            let certificate = known.map(|known| known.certificate);
            (purchase.sale_of(amount_in), Solution { route, certificate, pools_visited }, Some((amount, least_in)))
        }
    };
    let ids = request.outputs.iter().map(|(id, _)| *id);
    let received: Vec<_> = ids.zip(solution.route.amounts_out.iter().copied()).collect();
    let impacts = impacts(&prepared, &solution.route, &request.inputs, &received);
    let quoted = Quoted { market: &market, request: &request, solution: &solution, exact, impacts };
    if args.json { out::line(json::text(&quoted)?) } else { print::print(&quoted) }
}

/// Largest `--max-hops`.
const MAX_HOPS: u8 = 8;

fn no_quote(request: &Request, market: &Market, error: SolveError) -> Failed {
    let symbol = |id: TokenId| market.tokens().get(id).map(|token| plain(&token.symbol)).unwrap_or_default();
    let why = match error {
        SolveError::NoRoute(token) => {
            let longer = if request.max_hops < MAX_HOPS { ": allow longer ones with --max-hops, up to 8" } else { "" };
            format!("no route within {} hops reaches {}{longer}", request.max_hops, symbol(token))
        }
        SolveError::NoReferencePrice(token) => {
            format!("{} has no reference price, and each of several outputs needs one: ask for it alone", symbol(token))
        }
        SolveError::InsufficientLiquidity | SolveError::AmountTooSmall => error.to_string(),
    };
    Failed::new(Exit::NoRoute, format!("no quote: {why}"))
}

/// Tokens and amounts of a swap; the input amount of a purchase is zero.
struct Sides {
    inputs: Vec<(TokenId, U256)>,
    outputs: Vec<(TokenId, u16)>,
    /// The amount to buy.
    exact: Option<U256>,
}

/// Resolves the tokens and amounts of a parsed swap in a market.
fn resolve(market: &Market, asked: &words::Asked) -> Result<Sides> {
    let mut seen: Vec<TokenId> = Vec::new();
    let mut resolve_new = |name: &str| {
        let (id, token) = find(market, name)?;
        if seen.contains(&id) {
            let symbol = plain(&token.symbol);
            return Err(usage(format!(
                "{symbol} is named twice: name each token once, with the whole of its amount or share"
            )));
        }
        seen.push(id);
        Ok((id, token))
    };
    let units = |amount: &str, token: &Token| amount_of(amount, &plain(&token.symbol), token.decimals);
    let (mut inputs, mut outputs, mut exact) = (Vec::new(), Vec::new(), None);
    match asked {
        words::Asked::Sale { inputs: sold, outputs: bought } => {
            for (amount, name) in sold {
                let (id, token) = resolve_new(name)?;
                inputs.push((id, units(amount, token)?));
            }
            for (name, share_bps) in bought {
                outputs.push((resolve_new(name)?.0, *share_bps));
            }
        }
        words::Asked::Purchase { pay, buy: (amount, name) } => {
            inputs.push((resolve_new(pay)?.0, U256::ZERO));
            let (id, token) = resolve_new(name)?;
            exact = Some(units(amount, token)?);
            outputs.push((id, words::whole()));
        }
    }
    Ok(Sides { inputs, outputs, exact })
}

/// Excludes unverified vaults: no audit checks them here.
fn without_unverified(market: &Market) -> PoolFilter {
    let mut filter = PoolFilter::default();
    for (id, pool) in (0..).map(PoolId).zip(market.pools()) {
        if pool.product.guessed_as(pool).is_some() {
            filter.exclude_pool(id);
        }
    }
    filter
}

impl Quoted<'_> {
    /// Writes an amount of a token, with its symbol.
    fn amount(&self, id: TokenId, amount: U256) -> String {
        match self.market.tokens().get(id) {
            Some(token) => format!("{} {}", format_units(amount, token.decimals), plain(&token.symbol)),
            None => amount.to_string(),
        }
    }

    fn impact(&self) -> Impact {
        let symbol = |id: TokenId| self.market.tokens().get(id).map(|token| plain(&token.symbol)).unwrap_or_default();
        let outputs = self.request.outputs.iter().map(|(id, _)| symbol(*id));
        let outputs = outputs.zip(self.impacts.outputs_bps.iter().copied());
        Impact { total_bps: self.impacts.total_bps, outputs: outputs.collect() }
    }

    /// Returns the amount of each output.
    fn received(&self) -> impl Iterator<Item = (TokenId, U256)> {
        let outputs = self.request.outputs.iter().map(|(id, _)| *id);
        outputs.zip(self.solution.route.amounts_out.iter().copied())
    }
}
