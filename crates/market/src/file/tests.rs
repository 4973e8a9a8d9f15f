use braid_primitives::{Address, B256, Token, U256};
use braid_protocols::{PoolState, Product, uniswap_v2, uniswap_v3};
use serde_json::value::RawValue;

use super::*;

/// Returns a market with a pair and a concentrated pool of USDC and wrapped ether.
fn sample() -> Market {
    let address: Address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48".parse().unwrap();
    let mut tokens = Tokens::new();
    let dollar = tokens.insert(Token { address, symbol: "USDC".into(), name: "USD Coin".into(), decimals: 6 });
    let pool = |byte, product, state| {
        let coins = [dollar, Tokens::WETH].into_iter().collect();
        Pool { key: Address::with_last_byte(byte).into(), product, coins, state }
    };
    let pair = uniswap_v2::State { reserve0: 3_000_000_000_000, reserve1: 10_u128.pow(21), fee_bps: 30 };
    let liquidity = i128::MAX;
    let ticks = [(-60, liquidity), (60, -liquidity)];
    let concentrated = uniswap_v3::State {
        sqrt_price_x96: U256::from(1) << 96,
        tick: 0,
        liquidity: liquidity.unsigned_abs(),
        fee_pips: 3_000,
        fee_protocol: 0x44,
        tick_spacing: 60,
        ticks: ticks.map(|(index, net)| uniswap_v3::Tick::new(index, net, net.unsigned_abs()).unwrap()).into(),
    };
    let block = Block {
        number: 7,
        hash: B256::with_last_byte(7),
        parent_hash: B256::with_last_byte(6),
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1,
        gas_used: 30_000_000,
        gas_limit: 60_000_000,
    };
    let pools = [
        pool(0x11, Product::SushiswapV2, PoolState::UniswapV2(pair)),
        pool(0x12, Product::UniswapV3, PoolState::UniswapV3(concentrated)),
    ];
    Market::new(block, Arc::new(tokens), pools).unwrap()
}

#[test]
fn a_market_comes_back_as_it_was_saved() {
    let market = sample();
    let bytes = market.to_bytes().unwrap();
    let back = Market::from_bytes(&bytes).unwrap();
    assert_eq!(back.block(), market.block());
    assert_eq!(back.pools(), market.pools());
    assert!(back.tokens().iter().eq(market.tokens().iter()));
    assert_eq!(back.to_bytes().unwrap(), bytes, "the same market gives the same bytes");
}

/// Files of earlier versions hold no share of Uniswap V3's protocol.
#[test]
fn a_file_without_a_protocols_share_has_none() {
    let body: Box<RawValue> = unpack(&MARKET, &sample().to_bytes().unwrap()).unwrap();
    let earlier = body.get().replace(r#""fee_protocol":68,"#, "");
    assert!(earlier.len() < body.get().len());
    let market = Market::from_bytes(&pack(&MARKET, &RawValue::from_string(earlier).unwrap()).unwrap()).unwrap();
    let PoolState::UniswapV3(state) = &market.pools()[1].state else { panic!("a V3 pool has a V3 state") };
    assert_eq!(state.fee_protocol, 0);
}

#[test]
fn any_damaged_byte_and_any_cut_is_noticed() {
    let bytes = sample().to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(Market::from_bytes(&damaged).is_err(), "byte {at}");
        assert!(Market::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let expected = bytes.len() as u64;
    assert_eq!(Market::from_bytes(&longer).unwrap_err(), FileError::Length { got: expected + 1, expected });
}

#[test]
fn each_fault_has_its_own_words() {
    let bytes = sample().to_bytes().unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Market::from_bytes(&bytes).unwrap_err()
    };
    assert_eq!(with(0, b'X'), FileError::NotAMarket);
    assert_eq!(with(8, 9), FileError::Version { got: 9, expected: VERSION });
    assert_eq!(with(BODY_AT + 5, !bytes[BODY_AT + 5]), FileError::Checksum);
    let missing = Market::load(Path::new("/nonexistent/market")).unwrap_err();
    assert!(matches!(missing, FileError::Io { .. }));
}

#[test]
fn a_saved_file_replaces_the_old_one_and_leaves_nothing_else() {
    let folder = std::env::temp_dir().join(format!("braid-market-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sample.market");
    fs::write(&path, b"older").unwrap();
    sample().save(&path).unwrap();
    assert_eq!(Market::load(&path).unwrap().pools(), sample().pools());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_file_carries_a_search_and_is_a_market_without_it() {
    let market = sample();
    let search = vec!["pool".to_owned(); 3];
    let bytes = market.to_bytes_with(Some(&search)).unwrap();
    let (back, found) = Market::from_bytes_with::<Vec<String>>(&bytes).unwrap();
    assert_eq!((back.pools(), found), (market.pools(), Some(search)));
    assert_eq!(Market::from_bytes(&bytes).unwrap().pools(), market.pools());
    let plain = market.to_bytes().unwrap();
    assert_eq!(Market::from_bytes_with::<Vec<String>>(&plain).unwrap().1, None);
    assert!(Market::from_bytes_with::<Vec<u64>>(&bytes).is_err(), "another search");
}
