//! The blocks in which each source is still to be searched. Pure.
//!
//! Every factory has its own span, so that a search goes on where it stopped, and a product that a later version adds
//! is searched from its factory's deployment without searching the others again.

use std::collections::BTreeMap;

use braid_primitives::{Address, B256};
use braid_store::market::SourceSpan;

use crate::{
    catalog::{Catalog, distinct},
    node::LogFilter,
};

/// Spans by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans(BTreeMap<(Address, B256), SourceSpan>);

/// Blocks in which the same sources are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) filter: LogFilter,
}

impl Spans {
    /// Returns the spans of a catalog's sources: the stored ones, and new ones up to `head`. Stored sources that are
    /// not in the catalog are dropped.
    pub(crate) fn new(catalog: &Catalog, start_block: Option<u64>, head: u64, stored: &[SourceSpan]) -> Self {
        let mut stored: BTreeMap<_, _> =
            stored.iter().map(|span| ((span.emitter, span.topic0), span.clone())).collect();
        let span = |(emitter, topic0, deployment)| {
            let key = (emitter, topic0);
            let next_block = start_block.unwrap_or(if catalog.is_short(head) { 0 } else { deployment });
            let fresh = SourceSpan { emitter, topic0, next_block, last_block: head, unread: Vec::new() };
            (key, stored.remove(&key).unwrap_or(fresh))
        };
        Self(catalog.source_list().into_iter().map(span).collect())
    }

    /// Returns every span, to be stored.
    pub(crate) fn all(&self) -> Vec<SourceSpan> {
        self.0.values().cloned().collect()
    }

    /// Returns the number of blocks to search.
    pub(crate) fn blocks_left(&self) -> u64 {
        self.segments().iter().map(|segment| segment.to - segment.from + 1).fold(0, u64::saturating_add)
    }

    /// Returns the blocks to search in order, each once, with the sources whose spans contain it.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let open: Vec<(&SourceSpan, u64, u64)> = self.0.values().flat_map(open).collect();
        let cuts = distinct(open.iter().flat_map(|(_, from, to)| [*from, to.saturating_add(1)]));
        let segment = |(from, end): (&u64, &u64)| {
            let active =
                || open.iter().filter(|(_, first, last)| (*first..=*last).contains(from)).map(|(span, ..)| span);
            let emitters = distinct(active().map(|span| span.emitter));
            let topics = distinct(active().map(|span| span.topic0));
            let filter = LogFilter { emitters, topics };
            (!filter.emitters.is_empty()).then(|| Segment { from: *from, to: end - 1, filter })
        };
        cuts.iter().zip(cuts.iter().skip(1)).filter_map(segment).collect()
    }

    /// Notes that blocks were searched for the sources of a segment.
    pub(crate) fn searched(&mut self, &Segment { from, to, ref filter }: &Segment) {
        for span in self.0.values_mut().filter(|span| names(filter, span)) {
            if (from..=to).contains(&span.next_block) && span.next_block <= span.last_block {
                span.next_block = to.saturating_add(1);
            }
            span.unread = span.unread.iter().flat_map(|range| without(*range, (from, to))).collect();
        }
    }

    /// Notes that the logs of blocks could not be read: they are tried again. Returns whether that is news.
    pub(crate) fn passed_over(&mut self, segment: &Segment) -> bool {
        let &Segment { from, to, ref filter } = segment;
        let before = self.clone();
        self.searched(segment);
        for span in self.0.values_mut().filter(|span| names(filter, span)) {
            span.unread.push((from, to));
            span.unread.sort_unstable();
            span.unread = joined(&span.unread);
        }
        *self != before
    }

    /// Returns the last block whose logs could not be read.
    pub(crate) fn last_unread(&self) -> Option<u64> {
        self.0.values().filter_map(|span| span.unread.last()).map(|(_, to)| *to).max()
    }

    /// Notes that all blocks were searched.
    pub(crate) fn complete(&mut self) {
        for span in self.0.values_mut() {
            span.next_block = span.next_block.max(span.last_block.saturating_add(1));
        }
    }
}

/// Returns the blocks in which a source is still to be searched.
fn open(span: &SourceSpan) -> impl Iterator<Item = (&SourceSpan, u64, u64)> {
    let unread = span.unread.iter().copied().chain([(span.next_block, span.last_block)]);
    unread.filter(|(from, to)| from <= to).map(move |(from, to)| (span, from, to))
}

