// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @notice Names a token that the payer gives, and how much of it.
/// @param token ERC-20, or native ether as 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE (ERC-7528)
/// @param amount amount to sell, partner fee included, in atomic units: 1 to 2^128 - 1
struct Input {
    address token;
    uint256 amount;
}

/// @notice Names a token that the recipient gets, and the least of it.
/// @param token ERC-20, or native ether as 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE (ERC-7528)
/// @param minimum least amount that the recipient must gain after the partner fee, in atomic units: at least 1
struct Output {
    address token;
    uint256 minimum;
}

/// @notice States what must hold after the call. If any of it does not hold, the call reverts.
/// @param inputs tokens that the payer gives: one or more
/// @param outputs tokens that the recipient gets: one or more. No token may be twice among inputs, outputs and the program's tokens
/// @param recipient account that gets the outputs and any surplus; neither zero nor the proxy
/// @param deadline last time at which the order may run, in unix seconds
/// @param partner account that gets the partner fee; with a fee, neither zero nor the proxy
/// @param partnerFeeBps partner fee in basis points: 0 to 300
/// @param partnerFeeOnOutput true to take the fee from each output, false to take it from each input
struct Order {
    Input[] inputs;
    Output[] outputs;
    address recipient;
    uint256 deadline;
    address partner;
    uint16 partnerFeeBps;
    bool partnerFeeOnOutput;
}

/// @notice States a swap of one token for another along a path of known pools, without a partner. The path says whether it is a sale, which
/// sells an exact amount, or a purchase, which buys an exact amount.
/// @param tokenIn ERC-20, or native ether as 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE (ERC-7528)
/// @param amountIn in atomic units, 1 to 2^128 - 1. Sale: the amount to sell. Purchase: the most that may be sold
/// @param tokenOut another ERC-20, or native ether
/// @param amountOut in atomic units, at least 1. Sale: the least that the last pool must report as paid. Purchase: the amount that the last
/// pool must pay, at most 2^128 - 1. The recipient's balance is not read: a token that takes a fee on transfers delivers less
/// @param recipient account that gets the output; neither zero nor the proxy
/// @param deadline last time at which the swap may run, in unix seconds
struct Swap {
    address tokenIn;
    uint256 amountIn;
    address tokenOut;
    uint256 amountOut;
    address recipient;
    uint256 deadline;
}

/// @notice States the terms of a Permit2 signature. The spender in the signed message is the proxy.
/// @param owner account that signed and that pays
/// @param nonce unordered nonce of Permit2, which this signature uses up
/// @param deadline last time at which Permit2 accepts the signature, in unix seconds
/// @param sender only account that may send the transaction, or zero for anyone
struct Permit {
    address owner;
    uint256 nonce;
    uint256 deadline;
    address sender;
}

/// @title Execution proxy
/// @notice Swaps tokens along pools in one transaction, for a payer who approves the proxy or signs for Permit2.
/// @dev The specification of programs, paths and amounts is `docs/internals/program.md`. Where an error has a `step`, it is the index of
/// the step, from 0: it is 0 before the first step, and the number of steps when the outputs are paid. `reason` is the revert data of the
/// called contract, at most 512 bytes of it.
interface IExecutionProxy {
    /// @notice Sells the inputs of an order along a program and pays the outputs. The caller pays: ERC-20 inputs by an allowance to the
    /// proxy, native ether with the call. What the program does not spend returns to the caller. Anyone may call.
    /// @dev Reverts with an error of this interface if a term of the order is invalid, if a step fails, or if an output is below its
    /// minimum. The call must send exactly the native ether among the inputs (`ValueMismatch`).
    /// @param order inputs, minimum outputs, recipient, deadline and partner fee
    /// @param program packed steps that are run, as the specification defines them
    /// @return received for each output, in atomic units: the amount paid to the recipient, or the increase of its balance if that is lower
    function execute(Order calldata order, bytes calldata program) external payable returns (uint256[] memory received);

    /// @notice Sells the inputs of an order along a program and pays the outputs. The owner pays: ERC-20 inputs by one Permit2 signature
    /// that covers the order, the program and the sender. Native ether comes with the call. What the program does not spend returns to the
    /// owner, also ether. Only `permit.sender` may call, or anyone if that is zero.
    /// @dev Reverts as `execute` does, and if no input is an ERC-20 (`NothingToPermit`), if the caller is not the named sender
    /// (`WrongSender`), or if Permit2 refuses the signature (with the error of Permit2).
    /// @param order inputs, minimum outputs, recipient, deadline and partner fee
    /// @param program packed steps that are run, as the specification defines them
    /// @param permit owner, nonce, deadline and sender of the signed message
    /// @param signature signature of the owner for Permit2; the witness is the EIP-712 struct hash of `BraidOrder`
    /// @return received for each output, in atomic units: the amount paid to the recipient, or the increase of its balance if that is lower
    function executeWithPermit2(
        Order calldata order,
        bytes calldata program,
        Permit calldata permit,
        bytes calldata signature
    ) external payable returns (uint256[] memory received);

