use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, PoolKey, Token, TokenId};
use braid_protocols::{Discovered, Pool, PoolState, Product, uniswap_v2, uniswap_v3};

use super::disk::Disk;
use super::*;
use crate::StoreError;
use mount::Mount;

#[allow(dead_code, reason = "the tests of quotes use the rest")]
#[path = "../../tests/it/quotes/mount.rs"]
mod mount;

fn block(number: u64) -> Block {
    Block {
        number,
        hash: B256::left_padding_from(&number.to_be_bytes()),
        parent_hash: B256::ZERO,
        timestamp: number * 12,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 30_000_000,
    }
}

fn tokens(count: u8) -> Arc<Tokens> {
    let mut tokens = Tokens::new();
    for byte in 1..=count {
        let address = Address::with_last_byte(byte);
        tokens.insert(Token { address, symbol: format!("T{byte}"), name: "a token".into(), decimals: 18 });
    }
    Arc::new(tokens)
}

fn pair(byte: u8, reserve: u128) -> Pool {
    let state = uniswap_v2::State { reserve0: reserve, reserve1: reserve, fee_bps: 30 };
    let coins = [TokenId(2), TokenId(3)].into_iter().collect();
    Pool {
        key: Address::repeat_byte(byte).into(),
        product: Product::UniswapV2,
        coins,
        state: PoolState::UniswapV2(state),
    }
}

fn concentrated(byte: u8) -> Pool {
    let ticks = [(-60, 5i128), (60, -5)].map(|(index, net)| uniswap_v3::Tick::new(index, net, 5).unwrap());
    let state = uniswap_v3::State {
        sqrt_price_x96: braid_primitives::U256::from(1u8) << 96,
        tick: 0,
        liquidity: 5,
        fee_pips: 3_000,
        fee_protocol: 0,
        tick_spacing: 60,
        ticks: Arc::from(ticks),
    };
    Pool { product: Product::UniswapV3, state: PoolState::UniswapV3(state), ..pair(byte, 0) }
}

fn known(byte: u8, announced_at: u64) -> (PoolKey, Option<KnownPool>) {
    let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
    let key = Address::repeat_byte(byte).into();
    let pool = Discovered { key, product: Product::UniswapV2, coins, fee_pips: 0, tick_spacing: 0 };
    (key, Some(KnownPool { pool, announced_at, excluded: None, unproven: false }))
}

/// Returns a market of three pools at block 10.
fn first() -> Change {
    let pools = [pair(1, 10), pair(2, 20), concentrated(3)];
    let span =
        SourceSpan { emitter: Address::ZERO, topic0: B256::ZERO, next_block: 7, last_block: 10, unread: vec![(3, 4)] };
    Change {
        market: Arc::new(Market::new(block(10), tokens(2), pools).unwrap()),
        read: vec![Address::repeat_byte(3).into()],
        known: [known(1, 3), known(2, 4), known(3, 5)].into(),
        sources: vec![span],
        lists: Vec::new(),
        anchors: vec![(2, B256::repeat_byte(2))],
        rolled_back_to: None,
    }
}

/// Returns the block after a change, with one changed pool and one more token.
fn after(change: &Change, byte: u8, reserve: u128) -> Change {
    let next = block(change.market.block().number + 1);
    let market = change.market.next(next, tokens(3), [pair(byte, reserve)]).unwrap();
    Change { market: Arc::new(market), read: Vec::new(), known: BTreeMap::new(), ..change.clone() }
}

fn reopen(dir: &Path) -> Saved {
    match MarketStore::open(dir).unwrap().1 {
        Found::Market(saved) => *saved,
        other => panic!("{other:?}"),
    }
}

fn write(dir: &Path, changes: &[Change]) {
    let (store, _) = MarketStore::open(dir).unwrap();
    for change in changes {
        store.record(change.clone());
        store.flush().unwrap();
        assert!(store.is_healthy());
    }
}

/// Stores a market in a directory.
pub(super) fn write_first(dir: &Path) {
    write(dir, &[first()]);
}

