//! Compares routes of several steps at Fluid with the stand-ins in an EVM. Two pools and the fTokens of their coins
//! share one layer, of which a limit is close. A step after others must pay what the contract pays, or be refused where
//! the contract reverts.

use alloy_primitives::{Address, U256, keccak256};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{Discovered, Pool, Product, RouteState, fluid::LIQUIDITY};

use crate::{
    fluid_bytecode::{DEPLOYER, ETHER, LENDERS, World, allow, configuration, fill, swap_in, worlds},
    support::chain::{OWNER, read_state},
};

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
}

const SECOND_POOL: Address = Address::repeat_byte(0x88);

/// Routes of up to this many steps.
const STEPS: usize = 5;

/// Two pools and the fTokens of their coins on one layer.
struct Layer {
    world: World,
    members: Vec<Discovered>,
}

/// A step to try.
#[derive(Clone, Copy)]
struct Trial {
    member: usize,
    coin_in: u8,
    amount: U256,
}

/// The results of the steps that were tried after others.
#[derive(Default)]
struct Steps {
    paid: usize,
    refused: usize,
    /// Second steps that are possible alone.
    refused_together: usize,
    /// Those of them through or after an fToken.
    with_shares: usize,
}

/// Returns the slot of a token's word in one of the layer's mappings.
fn slot(token: Address, mapping: u64) -> U256 {
    keccak256((token, U256::from(mapping)).abi_encode()).into()
}

