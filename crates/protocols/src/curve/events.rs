//! Events of all generations that change the output of swaps. The generations share event names, but not parameter
//! types.

use std::sync::LazyLock;

use alloy_primitives::{B256, keccak256};

/// Signatures of the events.
const EVENTS: [&str; 44] = [
    "TokenExchange(address,int128,uint256,int128,uint256)",
    "TokenExchangeUnderlying(address,int128,uint256,int128,uint256)",
    "TokenExchange(address,uint256,uint256,uint256,uint256)",
    "TokenExchange(address,uint256,uint256,uint256,uint256,uint256,uint256)",
    "AddLiquidity(address,uint256[2],uint256[2],uint256,uint256)",
    "RemoveLiquidity(address,uint256[2],uint256[2],uint256)",
    "RemoveLiquidityImbalance(address,uint256[2],uint256[2],uint256,uint256)",
    "AddLiquidity(address,uint256[3],uint256[3],uint256,uint256)",
    "RemoveLiquidity(address,uint256[3],uint256[3],uint256)",
    "RemoveLiquidityImbalance(address,uint256[3],uint256[3],uint256,uint256)",
    "AddLiquidity(address,uint256[4],uint256[4],uint256,uint256)",
    "RemoveLiquidity(address,uint256[4],uint256[4],uint256)",
    "RemoveLiquidityImbalance(address,uint256[4],uint256[4],uint256,uint256)",
    "AddLiquidity(address,uint256[],uint256[],uint256,uint256)",
    "RemoveLiquidity(address,uint256[],uint256[],uint256)",
    "RemoveLiquidityImbalance(address,uint256[],uint256[],uint256,uint256)",
    "RemoveLiquidityImbalance(address,uint256,uint256[2],uint256,uint256)",
    "AddLiquidity(address,uint256[2],uint256,uint256)",
    "AddLiquidity(address,uint256[2],uint256,uint256,uint256)",
    "AddLiquidity(address,address,uint256[2],uint256,uint256,uint256)",
    "Donation(address,uint256[2])",
    "RemoveLiquidity(address,uint256[2],uint256)",
    "AddLiquidity(address,uint256[3],uint256,uint256)",
    "AddLiquidity(address,uint256[3],uint256,uint256,uint256)",
    "RemoveLiquidity(address,uint256[3],uint256)",
    "RemoveLiquidityOne(address,uint256,uint256)",
    "RemoveLiquidityOne(address,uint256,uint256,uint256)",
    "RemoveLiquidityOne(address,int128,uint256,uint256,uint256)",
    "RemoveLiquidityOne(address,uint256,uint256,uint256,uint256,uint256)",
    "RampA(uint256,uint256,uint256,uint256)",
    "StopRampA(uint256,uint256)",
    "ApplyNewFee(uint256)",
    "ApplyNewFee(uint256,uint256)",
    "NewFee(uint256,uint256)",
    "NewFee(uint256,uint256,uint256)",
    "NewFee(uint256)",
    "NewParameters(uint256,uint256,uint256)",
    "RampAgamma(uint256,uint256,uint256,uint256,uint256,uint256)",
    "StopRampA(uint256,uint256,uint256)",
    "NewParameters(uint256,uint256,uint256,uint256,uint256,uint256)",
    "NewParameters(uint256,uint256,uint256,uint256,uint256,uint256,uint256)",
    "ClaimAdminFee(address,uint256)",
    "ClaimAdminFee(address,uint256[2])",
    "ClaimAdminFee(address,uint256[3])",
];

/// `topic0` of the events.
pub(super) static TOPICS: LazyLock<Vec<B256>> = LazyLock::new(|| EVENTS.iter().map(keccak256).collect());

#[cfg(test)]
mod tests {
    use alloy_primitives::b256;

    use super::*;

    /// What the sources of accepted pools emit when balances, fees or parameters change. A withdrawal in one coin from a
    /// Twocrypto pool on StableSwap maths, and a fee change of a factory pool with a price oracle, have events that no
    /// other generation has.
    #[test]
    fn events_that_one_generation_alone_emits_are_followed() {
        let emitted = [
            ("StableSwap of 2020", "NewParameters(uint256,uint256,uint256)"),
            ("lending pools", "NewFee(uint256,uint256,uint256)"),
            ("factory pools with a price oracle", "ApplyNewFee(uint256)"),
            ("CryptoSwap", "ClaimAdminFee(address,uint256)"),
            ("Twocrypto-NG", "ClaimAdminFee(address,uint256[2])"),
            ("Tricrypto-NG", "ClaimAdminFee(address,uint256[3])"),
            ("Twocrypto v2.1.0d", "RemoveLiquidityImbalance(address,uint256,uint256[2],uint256,uint256)"),
        ];
        for (generation, signature) in emitted {
            assert!(TOPICS.contains(&keccak256(signature)), "{generation}: {signature}");
        }
    }

    /// Checks `topic0` of deposits and donations in the published ABI of Twocrypto v2.1.0d, such as the pools at
    /// 0xD9FF…8373 and 0x83f2…Eb32. Nobody followed them: quotes were stale until the next trade.
    #[test]
    fn a_deposit_into_a_pool_of_yieldbasis_has_a_followed_topic() {
        for topic in [
            b256!("0e1f3c59f25a027e14a3f55c68245d22089c42b1dcd09f123a11d4af3c0d6f72"),
            b256!("c05458c16b884817a70d3d18223db5fe4adb4cb541a5573bef0daae7a6f20542"),
        ] {
            assert!(TOPICS.contains(&topic), "{topic}");
        }
    }
}
