//! Resolves the addresses and names of a request to the tokens and pools of a market.

use std::collections::HashSet;

use braid_audit::Quarantine;
use braid_market::Market;
use braid_primitives::{Address, PoolId, PoolKey, TokenId, U256};
use braid_protocols::Product;
use braid_routing::PoolFilter;

use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::request::{AskedToken, QuoteRequest};

/// The tokens of a request in a market.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// One per input.
    pub inputs: Vec<TokenId>,
    /// One per output.
    pub outputs: Vec<TokenId>,
}

/// Finds every token of a request.
///
/// # Errors
/// `TOKEN_NOT_FOUND` with every token that is not in the market.
pub(crate) fn tokens(market: &Market, request: &QuoteRequest) -> Result<Tokens, Problem> {
    let id = |token: AskedToken| market.tokens().id(token.address);
    request.check_tokens(FieldCode::TokenNotFound, |token| {
        let detail = || format!("no pool that Braid knows holds {}", token.shown.to_checksum(None));
        id(token).is_none().then(detail)
    })?;
    let inputs = request.inputs.iter().filter_map(|entry| id(entry.token)).collect();
    let outputs = request.outputs.iter().filter_map(|entry| id(entry.token)).collect();
    Ok(Tokens { inputs, outputs })
}

/// Refuses amounts that the proxy cannot encode, before the solve.
///
/// # Errors
/// `INSUFFICIENT_LIQUIDITY`.
pub(crate) fn check_amounts(request: &QuoteRequest) -> Result<(), Problem> {
    let too_large = |amount: U256| amount > braid_execution::MAX_AMOUNT;
    let refused = |detail: String| Err(Problem::new(Code::InsufficientLiquidity, detail));
    if request.exact_output().is_some_and(too_large) {
        return refused("no pool can pay the amount of the output: it is 2^128 or more".into());
    }
    match request.inputs.iter().position(|entry| entry.amount.is_some_and(too_large)) {
        None => Ok(()),
        Some(index) => refused(format!("no pool can take the amount of input {index}: it is 2^128 or more")),
    }
}

/// Refuses a request with more tokens on one side than its route may have steps: each input and each output needs a step
/// of its own.
///
/// # Errors
/// `NO_ROUTE_FOUND` at `max_steps`.
pub(crate) fn check_steps(request: &QuoteRequest) -> Result<(), Problem> {
    let least = request.inputs.len().max(request.outputs.len());
    match request.max_steps {
        Some(most) if usize::from(most) < least => {
            let detail =
                format!("a route of these inputs and outputs has at least {least} steps, and max_steps is {most}");
            Err(Problem::field(Code::NoRouteFound, FieldError::new("/max_steps", FieldCode::NoRouteFound, detail)))
        }
        _ => Ok(()),
    }
}

/// Refuses tokens whose transfers do not move the exact amount.
///
/// # Errors
/// `TOKEN_UNSUPPORTED` with every such token and its fault.
pub(crate) fn check_faults(quarantine: &Quarantine, request: &QuoteRequest) -> Result<(), Problem> {
    request.check_tokens(FieldCode::TokenUnsupported, |token| {
        let does = quarantine.fault_of(token.address)?;
        Some(format!("{} {does}, so no pool of it can be quoted", token.shown.to_checksum(None)))
    })
}

/// Lists the unrecognised names in `include_protocols`, each with its pointer.
pub(crate) fn misspelt(request: &QuoteRequest) -> Option<Problem> {
    let names = request.include_protocols.iter().flatten().enumerate();
    let unknown = names.filter(|(_, name)| Product::named(name).is_empty()).map(|(index, name)| {
        let name: String = name.chars().take(64).collect();
        let detail = format!("no protocol is named {name:?}; GET /v1/protocols lists the names");
        FieldError::new(format!("/include_protocols/{index}"), FieldCode::ValueUnknown, detail)
    });
    let unknown: Vec<FieldError> = unknown.collect();
    (!unknown.is_empty()).then(|| Problem::invalid(unknown))
}

/// Names in a request's filter that match nothing.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    /// Protocol names.
    pub protocols: Vec<String>,
    /// Excluded pools.
    pub pools: Vec<PoolKey>,
}

/// Returns the filter of a request's pools, on top of the service's exclusions, and what the request names that does not
/// exist.
pub(crate) fn filter(market: &Market, request: &QuoteRequest, exclusions: PoolFilter) -> (PoolFilter, Unknown) {
    let mut filter = exclusions;
    let mut unknown = Vec::new();
    let mut named = |names: &[String]| -> Vec<Product> {
        let mut products = Vec::new();
        for name in names {
            let found = Product::named(name);
            if found.is_empty() && !unknown.contains(name) {
                unknown.push(name.chars().take(64).collect());
            }
            products.extend(found);
        }
        products
    };
    for product in named(&request.exclude_protocols) {
        filter.exclude_product(product);
    }
    if let Some(names) = &request.include_protocols {
        let included = named(names);
        for product in Product::ALL.iter().filter(|product| !included.contains(product)) {
            filter.exclude_product(*product);
        }
    }
    let (excluded, pools) = excluded_pools(market, request);
    excluded.into_iter().for_each(|pool| filter.exclude_pool(pool));
    (filter, Unknown { protocols: unknown, pools })
}

/// Returns the pools that a request excludes, and the keys that no pool of the market has. A contract alone stands for all
/// pools that it holds.
pub(crate) fn excluded_pools(market: &Market, request: &QuoteRequest) -> (Vec<PoolId>, Vec<PoolKey>) {
    let (mut excluded, mut unknown) = (Vec::new(), Vec::new());
    for key in &request.exclude_pools {
        match market.pool_id(*key) {
            Some(pool) => excluded.push(pool),
            None => unknown.push(*key),
        }
    }
    // Walks the market only for addresses that are no pool.
    let contracts: HashSet<Address> = unknown.iter().filter(|key| key.id.is_none()).map(|key| key.contract).collect();
    if !contracts.is_empty() {
        let is_held = |key: &PoolKey| key.id.is_some() && contracts.contains(&key.contract);
        let held: Vec<PoolKey> = market.pools().iter().map(|pool| pool.key).filter(is_held).collect();
        unknown.retain(|key| key.id.is_some() || held.iter().all(|pool| pool.contract != key.contract));
        excluded.extend(held.into_iter().filter_map(|key| market.pool_id(key)));
    }
    (excluded, unknown)
}