    /// @notice Swaps one token for another along a path of known pools. A sale sells exactly `order.amountIn` for at least
    /// `order.amountOut`. A purchase buys exactly `order.amountOut` for at most `order.amountIn`. The caller pays: an ERC-20 by an
    /// allowance to the proxy, native ether with the call. A purchase returns unused ether to the caller. Anyone may call.
    /// @dev Reverts with an error of this interface if a term of the swap is invalid, if a pool fails, if a sale reports less than the
    /// minimum (`OutputBelowMinimum`), or if a purchase costs more than the maximum (`InputAboveMaximum`, inside `PoolCallFailed` if a
    /// pool's callback asks for it). The call must send `order.amountIn` of native ether if that is the input, otherwise none
    /// (`ValueMismatch`).
    /// @param order tokens, amounts, recipient and deadline
    /// @param path kind of the swap and its pools, as the specification defines them
    /// @return amount in atomic units. Sale: the amount that the last pool reports as paid. Purchase: the amount that was sold
    function swap(Swap calldata order, bytes calldata path) external payable returns (uint256 amount);

    /// @notice Swaps one ERC-20 for another token along a path of known pools, as `swap` does. The owner pays, by one Permit2 signature
    /// that covers the swap, the path and the sender. A purchase takes no more than it costs. Only `permit.sender` may call, or anyone if
    /// that is zero.
    /// @dev Reverts as `swap` does, and if the input is native ether (`NothingToPermit`), if the caller is not the named sender
    /// (`WrongSender`), or if Permit2 refuses the signature (with the error of Permit2).
    /// @param order tokens, amounts, recipient and deadline
    /// @param path kind of the swap and its pools, as the specification defines them
    /// @param permit owner, nonce, deadline and sender of the signed message
    /// @param signature signature of the owner for Permit2; the witness is that of an order of one input, one output and no partner, with
    /// the path as its program
    /// @return amount in atomic units. Sale: the amount that the last pool reports as paid. Purchase: the amount that was sold
    function swapWithPermit2(Swap calldata order, bytes calldata path, Permit calldata permit, bytes calldata signature)
        external
        returns (uint256 amount);

    /// @notice Reports an order that ran.
    /// @param order witness of a signed order: the EIP-712 struct hash of `BraidOrder`. Zero for `execute`
    /// @param payer account that gave the inputs
    /// @param recipient account that got the outputs
    /// @param partner account that the order names for its fee, or zero if there is no fee
    /// @param sold amount that was taken of each input, partner fee included, in atomic units
    /// @param received amount that the recipient gained of each output, in atomic units
    event Executed(
        bytes32 indexed order,
        address indexed payer,
        address recipient,
        address partner,
        uint256[] sold,
        uint256[] received
    );

    /// @notice Reports a swap along a path that ran.
    /// @param order witness of a signed swap: the EIP-712 struct hash of `BraidOrder`. Zero for `swap`
    /// @param payer account that gave the input
    /// @param recipient account that got the output
    /// @param sold amount that was taken of the input, in atomic units
    /// @param received amount that the last pool reports as paid, in atomic units
    event Swapped(bytes32 indexed order, address indexed payer, address recipient, uint256 sold, uint256 received);

    /// @notice Reverts if the call is on another chain than mainnet.
    /// @param got id of the chain
    /// @param expected 1
    error WrongChain(uint256 got, uint256 expected);

    /// @notice Reverts if no function and no callback of the proxy has the selector of the call.
    /// @param selector first four bytes of the calldata
    error UnknownCall(bytes4 selector);

    /// @notice Reverts if the signature names another sender than the caller.
    /// @param got caller
    /// @param expected sender that the signature names
    error WrongSender(address got, address expected);

    /// @notice Reverts if a path is neither a sale nor a purchase.
    /// @param kind first byte of the path
    error UnknownPath(uint256 kind);

    /// @notice Reverts if a hop of a path names a factory that the proxy does not know.
    /// @param step index of the hop, from 0
    /// @param factory number of the factory
    error UnknownFactory(uint256 step, uint256 factory);

