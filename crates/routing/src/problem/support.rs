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

    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns the tokens that flows come from or go to.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the amount that a pool already takes.
    #[inline]
    pub(crate) fn amount_in(&self, pair: u32) -> Option<f64> {
        self.flows.iter().find(|flow| flow.pair == pair).map(|flow| flow.amount_in)
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
    path_lengths(flows).map_or(usize::MAX, |lengths| lengths.into_iter().max().unwrap_or(0))
}

/// Computes for each flow the length of the longest path through it, in pools; `None` on a cycle.
pub(crate) fn path_lengths(flows: &[Flow]) -> Option<Vec<usize>> {
    let mut tokens: Vec<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let at = |token: u32| tokens.binary_search(&token).unwrap_or(0);
    let ends: Vec<(usize, usize)> = flows.iter().map(|flow| (at(flow.from), at(flow.to))).collect();
    let mut waiting = vec![0_usize; tokens.len()];
    for (_, to) in &ends {
        waiting[*to] += 1;
    }
    let mut leaving: Vec<usize> = (0..flows.len()).collect();
    leaving.sort_unstable_by_key(|k| ends[*k].0);
    // Visits each token after all that lead to it.
    let mut ahead = vec![0_usize; tokens.len()];
    let mut ready: Vec<usize> = (0..tokens.len()).filter(|token| waiting[*token] == 0).collect();
    let mut order = Vec::with_capacity(flows.len());
    while let Some(token) = ready.pop() {
        let first = leaving.partition_point(|k| ends[*k].0 < token);
        for &k in leaving[first..].iter().take_while(|k| ends[**k].0 == token) {
            let to = ends[k].1;
            ahead[to] = ahead[to].max(ahead[token] + 1);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
            order.push(k);
        }
    }
    if order.len() < flows.len() {
        return None;
    }
    let mut behind = vec![0_usize; tokens.len()];
    for &k in order.iter().rev() {
        let (from, to) = ends[k];
        behind[from] = behind[from].max(behind[to] + 1);
    }
    Some(ends.iter().map(|(from, to)| ahead[*from] + 1 + behind[*to]).collect())
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
        assert_eq!(path_lengths(&flows), Some(vec![3, 3, 3, 2]));
        assert_eq!(longest_path(&[]), 0);
    }

    #[test]
    fn a_cycle_is_longer_than_any_limit() {
        assert_eq!(longest_path(&[flow(0, 1), flow(1, 0)]), usize::MAX);
    }
}