fn names(filter: &LogFilter, span: &SourceSpan) -> bool {
    filter.emitters.contains(&span.emitter) && filter.topics.contains(&span.topic0)
}

/// Returns what is left of a range without another.
fn without((first, last): (u64, u64), (from, to): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let below = from.checked_sub(1).map(|end| (first, last.min(end)));
    let above = to.checked_add(1).map(|start| (first.max(start), last));
    below.into_iter().chain(above).filter(|(first, last)| first <= last)
}

/// Joins sorted ranges that adjoin.
fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges.iter().copied() {
        match joined.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use braid_protocols::Product;

    use super::*;

    const HEAD: u64 = 25_000_000;

    fn fresh() -> Spans {
        Spans::new(&Catalog::new(Product::ALL), None, HEAD, &[])
    }

    #[test]
    fn every_source_is_searched_from_its_deployment_and_no_block_twice() {
        let segments = fresh().segments();
        assert!(segments.is_sorted_by(|a, b| a.to < b.from), "no block twice");
        assert_eq!(segments.last().unwrap().to, HEAD);
        for (emitter, _, deployment) in Catalog::new(Product::ALL).source_list() {
            let first = segments.iter().find(|segment| segment.filter.emitters.contains(&emitter)).unwrap();
            assert!(first.from <= deployment);
            assert!(segments.iter().filter(|s| s.from >= first.from).all(|s| s.filter.emitters.contains(&emitter)));
        }
    }

    #[test]
    fn a_search_goes_on_where_it_stopped() {
        let mut spans = fresh();
        let first = spans.segments().remove(0);
        spans.searched(&Segment { to: first.from + 999, ..first.clone() });
        let catalog = Catalog::new(Product::ALL);
        let again = Spans::new(&catalog, None, HEAD + 50, &spans.all());
        assert_eq!(again, spans, "the end stays where following began");
        assert_eq!(again.segments().first().unwrap().from, first.from + 1_000);
    }

    #[test]
    fn a_source_that_is_new_is_searched_alone() {
        let mut spans = fresh();
        for segment in spans.segments() {
            spans.searched(&segment);
        }
        assert_eq!((spans.segments(), spans.blocks_left()), (vec![], 0));
        let mut stored = spans.all();
        let dropped = stored.pop().unwrap();
        let again = Spans::new(&Catalog::new(Product::ALL), None, HEAD + 9, &stored);
        let [segment] = again.segments().try_into().unwrap();
        assert_eq!((segment.filter.emitters, segment.to), (vec![dropped.emitter], HEAD + 9));
    }

    #[test]
    fn blocks_that_could_not_be_read_are_searched_again() {
        let mut spans = fresh();
        for segment in spans.segments() {
            let middle = Segment { from: segment.from + 10, to: segment.from + 19, ..segment.clone() };
            spans.searched(&Segment { to: middle.from - 1, ..segment.clone() });
            assert!(spans.passed_over(&middle) && !spans.passed_over(&middle), "once");
            spans.searched(&Segment { from: middle.to + 1, ..segment.clone() });
        }
        let left = spans.segments();
        assert_eq!(spans.blocks_left(), 10 * left.len() as u64);
        assert_eq!(spans.last_unread(), left.last().map(|segment| segment.to));
        let mut again = Spans::new(&Catalog::new(Product::ALL), None, HEAD + 9, &spans.all());
        assert_eq!(again, spans, "stored");
        for segment in &left {
            let part = |from, to| Segment { from: segment.from + from, to: segment.from + to, ..segment.clone() };
            again.searched(&part(0, 2));
            assert!(!again.passed_over(&part(3, 4)));
            again.searched(&part(5, 9));
        }
        assert_eq!(again.blocks_left(), 2 * left.len() as u64);
        let mut other = left[0].clone();
        other.filter.emitters.clear();
        spans.searched(&other);
        assert_eq!(spans.segments(), left, "a search of other sources");
    }

    #[test]
    fn on_a_short_chain_everything_is_searched_from_the_first_block() {
        let spans = Spans::new(&Catalog::new(Product::ALL), None, 300, &[]);
        assert_eq!(spans.segments().first().map(|segment| (segment.from, segment.to)), Some((0, 300)));
        assert_eq!(spans.segments().len(), 1);
    }
}