fn same(saved: &Saved, market: &Market) {
    assert_eq!(saved.market.block(), market.block());
    assert!(saved.market.tokens().iter().eq(market.tokens().iter()));
    assert_eq!(saved.market.canonical().to_bytes().unwrap(), market.canonical().to_bytes().unwrap());
}

#[test]
fn what_was_recorded_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(MarketStore::open(dir.path()).unwrap().1, Found::Nothing));
    write(dir.path(), &[first()]);
    let saved = reopen(dir.path());
    same(&saved, &first().market);
    assert_eq!(saved.read, first().read);
    assert_eq!(saved.known, first().known.into_values().flatten().collect::<Vec<_>>());
    assert_eq!(saved.sources, first().sources);
    assert_eq!((saved.journal.len(), saved.anchors), (1, first().anchors));
}

#[test]
fn blocks_changes_roll_backs_and_removals_leave_exactly_the_newest_market() {
    let dir = tempfile::tempdir().unwrap();
    let one = first();
    let two = after(&one, 1, 11);
    let three = after(&two, 4, 40);
    // Block 11 is replaced by another one, in which pool 2 disappears and token 3 does not exist.
    let fork = Block { hash: B256::repeat_byte(9), ..block(11) };
    let market = one.market.without(&[Address::repeat_byte(2).into()]).next(fork, tokens(2), [pair(1, 99)]).unwrap();
    let forked = Change {
        market: Arc::new(market),
        known: [(Address::repeat_byte(2).into(), None), known(5, 11)].into(),
        rolled_back_to: Some(10),
        ..one.clone()
    };
    write(dir.path(), &[one, two, three, forked.clone()]);
    let saved = reopen(dir.path());
    same(&saved, &forked.market);
    assert_eq!(saved.known.iter().map(|known| known.pool.key.contract.0[0]).collect::<Vec<_>>(), [1, 3, 5]);
    let journal: Vec<_> = saved.journal.iter().map(|entry| (entry.number, entry.hash)).collect();
    assert_eq!(journal, [(10, block(10).hash), (11, fork.hash)]);
    let changed: Vec<u8> = saved.journal[1].changed.iter().map(|pool| pool.contract.0[0]).collect();
    assert_eq!(changed, [1, 2, 4], "what either fork changed, since both may be asked about");
}

/// Blocks that were stored together left the journal with the first of them that was replaced, and with them what the
/// others had changed: a deeper reorganisation while the service was stopped did not read those pools again.
#[test]
fn a_replaced_block_leaves_in_the_journal_what_was_stored_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let one = first();
    // Block 11 changes pool 1, and block 12 pool 2. They are stored together, and then only block 12 is replaced.
    let two = after(&one, 1, 11);
    let fork = Block { hash: B256::repeat_byte(9), ..block(12) };
    let market = two.market.next(fork, tokens(3), [pair(4, 40)]).unwrap();
    let forked = Change { market: Arc::new(market), rolled_back_to: Some(11), ..two.clone() };
    write(dir.path(), &[one, after(&two, 2, 22), forked.clone()]);
    let saved = reopen(dir.path());
    same(&saved, &forked.market);
    let journal: Vec<_> = saved.journal.iter().map(|entry| (entry.number, entry.hash)).collect();
    assert_eq!(journal, [(10, block(10).hash), (12, fork.hash)]);
    let changed: Vec<u8> = saved.journal[1].changed.iter().map(|pool| pool.contract.0[0]).collect();
    assert_eq!(changed, [1, 2, 4]);
}

