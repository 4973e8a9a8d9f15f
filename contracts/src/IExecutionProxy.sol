// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.28;

/// One token that the payer gives.
/// @param token ERC-20, or native ether at 0xEeee…
/// @param amount atomic units, 1 to 2^128 - 1
struct Input {
    address token;
    uint256 amount;
}

/// One token that the recipient gets.
/// @param token ERC-20, or native ether at 0xEeee…
/// @param minimum atomic units, at least 1, after the partner fee
struct Output {
    address token;
    uint256 minimum;
}

/// What must hold after the call, or all of it reverts.
/// @param inputs one or more
/// @param outputs one or more; no token stands twice among inputs and outputs together
/// @param recipient who gains the outputs and every surplus
/// @param deadline the last unix second at which the order may run
/// @param partner who is paid the partner fee
/// @param partnerFeeBps basis points, at most 300
/// @param partnerFeeOnOutput true: taken from each output; false: taken from each input
struct Order {
    Input[] inputs;
    Output[] outputs;
    address recipient;
    uint256 deadline;
    address partner;
    uint16 partnerFeeBps;
    bool partnerFeeOnOutput;
}

/// Whose Permit2 signature pays, and its nonce and last second.
struct Permit {
    address owner;
    uint256 nonce;
    uint256 deadline;
}

/// The proxy's calls and errors; `docs/program.md` is their specification.
interface IExecutionProxy {
    /// Runs the program with the caller's allowances and ether.
    /// @return received what the recipient gained of each output, atomic units
    function execute(Order calldata order, bytes calldata program) external payable returns (uint256[] memory received);

    /// Runs the program with the owner's ERC-20 inputs, moved by one Permit2 signature that binds the order and the program.
    /// @return received what the recipient gained of each output, atomic units
    function executeWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) external payable returns (uint256[] memory received);

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
    error InputNotTaken(uint256 step, address pool, uint256 left);
    error UnexpectedEther(address sender, address expected);

    error TransferFailed(uint256 step, address token, address from, address to, uint256 amount, bytes reason);
    error ApprovalFailed(uint256 step, address token, address spender, uint256 amount, bytes reason);
    error EtherTransferFailed(uint256 step, address to, uint256 amountWei, bytes reason);
    error BalanceUnavailable(address token, bytes reason);
    error OutputBelowMinimum(uint256 index, address token, uint256 got, uint256 expected);
}
