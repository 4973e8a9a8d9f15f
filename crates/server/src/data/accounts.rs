//! `POST /v1/balances` and `POST /v1/allowances`.

use std::collections::BTreeMap;

use axum::extract::State;
use braid_execution::approvals::{allowance_calldata, balance_calldata};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_protocols::Call;
use braid_quoting::accounts::Accounts;
use braid_quoting::feed::Markets;
use braid_quoting::model::Amount;
use braid_quoting::request::{AllowancesRequest, BalancesRequest};
use braid_quoting::{Code, Problem};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::body::Valid;
use crate::http::problem::Refusal;
use crate::problems::AskProblems;

/// Seconds after which to ask a service without a node again: it may have one after a restart.
const NO_NODE_RETRY_S: u64 = 3_600;

/// Balances of an account, by token; a read that failed is absent.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Balances {
    /// Atomic units.
    pub balances: BTreeMap<String, Amount>,
}

/// Allowances of an account, by `token:spender`; a read that failed is absent.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Allowances {
    /// Atomic units.
    pub allowances: BTreeMap<String, Amount>,
}

/// Returns balances of an account.
///
/// # Errors
/// `NOT_READY`, also if the node does not answer, or there is none; `MARKET_STALE`.
#[utoipa::path(post, path = "/v1/balances", tag = "market", summary = "Balances", security((), ("api_key" = [])), request_body = BalancesRequest,
    responses((status = 200, description = "Balances of an account.", body = Data<Balances>), AskProblems))]
pub async fn balances(
    _: MayRead,
    State(markets): State<Markets>,
    State(accounts): State<Accounts>,
    Valid { request, .. }: Valid<BalancesRequest>,
) -> Result<Data<Balances>, Refusal> {
    let BalancesRequest { owner, tokens, .. } = request;
    let erc20 = tokens.iter().filter(|token| token.address != NATIVE_ETHER);
    let calls = erc20.map(|token| Call { to: token.address, data: balance_calldata(owner) }).collect();
    let wants_ether = tokens.iter().any(|token| token.address == NATIVE_ETHER);
    let (words, ether) = read(&markets, &accounts, calls, wants_ether.then_some(owner)).await?;
    let mut words = words.into_iter();
    let mut answer = Balances::default();
    for token in tokens {
        let balance = if token.address == NATIVE_ETHER { ether } else { words.next().flatten() };
        if let Some(balance) = balance {
            answer.balances.insert(token.shown.to_checksum(None), balance.into());
        }
    }
    Ok(Data::new(answer))
}

/// Returns allowances of an account.
///
/// # Errors
/// As [`balances`].
#[utoipa::path(post, path = "/v1/allowances", tag = "market", summary = "Allowances", security((), ("api_key" = [])), request_body = AllowancesRequest,
    responses((status = 200, description = "Allowances of an account.", body = Data<Allowances>), AskProblems))]
pub async fn allowances(
    _: MayRead,
    State(markets): State<Markets>,
    State(accounts): State<Accounts>,
    Valid { request, .. }: Valid<AllowancesRequest>,
) -> Result<Data<Allowances>, Refusal> {
    let AllowancesRequest { owner, allowances: asked, .. } = request;
    let calls = asked.iter().map(|entry| Call { to: entry.token, data: allowance_calldata(owner, entry.spender) });
    let (words, _) = read(&markets, &accounts, calls.collect(), None).await?;
    let mut answer = Allowances::default();
    for (entry, word) in asked.into_iter().zip(words) {
        if let Some(amount) = word {
            let key = format!("{}:{}", entry.token.to_checksum(None), entry.spender.to_checksum(None));
            answer.allowances.insert(key, amount.into());
        }
    }
    Ok(Data::new(answer))
}

/// Runs calls at the newest market's block, and reads an account's ether.
async fn read(
    markets: &Markets,
    accounts: &Accounts,
    calls: Vec<Call>,
    ether_of: Option<Address>,
) -> Result<(Vec<Option<U256>>, Option<U256>), Problem> {
    let block = markets.current()?.head.block().hash;
    if accounts.node.is_none() {
        let detail =
            "this service has no node, so it reads no balances and allowances: ask one that has, or your own node";
        return Err(Problem::new(Code::NotReady, detail).retry_after(NO_NODE_RETRY_S));
    }
    let no_answer = || Problem::new(Code::NotReady, "the node does not answer: retry").retry_after(2);
    accounts.words(block, calls, ether_of).await.ok_or_else(no_answer)
}