#[test]
fn pools_that_share_a_contract_are_stored_and_removed_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let contract = Address::repeat_byte(7);
    let keys =
        [contract.into(), PoolKey::with_id(contract, B256::ZERO), PoolKey::with_id(contract, B256::repeat_byte(9))];
    let [whole, one, two] = keys.map(|key| Pool { key, ..pair(7, 10) });
    let discovered =
        |key| KnownPool { pool: Discovered { key, ..known(7, 3).1.unwrap().pool }, ..known(7, 3).1.unwrap() };
    let market = Market::new(block(10), tokens(2), [two.clone(), whole, one.clone()]).unwrap();
    let all = Change {
        market: Arc::new(market),
        read: keys.to_vec(),
        known: keys.map(|key| (key, Some(discovered(key)))).into(),
        ..first()
    };
    write(dir.path(), std::slice::from_ref(&all));
    let saved = reopen(dir.path());
    assert_eq!(saved.market.pools().iter().map(|pool| pool.key).collect::<Vec<_>>(), keys, "in the order of keys");
    assert_eq!(saved.known, keys.map(discovered));
    assert_eq!((saved.read, saved.journal[0].changed.clone()), (keys.to_vec(), keys.to_vec()));

    let market = all.market.without(&keys[..2]).next(block(11), tokens(2), []).unwrap();
    let fewer = Change { market: Arc::new(market), read: vec![], known: [(one.key, None)].into(), ..all.clone() };
    write(dir.path(), &[all, fewer]);
    let saved = reopen(dir.path());
    assert_eq!(saved.market.pools(), [Arc::new(two)], "a sibling stays");
    assert_eq!(saved.known, [keys[0], keys[2]].map(discovered));
    assert_eq!(saved.journal[1].changed, keys[..2]);
}

#[test]
fn a_store_that_goes_on_after_a_restart_is_one_that_never_stopped() {
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let changes = [first(), after(&first(), 1, 11), after(&after(&first(), 1, 11), 2, 22)];
    write(whole.path(), &changes);
    for change in &changes {
        write(parts.path(), std::slice::from_ref(change));
    }
    same(&reopen(parts.path()), &reopen(whole.path()).market);
    assert_eq!(reopen(parts.path()).journal, reopen(whole.path()).journal);
}

#[test]
fn no_damaged_byte_ever_changes_what_is_read() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[first(), after(&first(), 1, 11)]);
    let path = dir.path().join(MARKET_FILE);
    let bytes = std::fs::read(&path).unwrap();
    let right = after(&first(), 1, 11).market;
    let mut noticed = 0;
    // The step size is chosen so that every part of a page is damaged at some point. The records are damaged byte by
    // byte. So is the beginning of every page, which describes its format: such damage made the database panic, and
    // ended the process when it was closed.
    let hot = bytes.windows(6).position(|window| window == b"\"T1\",\"").unwrap();
    let heads = (0..bytes.len()).filter(|at| at % 4_096 < 64 && bytes[*at] != 0);
    for at in (0..bytes.len()).step_by(4_099).chain(hot - 40..hot + 40).chain(heads) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        std::fs::write(&path, &damaged).unwrap();
        let (store, found) = MarketStore::open(dir.path()).unwrap();
        match found {
            Found::Market(saved) => same(&saved, &right),
            Found::Unusable(_) => noticed += 1,
            Found::Nothing => panic!("byte {at}: silently begun anew"),
        }
        drop(store);
    }
    assert!(noticed >= 40, "{noticed}");
}

#[test]
fn a_file_that_was_cut_or_is_something_else_is_put_aside_and_named() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[first()]);
    let path = dir.path().join(MARKET_FILE);
    let whole = std::fs::read(&path).unwrap();
    for content in [whole[..whole.len() / 2].to_vec(), b"not a database".to_vec(), vec![0xff; 100_000]] {
        std::fs::write(&path, &content).unwrap();
        let (store, found) = MarketStore::open(dir.path()).unwrap();
        let Found::Unusable(damage) = found else { panic!("{found:?}") };
        assert!(damage.to_string().contains("damaged"), "{damage}");
        assert_eq!(std::fs::read(load::aside(&path)).unwrap(), content, "kept for whoever wants to look");
        store.record(first());
        store.flush().unwrap();
        drop(store);
        same(&reopen(dir.path()), &first().market);
    }
}

