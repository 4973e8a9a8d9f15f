//! Compares MetaMorpho and Vault V2 with a second implementation: Morpho's own JavaScript library, with which
//! `contracts/morpho_second_opinion.mjs` computes random vaults. No package contains the bytecode of either.
//!
//! Compared are the interest of every market by the adaptive curve, losses, fees, and conversions of assets and shares,
//! also months later; and the caps and the liquidity at which a trade is refused. Without Node.js or its package
//! registry, the tests print that and do nothing.

use std::{path::Path, process::Command, sync::Arc, sync::OnceLock};

use alloy_primitives::{Address, B256, U256, keccak256};
use braid_primitives::ExecutionBlock;
use braid_protocols::SwapError;
use braid_protocols::morpho::{Holding, Irm, Market, MetaMorpho, VaultV2, vault_v2::Adapter};
use braid_protocols::vault::EarlierTrades;
use serde_json::Value;

/// Returns the worlds. If they are not available, prints that and returns `None`.
fn worlds() -> Option<&'static Value> {
    static WORLDS: OnceLock<Option<Value>> = OnceLock::new();
    let worlds = WORLDS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts/morpho_second_opinion.mjs");
        let key = keccak256(std::fs::read(&script).unwrap()).to_string();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("morpho-{}.json", &key[2..18]));
        if !file.is_file() {
            let draft = file.with_extension(format!("{}.draft", std::process::id()));
            let run = Command::new("node").arg(script).arg(&draft).output().ok()?;
            if !run.status.success() {
                println!("{}", String::from_utf8_lossy(&run.stderr));
                return None;
            }
            std::fs::rename(draft, &file).unwrap();
        }
        Some(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
    });
    if worlds.is_none() {
        println!("skipped: Morpho's library could not be had here (Node.js and its package registry)");
    }
    worlds.as_ref()
}

fn number<T: std::str::FromStr>(value: &Value) -> T
where
    T::Err: std::fmt::Debug,
{
    value.as_str().unwrap().parse().unwrap()
}

fn list<T>(value: &Value, of: impl Fn(&Value) -> T) -> Arc<[T]> {
    value.as_array().unwrap().iter().map(of).collect()
}

fn holding(value: &Value) -> Holding {
    let irm = match &value["rate_at_target_wad"] {
        Value::Null => Irm::None,
        rate => Irm::AdaptiveCurve { rate_at_target_wad: number(rate) },
    };
    Holding {
        id: B256::ZERO,
        market: Market {
            supply_assets: number(&value["supply_assets"]),
            supply_shares: number(&value["supply_shares"]),
            borrow_assets: number(&value["borrow_assets"]),
            last_update: number(&value["last_update"]),
            fee_wad: number(&value["fee_wad"]),
            irm,
        },
        shares: number(&value["shares"]),
        cap_assets: number(&value["cap"]),
    }
}

fn metamorpho(value: &Value) -> MetaMorpho {
    MetaMorpho {
        total_shares: number(&value["total_shares"]),
        last_total_assets: number(&value["last_total_assets"]),
        lost_assets: value["lost_assets"].as_str().map(|lost| lost.parse().unwrap()),
        fee_wad: number(&value["fee_wad"]),
        virtual_shares: number(&value["virtual_shares"]),
        holdings: list(&value["holdings"], holding),
        supply_queue: list(&value["supply_queue"], |place| u8::try_from(place.as_u64().unwrap()).unwrap()),
        morpho_balance_assets: U256::from(u128::MAX),
    }
}

