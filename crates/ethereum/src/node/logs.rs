//! The logs of blocks, and whether a node's list of them is whole.
//!
//! A header says in its bloom which emitters and topics its block's logs may have. It never leaves one out, so a log that it
//! rules out is not the block's; and a list that is empty although the bloom names a topic that was asked for is checked
//! against the receipts.

use std::collections::VecDeque;

use alloy::{
    primitives::{Bloom, BloomInput, U64},
    rpc::types::Log as RpcLog,
};
use braid_primitives::{Address, B256, Block};
use serde::Deserialize;
use serde_json::json;

use super::{
    FeeHistory, LogFilter, Node, PlacedLog,
    client::Request,
    fleet::Member,
    health::Class,
    parse,
    wire::{Header, place_logs},
};
use crate::NodeError;

const LOGS: &str = "eth_getLogs";

/// Headers whose blooms are remembered.
const REMEMBERED: usize = 192;

/// What a follower asks of a node for one block, answered together.
#[derive(Clone, Debug)]
pub struct BlockLogs {
    /// The block's logs in order.
    pub logs: Vec<PlacedLog>,
    /// Fee history up to that block, if the node gave one.
    pub fees: Option<FeeHistory>,
}

/// Blooms of the newest headers that nodes gave; none for a hash of which nodes said different ones, so that one node's
/// false header cannot convict the others' logs.
#[derive(Debug, Default)]
pub(super) struct Blooms(VecDeque<(B256, Option<Box<Bloom>>)>);

impl Blooms {
    fn insert(&mut self, hash: B256, bloom: Bloom) {
        if let Some((_, known)) = self.0.iter_mut().rev().find(|(known, _)| *known == hash) {
            if known.as_deref().is_some_and(|known| *known != bloom) {
                *known = None;
            }
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((hash, Some(Box::new(bloom))));
    }

    fn get(&self, hash: B256) -> Option<Bloom> {
        self.0.iter().rev().find(|(known, _)| *known == hash).and_then(|(_, bloom)| bloom.as_deref().copied())
    }
}

/// What a bloom says of a list of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing against it.
    Plausible,
    /// Empty, although there may be logs of the kind.
    Suspicious,
    /// It has a log that the block does not have.
    Foreign,
}

fn judge(bloom: &Bloom, filter: &LogFilter, logs: &[PlacedLog]) -> Verdict {
    if logs.iter().any(|placed| !bloom.contains_raw_log(placed.log.address, placed.log.topics())) {
        return Verdict::Foreign;
    }
    let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
    let topics = filter.topics.is_empty() || filter.topics.iter().any(|topic| has(topic.as_slice()));
    let emitters = filter.emitters.is_empty() || filter.emitters.iter().any(|emitter| has(emitter.as_slice()));
    if logs.is_empty() && topics && emitters && !bloom.is_zero() { Verdict::Suspicious } else { Verdict::Plausible }
}

impl LogFilter {
    fn matches(&self, emitter: Address, topics: &[B256]) -> bool {
        let topic = self.topics.is_empty() || topics.first().is_some_and(|topic0| self.topics.contains(topic0));
        topic && (self.emitters.is_empty() || self.emitters.contains(&emitter))
    }
}

/// As much of a receipt as shows which logs a block has.
#[derive(Deserialize)]
struct Receipt {
    logs: Vec<Emitted>,
}

#[derive(Deserialize)]
struct Emitted {
    address: Address,
    topics: Vec<B256>,
}

impl Node {
    /// The block of a header, whose bloom is kept for checking its logs.
    pub(super) fn remember(&self, method: &'static str, header: Header) -> Result<Block, NodeError> {
        let bloom = header.logs_bloom;
        let block = header.block(method)?;
        if let Some(bloom) = bloom {
            super::lock(&self.inner.headers).insert(block.hash, bloom);
        }
        Ok(block)
    }

