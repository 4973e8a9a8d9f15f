//! Jobs on the state of recent blocks: bounded in time, gas, reads and threads, each for itself, for each caller and all together.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use braid_primitives::{Address, Block, U256};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::fork::{Seen, Waits};
use crate::lanes::{Admitted, Caller, Lanes};
use crate::layouts::Layouts;
use crate::memory::{BlockMemory, Past};
use crate::source::{SourceError, StateSource, Wanted};
use crate::work::{WorkError, WorkPool};
use crate::{Fork, SimulationError};

/// How many blocks' states are kept for further jobs.
const BLOCKS_KEPT: usize = 3;

/// How many readings of one block may run at once; what is wanted meanwhile is read together by the next.
const READINGS_AT_ONCE: usize = 4;

/// Most accounts and words that one job may read. A step of a route reads some twenty; one that crosses many ticks a hundred.
const MOST_READS: usize = 4_096;

/// Most attempts that go on without what is missing; the one after them waits for each value.
const ATTEMPTS: u32 = 24;

/// Most of them where the node is near: waiting for a value takes less than an attempt that goes astray.
const ATTEMPTS_NEAR: u32 = 8;

/// How long a reading takes of a node that is near.
const NEAR: Duration = Duration::from_millis(10);

/// Most values that the last attempt waits for, each of them a message or two.
const MOST_WAITED: usize = 256;

/// How long a fork for many messages may be used.
const WAITING_FOR: Duration = Duration::from_secs(86_400);

/// Most words that one job reads along because contracts of the same code read them.
const MOST_LIKELY: usize = 128;

/// How often a job's calls are put to the node to tell what they touch. The first tells where balances lie, the second what a swap touches that
/// has them.
const MOST_TELLINGS: u32 = 4;

/// Most gas that all attempts of one job may use, in gas units. An attempt that goes astray often burns all that a transaction has.
const MOST_GAS: u64 = 500_000_000;

/// Runs jobs on forked state. No thread of those that solve waits for the node.
pub struct Simulator {
    source: Option<Arc<dyn StateSource>>,
    past: Past,
    layouts: Layouts,
    blocks: Mutex<VecDeque<Arc<BlockMemory>>>,
    readings: Arc<Semaphore>,
    lanes: Lanes,
}

/// Under which terms a job runs.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Who wants it.
    pub caller: Caller,
    /// When it must have ended.
    pub until: Instant,
    /// Most messages to the node that it may take.
    pub messages: u32,
    /// Accounts that it will touch.
    pub hints: Vec<Address>,
}

impl Terms {
    /// Terms that bound the time alone.
    pub const fn by(caller: Caller, until: Instant) -> Self {
        Self { caller, until, messages: u32::MAX, hints: Vec::new() }
    }
}

/// Why a job has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Nothing serves state.
    #[error("there is no node to take the state from")]
    NoNode,
    /// The threads did not take or finish it.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// Its time was over.
    #[error("the node did not serve in time the state that the simulation needs")]
    Late,
    /// It asked for more than a job may.
    #[error("the simulation reads more state, or uses more gas, than one may")]
    TooMuch,
    /// The next reading would exceed the messages that it may take.
    #[error("the node was asked enough for this block")]
    Spent,
    /// The node did not serve the state.
    #[error("the node did not serve the state that the simulation needs")]
    Source(#[source] SourceError),
    /// The job itself failed.
    #[error(transparent)]
    Failed(SimulationError),
}

impl Simulator {
    /// A simulator on the state that a source serves, if there is one, and on threads that others may use too.
    pub fn new(source: Option<Arc<dyn StateSource>>, threads: Arc<WorkPool>) -> Self {
        Self {
            source,
            past: Past::default(),
            layouts: Layouts::default(),
            blocks: Mutex::default(),
            readings: Arc::new(Semaphore::new(READINGS_AT_ONCE)),
            lanes: Lanes::over(threads),
        }
    }

    /// Whether there is a node to take state from.
    pub fn is_available(&self) -> bool {
        self.source.is_some()
    }

    /// How many jobs wait for their callers' others.
    pub fn waiting(&self) -> usize {
        self.lanes.waiting()
    }

    /// How many calls of the node the service's own jobs took so far.
    pub fn background_calls(&self) -> u64 {
        self.past.background_calls()
    }

