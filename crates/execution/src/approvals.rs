//! ERC-20 approvals: what has to be sent before an order can pull its inputs.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256, address};

use crate::permit2;

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
/// rule. LDO, ANT and SNT have it from Giveth's `MiniMeToken`, BNT and ENJ from Bancor's `ERC20Token`, MANA from
/// OpenZeppelin's `StandardToken` of 2017. The tokens of Curve's first pools have it from `CurveTokenV1` and
/// `CurveTokenV2`; `pooldata.json` of each pool in `curvefi/curve-contract` names the version, and `CurveTokenV3` dropped
/// the rule.
pub const ZERO_RESET_TOKENS: [Address; 30] = [
    // USDT (Tether)
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"),
    // CRV (Curve DAO token)
    address!("D533a949740bb3306d119CC777fa900bA034cd52"),
    // KNCL (the first Kyber Network Crystal)
    address!("dd974D5C2e2928deA5F71b9825b8b646686BD200"),
    // LEND (the first Aave token)
    address!("80fB784B7eD66730e8b1DBd9820aFD29931aab03"),
    // LDO (Lido DAO token)
    address!("5A98FcBEA516Cf06857215779Fd812CA3beF1B32"),
    // ANT (the first Aragon Network Token)
    address!("960b236A07cf122663c4303350609A66A7B288C0"),
    // SNT (Status Network Token)
    address!("744d70FDBE2Ba4CF95131626614a1763DF805B9E"),
    // BNT (Bancor Network Token)
    address!("1F573D6Fb3F13d689FF844B4cE37794d79a7FF1C"),
    // ENJ (Enjin Coin)
    address!("F629cBd94d3791C9250152BD8dfBDF380E2a3B9c"),
    // MANA (Decentraland)
    address!("0F5D2fB29fb7d3CFeE444a200298f468908cC942"),
    // 3Crv (Curve)
    address!("6c3F90f043a72FA612cbac8115EE7e52BDe6E490"),
    // crvRenWSBTC (Curve)
    address!("075b1bb99792c9E1041bA13afEf80C91a1e70fB3"),
    // crvRenWBTC (Curve)
    address!("49849C98ae39Fff122806C06791Fa73784FB3675"),
    // crvPlain3andSUSD (Curve)
    address!("C25a3A3b969415c80451098fa907EC722572917F"),
    // yDAI+yUSDC+yUSDT+yTUSD (Curve)
    address!("dF5e0e81Dff6FAF3A7e52BA697820c5e32D806A8"),
    // yDAI+yUSDC+yUSDT+yBUSD (Curve)
    address!("3B3Ac5386837Dc563660FB6a0937DFAa5924333B"),
    // ypaxCrv (Curve)
    address!("D905e2eaeBe188fc92179b6350807D8bd91Db0D8"),
    // cDAI+cUSDC (Curve)
    address!("845838DF265Dcd2c412A1Dc9e959c7d08537f8a2"),
    // cDAI+cUSDC+USDT (Curve)
    address!("9fC689CCaDa600B6DF723D9E47D84d76664a1F23"),
    // hCRV (Curve)
    address!("b19059ebb43466C323583928285a49f558E572Fd"),
    // gusd3CRV (Curve)
    address!("D2967f45c4f384DEEa880F807Be904762a3DeA07"),
    // husd3CRV (Curve)
    address!("5B5CFE992AdAC0C9D48E05854B2d91C73a003858"),
    // usdk3CRV (Curve)
    address!("97E2768e8E73511cA874545DC5Ff8067eB19B787"),
    // usdn3CRV (Curve)
    address!("4f3E8F405CF5aFC05D68142F3783bDfE13811522"),
    // musd3CRV (Curve)
    address!("1AEf73d49Dedc4b1778d0706583995958Dc862e6"),
    // rsv3CRV (Curve)
    address!("C2Ee6b0334C261ED60C72f6054450b61B8f18E35"),
    // dusd3CRV (Curve)
    address!("3a664Ab939FD8482048609f652f9a0B0677337B9"),
    // LinkUSD3CRV (Curve)
    address!("6D65b498cb23deAba52db31c93Da9BFFb340FB8F"),
    // tbtc/sbtcCrv (Curve)
    address!("64eda51d3Ad40D56b9dFc5554E06F94e1Dd786Fd"),
    // pBTC/sbtcCRV (Curve)
    address!("DE5331AC4B3630f94853Ff322B66407e0D6331E8"),
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
/// The proxy is allowed exactly the amount. Permit2 is allowed everything, because it takes only what the owner signs for:
/// so that a token is approved once, and each later swap needs a signature alone.
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
    transactions.push(approve(if spender == permit2::ADDRESS { U256::MAX } else { amount }));
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

    /// An allowance of exactly the amount would be used up by the swap, and the next one would need another approval.
    #[test]
    fn permit2_is_approved_once_for_all_swaps() {
        let needed = |token, current| {
            let transactions = approval_transactions(token, permit2::ADDRESS, U256::from(100), current);
            let decode = |t: &ApprovalTransaction| IERC20::approveCall::abi_decode(&t.data).unwrap();
            transactions.iter().map(decode).map(|call| call.amount).collect::<Vec<_>>()
        };
        assert_eq!(needed(USDC, Some(U256::ZERO)), [U256::MAX]);
        assert_eq!(needed(USDT, Some(U256::from(99))), [U256::ZERO, U256::MAX]);
        // UNI and COMP store the largest allowance as 2^96 - 1, which they never reduce.
        assert!(needed(USDC, Some((U256::from(1) << 96) - U256::from(1))).is_empty());
    }

    #[test]
    fn bnt_enj_and_mana_are_reset() {
        for token in [
            address!("1F573D6Fb3F13d689FF844B4cE37794d79a7FF1C"),
            address!("F629cBd94d3791C9250152BD8dfBDF380E2a3B9c"),
            address!("0F5D2fB29fb7d3CFeE444a200298f468908cC942"),
        ] {
            assert_eq!(needed(token, Some(1)), [0, 100], "{token}");
        }
    }

    /// An exact output leaves a rest of the allowance, so that the next approval meets one that is not zero.
    #[test]
    fn tokens_of_minime_and_of_curves_first_pools_are_reset() {
        let ldo = address!("5A98FcBEA516Cf06857215779Fd812CA3beF1B32");
        let three_crv = address!("6c3F90f043a72FA612cbac8115EE7e52BDe6E490");
        let steth_crv_of_version_3 = address!("06325440D014e39736583c165C2963BA99fAf14E");
        assert_eq!(needed(ldo, Some(1)), [0, 100]);
        assert_eq!(needed(three_crv, Some(1)), [0, 100]);
        assert_eq!(needed(steth_crv_of_version_3, Some(1)), [100]);
        let distinct: std::collections::BTreeSet<_> = ZERO_RESET_TOKENS.into_iter().collect();
        assert_eq!(distinct.len(), ZERO_RESET_TOKENS.len());
    }

    #[test]
    fn calldata_starts_with_the_selector_of_eip_20() {
        assert_eq!(approve_calldata(SPENDER, U256::ZERO)[..4], [0x09, 0x5e, 0xa7, 0xb3]);
        assert_eq!(allowance_calldata(SPENDER, USDC)[..4], [0xdd, 0x62, 0xed, 0x3e]);
        assert_eq!(balance_calldata(SPENDER)[..4], [0x70, 0xa0, 0x82, 0x31]);
    }
}
