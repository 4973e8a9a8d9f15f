//! The views that vaults of the several forms are asked.

use alloy_sol_types::sol;

sol! {
    function cooldownDuration() external view returns (uint24);
    function chi() external view returns (uint256);
    function ssr() external view returns (uint256);
    function vsr() external view returns (uint256);
    function depositCap() external view returns (uint256);
    function dsr() external view returns (uint256);
    function rho() external view returns (uint256);
    function vestingAmount() external view returns (uint256);
    function vestingPeriod() external view returns (uint32);
    function lastDistributionTimestamp() external view returns (uint256);
    function lastRewardAmount() external view returns (uint192);
    function lastSync() external view returns (uint32);
    function rewardsCycleEnd() external view returns (uint32);
    function rewardsCycleData() external view returns (uint40 cycleEnd, uint40 lastSync, uint216 rewardCycleAmount);
    function lastRewardsDistribution() external view returns (uint256);
    function storedTotalAssets() external view returns (uint256);
    function maxDistributionPerSecondPerAsset() external view returns (uint256);
    function stUSRAddress() external view returns (address);
    function totalShares() external view returns (uint256);
    function psm() external view returns (address);
    function pocket() external view returns (address);
    function savings() external view returns (address);
    interface Module {
        function savings(address account) external view returns (uint192 saved, uint64 ticks, address referrer, uint32 referralFeePPM);
    }
    function currentTicks() external view returns (uint64);
    function currentRatePPM() external view returns (uint24);
    function nextRatePPM() external view returns (uint24);
    function paused() external view returns (bool);
    function apiVersion() external view returns (string);
    function totalIdle() external view returns (uint256);
    function unlockedShares() external view returns (uint256);
    function profitUnlockingRate() external view returns (uint256);
    function lastProfitUpdate() external view returns (uint256);
    function fullProfitUnlockDate() external view returns (uint256);
    function auto_allocate() external view returns (bool);
    function deposit_limit_module() external view returns (address);
    function withdraw_limit_module() external view returns (address);
}
