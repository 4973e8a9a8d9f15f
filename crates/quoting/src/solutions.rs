//! Keeps the solutions of a block's requests, so that no request is solved twice on one market.
//!
//! A wallet asks for a price and then for the quote, or again every second; many ask for one ether's worth. A solution
//! depends on nothing but the market and the routing request, so that a kept one is the one that a solve would find. It
//! is dropped with the market.

use braid_routing::{Prepared, Request, Solution, SolveError, solve};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use prometheus_client::metrics::counter::Counter;

/// Most solutions that are kept of one market: up to 4 kB for the 40 steps of the longest, and up to 8 kB for a request
/// that excludes pools of a market of mainnet's size.
const MAX_SOLUTIONS: u64 = 1_024;

/// The solutions found on one market.
#[derive(Debug)]
pub(crate) struct Solutions {
    known: Cache<Request, Result<Solution, SolveError>>,
    /// Counts requests whose solution was known.
    reused: Counter,
}

impl Solutions {
    /// Returns an empty collection that counts the solutions it returns again.
    pub(crate) fn counted(reused: Counter) -> Self {
        // Evicts the oldest: the default policy refuses new entries of a full cache.
        let known = Cache::builder().max_capacity(MAX_SOLUTIONS).eviction_policy(EvictionPolicy::lru()).build();
        Self { known, reused }
    }

    /// Solves a request on the market of the collection, or returns its known solution. The same requests at the same
    /// time wait for one solve.
    ///
    /// # Errors
    /// As [`solve`], which are kept too.
    pub(crate) fn solve(&self, prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
        let entry = self.known.entry_by_ref(request).or_insert_with(|| solve(prepared, request));
        if !entry.is_fresh() {
            self.reused.inc();
        }
        entry.into_value()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_market::{Market, Tokens};
    use braid_primitives::{Address, Token, TokenId, U256};
    use braid_protocols::{Pool, PoolState, Product, uniswap_v2};
    use braid_routing::PoolFilter;

    use super::*;
    use crate::testing::block;

    /// Returns a market of two pools of wrapped ether with a token, and a request to sell one ether's worth to both.
    fn market() -> (Prepared, Request) {
        let block = block(1_700_000_000);
        let mut tokens = Tokens::new();
        tokens.insert(Token {
            address: Address::repeat_byte(1),
            symbol: "T".into(),
            name: String::new(),
            decimals: 18,
        });
        let token = TokenId(Tokens::WETH.0 + 1);
        let pool = |byte: u8| Pool {
            key: Address::repeat_byte(byte).into(),
            product: Product::UniswapV2,
            coins: [Tokens::WETH, token].into_iter().collect(),
            state: PoolState::UniswapV2(uniswap_v2::State { reserve0: 1 << 70, reserve1: 1 << 70, fee_bps: 30 }),
        };
        let tokens = Arc::new(tokens);
        let market = Market::empty(block, Arc::clone(&tokens)).next(block, tokens, vec![pool(2), pool(3)]).unwrap();
        let request = Request {
            inputs: vec![(Tokens::WETH, U256::from(1_u64 << 60))],
            outputs: vec![(token, 10_000)],
            max_hops: 4,
            filter: PoolFilter::default(),
            gas_price_wei: 1,
            max_steps: 40,
            at: block.next(),
        };
        (Prepared::new(Arc::new(market)), request)
    }

    #[test]
    fn a_request_is_solved_once_and_every_other_request_too() {
        let (prepared, request) = market();
        let solutions = Solutions::counted(Counter::default());
        let first = solve(&prepared, &request);
        assert_eq!(first.as_ref().unwrap().route.steps.len(), 2);
        for _ in 0..3 {
            assert_eq!(solutions.solve(&prepared, &request), first);
        }
        assert_eq!(solutions.reused.get(), 2);
        let mut filter = PoolFilter::default();
        filter.exclude_pool(first.unwrap().route.steps[0].pool);
        let [more, too_much] = [U256::from(2_u64 << 60), U256::MAX].map(|amount| vec![(Tokens::WETH, amount)]);
        let others = [
            Request { filter, ..request.clone() },
            Request { inputs: more, ..request.clone() },
            Request { inputs: too_much, ..request.clone() },
            Request { max_steps: 1, ..request.clone() },
            Request { gas_price_wei: u64::MAX, ..request.clone() },
        ];
        for other in others {
            let expected = solve(&prepared, &other);
            assert_ne!(expected, solve(&prepared, &request));
            assert_eq!(solutions.solve(&prepared, &other), expected);
            assert_eq!(solutions.solve(&prepared, &other), expected);
        }
        assert_eq!(solutions.reused.get(), 7);
    }

    #[test]
    fn the_same_requests_at_the_same_time_wait_for_one_solve() {
        let (prepared, request) = market();
        let solutions = Solutions::counted(Counter::default());
        let all: Vec<_> = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(|| solutions.solve(&prepared, &request))).collect();
            asked.into_iter().map(|solved| solved.join().unwrap()).collect()
        });
        assert!(all.iter().all(|solved| *solved == solve(&prepared, &request)));
        assert_eq!(solutions.reused.get(), 7);
    }
}
