//! Tests of simulations: grants find the storage word that decides a token's answer, whatever the storage layout; many
//! values of the state are read at once and cached; and the resources of a simulation are limited.
//!
//! Each token is a few hand-written instructions that implement a storage layout and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use braid_primitives::{Address, B256, Block, Bytes, NATIVE_ETHER, U256};
use braid_simulation::grant::{Granted, grant};
use braid_simulation::source::{AccountState, Found, KnownCode, Reading, Touched, Touching, TouchingCall, Wanted};
use braid_simulation::{
    Bounds, Caller, Fork, Grant, Outcome, SimulationError, Simulator, SourceError, StateSource, Status, Terms,
    Transaction, Unavailable, WorkPool, evm, simulate,
};
use revm::DatabaseRef;
use revm::primitives::keccak256;
use tokio::time::Instant;

const TOKEN: Address = Address::repeat_byte(0x11);
const IMPLEMENTATION: Address = Address::repeat_byte(0x22);
const OWNER: Address = Address::repeat_byte(0x33);
const SPENDER: Address = Address::repeat_byte(0x44);

/// `keccak(first argument ++ slot 5)`, loaded: a Solidity mapping from an address.
const SOLIDITY_MAPPING: &str = "6004356000526005602052604060002054";
/// `keccak(slot 5 ++ first argument)`, loaded: the order in which Vyper hashes.
const VYPER_MAPPING: &str = "6005600052600435602052604060002054";
/// Clears the highest bit, which is a blacklist flag.
const WITHOUT_FLAG: &str = "600160ff1b1916";
/// Multiplies by three and halves: the answer is a multiple of the word.
const REBASED: &str = "60030260029004";
/// Returns the word on the stack.
const RETURN: &str = "60005260206000f3";
/// Reads two administrative words first, and then delegates to the implementation.
const PROXY: &str = "6007545060085450365f5f375f5f365f7322222222222222222222222222222222222222225af43d5f5f3e3d5ff3";

/// A chain's state, with counters of the reads.
#[derive(Default)]
struct World {
    accounts: Mutex<HashMap<Address, Bytes>>,
    storage: Mutex<HashMap<(Address, U256), U256>>,
    readings: AtomicU32,
    values: AtomicUsize,
    codes: AtomicUsize,
    is_dead: bool,
    /// Whether the node lists what a call accesses.
    tells: bool,
}

impl World {
    fn of(accounts: impl IntoIterator<Item = (Address, Bytes)>) -> Arc<Self> {
        Arc::new(Self { accounts: Mutex::new(accounts.into_iter().collect()), ..Self::default() })
    }

    fn put(&self, account: Address, code: Bytes) {
        self.accounts.lock().unwrap().insert(account, code);
    }

    fn account(&self, address: Address, known: Option<KnownCode>) -> AccountState {
        let code = self.accounts.lock().unwrap().get(&address).cloned().unwrap_or_default();
        let is_known = known.is_some_and(|known| known.hash == keccak256(&code));
        if !is_known {
            self.codes.fetch_add(1, Ordering::Relaxed);
        }
        AccountState { code: (!is_known).then_some(code), ..AccountState::default() }
    }
}

impl StateSource for World {
    fn read<'a>(&'a self, block: &'a Block, wanted: &'a Wanted) -> Reading<'a> {
        Box::pin(async move {
            if self.is_dead {
                return Err(SourceError("the connection failed".into()));
            }
            self.readings.fetch_add(1, Ordering::Relaxed);
            self.values.fetch_add(wanted.len(), Ordering::Relaxed);
            let storage = self.storage.lock().unwrap();
            let accounts = wanted.accounts.iter().map(|(address, known)| (*address, self.account(*address, *known)));
            let word = |word: &(Address, U256)| (*word, storage.get(word).copied().unwrap_or_default());
            Ok(Found {
                accounts: accounts.collect(),
                words: wanted.words.iter().map(word).collect(),
                hashes: wanted.hashes.iter().map(|height| (*height, block.hash)).collect(),
                messages: 1,
                calls: 1,
            })
        })
    }

    fn touched<'a>(&'a self, _: &'a Block, calls: &'a [TouchingCall], _: bool) -> Touching<'a> {
        let storage = self.storage.lock().unwrap();
        let of_calls = |(account, _): &&(Address, U256)| calls.iter().any(|call| call.to == *account);
        let words = storage.keys().filter(of_calls).copied().collect();
        let told = Touched { words, ..Touched::default() };
        Box::pin(std::future::ready(Ok(self.tells.then_some(told))))
    }
}

