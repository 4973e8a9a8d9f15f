//! Change of liquidity at ticks: `LiquidityMath` of v3-core.

/// Returns the liquidity after crossing a tick: `net` is added while the price rises, subtracted while it falls.
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
