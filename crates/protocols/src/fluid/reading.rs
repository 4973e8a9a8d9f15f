//! Reads of the liquidity layer shared by both products, and the layer's relevant logs.

use alloy_primitives::{Address, B256, Log, U256, address, keccak256};
use alloy_sol_types::{SolEvent, SolValue, sol};

use super::layer::Token;
use crate::reading::{MULTICALL3, Reading, Stop};

sol! {
    struct TokenConfig { address token; uint256 fee; uint256 threshold; uint256 maxUtilization; }
    struct UserSupplyConfig { address user; address token; uint8 mode; uint256 expandPercent; uint256 expandDuration; uint256 baseWithdrawalLimit; }
    struct UserBorrowConfig { address user; address token; uint8 mode; uint256 expandPercent; uint256 expandDuration; uint256 baseDebtCeiling; uint256 maxDebtCeiling; }
    struct RateDataV1Params { address token; uint256 kink; uint256 rateAtUtilizationZero; uint256 rateAtUtilizationKink; uint256 rateAtUtilizationMax; }
    struct RateDataV2Params { address token; uint256 kink1; uint256 kink2; uint256 rateAtUtilizationZero; uint256 rateAtUtilizationKink1; uint256 rateAtUtilizationKink2; uint256 rateAtUtilizationMax; }

    event LogOperate(address indexed user, address indexed token, int256 supplyAmount, int256 borrowAmount, address withdrawTo, address borrowTo, uint256 totalAmounts, uint256 exchangePricesAndConfig);
    event LogUpdateExchangePrices(address indexed token, uint256 indexed supplyExchangePrice, uint256 indexed borrowExchangePrice, uint256 borrowRate, uint256 utilization);
    event LogCollectRevenue(address indexed token, uint256 indexed amount);
    event LogChangeStatus(uint256 indexed newStatus);
    event LogUpdateTokenConfigs(TokenConfig[] tokenConfigs);
    event LogUpdateUserSupplyConfigs(UserSupplyConfig[] userSupplyConfigs);
    event LogUpdateUserBorrowConfigs(UserBorrowConfig[] userBorrowConfigs);
    event LogPauseUser(address user, address[] supplyTokens, address[] borrowTokens);
    event LogUnpauseUser(address user, address[] supplyTokens, address[] borrowTokens);
    event LogUpdateRateDataV1s(RateDataV1Params[] tokenRateDatas);
    event LogUpdateRateDataV2s(RateDataV2Params[] tokenRateDatas);
    event LogUpdateUserWithdrawalLimit(address user, address token, uint256 newLimit);

    function readFromStorage(bytes32 slot) external view returns (uint256 result);
    function decimals() external view returns (uint8);
    function balanceOf(address owner) external view returns (uint256);
    function getEthBalance(address owner) external view returns (uint256);
    function balance(address token, address staker) external view returns (uint256 staked);
}

/// Liquidity layer on mainnet. Source: Fluid's deployment list.
pub const LIQUIDITY: Address = address!("52Aa899454998Be5b000Ad077a46Bbe360F4e497");
/// Native ether in Fluid's notation.
pub(super) const ETHER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");

/// Tokens that the layer may stake elsewhere, weETH and weETHs: all that come in, until they go out. Source:
/// `CommonHelpersMainnet`.
const STAKED: [Address; 2] =
    [address!("Cd5fE23C85820F7B72D0926FC9b05b43E359b7ee"), address!("917ceE801a67f933F2e6b33fC0cD1ED2d5909D88")];
/// Contract with the staked tokens, Zircuit's staking pool. Source: `CommonHelpersMainnet.ZIRCUIT`.
const STAKING_POOL: Address = address!("F047ab4c75cebf0eB9ed34Ae2c186f3611aEAfa6");

/// Logs of the layer about one token, which is their first indexed argument (the second of `LogOperate`).
pub(super) const OPERATE: B256 = LogOperate::SIGNATURE_HASH;
pub(super) const EXCHANGE_PRICES_UPDATED: B256 = LogUpdateExchangePrices::SIGNATURE_HASH;
pub(super) const REVENUE_COLLECTED: B256 = LogCollectRevenue::SIGNATURE_HASH;
/// Rare logs of the layer that require a full reading.
pub(super) const STATUS_CHANGED: B256 = LogChangeStatus::SIGNATURE_HASH;
pub(super) const TOKENS_CONFIGURED: B256 = LogUpdateTokenConfigs::SIGNATURE_HASH;
pub(super) const SUPPLY_CONFIGURED: B256 = LogUpdateUserSupplyConfigs::SIGNATURE_HASH;
pub(super) const BORROW_CONFIGURED: B256 = LogUpdateUserBorrowConfigs::SIGNATURE_HASH;
pub(super) const USER_PAUSED: B256 = LogPauseUser::SIGNATURE_HASH;
pub(super) const USER_UNPAUSED: B256 = LogUnpauseUser::SIGNATURE_HASH;
pub(super) const RATES_V1_UPDATED: B256 = LogUpdateRateDataV1s::SIGNATURE_HASH;
pub(super) const RATES_V2_UPDATED: B256 = LogUpdateRateDataV2s::SIGNATURE_HASH;
pub(super) const LIMIT_UPDATED: B256 = LogUpdateUserWithdrawalLimit::SIGNATURE_HASH;

