//! The tokens that searches pass through in a large market.

use super::arrow::ArrowList;
use super::{Arrow, Arrows, Prepared, index32};
use crate::tuning::Tuning;

/// Returns whether a market is so large that searches are cut short.
pub(crate) fn is_large(prepared: &Prepared) -> bool {
    prepared.pair_count() > Tuning::LARGE_MARKET_PAIRS
}

/// Returns whether it is so large that what takes longest is not tried, or among few tokens only.
pub(crate) fn is_largest(prepared: &Prepared) -> bool {
    prepared.pair_count() > Tuning::WHOLE_PLANS_MOST_PAIRS
}

/// The core of a market, the ends of a request, and the tokens between these and the core; or a few tokens alone.
#[derive(Clone, Debug)]
pub(crate) struct ActiveTokens {
    /// Arrows from active tokens to active inner tokens, by the token that they leave: all of them, or those to tokens
    /// outside of the core.
    arrows: ArrowList,
    /// Position of each token's first arrow, and the end of the list.
    start: Vec<u32>,
    /// Whether the core is active too.
    has_core: bool,
    /// The arrows to the output, each after the token that it leaves, in the order of these tokens; `None` for all that
    /// the market has.
    to_output: Option<Vec<(u32, Arrow)>>,
}

impl ActiveTokens {
    /// Returns `None` for a market that is not large, where searches pass through all tokens.
    /// No token has a number of `count` or above.
    pub(crate) fn new(prepared: &Prepared, ends: &[usize], hops: usize, count: usize) -> Option<Self> {
        if !is_large(prepared) {
            return None;
        }
        let (graph, core) = (prepared.graph(), prepared.core().tokens());
        let mut tokens = core[..count].to_vec();
        let mut others = Vec::new();
        let mut activate = |token: usize| {
            if !std::mem::replace(&mut tokens[token], true) {
                others.push(token);
            }
        };
        for &end in ends {
            activate(end);
            let mut frontier = vec![end];
            for _ in 1..hops {
                if frontier.iter().any(|token| core[*token]) {
                    break;
                }
                let arrows = frontier.iter().flat_map(|token| graph.inner_arrows(*token));
                let mut next: Vec<usize> = arrows.map(|arrow| arrow.to as usize).collect();
                next.sort_unstable();
                next.dedup();
                next.iter().for_each(|token| activate(*token));
                frontier = next;
            }
        }
        let mut arrows: Vec<(u32, Arrow)> = Vec::new();
        for token in others.into_iter().filter(|token| graph.is_inner(*token)) {
            let active = graph.arrows(token).iter().filter(|arrow| tokens.get(arrow.to as usize) == Some(&true));
            arrows.extend(active.map(|arrow| (arrow.to, arrow.reversed(token))));
        }
        arrows.sort_by_key(|(from, arrow)| (*from, arrow.pair));
        let mut start = Vec::with_capacity(tokens.len() + 1);
        for (place, (from, _)) in arrows.iter().enumerate() {
            start.resize(*from as usize + 1, index32(place));
        }
        start.resize(tokens.len() + 1, index32(arrows.len()));
        Some(Self {
            arrows: arrows.into_iter().map(|(_, arrow)| arrow).collect(),
            start,
            has_core: true,
            to_output: None,
        })
    }

    /// Activates only these tokens. None has a number of `count` or above.
    pub(crate) fn only(prepared: &Prepared, mut tokens: Vec<u32>, count: usize) -> Self {
        let graph = prepared.graph();
        let mut is_active = vec![false; count];
        tokens.iter().for_each(|token| is_active[*token as usize] = true);
        tokens.sort_unstable();
        let (mut arrows, mut start): (Vec<Arrow>, _) = (Vec::new(), Vec::with_capacity(is_active.len() + 1));
        for token in tokens {
            start.resize(token as usize + 1, index32(arrows.len()));
            arrows.extend(graph.inner_arrows(token as usize).iter().filter(|arrow| is_active[arrow.to as usize]));
        }
        start.resize(is_active.len() + 1, index32(arrows.len()));
        Self { arrows: arrows.into_iter().collect(), start, has_core: false, to_output: None }
    }

    /// Activates only these arrows, each after the token that it leaves, in the order of these tokens. None leaves a token
    /// with a number of `count` or above.
    pub(crate) fn only_arrows(prepared: &Prepared, arrows: &[(u32, Arrow)], output: usize, count: usize) -> Self {
        let mut start = Vec::with_capacity(count + 1);
        let mut inner: Vec<Arrow> = Vec::with_capacity(arrows.len());
        for (from, arrow) in arrows.iter().filter(|(_, arrow)| prepared.graph().is_inner(arrow.to as usize)) {
            start.resize(*from as usize + 1, index32(inner.len()));
            inner.push(*arrow);
        }
        start.resize(count + 1, index32(inner.len()));
        let to_output = arrows.iter().filter(|(_, arrow)| arrow.to as usize == output).copied().collect();
        Self { arrows: inner.into_iter().collect(), start, has_core: false, to_output: Some(to_output) }
    }

    /// Returns whether these are the tokens for a whole large market, where searches may miss paths.
    pub(crate) fn is_cut(&self) -> bool {
        self.has_core
    }

