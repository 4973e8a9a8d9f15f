//! Sends approvals and the swap, waits for their blocks, and prints what arrived.

use std::cmp::Ordering;
use std::time::Duration;

use alloy::eips::BlockId;
use alloy::network::TransactionBuilder as _;
use alloy::providers::Provider as _;
use alloy::rpc::types::{TransactionReceipt, TransactionRequest};
use alloy::sol_types::{SolCall as _, sol};
use braid_execution::approvals::approval_transactions;
use braid_execution::{permit2, proxy};
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256};
use eyre::{Result, eyre};
use serde_json::Value;

use super::quote::Quote;
use crate::api::Api;
use crate::chain::Chain;
use crate::exit::{Exit, Failed};
use crate::out;
use crate::tokens::Named;
use crate::units::format_units;

/// Time between two requests for the service's newest block.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Longest wait for the service to reach the node's block.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(60);

/// Largest ratio of the service's gas price to the node's. The most urgent tier allows for several blocks in which the
/// base fee grows by an eighth each.
const MAX_GAS_PRICE_RATIO: u128 = 20;

sol! {
    #![sol(alloy_sol_types = alloy::sol_types)]

    function balanceOf(address owner) external view returns (uint256);
}

/// A missing approval.
#[derive(Debug)]
pub(super) struct Pending {
    /// Description for a person.
    pub words: String,
    calls: Vec<(Address, Bytes)>,
}

/// Returns the missing approvals of a quote, encoded here: of the proxy for exactly the sold amounts.
pub(super) fn approvals(quote: &Quote, by_permit2: bool) -> Result<Vec<Pending>> {
    let (spender, listed) = if by_permit2 {
        (permit2::ADDRESS, &quote.answer["permit2"]["approvals"])
    } else {
        (proxy::address(), &quote.answer["approvals"])
    };
    let name = if by_permit2 { "Permit2" } else { "the proxy" };
    let listed = listed.as_array().map_or(&[][..], Vec::as_slice);
    let mut pending = Vec::new();
    for (token, units) in quote.sold.iter().filter(|(token, _)| token.address != NATIVE_ETHER) {
        let entry = listed
            .iter()
            .find(|approval| approval["token"].as_str().and_then(|text| text.parse().ok()) == Some(token.address));
        let current =
            entry.and_then(|approval| approval["current_allowance"].as_str()).and_then(|text| text.parse().ok());
        let transactions = approval_transactions(token.address, spender, *units, current);
        if !transactions.is_empty() {
            pending.push(Pending {
                words: if spender == permit2::ADDRESS {
                    format!("{name} may take {} for swaps that you sign", token.symbol)
                } else {
                    format!("{name} may take {}, no more", token.amount(*units))
                },
                calls: transactions.into_iter().map(|transaction| (transaction.to, transaction.data)).collect(),
            });
        }
    }
    Ok(pending)
}

