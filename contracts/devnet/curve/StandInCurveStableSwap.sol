// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Erc20, OtherShares, OwnShares} from "./Coins.sol";
import {StablePool, Terms} from "./StablePool.sol";

/// Stand-ins for Curve's classic StableSwap pools: the deployed calls and events, the deployed arithmetic in Solidity of ours.
/// What is left out: withdrawals in given amounts, the administrator's calls, receivers other than the caller.
abstract contract ClassicPool is StablePool {
    event TokenExchange(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );
    event RemoveLiquidityOne(address indexed provider, uint256 token_amount, uint256 coin_amount);

    function exchange(int128 i, int128 j, uint256 dx, uint256 min_dy) external payable returns (uint256 dy) {
        dy = _exchange(i, j, dx, min_dy);
        emit TokenExchange(msg.sender, i, dx, j, dy);
        if (_habits.answersNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
    }

    function remove_liquidity_one_coin(uint256 shares, int128 coin, uint256 least) external returns (uint256 amount) {
        amount = _removeOne(shares, coin, least);
        emit RemoveLiquidityOne(msg.sender, shares, amount);
    }
}

/// The first pools count their coins with a sign.
abstract contract SignedPlaces is StablePool {
    function balances(int128 k) external view returns (uint256) {
        return _balances[_place(k)];
    }
}

abstract contract TwoCoins is ClassicPool {
    event AddLiquidity(
        address indexed provider, uint256[2] token_amounts, uint256[2] fees, uint256 invariant, uint256 token_supply
    );
    event RemoveLiquidity(address indexed provider, uint256[2] token_amounts, uint256[2] fees, uint256 token_supply);

    function add_liquidity(uint256[2] calldata amounts, uint256 least) external payable returns (uint256 minted) {
        uint256[] memory fees;
        uint256 invariant;
        (minted, fees, invariant) = _add(_list(amounts), least);
        emit AddLiquidity(msg.sender, amounts, [fees[0], fees[1]], invariant, _supply());
    }

    function remove_liquidity(uint256 shares, uint256[2] calldata least) external {
        uint256[] memory amounts = _remove(shares, _list(least));
        uint256[2] memory none;
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1]], none, _supply());
    }

    function calc_token_amount(uint256[2] calldata amounts, bool deposit) external view returns (uint256) {
        return _estimate(_list(amounts), deposit);
    }

    function _list(uint256[2] calldata given) private pure returns (uint256[] memory list) {
        list = new uint256[](2);
        (list[0], list[1]) = (given[0], given[1]);
    }
}

/// Two coins, shares in a token of their own: stETH's pool, EURS, sETH, LINK.
contract StandInCurveStableSwap2 is TwoCoins, OtherShares {
    constructor(Terms memory terms, address shares) payable StablePool(terms) OtherShares(shares) {}

    function lp_token() external view returns (address) {
        return address(SHARES);
    }
}

/// Two coins, the pool is its own share token: the plain pools of the factory.
contract StandInCurvePlainPool2 is TwoCoins, OwnShares {
    constructor(Terms memory terms, string memory name, string memory symbol)
        payable
        StablePool(terms)
        Erc20(name, symbol)
    {}
}

/// Three coins, shares in a token of their own: 3pool.
contract StandInCurveStableSwap3 is ClassicPool, OtherShares {
    event AddLiquidity(
        address indexed provider, uint256[3] token_amounts, uint256[3] fees, uint256 invariant, uint256 token_supply
    );
    event RemoveLiquidity(address indexed provider, uint256[3] token_amounts, uint256[3] fees, uint256 token_supply);

    constructor(Terms memory terms, address shares) StablePool(terms) OtherShares(shares) {}

    function lp_token() external view returns (address) {
        return address(SHARES);
    }

    /// 3pool's own answers nothing; a caller that wants no answer may ignore this one.
    function add_liquidity(uint256[3] calldata amounts, uint256 least) external payable returns (uint256 minted) {
        uint256[] memory fees;
        uint256 invariant;
        (minted, fees, invariant) = _add(_list(amounts), least);
        emit AddLiquidity(msg.sender, amounts, [fees[0], fees[1], fees[2]], invariant, _supply());
    }

    function remove_liquidity(uint256 shares, uint256[3] calldata least) external {
        uint256[] memory amounts = _remove(shares, _list(least));
        uint256[3] memory none;
        emit RemoveLiquidity(msg.sender, [amounts[0], amounts[1], amounts[2]], none, _supply());
    }

    function calc_token_amount(uint256[3] calldata amounts, bool deposit) external view returns (uint256) {
        return _estimate(_list(amounts), deposit);
    }

    function _list(uint256[3] calldata given) private pure returns (uint256[] memory list) {
        list = new uint256[](3);
        (list[0], list[1], list[2]) = (given[0], given[1], given[2]);
    }
}

/// Two coins, one of the first pools: renBTC's.
contract StandInCurveFirst2 is StandInCurveStableSwap2, SignedPlaces {
    constructor(Terms memory terms, address shares) StandInCurveStableSwap2(terms, shares) {}
}

/// Three coins, one of the first pools: sBTC's.
contract StandInCurveFirst3 is StandInCurveStableSwap3, SignedPlaces {
    constructor(Terms memory terms, address shares) StandInCurveStableSwap3(terms, shares) {}
}
