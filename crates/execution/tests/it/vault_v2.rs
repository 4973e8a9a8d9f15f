//! Tests of Vault V2 on a local chain. At the next timestamp the recipient must receive what was quoted for it, to the
//! wei, also after a day of interest. The modelled gas must be that of the receipts.

use braid_devnet::{accounts::OTHER, addresses as at, tokens};
use braid_primitives::{Address, U256};
use braid_protocols::{Product, SwapError};
use serde_json::json;

use crate::chain::Chain;
use crate::shared;
use crate::vaults::trade;

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;
const E18: u128 = 1_000_000_000_000_000_000;

const CASES: [(&str, &str, u128); 4] = [
    ("USDC", "v2USDC", 1_234_567_891_234),
    // Less than the idle balance, and more.
    ("v2USDC", "USDC", 1_234_567 * E18 + 89),
    ("v2USDC", "USDC", 65_432_109 * E18 + 87),
    ("USDC", "v2USDC", 77),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vault_v2_pays_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2_u8 {
        for (place, (sold, bought, amount)) in (0_u8..).zip(CASES) {
            let pair = [sold, bought].map(|symbol| tokens::by_symbol(symbol).address);
            let fresh = Address::repeat_byte(0x90 + 16 * day + place);
            trade(&mut chain, pair, U256::from(amount), &[Product::MorphoVaultV2], fresh).await;
            let (modelled, used) = trade(&mut chain, pair, U256::from(amount), &[Product::MorphoVaultV2], OTHER).await;
            let error = modelled as f64 / used as f64 - 1.0;
            let row = format!("{sold:>8} → {bought:<8} {modelled:>7} modelled {used:>7} used {:>6.1}%", error * 100.0);
            println!("{row}");
            if error.abs() > TOLERANCE {
                off.push(row);
            }
        }
        chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
        chain.rpc("evm_mine", json!([])).await;
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

#[test]
fn a_vault_v2_that_is_asked_for_too_much_says_so() {
    let chain = &shared::unused().chain;
    let vault = chain.market.pools().iter().find(|pool| pool.key.contract == at::VAULT_V2_USDC).unwrap();
    let next = chain.market.block().next();
    let dollars = |whole: u64| U256::from(whole) * U256::from(1_000_000_u64);
    let over = vault.swap(&next, 0, 1, dollars(5_000_000_000));
    assert!(matches!(over, Err(SwapError::LimitExceeded { .. })), "{over:?}");
    // The liquidity market has 1.5 billion, of which a little is borrowed.
    let shares = U256::from(1_900_000_000_u64) * U256::from(E18);
    let short = vault.swap(&next, 1, 0, shares);
    assert!(matches!(short, Err(SwapError::InsufficientLiquidity { .. })), "{short:?}");
}
