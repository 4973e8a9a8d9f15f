//! The proxy's ABI (`docs/program.md`, sections 1 and 6) and calldata for its two entry points.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256};

use crate::{Order, permit2::Permit};

sol! {
    /// An order's input.
    #[derive(Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    struct Input { address token; uint256 amount; }

    /// An order's output.
    #[derive(Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    struct Output { address token; uint256 minimum; }

    /// The execution proxy.
    #[derive(Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    interface IExecutionProxy {
        struct Order {
            Input[] inputs;
            Output[] outputs;
            address recipient;
            uint256 deadline;
            address partner;
            uint16 partnerFeeBps;
            bool partnerFeeOnOutput;
        }
        struct Permit { address owner; uint256 nonce; uint256 deadline; }

        function execute(Order order, bytes program) external payable returns (uint256[] received);
        function executeWithPermit2(Order order, bytes program, Permit permit, bytes signature)
            external payable returns (uint256[] received);

        error Reentered();
        error DeadlinePassed(uint256 deadline, uint256 timestamp);
        error EmptyOrder(uint256 inputs, uint256 outputs);
        error TooManyTokens(uint256 got, uint256 maximum);
        error InvalidRecipient(address recipient);
        error InvalidPartner(address partner);
        error PartnerFeeTooHigh(uint256 gotBps, uint256 maximumBps);
        error InvalidInputAmount(uint256 index, uint256 got, uint256 maximum);
        error ZeroMinimum(uint256 index);
        error DuplicateToken(address token);
        error ValueMismatch(uint256 gotWei, uint256 expectedWei);
        error NothingToPermit();
        error ProgramTruncated(uint256 step, uint256 length, uint256 needed);
        error UnknownOpcode(uint256 step, uint256 opcode);
        error UnknownToken(uint256 step, uint256 index, uint256 count);
        error WrongToken(uint256 step, address got, address expected);
        error InvalidDestination(uint256 step, uint256 to);
        error NotPrepayable(uint256 step, uint256 opcode, uint256 share);
        error InvalidFee(uint256 step, uint256 gotBps, uint256 limitBps);
        error NothingAtHand(uint256 step, address token);
        error AmountTooLarge(uint256 step, uint256 got, uint256 maximum);
        error PoolCallFailed(uint256 step, address pool, bytes reason);
        error InvalidPoolAnswer(uint256 step, address pool);
        error CallbackMissing(uint256 step, address pool);
        error UnexpectedCallback(address caller, bytes32 got, bytes32 expected);
        error CallbackAmountMismatch(uint256 got, uint256 expected);
        error UnexpectedEther(address sender, address expected);
        error InputNotTaken(uint256 step, address pool, uint256 left);
        error TransferFailed(uint256 step, address token, address from, address to, uint256 amount, bytes reason);
        error ApprovalFailed(uint256 step, address token, address spender, uint256 amount, bytes reason);
        error BalanceUnavailable(address token, bytes reason);
        error EtherTransferFailed(uint256 step, address to, uint256 amountWei, bytes reason);
        error OutputBelowMinimum(uint256 index, address token, uint256 got, uint256 expected);
    }
}

/// The order as the ABI has it. A missing partner fee is the zero address and zero basis points.
impl From<&Order> for IExecutionProxy::Order {
    fn from(order: &Order) -> Self {
        let (partner, bps, on_output) =
            order.partner_fee.map_or((Address::ZERO, 0, false), |fee| (fee.recipient, fee.bps, fee.on_output));
        Self {
            inputs: order.inputs.iter().map(|i| Input { token: i.token, amount: i.amount }).collect(),
            outputs: order.outputs.iter().map(|o| Output { token: o.token, minimum: o.amount }).collect(),
            recipient: order.recipient,
            deadline: U256::from(order.deadline),
            partner,
            partnerFeeBps: bps,
            partnerFeeOnOutput: on_output,
        }
    }
}

/// Calldata of `execute(order, program)`: the sender pays from its allowances to the proxy.
pub fn execute_calldata(order: &Order, program: &Bytes) -> Bytes {
    IExecutionProxy::executeCall { order: order.into(), program: program.clone() }.abi_encode().into()
}

