//! Liquidity gained and lost at ticks: `LiquidityMath` of v3-core.

/// Liquidity after a tick is crossed with the price rising (`net` is added) or falling (`net` is taken away).
///
/// `None` where the contract reverts: below zero or above 128 bits.
pub(super) const fn cross(liquidity: u128, net: i128, falling: bool) -> Option<u128> {
    if falling {
        match net.checked_neg() {
            Some(net) => liquidity.checked_add_signed(net),
            None => None,
        }
    } else {
        liquidity.checked_add_signed(net)
    }
}