const BOUNDS: Bounds = Bounds { jobs: 64, wait: Duration::from_secs(3_600) };

fn threads() -> Arc<WorkPool> {
    Arc::new(WorkPool::new(2, BOUNDS))
}

fn simulator(world: &Arc<World>) -> Simulator {
    Simulator::new(Some(Arc::clone(world) as Arc<dyn StateSource>), threads())
}

fn terms() -> Terms {
    Terms::by(Caller(1), Instant::now() + Duration::from_secs(600))
}

/// Runs a job on the state of a world.
async fn on<T: Send + 'static>(
    world: &Arc<World>,
    job: impl Fn(&mut evm::Overlay<'_>) -> Result<T, evm::RunError> + Send + Sync + 'static,
) -> T {
    let job = move |fork: &Fork| Ok(job(&mut evm::Overlay::new(fork))?);
    simulator(world).run(&block(100), terms(), job).await.0.unwrap()
}

fn code(parts: &[&str]) -> Bytes {
    parts.concat().parse::<Bytes>().unwrap()
}

fn block(number: u64) -> Block {
    Block {
        number,
        hash: B256::with_last_byte(u8::try_from(number).unwrap()),
        parent_hash: B256::ZERO,
        timestamp: 1_700_000_000,
        base_fee_per_gas_wei: 1_000_000_000,
        gas_used: 15_000_000,
        gas_limit: 30_000_000,
    }
}

fn balance_grant(amount: u64) -> Grant {
    Grant::Balance { token: TOKEN, owner: OWNER, amount: U256::from(amount) }
}

#[tokio::test]
async fn a_balance_is_granted_in_every_layout() {
    let layouts: [(&str, Vec<(Address, Bytes)>); 5] = [
        ("solidity", vec![(TOKEN, code(&[SOLIDITY_MAPPING, RETURN]))]),
        ("vyper", vec![(TOKEN, code(&[VYPER_MAPPING, RETURN]))]),
        ("packed with a flag", vec![(TOKEN, code(&[SOLIDITY_MAPPING, WITHOUT_FLAG, RETURN]))]),
        ("rebasing", vec![(TOKEN, code(&[SOLIDITY_MAPPING, REBASED, RETURN]))]),
        ("proxy", vec![(TOKEN, code(&[PROXY])), (IMPLEMENTATION, code(&[SOLIDITY_MAPPING, RETURN]))]),
    ];
    for (name, accounts) in layouts {
        let twice = |overlay: &mut evm::Overlay<'_>| {
            Ok([grant(overlay, &balance_grant(1_000_000))?, grant(overlay, &balance_grant(1_000_000))?])
        };
        assert_eq!(on(&World::of(accounts), twice).await, [Granted::Overridden, Granted::NotNeeded], "{name}");
    }
}

/// The word of USDC's balance has the owner's blacklist flag too: a grant that cleared it would let a simulation succeed
/// where the transaction reverts.
#[tokio::test]
async fn a_flag_beside_a_balance_is_left_alone() {
    let key = [OWNER.into_word().as_slice(), &U256::from(5).to_be_bytes::<32>()].concat();
    let (slot, flag) = (U256::from_be_bytes(keccak256(key).0), U256::from(1) << 255);
    let world = World::of([(TOKEN, code(&[SOLIDITY_MAPPING, WITHOUT_FLAG, RETURN]))]);
    world.storage.lock().unwrap().insert((TOKEN, slot), flag | U256::from(5));
    let job = move |overlay: &mut evm::Overlay<'_>| {
        let granted = grant(overlay, &balance_grant(1_000_000))?;
        Ok((granted, overlay.storage_ref(TOKEN, slot).map_err(evm::RunError::Database)?))
    };
    assert_eq!(on(&world, job).await, (Granted::Overridden, flag | U256::from(1_000_000)));
}