    /// Turns a caller's next job away, before anything is done for it, where too many of its jobs wait. One that is admitted counts among those until
    /// it begins, which is when what this gives is dropped.
    ///
    /// # Errors
    /// [`WorkError::Overloaded`].
    pub fn admit(&self, caller: Caller) -> Result<Admitted<'_>, WorkError> {
        self.lanes.admit(caller)
    }

    /// Runs a job on the state after a block, as often as it takes until nothing was missing. Gives its result and how many
    /// messages to the node that took.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no node, when the job asks for more than its terms, and when it panics.
    pub async fn run<T, J>(&self, block: &Block, terms: Terms, job: J) -> (Result<T, Unavailable>, u32)
    where
        T: Send + 'static,
        J: Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    {
        let Some(source) = &self.source else { return (Err(Unavailable::NoNode), 0) };
        let memory = self.memory(source, block);
        let (until, mut spent) = (terms.until, 0);
        let attempts = self.attempts(memory, terms, Arc::new(job), &mut spent);
        let result = timeout_at(until, attempts).await.unwrap_or(Err(Unavailable::Late));
        (result, spent)
    }

    /// The state after a block for many messages one after the other: each value that is not known is waited for. Not for a thread of
    /// the runtime; nothing bounds what such a fork reads.
    pub fn waiting_fork(&self, block: &Block, runtime: Handle) -> Option<Fork> {
        let memory = self.memory(self.source.as_ref()?, block);
        let waits = self.waits(Caller::SERVICE, runtime, u32::MAX, usize::MAX);
        Some(Fork::waiting(memory, u64::MAX, Instant::now() + WAITING_FOR, waits))
    }

    fn waits(&self, caller: Caller, runtime: Handle, most_messages: u32, most_reads: usize) -> Waits {
        let (readings, is_urgent) = (Arc::clone(&self.readings), caller != Caller::SERVICE);
        Waits { runtime, readings, is_urgent, most_messages, messages: Cell::new(0), reads_left: Cell::new(most_reads) }
    }

    async fn attempts<T, J>(
        &self,
        memory: Arc<BlockMemory>,
        terms: Terms,
        job: Arc<J>,
        spent: &mut u32,
    ) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        J: Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    {
        let Terms { caller, until, messages, hints } = terms;
        let lane = self.lanes.enter(caller);
        let accounts: BTreeSet<Address> = hints.into_iter().collect();
        let (mut gas, mut reads, mut quickest) = (MOST_GAS, 0, Duration::MAX);
        // what attempts asked for of places that nobody had seen
        let mut new = BTreeSet::new();
        let (mut likely_left, mut tellings_left) = (MOST_LIKELY, MOST_TELLINGS);
        for attempt in 0..=ATTEMPTS {
            let is_last = attempt == ATTEMPTS || (attempt >= ATTEMPTS_NEAR && quickest < NEAR);
            let (memory_of_it, job) = (Arc::clone(&memory), Arc::clone(&job));
            let waits =
                is_last.then(|| self.waits(caller, Handle::current(), messages.saturating_sub(*spent), MOST_WAITED));
            let work = move || {
                let fork = match waits {
                    Some(waits) => Fork::waiting(memory_of_it, gas, until, waits),
                    None => Fork::new(memory_of_it, gas, until),
                };
                let result = job(&fork);
                (result, fork.into_seen())
            };
            let (result, seen) = if is_last { lane.run_waiting(work).await? } else { lane.run(work).await? };
            let Seen { mut missing, gas_left, is_astray, calls, waited } = seen;
            gas = gas_left;
            if let Some(waited) = waited {
                *spent += waited.messages.get();
                return result.map_err(|error| match error {
                    _ if *spent >= messages => Unavailable::Spent,
                    _ if waited.reads_left.get() == 0 || gas == 0 => Unavailable::TooMuch,
                    error => Unavailable::Failed(error),
                });
            }
            if missing.is_empty() {
                if !new.is_empty() {
                    self.layouts.learn(&new, &accounts, |contract| memory.code_form(contract));
                }
                return result.map_err(Unavailable::Failed);
            }
            reads += missing.len();
            if is_astray {
                new.extend(&missing.words);
                likely_left -= self.add_likely(&mut missing, &memory, &accounts, likely_left);
            }
            if attempt == 0 {
                let unknown = accounts.iter().filter(|account| memory.account(account).is_none());
                missing.accounts.extend(unknown.map(|account| (*account, None)));
            }
            if reads > MOST_READS || gas == 0 {
                return Err(Unavailable::TooMuch);
            }
            if *spent >= messages {
                return Err(Unavailable::Spent);
            }
            missing.is_urgent = caller != Caller::SERVICE;
            let started = Instant::now();
            // where nobody waits, fewer messages count for more than fewer turns
            let asks = missing.is_urgent && tellings_left > 0 && !calls.is_empty() && *spent + 2 < messages;
            let reading = memory.fetch(&missing, &self.readings);
            let (read, told) =
                tokio::join!(reading, memory.touched(if asks { &calls } else { &[] }, missing.is_urgent));
            *spent += read.map_err(Unavailable::Source)?;
            quickest = quickest.min(started.elapsed());
            if asks && let Some(told) = told {
                tellings_left -= 1;
                *spent += 1;
                reads += told.len();
                if reads > MOST_READS {
                    return Err(Unavailable::TooMuch);
                }
                new.extend(&told.words);
                *spent += memory.fetch(&told, &self.readings).await.map_err(Unavailable::Source)?;
            } else {
                tellings_left = 0;
            }
        }
        Err(Unavailable::TooMuch)
    }

    /// Adds at most so many words that contracts read as others of their code do, to what is read anyway; how many.
    fn add_likely(
        &self,
        missing: &mut Wanted,
        memory: &BlockMemory,
        accounts: &BTreeSet<Address>,
        most: usize,
    ) -> usize {
        let is_new = |word: &(Address, U256)| memory.word(word).is_none() && !missing.words.contains(word);
        let likely = self.layouts.likely(accounts, |contract| memory.code_form(contract), most, is_new);
        let before = missing.words.len();
        missing.words.extend(likely);
        missing.words.len() - before
    }

    /// What is known of a block.
    fn memory(&self, source: &Arc<dyn StateSource>, block: &Block) -> Arc<BlockMemory> {
        let mut kept = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = kept.iter().find(|memory| memory.block().hash == block.hash) {
            return Arc::clone(memory);
        }
        let memory = Arc::new(BlockMemory::new(*block, Arc::clone(source), self.past.clone()));
        kept.push_back(Arc::clone(&memory));
        if kept.len() > BLOCKS_KEPT {
            kept.pop_front();
        }
        memory
    }
}
