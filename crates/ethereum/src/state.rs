//! Reads the states of many pools at one block; their rounds of calls share batches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
};

use braid_market::Market;

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

/// Why a pool was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Its answers could not be decoded.
    Undecoded(DecodeError),
    /// The calls for one block were used up by pools before it.
    Postponed,
}

/// The calls that pools may take at one block: so many each, and so many together beyond these.
pub(crate) struct CallsLeft {
    each: usize,
    beyond: AtomicUsize,
}

impl CallsLeft {
    pub(crate) const fn new((each, beyond): (usize, usize)) -> Self {
        Self { each, beyond: AtomicUsize::new(beyond) }
    }

    /// Takes calls; the last ones may be more than are left. Returns false if none are left.
    fn take(&self, calls: usize) -> bool {
        let take = |left: usize| (left > 0).then(|| left.saturating_sub(calls));
        self.beyond.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// Earlier states of pools that are read again.
#[derive(Clone, Copy)]
pub(crate) struct Base<'a> {
    /// The market of an ancestor block, from which the parts that never change are taken.
    pub(crate) market: &'a Market,
    /// Pools of which only parts without logs can have changed since.
    pub(crate) polled: &'a BTreeSet<PoolKey>,
}

/// Reads pools in order, each with its own result. `base` holds earlier states of some of them. `left` bounds their
/// calls: the first pools take theirs first.
pub(crate) async fn read_states(
    node: &Node,
    block_hash: B256,
    pools: &[Discovered],
    base: Option<Base<'_>>,
    left: Option<&CallsLeft>,
) -> Result<Vec<Result<Read, Unread>>, NodeError> {
    let lens = node.supports_overrides(block_hash).await?;
    let mut states = Vec::with_capacity(pools.len());
    let groups = pools.chunks(POOLS_AT_ONCE).map(|group| read_group(node, block_hash, group, lens, base, left));
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
    left: Option<&CallsLeft>,
) -> Result<Vec<Result<Read, Unread>>, NodeError> {
    let mut states = serve(node, block_hash, Round::start(pools, lens, base), left).await?;
    // A pool that the lens could not read is read with plain calls before it counts as unreadable.
    let failed = |(pool, state): (&Discovered, &Result<Read, Unread>)| {
        (lens && matches!(state, Err(Unread::Undecoded(_))) && pool.product.lens_reader(pool).is_some())
            .then(|| pool.clone())
    };
    let again: Vec<Discovered> = pools.iter().zip(&states).filter_map(failed).collect();
    if again.is_empty() {
        return Ok(states);
    }
    let mut plain = serve(node, block_hash, Round::start(&again, false, None), left).await?.into_iter();
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
async fn serve(
    node: &Node,
    block_hash: B256,
    mut round: Round,
    left: Option<&CallsLeft>,
) -> Result<Vec<Result<Read, Unread>>, NodeError> {
    loop {
        if let Some(left) = left {
            round.bound(left);
        }
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
    /// The reader, the calls that it waits for, the pool's product as announced or as read before, and the number of its
    /// calls that no pool before it makes too.
    Reading(Box<dyn StateReader>, Vec<Call>, Product, usize),
    Done(Result<Read, Unread>),
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
                ReadProgress::Calls(calls) => Slot::Reading(reader, calls, product, 0),
                ReadProgress::Done(state) => Slot::Done(Ok((state, reader.product().unwrap_or(product)))),
            }
        };
        Self { slots: pools.iter().map(slot).collect() }
    }

    /// Returns the calls of every unfinished reader, one after another.
    fn calls(&self) -> Vec<Call> {
        let calls = |slot: &Slot| match slot {
            Slot::Reading(_, calls, ..) => calls.clone(),
            Slot::Done(_) => Vec::new(),
        };
        self.slots.iter().flat_map(calls).collect()
    }