/// A token with shares, like stETH: the answer is the owner's shares times one global word, divided by another. The
/// grant must change only the owner's shares.
#[tokio::test]
async fn what_a_share_is_worth_is_left_alone() {
    let balance = [SOLIDITY_MAPPING, "600054026001549004", RETURN];
    let mut storage = HashMap::from([((TOKEN, U256::ZERO), U256::from(12)), ((TOKEN, U256::from(1)), U256::from(10))]);
    let shares_of = |owner: Address| {
        let key = [owner.into_word().as_slice(), &U256::from(5).to_be_bytes::<32>()].concat();
        U256::from_be_bytes(keccak256(key).0)
    };
    let other = Address::repeat_byte(0x55);
    storage.insert((TOKEN, shares_of(OWNER)), U256::from(50));
    storage.insert((TOKEN, shares_of(other)), U256::from(100));
    let world = World::of([(TOKEN, code(&balance))]);
    *world.storage.lock().unwrap() = storage;
    // No other account's balance changes.
    let whole = move |amount: u64| Grant::Balance { token: TOKEN, owner: other, amount: U256::from(amount) };
    let job = move |overlay: &mut evm::Overlay<'_>| {
        let granted = grant(overlay, &balance_grant(1_000_000))?;
        Ok([granted, grant(overlay, &whole(120))?, grant(overlay, &whole(121))?])
    };
    assert_eq!(on(&world, job).await, [Granted::Overridden, Granted::NotNeeded, Granted::Overridden]);
}

#[tokio::test]
async fn an_allowance_is_granted() {
    // keccak(spender ++ keccak(owner ++ 5)), as Solidity nests mappings.
    let nested = "60043560005260056020526040600020602052602435600052604060002054";
    let wanted = Grant::Allowance { token: TOKEN, owner: OWNER, spender: SPENDER, amount: U256::MAX };
    let twice = move |overlay: &mut evm::Overlay<'_>| Ok([grant(overlay, &wanted)?, grant(overlay, &wanted)?]);
    let world = World::of([(TOKEN, code(&[nested, RETURN]))]);
    assert_eq!(on(&world, twice).await, [Granted::Overridden, Granted::NotNeeded]);
}

#[tokio::test]
async fn a_token_whose_answer_is_no_storage_word_is_reported() {
    let always_seven = "6007";
    let world = World::of([(TOKEN, code(&[always_seven, RETURN]))]);
    let job =
        |overlay: &mut evm::Overlay<'_>| Ok([grant(overlay, &balance_grant(8))?, grant(overlay, &balance_grant(7))?]);
    assert_eq!(on(&world, job).await, [Granted::NotFound, Granted::NotNeeded]);
}

fn send(to: Address, value: u64) -> Transaction {
    Transaction { from: OWNER, to, data: Bytes::new(), value_wei: U256::from(value), gas_limit: 100_000 }
}

/// Simulates a transaction on a block of a world.
async fn simulated(
    simulator: &Simulator,
    at: u64,
    transaction: Transaction,
    grants: Vec<Grant>,
) -> (Result<Outcome, Unavailable>, u32) {
    simulator.run(&block(at), terms(), move |fork| simulate(fork, &transaction, &grants)).await
}

#[tokio::test]
async fn ether_is_sent_and_the_grant_is_listed() {
    let grants = [Grant::Balance { token: NATIVE_ETHER, owner: OWNER, amount: U256::from(5) }];
    let outcome = simulated(&simulator(&World::of([])), 100, send(SPENDER, 5), grants.to_vec()).await.0.unwrap();
    assert_eq!((&outcome.status, outcome.gas_used), (&Status::Success(Bytes::new()), 21_000));
    assert_eq!(outcome.grants, [(grants[0].clone(), Granted::Overridden)]);
}

#[tokio::test]
async fn code_is_placed_where_it_is_missing() {
    let place = Grant::Code { account: TOKEN, code: code(&["6009", RETURN]) };
    let job = move |overlay: &mut evm::Overlay<'_>| {
        Ok([grant(overlay, &place)?, grant(overlay, &place)?, grant(overlay, &balance_grant(9))?])
    };
    let granted = on(&World::of([]), job).await;
    assert_eq!(granted, [Granted::Overridden, Granted::NotNeeded, Granted::NotNeeded]);
}

#[tokio::test]
async fn a_revert_carries_its_data() {
    let reverts_with_one_word = "63deadbeef6000526004601cfd";
    let world = World::of([(TOKEN, code(&[reverts_with_one_word]))]);
    let outcome = simulated(&simulator(&world), 100, send(TOKEN, 0), Vec::new()).await.0.unwrap();
    assert_eq!(outcome.status, Status::Reverted(Bytes::from_static(&[0xde, 0xad, 0xbe, 0xef])));
}