    /// @notice Reverts if a purchase costs more than its maximum.
    /// @param got cost, in atomic units of the input
    /// @param maximum `amountIn` of the swap
    error InputAboveMaximum(uint256 got, uint256 maximum);

    /// @notice Reverts if too little gas is left to offer a partner its ether with 30,000 gas.
    error NotEnoughGas();

    /// @notice Reverts if a pool cannot pay, or does not pay, the exact amount that a purchase needs of it.
    /// @param step index of the hop, from 0
    /// @param got amount that the pool paid, or the reserve of a pair that has too little, in atomic units
    /// @param expected amount to be bought, in atomic units
    error OutputMissed(uint256 step, uint256 got, uint256 expected);

    /// @notice Reverts if the proxy is called while an order runs.
    error Reentered();

    /// @notice Reverts if the deadline of an order or a swap has passed.
    /// @param deadline deadline, in unix seconds
    /// @param timestamp time of the block, in unix seconds
    error DeadlinePassed(uint256 deadline, uint256 timestamp);

    /// @notice Reverts if an order has no inputs or no outputs.
    /// @param inputs number of inputs
    /// @param outputs number of outputs
    error EmptyOrder(uint256 inputs, uint256 outputs);

    /// @notice Reverts if an order and its program have too many tokens.
    /// @param got number of tokens; if one list of the order is too long by itself, the bitwise or of the number of inputs and of outputs
    /// @param maximum 255
    error TooManyTokens(uint256 got, uint256 maximum);

    /// @notice Reverts if the recipient is zero or the proxy.
    /// @param recipient recipient of the order or the swap
    error InvalidRecipient(address recipient);

    /// @notice Reverts if the partner of an order with a fee is zero or the proxy.
    /// @param partner partner of the order
    error InvalidPartner(address partner);

    /// @notice Reverts if the partner fee is above its limit.
    /// @param gotBps fee of the order, in basis points
    /// @param maximumBps 300
    error PartnerFeeTooHigh(uint256 gotBps, uint256 maximumBps);

    /// @notice Reverts if the amount of an input is zero or too large.
    /// @param index index of the input, from 0
    /// @param got amount, in atomic units
    /// @param maximum 2^128 - 1
    error InvalidInputAmount(uint256 index, uint256 got, uint256 maximum);

    /// @notice Reverts if the minimum of an output is zero.
    /// @param index index of the output, from 0
    error ZeroMinimum(uint256 index);

    /// @notice Reverts if a token is twice among the inputs, the outputs and the program's tokens.
    /// @param token token
    error DuplicateToken(address token);

    /// @notice Reverts if the ether that the call sends is not the native ether that the order sells.
    /// @param gotWei ether of the call, in wei
    /// @param expectedWei ether that the order sells, in wei
    error ValueMismatch(uint256 gotWei, uint256 expectedWei);

    /// @notice Reverts if an order that pays by signature sells no ERC-20.
    error NothingToPermit();

    /// @notice Reverts if a program or a path ends too early.
    /// @param step index of the step that is cut off, from 0; 0 if the token list or the first bytes are
    /// @param length bytes that are left
    /// @param needed bytes that are needed
    error ProgramTruncated(uint256 step, uint256 length, uint256 needed);

    /// @notice Reverts if no step has the opcode.
    /// @param step index of the step, from 0
    /// @param opcode first byte of the step
    error UnknownOpcode(uint256 step, uint256 opcode);

    /// @notice Reverts if a step names a token that is not in the list of tokens.
    /// @param step index of the step, from 0
    /// @param index index of the token
    /// @param count number of tokens of the order and the program
    error UnknownToken(uint256 step, uint256 index, uint256 count);

    /// @notice Reverts if a step has a token that it cannot trade, or if the token of a prepaid step is not the output of the step before.
    /// @param step index of the step, from 0
    /// @param got token of the step
    /// @param expected token that the step needs; WETH if it cannot trade native ether
    error WrongToken(uint256 step, address got, address expected);

    /// @notice Reverts if the output of a step cannot go where the program says.
    /// @param step index of the step, from 0
    /// @param to destination: 0 the proxy, 1 the recipient, 2 the pool of the next step
    error InvalidDestination(uint256 step, uint256 to);

    /// @notice Reverts if a step pays the pool of the next step, and that step is not a pair that spends all of it.
    /// @param step index of the next step, from 0
    /// @param opcode opcode of the next step
    /// @param share share of the next step, of 2^32
    error NotPrepayable(uint256 step, uint256 opcode, uint256 share);

