// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

// Native ether, as Fluid writes it.
address constant ETHER = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;

interface ICoin {
    function decimals() external view returns (uint8);
    function balanceOf(address owner) external view returns (uint256);
}

/// Packed words, numbers of a coefficient and an exponent of eight bits, and roots.
library Words {
    function bits(uint256 word, uint256 from, uint256 count) internal pure returns (uint256) {
        return (word >> from) & ((1 << count) - 1);
    }

    /// The number that is packed in so many bits.
    function number(uint256 word, uint256 from, uint256 count) internal pure returns (uint256) {
        uint256 packed = bits(word, from, count);
        return (packed >> 8) << (packed & 0xff);
    }

    /// The word with these bits replaced.
    function put(uint256 word, uint256 from, uint256 count, uint256 value) internal pure returns (uint256) {
        uint256 mask = (1 << count) - 1;
        require(value <= mask, "a value that does not fit");
        return (word & ~(mask << from)) | (value << from);
    }

    /// Rounded down or up to a coefficient of so many bits.
    function pack(uint256 value, uint256 size, bool up) internal pure returns (uint256) {
        uint256 length = _length(value);
        if (length <= size) return value << 8;
        uint256 exponent = length - size;
        uint256 coefficient = value >> exponent;
        if (up && ++coefficient >> size != 0) {
            coefficient >>= 1;
            ++exponent;
        }
        return (coefficient << 8) + exponent;
    }

    function root(uint256 value) internal pure returns (uint256 found) {
        if (value == 0) return 0;
        found = 1 << ((_length(value) + 1) / 2);
        while (true) {
            uint256 next = (found + value / found) / 2;
            if (next >= found) return found;
            found = next;
        }
    }

    function _length(uint256 value) private pure returns (uint256 count) {
        for (uint256 step = 128; step != 0; step /= 2) {
            if (value >> step != 0) {
                value >>= step;
                count += step;
            }
        }
        if (value != 0) ++count;
    }
}

/// Tokens that answer true, or nothing.
library Pay {
    function out(address token, address to, uint256 amount) internal {
        if (token == ETHER) {
            (bool paid,) = to.call{value: amount}("");
            require(paid, "ether refused");
        } else {
            _call(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
        }
    }

    function from(address token, address payer, address to, uint256 amount) internal {
        _call(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", payer, to, amount));
    }

    function _call(address token, bytes memory data) private {
        (bool done, bytes memory answer) = token.call(data);
        require(done && (answer.length == 0 || abi.decode(answer, (bool))), "token refused");
    }
}