/// A token behind a proxy: the first simulation reads its code, two words of the proxy, the implementation's code and a
/// balance, one after another.
#[tokio::test]
async fn a_second_simulation_reads_nothing_and_the_next_block_takes_one_reading_and_no_code() {
    let world = World::of([(TOKEN, code(&[PROXY])), (IMPLEMENTATION, code(&[SOLIDITY_MAPPING, RETURN]))]);
    let simulator = simulator(&world);
    let (first, took) = simulated(&simulator, 100, send(TOKEN, 0), vec![balance_grant(9)]).await;
    assert!((1..=4).contains(&took), "{took} readings");
    assert_eq!(took, world.readings.load(Ordering::Relaxed));
    let (again, took) = simulated(&simulator, 100, send(TOKEN, 0), vec![balance_grant(9)]).await;
    assert_eq!((again.unwrap(), took), (first.clone().unwrap(), 0), "an overlay leaks into nothing");
    let codes = world.codes.load(Ordering::Relaxed);
    let (next, took) = simulated(&simulator, 101, send(TOKEN, 0), vec![balance_grant(9)]).await;
    assert_eq!((next.unwrap(), took), (first.unwrap(), 1));
    assert_eq!(world.codes.load(Ordering::Relaxed), codes, "code is kept");
}

/// Reads slots 0 to 5 one after the other, and continues only while they are nonzero, as pools check their locks and
/// reserves.
const POOL: &str = "60005415602b57\
                    60015415602b57\
                    60025415602b57\
                    60035415602b57\
                    60045415602b57\
                    60055415602b57\
                    005b5f5ffd";

/// For a pool that was never simulated, the words that other pools with the same code read must be read at once,
/// whatever the immutable values. Only the first of them takes one message for each word.
#[tokio::test]
async fn contracts_of_one_code_are_read_as_the_first_of_them_was() {
    let pools = [0x51, 0x52, 0x53].map(Address::repeat_byte);
    let pool_code = |immutable: &str| code(&[&POOL.replace(char::is_whitespace, ""), "7f", &immutable.repeat(32)]);
    let codes = ["aa", "aa", "bb"].map(pool_code);
    let world = World::of(pools.into_iter().zip(codes));
    let slots = (0..6).map(U256::from);
    let words = pools.iter().flat_map(|pool| slots.clone().map(move |slot| ((*pool, slot), U256::from(1))));
    world.storage.lock().unwrap().extend(words);
    let simulator = simulator(&world);
    let mut took = Vec::new();
    for pool in pools {
        let terms = Terms { hints: vec![pool], ..terms() };
        let (outcome, messages) =
            simulator.run(&block(100), terms, move |fork| simulate(fork, &send(pool, 0), &[])).await;
        assert_eq!(outcome.unwrap().status, Status::Success(Bytes::new()));
        took.push(messages);
    }
    assert!(took[0] >= 6, "a word at a time: {took:?}");
    assert_eq!(took[1..], [2, 2], "the account, then all of its words");
}

#[tokio::test]
async fn where_the_node_tells_what_a_call_touches_all_of_it_is_read_at_once() {
    let pool = Address::repeat_byte(0x51);
    let code = code(&[&POOL.replace(char::is_whitespace, "")]);
    let words: HashMap<_, _> = (0..6).map(|slot| ((pool, U256::from(slot)), U256::from(1))).collect();
    let world = World { tells: true, storage: Mutex::new(words), ..World::default() };
    world.put(pool, code);
    let simulator = simulator(&Arc::new(world));
    let (outcome, took) = simulated(&simulator, 100, send(pool, 0), Vec::new()).await;
    assert_eq!(outcome.unwrap().status, Status::Success(Bytes::new()));
    assert_eq!(took, 3, "the account, beside it what is told, and then all words");
}

