use std::sync::Arc;

use alloy::{
    primitives::{Bytes, LogData, U256, keccak256},
    sol_types::SolEvent,
};
use braid_market::Tokens;
use braid_primitives::{B256, Token, TokenId};
use braid_protocols::{
    PoolState, Product,
    balancer::{
        v2,
        v3::{self, buffer},
    },
    erc4626, uniswap_v2, uniswap_v3,
    vault::Vault,
};

use super::*;
use crate::testing::block;

alloy::sol! {
    event Sync(uint112 reserve0, uint112 reserve1);
    event VaultBuffersPausedStateChanged(bool paused);
    event Wrap(address indexed wrappedToken, uint256 depositedUnderlying, uint256 mintedShares, bytes32 bufferBalances);
    event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick);
    event Mint(address sender, address indexed owner, int24 indexed tickLower, int24 indexed tickUpper, uint128 amount, uint256 amount0, uint256 amount1);
    event PairCreated(address indexed token0, address indexed token1, address pair, uint256 count);
}

fn address(index: u32) -> Address {
    Address::left_padding_from(&(index + 0x1000).to_be_bytes())
}

fn pool(index: u32, reserve: u128) -> Pool {
    Pool {
        key: address(index).into(),
        product: Product::UniswapV2,
        coins: [TokenId(1), TokenId(2)].into_iter().collect(),
        state: PoolState::UniswapV2(uniswap_v2::State { reserve0: reserve, reserve1: reserve, fee_bps: 30 }),
    }
}

fn market(pools: u32) -> Market {
    let mut tokens = Tokens::new();
    tokens.insert(Token { address: Address::with_last_byte(9), symbol: "T".into(), name: String::new(), decimals: 18 });
    Market::new(block(1), Arc::new(tokens), (0..pools).map(|index| pool(index, 1))).unwrap()
}

fn log(emitter: Address, event: &impl SolEvent) -> Log {
    Log { address: emitter, data: event.encode_log_data() }
}

fn sync(index: u32, reserve: u128) -> Log {
    let reserve = alloy::primitives::aliases::U112::from(reserve);
    log(address(index), &Sync { reserve0: reserve, reserve1: reserve })
}

fn catalog() -> Catalog {
    Catalog::new(Product::ALL)
}

#[test]
fn the_last_log_of_a_pool_decides_and_the_others_stay() {
    let change = apply_logs(&catalog(), &market(3), &BTreeSet::new(), &[sync(2, 7), sync(0, 5), sync(2, 8)]);
    assert_eq!(change.changed, [pool(0, 5), pool(2, 8)], "in the order of ids");
    assert!(change.stale.is_empty());
}

#[test]
fn a_log_that_does_not_decode_makes_its_pool_stale_whatever_follows() {
    let mut broken = sync(1, 7);
    broken.data = LogData::new_unchecked(broken.topics().to_vec(), vec![1, 2, 3].into());
    let change = apply_logs(&catalog(), &market(3), &BTreeSet::new(), &[sync(1, 5), broken, sync(1, 9), sync(0, 4)]);
    assert_eq!(change.stale, BTreeSet::from([address(1).into()]));
    assert_eq!(change.changed, [pool(0, 4)], "nothing is guessed about the stale pool");
}

#[test]
fn an_announcement_is_told_from_a_forged_one() {
    let catalog = catalog();
    let factory = Product::UniswapV2.sources()[0].emitter;
    let event = PairCreated {
        token0: Address::with_last_byte(1),
        token1: Address::with_last_byte(2),
        pair: address(77),
        count: alloy::primitives::U256::from(1),
    };
    let forged = log(Address::with_last_byte(3), &event);
    let change = apply_logs(&catalog, &market(1), &BTreeSet::new(), &[log(factory, &event), forged]);
    assert_eq!(change.announced.iter().map(|pool| pool.key.contract).collect::<Vec<_>>(), [address(77)]);
    assert!(
        change.unknown.contains(&Address::with_last_byte(3).into()),
        "anyone may emit anything; it counts for nothing"
    );
}

/// Returns a buffer of Balancer's vault with these balances of the asset and of the share.
fn buffer_of(wrapped: Address, held: [u64; 2], paused: bool) -> Pool {
    let conversion = erc4626::Conversion::Rate { rate: erc4626::RAY, one: erc4626::RAY };
    let most = U256::MAX;
    let vault = erc4626::State {
        conversion,
        accrual: erc4626::Accrual::None,
        limits: erc4626::Limits {
            max_deposit_assets: most,
            max_redeem_shares: most,
            max_withdraw_assets: most,
            ..erc4626::Limits::NONE
        },
        form: None,
    };
    let state = buffer::State {
        wrapped,
        held: held.map(U256::from),
        paused,
        vault: Vault { product: Product::Erc4626, state: PoolState::Erc4626(Box::new(vault)) },
    };
    Pool {
        key: buffer::key_of(wrapped),
        product: Product::BalancerV3Buffer,
        coins: [TokenId(1), TokenId(2)].into_iter().collect(),
        state: PoolState::BalancerV3Buffer(Arc::new(state)),
    }
}

