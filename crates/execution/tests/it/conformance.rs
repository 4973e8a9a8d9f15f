//! Checks that every product is complete: it is found and read on the local chain by its own implementation, priced
//! exactly and continuously, encoded as the proxy's page specifies, executed for the quoted amount, and supported by
//! existing evidence.
//!
//! The tests name no product, so they fail for anything that a new one lacks. `docs/internals/adding-a-protocol.md`
//! explains how to add one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use braid_execution::proxy;
use braid_primitives::{Address, ExecutionBlock, TokenId, U256};
use braid_protocols::step::Receivers;
use braid_protocols::{After, Pool, Product, Swap, continuous::PairCurve};

use crate::chain::Chain;
use crate::vaults::trade;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the cells of the table rows whose first cell is in backticks.
fn rows(page: &str) -> BTreeMap<String, Vec<String>> {
    let cells = |line: &str| line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows = page.lines().filter(|line| line.starts_with("| `")).map(cells);
    rows.filter_map(|row: Vec<String>| Some((row.first()?.trim_matches('`').to_owned(), row))).collect()
}

/// Returns the number of bytes of the operands in the page's notation: `pool:address i:u8 j:u8`, or none.
fn operand_bytes(cell: &str) -> usize {
    let sizes = cell.trim_matches('`').split_whitespace().filter_map(|operand| operand.split_once(':'));
    sizes
        .map(|(_, kind)| match kind {
            "address" => 20,
            "bytes32" => 32,
            "u16" => 2,
            "u8" => 1,
            other => panic!("docs/internals/program.md: an operand of kind {other}"),
        })
        .sum()
}

/// Returns one amount for each direction of the pool. Amounts grow by factors of ten. The result is the first that pays
/// more than a hundred thousand times the output of the smallest amount that pays, or else the largest that does not
/// drain the pool. For draining trades a curve is only an upper bound.
pub fn paying(pool: &Pool, at: &ExecutionBlock) -> Vec<(u8, u8, U256, Swap)> {
    let count = u8::try_from(pool.coins.len()).unwrap();
    let mut found = Vec::new();
    for (coin_in, coin_out) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        let ladder = (0..30_u64).map(|k| U256::from(10).pow(U256::from(k)) * U256::from(997));
        let mut pays = ladder.filter_map(|amount| Some((amount, pool.swap(at, coin_in, coin_out, amount).ok()?)));
        // The first amount that pays may be so small that rounding distorts its rate.
        let Some((first, crumb)) = pays.next() else { continue };
        let rate = |amount: U256, out: U256| f64::from(out) / f64::from(amount);
        let spot = rate(first, crumb.amount_out);
        let fair = pays.take_while(|(amount, swap)| rate(*amount, swap.amount_out) > 0.9 * spot);
        let (mut amount, mut swap) = (first, crumb.clone());
        for (larger, paid) in fair {
            (amount, swap) = (larger, paid);
            if swap.amount_out > crumb.amount_out * U256::from(100_000) {
                break;
            }
        }
        found.push((coin_in, coin_out, amount, swap));
    }
    found
}

/// Checks that the exact arithmetic and the curve agree and that neither allocates, that a larger trade pays no less,
/// and that the proxy's page describes the step.
fn check(pool: &Pool, at: &ExecutionBlock, opcodes: &BTreeMap<String, Vec<String>>) -> Vec<(u8, u8, U256)> {
    let product = pool.product.id();
    let trades = paying(pool, at);
    assert!(!trades.is_empty(), "{product}: no trade pays at {}", pool.key.contract);
    for (coin_in, coin_out, amount, swap) in &trades {
        let made = allocation_counter::measure(|| {
            core::hint::black_box(pool.swap(at, *coin_in, *coin_out, *amount)).unwrap();
        });
        assert_eq!(
            made.count_total, 0,
            "{product}: a quote allocates {} bytes at {}",
            made.bytes_total, pool.key.contract
        );
        let out = f64::from(swap.amount_out);
        assert!(swap.gas_units > 5_000, "{product}: {} gas is no step", swap.gas_units);
        if let Ok(more) = pool.swap(at, *coin_in, *coin_out, amount * U256::from(2)) {
            assert!(more.amount_out >= swap.amount_out, "{product}: more in, less out");
        }
        let (low, high) = (coin_in.min(coin_out), coin_in.max(coin_out));
        match PairCurve::of(pool, [*low, *high], at) {
            Some(curve) => {
                let direction = curve.direction(u8::from(coin_in > coin_out));
                let direction =
                    direction.unwrap_or_else(|| panic!("{product}: pays {coin_in} to {coin_out} without a curve"));
                let (mut quoted, given) = (0.0, f64::from(*amount));
                let made = allocation_counter::measure(|| quoted = core::hint::black_box(&direction).quote(given).0);
                assert_eq!(made.count_total, 0, "{product}: a curve allocates {} bytes", made.bytes_total);
                assert!(
                    (quoted / out - 1.0).abs() < 0.001 || out < 1e4,
                    "{product}: {quoted} by the curve, {out} exactly"
                );
            }
            None => assert_eq!(swap.amount_out, *amount, "{product}: no curve, and not one to one"),
        }
        let code = pool.step_code(*coin_in, *coin_out);
        let row = opcodes.get(&format!("{:#04x}", code.opcode));
        let row =
            row.unwrap_or_else(|| panic!("{product}: opcode {:#04x} is not in docs/internals/program.md", code.opcode));
        assert_eq!(code.operands.len(), operand_bytes(&row[2]), "{product}: operands are {}", row[2]);
        let pays_recipient = code.receivers == Receivers::Anyone || code.origin.is_some();
        assert_eq!(pays_recipient, row[3].contains('1'), "{product}: destinations are {}", row[3]);
        assert_eq!(code.receivers != Receivers::Proxy, row[3].contains('2'), "{product}: destinations are {}", row[3]);
        assert_eq!(code.prepayable, row[4].contains("yes"), "{product}: prepayable is {}", row[4]);
    }
    trades.into_iter().map(|(coin_in, coin_out, amount, _)| (coin_in, coin_out, amount)).collect()
}