/// The words that are read in advance must be limited for each job, and must not count towards the reads of the job
/// itself.
#[tokio::test]
async fn words_that_are_read_along_do_not_use_up_what_a_job_may_read() {
    let pools: Vec<Address> = (1..=24).map(|byte| Address::repeat_byte(0x60 + byte)).collect();
    let pool = code(&[&POOL.replace(char::is_whitespace, "")]);
    let world = World::of(pools.iter().map(|address| (*address, pool.clone())));
    let words = pools.iter().flat_map(|pool| (0..6).map(move |slot| ((*pool, U256::from(slot)), U256::from(1))));
    world.storage.lock().unwrap().extend(words);
    let simulator = simulator(&world);
    for first in &pools {
        let (terms, first) = (Terms { hints: pools.clone(), ..terms() }, *first);
        let before = world.values.load(Ordering::Relaxed);
        let (outcome, _) = simulator.run(&block(100), terms, move |fork| simulate(fork, &send(first, 0), &[])).await;
        assert_eq!(outcome.unwrap().status, Status::Success(Bytes::new()));
        let read = world.values.load(Ordering::Relaxed) - before;
        assert!(read <= 24 + 6 + 2 + 128, "{read} values");
    }
}

#[tokio::test]
async fn what_changed_since_the_block_before_is_seen() {
    let world = World::of([(TOKEN, code(&["6001", RETURN]))]);
    let simulator = simulator(&world);
    let seen = async |at: u64| match simulated(&simulator, at, send(TOKEN, 0), Vec::new()).await.0.unwrap().status {
        Status::Success(answer) => U256::from_be_slice(&answer),
        other => panic!("{other:?}"),
    };
    assert_eq!(seen(100).await, U256::from(1));
    // First other code, which reads a word, and then another value of that word.
    world.put(TOKEN, code(&["600354", RETURN]));
    assert_eq!(seen(101).await, U256::ZERO);
    world.storage.lock().unwrap().insert((TOKEN, U256::from(3)), U256::from(7));
    assert_eq!(seen(102).await, U256::from(7));
    world.put(TOKEN, Bytes::new());
    let gone = simulated(&simulator, 103, send(TOKEN, 0), Vec::new()).await.0.unwrap();
    assert_eq!(gone.status, Status::Success(Bytes::new()));
}

#[tokio::test]
async fn a_node_that_does_not_serve_the_state_is_an_error_that_says_so() {
    let world = Arc::new(World { is_dead: true, ..World::default() });
    let error = simulated(&simulator(&world), 100, send(TOKEN, 0), Vec::new()).await.0.unwrap_err();
    assert!(matches!(error, Unavailable::Source(_)), "{error}");
}

#[tokio::test]
async fn a_gas_limit_above_the_protocol_cap_is_invalid() {
    let transaction = Transaction { gas_limit: 20_000_000, ..send(SPENDER, 0) };
    let error = simulated(&simulator(&World::of([])), 100, transaction, Vec::new()).await.0.unwrap_err();
    assert!(matches!(error, Unavailable::Failed(SimulationError::Invalid(_))), "{error}");
}

/// Reads word after word until the gas is used up.
const READS_WITHOUT_END: &str = "5f5b805450600101600156";
/// Loops forever.
const RUNS_WITHOUT_END: &str = "5b5f56";

#[tokio::test]
async fn code_that_reads_without_end_is_given_up_after_a_bounded_number_of_reads_and_messages() {
    let world = World::of([(TOKEN, code(&[READS_WITHOUT_END]))]);
    let simulator = simulator(&world);
    let transaction = Transaction { gas_limit: 16_000_000, ..send(TOKEN, 0) };
    let (result, messages) = simulated(&simulator, 100, transaction, Vec::new()).await;
    assert_eq!(result.unwrap_err(), Unavailable::TooMuch);
    let values = world.values.load(Ordering::Relaxed);
    assert!(values <= 2_000 && messages <= 275, "{values} values, {messages} messages");
    // In a grant, which asks such a token for its balance repeatedly.
    let (result, messages) = simulated(&simulator, 101, send(SPENDER, 0), vec![balance_grant(9)]).await;
    let values = world.values.load(Ordering::Relaxed) - values;
    assert!(values <= 2_000 && messages <= 275, "{values} values, {messages} messages, {result:?}");
}

#[tokio::test]
async fn code_that_runs_without_end_uses_no_more_gas_than_a_simulation_may() {
    let world = World::of([(TOKEN, code(&[RUNS_WITHOUT_END]))]);
    let grants = vec![balance_grant(9); 200];
    let error = simulated(&simulator(&world), 100, send(SPENDER, 0), grants).await.0.unwrap_err();
    assert!(matches!(error, Unavailable::Failed(_) | Unavailable::TooMuch), "{error}");
    assert!(error.to_string().contains("gas"), "{error}");
}