    /// Returns the arrows from a token to the output that searches use; `None` for all that the market has.
    #[inline]
    pub(crate) fn to_output(&self, token: usize) -> Option<&[(u32, Arrow)]> {
        let listed = self.to_output.as_deref()?;
        let first = listed.partition_point(|(from, _)| (*from as usize) < token);
        let count = listed[first..].partition_point(|(from, _)| *from as usize == token);
        Some(&listed[first..first + count])
    }

    /// Returns the arrows from an active token to active inner tokens, in two parts.
    #[inline]
    pub(crate) fn arrows<'a>(&'a self, prepared: &'a Prepared, token: usize) -> [Arrows<'a>; 2] {
        let core = if self.has_core { prepared.core().arrows(token) } else { Arrows::default() };
        [core, self.arrows.range(self.start[token]..self.start[token + 1])]
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::problem::Problem;
    use crate::testing::{prepared, problem, token};

    const ETHER: u128 = 10_u128.pow(18);

    fn ways<'a>(problem: &'a Problem<'_>, from: usize) -> impl Iterator<Item = &'a Arrow> {
        problem.search_arrows(from).into_iter().flat_map(Arrows::iter).map(|(_, arrow)| arrow)
    }

    #[test]
    fn a_search_passes_to_tokens_that_are_active_and_to_no_others() {
        // Every third token has a pool with wrapped ether and one with the token before; depths fall from a thousand
        // ether to a hundredth.
        let pools = (1..3_100).flat_map(|n: u32| {
            let depth = ETHER * 1_000 / u128::from(n * n).min(100_000);
            let on_ether = ((0, n), [depth; 2]);
            let on_last = n.is_multiple_of(3).then_some(((n - 1, n), [depth; 2]));
            std::iter::once(on_ether).chain(on_last)
        });
        let market = prepared(&pools.collect::<Vec<_>>());
        let ends = [token(3_000), token(3_003)].map(|token| market.node(token));
        let mut problem = problem(&market, token(3_000), U256::from(ETHER), token(3_003));
        let graph = market.graph();
        problem.active = ActiveTokens::new(&market, &ends, 4, problem.token_count).map(std::sync::Arc::new);
        assert!(problem.active.is_some());
        // Tokens between an end and the core are next to the end.
        let is_next = |token: usize| graph.arrows(token).iter().any(|arrow| ends.contains(&(arrow.to as usize)));
        let is_active = |token: usize| market.core().tokens()[token] || ends.contains(&token) || is_next(token);
        assert!((0..graph.token_count()).any(|token| graph.is_inner(token) && !is_active(token)));
        for from in (0..problem.token_count).filter(|token| is_active(*token)) {
            let by = |arrow: &Arrow| (arrow.to, arrow.pair, arrow.side);
            let mut ways: Vec<_> = ways(&problem, from).map(by).collect();
            let active = graph.inner_arrows(from).iter().filter(|arrow| is_active(arrow.to as usize));
            let mut expected: Vec<_> = active.map(by).collect();
            ways.sort_unstable();
            expected.sort_unstable();
            assert_eq!(ways, expected, "from {from}");
        }
    }

    /// Three tokens with 40 pools between each two, far from the core: the ways of seven pools are 80⁷, the tokens three.
    #[test]
    fn many_pools_between_few_tokens_are_passed_once() {
        let core = (1..3_100).map(|n: u32| ((0, n), [ETHER * 1_000; 2]));
        let [x, y, z] = [4_000, 4_001, 4_002];
        let triangle = [(x, y), (y, z), (x, z)].into_iter().flat_map(|ends| [(ends, [ETHER / 1_000; 2]); 40]);
        let market = prepared(&core.chain(triangle).collect::<Vec<_>>());
        let ends = [x, y].map(|position| market.node(token(position)));
        let active = ActiveTokens::new(&market, &ends, 8, market.graph().token_count()).unwrap();
        let far = [x, y, z].map(|position| market.node(token(position)));
        assert!(far.iter().all(|from| active.arrows(&market, *from)[1].iter().count() == 80));
    }

    #[test]
    fn a_search_among_a_few_tokens_passes_to_no_others() {
        let depth = [ETHER * 10; 2];
        let market = prepared(&[((0, 1), depth), ((1, 2), depth), ((2, 3), depth), ((1, 3), depth), ((3, 0), depth)]);
        let graph = market.graph();
        let nodes = [0, 1, 3].map(|at| index32(market.node(token(at))));
        let mut problem = problem(&market, token(1), U256::from(ETHER), token(0));
        problem.active = Some(std::sync::Arc::new(ActiveTokens::only(&market, nodes.to_vec(), problem.token_count)));
        for from in 0..problem.token_count {
            let is_active = |token: u32| nodes.contains(&token);
            let ways: Vec<u32> = ways(&problem, from).map(|arrow| arrow.pair).collect();
            let inner = graph.inner_arrows(from).iter().filter(|arrow| is_active(arrow.to) && is_active(index32(from)));
            assert_eq!(ways, inner.map(|arrow| arrow.pair).collect::<Vec<_>>(), "from {from}");
        }
        assert_eq!(ways(&problem, nodes[1] as usize).count(), 2);
    }
}
