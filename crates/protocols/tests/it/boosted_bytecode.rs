//! Tests of boosted pools, which are stable pools of Balancer V3 that hold shares of vaults, against the code of both.
//! Their rates follow from the vault as time passes. The tests also cover how such pools are read, and which logs
//! change them.

use alloy_primitives::{Address, B256, Bytes, U256, address};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::TokenId;
use braid_protocols::{
    DecodeError, Discovered, Freshness, Pool, PoolState, Product, ReadProgress, StateReader, balancer::v3::VAULT,
};

use crate::{
    buffer_bytecode::world::{Behind, START, World},
    support::{
        balancer_v3::{FILLER, WINDOWS_SECONDS},
        chain::OWNER,
    },
};

sol! {
    struct TokenConfig { address token; uint8 tokenType; address rateProvider; bool paysYieldFees; }
    struct Roles { address pauseManager; address swapFeeManager; address poolCreator; }
    function create(
        string name, string symbol, TokenConfig[] tokens, uint256 amp, Roles roles, uint256 fee, address hooks,
        bool donations, bool onlyProportional, bytes32 salt
    ) external returns (address);
    function fill(address pool, address[] tokens, uint256[] amounts) external;
    function swap(address pool, address tokenIn, address tokenOut, uint256 amount) external returns (uint256 amountOut);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
}

const FACTORY: Address = address!("4eFCd8BcE8ac9B94bD76648e2c85beF6C40f3228");
/// The coin next to the share, which has no rate.
const PLAIN: Address = Address::repeat_byte(0x99);
const PROVIDER: Address = Address::repeat_byte(0x98);

/// A pool of a vault's share and a coin without a rate.
struct Boosted {
    world: World,
    found: Discovered,
    share: Address,
}

impl Boosted {
    fn new(behind: Behind, seed: u64) -> Self {
        let mut world = World::new(behind, seed);
        let [_, share] = behind.coins();
        let chain = &mut world.chain;
        let window = U256::from(WINDOWS_SECONDS[0]);
        let args = (VAULT, window, String::new(), String::new());
        chain.place(FACTORY, "BalancerV3Stable", &args.abi_encode_params());
        chain.place(PLAIN, "AssetOf", &U256::from(18).abi_encode());
        chain.set_balance(PLAIN, OWNER, U256::ONE << 200);
        chain.place(PROVIDER, "StandInErc4626RateProvider", &share.abi_encode());
        let rated = TokenConfig { token: share, tokenType: 1, rateProvider: PROVIDER, paysYieldFees: true };
        let plain = TokenConfig { token: PLAIN, tokenType: 0, rateProvider: Address::ZERO, paysYieldFees: false };
        let tokens = if share < PLAIN { vec![rated, plain] } else { vec![plain, rated] };
        let call = createCall {
            name: String::new(),
            symbol: String::new(),
            tokens,
            amp: U256::from(200),
            roles: Roles { pauseManager: OWNER, swapFeeManager: OWNER, poolCreator: Address::ZERO },
            fee: U256::from(10_000_000_000_000_u64),
            hooks: Address::ZERO,
            donations: false,
            onlyProportional: false,
            salt: B256::with_last_byte(1),
        };
        let done = chain.send(FACTORY, &call).unwrap();
        let record = Product::BalancerV3Stable;
        let topic0 = record.sources()[0].topic0;
        let found = record.discover(done.logs.iter().find(|log| log.topics().first() == Some(&topic0)).unwrap());
        let found = found.unwrap();
        let amounts = vec![U256::ONE << 80; 2];
        let call = fillCall { pool: found.key.contract, tokens: found.coins.clone(), amounts };
        chain.send(FILLER, &call).unwrap();
        Self { world, found, share }
    }

    /// Reads the pool with a reader, and returns it with the number of rounds.
    fn read(&mut self, mut reader: Box<dyn StateReader>) -> Result<(Pool, usize), DecodeError> {
        let mut progress = reader.start();
        let mut rounds = 0;
        let state = loop {
            let calls = match progress {
                ReadProgress::Done(state) => break state,
                ReadProgress::Calls(calls) => calls,
            };
            rounds += 1;
            let answers: Vec<_> = calls.into_iter().map(|call| self.world.chain.answer(call)).collect();
            progress = reader.feed(&answers)?;
        };
        let coins = [TokenId(0), TokenId(1)].into_iter().collect();
        Ok((Pool { key: self.found.key, product: self.found.product, coins, state }, rounds))
    }