#[tokio::test]
async fn messages_beyond_what_was_allowed_are_not_sent() {
    let world = World::of([(TOKEN, code(&[PROXY])), (IMPLEMENTATION, code(&[SOLIDITY_MAPPING, RETURN]))]);
    let simulator = simulator(&world);
    let job = |fork: &Fork| simulate(fork, &send(TOKEN, 0), &[]);
    let (result, took) = simulator.run(&block(100), Terms { messages: 1, ..terms() }, job).await;
    assert_eq!((result.unwrap_err(), took), (Unavailable::Spent, 1));
    assert_eq!(world.readings.load(Ordering::Relaxed), 1);
}

/// A node that never returns storage words.
struct Withholds(Arc<World>);

impl StateSource for Withholds {
    fn read<'a>(&'a self, block: &'a Block, wanted: &'a Wanted) -> Reading<'a> {
        Box::pin(async move { self.0.read(block, wanted).await.map(|found| Found { words: Vec::new(), ..found }) })
    }
}

#[tokio::test]
async fn a_value_that_the_node_withholds_is_never_taken_for_nothing() {
    let world = World::of([(TOKEN, code(&[SOLIDITY_MAPPING, RETURN]))]);
    let simulator = Simulator::new(Some(Arc::new(Withholds(world))), threads());
    let (result, _) = simulated(&simulator, 100, send(TOKEN, 0), Vec::new()).await;
    assert!(matches!(result, Err(Unavailable::Failed(_))), "{result:?}");
}

/// A node that never answers.
struct Hung;

impl StateSource for Hung {
    fn read<'a>(&'a self, _: &'a Block, _: &'a Wanted) -> Reading<'a> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_simulation_ends_at_its_time_whatever_the_node_does() {
    let simulator = Simulator::new(Some(Arc::new(Hung)), threads());
    let until = Instant::now() + Duration::from_millis(50);
    let job = |fork: &Fork| simulate(fork, &send(TOKEN, 0), &[]);
    let (result, _) = simulator.run(&block(100), Terms::by(Caller(1), until), job).await;
    assert_eq!(result.unwrap_err(), Unavailable::Late);
}

#[tokio::test]
async fn a_caller_whose_jobs_do_not_end_leaves_a_thread_to_the_others() {
    let world = World::of([]);
    let simulator = Arc::new(simulator(&world));
    let gates: Vec<_> = (0..8)
        .map(|_| {
            let (go, gate) = std::sync::mpsc::channel::<()>();
            let (simulator, gate) = (Arc::clone(&simulator), Mutex::new(gate));
            let job = move |_: &Fork| {
                let _ = gate.lock().unwrap().recv();
                Ok(())
            };
            let running = tokio::spawn(async move { simulator.run(&block(100), terms(), job).await.0 });
            (go, running)
        })
        .collect();
    tokio::task::yield_now().await;
    let other = Terms { caller: Caller(2), ..terms() };
    simulator.run(&block(100), other, |_| Ok(())).await.0.unwrap();
    for (go, running) in gates {
        drop(go);
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_simulations_fill_its_part_of_the_threads_is_turned_away_and_others_are_not() {
    let world = World::of([(TOKEN, code(&["6001", RETURN]))]);
    let threads = Arc::new(WorkPool::new(2, Bounds { jobs: 0, wait: Duration::from_secs(3_600) }));
    let simulator = Arc::new(Simulator::new(Some(world), Arc::clone(&threads)));
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let jobs: Vec<_> = (0..2)
        .map(|_| {
            let (simulator, gate) = (Arc::clone(&simulator), Arc::clone(&gate));
            let job = move |_: &Fork| {
                let _ = gate.lock().unwrap().recv();
                Ok(())
            };
            tokio::spawn(async move { simulator.run(&block(100), terms(), job).await.0 })
        })
        .collect();
    while simulator.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(simulator.admit(Caller(1)).is_err());
    let admitted = simulator.admit(Caller(2)).unwrap();
    assert!(simulator.admit(Caller(2)).is_err(), "who was admitted counts as who waits");
    drop(admitted);
    assert!(simulator.admit(Caller(2)).is_ok());
    assert_eq!(threads.turned_away(), 2);
    assert_eq!(threads.run(|| 7).await, Ok(7), "the other half of the threads is for others");
    go.send(()).unwrap();
    go.send(()).unwrap();
    for job in jobs {
        job.await.unwrap().unwrap();
    }
    assert!(simulator.admit(Caller(1)).is_ok());
}
