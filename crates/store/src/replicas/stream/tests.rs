use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use braid_market::{FileError, Market, Tokens};
use braid_primitives::{B256, Block, Token, TokenId};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};

use super::*;

const TIPS: [u64; 4] = [1, 2, 3, 4];
const AGE: Duration = Duration::from_millis(70);

fn block(number: u8) -> Block {
    Block {
        number: number.into(),
        hash: B256::with_last_byte(number),
        parent_hash: B256::with_last_byte(number.wrapping_sub(1)),
        timestamp: u64::from(number) * 12,
        base_fee_per_gas_wei: 1,
        gas_used: 0,
        gas_limit: 30_000_000,
    }
}

fn tokens(count: u8) -> Arc<Tokens> {
    let mut tokens = Tokens::new();
    for byte in 1..=count {
        let address = Address::with_last_byte(byte);
        tokens.insert(Token { address, symbol: format!("T{byte}"), name: String::new(), decimals: 18 });
    }
    Arc::new(tokens)
}

fn pool(address: u8, reserve: u128) -> Pool {
    Pool {
        key: Address::repeat_byte(address).into(),
        product: Product::UniswapV2,
        coins: [2, u32::from(address) + 2].into_iter().map(TokenId).collect(),
        state: PoolState::UniswapV2(uniswap_v2::State { reserve0: reserve, reserve1: reserve, fee_bps: 30 }),
    }
}

/// Returns a market of two pools, and that of the next block, in which one pool changed and one was added.
fn two_markets() -> [Arc<Market>; 2] {
    let first = Market::new(block(1), tokens(3), [pool(1, 10), pool(2, 10)]).unwrap();
    let second = first.next(block(2), tokens(4), [pool(2, 11), pool(3, 5)]).unwrap();
    [first, second].map(Arc::new)
}

fn findings(sound: &[u8]) -> Arc<Findings> {
    let sound = sound.iter().copied().map(Address::with_last_byte).collect();
    Arc::new(Findings { sound, ..Findings::default() })
}

#[test]
fn whoever_reads_the_snapshot_and_the_entries_has_what_was_told() {
    let [first, second] = two_markets();
    let told = StreamState::new(first, TIPS, findings(&[1, 2]), AGE).unwrap();
    let (read, place) = StreamState::from_snapshot(&told.to_snapshot("here".into()).unwrap()).unwrap();
    assert_eq!(place, "here");
    let (next, entry) = told.next(Arc::clone(&second), [5; 4], findings(&[2, 3]), AGE).unwrap();
    let read = read.after(&entry).unwrap();
    assert_eq!(read.market.digest().unwrap(), second.digest().unwrap());
    assert_eq!(read.market.order_digest(), second.order_digest());
    assert_eq!((read.tips_wei, &read.findings), ([5; 4], &findings(&[2, 3])));
    // Findings that do not change are not sent again.
    let (_, short) = next.next(second, TIPS, Arc::clone(&next.findings), AGE).unwrap();
    assert!(short.len() < entry.len());
    assert_eq!(read.after(&short).unwrap().findings, read.findings);
}

#[test]
fn an_entry_leads_from_one_place_alone() {
    let [first, second] = two_markets();
    let told = StreamState::new(Arc::clone(&first), TIPS, findings(&[]), AGE).unwrap();
    let (_, entry) = told.next(second, TIPS, findings(&[]), AGE).unwrap();
    let other = Market::clone(&first).next(block(1), tokens(3), [pool(1, 11)]).unwrap();
    let elsewhere = StreamState::new(Arc::new(other), TIPS, findings(&[]), AGE).unwrap();
    let error = elsewhere.after(&entry).unwrap_err();
    assert!(matches!(&error, FileError::Body { why } if why.contains("sum")), "{error}");
}

#[test]
fn any_damaged_byte_and_any_cut_of_an_entry_is_noticed() {
    let [first, second] = two_markets();
    let told = StreamState::new(first, TIPS, findings(&[1]), AGE).unwrap();
    let (_, entry) = told.next(second, TIPS, findings(&[2]), AGE).unwrap();
    for at in 0..entry.len() {
        let mut damaged = entry.clone();
        damaged[at] ^= 1;
        assert!(told.after(&damaged).is_err(), "byte {at}");
        assert!(told.after(&entry[..at]).is_err(), "cut at {at}");
    }
    assert!(StreamState::from_snapshot(&entry).is_err(), "an entry is no snapshot");
    assert!(
        StreamState::from_snapshot(&told.market.to_bytes().unwrap()).is_err(),
        "nor is a market file without a place"
    );
}
