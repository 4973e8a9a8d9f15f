// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

// Native ether's place among a pool's coins.
address constant ETHER = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;

interface ICoin {
    function balanceOf(address owner) external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
}

/// Moves coins as the deployed pools do: by allowance, ether with the call; some tokens answer nothing.
library Coins {
    function pull(address coin, uint256 amount) internal {
        if (coin == ETHER) {
            require(msg.value == amount, "ether must come with the call");
        } else {
            _call(
                coin,
                abi.encodeWithSignature("transferFrom(address,address,uint256)", msg.sender, address(this), amount)
            );
        }
    }

    function push(address coin, address to, uint256 amount) internal {
        if (coin == ETHER) {
            (bool ok,) = to.call{value: amount}("");
            require(ok, "ether was refused");
        } else {
            _call(coin, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
        }
    }

    function allow(address coin, address spender) internal {
        if (coin != ETHER) {
            _call(coin, abi.encodeWithSignature("approve(address,uint256)", spender, type(uint256).max));
        }
    }

    function _call(address coin, bytes memory data) private {
        (bool ok, bytes memory answer) = coin.call(data);
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "a coin could not be moved");
    }
}

/// A pool's shares, 18 decimals: the pool's own, or a token of their own that the pool mints.
abstract contract Shares {
    function _supply() internal view virtual returns (uint256);
    function _mint(address to, uint256 amount) internal virtual;
    function _burn(address from, uint256 amount) internal virtual;
}

/// An ERC-20 with 18 decimals.
abstract contract Erc20 {
    string public name;
    string public symbol;
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed sender, address indexed receiver, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory name_, string memory symbol_) {
        (name, symbol) = (name_, symbol_);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        if (allowance[from][msg.sender] != type(uint256).max) allowance[from][msg.sender] -= value;
        _move(from, to, value);
        return true;
    }

    function _move(address from, address to, uint256 value) internal {
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function _create(address to, uint256 value) internal {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function _destroy(address from, uint256 value) internal {
        balanceOf[from] -= value;
        totalSupply -= value;
        emit Transfer(from, address(0), value);
    }
}

/// Stand-in for the share token of Curve's first pools: whoever is the minter mints and burns.
contract StandInCurveToken is Erc20 {
    address public minter;

    constructor(string memory name_, string memory symbol_, address minter_) Erc20(name_, symbol_) {
        minter = minter_;
    }

    function mint(address to, uint256 value) external returns (bool) {
        require(msg.sender == minter, "only the minter");
        _create(to, value);
        return true;
    }

    function burnFrom(address from, uint256 value) external returns (bool) {
        require(msg.sender == minter, "only the minter");
        _destroy(from, value);
        return true;
    }
}

/// The pool is its own share token.
abstract contract OwnShares is Shares, Erc20 {
    function _supply() internal view override returns (uint256) {
        return totalSupply;
    }

    function _mint(address to, uint256 amount) internal override {
        _create(to, amount);
    }

    function _burn(address from, uint256 amount) internal override {
        _destroy(from, amount);
    }
}

/// The shares are a `StandInCurveToken` whose minter is the pool.
abstract contract OtherShares is Shares {
    StandInCurveToken internal immutable SHARES;

    constructor(address shares) {
        SHARES = StandInCurveToken(shares);
    }

    function _supply() internal view override returns (uint256) {
        return SHARES.totalSupply();
    }

    function _mint(address to, uint256 amount) internal override {
        SHARES.mint(to, amount);
    }

    function _burn(address from, uint256 amount) internal override {
        SHARES.burnFrom(from, amount);
    }
}
