//! A quote goes through no token that was not checked, and through no pool that pays more than all others explain
//! before the EVM was asked: those of its route are checked while it waits, and left out where they are at fault or
//! could not be verified in time.

use std::pin::pin;
use std::sync::Arc;

use braid_audit::{Audit, Probe, Wanted};
use braid_primitives::{Address, PoolKey, TokenId};
use braid_routing::{PoolFilter, Step};
use braid_simulation::Caller;
use tokio::time::Instant;

use crate::draft::{Aside, Draft};
use crate::feed::Published;
use crate::problem::{Code, FieldCode, Problem};
use crate::request::QuoteRequest;
use crate::resolve;
use crate::simulation::{Simulated, Simulations};
use crate::solve::Solver;
use crate::trial;

/// How often another route is looked for; the last one is of checked tokens alone.
const ROUTES: usize = 3;

/// Returns what is left out of quotes, and why.
pub(crate) fn aside(audit: &Audit, published: &Published) -> Aside {
    let mut filter = PoolFilter::default();
    let pools = audit.exclude(&published.head.market, &published.doubtful, &mut filter);
    Aside { filter, pools, unchecked: Vec::new(), verifies_transfers: audit.verifies() }
}

/// Names the vaults of its tokens that wait for their check, or failed it, in the problem of a quote without a route.
pub(crate) fn with_unproven(mut problem: Problem, audit: &Audit, published: &Published, tokens: &[TokenId]) -> Problem {
    let waiting = audit.unverified_vaults_of(&published.head.market, &published.doubtful.vaults, tokens);
    if matches!(problem.code, Code::NoRouteFound | Code::InsufficientLiquidity) && !waiting.is_empty() {
        let names: Vec<String> = waiting.iter().map(ToString::to_string).collect();
        problem.detail = format!("{}; excluded, pending EVM verification: {}", problem.detail, names.join(", "));
    }
    problem
}

/// Returns the tokens of a draft's route whose transfers are not verified yet; none where the service does not check.
fn unknown(audit: &Audit, draft: &Draft) -> Wanted {
    let mut wanted = Wanted::new();
    if !audit.verifies() {
        return wanted;
    }
    let known = draft.asked.published.head.market.tokens();
    for step in &draft.found.solution.route.steps {
        for token in [step.token_in, step.token_out] {
            if known.get(token).is_some_and(|token| !audit.tokens.is_sound(token.address)) {
                wanted.entry(token).or_default().push(step.pool);
            }
        }
    }
    wanted
}

/// Returns the swaps of a draft's route that pay more than all others explain, and that the EVM was not asked about.
fn unpaid(audit: &Audit, draft: &Draft) -> Vec<Probe> {
    let market = &draft.asked.published.head.market;
    let swaps = draft.found.solution.route.steps.iter().filter_map(|step| {
        let Step { coin_in, coin_out, amount_in, .. } = *step;
        Some(Probe { pool: market.pool(step.pool)?.key, coin_in, coin_out, amount_in })
    });
    audit.unpaid_swaps(market, &draft.asked.published.doubtful, swaps)
}

