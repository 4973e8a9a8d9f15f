//! Tries a job until nothing of the state is missing, within bounds on time, gas and reads.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use braid_primitives::{Address, U256};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::fork::{Attempt, Fork, Waits};
use crate::lanes::{Caller, InLane};
use crate::layouts::Layouts;
use crate::line::Kept;
use crate::memory::BlockMemory;
use crate::simulate::SimulationError;
use crate::source::{SourceError, TouchingCall, Wanted};
use crate::work::WorkError;

/// Most accounts and words that one job may read. A step of a route reads about twenty; one that crosses many ticks, a
/// hundred.
const MOST_READS: usize = 4_096;

/// Most attempts that go on without missing values; the one after them waits for each value.
const ATTEMPTS: u32 = 24;

/// The same if the node is near: waiting for a value then takes less than an attempt that diverges.
const ATTEMPTS_NEAR: u32 = 8;

/// A node is near if a reading took less than this.
const NEAR: Duration = Duration::from_millis(10);

/// Most values that the last attempt waits for, each of them a message or two.
const MOST_WAITED: usize = 256;

/// Most words that one job reads because other contracts with the same code read them.
const MOST_LIKELY: usize = 128;

/// Most times that the node is asked what a job's calls touch. The first answer shows where balances lie; the second,
/// what a swap with these balances touches.
const MOST_TOUCHED_READS: u32 = 4;

/// Most gas that all attempts of one job may use, in gas units. An attempt that diverges often burns a transaction's
/// limit.
const MOST_GAS: u64 = 500_000_000;

/// Terms under which a job runs.
#[derive(Debug)]
pub struct Terms {
    /// The caller that the job counts for.
    pub caller: Caller,
    /// Deadline of the job.
    pub until: Instant,
    /// Most messages to the node.
    pub messages: u32,
    /// Accounts that the job will touch.
    pub hints: Vec<Address>,
    /// The place that was kept for it.
    pub kept: Option<Kept>,
}

impl Terms {
    /// Terms that bound only the time.
    pub const fn by(caller: Caller, until: Instant) -> Self {
        Self { caller, until, messages: u32::MAX, hints: Vec::new(), kept: None }
    }
}

/// Why a job has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No node serves state.
    #[error("there is no node to read the state from")]
    NoNode,
    /// The threads did not accept or finish it.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// Its deadline passed.
    #[error("the node did not serve the state that the simulation needs in time")]
    Late,
    /// It read more state or used more gas than a job may.
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