    /// @notice Reverts if the fee of a pair is too high.
    /// @param step index of the step, from 0
    /// @param gotBps fee of the step, in basis points
    /// @param limitBps 10,000: the fee must be below
    error InvalidFee(uint256 step, uint256 gotBps, uint256 limitBps);

    /// @notice Reverts if a step has nothing to spend.
    /// @param step index of the step, from 0
    /// @param token input token of the step
    error NothingAtHand(uint256 step, address token);

    /// @notice Reverts if the output of a step, the balance of the order in a token, or the amount of a purchase is too large.
    /// @param step index of the step, from 0
    /// @param got amount, in atomic units
    /// @param maximum 2^128 - 1
    error AmountTooLarge(uint256 step, uint256 got, uint256 maximum);

    /// @notice Reverts if a call to a pool, a vault or WETH reverts, or if there is no code at its address.
    /// @param step index of the step, from 0; 2^256 - 1 inside a callback
    /// @param pool contract that was called
    /// @param reason revert data of the contract, at most 512 bytes
    error PoolCallFailed(uint256 step, address pool, bytes reason);

    /// @notice Reverts if the answer of a pool is too short, or has an impossible value.
    /// @param step index of the step, from 0; 2^256 - 1 inside a callback
    /// @param pool contract that was called
    error InvalidPoolAnswer(uint256 step, address pool);

    /// @notice Reverts if a pool returns without having asked for its payment.
    /// @param step index of the step, from 0
    /// @param pool contract that was called
    error CallbackMissing(uint256 step, address pool);

    /// @notice Reverts if a callback comes when no step waits for it, from another contract than the step called, or with other terms.
    /// @param caller contract that called back
    /// @param got hash of the terms of the callback and its caller
    /// @param expected hash that the running step waits for, or zero if none does
    error UnexpectedCallback(address caller, bytes32 got, bytes32 expected);

    /// @notice Reverts if a pool asks for another amount than that of the step.
    /// @param got amount that the pool asks for, in atomic units
    /// @param expected amount of the step, in atomic units
    error CallbackAmountMismatch(uint256 got, uint256 expected);

    /// @notice Reverts if a pool leaves some of its allowance, or a vault some of the shares that it redeems.
    /// @param step index of the step, from 0
    /// @param pool pool or vault
    /// @param left allowance that is left, or the proxy's balance of shares, in atomic units
    error InputNotTaken(uint256 step, address pool, uint256 left);

    /// @notice Reverts if ether comes from another contract than the one that the running step called.
    /// @param sender account that sent the ether
    /// @param expected contract that may send ether, or zero if none may
    error UnexpectedEther(address sender, address expected);

    /// @notice Reverts if the transfer of a token reverts or returns anything but true or nothing, or if there is no code at its address.
    /// @param step index of the step, from 0; the number of steps when the order is settled; 2^256 - 1 inside a callback
    /// @param token token
    /// @param from account that pays
    /// @param to account that is paid
    /// @param amount amount, in atomic units
    /// @param reason revert data of the token, at most 512 bytes
    error TransferFailed(uint256 step, address token, address from, address to, uint256 amount, bytes reason);

    /// @notice Reverts if the approval of a pool reverts or returns anything but true or nothing, or if the token has no code.
    /// @param step index of the step, from 0
    /// @param token token
    /// @param spender pool that is approved
    /// @param amount allowance, in atomic units
    /// @param reason revert data of the token, at most 512 bytes
    error ApprovalFailed(uint256 step, address token, address spender, uint256 amount, bytes reason);

    /// @notice Reverts if an account refuses ether.
    /// @param step index of the step, from 0; the number of steps when the order is settled
    /// @param to account that is paid
    /// @param amountWei amount, in wei
    /// @param reason revert data of the account, at most 512 bytes
    error EtherTransferFailed(uint256 step, address to, uint256 amountWei, bytes reason);

    /// @notice Reverts if a token does not answer `balanceOf` or `allowance`.
    /// @param token token
    /// @param reason revert data of the token, at most 512 bytes
    error BalanceUnavailable(address token, bytes reason);

    /// @notice Reverts if an output is below its minimum.
    /// @param index index of the output, from 0
    /// @param token token of the output
    /// @param got amount that the recipient gained, or, along a path, that the last pool reports as paid, in atomic units
    /// @param expected minimum, in atomic units
    error OutputBelowMinimum(uint256 index, address token, uint256 got, uint256 expected);
}