/// Slots of the layer: status, and the mappings by token or by protocol and token. Source: `LiquiditySlotsLink`.
const STATUS: u64 = 1;
const EXCHANGE_PRICES: u64 = 5;
const TOTAL_AMOUNTS: u64 = 7;
const USER_SUPPLY: u64 = 8;
const USER_BORROW: u64 = 9;
const CONFIGS: u64 = 11;
/// Status of the paused layer.
const PAUSED: u64 = 2;

/// Tells whether a log of the layer concerns one of these tokens, or all protocols.
pub(super) fn matters(log: &Log, tokens: &[Address]) -> bool {
    let topics = log.topics();
    let about = |place: usize| topics.get(place).is_some_and(|topic| tokens.contains(&Address::from_word(*topic)));
    match topics.first() {
        Some(&OPERATE) => about(2),
        Some(&EXCHANGE_PRICES_UPDATED | &REVENUE_COLLECTED) => about(1),
        _ => true,
    }
}

/// Computes the slot of a mapping's value.
fn mapped(slot: B256, key: Address) -> B256 {
    keccak256((key, slot).abi_encode())
}

pub(super) fn slot(number: u64) -> B256 {
    B256::from(U256::from(number))
}

/// Reads a word of a contract's storage.
pub(super) fn word(contract: Address, slot: B256, reading: &mut Reading) -> Result<U256, Stop> {
    reading.ask(contract, &readFromStorageCall { slot })
}

/// Reads whether the layer is paused.
pub(super) fn paused(reading: &mut Reading) -> Result<bool, Stop> {
    Ok(word(LIQUIDITY, slot(STATUS), reading)? == U256::from(PAUSED))
}

/// Reads a protocol's supply and debt of a token in the layer, and the token's decimals unless known.
pub(super) fn token(
    token: Address,
    user: Address,
    decimals: Option<u8>,
    reading: &mut Reading,
) -> Result<(Token, u8), Stop> {
    let [exchange_prices, total_amounts, configs] =
        [EXCHANGE_PRICES, TOTAL_AMOUNTS, CONFIGS].map(|number| word(LIQUIDITY, mapped(slot(number), token), reading));
    let [supply, borrow] =
        [USER_SUPPLY, USER_BORROW].map(|number| word(LIQUIDITY, mapped(mapped(slot(number), user), token), reading));
    let held = if token == ETHER {
        reading.ask(MULTICALL3, &getEthBalanceCall { owner: LIQUIDITY })
    } else {
        reading.ask(token, &balanceOfCall { owner: LIQUIDITY })
    };
    let staked = if STAKED.contains(&token) {
        reading.try_ask(STAKING_POOL, &balanceCall { token, staker: LIQUIDITY })
    } else {
        Ok(None)
    };
    let decimals = match decimals {
        Some(known) => known,
        None if token == ETHER => 18,
        None => reading.ask(token, &decimalsCall {})?,
    };
    if !(6..=18).contains(&decimals) {
        return Err(reading.impossible("decimals that the liquidity layer does not list"));
    }
    let (exchange_prices, configs) = (exchange_prices?, configs?);
    // a flag tells whether the token has a limit of its own
    let own = exchange_prices.bit(249);
    let max_utilization = if own { u16::try_from(configs & U256::from(0x3fff)).unwrap_or(10_000) } else { 10_000 };
    let (total_amounts, supply, borrow) = (total_amounts?, supply?, borrow?);
    // a payment comes whole from one of the two: from the stake if the balance is too small
    let held = held?.max(staked?.unwrap_or_default());
    Ok((Token { exchange_prices, total_amounts, max_utilization, supply, borrow, held }, decimals))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;
    use alloy_sol_types::SolCall;

    use super::*;

    /// The layer stakes all weETH, and its own balance is next to nothing. Every swap that pays weETH was refused.
    #[test]
    fn what_the_layer_staked_elsewhere_can_leave_it_too() {
        let pool = Address::repeat_byte(7);
        let held = |asset: Address, [own, staked]: [Option<u64>; 2]| {
            let read = |reading: &mut Reading| token(asset, pool, Some(18), reading).map(|(token, _)| token.held);
            let answers = Reading::calls_of(pool, read).into_iter().map(|call| {
                let answer = match call.data.get(..4)? {
                    view if *view == balanceOfCall::SELECTOR => own,
                    view if *view == balanceCall::SELECTOR => staked,
                    _ => Some(0),
                };
                answer.map(|answer| Bytes::from(U256::from(answer).to_be_bytes_vec()))
            });
            Reading::decode(pool, &answers.collect::<Vec<_>>(), read)
        };
        let [weeth, weeths] = STAKED;
        assert_eq!(held(weeth, [Some(3), Some(900)]), Ok(U256::from(900)));
        assert_eq!(held(weeths, [Some(500), Some(0)]), Ok(U256::from(500)));
        assert_eq!(held(weeth, [Some(3), None]), Ok(U256::from(3)), "no staking pool on this chain");
        assert_eq!(held(Address::repeat_byte(1), [Some(3), Some(900)]), Ok(U256::from(3)), "any other token");
    }
}