/// The attempts at one job, and what they used so far.
pub(crate) struct Attempts<'a> {
    memory: Arc<BlockMemory>,
    layouts: &'a Layouts,
    readings: &'a Arc<Semaphore>,
    lane: InLane<'a>,
    terms: Terms,
    /// Accounts that the job will touch.
    accounts: BTreeSet<Address>,
    messages: u32,
    gas_left: u64,
    reads: usize,
    quickest_reading: Duration,
    /// Words that attempts read and that were never seen before.
    new_words: BTreeSet<(Address, U256)>,
    likely_left: usize,
    touched_reads_left: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(
        memory: Arc<BlockMemory>,
        layouts: &'a Layouts,
        readings: &'a Arc<Semaphore>,
        lane: InLane<'a>,
        terms: Terms,
    ) -> Self {
        Self {
            memory,
            layouts,
            readings,
            lane,
            accounts: terms.hints.iter().copied().collect(),
            terms,
            messages: 0,
            gas_left: MOST_GAS,
            reads: 0,
            quickest_reading: Duration::MAX,
            new_words: BTreeSet::new(),
            likely_left: MOST_LIKELY,
            touched_reads_left: MOST_TOUCHED_READS,
        }
    }

    /// Returns the messages to the node so far.
    pub(crate) const fn messages(&self) -> u32 {
        self.messages
    }

    /// Tries a job until nothing is missing; the last attempt waits for each missing value.
    pub(crate) async fn run<T, J>(&mut self, job: Arc<J>) -> Result<T, Unavailable>
    where
        T: Send + 'static,
        J: Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    {
        for attempt in 0..ATTEMPTS {
            if attempt >= ATTEMPTS_NEAR && self.quickest_reading < NEAR {
                break;
            }
            let kept = self.terms.kept.take();
            let (result, seen) = self.lane.run(kept, self.attempt(&job, None)).await?;
            self.gas_left = seen.gas_left;
            if seen.missing.is_empty() {
                if !self.new_words.is_empty() {
                    self.layouts.learn(&self.new_words, &self.accounts, |contract| self.memory.code_form(contract));
                }
                return result.map_err(Unavailable::Failed);
            }
            self.read_missing(seen, attempt == 0).await?;
        }
        let messages_left = self.terms.messages.saturating_sub(self.messages);
        let waits = waits(self.readings, self.terms.caller, Handle::current(), messages_left, MOST_WAITED);
        let (result, seen) = self.lane.run_waiting(self.attempt(&job, Some(waits))).await?;
        let waited = seen.waited.as_ref();
        self.messages += waited.map_or(0, |waited| waited.messages.get());
        let reads_left = waited.map_or(0, |waited| waited.reads_left.get());
        result.map_err(|error| match error {
            _ if self.messages >= self.terms.messages => Unavailable::Spent,
            _ if reads_left == 0 || seen.gas_left == 0 => Unavailable::TooMuch,
            error => Unavailable::Failed(error),
        })
    }

    /// Returns one attempt at a job, to be run on a thread.
    fn attempt<T, J>(
        &self,
        job: &Arc<J>,
        waits: Option<Waits>,
    ) -> impl FnOnce() -> (Result<T, SimulationError>, Attempt) + Send + use<T, J>
    where
        T: Send + 'static,
        J: Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    {
        let (job, memory) = (Arc::clone(job), Arc::clone(&self.memory));
        let (gas_left, until) = (self.gas_left, self.terms.until);
        move || {
            let fork = Fork::new(memory, gas_left, until, waits);
            let result = job(&fork);
            (result, fork.finish())
        }
    }

    /// Reads the values that an attempt missed, and those that the job will probably need next.
    async fn read_missing(&mut self, seen: Attempt, is_first: bool) -> Result<(), Unavailable> {
        let Attempt { mut missing, diverged, .. } = seen;
        self.reads += missing.len();
        if seen.has_unseen {
            self.new_words.extend(&missing.words);
            self.add_likely(&mut missing);
        }
        if is_first {
            let unknown = self.accounts.iter().filter(|account| self.memory.account(account).is_none());
            missing.accounts.extend(unknown.map(|account| (*account, None)));
        }
        if self.reads > MOST_READS || self.gas_left == 0 {
            return Err(Unavailable::TooMuch);
        }
        if self.messages >= self.terms.messages {
            return Err(Unavailable::Spent);
        }
        missing.is_urgent = self.terms.caller != Caller::SERVICE;
        // For the service's own jobs, fewer messages matter more than fewer round trips.
        let asks_touched = missing.is_urgent
            && self.touched_reads_left > 0
            && !diverged.is_empty()
            && self.messages + 2 < self.terms.messages;
        let calls: &[TouchingCall] = if asks_touched { &diverged } else { &[] };
        let started = Instant::now();
        let reading = self.memory.fetch(&missing, self.readings);
        let (read, touched) = tokio::join!(reading, self.memory.touched(calls, missing.is_urgent));
        self.messages += read.map_err(Unavailable::Source)?;
        self.quickest_reading = self.quickest_reading.min(started.elapsed());
        let Some(touched) = touched else {
            self.touched_reads_left = 0;
            return Ok(());
        };
        self.touched_reads_left -= 1;
        self.messages += 1;
        self.reads += touched.len();
        if self.reads > MOST_READS {
            return Err(Unavailable::TooMuch);
        }
        self.new_words.extend(&touched.words);
        self.messages += self.memory.fetch(&touched, self.readings).await.map_err(Unavailable::Source)?;
        Ok(())
    }

    /// Adds words that other contracts with the same code read to what is read anyway.
    fn add_likely(&mut self, missing: &mut Wanted) {
        let is_new = |word: &(Address, U256)| self.memory.word(word).is_none() && !missing.words.contains(word);
        let code_of = |contract: &Address| self.memory.code_form(contract);
        let likely = self.layouts.likely(&self.accounts, code_of, self.likely_left, is_new);
        let before = missing.words.len();
        missing.words.extend(likely);
        self.likely_left -= missing.words.len() - before;
    }
}

/// Bounds on a fork that waits for values.
pub(crate) fn waits(
    readings: &Arc<Semaphore>,
    caller: Caller,
    runtime: Handle,
    most_messages: u32,
    most_reads: usize,
) -> Waits {
    Waits {
        runtime,
        readings: Arc::clone(readings),
        is_urgent: caller != Caller::SERVICE,
        most_messages,
        messages: Cell::new(0),
        reads_left: Cell::new(most_reads),
    }
}
