//! Approvals and issues, from the taker's balances and allowances.

use braid_execution::approvals::{approval_transactions, requires_zero_reset};
use braid_execution::{Order, TokenAmount};
use braid_primitives::{Address, NATIVE_ETHER, U256};

use crate::accounts::{Holding, Holdings};
use crate::model::{AllowanceIssue, Approval, ApprovalCall, BalanceIssue, Call, Eip55, Quantity};
use crate::request::Listed;
use crate::shown::Shown;

/// Returns the approvals that a spender needs: one entry per ERC-20 input, in order, satisfied or not.
pub(crate) fn for_spender(
    order: &Order,
    holdings: &Holdings,
    spender: Address,
    allowance: impl Fn(&Holding) -> Option<U256>,
) -> Vec<Approval> {
    let erc20 = inputs(order, holdings).filter(|(input, _)| input.token != NATIVE_ETHER);
    erc20.map(|(input, holding)| approval(input, spender, allowance(&holding))).collect()
}

fn inputs<'a>(order: &'a Order, holdings: &'a Holdings) -> impl Iterator<Item = (&'a TokenAmount, Holding)> {
    let known = holdings.inputs.iter().copied().chain(std::iter::repeat(Holding::default()));
    order.inputs.iter().zip(known)
}

fn approval(input: &TokenAmount, spender: Address, current: Option<U256>) -> Approval {
    let transactions = approval_transactions(input.token, spender, input.amount, current);
    let call = |to, data| ApprovalCall { to: Eip55(to), data, value: U256::ZERO.into() };
    Approval {
        token: Eip55(input.token),
        spender: Eip55(spender),
        amount: input.amount.into(),
        current_allowance: current.map(Into::into),
        satisfied: current.map(|current| current >= input.amount),
        requires_zero_reset: requires_zero_reset(input.token),
        transactions: transactions.into_iter().map(|transaction| call(transaction.to, transaction.data)).collect(),
    }
}

/// Returns the approvals that an answer lists.
pub(crate) fn listed(mut all: Vec<Approval>, listed: Listed) -> Vec<Approval> {
    match listed {
        Listed::All => {}
        Listed::Missing => all.retain(|approval| approval.satisfied != Some(true)),
    }
    all
}

/// Returns the transactions of approvals that are not known to be in place, as `wallet_sendCalls` takes them.
pub(crate) fn calls(approvals: &[Approval]) -> impl Iterator<Item = Call> {
    let missing = approvals.iter().filter(|approval| approval.satisfied != Some(true));
    let sent = missing.flat_map(|approval| &approval.transactions);
    sent.map(|call| Call { to: call.to, data: call.data.clone(), value: Quantity(call.value.0) })
}

/// Lists the inputs of which the taker is known to hold too little.
pub(crate) fn balance_issues(order: &Order, holdings: &Holdings, shown: Shown) -> Vec<BalanceIssue> {
    let short = |(input, holding): (&TokenAmount, Holding)| {
        let actual = holding.balance.filter(|balance| *balance < input.amount)?;
        Some(BalanceIssue { token: shown.token(input.token), actual: actual.into(), expected: input.amount.into() })
    };
    inputs(order, holdings).filter_map(short).collect()
}

/// Returns the approvals that are known to be missing.
pub(crate) fn allowance_issues(approvals: &[Approval]) -> Vec<AllowanceIssue> {
    let missing = |approval: &&Approval| approval.satisfied == Some(false);
    let issue = |approval: &Approval| AllowanceIssue {
        token: approval.token,
        spender: approval.spender,
        actual: approval.current_allowance.unwrap_or_default(),
        expected: approval.amount,
    };
    approvals.iter().filter(missing).map(issue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval_of(satisfied: Option<bool>) -> Approval {
        let input = TokenAmount { token: Address::repeat_byte(1), amount: U256::from(10) };
        let current = satisfied.map(|satisfied| U256::from(if satisfied { 10 } else { 0 }));
        approval(&input, Address::repeat_byte(2), current)
    }

    #[test]
    fn what_is_in_place_is_neither_listed_as_missing_nor_sent_again() {
        let all: Vec<Approval> = [Some(true), Some(false), None].map(approval_of).into();
        assert_eq!(calls(&all).count(), 2);
        assert_eq!(listed(all.clone(), Listed::All).len(), 3);
        let missing = listed(all, Listed::Missing);
        assert_eq!(missing.iter().map(|approval| approval.satisfied).collect::<Vec<_>>(), [Some(false), None]);
    }
}