    pub(super) fn bloom_of(&self, block_hash: B256) -> Option<Bloom> {
        super::lock(&self.inner.headers).get(block_hash)
    }

    /// The logs of one block by hash, and on demand the fee history up to it, in one message.
    ///
    /// Some nodes answer a hash that they do not know with no logs at all; so the block's transaction count is asked for
    /// along with them, which is null then. Where the block's header was seen, the logs are held against its bloom.
    ///
    /// # Errors
    /// [`NodeError::UnknownBlock`] when no node has the block, [`NodeError::MissingLogs`] when logs were left out.
    pub async fn block_logs(&self, block: &Block, filter: &LogFilter, fees: bool) -> Result<BlockLogs, NodeError> {
        let mut all = self.blocks_logs(std::slice::from_ref(block), filter, fees).await?;
        all.pop().ok_or(NodeError::UnknownBlock { hash: block.hash })
    }

    /// As [`Node::block_logs`] for several blocks at once; the fee history is that of the last one.
    ///
    /// # Errors
    /// As [`Node::block_logs`].
    pub async fn blocks_logs(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
        fees: bool,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        super::lock(&self.inner.filter).get_or_insert_with(|| filter.clone());
        let mut requests = Vec::with_capacity(blocks.len() * 2 + 1);
        for block in blocks {
            requests.push(Request { method: LOGS, params: filter.at(block.hash) });
            requests.push(Request { method: COUNT, params: json!([block.hash]) });
        }
        let newest = blocks.last().filter(|_| fees);
        requests.extend(
            newest.map(|block| crate::fees::request(block.number)).map(|(method, params)| Request { method, params }),
        );
        let requests = requests.as_slice();
        self.ask(Class::Heavy, |member| self.logs_of(member, requests, blocks, filter)).await
    }

    async fn logs_of(
        &self,
        member: &Member,
        requests: &[Request],
        blocks: &[Block],
        filter: &LogFilter,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        let mut answers = member.connection.batch(requests).await?.into_iter();
        let mut all = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(logs), Some(count)) = (answers.next(), answers.next()) else {
                return Err(NodeError::Malformed { method: LOGS, why: "too few answers".into() });
            };
            if parse::<Option<U64>>(COUNT, &count?)?.is_none() {
                return Err(NodeError::UnknownBlock { hash: block.hash });
            }
            let logs = place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &logs?)?)?;
            if logs.iter().any(|log| log.block_hash != block.hash) {
                return Err(NodeError::Malformed { method: LOGS, why: "logs of another block".into() });
            }
            self.hold_against_bloom(member, block, filter, &logs).await?;
            all.push(BlockLogs { logs, fees: None });
        }
        if let (Some(last), Some(Ok(raw))) = (all.last_mut(), answers.next()) {
            last.fees = parse(crate::fees::METHOD, &raw).ok();
        }
        Ok(all)
    }

    async fn hold_against_bloom(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
        logs: &[PlacedLog],
    ) -> Result<(), NodeError> {
        let Some(bloom) = self.bloom_of(block.hash) else { return Ok(()) };
        match judge(&bloom, filter, logs) {
            Verdict::Plausible => {}
            Verdict::Foreign => {
                return Err(NodeError::Malformed { method: LOGS, why: "a log that the block does not have".into() });
            }
            Verdict::Suspicious => {
                if receipts_show(member, block, filter).await {
                    let endpoint = member.connection.endpoint().to_string();
                    return Err(NodeError::MissingLogs { endpoint, number: block.number });
                }
            }
        }
        if !logs.is_empty() && self.inner.fleet.members.len() == 1 {
            // Several nodes are compared with each other instead.
            member.update(|health| health.missing_logs = None);
        }
        Ok(())
    }

    /// The logs of a block as one node has them, without those that the block's bloom rules out.
    pub(super) async fn plausible_logs(
        &self,
        member: &Member,
        block: &Block,
        filter: &LogFilter,
    ) -> Result<Vec<PlacedLog>, NodeError> {
        let request = Request { method: LOGS, params: filter.at(block.hash) };
        let mut logs = place_logs(LOGS, member.get::<Vec<RpcLog>>(&request).await?)?;
        if let Some(bloom) = self.bloom_of(block.hash) {
            logs.retain(|placed| bloom.contains_raw_log(placed.log.address, placed.log.topics()));
        }
        Ok(logs)
    }
}

