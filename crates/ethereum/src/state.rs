//! Reads the states of many pools at one block; the rounds of different pools share their batches.

use braid_market::Market;
use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{Address, B256, Bytes, PoolKey};
use braid_protocols::{Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader};

use futures::{StreamExt, TryStreamExt, stream};

use crate::{Node, NodeError};

/// How many pools are read together: bounds the memory of a round. Their calls are enough for the requests that a node is sent at once, so that
/// a round takes as long as one of them.
const POOLS_AT_ONCE: usize = 2_048;

/// How many of these groups are read side by side: while the last calls of one are waited for, the next is asked about.
const GROUPS_AT_ONCE: usize = 2;

/// A pool's state, and the product that it shows to be.
pub(crate) type Read = (PoolState, Product);

/// What is known of pools that are read again.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    /// A market of an ancestor of the block: what never changes about its pools is taken from there.
    pub(crate) market: &'a Market,
    /// Pools of which only that can have changed since the market which no log tells.
    pub(crate) polled: &'a BTreeSet<PoolKey>,
}

/// Reads pools in order; an error of a pool's reader leaves that pool out. `base` holds what is known of some of them.
pub(crate) async fn read_states(
    node: &Node,
    block_hash: B256,
    pools: &[Discovered],
    base: Option<Base<'_>>,
) -> Result<Vec<Result<Read, DecodeError>>, NodeError> {
    let lens = node.lends_code(block_hash).await?;
    let mut states = Vec::with_capacity(pools.len());
    let groups = pools.chunks(POOLS_AT_ONCE).map(|group| read_group(node, block_hash, group, lens, base));
    let mut groups = stream::iter(groups.collect::<Vec<_>>()).buffered(GROUPS_AT_ONCE);
    while let Some(group) = groups.try_next().await? {
        states.extend(group);
    }
    Ok(states)
}

async fn read_group(
    node: &Node,
    block_hash: B256,
    pools: &[Discovered],
    lens: bool,
    base: Option<Base<'_>>,
) -> Result<Vec<Result<Read, DecodeError>>, NodeError> {
    let mut states = serve(node, block_hash, Round::start(pools, lens, base)).await?;
    // What the lens could not make out is asked call by call before it counts as unreadable.
    let failed = |(pool, state): (&Discovered, &Result<Read, DecodeError>)| {
        (lens && state.is_err() && pool.product.lens_reader(pool).is_some()).then(|| pool.clone())
    };
    let again: Vec<Discovered> = pools.iter().zip(&states).filter_map(failed).collect();
    if again.is_empty() {
        return Ok(states);
    }
    let mut plain = serve(node, block_hash, Round::start(&again, false, None)).await?.into_iter();
    for (pool, state) in pools.iter().zip(&mut states) {
        if again.iter().any(|other| other.key == pool.key)
            && let Some(second) = plain.next()
        {
            *state = second;
        }
    }
    Ok(states)
}

async fn serve(node: &Node, block_hash: B256, mut round: Round) -> Result<Vec<Result<Read, DecodeError>>, NodeError> {
    loop {
        let calls = round.calls();
        if calls.is_empty() {
            return Ok(round.finish().collect());
        }
        let (asked, places) = once_each(calls);
        let answers = node.read(block_hash, asked).await?;
        let answers: Vec<Option<Bytes>> = places.iter().map(|place| answers.get(*place).cloned().flatten()).collect();
        round.feed(&answers);
    }
}

/// The calls without repetition, and where each of them went: pools ask the same vaults, tokens and clock.
fn once_each(calls: Vec<Call>) -> (Vec<Call>, Vec<usize>) {
    let mut known: BTreeMap<(Address, Bytes), usize> = BTreeMap::new();
    let mut asked = Vec::with_capacity(calls.len());
    let mut places = Vec::with_capacity(calls.len());
    for call in calls {
        let place = *known.entry((call.to, call.data.clone())).or_insert(asked.len());
        if place == asked.len() {
            asked.push(call);
        }
        places.push(place);
    }
    (asked, places)
}

/// Readers that are being served together. Pure.
struct Round {
    slots: Vec<Slot>,
}

enum Slot {
    /// The reader, the calls that it waits for, and the product that the pool was announced as, or read as before.
    Reading(Box<dyn StateReader>, Vec<Call>, Product),
    Done(Result<Read, DecodeError>),
}

impl Round {
    fn start(pools: &[Discovered], lens: bool, base: Option<Base<'_>>) -> Self {
        let was = |pool: &Discovered| base.and_then(|base| base.market.pool(base.market.pool_id(pool.key)?));
        let polled = |pool: &Discovered| base.is_some_and(|base| base.polled.contains(&pool.key));
        let slot = |pool: &Discovered| {
            let was = was(pool);
            // A pool that was read is known better than its announcement, which may speak for several products.
            let product = was.map_or(pool.product, |was| was.product);
            let short = if lens { product.lens_reader(pool) } else { None };
            let long = || match was {
                Some(was) if polled(pool) => product.reader_each_block(pool, &was.state),
                Some(was) => product.reader_again(pool, &was.state),
                None => product.reader(pool),
            };
            let mut reader = short.unwrap_or_else(long);
            match reader.start() {
                ReadProgress::Calls(calls) => Slot::Reading(reader, calls, product),
                ReadProgress::Done(state) => Slot::Done(Ok((state, reader.product().unwrap_or(product)))),
            }
        };
        Self { slots: pools.iter().map(slot).collect() }
    }

    /// The calls of every unfinished reader, one after another.
    fn calls(&self) -> Vec<Call> {
        let calls = |slot: &Slot| match slot {
            Slot::Reading(_, calls, _) => calls.clone(),
            Slot::Done(_) => Vec::new(),
        };
        self.slots.iter().flat_map(calls).collect()
    }

    /// Gives every unfinished reader its part of the answers.
    fn feed(&mut self, answers: &[Option<Bytes>]) {
        let mut rest = answers;
        for slot in &mut self.slots {
            let Slot::Reading(reader, calls, announced) = slot else { continue };
            // Fewer answers than calls only if the node client broke its word; the reader then says so.
            let (mine, others) = rest.split_at(calls.len().min(rest.len()));
            rest = others;
            match reader.feed(mine) {
                // A reader that asks for nothing would never end.
                Ok(ReadProgress::Calls(next)) if next.is_empty() => {
                    *slot = Slot::Done(Err(DecodeError::AnswerCount { expected: 0, got: mine.len() }));
                }
                Ok(ReadProgress::Calls(next)) => *calls = next,
                Ok(ReadProgress::Done(state)) => {
                    *slot = Slot::Done(Ok((state, reader.product().unwrap_or(*announced))));
                }
                Err(error) => *slot = Slot::Done(Err(error)),
            }
        }
    }

    fn finish(self) -> impl Iterator<Item = Result<Read, DecodeError>> {
        self.slots.into_iter().map(|slot| match slot {
            Slot::Done(result) => result,
            Slot::Reading(_, calls, _) => Err(DecodeError::AnswerCount { expected: calls.len(), got: 0 }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_of_two_pools_is_asked_once_and_answered_to_both() {
        let call = |to: u8, data: u8| Call { to: Address::repeat_byte(to), data: vec![data].into() };
        let calls = vec![call(1, 1), call(1, 2), call(1, 1), call(2, 1), call(1, 2)];
        let (asked, places) = once_each(calls.clone());
        assert_eq!(asked, [call(1, 1), call(1, 2), call(2, 1)]);
        let back: Vec<Call> = places.iter().map(|place| asked[*place].clone()).collect();
        assert_eq!(back, calls);
    }
}