/// Returns the vault's log of a deposit in a buffer, after which the buffer holds 8 of the asset and 9 of the share.
fn added(wrapped: Address) -> Log {
    let source = Product::BalancerV3Buffer.sources()[0];
    let packed = (U256::from(9) << 128_usize) | U256::from(8);
    let data = [U256::from(1).to_be_bytes::<32>(), [0; 32], packed.to_be_bytes()].concat();
    let topics = vec![source.topic0, wrapped.into_word()];
    Log { address: source.emitter, data: LogData::new_unchecked(topics, data.into()) }
}

#[test]
fn a_log_that_names_an_id_changes_that_pool_alone_and_another_log_all_of_the_contract() {
    let vault = Product::BalancerV3Buffer.sources()[0].emitter;
    let [one, two, three] = [0x51, 0x52, 0x53].map(Address::repeat_byte);
    let pool = buffer_of;
    let before = market(1);
    let pools = [pool(one, [1, 2], false), pool(two, [1, 2], false)];
    let before = before.next(block(2), Arc::clone(before.tokens()), pools).unwrap();

    let change = apply_logs(&catalog(), &before, &BTreeSet::new(), &[added(two), sync(0, 3)]);
    assert_eq!(change.changed, [self::pool(0, 3), pool(two, [8, 9], false)], "a sibling keeps what it holds");
    assert!(change.unknown.is_empty() && change.stale.is_empty());

    let paused = log(vault, &VaultBuffersPausedStateChanged { paused: true });
    let change = apply_logs(&catalog(), &before, &BTreeSet::new(), &[paused]);
    assert_eq!(change.changed, [pool(one, [1, 2], true), pool(two, [1, 2], true)]);

    let wrap = |share| {
        let event = Wrap {
            wrappedToken: share,
            depositedUnderlying: U256::ZERO,
            mintedShares: U256::ZERO,
            bufferBalances: B256::ZERO,
        };
        log(vault, &event)
    };
    let mut broken = wrap(one);
    broken.data = LogData::new_unchecked(broken.topics().to_vec(), vec![1].into());
    let change = apply_logs(&catalog(), &before, &BTreeSet::new(), &[broken]);
    assert_eq!((change.stale, change.changed), (BTreeSet::from([buffer::key_of(one)]), vec![]));

    let change = apply_logs(&catalog(), &before, &BTreeSet::new(), &[wrap(three)]);
    assert!(change.unknown.contains(&buffer::key_of(three)), "it may be one that was left out");
    assert_eq!(change.changed, []);
}

/// An excluded pool of Balancer was read again only every six hours, because its trades are logs of the vault.
#[test]
fn a_pool_that_is_no_pool_of_the_market_is_named_by_the_log_of_its_vault() {
    let pool = Address::repeat_byte(7);
    let swap = |vault: Address, signature: &str, named: B256| {
        let topics = vec![keccak256(signature), named];
        Log { address: vault, data: LogData::new_unchecked(topics, Bytes::new()) }
    };
    let id = B256::right_padding_from(pool.as_slice());
    let of_v2 = swap(v2::VAULT, "Swap(bytes32,address,address,uint256,uint256)", id);
    let signature = "Swap(address,address,address,uint256,uint256,uint256,uint256)";
    let of_v3 = swap(v3::VAULT, signature, pool.into_word());
    let named = |log: Log| {
        let change = apply_logs(&catalog(), &market(1), &BTreeSet::new(), &[log]);
        change.unknown.contains(&pool.into())
    };
    let forged = Log { address: address(5), ..of_v2.clone() };
    assert!(named(of_v2) && named(of_v3));
    assert!(!named(forged), "anyone may emit anything");
}