const COUNT: &str = "eth_getBlockTransactionCountByHash";

/// Whether the block's receipts have logs that the filter wants. A node that gives no receipts is believed.
async fn receipts_show(member: &Member, block: &Block, filter: &LogFilter) -> bool {
    let request = Request { method: "eth_getBlockReceipts", params: json!([block.hash]) };
    let Ok(Some(receipts)) = member.get::<Option<Vec<Receipt>>>(&request).await else { return false };
    receipts.iter().flat_map(|receipt| &receipt.logs).any(|log| filter.matches(log.address, &log.topics))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, Log};

    use std::slice::from_ref;

    use super::*;

    fn placed(emitter: u8, topic: u8) -> PlacedLog {
        let log =
            Log::new_unchecked(Address::repeat_byte(emitter), vec![B256::repeat_byte(topic)], Bytes::from_static(&[1]));
        PlacedLog { block_number: 1, block_hash: B256::ZERO, index: 0, log }
    }

    fn bloom(logs: &[PlacedLog]) -> Bloom {
        logs.iter().map(|placed| &placed.log).collect()
    }

    #[test]
    fn a_bloom_tells_an_empty_list_that_should_not_be_and_a_log_of_another_block() {
        let filter = LogFilter { emitters: vec![], topics: vec![B256::repeat_byte(7)] };
        let (wanted, other) = (placed(1, 7), placed(2, 8));
        assert_eq!(judge(&bloom(&[]), &filter, &[]), Verdict::Plausible);
        assert_eq!(judge(&bloom(from_ref(&other)), &filter, &[]), Verdict::Plausible, "nothing that was asked for");
        assert_eq!(judge(&bloom(from_ref(&wanted)), &filter, &[]), Verdict::Suspicious);
        assert_eq!(judge(&bloom(from_ref(&wanted)), &filter, from_ref(&wanted)), Verdict::Plausible);
        assert_eq!(judge(&bloom(&[wanted]), &filter, &[other]), Verdict::Foreign);
        let narrow = LogFilter { emitters: vec![Address::repeat_byte(9)], ..filter };
        assert_eq!(
            judge(&bloom(&[placed(1, 7)]), &narrow, &[]),
            Verdict::Plausible,
            "of no emitter that was asked for"
        );
    }

    #[test]
    fn blooms_are_forgotten_in_the_order_in_which_they_came() {
        let mut blooms = Blooms::default();
        for byte in 0..=REMEMBERED {
            blooms.insert(B256::left_padding_from(&byte.to_be_bytes()), Bloom::repeat_byte(1));
        }
        assert_eq!((blooms.get(B256::ZERO), blooms.0.len()), (None, REMEMBERED));
        assert!(blooms.get(B256::left_padding_from(&REMEMBERED.to_be_bytes())).is_some());
    }

    #[test]
    fn a_bloom_that_two_headers_of_one_hash_do_not_share_counts_for_nothing() {
        let mut blooms = Blooms::default();
        let [truth, lie] = [1, 2].map(Bloom::repeat_byte);
        blooms.insert(B256::ZERO, truth);
        blooms.insert(B256::ZERO, truth);
        assert_eq!(blooms.get(B256::ZERO), Some(truth));
        for later in [lie, truth, lie] {
            blooms.insert(B256::ZERO, later);
            assert_eq!(blooms.get(B256::ZERO), None, "nobody knows which of them lied");
        }
    }
}
