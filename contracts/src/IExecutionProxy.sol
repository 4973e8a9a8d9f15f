// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

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

/// One token sold for one other along a path of pools whose factories vouch for them, without a partner.
/// @param tokenIn ERC-20, or native ether at 0xEeee…
/// @param amountIn atomic units, 1 to 2^128 - 1: what is sold, or of a purchase the most that may be sold
/// @param tokenOut another ERC-20, or native ether
/// @param amountOut atomic units, at least 1: the least that the recipient gains, or of a purchase what he gains
/// @param recipient who gains the output
/// @param deadline the last unix second at which the swap may run
struct Swap {
    address tokenIn;
    uint256 amountIn;
    address tokenOut;
    uint256 amountOut;
    address recipient;
    uint256 deadline;
}

/// Whose Permit2 signature pays, its nonce and last second, and who may send it: zero stands for anyone.
struct Permit {
    address owner;
    uint256 nonce;
    uint256 deadline;
    address sender;
}

/// The proxy's calls and errors; `docs/internals/program.md` is their specification.
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

    /// Sells exactly `order.amountIn` along a path for at least `order.amountOut`, or, where the path says so, buys exactly
    /// `order.amountOut` for at most `order.amountIn`, out of the caller's allowance or ether. Ether that is not needed comes back.
    /// @return amount what the recipient gained; of a purchase, what was sold; atomic units
    function swap(Swap calldata order, bytes calldata path) external payable returns (uint256 amount);

    /// The same by one Permit2 signature of the owner that binds the swap and the path. No more is taken than is needed.
    /// @return amount what the recipient gained; of a purchase, what was sold; atomic units
    function swapWithPermit2(Swap calldata order, bytes calldata path, Permit calldata permit, bytes calldata signature)
        external
        returns (uint256 amount);

    /// An order ran.
    /// @param order the witness of a signed order; zero where nobody signed, and the transaction itself names it
    /// @param payer who gave the inputs
    /// @param recipient who gained the outputs
    /// @param partner who was to be paid a fee, or zero
    /// @param sold what was taken of each input, fees included, atomic units
    /// @param received what the recipient gained of each output, atomic units
    event Executed(
        bytes32 indexed order,
        address indexed payer,
        address recipient,
        address partner,
        uint256[] sold,
        uint256[] received
    );

    /// A swap along a path ran; the words mean what they mean of an order.
    event Swapped(bytes32 indexed order, address indexed payer, address recipient, uint256 sold, uint256 received);

    error WrongChain(uint256 got, uint256 expected);
    error UnknownCall(bytes4 selector);
    error WrongSender(address got, address expected);
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
    error InputNotTaken(uint256 step, address pool, uint256 left);
    error UnexpectedEther(address sender, address expected);

    error TransferFailed(uint256 step, address token, address from, address to, uint256 amount, bytes reason);
    error ApprovalFailed(uint256 step, address token, address spender, uint256 amount, bytes reason);
    error EtherTransferFailed(uint256 step, address to, uint256 amountWei, bytes reason);
    error BalanceUnavailable(address token, bytes reason);
    error OutputBelowMinimum(uint256 index, address token, uint256 got, uint256 expected);
}