    fn fresh(&mut self) -> Pool {
        let reader = self.found.product.reader(&self.found);
        self.read(reader).unwrap().0
    }

    /// Reads the pool as the follower does in each block without logs that concern it.
    fn each_block(&mut self, was: &Pool) -> Result<(Pool, usize), DecodeError> {
        let reader = self.found.product.reader_each_block(&self.found, &was.state);
        self.read(reader)
    }

    /// Returns what the contract pays now.
    fn contract(&mut self, coin_in: u8, amount: U256) -> Option<U256> {
        let [token_in, token_out] = [coin_in, 1 - coin_in].map(|coin| self.found.coins[usize::from(coin)]);
        let call = swapCall { pool: self.found.key.contract, tokenIn: token_in, tokenOut: token_out, amount };
        self.world.chain.try_call(FILLER, &call).ok().map(|done| U256::from_be_slice(&done.output))
    }

    /// Makes a deposit of another account in the vault behind the pool, and returns what the pool concludes from the
    /// logs.
    fn deposit(&mut self, pool: &Pool) -> Vec<Freshness> {
        let [asset, share] = self.world.behind.coins();
        self.world.chain.send(asset, &approveCall { spender: share, amount: U256::MAX }).unwrap();
        let done = self.world.chain.send(share, &depositCall { assets: U256::ONE << 70, receiver: OWNER }).unwrap();
        let record = self.found.product;
        let listens = record.listens_to(&pool.state);
        assert_eq!(listens.iter().filter(|emitter| **emitter == VAULT).count(), 1);
        let heard = done.logs.iter().filter(|log| listens.contains(&log.address));
        let heard = heard.filter(|log| record.freshness_topics().contains(&log.topics()[0]));
        heard.map(|log| record.apply(&mut pool.state.clone(), log).unwrap()).collect()
    }
}

fn followed(pool: &Pool) -> usize {
    let PoolState::BalancerV3(state) = &pool.state else { panic!("a pool of the vault") };
    state.followed.len()
}

/// Every trade must pay what the model predicts for the timestamp at which it is mined, from a state read some hours
/// before. A reading for each block must find the state unchanged.
fn through_time(behind: Behind, seed: u64) {
    let mut boosted = Boosted::new(behind, seed);
    let mut now = START;
    for _ in 0..8 {
        boosted.world.live();
        let pool = boosted.fresh();
        assert_eq!(followed(&pool), 1, "{behind:?}");
        for _ in 0..3 {
            let random = &mut boosted.world.random;
            let most = if random.coin() { 15 } else { 40_000 };
            now += random.below(most);
            let (coin_in, amount) = (u8::from(random.coin()), random.log_uniform_between(30, 79));
            let at = boosted.world.at(now);
            let model = pool.swap(&at, coin_in, 1 - coin_in, amount).ok().map(|swap| swap.amount_out);
            assert_eq!(model, boosted.contract(coin_in, amount), "{behind:?} {coin_in} {amount} at {now}: {pool:?}");
            assert!(model.is_some());
            let (again, rounds) = boosted.each_block(&pool).unwrap();
            assert_eq!((again, rounds), (pool.clone(), 1), "{behind:?}");
        }
    }
}

#[test]
fn boosted_pools_of_a_metamorpho_vault_pay_what_the_model_says_for_the_second() {
    through_time(Behind::MetaMorpho, 91);
}

#[test]
fn boosted_pools_of_a_vault_v2_pay_what_the_model_says_for_the_second() {
    through_time(Behind::VaultV2, 92);
}

#[test]
fn boosted_pools_of_fluids_shares_pay_what_the_model_says_for_the_second() {
    through_time(Behind::Fluid, 93);
}

#[test]
fn boosted_pools_of_aaves_wrapped_tokens_pay_what_the_model_says_for_the_second() {
    through_time(Behind::Aave, 94);
}

/// A deposit in the vault must make the pool stale. A reader that assumes the former state must notice the change and
/// read the pool completely.
#[test]
fn a_boosted_pool_hears_what_happens_to_its_vault() {
    for (behind, seed) in [(Behind::MetaMorpho, 95), (Behind::VaultV2, 96), (Behind::Fluid, 97)] {
        let mut boosted = Boosted::new(behind, seed);
        let pool = boosted.fresh();
        boosted.world.at(START + 600);
        let heard = boosted.deposit(&pool);
        assert!(heard.contains(&Freshness::Stale), "{behind:?}: {heard:?}");
        let now = boosted.fresh();
        assert_ne!(pool, now, "{behind:?}");
        let reader = boosted.found.product.reader_again(&boosted.found, &pool.state);
        assert_eq!(boosted.read(reader).unwrap().0, now, "{behind:?}");
    }
}