#[test]
fn a_database_of_another_layout_is_told_from_a_damaged_one() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[first()]);
    let change_layout = |table: &'static str, key: &[u8], from: &str, to: &str| {
        let mut disk = Disk::open(&dir.path().join(MARKET_FILE)).unwrap();
        disk.rewrite(table, key, |text| text.replace(from, to));
    };
    let refused = || match MarketStore::open(dir.path()).unwrap().1 {
        Found::Unusable(damage @ Damage::Layout { .. }) => damage.to_string(),
        other => panic!("{other:?}"),
    };
    let pool = Address::repeat_byte(1);
    // An unknown field, a missing field, and another meaning of the states.
    change_layout(disk::POOLS, pool.as_slice(), "\"fee_bps\":30", "\"fee_bps\":30,\"tax\":1");
    assert!(refused().contains("another version"));
    write(dir.path(), &[first()]);
    change_layout(disk::POOLS, pool.as_slice(), "reserve1", "reserve_1");
    assert!(refused().contains("another version"));
    write(dir.path(), &[first()]);
    let present = format!("\"states\":{}", braid_protocols::pool::STATE_MEANING);
    change_layout("meta", disk::LAYOUT, &present, "\"states\":0");
    assert!(refused().contains("another version"));
    // What earlier versions left: the number of the last version, and a pool identified by an address.
    write(dir.path(), &[first()]);
    change_layout("meta", disk::LAYOUT, "\"tables\":4", "\"tables\":3");
    assert!(refused().contains("another version"));
    write(dir.path(), &[first()]);
    change_layout(disk::POOLS, pool.as_slice(), "\"key\":", "\"address\":");
    assert!(refused().contains("another version"));
}

/// Earlier versions stored an exclusion without its kind, and no anchors.
#[test]
fn what_an_earlier_version_stored_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let reason = format!("impossible state of {}: no liquidity", Address::repeat_byte(1));
    let excluded = Some(Exclusion { kind: ExclusionKind::Unread, reason });
    let (key, record) = known(1, 3);
    let unread = KnownPool { excluded, ..record.unwrap() };
    write(dir.path(), &[Change { known: [(key, Some(unread.clone()))].into(), ..first() }]);
    assert_eq!(reopen(dir.path()).known, std::slice::from_ref(&unread));
    let mut disk = Disk::open(&dir.path().join(MARKET_FILE)).unwrap();
    disk.rewrite(disk::KNOWN, key.contract.as_slice(), |text| text.replace(",\"left_out_kind\":\"unread\"", ""));
    disk.rewrite("meta", disk::POSITION, |text| format!("{}}}", text.split_once(",\"anchors\"").unwrap().0));
    drop(disk);
    let saved = reopen(dir.path());
    assert_eq!((saved.known, saved.anchors), (vec![unread], vec![]));
}

#[test]
fn the_words_of_earlier_versions_tell_what_may_end_an_exclusion() {
    use ExclusionKind::{Configuration, Floor, Pool, Product as OfProduct, Unread};
    use braid_protocols::DecodeError;
    let address = Address::repeat_byte(9);
    let answered = DecodeError::Call { pool: address, call: "getReserves()", got: "nothing" }.to_string();
    let of_words = |reason: String, coins: usize| {
        let known = known(1, 3).1.unwrap();
        let pool = Discovered { coins: known.pool.coins[..coins].to_vec(), ..known.pool };
        let stored = serde_json::json!({ "pool": pool, "announced_at": 3, "left_out": reason });
        serde_json::from_value::<KnownPool>(stored).unwrap().excluded.unwrap().kind
    };
    for (reason, kind) in [
        (answered.clone(), Unread),
        (DecodeError::AnswerCount { expected: 2, got: 1 }.to_string(), Unread),
        (DecodeError::State { pool: address, what: "no liquidity" }.to_string(), Unread),
        (format!("token {address} has no usable decimals"), Unread),
        ("it holds less ether than the configured floor".into(), Floor),
        ("the configuration denies it".into(), Configuration),
        ("the configuration denies one of its tokens".into(), Configuration),
        ("the configuration does not allow one of its tokens".into(), Configuration),
        ("the configuration denies uniswap_v2".into(), OfProduct(Product::UniswapV2)),
        ("it has 9 coins".into(), Pool),
    ] {
        assert_eq!(of_words(reason.clone(), 2), kind, "{reason}");
    }
    assert_eq!(of_words(answered, 0), Pool, "an entry of a list that could not be described");
}