impl Layer {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed);
        let World { chain, random, tokens, depth, centre, .. } = &mut world;
        let kinds = if tokens[1] == ETHER { 1 + 2 * random.below(2) } else { 1 + random.below(3) };
        for (token, depth) in tokens.iter().zip(*depth) {
            allow(chain, random, (SECOND_POOL, kinds), *token, depth);
            if *token != ETHER {
                chain.send(*token, &approveCall { spender: SECOND_POOL, amount: U256::MAX }).unwrap();
            }
        }
        let second = configuration(random, kinds, *centre, false);
        let args = (LIQUIDITY, OWNER, DEPLOYER, *tokens, second, *centre);
        chain.place(SECOND_POOL, "StandInFluidDexT1", &args.abi_encode());
        fill(chain, random, (SECOND_POOL, kinds), *tokens, *depth);
        let mut members = vec![world.pool.clone(), Discovered { key: SECOND_POOL.into(), ..world.pool.clone() }];
        for (share, asset) in LENDERS.into_iter().zip(world.tokens).filter(|(_, asset)| *asset != ETHER) {
            members.push(Discovered {
                key: share.into(),
                product: Product::FluidFToken,
                coins: vec![asset, share],
                fee_pips: 0,
                tick_spacing: 0,
            });
        }
        Self { world, members }
    }

    /// Brings a limit of a token close to what two steps together take out: the layer's balance, the maximum
    /// utilization, or the pools' own limits of it.
    fn tighten(&mut self, coin: usize, [less, more]: [U256; 2]) {
        let World { chain, random, tokens, depth, .. } = &mut self.world;
        let token = tokens[coin];
        let word = chain.word(LIQUIDITY, slot(token, 5));
        let utilization = ((word >> 30_usize) & U256::from(0x3fff)).to::<u64>();
        let rise = ((less + more) * U256::from(10_000) / depth[coin]).to::<u64>() + 1;
        match random.below(3) {
            0 => {
                chain.set_word(LIQUIDITY, slot(token, 5), word | (U256::ONE << 249_usize));
                let most = (utilization + random.below(rise)).min(10_000);
                chain.set_word(LIQUIDITY, slot(token, 11), U256::from(most));
            }
            1 => {
                let at = if coin == 0 { 228 } else { 238 };
                let limit = U256::from(((utilization + random.below(rise)) / 10).min(1_000));
                for pool in &self.members[..2] {
                    let pool = pool.key.contract;
                    let mask: U256 = U256::from(0x3ff) << at;
                    let word = chain.word(pool, U256::ONE);
                    chain.set_word(pool, U256::ONE, (word & !mask) | (limit << at));
                }
            }
            _ if token != ETHER => {
                let held = more + random.up_to(less + less / U256::from(4));
                chain.set_balance(token, LIQUIDITY, held);
            }
            _ => {}
        }
    }

    /// Finds two steps through different members that take the same token out of the layer, each possible alone.
    fn find_two(&mut self, pools: &[Pool], at: &ExecutionBlock) -> Option<[Trial; 2]> {
        let coin = self.world.random.below(2) as usize;
        let mut found: Vec<(Trial, U256)> = Vec::new();
        for _ in 0..60 {
            let member = self.world.random.below(pools.len() as u64) as usize;
            let pool = &pools[member];
            let pays = pool.coins.iter().position(|known| known.0 as usize == coin);
            let Some(coin_out) = pays.filter(|_| found.iter().all(|(other, _)| other.member != member)) else {
                continue;
            };
            let trial = Trial { member, coin_in: 1 - coin_out as u8, amount: self.amount(pool) };
            if let Ok(swap) = pool.swap(at, trial.coin_in, coin_out as u8, trial.amount) {
                found.push((trial, swap.amount_out));
            }
        }
        let [(first, one), (second, other)] = found.get(..2)? else { return None };
        let steps = [*first, *second];
        self.tighten(coin, [*one.min(other), *one.max(other)]);
        Some(steps)
    }

    fn read(&mut self) -> Vec<Pool> {
        let id = |coin: Address| match self.world.tokens.iter().chain(&LENDERS).position(|known| *known == coin) {
            Some(place) => TokenId(u32::try_from(place).unwrap()),
            None => panic!("{coin}"),
        };
        let mut pools = Vec::new();
        for found in &self.members {
            let state = read_state(&mut self.world.chain, found.product, found);
            let coins = found.coins.iter().map(|coin| id(*coin)).collect();
            pools.push(Pool { key: found.key, product: found.product, coins, state });
        }
        pools
    }

    fn amount(&mut self, pool: &Pool) -> U256 {
        let depth = self.world.depth[(pool.coins[0].0 % 2) as usize].bit_len() as u64;
        let deepest = if pool.product == Product::FluidFToken { depth } else { depth - 2 };
        self.world.random.log_uniform_between(deepest.saturating_sub(6), deepest)
    }

    /// Makes a trade with a member of the layer. Keeps the changes if asked to. Returns what it pays.
    fn trade(&mut self, pool: &Pool, coin_in: u8, amount: U256, keep: bool) -> Option<U256> {
        let (to, chain) = (pool.key.contract, &mut self.world.chain);
        let done = match (pool.product, coin_in) {
            (Product::FluidDexT1, _) => {
                let value = if self.world.tokens[usize::from(coin_in)] == ETHER { amount } else { U256::ZERO };
                let call = swap_in(coin_in, amount);
                if keep { chain.send_ether(to, &call, value) } else { chain.try_ether(to, &call, value) }
            }
            (_, 0) => {
                let call = depositCall { assets: amount, receiver: OWNER };
                if keep { chain.send(to, &call) } else { chain.try_call(to, &call) }
            }
            _ => {
                let call = redeemCall { shares: amount, receiver: OWNER, owner: OWNER };
                if keep { chain.send(to, &call) } else { chain.try_call(to, &call) }
            }
        };
        done.ok().map(|done| U256::from_be_slice(&done.output)).filter(|paid| !paid.is_zero())
    }

    /// Makes a route: steps in one block through different members, each compared with the contract. Often the first two
    /// take the same token out of the layer, and a limit is close.
    fn route(&mut self, all: &mut Steps) {
        self.world.pass();
        let at = ExecutionBlock { number: 1, timestamp: self.world.now };
        let pools = self.read();
        let first = if self.world.random.one_in(4) { None } else { self.find_two(&pools, &at) };
        let pools = self.read();
        let found = first.is_some();
        let mut first = first.into_iter().flatten();
        let mut route = RouteState::default();
        let mut shares_used = false;
        for step in 0..STEPS {
            let Trial { member, coin_in, amount } = first.next().unwrap_or_else(|| self.random_trial(&pools));
            let pool = &pools[member];
            let alone = pool.swap(&at, coin_in, 1 - coin_in, amount);
            let model = route.swap(pool, &at, coin_in, 1 - coin_in, amount);
            let paid = self.trade(pool, coin_in, amount, false);
            let got = model.as_ref().ok().map(|swap| swap.amount_out);
            assert_eq!(got, paid, "step {step}: {:?} {coin_in} {amount}: {model:?} {pool:?}", pool.product);
            let is_share = pool.product == Product::FluidFToken;
            if let Ok(swap) = model {
                assert_eq!(self.trade(pool, coin_in, amount, true), Some(swap.amount_out));
                all.paid += usize::from(step > 0);
                route.record(pool, swap.after);
                shares_used |= is_share;
            } else {
                let together = found && step == 1 && alone.is_ok();
                all.refused += 1;
                all.refused_together += usize::from(together);
                all.with_shares += usize::from(together && (is_share || shares_used));
            }
        }
    }

    fn random_trial(&mut self, pools: &[Pool]) -> Trial {
        let member = self.world.random.below(pools.len() as u64) as usize;
        let coin_in = u8::from(self.world.random.coin());
        Trial { member, coin_in, amount: self.amount(&pools[member]) }
    }
}

#[test]
fn steps_of_a_route_at_one_layer_are_priced_together() {
    let mut all = Steps::default();
    for seed in 500..500 + worlds(30, 1_500) {
        let mut layer = Layer::new(seed);
        for _ in 0..12 {
            layer.route(&mut all);
        }
    }
    let Steps { paid, refused, refused_together, with_shares } = all;
    println!(
        "{paid} paid after others, {refused} refused, {refused_together} of them only together, {with_shares} with shares"
    );
    assert!(paid > refused / 4 && refused_together > 0 && with_shares > 0);
}
