//! Checks before first use: no quote uses a token whose transfers are unverified, or a pool that pays more than all other
//! pools explain and that the EVM has not confirmed. The tokens and pools of a route are checked while its quote waits,
//! and excluded if they fail or are not verified in time.

use std::pin::pin;
use std::sync::Arc;

use braid_audit::{Audit, Probe, Wanted};
use braid_primitives::{Address, PoolId, PoolKey, TokenId};
use braid_routing::{PoolFilter, Step};
use braid_simulation::Caller;
use tokio::time::Instant;

use crate::draft::{Draft, ServiceExclusions};
use crate::draft_simulation;
use crate::feed::Published;
use crate::problem::{Code, FieldCode, Problem};
use crate::request::QuoteRequest;
use crate::resolve;
use crate::simulation::{Simulated, Simulations};
use crate::solve::Solver;

/// Most searches for another route. The last one uses verified tokens and no outliers, so nothing of it needs a check.
const MAX_SEARCHES: usize = 3;

/// Seconds between blocks: checks that a quote could not wait for are made with the next one.
const BLOCK_S: u64 = 12;

/// Returns the pools and tokens that the service excludes at a market.
pub(crate) fn exclusions(audit: &Audit, published: &Published) -> ServiceExclusions {
    let mut filter = PoolFilter::default();
    let pool_count = audit.exclude(&published.head.market, &published.doubtful, &mut filter);
    ServiceExclusions { filter, pool_count, unverified: Vec::new(), verifies_transfers: audit.verifies() }
}

/// Adds to the problem of a quote without a route the excluded vaults of its tokens that wait for their check or failed
/// it.
pub(crate) fn with_unverified_vaults(
    mut problem: Problem,
    audit: &Audit,
    published: &Published,
    tokens: &[TokenId],
) -> Problem {
    let waiting = audit.unverified_vaults_of(&published.head.market, &published.doubtful.vaults, tokens);
    if matches!(problem.code, Code::NoRouteFound | Code::InsufficientLiquidity) && !waiting.is_empty() {
        let names: Vec<String> = waiting.iter().map(ToString::to_string).collect();
        problem.detail = format!("{}; excluded, pending EVM verification: {}", problem.detail, names.join(", "));
    }
    problem
}

/// The checks that a draft's route needs.
struct Checks {
    /// Tokens whose transfers are not verified yet, each with the pools of its steps.
    tokens: Wanted,
    /// Swaps that pay more than all other pools explain and that the EVM has not confirmed.
    swaps: Vec<Probe>,
}

/// Tokens and pools of a route that failed their checks or were not checked in time.
struct Rejected {
    tokens: Vec<(TokenId, Address)>,
    pools: Vec<PoolKey>,
}

impl Checks {
    /// Returns the checks of a draft's route. None of tokens if the service verifies no transfers.
    fn of(audit: &Audit, draft: &Draft) -> Self {
        let market = &draft.input.published.head.market;
        let steps = &draft.found.solution.route.steps;
        let mut tokens = Wanted::new();
        let moved = steps.iter().flat_map(|step| [step.token_in, step.token_out].map(|id| (id, step.pool)));
        for (id, pool) in moved.filter(|_| audit.verifies()) {
            if market.tokens().get(id).is_some_and(|token| !audit.tokens.is_sound(token.address)) {
                tokens.entry(id).or_default().push(pool);
            }
        }
        let swaps = steps.iter().filter_map(|step| {
            let Step { coin_in, coin_out, amount_in, .. } = *step;
            Some(Probe { pool: market.pool(step.pool)?.key, coin_in, coin_out, amount_in })
        });
        let swaps = audit.unpaid_swaps(market, &draft.input.published.doubtful, swaps);
        Self { tokens, swaps }
    }

    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.swaps.is_empty()
    }

    /// Runs the checks, and simulates the draft, if requested, at the same time, since both read much of the same state.
    /// Cancels the simulation of a rejected route.
    async fn run(
        self,
        draft: &Draft,
        caller: Caller,
        audit: &Arc<Audit>,
        simulations: &Simulations,
        deadline: Instant,
    ) -> (Rejected, Option<Simulated>) {
        let market = &draft.input.published.head.market;
        let tokens = audit.check_first(caller, market, self.tokens.clone(), deadline);
        let pools = audit.check_outliers_first(caller, market, self.swaps.clone(), deadline);
        let mut checks = pin!(async { tokio::join!(tokens, pools) });
        let mut simulation = pin!(draft_simulation::simulate(draft, None, caller, simulations));
        let simulated = tokio::select! {
            _ = &mut checks => None,
            simulated = &mut simulation => {
                checks.await;
                Some(simulated)
            }
        };
        let tokens = self.tokens.keys().filter_map(|id| Some((*id, market.tokens().get(*id)?.address)));
        let unconfirmed = self.swaps.iter().filter(|probe| !audit.outliers.is_paid(market, probe));
        let rejected = Rejected {
            tokens: tokens.filter(|(_, token)| !audit.tokens.is_sound(*token)).collect(),
            pools: unconfirmed.map(|probe| probe.pool).collect(),
        };
        let simulated = match simulated {
            None if rejected.is_empty() => simulation.await,
            simulated => simulated.flatten(),
        };
        (rejected, simulated)
    }
}

