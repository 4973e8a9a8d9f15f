//! The pools that a flow uses, and what leads to what through them.

use crate::problem::Flow;

/// A set of flows, one per pool, that forms no cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Support {
    flows: Vec<Flow>,
    tokens: Vec<u32>,
    /// For each token a bit set of the tokens that it leads to; one word of 64 tokens, more are not taken.
    reach: Vec<u64>,
}

impl Support {
    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// What a pool already takes.
    #[inline]
    pub(crate) fn amount_in(&self, pair: u32) -> Option<f64> {
        self.flows.iter().find(|flow| flow.pair == pair).map(|flow| flow.amount_in)
    }

    /// Whether the pool is used the other way.
    #[inline]
    pub(crate) fn opposes(&self, pair: u32, side: u8) -> bool {
        self.flows.iter().any(|flow| flow.pair == pair && flow.side != side)
    }

    /// Whether value can flow from one token to another.
    #[inline]
    pub(crate) fn leads(&self, from: u32, to: u32) -> bool {
        match (self.position(from), self.position(to)) {
            (Some(from), Some(to)) => self.reach[from] & (1 << to) != 0,
            _ => false,
        }
    }

    fn position(&self, token: u32) -> Option<usize> {
        self.tokens.iter().position(|known| *known == token)
    }

    /// The support with a chain added; `None` if that makes a cycle, a chain longer than `hops`, or too many tokens.
    pub(crate) fn with(&self, chain: &[Flow], hops: usize) -> Option<Self> {
        let mut next = self.clone();
        for flow in chain {
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
        if next.tokens.len() > 64 {
            return None;
        }
        next.close()?;
        (next.longest_chain() <= hops).then_some(next)
    }

    /// Works out what leads to what; `None` on a cycle.
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

    fn longest_chain(&self) -> usize {
        longest_chain(&self.flows)
    }
}

/// The most pools in a row; a cycle counts as more than any limit.
pub(crate) fn longest_chain(flows: &[Flow]) -> usize {
    let mut tokens: Vec<(u32, usize)> = Vec::new();
    let depth = |tokens: &[(u32, usize)], token: u32| tokens.iter().find(|t| t.0 == token).map_or(0, |t| t.1);
    for round in 0.. {
        let mut changed = false;
        for flow in flows {
            let reached = depth(&tokens, flow.from) + 1;
            if reached > depth(&tokens, flow.to) {
                match tokens.iter_mut().find(|t| t.0 == flow.to) {
                    Some(known) => known.1 = reached,
                    None => tokens.push((flow.to, reached)),
                }
                changed = true;
            }
        }
        if !changed {
            break;
        }
        if round > flows.len() {
            return usize::MAX;
        }
    }
    tokens.iter().map(|t| t.1).max().unwrap_or(0)
}
