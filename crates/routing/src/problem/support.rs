//! The pools that a flow uses, and which tokens lead to which through them.

use crate::problem::Flow;

/// A set of flows, one per pool, without a cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Support {
    flows: Vec<Flow>,
    tokens: Vec<u32>,
    /// For each token the set of tokens that it leads to, as bits; at most 64 tokens fit.
    reach: Vec<u64>,
}

impl Support {
    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns the tokens that flows come from or go to.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the flow of a pool in use.
    #[inline]
    pub(crate) fn flow(&self, pair: u32) -> Option<&Flow> {
        self.flows.iter().find(|flow| flow.pair == pair)
    }

    /// Returns the amount that a pool already takes.
    #[inline]
    pub(crate) fn amount_in(&self, pair: u32) -> Option<f64> {
        self.flow(pair).map(|flow| flow.amount_in)
    }

    /// Returns whether the pool is used in the other direction.
    #[inline]
    pub(crate) fn opposes(&self, pair: u32, side: u8) -> bool {
        self.flows.iter().any(|flow| flow.pair == pair && flow.side != side)
    }

    /// Returns whether value can flow from one token to another.
    #[inline]
    pub(crate) fn leads(&self, from: u32, to: u32) -> bool {
        match (self.position(from), self.position(to)) {
            (Some(from), Some(to)) => self.reach[from] & (1 << to) != 0,
            _ => false,
        }
    }

    /// Returns the position of a token in the list.
    fn position(&self, token: u32) -> Option<usize> {
        self.tokens.iter().position(|known| *known == token)
    }

    /// Returns whether all pools of a path are in use, in its direction.
    pub(crate) fn uses(&self, path: &[Flow]) -> bool {
        let is_used = |flow: &Flow| self.flows.iter().any(|known| known.pair == flow.pair && known.side == flow.side);
        path.iter().all(is_used)
    }

    /// Adds the amounts of a path to those of its pools, all of which are in use.
    pub(crate) fn increase(&mut self, path: &[Flow]) {
        for flow in path {
            if let Some(known) = self.flows.iter_mut().find(|known| known.pair == flow.pair) {
                known.amount_in += flow.amount_in;
            }
        }
    }

    /// Returns the support with a path added; `None` if that makes a cycle, a path longer than `hops`, or too many
    /// tokens.
    pub(crate) fn with(&self, path: &[Flow], hops: usize) -> Option<Self> {
        let mut next = self.clone();
        for flow in path {
            match next.flows.iter_mut().find(|known| known.pair == flow.pair) {
                Some(known) if known.side == flow.side => known.amount_in += flow.amount_in,
                Some(_) => return None,
                None => next.flows.push(*flow),
            }
            for token in [flow.from, flow.to] {
                if next.position(token).is_none() {
                    next.tokens.push(token);
                }
            }
        }
        if next.flows.len() == self.flows.len() {
            // Keeps what leads to what if only amounts changed.
            return Some(next);
        }
        if next.tokens.len() > 64 {
            return None;
        }
        next.close()?;
        (longest_path(&next.flows) <= hops).then_some(next)
    }

    /// Computes which tokens lead to which; `None` on a cycle.
    fn close(&mut self) -> Option<()> {
        self.reach = vec![0; self.tokens.len()];
        loop {
            let mut changed = false;
            for flow in &self.flows {
                let (Some(from), Some(to)) = (self.position(flow.from), self.position(flow.to)) else { return None };
                let more = self.reach[from] | self.reach[to] | (1 << to);
                changed |= more != self.reach[from];
                self.reach[from] = more;
            }
            if self.reach.iter().enumerate().any(|(at, set)| set & (1 << at) != 0) {
                return None;
            }
            if !changed {
                return Some(());
            }
        }
    }
}

/// Computes the most pools in a row; a cycle counts as more than any limit.
pub(crate) fn longest_path(flows: &[Flow]) -> usize {
    let mut paths = Paths::of(flows);
    paths.lengths().map_or(usize::MAX, |lengths| lengths.iter().copied().max().unwrap_or(0))
}