    /// Postpones the pools for whose calls none are left. The first pool that takes many is read whatever it takes, so that
    /// each pool is read once it is the first.
    fn bound(&mut self, left: &CallsLeft) {
        let mut asked: BTreeSet<(Address, Bytes)> = BTreeSet::new();
        let mut is_first = true;
        for slot in &mut self.slots {
            let Slot::Reading(_, calls, _, own) = slot else { continue };
            let new = calls.iter().filter(|call| asked.insert((call.to, call.data.clone()))).count();
            *own += new;
            if *own <= left.each {
                continue;
            }
            if !left.take(new) && !is_first {
                *slot = Slot::Done(Err(Unread::Postponed));
            }
            is_first = false;
        }
    }

    /// Passes every unfinished reader its part of the answers.
    fn feed(&mut self, answers: &[Option<Bytes>]) {
        let mut rest = answers;
        for slot in &mut self.slots {
            let Slot::Reading(reader, calls, announced, _) = slot else { continue };
            // There are as many answers as calls; otherwise the reader fails.
            let (mine, others) = rest.split_at(calls.len().min(rest.len()));
            rest = others;
            match reader.feed(mine) {
                // A reader without calls would never end.
                Ok(ReadProgress::Calls(next)) if next.is_empty() => {
                    let error = DecodeError::AnswerCount { expected: 0, got: mine.len() };
                    *slot = Slot::Done(Err(Unread::Undecoded(error)));
                }
                Ok(ReadProgress::Calls(next)) => *calls = next,
                Ok(ReadProgress::Done(state)) => {
                    *slot = Slot::Done(Ok((state, reader.product().unwrap_or(*announced))));
                }
                Err(error) => *slot = Slot::Done(Err(Unread::Undecoded(error))),
            }
        }
    }

    fn finish(self) -> impl Iterator<Item = Result<Read, Unread>> {
        self.slots.into_iter().map(|slot| match slot {
            Slot::Done(result) => result,
            Slot::Reading(_, calls, ..) => {
                Err(Unread::Undecoded(DecodeError::AnswerCount { expected: calls.len(), got: 0 }))
            }
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

    /// A reader that asks a contract a number of times, in one round.
    struct Asks {
        contract: Address,
        calls: u8,
    }

    impl StateReader for Asks {
        fn start(&mut self) -> ReadProgress {
            let call = |data: u8| Call { to: self.contract, data: vec![data].into() };
            ReadProgress::Calls((0..self.calls).map(call).collect())
        }

        fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
            Err(DecodeError::AnswerCount { expected: answers.len(), got: 0 })
        }
    }

    /// A thousand calls for each of many vaults held up every block: only those of one vault were bounded.
    #[test]
    fn calls_of_a_block_are_bounded_and_the_first_pools_take_theirs_first() {
        let round = |pools: &[(u8, u8)]| {
            let slot = |&(contract, calls): &(u8, u8)| {
                let mut reader = Asks { contract: Address::repeat_byte(contract), calls };
                let ReadProgress::Calls(calls) = reader.start() else { panic!("it asks") };
                Slot::Reading(Box::new(reader), calls, Product::UniswapV2, 0)
            };
            Round { slots: pools.iter().map(slot).collect() }
        };
        let read = |round: &Round| round.slots.iter().map(|slot| matches!(slot, Slot::Reading(..))).collect::<Vec<_>>();
        let pools = [(1, 200), (2, 10), (3, 200), (3, 200), (4, 200), (5, 10), (6, 11)];
        let mut few = round(&pools);
        few.bound(&CallsLeft::new((10, 300)));
        // The second pool that asks the third contract makes no calls of its own.
        assert_eq!(read(&few), [true, true, true, true, false, true, false]);
        let mut none = round(&pools[2..]);
        none.bound(&CallsLeft::new((10, 0)));
        assert_eq!(read(&none), [true, true, false, true, false], "the first is read whatever it takes");
        let mut enough = round(&pools);
        enough.bound(&CallsLeft::new((10, 1_000)));
        assert_eq!(read(&enough), [true; 7]);
        let answers = vec![None; few.calls().len()];
        few.feed(&answers);
        let postponed = few.finish().filter(|state| *state == Err(Unread::Postponed)).count();
        assert_eq!(postponed, 2);
    }
}
