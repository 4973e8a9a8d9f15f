// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {Test} from "forge-std/Test.sol";

/// Recorded pools and what they paid, where the shared folder is there (`docs/internals/program.md` does not need it; CI may lack it).
abstract contract Vectors is Test {
    string private _file;

    /// Reads a family of pools; false, with a plain message, where it is absent.
    function _open(string memory family) internal returns (bool) {
        string memory path = string.concat("../../shared/vectors/", family, ".json");
        if (!_isThere(path)) {
            emit log_string(string.concat("skipped: no vectors at ", path));
            vm.skip(true);
            return false;
        }
        _file = vm.readFile(path);
        return true;
    }

    /// Where the folder is not there either, forge takes the path for one that nobody may look at.
    function _isThere(string memory path) private returns (bool) {
        try vm.exists(path) returns (bool there) {
            return there;
        } catch {
            return false;
        }
    }

    /// Reads a file of this repository.
    function _openFile(string memory path) internal {
        _file = vm.readFile(path);
    }

    /// The entry's block time, unix seconds.
    function _stamp(uint256 entry) internal view returns (uint256) {
        return vm.parseJsonUint(_file, string.concat(".entries[", vm.toString(entry), "].timestamp"));
    }

    function _flag(uint256 entry, string memory field) internal view returns (bool) {
        return vm.parseJsonBool(_file, _at(entry, field));
    }

    function _at(uint256 entry, string memory field) private pure returns (string memory) {
        return string.concat(".entries[", vm.toString(entry), "].pool.", field);
    }

    function _number(uint256 entry, string memory field) internal view returns (uint256) {
        return vm.parseJsonUint(_file, _at(entry, field));
    }

    function _numberOr(uint256 entry, string memory field, uint256 otherwise) internal view returns (uint256) {
        return vm.keyExistsJson(_file, _at(entry, field)) ? _number(entry, field) : otherwise;
    }

    function _numbers(uint256 entry, string memory field) internal view returns (uint256[] memory) {
        return vm.parseJsonUintArray(_file, _at(entry, field));
    }

    function _rowAt(uint256 entry, uint256 row, string memory field) private pure returns (string memory) {
        return string.concat(".entries[", vm.toString(entry), "].swaps[", vm.toString(row), "].", field);
    }

    function _hasRow(uint256 entry, uint256 row) internal view returns (bool) {
        return vm.keyExistsJson(_file, _rowAt(entry, row, "amount_in"));
    }

    function _cell(uint256 entry, uint256 row, string memory field) internal view returns (uint256) {
        return vm.parseJsonUint(_file, _rowAt(entry, row, field));
    }

    /// Whether the row is of this kind.
    function _isKind(uint256 entry, uint256 row, string memory kind) internal view returns (bool) {
        return keccak256(bytes(vm.parseJsonString(_file, _rowAt(entry, row, "kind")))) == keccak256(bytes(kind));
    }

    /// Whether the row is of this function; names in the files carry remarks behind them.
    function _isOf(uint256 entry, uint256 row, string memory name) internal view returns (bool) {
        bytes memory got = bytes(vm.parseJsonString(_file, _rowAt(entry, row, "fn")));
        bytes memory start = bytes(name);
        if (got.length < start.length || (got.length > start.length && got[start.length] != " ")) return false;
        for (uint256 k; k < start.length; ++k) {
            if (got[k] != start[k]) return false;
        }
        return true;
    }
}