/// Flows, for which the lengths of paths are computed again as flows are removed. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// The tokens of each flow, numbered from zero.
    ends: Vec<[usize; 2]>,
    tokens: usize,
    /// Number of flows into each token that are still to be visited.
    waiting: Vec<usize>,
    /// Position of each token's first flow in `leaving`, and the flows in the order of the tokens that they leave.
    first: Vec<usize>,
    leaving: Vec<usize>,
    /// Tokens all flows into which were visited.
    ready: Vec<usize>,
    /// The flows visited, each after all that lead to it.
    order: Vec<usize>,
    /// Most pools that lead to each token, and that follow it.
    ahead: Vec<usize>,
    behind: Vec<usize>,
    lengths: Vec<usize>,
}

impl Paths {
    pub(crate) fn of(flows: &[Flow]) -> Self {
        let mut tokens: Vec<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let at = |token: u32| tokens.binary_search(&token).unwrap_or(0);
        let ends = flows.iter().map(|flow| [at(flow.from), at(flow.to)]).collect();
        Self { ends, tokens: tokens.len(), ..Self::default() }
    }

    /// Removes the flows that a test rejects, by their positions.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(usize) -> bool) {
        let mut positions = 0..;
        self.ends.retain(|_| positions.next().is_some_and(&mut keeps));
    }

    /// Computes for each flow the length of the longest path through it, in pools; `None` on a cycle.
    pub(crate) fn lengths(&mut self) -> Option<&[usize]> {
        let Self { ends, tokens, waiting, first, leaving, ready, order, ahead, behind, lengths } = self;
        for (counts, len) in
            [(&mut *waiting, *tokens), (&mut *ahead, *tokens), (&mut *behind, *tokens), (&mut *first, *tokens + 1)]
        {
            counts.clear();
            counts.resize(len, 0);
        }
        for [from, to] in ends.iter() {
            waiting[*to] += 1;
            first[*from] += 1;
        }
        let mut end = 0;
        for first in first.iter_mut() {
            end += *first;
            *first = end;
        }
        leaving.clear();
        leaving.resize(ends.len(), 0);
        for (flow, [from, _]) in ends.iter().enumerate() {
            first[*from] -= 1;
            leaving[first[*from]] = flow;
        }
        ready.clear();
        ready.extend((0..*tokens).filter(|token| waiting[*token] == 0));
        order.clear();
        while let Some(token) = ready.pop() {
            for &flow in &leaving[first[token]..first[token + 1]] {
                let [_, to] = ends[flow];
                ahead[to] = ahead[to].max(ahead[token] + 1);
                waiting[to] -= 1;
                if waiting[to] == 0 {
                    ready.push(to);
                }
                order.push(flow);
            }
        }
        if order.len() < ends.len() {
            return None;
        }
        for flow in order.iter().rev() {
            let [from, to] = ends[*flow];
            behind[from] = behind[from].max(behind[to] + 1);
        }
        lengths.clear();
        lengths.extend(ends.iter().map(|[from, to]| ahead[*from] + 1 + behind[*to]));
        Some(lengths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(from: u32, to: u32) -> Flow {
        Flow { pair: 0, side: 0, from, to, amount_in: 1.0 }
    }

    #[test]
    fn each_flow_counts_the_longest_path_through_it() {
        // 0 → 1 → 2 → 3 and the shortcut 0 → 2.
        let flows = [flow(0, 1), flow(1, 2), flow(2, 3), flow(0, 2)];
        let mut paths = Paths::of(&flows);
        assert_eq!(paths.lengths(), Some(&[3, 3, 3, 2][..]));
        paths.retain(|at| at != 1);
        assert_eq!(paths.lengths(), Some(&[1, 2, 2][..]));
        assert_eq!(longest_path(&[]), 0);
    }

    #[test]
    fn a_cycle_is_longer_than_any_limit() {
        assert_eq!(longest_path(&[flow(0, 1), flow(1, 0)]), usize::MAX);
        let mut paths = Paths::of(&[flow(0, 1), flow(1, 0), flow(1, 2)]);
        assert_eq!(paths.lengths(), None);
        paths.retain(|at| at != 1);
        assert_eq!(paths.lengths(), Some(&[2, 2][..]));
    }
}
