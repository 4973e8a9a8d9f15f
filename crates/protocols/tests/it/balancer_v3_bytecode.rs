//! Compares Balancer V3's pools with their own code: the real vault, fee controller and factories, compiled from their
//! packages.

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{After, Discovered, Pool, PoolState, Product, balancer::v3::VAULT};

use crate::support::{
    balancer_v3::{FILLER, WINDOWS_SECONDS, place_vault, wad},
    chain::{Chain, OWNER, read_state},
    random::Random,
};

sol! {
    struct TokenConfig { address token; uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct Roles { address pauseManager; address swapFeeManager; address poolCreator; }
    interface IWeighted {
        function create(
            string name, string symbol, TokenConfig[] tokens, uint256[] weights, Roles roles, uint256 fee, address hooks,
            bool donations, bool onlyProportional, bytes32 salt
        ) external returns (address);
    }
    interface IStable {
        function create(
            string name, string symbol, TokenConfig[] tokens, uint256 amp, Roles roles, uint256 fee, address hooks,
            bool donations, bool onlyProportional, bytes32 salt
        ) external returns (address);
        function startAmplificationParameterUpdate(uint256 rawEndValue, uint256 endTime) external;
    }
    function fill(address pool, address[] tokens, uint256[] amounts) external;
    function swap(address pool, address tokenIn, address tokenOut, uint256 amount) external returns (uint256 amountOut);
    function pausePool(address pool) external;
}

const START: u64 = 1_700_000_000;
const DECIMALS: [u8; 10] = [18, 18, 6, 8, 18, 2, 0, 18, 6, 18];

fn factory(product: Product) -> (&'static str, Address) {
    if product == Product::BalancerV3Weighted {
        ("BalancerV3Weighted", address!("332694ef46D880DF6eA9593E04CB8abeE5f81d99"))
    } else {
        ("BalancerV3Stable", address!("4eFCd8BcE8ac9B94bD76648e2c85beF6C40f3228"))
    }
}

fn coin(index: usize) -> Address {
    Address::repeat_byte(0x20 + index as u8)
}

/// Returns the address of a rate provider, which answers every call with its first word of storage.
fn provider(index: usize) -> Address {
    Address::repeat_byte(0x60 + index as u8)
}

struct World {
    chain: Chain,
    random: Random,
    now: u64,
    rates: [U256; DECIMALS.len()],
    pools: u64,
}

impl World {
    fn new(product: Product, seed: u64) -> Self {
        let mut chain = Chain::new();
        chain.set_block(1, START);
        place_vault(&mut chain);
        let window = U256::from(WINDOWS_SECONDS[0]);
        let (name, address) = factory(product);
        chain.place(address, name, &(VAULT, window, String::new(), String::new()).abi_encode_params());
        for (index, decimals) in DECIMALS.iter().enumerate() {
            chain.place(coin(index), "AssetOf", &U256::from(*decimals).abi_encode());
            chain.set_balance(coin(index), OWNER, U256::ONE << 200);
            chain.set_code(provider(index), Bytes::from_static(&[0x5f, 0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]));
        }
        let mut world =
            Self { chain, random: Random::new(seed), now: START, rates: [wad(100); DECIMALS.len()], pools: 0 };
        world.move_rates();
        world
    }

    fn at(&mut self, now: u64) -> ExecutionBlock {
        self.now = now;
        self.chain.set_block(1, now);
        ExecutionBlock { number: 1, timestamp: now }
    }

    /// Changes the rates. They mostly grow, sometimes fall, and are sometimes whole numbers.
    fn move_rates(&mut self) {
        for index in 0..DECIMALS.len() {
            let rate = self.rates[index];
            self.rates[index] = match self.random.below(8) {
                0 => wad(100 * (1 + self.random.below(3))),
                1 => rate - self.random.up_to(rate / U256::from(50)),
                2 => wad(50) + self.random.up_to(wad(250)),
                _ => rate + self.random.up_to(rate / U256::from(200)),
            };
            self.chain.set_storage(provider(index), 0, self.rates[index]);
        }
    }

    fn create(&mut self, product: Product) -> Discovered {
        let weighted = product == Product::BalancerV3Weighted;
        let random = &mut self.random;
        let count = 2 + random.below(if weighted { 7 } else { 4 }) as usize;
        let mut places: Vec<usize> = (0..DECIMALS.len()).collect();
        while places.len() > count {
            places.remove(random.below(places.len() as u64) as usize);
        }
        let config = |place: &usize| {
            let rated = random.below(3) > 0;
            TokenConfig {
                token: coin(*place),
                tokenType: u8::from(rated),
                rateProvider: if rated { provider(*place) } else { Address::ZERO },
                paysYieldFees: rated && random.coin(),
            }
        };
        let tokens = places.iter().map(config).collect();
        let mut weights: Vec<u64> = vec![100 / count as u64; count];
        if random.coin() {
            weights = (0..count).map(|_| 1 + random.below(100 / count as u64)).collect();
        }
        weights[0] += 100 - weights.iter().sum::<u64>();
        let weights = weights.into_iter().map(wad).collect();
        let least = U256::from(10).pow(U256::from(13));
        let most = if random.coin() { wad(1) } else { wad(10) };
        let fee = least + random.up_to(most - least);
        let most = if random.coin() { 20 } else { 5_000 };
        let amp = U256::from(1 + random.below(most));
        let roles = Roles { pauseManager: OWNER, swapFeeManager: OWNER, poolCreator: Address::ZERO };
        self.pools += 1;
        let salt: B256 = keccak256(self.pools.to_be_bytes());
        let (name, symbol, hooks) = (String::new(), String::new(), Address::ZERO);
        let (donations, only) = (false, false);
        let data = if weighted {
            IWeighted::createCall {
                name,
                symbol,
                tokens,
                weights,
                roles,
                fee,
                hooks,
                donations,
                onlyProportional: only,
                salt,
            }
            .abi_encode()
        } else {
            IStable::createCall {
                name,
                symbol,
                tokens,
                amp,
                roles,
                fee,
                hooks,
                donations,
                onlyProportional: only,
                salt,
            }
            .abi_encode()
        };
        let done = self.chain.send_data(factory(product).1, data.into()).unwrap();
        let record = Product::BalancerV3Weighted;
        let source = record.sources()[0];
        let announced = done.logs.iter().find(|log| log.topics().first() == Some(&source.topic0)).unwrap();
        assert_eq!(announced.address, source.emitter);
        let found = record.discover(announced).unwrap();
        assert_eq!((found.product, found.key.contract), (product, Address::abi_decode(&done.output).unwrap()));
        found
    }

    fn fill(&mut self, found: &Discovered, level: u64) -> bool {
        let amounts = found.coins.iter().map(|token| {
            let place = (0..DECIMALS.len()).find(|place| coin(*place) == *token).unwrap();
            let whole = self.random.log_uniform_between(level, level + 5);
            let some = whole * U256::from(10).pow(U256::from(DECIMALS[place]));
            some + self.random.up_to(some)
        });
        let call = fillCall { pool: found.key.contract, amounts: amounts.collect(), tokens: found.coins.clone() };
        self.chain.send(FILLER, &call).is_ok()
    }

    fn read(&mut self, found: &Discovered) -> Pool {
        let state = read_state(&mut self.chain, found.product, found);
        let coins = (0..found.coins.len()).map(|index| TokenId(index as u32)).collect();
        Pool { key: found.key, product: found.product, coins, state }
    }

    fn vault(&mut self, found: &Discovered, trade: (u8, u8, U256), keep: bool) -> Option<U256> {
        let (coin_in, coin_out, amount) = trade;
        let call = swapCall {
            pool: found.key.contract,
            tokenIn: found.coins[usize::from(coin_in)],
            tokenOut: found.coins[usize::from(coin_out)],
            amount,
        };
        let data: Bytes = call.abi_encode().into();
        let done = if keep { self.chain.send_data(FILLER, data) } else { self.chain.try_data(FILLER, data) };
        done.ok().map(|done| U256::from_be_slice(&done.output)).filter(|out| !out.is_zero())
    }

    fn trade(&mut self, pool: &Pool) -> (u8, u8, U256) {
        let count = pool.coins.len() as u64;
        let coin_in = self.random.below(count);
        let coin_out = (coin_in + 1 + self.random.below(count - 1)) % count;
        let PoolState::BalancerV3(state) = &pool.state else { panic!("not of the vault") };
        let held = state.coins[coin_in as usize].balance;
        let bits = (held.bit_len() as u64).saturating_sub(u64::from(self.random.below(4) > 0) * 2);
        (coin_in as u8, coin_out as u8, self.random.log_uniform(bits.max(2)))
    }
}

/// The number of trades of a product that must pay.
fn trades() -> usize {
    if std::env::var_os("LONG").is_some() { 20_000 } else { 160 }
}

/// Creates random pools. Every trade must pay what the model predicts, or both must refuse it. This includes the second
/// of two trades in a row, and trades after time has changed rates and amplification.
fn differential(product: Product, seed: u64) {
    let (mut paid, mut refused) = (0_usize, 0_usize);
    let mut world = World::new(product, seed);
    while paid < trades() {
        let found = world.create(product);
        let level = world.random.below(25);
        if !world.fill(&found, level) {
            continue;
        }
        if product == Product::BalancerV3Stable && world.random.coin() {
            let (to, until) = (1 + world.random.below(5_000), world.now + 86_400 + world.random.below(500_000));
            let call = IStable::startAmplificationParameterUpdateCall {
                rawEndValue: U256::from(to),
                endTime: U256::from(until),
            };
            // The contract refuses a change that is too fast.
            drop(world.chain.send(found.key.contract, &call));
        }
        for _ in 0..6 {
            if world.random.coin() {
                world.move_rates();
            }
            let pool = world.read(&found);
            let later = world.now + world.random.below(40_000);
            let at = world.at(later);
            let mut check = |world: &mut World, before: &After, trade: (u8, u8, U256), keep: bool| {
                let contract = world.vault(&found, trade, false);
                if keep && contract.is_some() {
                    assert_eq!(world.vault(&found, trade, true), contract);
                }
                let model = pool.swap_after(&at, before, trade.0, trade.1, trade.2);
                let said = model.as_ref().ok().map(|swap| swap.amount_out);
                assert_eq!(said, contract, "{product:?} {trade:?} at {later}: {model:?} {pool:?} after {before:?}");
                if contract.is_some() {
                    paid += 1
                } else {
                    refused += 1
                }
                model.ok()
            };
            for _ in 0..3 {
                let trade = world.trade(&pool);
                check(&mut world, &After::Unchanged, trade, false);
            }
            let mut before = After::Unchanged;
            for _ in 0..2 {
                let trade = world.trade(&pool);
                if let Some(swap) = check(&mut world, &before, trade, true) {
                    before = swap.after;
                }
            }
        }
    }
    println!("{product:?}: {paid} paid, {refused} refused");
    assert!(refused > 0 && paid > refused);
}

#[test]
fn weighted_pools_of_the_third_vault_pay_what_the_model_says() {
    differential(Product::BalancerV3Weighted, 71);
}

#[test]
fn stable_pools_of_the_third_vault_pay_what_the_model_says() {
    differential(Product::BalancerV3Stable, 72);
}

#[test]
fn a_paused_pool_pays_nothing() {
    let mut world = World::new(Product::BalancerV3Stable, 73);
    let found = world.create(Product::BalancerV3Stable);
    // The pool is announced but empty.
    let at = world.at(START);
    let empty = world.read(&found);
    assert!(empty.swap(&at, 0, 1, U256::from(1_000_000_000_u64)).is_err());
    assert!(world.fill(&found, 20));
    let trade = (0, 1, U256::from(1_000_000_000_u64));
    assert_eq!(
        world.read(&found).swap(&at, 0, 1, trade.2).ok().map(|swap| swap.amount_out),
        world.vault(&found, trade, false)
    );
    world.chain.send(VAULT, &pausePoolCall { pool: found.key.contract }).unwrap();
    assert!(world.vault(&found, trade, false).is_none());
    assert!(world.read(&found).swap(&at, 0, 1, trade.2).is_err());
}