/// A log that announces a pool may also change it. For a pool in the market it must be applied like other logs.
#[test]
fn an_announcement_of_a_pool_of_the_market_is_applied() {
    let wrapped = Address::repeat_byte(0x55);
    let pool = |held| buffer_of(wrapped, held, false);
    let log = added(wrapped);
    let before = market(1);
    let announced = apply_logs(&catalog(), &before, &BTreeSet::new(), [&log]).announced;
    assert_eq!((announced.len(), announced[0].key), (1, buffer::key_of(wrapped)));
    let after = before.next(block(2), Arc::clone(before.tokens()), [pool([1, 2])]).unwrap();
    let change = apply_logs(&catalog(), &after, &BTreeSet::new(), [&log]);
    assert_eq!((change.announced.len(), change.changed), (0, vec![pool([8, 9])]));
}

#[test]
fn nonsense_of_a_factory_is_counted_and_survived() {
    let source = Product::UniswapV2.sources()[0];
    let nonsense =
        Log { address: source.emitter, data: LogData::new_unchecked(vec![source.topic0], vec![0xff; 7].into()) };
    let change = apply_logs(&catalog(), &market(1), &BTreeSet::new(), &[nonsense, sync(0, 3)]);
    assert_eq!((change.nonsense, change.announced.len()), (1, 0));
    assert_eq!(change.changed, [pool(0, 3)]);
}

#[test]
fn an_unknown_emitter_is_noticed_and_changes_nothing() {
    let change = apply_logs(&catalog(), &market(1), &BTreeSet::new(), &[sync(50, 3)]);
    assert_eq!(change.unknown, BTreeSet::from([address(50).into()]));
    assert!(change.changed.is_empty());
}

/// Returns a concentrated pool at tick 0, with the logs of a swap that moves its price and of a mint.
fn concentrated() -> (Pool, Log, Log) {
    use alloy::primitives::aliases::{I24, U160};
    let tick = |index, net: i128| uniswap_v3::Tick::new(index, net, net.unsigned_abs()).unwrap();
    let state = uniswap_v3::State {
        sqrt_price_x96: U256::ONE << 96,
        tick: 0,
        liquidity: 1_000,
        fee_pips: 3_000,
        fee_protocol: 0,
        tick_spacing: 60,
        ticks: [tick(-600, 1_000), tick(600, -1_000)].into(),
    };
    let pool = Pool { product: Product::UniswapV3, state: PoolState::UniswapV3(state), ..pool(7, 1) };
    let swap = Swap {
        sender: Address::ZERO,
        recipient: Address::ZERO,
        amount0: alloy::primitives::I256::ONE,
        amount1: alloy::primitives::I256::MINUS_ONE,
        sqrtPriceX96: U160::from((U256::ONE << 96) + U256::ONE),
        liquidity: 1_000,
        tick: I24::ZERO,
    };
    let mint = Mint {
        sender: Address::ZERO,
        owner: Address::ZERO,
        tickLower: I24::try_from(-120).unwrap(),
        tickUpper: I24::try_from(120).unwrap(),
        amount: 5,
        amount0: U256::ZERO,
        amount1: U256::ZERO,
    };
    (pool, log(address(7), &swap), log(address(7), &mint))
}

/// Some nodes answer with the state of the block that they are building. Previously, a pool with trades in every block
/// was read again in every block.
#[test]
fn a_pool_that_trades_right_after_it_was_read_is_carried_forward_by_its_logs() {
    let (pool, swap, _) = concentrated();
    let before = market(3);
    let before = before.next(block(2), Arc::clone(before.tokens()), [pool]).unwrap();
    let read = BTreeSet::from([address(1).into(), address(7).into()]);
    let change = apply_logs(&catalog(), &before, &read, &[sync(1, 5), swap.clone(), sync(1, 8)]);
    assert_eq!((change.changed.len(), change.stale.len(), change.doubtful.len()), (2, 0, 0));
    // Applied to the next block's state, the logs give the same state again.
    let ahead = before.next(block(3), Arc::clone(before.tokens()), change.changed.clone()).unwrap();
    assert_eq!(apply_logs(&catalog(), &ahead, &read, &[sync(1, 5), swap, sync(1, 8)]).changed, change.changed);
}

#[test]
fn liquidity_that_came_right_after_its_pool_was_read_is_not_counted_twice() {
    let (pool, _, mint) = concentrated();
    let before = market(1);
    let before = before.next(block(2), Arc::clone(before.tokens()), [pool]).unwrap();
    let carried = apply_logs(&catalog(), &before, &BTreeSet::new(), [&mint]);
    assert_eq!((carried.changed.len(), carried.stale.len()), (1, 0));
    let change = apply_logs(&catalog(), &before, &BTreeSet::from([address(7).into()]), [&mint]);
    assert_eq!((change.changed.len(), change.stale), (0, BTreeSet::from([address(7).into()])));
    assert_eq!(change.doubtful, carried.changed, "what a reading that is right will say");
}