fn vault_v2(value: &Value) -> VaultV2 {
    let adapter = |value: &Value| match &value["vault"] {
        Value::Null => Adapter::Markets(list(&value["markets"], holding)),
        vault => Adapter::Vault {
            address: Address::ZERO,
            vault: Arc::new(metamorpho(vault)),
            shares: number(&value["shares"]),
            allocated: true,
        },
    };
    VaultV2 {
        total_shares: number(&value["total_shares"]),
        virtual_shares: number(&value["virtual_shares"]),
        total_assets: number(&value["total_assets"]),
        last_update: number(&value["last_update"]),
        max_rate_wad: number(&value["max_rate_wad"]),
        performance_fee_wad: number(&value["performance_fee_wad"]),
        management_fee_wad: number(&value["management_fee_wad"]),
        idle_assets: number(&value["idle_assets"]),
        adapters: list(&value["adapters"], adapter),
        liquidity: None,
        morpho_balance_assets: U256::from(u128::MAX),
        deposits_gated: false,
        redemptions_gated: false,
    }
}

/// The compared trades.
#[derive(Debug, Default)]
struct Tally {
    paid: usize,
    nothing: usize,
    capped: usize,
    illiquid: usize,
}

impl Tally {
    /// Compares a row of the library with our result. The library rounds a vault's assets in a market down where a cap
    /// rounds them up. So within one unit for each market, the model may already refuse a deposit.
    fn judge(&mut self, row: &Value, ours: Result<U256, SwapError>, markets: usize, story: &str) {
        let (deposits, amount, out): (bool, U256, U256) =
            (row["deposits"].as_bool().unwrap(), number(&row["amount"]), number(&row["out"]));
        let limit: U256 = row["limit"].as_str().map_or(U256::MAX, |limit| limit.parse().unwrap());
        let assets = if deposits { amount } else { out };
        match ours {
            Ok(paid) => {
                assert_eq!(paid, out, "{row} {story}");
                assert!(assets <= limit, "{limit} is the limit: {row} {story}");
                self.paid += 1;
            }
            Err(SwapError::ZeroOutput) => {
                assert!(out.is_zero(), "{row} {story}");
                self.nothing += 1;
            }
            Err(SwapError::LimitExceeded { .. }) => {
                assert!(deposits && assets + U256::from(markets) > limit, "{row} {story}");
                self.capped += 1;
            }
            Err(SwapError::InsufficientLiquidity { .. }) => {
                let beyond = assets > limit || amount > number::<U256>(&row["shares"]);
                assert!(!deposits && beyond, "{row} {story}");
                self.illiquid += 1;
            }
            Err(other) => panic!("{other}: {row} {story}"),
        }
    }
}

fn at(row: &Value) -> ExecutionBlock {
    ExecutionBlock { number: 1, timestamp: number(&row["now"]) }
}

#[test]
fn metamorpho_converts_as_morphos_own_library() {
    let Some(worlds) = worlds() else { return };
    let mut tally = Tally::default();
    for world in worlds["metamorpho"].as_array().unwrap() {
        let vault = metamorpho(world);
        for row in world["rows"].as_array().unwrap() {
            let deposits = row["deposits"].as_bool().unwrap();
            let ours = vault.swap(&at(row), EarlierTrades::NONE, deposits, number(&row["amount"]));
            tally.judge(row, ours.map(|(out, ..)| out), vault.holdings.len(), &format!("{vault:?}"));
        }
    }
    println!("MetaMorpho: {tally:?}");
    assert!(tally.paid + tally.capped + tally.illiquid >= 20_000, "{tally:?}");
    assert!(tally.paid > 8_000 && tally.capped > 1_000 && tally.illiquid > 1_000, "{tally:?}");
}

#[test]
fn vault_v2_converts_as_morphos_own_library() {
    let Some(worlds) = worlds() else { return };
    let mut tally = Tally::default();
    for world in worlds["vault_v2"].as_array().unwrap() {
        let vault = vault_v2(world);
        for row in world["rows"].as_array().unwrap() {
            let deposits = row["deposits"].as_bool().unwrap();
            let ours = vault.swap(&at(row), EarlierTrades::NONE, deposits, number(&row["amount"]));
            tally.judge(row, ours.map(|(out, ..)| out), 0, &format!("{vault:?}"));
        }
    }
    println!("Vault V2: {tally:?}");
    assert!(tally.paid + tally.illiquid >= 20_000 && tally.paid > 8_000 && tally.illiquid > 1_000, "{tally:?}");
}
