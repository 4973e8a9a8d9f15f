//! ERC-20 approvals: what has to be sent before an order can pull its inputs.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, address};

sol! {
    /// EIP-20.
    #[allow(missing_docs)]
    interface IERC20 {
        function approve(address spender, uint256 amount) external returns (bool);
        function allowance(address owner, address spender) external view returns (uint256);
        function balanceOf(address owner) external view returns (uint256);
    }
}

/// Tokens whose `approve` reverts when a non-zero allowance would be replaced by another non-zero one.
///
/// Tether's source has `require(!((_value != 0) && (allowed[msg.sender][_spender] != 0)))`; the others carry the same
/// rule.
pub const ZERO_RESET_TOKENS: [Address; 4] = [
    // USDT (Tether)
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"),
    // CRV (Curve DAO token)
    address!("D533a949740bb3306d119CC777fa900bA034cd52"),
    // KNCL (the first Kyber Network Crystal)
    address!("dd974D5C2e2928deA5F71b9825b8b646686BD200"),
    // LEND (the first Aave token)
    address!("80fB784B7eD66730e8b1DBd9820aFD29931aab03"),
];

/// Returns whether a token refuses to change a non-zero allowance to another non-zero one ([`ZERO_RESET_TOKENS`]).
pub fn requires_zero_reset(token: Address) -> bool {
    ZERO_RESET_TOKENS.contains(&token)
}

/// One transaction that the taker sends: to the token, without ether.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalTransaction {
    /// The token.
    pub to: Address,
    /// Calldata of `approve(spender, amount)`.
    pub data: Bytes,
}

/// Returns the approve transactions that let `spender` take `amount` of `token`, in the order in which to send them.
///
/// With a known allowance: none if it suffices, a reset to zero first where the token demands it and the
/// allowance is not zero. With an unknown allowance (`None`): the reset is put first wherever the token demands it,
/// since resetting zero to zero harms nobody.
pub fn approval_transactions(
    token: Address,
    spender: Address,
    amount: U256,
    current_allowance: Option<U256>,
) -> Vec<ApprovalTransaction> {
    if current_allowance.is_some_and(|current| current >= amount) {
        return Vec::new();
    }
    let approve = |amount| ApprovalTransaction { to: token, data: approve_calldata(spender, amount) };
    let reset = requires_zero_reset(token) && current_allowance != Some(U256::ZERO);
    let mut transactions = Vec::with_capacity(2);
    if reset {
        transactions.push(approve(U256::ZERO));
    }
    transactions.push(approve(amount));
    transactions
}

/// Calldata of `approve(spender, amount)`.
pub fn approve_calldata(spender: Address, amount: U256) -> Bytes {
    IERC20::approveCall { spender, amount }.abi_encode().into()
}

/// Calldata of `allowance(owner, spender)`.
pub fn allowance_calldata(owner: Address, spender: Address) -> Bytes {
    IERC20::allowanceCall { owner, spender }.abi_encode().into()
}

/// Calldata of `balanceOf(owner)`.
pub fn balance_calldata(owner: Address) -> Bytes {
    IERC20::balanceOfCall { owner }.abi_encode().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USDT: Address = address!("dAC17F958D2ee523a2206206994597C13D831ec7");
    const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
    const SPENDER: Address = address!("00000000000000000000000000000000000000aa");

    fn approved(transactions: &[ApprovalTransaction]) -> Vec<U256> {
        let decode = |t: &ApprovalTransaction| IERC20::approveCall::abi_decode(&t.data).unwrap();
        transactions
            .iter()
            .map(decode)
            .inspect(|call| assert_eq!(call.spender, SPENDER))
            .map(|call| call.amount)
            .collect()
    }

    fn needed(token: Address, current: Option<u64>) -> Vec<u64> {
        let transactions = approval_transactions(token, SPENDER, U256::from(100), current.map(U256::from));
        assert!(transactions.iter().all(|t| t.to == token));
        approved(&transactions).into_iter().map(|amount| amount.to()).collect()
    }

    #[test]
    fn an_allowance_that_suffices_needs_nothing() {
        assert!(needed(USDC, Some(100)).is_empty());
        assert!(needed(USDT, Some(101)).is_empty());
    }

    #[test]
    fn an_ordinary_token_is_approved_in_one_go() {
        assert_eq!(needed(USDC, Some(0)), [100]);
        assert_eq!(needed(USDC, Some(99)), [100]);
        assert_eq!(needed(USDC, None), [100]);
    }

    #[test]
    fn tether_is_reset_first_unless_its_allowance_is_known_to_be_zero() {
        assert_eq!(needed(USDT, Some(0)), [100]);
        assert_eq!(needed(USDT, Some(99)), [0, 100]);
        assert_eq!(needed(USDT, None), [0, 100]);
    }

    #[test]
    fn calldata_starts_with_the_selector_of_eip_20() {
        assert_eq!(approve_calldata(SPENDER, U256::ZERO)[..4], [0x09, 0x5e, 0xa7, 0xb3]);
        assert_eq!(allowance_calldata(SPENDER, USDC)[..4], [0xdd, 0x62, 0xed, 0x3e]);
        assert_eq!(balance_calldata(SPENDER)[..4], [0x70, 0xa0, 0x82, 0x31]);
    }
}
