//! Reads the states of many pools at one block; their rounds of calls share batches.

use braid_market::Market;
use std::collections::{BTreeMap, BTreeSet};

use braid_primitives::{Address, B256, Bytes, PoolKey};
use braid_protocols::{Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader};

use futures::{StreamExt, TryStreamExt, stream};

use crate::{Node, NodeError};

/// Pools that are read together, which bounds the memory of a round. Their calls fill the requests that a node is sent
/// at once.
const POOLS_AT_ONCE: usize = 2_048;

/// Groups that are read side by side, so that the node is busy while the last calls of one are under way.
const GROUPS_AT_ONCE: usize = 2;

/// A pool's state, and its product as the state shows it.
pub(crate) type Read = (PoolState, Product);

/// Earlier states of pools that are read again.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    /// The market of an ancestor block, from which the parts that never change are taken.
    pub(crate) market: &'a Market,
    /// Pools of which only parts without logs can have changed since.
    pub(crate) polled: &'a BTreeSet<PoolKey>,
}

/// Reads pools in order, each with its own result. `base` holds earlier states of some of them.
pub(crate) async fn read_states(
    node: &Node,
    block_hash: B256,
    pools: &[Discovered],
    base: Option<Base<'_>>,
) -> Result<Vec<Result<Read, DecodeError>>, NodeError> {
    let lens = node.supports_overrides(block_hash).await?;
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
    // A pool that the lens could not read is read with plain calls before it counts as unreadable.
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

/// Makes the calls of a round of readers until all are done.
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

/// Removes repeated calls; returns also the position of each call's answer. Pools ask the same vaults, tokens and
/// clock.
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

/// Readers whose calls are made together. Pure.
struct Round {
    slots: Vec<Slot>,
}

enum Slot {
    /// The reader, the calls that it waits for, and the pool's product as announced or as read before.
    Reading(Box<dyn StateReader>, Vec<Call>, Product),
    Done(Result<Read, DecodeError>),
}

impl Round {
    fn start(pools: &[Discovered], lens: bool, base: Option<Base<'_>>) -> Self {
        let was = |pool: &Discovered| base.and_then(|base| base.market.pool(base.market.pool_id(pool.key)?));
        let polled = |pool: &Discovered| base.is_some_and(|base| base.polled.contains(&pool.key));
        let slot = |pool: &Discovered| {
            let was = was(pool);
            // An announcement may stand for several products; an earlier read shows which.
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

    /// Returns the calls of every unfinished reader, one after another.
    fn calls(&self) -> Vec<Call> {
        let calls = |slot: &Slot| match slot {
            Slot::Reading(_, calls, _) => calls.clone(),
            Slot::Done(_) => Vec::new(),
        };
        self.slots.iter().flat_map(calls).collect()
    }

    /// Passes every unfinished reader its part of the answers.
    fn feed(&mut self, answers: &[Option<Bytes>]) {
        let mut rest = answers;
        for slot in &mut self.slots {
            let Slot::Reading(reader, calls, announced) = slot else { continue };
            // There are as many answers as calls; otherwise the reader fails.
            let (mine, others) = rest.split_at(calls.len().min(rest.len()));
            rest = others;
            match reader.feed(mine) {
                // A reader without calls would never end.
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
