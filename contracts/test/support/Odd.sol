// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {TestToken} from "./TestToken.sol";

/// Answers every call with so many bytes.
contract Odd {
    uint256 private immutable size;

    constructor(uint256 size_) {
        size = size_;
    }

    fallback() external {
        uint256 length = size;
        assembly ("memory-safe") {
            return(0x80, length)
        }
    }
}

/// A pool of Curve's shape with bad manners: before it trades it makes a call, it takes its input or not, and pays some ether.
contract OddPool {
    TestToken private immutable input;
    TestToken private immutable output;
    address private target;
    bytes private call;
    bool private takes;
    uint256 private etherWei;

    constructor(address input_, address output_) {
        (input, output) = (TestToken(input_), TestToken(output_));
    }

    function callFirst(address target_, bytes calldata call_) external {
        (target, call) = (target_, call_);
    }

    function take() external {
        takes = true;
    }

    function payEther(uint256 amountWei) external {
        etherWei = amountWei;
    }

    /// Sends somebody a wei, whoever asks.
    function spit(address to) external {
        (bool ok,) = to.call{value: 1}("");
        require(ok, "refused");
    }

    function exchange(int128, int128, uint256 dx, uint256) external returns (uint256) {
        if (target != address(0)) {
            (bool done,) = target.call(call);
            require(done, "call");
        }
        if (takes) input.transferFrom(msg.sender, address(this), dx);
        if (etherWei != 0) {
            (bool ok,) = msg.sender.call{value: etherWei}("");
            require(ok, "ether");
        }
        if (address(output) != address(0)) output.transfer(msg.sender, output.balanceOf(address(this)));
        return 1;
    }

    /// Asks for its payment as a pool of V3's shape, and answers one word where two are due.
    function swap(address, bool, int256 amount, uint160, bytes calldata terms) external returns (int256) {
        bytes memory back = abi.encodeWithSignature("uniswapV3SwapCallback(int256,int256,bytes)", amount, amount, terms);
        (bool ok,) = msg.sender.call(back);
        require(ok, "callback");
        return -1;
    }

    receive() external payable {}
}

/// A token with odd answers and odd rules.
contract OddToken is TestToken(18) {
    bytes private answer;
    address private answered;
    address private favourite;
    address private taxed;
    uint256 private kept;

    /// Answers this to an account's own transfers, and to those that it makes for others.
    function answerTransfersOf(address account, bytes calldata answer_) external {
        (answered, answer) = (account, answer_);
    }

    /// This one may always take any amount, whatever an approval says.
    function always(address spender) external {
        favourite = spender;
    }

    function approve(address spender, uint256 amount) external override returns (bool) {
        allowance[msg.sender][spender] = spender == favourite ? type(uint256).max : amount;
        return true;
    }

    /// Keeps so much of every transfer to somebody.
    function tax(address account, uint256 amount) external {
        (taxed, kept) = (account, amount);
    }

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        if (to == taxed) balanceOf[to] -= kept;
    }

    function burn(address holder) external {
        balanceOf[holder] = 0;
    }

    function transfer(address to, uint256 amount) external override returns (bool) {
        _move(msg.sender, to, amount);
        return _answer();
    }

    function transferFrom(address from, address to, uint256 amount) external override returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - amount;
        _move(from, to, amount);
        return _answer();
    }

    function _answer() private view returns (bool) {
        if (msg.sender != answered) return true;
        bytes memory data = answer;
        assembly ("memory-safe") {
            return(add(data, 0x20), mload(data))
        }
    }
}

/// A pool of V3's shape that asks for its payment by a name of its choice, and pays what it has.
contract NamedPool {
    bytes4 private immutable name;
    TestToken private immutable output;

    constructor(bytes4 name_, address output_) {
        (name, output) = (name_, TestToken(output_));
    }

    function swap(address to, bool, int256 amount, uint160, bytes calldata terms) external returns (int256, int256) {
        (bool ok, bytes memory reason) = msg.sender.call(abi.encodeWithSelector(name, amount, amount, terms));
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
        uint256 all = output.balanceOf(address(this));
        output.transfer(to, all);
        return (-int256(all), -int256(all));
    }
}