/// What the recipient gained of each output, from the proxy's answer to either call; `None` where the bytes are no such answer.
///
/// The proxy counts of ether what it sends to the recipient, of any other token by what the recipient has before and after.
pub fn received(answer: &[u8]) -> Option<Vec<U256>> {
    IExecutionProxy::executeCall::abi_decode_returns(answer).ok()
}

/// Calldata of `executeWithPermit2(order, program, permit, signature)`: the owner of the permit pays by its signature.
pub fn execute_with_permit2_calldata(order: &Order, program: &Bytes, permit: &Permit, signature: &Bytes) -> Bytes {
    IExecutionProxy::executeWithPermit2Call {
        order: order.into(),
        program: program.clone(),
        permit: IExecutionProxy::Permit {
            owner: permit.owner,
            nonce: permit.nonce,
            deadline: U256::from(permit.deadline),
        },
        signature: signature.clone(),
    }
    .abi_encode()
    .into()
}

#[cfg(test)]
mod tests {
    use braid_primitives::{NATIVE_ETHER, WETH};

    use super::*;
    use crate::{PartnerFee, TokenAmount};

    fn order() -> Order {
        Order {
            inputs: vec![TokenAmount { token: NATIVE_ETHER, amount: U256::from(7) }],
            outputs: vec![TokenAmount { token: WETH, amount: U256::from(6) }],
            recipient: Address::repeat_byte(1),
            deadline: 99,
            partner_fee: Some(PartnerFee { bps: 25, recipient: Address::repeat_byte(2), on_output: true }),
        }
    }

    #[test]
    fn signatures_and_selectors_are_those_of_the_specification() {
        const ORDER: &str = "((address,uint256)[],(address,uint256)[],address,uint256,address,uint16,bool)";
        assert_eq!(IExecutionProxy::executeCall::SIGNATURE, format!("execute({ORDER},bytes)"));
        assert_eq!(IExecutionProxy::executeCall::SELECTOR, [0x8a, 0x7e, 0xb3, 0x44]);
        assert_eq!(
            IExecutionProxy::executeWithPermit2Call::SIGNATURE,
            format!("executeWithPermit2({ORDER},bytes,(address,uint256,uint256),bytes)")
        );
        assert_eq!(IExecutionProxy::executeWithPermit2Call::SELECTOR, [0x23, 0xad, 0xf1, 0x35]);
    }

    #[test]
    fn calldata_carries_every_field_of_the_order() {
        let program = Bytes::from_static(&[0, 1, 2]);
        let data = execute_calldata(&order(), &program);
        let call = IExecutionProxy::executeCall::abi_decode(&data).unwrap();
        assert_eq!(call.program, program);
        assert_eq!(call.order, IExecutionProxy::Order::from(&order()));
        assert_eq!(call.order.inputs, [Input { token: NATIVE_ETHER, amount: U256::from(7) }]);
        assert_eq!(call.order.outputs, [Output { token: WETH, minimum: U256::from(6) }]);
        assert_eq!((call.order.partner, call.order.partnerFeeBps), (Address::repeat_byte(2), 25));
        assert!(call.order.partnerFeeOnOutput);
        assert_eq!(call.order.deadline, U256::from(99));
        assert_eq!(call.order.recipient, Address::repeat_byte(1));
    }

    #[test]
    fn permit2_calldata_carries_permit_and_signature() {
        let permit = Permit { owner: Address::repeat_byte(3), nonce: U256::from(4), deadline: 5 };
        let signature = Bytes::from(vec![6; 65]);
        let data = execute_with_permit2_calldata(&order(), &Bytes::new(), &permit, &signature);
        let call = IExecutionProxy::executeWithPermit2Call::abi_decode(&data).unwrap();
        assert_eq!(call.signature, signature);
        assert_eq!(
            call.permit,
            IExecutionProxy::Permit { owner: permit.owner, nonce: permit.nonce, deadline: U256::from(5) }
        );
        assert_eq!(call.order, IExecutionProxy::Order::from(&order()));
    }
}