/// Sends an approval, and waits for its block, and for the service to reach that block: an earlier build would be simulated
/// without the approval.
pub(super) async fn approve(chain: &Chain, api: &Api, from: Address, approval: Pending) -> Result<()> {
    let mut block = 0;
    for (to, data) in approval.calls {
        let receipt = chain.send(TransactionRequest::default().with_from(from).with_to(to).with_input(data)).await?;
        check_success(&receipt, "the approval")?;
        block = receipt.block_number.unwrap_or_default();
        out::line(format_args!("approved     {}, transaction {}", approval.words, receipt.transaction_hash))?;
    }
    let seen = async {
        loop {
            let network = api.get("/v1/network", &[("chain_id", "1")]).await?;
            if network["block_number"].as_u64().is_some_and(|newest| newest >= block) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let late = || {
        Failed::new(
            Exit::Unreachable,
            format!("the service does not come to block {block}, where the approval is: the swap was not sent"),
        )
    };
    tokio::time::timeout(CATCH_UP_TIMEOUT, seen).await.map_err(|_| late())?
}

/// Sends the swap, waits for its block, and compares what arrived with the quote.
pub(super) async fn swap(chain: &Chain, quote: &Quote, transaction: Value) -> Result<()> {
    let transaction: TransactionRequest = serde_json::from_value(transaction)?;
    let price_wei = chain.ask(async { chain.provider.get_gas_price().await }).await?;
    let offered_wei = transaction.max_fee_per_gas.unwrap_or(u128::MAX);
    if offered_wei > price_wei.saturating_mul(MAX_GAS_PRICE_RATIO) {
        return Err(eyre!(
            "the service offers {offered_wei} wei for a unit of gas, and the node says {price_wei}: the swap was not sent"
        ));
    }
    let receipt = chain.send(transaction).await?;
    check_success(&receipt, "the swap")?;
    let block = receipt.block_number.ok_or_else(|| eyre!("the node's receipt names no block"))?;
    out::line(format_args!(
        "swapped      transaction {}, block {block}, {} gas",
        receipt.transaction_hash, receipt.gas_used
    ))?;
    let recipient = quote.plan.order.recipient;
    let (inputs, outputs) = (&quote.answer["estimated_inputs"], &quote.answer["estimated_outputs"]);
    let rows = |side: &Value| side.as_array().cloned().unwrap_or_default();
    if quote.exact.is_some() {
        for ((token, _), row) in quote.sold.iter().zip(rows(inputs)) {
            let sold = moved(chain, token, receipt.from, &receipt).await?.0;
            out::line(format_args!(
                "sold         {} ({})",
                out::good(&token.amount(sold)),
                compared(token, sold, &row)
            ))?;
        }
    }
    for (token, row) in quote.bought.iter().zip(rows(outputs)) {
        let received = moved(chain, token, recipient, &receipt).await?.1;
        let amount = out::good(&token.amount(received));
        out::line(format_args!("received     {amount} ({})", compared(token, received, &row)))?;
    }
    Ok(())
}

/// Writes the difference of an amount from the quoted one.
fn compared(token: &Named, amount: U256, row: &Value) -> String {
    let quoted = row["expected_amount"].as_str().and_then(|text| text.parse().ok()).unwrap_or(U256::ZERO);
    let difference = format_units(amount.abs_diff(quoted), token.decimals);
    match amount.cmp(&quoted) {
        Ordering::Equal => "as quoted, to the last unit".to_owned(),
        Ordering::Greater => format!("{difference} more than quoted"),
        Ordering::Less => format!("{difference} less than quoted"),
    }
}

/// Returns the amounts of a token that an account lost and gained in a transaction's block, without gas. Other transactions
/// of the block count too.
async fn moved(chain: &Chain, token: &Named, owner: Address, receipt: &TransactionReceipt) -> Result<(U256, U256)> {
    let block = receipt.block_number.ok_or_else(|| eyre!("the node's receipt names no block"))?;
    let before = balance(chain, token, owner, block.saturating_sub(1)).await?;
    let mut after = balance(chain, token, owner, block).await?;
    if token.address == NATIVE_ETHER && receipt.from == owner {
        let gas = U256::from(receipt.gas_used).saturating_mul(U256::from(receipt.effective_gas_price));
        after = after.saturating_add(gas);
    }
    Ok((before.saturating_sub(after), after.saturating_sub(before)))
}

fn check_success(receipt: &TransactionReceipt, what: &str) -> Result<()> {
    if receipt.status() {
        return Ok(());
    }
    Err(Failed::new(Exit::Reverted, format!("{what} reverted: transaction {}", receipt.transaction_hash)).into())
}

/// Reads an account's balance at the end of a block.
async fn balance(chain: &Chain, token: &Named, owner: Address, block: u64) -> Result<U256> {
    let at = BlockId::number(block);
    if token.address == NATIVE_ETHER {
        return chain.ask(async { chain.provider.get_balance(owner).block_id(at).await }).await;
    }
    let call = TransactionRequest::default().with_to(token.address).with_input(balanceOfCall { owner }.abi_encode());
    let answer = chain.ask(async { chain.provider.call(call).block(at).await }).await?;
    Ok(balanceOfCall::abi_decode_returns(&answer)?)
}
