//! Compares buffers with the code of Balancer V3, compiled from its packages. The vaults behind the buffers are
//! OpenZeppelin's and solmate's own code, Aave's own wrapped tokens, and our stand-ins of savings, MetaMorpho, Vault V2
//! and fTokens, which implement the same rules a second time.

pub mod world;

use alloy_primitives::{Log, U256};
use alloy_sol_types::{SolCall, sol};
use braid_protocols::{
    After, Discovered, Freshness, Pool, PoolState, Product, SwapError,
    balancer::v3::{VAULT, buffer::MINIMUM_WRAP},
    continuous::PairCurve,
};

use crate::support::{balancer_v3::AUTHORIZER, chain::OWNER};
use world::{Behind, START, World};

sol! {
    function pauseVaultBuffers() external;
    function getActionId(bytes4 selector) external view returns (bytes32);
    function grantRole(bytes32 role, address account) external;
}

fn held(pool: &Pool) -> [U256; 2] {
    let PoolState::BalancerV3Buffer(state) = &pool.state else { panic!("a buffer") };
    state.held
}

/// The number of trades to compare: some hundreds of each kind, or more than twenty thousand in all with `LONG=1`.
fn trades() -> usize {
    if std::env::var_os("LONG").is_some() { 3_500 } else { 200 }
}

/// The compared trades: paid from the buffer, paid with the help of the vault behind it, and refused.
#[derive(Debug, Default)]
struct Tally {
    served: usize,
    beyond: usize,
    refused: usize,
}

/// Every trade must pay what the model predicts, or both must refuse it. This includes the second of two trades in a
/// row. The logs of a trade that is kept must give the buffer's balances.
fn differential(behind: Behind, seed: u64) {
    let mut tally = Tally::default();
    let mut worlds = 0;
    while tally.served + tally.beyond + tally.refused < trades() {
        worlds += 1;
        let mut world = World::new(behind, seed * 1_000 + worlds);
        let found = world.fill();
        for _ in 0..25 {
            world.live();
            turn(&mut world, &found, &mut tally);
        }
    }
    println!("{behind:?}: {tally:?}");
    assert!(tally.served > trades() / 5 && tally.refused > 0, "{tally:?}");
    assert!((tally.beyond > trades() / 20) == (behind != Behind::Unverified), "{tally:?}");
}

fn turn(world: &mut World, found: &Discovered, tally: &mut Tally) {
    let mut pool = world.read(found);
    let now = world.now + world.random.below(40_000);
    let at = world.at(now);
    let mut before = After::Unchanged;
    // A Vault V2 accrues interest once per transaction, and two trades here are two transactions.
    let in_a_row = if world.behind == Behind::VaultV2 { 1 } else { 2 };
    for _ in 0..in_a_row {
        let coin_in = u8::from(world.random.coin());
        let bits = held(&pool)[usize::from(1 - coin_in)].bit_len() as u64 + 6;
        let amount = world.random.log_uniform_between(12, bits.clamp(20, 95));
        let keep = world.random.coin();
        let contract = world.exchange(coin_in, amount, false).map(|(out, _)| out);
        let model = pool.swap_after(&at, &before, coin_in, 1 - coin_in, amount);
        let said = model.as_ref().ok().map(|swap| swap.amount_out);
        let within = said.or(contract).is_none_or(|out| out <= held(&pool)[usize::from(1 - coin_in)]);
        let closed = matches!(model, Err(SwapError::LimitExceeded { .. })) && world.behind == Behind::Unverified;
        let context = || format!("{:?} {coin_in} {amount} at {now}: {model:?} {pool:?} after {before:?}", world.behind);
        if !closed {
            assert_eq!(said, contract, "{}", context());
        }
        match (said, before == After::Unchanged && !within) {
            (None, _) => tally.refused += 1,
            (Some(_), true) => tally.beyond += 1,
            (Some(_), false) => tally.served += 1,
        }
        if let (Ok(swap), true) = (model, keep) {
            let (_, logs) = world.exchange(coin_in, amount, true).unwrap();
            followed(&mut pool, &logs);
            let After::BalancerV3Buffer(after) = &swap.after else { panic!("a buffer") };
            assert_eq!(after.held, held(&pool), "the model holds what the logs say");
            before = swap.after;
        }
    }
    if before != After::Unchanged {
        let [after, read] = [held(&pool), held(&world.read(found))];
        assert_eq!(after, read, "what the logs say is what the vault says");
    }
}

