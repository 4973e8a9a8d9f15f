//! What a node was found to allow: asked for once, remembered, and said once in the log.

use std::sync::{Mutex, MutexGuard, PoisonError};

use braid_store::node_limits::NodeLimits;

use super::{size::Size, told, wire::LogFilter};
use crate::NodeError;

/// Most requests in a message.
const MOST_REQUESTS: u64 = 100;

/// Most bytes of a message that are sent where nothing smaller was refused.
const MOST_BYTES: u64 = 4 << 20;

/// Most calls in one aggregate.
const MOST_CALLS: u64 = 1_000;

/// Most gas that the lens may take in one aggregate, in gas units: nodes allow 50 million a call.
const MOST_LENS_GAS: u64 = 30_000_000;

/// Blocks of a range at first and at most, where announcements are asked for, which are few.
const ANNOUNCEMENT_BLOCKS: (u64, u64) = (10_000, 250_000);

/// The same where every event of every pool is asked for, and there are many in a block.
const EVENT_BLOCKS: (u64, u64) = (64, 4_096);

/// Garbled answers to batches in a row after which batches themselves are suspected.
const GARBLED: u32 = 2;

/// What one node allows.
#[derive(Debug)]
pub(super) struct Limits(Mutex<Learnt>);

#[derive(Debug)]
pub(super) struct Learnt {
    /// Requests in a message.
    pub(super) requests: Size,
    /// Bytes of a message.
    pub(super) bytes: Size,
    /// Calls in an aggregate.
    pub(super) calls: Size,
    /// Gas of the lens in an aggregate.
    pub(super) lens_gas: Size,
    announcement_blocks: Size,
    event_blocks: Size,
    /// Whether it gives logs only of contracts that are named.
    pub(super) logs_need_emitters: bool,
    /// The first block whose logs it has, where they do not go back to the beginning.
    pub(super) first_logs: u64,
    /// Answers to batches in a row that could not be read.
    garbled: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let announcement_blocks = Size::new(ANNOUNCEMENT_BLOCKS.0, ANNOUNCEMENT_BLOCKS.1);
        let event_blocks = Size::new(EVENT_BLOCKS.0, EVENT_BLOCKS.1);
        Self(Mutex::new(Learnt {
            requests: Size::new(MOST_REQUESTS, MOST_REQUESTS),
            bytes: Size::new(MOST_BYTES, MOST_BYTES),
            calls: Size::new(MOST_CALLS, MOST_CALLS),
            lens_gas: Size::new(MOST_LENS_GAS, MOST_LENS_GAS),
            announcement_blocks,
            event_blocks,
            logs_need_emitters: false,
            first_logs: 0,
            garbled: 0,
        }))
    }
}

impl Limits {
    pub(super) fn learnt(&self) -> MutexGuard<'_, Learnt> {
        // A panic elsewhere leaves sizes behind that are at worst not the best.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Learnt {
    /// Blocks of a range with such a filter.
    pub(super) const fn blocks(&mut self, filter: &LogFilter) -> &mut Size {
        if filter.emitters.is_empty() { &mut self.event_blocks } else { &mut self.announcement_blocks }
    }

    /// What was found, for the next start. Where a history begins is not: it moves, and to look for it takes few questions.
    pub(super) fn found(&self) -> NodeLimits {
        NodeLimits {
            requests: self.requests.found(),
            message_bytes: self.bytes.found(),
            aggregated_calls: self.calls.found(),
            aggregate_gas: self.lens_gas.found(),
            announcement_blocks: self.announcement_blocks.found(),
            event_blocks: self.event_blocks.found(),
            logs_need_emitters: self.logs_need_emitters,
            ..NodeLimits::default()
        }
    }

    /// Begins with what an earlier start found.
    pub(super) fn recall(&mut self, found: &NodeLimits) {
        for (size, limit) in [
            (&mut self.requests, found.requests),
            (&mut self.bytes, found.message_bytes),
            (&mut self.calls, found.aggregated_calls),
            (&mut self.lens_gas, found.aggregate_gas),
            (&mut self.announcement_blocks, found.announcement_blocks),
            (&mut self.event_blocks, found.event_blocks),
        ] {
            if let Some(limit) = limit {
                size.recall(limit);
            }
        }
        self.logs_need_emitters |= found.logs_need_emitters;
    }

    /// How many of the first requests, of so many bytes each, fit into one message; at least one.
    pub(super) fn fitting(&self, sizes: impl IntoIterator<Item = usize>) -> usize {
        let (mut count, mut bytes) = (0, 0);
        for size in sizes {
            bytes += size as u64;
            if count > 0 && (count as u64 >= self.requests.now() || bytes > self.bytes.now()) {
                break;
            }
            count += 1;
        }
        count
    }

    /// A message of several requests was answered.
    pub(super) fn batch_answered(&mut self, requests: usize) {
        self.garbled = 0;
        self.requests.answered(requests as u64, true);
    }

    /// Whether an error in a batch's place may be because it is a batch.
    pub(super) fn suspects_batch(&mut self, error: &NodeError) -> bool {
        match error {
            NodeError::Rpc { .. } => !error.is_a_rate_limit() && !error.is_of_the_block(),
            NodeError::Http { status, .. } => !matches!(status, 401 | 404 | 408 | 413 | 429 | 502..),
            NodeError::Malformed { .. } => {
                self.garbled += 1;
                self.garbled >= GARBLED
            }
            _ => false,
        }
    }

    /// Batches of so many requests are refused.
    pub(super) fn batch_refused(&mut self, node: &str, requests: usize, error: &NodeError) {
        let told = told::batch(error.message(), requests as u64);
        let first = self.requests.now() == MOST_REQUESTS;
        if self.requests.refused(requests as u64, told) && first {
            tracing::warn!(node, requests, %error, "the node limits batches: fewer requests are sent in a message from now on");
        }
    }

    /// A message of so many bytes is refused.
    pub(super) fn body_refused(&mut self, node: &str, bytes: usize) {
        let first = self.bytes.now() == MOST_BYTES;
        if self.bytes.refused(bytes as u64, None) && first {
            tracing::warn!(node, bytes, "the node limits the size of messages: smaller ones are sent from now on");
        }
    }
}
