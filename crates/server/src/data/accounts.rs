//! `POST /v1/balances` and `POST /v1/allowances`.

use std::collections::BTreeMap;

use axum::extract::State;
use braid_execution::approvals::{allowance_calldata, balance_calldata};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_protocols::Call;
use braid_quoting::accounts::Accounts;
use braid_quoting::feed::Markets;
use braid_quoting::json::{Item, Object, Reader};
use braid_quoting::model::Amount;
use braid_quoting::request::AskedToken;
use braid_quoting::{Code, Problem};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::Data;
use crate::http::auth::MayRead;
use crate::http::body::JsonBody;
use crate::http::problem::Refusal;
use crate::openapi::ReadProblems;
use crate::openapi::requests::{AllowancesBody, BalancesBody};

/// Most entries in one call.
const MAX_ENTRIES: usize = 100;

/// What an account holds, by token; a read that failed is absent.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Balances {
    /// Atomic units.
    pub balances: BTreeMap<String, Amount>,
}

/// What an account allows, by `token:spender`; a read that failed is absent.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Allowances {
    /// Atomic units.
    pub allowances: BTreeMap<String, Amount>,
}

/// `POST /v1/balances`.
///
/// # Errors
/// Every problem that such a request can have; `NOT_READY` where the node does not answer.
#[utoipa::path(post, path = "/v1/balances", tag = "market", summary = "Balances", request_body = BalancesBody,
    responses((status = 200, description = "What an account holds.", body = Data<Balances>), ReadProblems))]
pub async fn balances(
    _: MayRead,
    State(markets): State<Markets>,
    State(accounts): State<Accounts>,
    JsonBody(body): JsonBody,
) -> Result<Data<Balances>, Refusal> {
    let mut r = Reader::default();
    let object = r.object(&body, "", &["chain_id", "owner", "tokens"]);
    let asked = object.and_then(|object| {
        let owner = owner(&mut r, &object);
        let tokens = entries(&mut r, &object, "tokens", |r, item| r.address(item).map(AskedToken::new));
        owner.zip(tokens)
    });
    let (owner, tokens) = r.finish(asked)?;
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

/// `POST /v1/allowances`.
///
/// # Errors
/// As [`balances`].
#[utoipa::path(post, path = "/v1/allowances", tag = "market", summary = "Allowances", request_body = AllowancesBody,
    responses((status = 200, description = "What an account allows.", body = Data<Allowances>), ReadProblems))]
pub async fn allowances(
    _: MayRead,
    State(markets): State<Markets>,
    State(accounts): State<Accounts>,
    JsonBody(body): JsonBody,
) -> Result<Data<Allowances>, Refusal> {
    let mut r = Reader::default();
    let object = r.object(&body, "", &["chain_id", "owner", "allowances"]);
    let asked = object.and_then(|object| {
        let owner = owner(&mut r, &object);
        let pairs = entries(&mut r, &object, "allowances", pair);
        owner.zip(pairs)
    });
    let (owner, pairs) = r.finish(asked)?;
    let calls = pairs.iter().map(|(token, spender)| Call { to: *token, data: allowance_calldata(owner, *spender) });
    let (words, _) = read(&markets, &accounts, calls.collect(), None).await?;
    let mut answer = Allowances::default();
    for ((token, spender), word) in pairs.into_iter().zip(words) {
        if let Some(amount) = word {
            let key = format!("{}:{}", token.to_checksum(None), spender.to_checksum(None));
            answer.allowances.insert(key, amount.into());
        }
    }
    Ok(Data::new(answer))
}

fn owner(r: &mut Reader, object: &Object<'_>) -> Option<Address> {
    let chain = r.chain(object);
    let owner = r.required(object, "owner").and_then(|item| r.address(&item));
    chain.and(owner)
}

fn entries<T>(
    r: &mut Reader,
    object: &Object<'_>,
    name: &str,
    read: impl Fn(&mut Reader, &Item<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let list = r.required(object, name)?;
    let items = r.list(&list, 1, MAX_ENTRIES)?;
    let read: Vec<Option<T>> = items.iter().map(|item| read(r, item)).collect();
    read.into_iter().collect()
}

fn pair(r: &mut Reader, item: &Item<'_>) -> Option<(Address, Address)> {
    let object = r.object(item.value, &item.pointer, &["token", "spender"])?;
    let token = r.required(&object, "token").and_then(|item| r.address(&item));
    let spender = r.required(&object, "spender").and_then(|item| r.address(&item));
    token.zip(spender)
}

/// Makes calls at the newest market's block, and reads an account's ether.
async fn read(
    markets: &Markets,
    accounts: &Accounts,
    calls: Vec<Call>,
    ether_of: Option<Address>,
) -> Result<(Vec<Option<U256>>, Option<U256>), Problem> {
    let block = markets.current()?.head.block().hash;
    let silent = || Problem::new(Code::NotReady, "the node does not answer").retry_after(2);
    accounts.words(block, calls, ether_of).await.ok_or_else(silent)
}
