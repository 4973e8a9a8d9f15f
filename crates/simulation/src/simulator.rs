//! Jobs on the state of recent blocks, on a bounded number of threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use braid_ethereum::Node;
use braid_primitives::Block;
use tokio::runtime::Handle;

use crate::work::{Bounds, WorkError, WorkPool};
use crate::{Fork, NodeState};

/// How many blocks' states are kept for further jobs.
const FORKS_KEPT: usize = 3;

/// Runs jobs on forked state. Its threads are its own: they wait for the node, which must not hold up other work.
pub struct Simulator {
    node: Option<Node>,
    forks: Mutex<VecDeque<Arc<Fork>>>,
    threads: WorkPool,
}

/// Why a job was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Nothing serves state.
    #[error("there is no node to take the state from")]
    NoNode,
    /// The threads did not take or finish it.
    #[error(transparent)]
    Work(#[from] WorkError),
}

impl Simulator {
    /// A simulator on the state that a node serves, if there is one.
    pub fn new(node: Option<Node>, threads: usize, bounds: Bounds) -> Self {
        Self { node, forks: Mutex::default(), threads: WorkPool::new(threads, bounds) }
    }

    /// Whether there is a node to take state from.
    pub fn is_available(&self) -> bool {
        self.node.is_some()
    }

    /// The threads, for what they report.
    pub fn threads(&self) -> &WorkPool {
        &self.threads
    }

    /// Runs a job on the state after a block.
    ///
    /// # Errors
    /// [`Unavailable`] when there is no node, when too much waits, or when the job panics.
    pub async fn run<T: Send + 'static>(
        &self,
        block: &Block,
        job: impl FnOnce(&Fork) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let node = self.node.as_ref().ok_or(Unavailable::NoNode)?;
        let fork = self.fork(node, block);
        Ok(self.threads.run(move || job(&fork)).await?)
    }

    /// The state of a block: the one in use already, or a new one.
    fn fork(&self, node: &Node, block: &Block) -> Arc<Fork> {
        let mut kept = self.forks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fork) = kept.iter().find(|fork| fork.block().hash == block.hash) {
            return Arc::clone(fork);
        }
        let source = NodeState::new(node.clone(), block.hash, Handle::current());
        let fork = Arc::new(Fork::new(*block, Box::new(source)));
        kept.push_back(Arc::clone(&fork));
        if kept.len() > FORKS_KEPT {
            kept.pop_front();
        }
        fork
    }
}
