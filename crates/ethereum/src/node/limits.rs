//! Limits of one node, learnt from its refusals.

use braid_store::node_limits::NodeLimits;

use super::{refusals, size::Size, wire::LogFilter};
use crate::NodeError;

/// Most requests in a message.
const MOST_REQUESTS: u64 = 100;

/// Most bytes of a message.
const MOST_BYTES: u64 = 4 << 20;

/// Most calls in one aggregate.
const MOST_CALLS: u64 = 1_000;

/// Most gas of the lens in one aggregate, in gas units: nodes allow 50 million a call.
const MOST_LENS_GAS: u64 = 30_000_000;

/// First and largest number of blocks of a range when announcements are asked for, which are few.
const ANNOUNCEMENT_BLOCKS: (u64, u64) = (10_000, 250_000);

/// The same when every event of every pool is asked for: a block has many.
const EVENT_BLOCKS: (u64, u64) = (64, 4_096);

/// Malformed answers to batches in a row after which batches are suspected.
const MALFORMED_IN_A_ROW: u32 = 2;

/// Limits of one node.
#[derive(Debug)]
pub(super) struct Limits {
    /// Requests in a message.
    pub(super) requests: Size,
    /// Bytes of a message.
    pub(super) bytes: Size,
    /// Calls in an aggregate.
    pub(super) calls: Size,
    /// Gas of the lens in an aggregate, in gas units.
    pub(super) lens_gas: Size,
    announcement_blocks: Size,
    event_blocks: Size,
    /// Whether the node gives logs only of named contracts.
    pub(super) logs_need_emitters: bool,
    /// First block whose logs the node has; 0 unless older logs were found missing.
    pub(super) first_logs: u64,
    /// Malformed answers to batches in a row.
    malformed: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: Size::new(MOST_REQUESTS, MOST_REQUESTS),
            bytes: Size::new(MOST_BYTES, MOST_BYTES),
            calls: Size::new(MOST_CALLS, MOST_CALLS),
            lens_gas: Size::new(MOST_LENS_GAS, MOST_LENS_GAS),
            announcement_blocks: Size::new(ANNOUNCEMENT_BLOCKS.0, ANNOUNCEMENT_BLOCKS.1),
            event_blocks: Size::new(EVENT_BLOCKS.0, EVENT_BLOCKS.1),
            logs_need_emitters: false,
            first_logs: 0,
            malformed: 0,
        }
    }
}

impl Limits {
    /// Returns the blocks of a range with a filter.
    pub(super) const fn blocks(&mut self, filter: &LogFilter) -> &mut Size {
        if filter.emitters.is_empty() { &mut self.event_blocks } else { &mut self.announcement_blocks }
    }

    /// Returns the limits to store. The first block with logs is not stored: it moves, and is found with few requests.
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

    /// Starts from stored limits.
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

    /// Returns how many of the first requests, of these sizes in bytes, fit into one message; at least one.
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

    /// Notes that a message of several requests was answered.
    pub(super) fn batch_answered(&mut self, requests: usize) {
        self.malformed = 0;
        self.requests.answered(requests as u64, true);
    }

    /// Returns whether the number of requests in a message is known, so that several messages may be under way.
    pub(super) const fn is_batch_found(&self) -> bool {
        !self.requests.is_limited() || self.requests.is_steady()
    }

    /// Notes that a request that might have shared a message was answered alone: a limit of one grows by it.
    pub(super) fn single_answered(&mut self) {
        self.requests.answered(1, true);
    }

    /// Returns whether a batch may have failed because it is a batch.
    pub(super) fn suspects_batch(&mut self, error: &NodeError) -> bool {
        match error {
            NodeError::Rpc { .. } => !error.is_rate_limit() && !error.is_unknown_block(),
            NodeError::Http { status, .. } => !matches!(status, 401 | 404 | 408 | 413 | 429 | 502..),
            NodeError::Malformed { .. } => {
                self.malformed += 1;
                self.malformed >= MALFORMED_IN_A_ROW
            }
            _ => false,
        }
    }

    /// Notes that the node refuses batches of so many requests.
    pub(super) fn batch_refused(&mut self, node: &str, requests: usize, error: &NodeError) {
        let stated = refusals::batch(error.message(), requests as u64);
        let (first, were_few) = (self.requests.now() == MOST_REQUESTS, self.requests.is_few());
        if !self.requests.refused(requests as u64, stated, error.speaks_of_size()) {
            return;
        }
        if first {
            tracing::warn!(node, requests, %error, "the node limits batches: messages have fewer requests from now on");
        }
        warn_if_few(node, &self.requests, were_few, "requests in a message", error);
    }

    /// Notes that the node refuses messages of so many bytes.
    pub(super) fn body_refused(&mut self, node: &str, bytes: usize) {
        let first = self.bytes.now() == MOST_BYTES;
        if self.bytes.refused(bytes as u64, None, true) && first {
            tracing::warn!(node, bytes, "the node limits the size of messages: they are smaller from now on");
        }
    }
}

/// Warns when a limit has become so small that everything takes long.
pub(super) fn warn_if_few(node: &str, limit: &Size, were_few: bool, of: &str, error: &NodeError) {
    if limit.is_few() && !were_few {
        let most = limit.now();
        tracing::warn!(
            node, %error, most, of,
            "the node accepts very few at once: reading takes many more messages, and the market may fall behind; \
             if this is not a limit of your plan, the node was faulty, and more is tried again by and by"
        );
    }
}