/// Assets given to a Vault V2 change its rate without a log.
#[test]
fn a_gift_to_a_vault_v2_is_in_the_next_reading_of_a_block() {
    let mut boosted = Boosted::new(Behind::VaultV2, 98);
    let pool = boosted.fresh();
    let asset = Behind::VaultV2.coins()[0];
    boosted.world.chain.set_balance(asset, boosted.share, U256::ONE << 111);
    boosted.world.at(START + 600);
    let (now, _) = boosted.each_block(&pool).unwrap();
    assert_ne!(now, pool);
    assert_eq!(now, boosted.fresh());
    let at = boosted.world.at(START + 1_200);
    let amount = U256::ONE << 60;
    assert_eq!(now.swap(&at, 0, 1, amount).ok().map(|swap| swap.amount_out), boosted.contract(0, amount));
}

/// Loans of markets that a vault lends on change its rate. Their logs are not heard here.
#[test]
fn a_rate_that_its_vault_as_it_was_does_not_say_is_an_error_and_read_whole_it_follows_again() {
    let mut boosted = Boosted::new(Behind::MetaMorpho, 98);
    let pool = boosted.fresh();
    (0..20).for_each(|_| boosted.world.live());
    boosted.world.at(START + 30 * 86_400);
    let error = boosted.each_block(&pool).unwrap_err();
    assert!(error.to_string().contains("a rate that differs from its vault's in this block"), "{error}");
    assert_eq!(followed(&boosted.fresh()), 1);
}

/// If a block is mined between the rounds of a reading, the vault must be read again.
#[test]
fn a_vault_whose_rounds_are_of_two_blocks_is_read_again() {
    for (behind, seed) in [(Behind::MetaMorpho, 99), (Behind::VaultV2, 100)] {
        let mut boosted = Boosted::new(behind, seed);
        boosted.world.live();
        boosted.world.at(START + 86_400);
        let whole = boosted.fresh();
        for at_fault in 1..8 {
            let mut reader = boosted.found.product.reader(&boosted.found);
            let (mut progress, mut round) = (reader.start(), 0);
            let state = loop {
                let calls = match progress {
                    ReadProgress::Done(state) => break Ok(state),
                    ReadProgress::Calls(calls) => calls,
                };
                boosted.world.at(START + 86_400 + 5_000 * u64::from(round == at_fault));
                let answers: Vec<_> = calls.into_iter().map(|call| boosted.world.chain.answer(call)).collect();
                match reader.feed(&answers) {
                    Ok(next) => progress = next,
                    Err(error) => break Err(error),
                }
                round += 1;
            };
            boosted.world.at(START + 86_400);
            // A wrong answer about the pool itself is refused, and the caller reads the pool again.
            if let Ok(state) = state {
                assert_eq!(state, whole.state, "{behind:?}, round {at_fault}");
            }
        }
    }
}

#[test]
fn what_no_vault_says_does_not_follow_and_is_what_it_was_told() {
    // No factory or list knows the vault.
    let mut unverified = Boosted::new(Behind::Unverified, 101);
    assert_eq!(followed(&unverified.fresh()), 0);
    // The rate provider returns a stored word instead of the vault's rate.
    let mut other = Boosted::new(Behind::MetaMorpho, 102);
    let says_a_word = Bytes::from_static(&[0x5f, 0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    other.world.chain.set_code(PROVIDER, says_a_word);
    let rate = U256::from(1_234_567_890_123_456_789_u64);
    other.world.chain.set_storage(PROVIDER, 0, rate);
    let pool = other.fresh();
    assert_eq!(followed(&pool), 0);
    let PoolState::BalancerV3(state) = &pool.state else { panic!("a pool of the vault") };
    assert!(state.coins.iter().any(|coin| coin.rate == rate));
    let at = other.world.at(START + 7_000);
    assert_eq!(pool.swap(&at, 0, 1, rate).ok().map(|swap| swap.amount_out), other.contract(0, rate));
}
