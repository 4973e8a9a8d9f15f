//! Groups of tokens whose prices without arbitrage depend on each other: those that pools connect, apart from wrapped
//! ether, whose price is fixed. Most tokens trade only against wrapped ether, so that most groups have one token, and a
//! block affects few of them.

use super::Graph;
use super::node::{WETH, index32};
use super::prices::Prices;

/// The groups, each with its tokens deepest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// The group of every token; the highest number for a token in none.
    of: Vec<u32>,
    /// The tokens, one group after the other.
    tokens: Vec<u32>,
    start: Vec<u32>,
}

impl Groups {
    /// Groups the tokens that have a price and at least two pools.
    pub(crate) fn new(graph: &Graph, reference: &Prices, deepest_first: &[u32]) -> Self {
        let count = graph.token_count();
        let is_grouped = |token: usize| token != WETH && graph.arrows(token).len() >= 2 && reference.start(token) > 0.0;
        let grouped: Vec<bool> = (0..count).map(is_grouped).collect();
        let mut above: Vec<u32> = (0..count).map(index32).collect();
        for token in (0..count).filter(|token| grouped[*token]) {
            for arrow in graph.arrows(token).iter().filter(|arrow| grouped[arrow.to as usize]) {
                let (a, b) = (top(&mut above, index32(token)), top(&mut above, arrow.to));
                above[a.max(b) as usize] = a.min(b);
            }
        }
        let mut of = vec![u32::MAX; count];
        let mut numbers = vec![u32::MAX; count];
        let mut sizes: Vec<u32> = Vec::new();
        let in_order = || deepest_first.iter().map(|token| *token as usize).filter(|token| grouped[*token]);
        for token in in_order() {
            let number = &mut numbers[top(&mut above, index32(token)) as usize];
            if *number == u32::MAX {
                *number = index32(sizes.len());
                sizes.push(0);
            }
            of[token] = *number;
            sizes[*number as usize] += 1;
        }
        let mut start = vec![0];
        for size in &sizes {
            start.push(start[start.len() - 1] + size);
        }
        let mut next = start.clone();
        let mut tokens = vec![0; start[sizes.len()] as usize];
        for token in in_order() {
            let place = &mut next[of[token] as usize];
            tokens[*place as usize] = index32(token);
            *place += 1;
        }
        Self { of, tokens, start }
    }

    /// Returns the number of groups.
    pub(crate) fn count(&self) -> usize {
        self.start.len() - 1
    }

    /// Returns the tokens of a group, deepest first.
    pub(crate) fn tokens(&self, group: usize) -> &[u32] {
        &self.tokens[self.start[group] as usize..self.start[group + 1] as usize]
    }

    /// Returns the group of a token; `None` for one in none.
    pub(crate) fn of(&self, token: usize) -> Option<usize> {
        let group = self.of[token];
        (group != u32::MAX).then_some(group as usize)
    }

    /// Returns whether anything around each group has changed: a pair, or a token's reference price or depth.
    pub(crate) fn touched(&self, graph: &Graph, reference: &Prices, before: &Prices, changed: &[u32]) -> Vec<bool> {
        let mut touched = vec![false; self.count()];
        let mut touch = |token: usize| {
            if let Some(group) = self.of(token) {
                touched[group] = true;
                return;
            }
            // Touches the groups around a token in none: its price counts there.
            graph
                .arrows(token)
                .iter()
                .filter_map(|arrow| self.of(arrow.to as usize))
                .for_each(|group| touched[group] = true);
        };
        let ends = changed.iter().flat_map(|pair| graph.ends(*pair)).map(|end| end as usize);
        ends.filter(|end| *end != WETH && *end < self.of.len()).for_each(&mut touch);
        let moved = (0..self.of.len()).filter(|token| *token != WETH && !reference.is_as_before(before, *token));
        moved.for_each(touch);
        touched
    }
}

/// Finds the token that represents a token's group (union-find with path halving).
fn top(above: &mut [u32], mut token: u32) -> u32 {
    while above[token as usize] != token {
        let next = above[above[token as usize] as usize];
        above[token as usize] = next;
        token = next;
    }
    token
}
