//! The proxy's ABI (`docs/internals/program.md`, sections 1 and 6) and calldata for its two entry points.

use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256};

use crate::{Order, Program, TokenAmount, permit2::Permit};

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
        struct Swap {
            address tokenIn;
            uint256 amountIn;
            address tokenOut;
            uint256 amountOut;
            address recipient;
            uint256 deadline;
        }
        struct Permit { address owner; uint256 nonce; uint256 deadline; address sender; }

        function execute(Order order, bytes program) external payable returns (uint256[] received);
        function executeWithPermit2(Order order, bytes program, Permit permit, bytes signature)
            external payable returns (uint256[] received);
        function swap(Swap order, bytes path) external payable returns (uint256 amount);
        function swapWithPermit2(Swap order, bytes path, Permit permit, bytes signature)
            external returns (uint256 amount);

        event Executed(
            bytes32 indexed order, address indexed payer, address recipient, address partner, uint256[] sold, uint256[] received
        );
        event Swapped(bytes32 indexed order, address indexed payer, address recipient, uint256 sold, uint256 received);

        error WrongChain(uint256 got, uint256 expected);
        error WrongSender(address got, address expected);
        error UnknownCall(bytes4 selector);
        error UnknownPath(uint256 kind);
        error UnknownFactory(uint256 step, uint256 factory);
        error InputAboveMaximum(uint256 got, uint256 maximum);
        error NotEnoughGas();
        error OutputMissed(uint256 step, uint256 got, uint256 expected);
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

/// The terms of a signature as the ABI has them.
impl From<&Permit> for IExecutionProxy::Permit {
    fn from(permit: &Permit) -> Self {
        let Permit { owner, nonce, deadline, sender } = *permit;
        Self { owner, nonce, deadline: U256::from(deadline), sender }
    }
}

/// Turns an order of one input and one output into a swap along a path.
fn swap_of(order: &Order) -> IExecutionProxy::Swap {
    let first =
        |list: &[TokenAmount]| list.first().map_or((Address::ZERO, U256::ZERO), |entry| (entry.token, entry.amount));
    let ((token_in, amount_in), (token_out, amount_out)) = (first(&order.inputs), first(&order.outputs));
    IExecutionProxy::Swap {
        tokenIn: token_in,
        amountIn: amount_in,
        tokenOut: token_out,
        amountOut: amount_out,
        recipient: order.recipient,
        deadline: U256::from(order.deadline),
    }
}

/// Calldata by which the sender pays an order from its allowances to the proxy: `swap` where the program is a path,
/// else `execute`.
pub fn calldata(order: &Order, program: &Program) -> Bytes {
    match &program.path {
        Some(path) => IExecutionProxy::swapCall { order: swap_of(order), path: path.clone() }.abi_encode().into(),
        None => execute_calldata(order, &program.bytes),
    }
}

/// Calldata by which the owner of the permit pays by its signature: `swapWithPermit2` where the program is a path, else
/// `executeWithPermit2`.
pub fn calldata_with_permit2(order: &Order, program: &Program, permit: &Permit, signature: &Bytes) -> Bytes {
    let Some(path) = &program.path else {
        return execute_with_permit2_calldata(order, &program.bytes, permit, signature);
    };
    let (order, path, signature) = (swap_of(order), path.clone(), signature.clone());
    IExecutionProxy::swapWithPermit2Call { order, path, permit: permit.into(), signature }.abi_encode().into()
}

/// Calldata of `execute(order, program)`: the sender pays from its allowances to the proxy, and what arrives is looked
/// at.
pub fn execute_calldata(order: &Order, program: &Bytes) -> Bytes {
    IExecutionProxy::executeCall { order: order.into(), program: program.clone() }.abi_encode().into()
}

/// Returns what the recipient gained of each output, from the proxy's answer to any of its calls; `None` where the
/// bytes are no such answer.
///
/// A path answers with one word, which is what its last pool paid; steps answer with a list, each the lower of what was
/// paid to the recipient and what its balance grew by.
pub fn received(answer: &[u8]) -> Option<Vec<U256>> {
    match <[u8; 32]>::try_from(answer) {
        Ok(word) => Some(vec![U256::from_be_bytes(word)]),
        Err(_) => IExecutionProxy::executeCall::abi_decode_returns(answer).ok(),
    }
}

/// Calldata of `executeWithPermit2(order, program, permit, signature)`: the owner of the permit pays by its signature.
pub fn execute_with_permit2_calldata(order: &Order, program: &Bytes, permit: &Permit, signature: &Bytes) -> Bytes {
    IExecutionProxy::executeWithPermit2Call {
        order: order.into(),
        program: program.clone(),
        permit: permit.into(),
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
        const PERMIT: &str = "(address,uint256,uint256,address)";
        const ORDER: &str = "((address,uint256)[],(address,uint256)[],address,uint256,address,uint16,bool)";
        assert_eq!(IExecutionProxy::executeCall::SIGNATURE, format!("execute({ORDER},bytes)"));
        assert_eq!(IExecutionProxy::executeCall::SELECTOR, [0x8a, 0x7e, 0xb3, 0x44]);
        assert_eq!(
            IExecutionProxy::executeWithPermit2Call::SIGNATURE,
            format!("executeWithPermit2({ORDER},bytes,{PERMIT},bytes)")
        );
        assert_eq!(IExecutionProxy::executeWithPermit2Call::SELECTOR, [0x2a, 0x06, 0x78, 0x3c]);
        const SWAP: &str = "(address,uint256,address,uint256,address,uint256)";
        assert_eq!(IExecutionProxy::swapCall::SELECTOR, [0xec, 0x77, 0x0d, 0x8a]);
        assert_eq!(IExecutionProxy::swapWithPermit2Call::SELECTOR, [0xc2, 0x0e, 0x32, 0x60]);
        assert_eq!(IExecutionProxy::swapCall::SIGNATURE, format!("swap({SWAP},bytes)"));
        assert_eq!(
            IExecutionProxy::swapWithPermit2Call::SIGNATURE,
            format!("swapWithPermit2({SWAP},bytes,{PERMIT},bytes)")
        );
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
        let permit = Permit {
            owner: Address::repeat_byte(3),
            nonce: U256::from(4),
            deadline: 5,
            sender: Address::repeat_byte(8),
        };
        let signature = Bytes::from(vec![6; 65]);
        let data = execute_with_permit2_calldata(&order(), &Bytes::new(), &permit, &signature);
        let call = IExecutionProxy::executeWithPermit2Call::abi_decode(&data).unwrap();
        assert_eq!(call.signature, signature);
        assert_eq!(
            call.permit,
            IExecutionProxy::Permit {
                owner: permit.owner,
                nonce: permit.nonce,
                deadline: U256::from(5),
                sender: permit.sender,
            }
        );
        assert_eq!(call.order, IExecutionProxy::Order::from(&order()));
    }
}