impl Rejected {
    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.pools.is_empty()
    }
}

/// Returns a draft whose route uses verified tokens and confirmed pools only: the given one, or that of another route.
/// Also returns the draft's simulation, if requested and if its route had something to check.
///
/// # Errors
/// `TOKEN_UNSUPPORTED` if a token of the request fails its check or is not verified in time; the errors of a solve.
pub(crate) async fn settle(
    mut draft: Draft,
    caller: Caller,
    audit: &Arc<Audit>,
    solver: &Solver,
    simulations: &Simulations,
) -> Result<(Draft, Option<Simulated>), Problem> {
    let deadline = Instant::now() + audit.config.first_wait;
    let mut unverified: Vec<(Address, String)> = Vec::new();
    let mut unconfirmed: Vec<PoolKey> = Vec::new();
    for search in 1..=MAX_SEARCHES {
        let checks = Checks::of(audit, &draft);
        if checks.is_empty() {
            break;
        }
        // the checks wait for the node: give the thread's slot back
        draft.kept = None;
        let (rejected, simulated) = checks.run(&draft, caller, audit, simulations, deadline).await;
        if rejected.is_empty() {
            return Ok((draft, simulated));
        }
        resolve::check_faults(&audit.quarantine, &draft.input.request)?;
        let faultless = rejected.tokens.iter().filter(|(_, token)| audit.quarantine.fault_of(*token).is_none());
        unverified.extend(faultless.map(|(_, token)| (*token, audit.why_unknown(*token))));
        unconfirmed.extend(&rejected.pools);
        check_verified(&unverified, &draft.input.request)?;
        // after the last search or the deadline, use only what is verified already
        let is_last = search == MAX_SEARCHES || !audit.is_on() || Instant::now() >= deadline;
        let tokens = rejected.tokens.iter().map(|(id, _)| *id);
        let mut exclusions = further_exclusions(audit, &draft.input.published, tokens, &unconfirmed, is_last);
        exclusions.unverified.clone_from(&unverified);
        let solved = solver.solve(draft.input, exclusions).await;
        draft = solved.map_err(|problem| with_excluded(problem, &unverified, &unconfirmed))?;
    }
    Ok((draft, None))
}

/// Returns the service's exclusions with the pools of these tokens and these pools. `is_last` excludes every
/// unverified token and every outlier too, for a route that is not checked.
fn further_exclusions(
    audit: &Audit,
    published: &Published,
    tokens: impl Iterator<Item = TokenId>,
    pools: &[PoolKey],
    is_last: bool,
) -> ServiceExclusions {
    let market = &published.head.market;
    let mut exclusions = exclusions(audit, published);
    let filter = &mut exclusions.filter;
    let of_tokens = tokens.flat_map(|token| market.pools_of(token)).copied();
    of_tokens.chain(pools.iter().filter_map(|pool| market.pool_id(*pool))).for_each(|pool| filter.exclude_pool(pool));
    if is_last {
        audit.tokens.exclude_unverified(market, filter);
        audit.exclude_outliers(&published.doubtful, filter);
    }
    let all = (0..).map(PoolId).zip(market.pools());
    let excluded = all.filter(|(id, pool)| !filter.allows(*id, pool.product)).count();
    exclusions.pool_count = u32::try_from(excluded).unwrap_or(u32::MAX);
    exclusions
}

/// Refuses unverified tokens of a request. The check goes on, so the same request may succeed a block later.
fn check_verified(unverified: &[(Address, String)], request: &QuoteRequest) -> Result<(), Problem> {
    let checked = request.check_tokens(FieldCode::TokenUnsupported, |token| {
        let (_, why) = unverified.iter().find(|(address, _)| *address == token.address)?;
        let shown = token.shown.to_checksum(None);
        Some(format!("{shown} is excluded because its transfers are unverified, try again: {why}"))
    });
    checked.map_err(|problem| problem.retry_after(BLOCK_S))
}

/// Adds unverified tokens and unconfirmed pools to a problem that their exclusion may have caused.
fn with_excluded(mut problem: Problem, tokens: &[(Address, String)], pools: &[PoolKey]) -> Problem {
    if !matches!(problem.code, Code::NoRouteFound | Code::InsufficientLiquidity) {
        return problem;
    }
    let tokens = tokens.iter().map(|(token, _)| token.to_checksum(None));
    let names: Vec<String> = tokens.chain(pools.iter().map(ToString::to_string)).collect();
    if !names.is_empty() {
        problem.detail = format!("{}; excluded because unverified: {}", problem.detail, names.join(", "));
        return problem.retry_after(BLOCK_S);
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_that_a_pending_check_may_have_caused_is_retryable() {
        let problem = || Problem::new(Code::NoRouteFound, "x");
        assert!(!with_excluded(problem(), &[], &[]).is_retryable());
        let pending = with_excluded(problem(), &[(Address::ZERO, "pending".into())], &[]);
        assert!(pending.is_retryable());
        assert_eq!(pending.retry_after_s, Some(BLOCK_S));
        let other = with_excluded(Problem::new(Code::AmountTooSmall, "x"), &[(Address::ZERO, "pending".into())], &[]);
        assert!(!other.is_retryable());
    }
}