/// Applies the vault's logs as the follower does.
fn followed(pool: &mut Pool, logs: &[Log]) {
    let record = Product::BalancerV3Buffer;
    let mut listens = record.listens_to(&pool.state);
    listens.push(pool.key.contract);
    let mut next = pool.clone();
    for log in logs.iter().filter(|log| listens.contains(&log.address)) {
        let known = log.topics().first().is_some_and(|topic| record.freshness_topics().contains(topic));
        let what = record.apply(&mut next.state, log).unwrap();
        assert!(log.address != VAULT || !known || what == Freshness::Applied, "{log:?}");
    }
    let PoolState::BalancerV3Buffer(next) = next.state else { panic!("a buffer") };
    let PoolState::BalancerV3Buffer(state) = &mut pool.state else { panic!("a buffer") };
    std::sync::Arc::make_mut(state).held = next.held;
}

#[test]
fn buffers_of_openzeppelins_vault_pay_what_the_model_says() {
    differential(Behind::OpenZeppelin { offset: 0 }, 81);
    differential(Behind::OpenZeppelin { offset: 6 }, 82);
}

#[test]
fn buffers_of_solmates_vault_pay_what_the_model_says() {
    differential(Behind::Solmate, 83);
}

/// In front of a vault that no list and no factory knows, a buffer must pay as much as it holds.
#[test]
fn buffers_of_an_unverified_vault_pay_what_they_hold() {
    differential(Behind::Unverified, 84);
}

#[test]
fn buffers_of_savings_follow_the_pot_through_time() {
    differential(Behind::Savings, 85);
}

#[test]
fn buffers_of_a_metamorpho_vault_pay_what_the_model_says() {
    differential(Behind::MetaMorpho, 86);
}

#[test]
fn buffers_of_a_vault_v2_pay_what_the_model_says() {
    differential(Behind::VaultV2, 87);
}

#[test]
fn buffers_of_aaves_wrapped_tokens_pay_what_the_model_says() {
    differential(Behind::Aave, 89);
}

#[test]
fn buffers_of_fluids_shares_pay_what_the_model_says() {
    differential(Behind::Fluid, 90);
}

#[test]
fn paused_buffers_pay_nothing_and_say_so() {
    let mut world = World::new(Behind::Savings, 88);
    let found = world.fill();
    let mut pool = world.read(&found);
    let at = world.at(START);
    let amount = U256::from(MINIMUM_WRAP) * U256::from(2);
    assert!(pool.swap(&at, 0, 1, amount).is_ok() && world.exchange(0, amount, false).is_some());
    let selector = pauseVaultBuffersCall::SELECTOR.into();
    let role = world.chain.view(VAULT, &getActionIdCall { selector });
    world.chain.send(AUTHORIZER, &grantRoleCall { role, account: OWNER }).unwrap();
    let done = world.chain.send(VAULT, &pauseVaultBuffersCall {}).unwrap();
    assert!(world.exchange(0, amount, false).is_none());
    let what = Product::BalancerV3Buffer.apply(&mut pool.state, &done.logs[0]).unwrap();
    assert_eq!((what, pool.swap(&at, 0, 1, amount)), (Freshness::Applied, Err(SwapError::Closed)));
    assert!(PairCurve::of(&pool, [0, 1], &at).is_none());
    assert_eq!(pool.state, world.read(&found).state);
}