/// Checks that a pool of a product that stands alone depends only on its own logs. The code that looks for other
/// dependencies skips such products.
fn stands_alone(pool: &Pool) {
    let (product, state) = (pool.product, &pool.state);
    let own = pool.key.id.is_none() && product.listens_to(state).iter().all(|other| *other == pool.key.contract);
    let timeless = !product.reads_each_block(state) && !product.depends_on_time(state);
    let plain = |coin: &TokenId| pool.shares_of(&After::Unchanged, *coin, U256::ONE).is_none();
    let known = product.guessed_as(pool).is_none() && pool.coins.iter().all(plain);
    assert!(own && timeless && known, "{}: {} does not stand alone", product.id(), pool.key);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_product_is_found_read_priced_encoded_and_executed() {
    let mut chain = Chain::start().await;
    let opcodes = rows(&page("docs/internals/program.md"));
    for product in Product::ALL {
        let record = product;
        assert_eq!(record.of_record(), *product, "{}: the record of another product", product.id());
        assert!(Product::named(product.id()).contains(product) && Product::named(product.family()).contains(product));
        // The product of a pool may show only when it is read. Then the products of a family share one announcement.
        let family = Product::named(product.family());
        let says = |product: &Product| {
            let record = product;
            !record.sources().is_empty() || !record.fixed_pools().is_empty()
        };
        let found = family.iter().any(says);
        assert!(found, "{}: nothing says where its pools are", product.id());
        let at = chain.market.block().next();
        let pools: Vec<Pool> =
            chain.market.pools().iter().filter(|pool| pool.product == *product).map(|pool| (**pool).clone()).collect();
        assert!(!pools.is_empty(), "{}: the local chain has no pool of it", product.id());
        if product.stands_alone() {
            pools.iter().for_each(stands_alone);
        }
        for (place, pool) in pools.iter().enumerate() {
            let trades = check(pool, &at, &opcodes);
            // One trade through the router and the proxy for each product.
            let Some((coin_in, coin_out, amount)) = trades.first().copied().filter(|_| place == 0) else { continue };
            let token = |coin: u8| chain.market.tokens().get(pool.coins[usize::from(coin)]).unwrap().address;
            let pair = [token(coin_in), token(coin_out)];
            let fresh = Address::left_padding_from(&[0xc0, u8::try_from(product.index()).unwrap()]);
            let (modelled, used) = trade(&mut chain, pair, amount, &[*product], fresh).await;
            println!("{:<16} {} pools, a first trade: {modelled} gas modelled, {used} used", product.id(), pools.len());
        }
    }
}

#[test]
fn every_step_that_a_product_encodes_is_one_that_the_proxy_has() {
    let dispatch = page("contracts/src/ExecutionProxy.sol") + &page("contracts/src/Run.sol");
    for opcode in rows(&page("docs/internals/program.md")).keys().filter(|opcode| opcode.len() == 4) {
        assert!(dispatch.contains(opcode.as_str()), "docs/internals/program.md has {opcode}, the contract does not");
    }
    assert!(!proxy::address().is_zero());
}

#[test]
fn every_product_names_evidence_that_exists() {
    let table = rows(&page("docs/internals/protocols/README.md"));
    for product in Product::ALL {
        let row = table.get(product.id());
        let row = row.unwrap_or_else(|| panic!("docs/internals/protocols/README.md has no row for `{}`", product.id()));
        let [_, maths, gas] = row.as_slice() else { panic!("{}: three cells, got {row:?}", product.id()) };
        for (what, cell) in [("exact maths", maths), ("gas", gas)] {
            let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            assert!(!named.is_empty(), "{}: no test of its {what}", product.id());
            for test in named {
                let (file, function) = test.split_once("::").unwrap_or_else(|| panic!("{test}: FILE::TEST"));
                assert!(page(file).contains(&format!("fn {function}(")), "{}: {file} has no {function}", product.id());
            }
        }
    }
}