#[test]
fn how_far_lists_were_read_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let list = |byte: u8, count| ListRecord { keeper: Address::repeat_byte(byte), read: vec![(3, 700), (10, count)] };
    let with = |lists: &[ListRecord]| Change { lists: lists.to_vec(), ..first() };
    write(dir.path(), &[with(&[list(1, 701), list(2, 9)])]);
    assert_eq!(reopen(dir.path()).lists, [list(1, 701), list(2, 9)]);
    write(dir.path(), &[with(&[list(1, 702)])]);
    assert_eq!(reopen(dir.path()).lists, [list(1, 702)], "one grew, one is no longer kept");
}

#[test]
fn a_database_in_use_is_an_error_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let _owner = MarketStore::open(dir.path()).unwrap();
    assert!(matches!(MarketStore::open(dir.path()), Err(StoreError::InUse { .. })));
}

/// A process that was killed, or a full disk, left a file with half a header, which the next start called damaged.
#[test]
fn a_creation_that_failed_is_no_damage() {
    let Some(mount) = Mount::in_memory(4_096) else { return };
    mount.fill(0);
    assert!(MarketStore::open(mount.path()).is_err(), "there is no room for a header");
    mount.empty();
    assert!(matches!(MarketStore::open(mount.path()).unwrap().1, Found::Nothing));
    write(mount.path(), &[first()]);
    same(&reopen(mount.path()), &first().market);
}

#[test]
fn what_is_left_of_a_creation_is_used_again() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("market.redb.next"), [0; 5_000]).unwrap();
    std::fs::write(dir.path().join(MARKET_FILE), []).unwrap();
    write(dir.path(), &[first()]);
    same(&reopen(dir.path()), &first().market);
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [MARKET_FILE], "nothing else stays");
}

#[test]
fn a_restart_on_a_full_disk_takes_up_what_is_there() {
    let Some(mount) = Mount::in_memory(4_096) else { return };
    write(mount.path(), &[first()]);
    mount.fill(0);
    same(&reopen(mount.path()), &first().market);
}

#[test]
fn a_full_disk_is_told_of_and_written_to_once_there_is_room() {
    let Some(mount) = Mount::in_memory(4_096) else { return };
    let (store, _) = MarketStore::open(mount.path()).unwrap();
    store.record(first());
    store.flush().unwrap();
    assert!(store.is_healthy());
    // No room is left for any later block. The blocks must wait, and the newest market must be written in the end.
    mount.fill(0);
    let mut newest = first();
    let mut heights = 0;
    while store.is_healthy() {
        heights += 1;
        assert!(heights < 1_000, "the disk is never full");
        let wide: Vec<Pool> = (4..=200).map(|byte| pair(byte, 10 + heights)).collect();
        let next = newest.market.next(block(newest.market.block().number + 1), tokens(3), wide).unwrap();
        newest = Change { market: Arc::new(next), known: [known(4, 11)].into(), ..newest };
        store.record(newest.clone());
        store.flush().unwrap();
    }
    let three = Change { known: BTreeMap::new(), ..after(&newest, 2, 22) };
    store.record(three.clone());
    store.flush().unwrap();
    assert!(!store.is_healthy() && store.stored_block() < Some(newest.market.block().number));
    mount.empty();
    store.flush().unwrap();
    assert!(store.is_healthy());
    assert_eq!(store.stored_block(), Some(three.market.block().number));
    drop(store);
    let saved = reopen(mount.path());
    same(&saved, &three.market);
    assert!(saved.known.iter().any(|known| known.announced_at == 11), "nothing that waited is lost");
}
