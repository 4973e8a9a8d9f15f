//! Runs jobs on the state of recent blocks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use braid_primitives::Block;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::attempts::{Attempts, Terms, Unavailable, waits};
use crate::lanes::{Admitted, Caller, Lanes};
use crate::layouts::Layouts;
use crate::memory::{BlockMemory, Past};
use crate::source::StateSource;
use crate::work::{WorkError, WorkPool};
use crate::{Fork, SimulationError};

/// Blocks whose state is kept for further jobs.
const BLOCKS_KEPT: usize = 3;

/// Readings of one block that may run at once; values wanted meanwhile are read together by the next one.
const READINGS_AT_ONCE: usize = 4;

/// How long a fork of [`Simulator::waiting_fork`] may be used.
const WAITING_FOR: Duration = Duration::from_secs(86_400);

/// Runs jobs on forked state. Solving threads never wait for the node.
pub struct Simulator {
    source: Option<Arc<dyn StateSource>>,
    past: Past,
    layouts: Layouts,
    blocks: Mutex<VecDeque<Arc<BlockMemory>>>,
    readings: Arc<Semaphore>,
    lanes: Lanes,
}

impl Simulator {
    /// A simulator that reads state from `source`, if there is one, and runs on threads shared with other work.
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

    /// Returns whether there is a node to read state from.
    pub fn is_available(&self) -> bool {
        self.source.is_some()
    }

    /// Returns how many jobs wait for other jobs of their callers.
    pub fn waiting(&self) -> usize {
        self.lanes.waiting()
    }

    /// Returns the calls of the node that the service's own jobs made so far.
    pub fn background_calls(&self) -> u64 {
        self.past.background_calls()
    }

    /// Admits a caller's next job before any work is done for it, unless too many of the caller's jobs wait. The job
    /// counts among those until the returned value is dropped, which should happen when the job begins.
    pub fn admit(&self, caller: Caller) -> Result<Admitted<'_>, WorkError> {
        self.lanes.admit(caller)
    }

    /// Runs a job on the state after a block until nothing is missing. Returns its result, and the messages to the node
    /// that it took.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no node, when the job exceeds its terms, and when it panics.
    pub async fn run<T, J>(&self, block: &Block, terms: Terms, job: J) -> (Result<T, Unavailable>, u32)
    where
        T: Send + 'static,
        J: Fn(&Fork) -> Result<T, SimulationError> + Send + Sync + 'static,
    {
        let Some(source) = &self.source else { return (Err(Unavailable::NoNode), 0) };
        let until = terms.until;
        let lane = self.lanes.enter(terms.caller);
        let mut attempts = Attempts::new(self.memory(source, block), &self.layouts, &self.readings, lane, terms);
        let result = timeout_at(until, attempts.run(Arc::new(job))).await.unwrap_or(Err(Unavailable::Late));
        (result, attempts.messages())
    }

    /// Returns the state after a block as a fork that waits for each missing value, for many transactions in a row. It
    /// must not be used on a thread of the runtime; nothing bounds what it reads. `None` without a node.
    pub fn waiting_fork(&self, block: &Block, runtime: Handle) -> Option<Fork> {
        let memory = self.memory(self.source.as_ref()?, block);
        let waits = waits(&self.readings, Caller::SERVICE, runtime, u32::MAX, usize::MAX);
        Some(Fork::new(memory, u64::MAX, Instant::now() + WAITING_FOR, Some(waits)))
    }

    /// Returns the state of a block as far as it was read; the oldest block is dropped for a new one.
    fn memory(&self, source: &Arc<dyn StateSource>, block: &Block) -> Arc<BlockMemory> {
        let mut kept = self.blocks.lock();
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
