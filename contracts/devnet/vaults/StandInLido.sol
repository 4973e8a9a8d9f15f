// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// @title Stand-in for Lido's stETH on the local chain
/// @notice Our own code with the deployed interface and arithmetic: accounts count shares of the pooled ether, every amount is
/// rounded down on its way to shares and back, and staking has a limit that grows back by the block. Nothing else of Lido is here.
/// `shares` lies at slot 0, as on mainnet. Amounts in wei.
contract StandInLido {
    mapping(address => uint256) private shares;
    mapping(address => mapping(address => uint256)) public allowance;
    uint256 private totalShares;
    uint256 private pooledEther;
    // one word, as the deployed contract packs it
    uint32 private previousBlock;
    uint96 private previousLimit;
    uint32 private growthBlocks;
    uint96 private maxLimit;
    address private immutable maker;
    bool private stakingPaused;
    bool private stopped;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event TransferShares(address indexed from, address indexed to, uint256 sharesValue);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Submitted(address indexed sender, uint256 amount, address referral);
    event StakingPaused();
    event StakingResumed();
    event TokenRebased(
        uint256 indexed reportTimestamp,
        uint256 timeElapsed,
        uint256 preTotalShares,
        uint256 preTotalEther,
        uint256 postTotalShares,
        uint256 postTotalEther,
        uint256 sharesMintedAsFees
    );

    /// @param maker_ who holds every share at the start, reports rebases and pauses
    constructor(address maker_, uint256 shares_, uint256 pooledEther_, uint96 limit, uint32 blocks) {
        maker = maker_;
        (shares[maker_], totalShares, pooledEther) = (shares_, shares_, pooledEther_);
        (previousLimit, maxLimit, growthBlocks) = (limit, limit, blocks);
        previousBlock = uint32(block.number);
    }

    function name() external pure returns (string memory) {
        return "Liquid staked Ether 2.0 (stand-in)";
    }

    function symbol() external pure returns (string memory) {
        return "stETH";
    }

    function decimals() external pure returns (uint8) {
        return 18;
    }

    function submit(address referral) external payable returns (uint256 minted) {
        require(msg.value != 0, "ZERO_DEPOSIT");
        require(!stakingPaused, "STAKING_PAUSED");
        uint256 limit = _currentLimit();
        require(msg.value <= limit, "STAKE_LIMIT");
        (previousLimit, previousBlock) = (uint96(limit - msg.value), uint32(block.number));
        minted = getSharesByPooledEth(msg.value);
        shares[msg.sender] += minted;
        totalShares += minted;
        pooledEther += msg.value;
        emit Submitted(msg.sender, msg.value, referral);
        emit Transfer(address(0), msg.sender, getPooledEthByShares(minted));
        emit TransferShares(address(0), msg.sender, minted);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) {
            require(allowed >= amount, "ALLOWANCE_EXCEEDED");
            allowance[from][msg.sender] = allowed - amount;
            emit Approval(from, msg.sender, allowed - amount);
        }
        _move(from, to, amount);
        return true;
    }

    function transferShares(address to, uint256 moved) external returns (uint256 amount) {
        amount = getPooledEthByShares(moved);
        _moveShares(msg.sender, to, moved, amount);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    /// @notice What an oracle's report does: rewards raise what a share is worth.
    function rebase(uint256 pooledEther_) external {
        require(msg.sender == maker);
        emit TokenRebased(block.timestamp, 86_400, totalShares, pooledEther, totalShares, pooledEther_, 0);
        pooledEther = pooledEther_;
    }

    function setStakingPaused(bool paused) external {
        require(msg.sender == maker);
        stakingPaused = paused;
        if (paused) emit StakingPaused();
        else emit StakingResumed();
    }

    function balanceOf(address account) external view returns (uint256) {
        return getPooledEthByShares(shares[account]);
    }

    function sharesOf(address account) external view returns (uint256) {
        return shares[account];
    }

    function totalSupply() external view returns (uint256) {
        return pooledEther;
    }

    function getTotalPooledEther() external view returns (uint256) {
        return pooledEther;
    }

    function getTotalShares() external view returns (uint256) {
        return totalShares;
    }

    /// Shares that vaults minted: none here.
    function getExternalEther() external pure returns (uint256) {
        return 0;
    }

    function getExternalShares() external pure returns (uint256) {
        return 0;
    }

    function isStopped() external view returns (bool) {
        return stopped;
    }

    function getStakeLimitFullInfo()
        external
        view
        returns (bool, bool, uint256 current, uint256 most, uint256 blocks, uint256 previous, uint256 since)
    {
        return (stakingPaused, true, stakingPaused ? 0 : _currentLimit(), maxLimit, growthBlocks, previousLimit, previousBlock);
    }

    function getSharesByPooledEth(uint256 amount) public view returns (uint256) {
        require(amount < type(uint128).max, "ETH_TOO_LARGE");
        return amount * totalShares / pooledEther;
    }

    function getPooledEthByShares(uint256 amount) public view returns (uint256) {
        require(amount < type(uint128).max, "SHARES_TOO_LARGE");
        return amount * pooledEther / totalShares;
    }

    function _currentLimit() private view returns (uint256) {
        uint256 grown = previousLimit + (block.number - previousBlock) * (maxLimit / growthBlocks);
        return grown < maxLimit ? grown : maxLimit;
    }

    function _move(address from, address to, uint256 amount) private {
        _moveShares(from, to, getSharesByPooledEth(amount), amount);
    }

    function _moveShares(address from, address to, uint256 moved, uint256 amount) private {
        require(to != address(0) && to != address(this), "TRANSFER_TO_NOBODY");
        require(!stopped, "CONTRACT_IS_STOPPED");
        require(moved <= shares[from], "BALANCE_EXCEEDED");
        shares[from] -= moved;
        shares[to] += moved;
        emit Transfer(from, to, amount);
        emit TransferShares(from, to, moved);
    }
}