/// Finds a draft whose route goes through checked tokens and pools alone: the one given where it does, else one of
/// another route. Each is simulated while its tokens are checked, since both read much of the same state: what came of
/// that, where there was something to check of the last.
///
/// # Errors
/// `TOKEN_UNSUPPORTED` when a token of the request is at fault or could not be verified; what a solve can end with.
pub(crate) async fn settle(
    mut draft: Draft,
    caller: Caller,
    audit: &Arc<Audit>,
    solver: &Solver,
    simulations: &Simulations,
) -> Result<(Draft, Option<Simulated>), Problem> {
    let deadline = Instant::now() + audit.config.first_wait;
    let mut left_out: Vec<(Address, String)> = Vec::new();
    let mut left_out_pools: Vec<PoolKey> = Vec::new();
    for route in 1..=ROUTES {
        let (wanted, probes) = (unknown(audit, &draft), unpaid(audit, &draft));
        if wanted.is_empty() && probes.is_empty() {
            break;
        }
        // The checks wait for the node.
        draft.kept = None;
        let published = Arc::clone(&draft.asked.published);
        let market = Arc::clone(&published.head.market);
        let tokens = audit.check_first(caller, &market, wanted.clone(), deadline);
        let pools = audit.check_outliers_first(caller, &market, probes.clone(), deadline);
        let check = async { tokio::join!(tokens, pools) };
        let before = left_out_pools.len();
        let (unsound, simulated) = {
            let (mut check, mut trial) = (pin!(check), pin!(trial::of(&draft, None, caller, simulations)));
            let simulated = tokio::select! {
                _ = &mut check => None,
                simulated = &mut trial => {
                    check.await;
                    Some(simulated)
                }
            };
            let addresses = wanted.keys().filter_map(|id| Some((*id, market.tokens().get(*id)?.address)));
            let unsound: Vec<_> = addresses.filter(|(_, token)| !audit.tokens.is_sound(*token)).collect();
            let unpaid = probes.iter().filter(|probe| !audit.outliers.is_paid(&market, probe));
            left_out_pools.extend(unpaid.map(|probe| probe.pool));
            // a route that is given up is not simulated to the end
            let is_final = unsound.is_empty() && left_out_pools.len() == before;
            let simulated = match simulated {
                None if is_final => trial.await,
                simulated => simulated.flatten(),
            };
            (unsound, simulated)
        };
        if unsound.is_empty() && left_out_pools.len() == before {
            return Ok((draft, simulated));
        }
        resolve::check_faults(&audit.quarantine, &draft.asked.request)?;
        let unchecked = unsound.iter().filter(|(_, token)| audit.quarantine.fault_of(*token).is_none());
        left_out.extend(unchecked.map(|(_, token)| (*token, audit.why_unknown(*token))));
        check_unchecked(&left_out, &draft.asked.request)?;
        let mut aside = aside(audit, &published);
        let pools = unsound.iter().flat_map(|(token, _)| market.pools_of(*token)).copied();
        for pool in pools.chain(left_out_pools.iter().filter_map(|pool| market.pool_id(*pool))) {
            aside.filter.exclude_pool(pool);
        }
        // a check that nobody here makes is not waited for
        if route == ROUTES || !audit.is_on() || Instant::now() >= deadline {
            audit.tokens.exclude_unverified(&market, &mut aside.filter);
            audit.exclude_unpaid(&market, &published.doubtful, &mut aside.filter);
        }
        let places = (0..).map(braid_primitives::PoolId).zip(market.pools());
        let pools = places.filter(|(id, pool)| !aside.filter.allows(*id, pool.product)).count();
        aside.pools = u32::try_from(pools).unwrap_or(u32::MAX);
        aside.unchecked.clone_from(&left_out);
        let solved = solver.solve(draft.asked, aside).await;
        draft = solved.map_err(|problem| told(problem, &left_out, &left_out_pools))?;
    }
    Ok((draft, None))
}

/// Refuses tokens of a request that could not be verified.
fn check_unchecked(left_out: &[(Address, String)], request: &QuoteRequest) -> Result<(), Problem> {
    request.check_tokens(FieldCode::TokenUnsupported, |token| {
        let (_, why) = left_out.iter().find(|(address, _)| *address == token.address)?;
        let shown = token.shown.to_checksum(None);
        Some(format!("{shown} is excluded because its transfers could not be verified, try again: {why}"))
    })
}

/// Names what was left out in a problem that may come of it.
fn told(mut problem: Problem, tokens: &[(Address, String)], pools: &[PoolKey]) -> Problem {
    if !matches!(problem.code, Code::NoRouteFound | Code::InsufficientLiquidity) {
        return problem;
    }
    let tokens = tokens.iter().map(|(token, _)| token.to_checksum(None));
    let names: Vec<String> = tokens.chain(pools.iter().map(ToString::to_string)).collect();
    if !names.is_empty() {
        problem.detail = format!("{}; excluded because unverified: {}", problem.detail, names.join(", "));
    }
    problem
}
