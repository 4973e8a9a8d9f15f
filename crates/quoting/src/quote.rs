//! From a request to a quote: the stages in order.

use std::sync::Arc;

use braid_audit::Probe;
use braid_execution::permit2;
use braid_primitives::{Address, B256, Bytes, NATIVE_ETHER, TokenId, U256};
use braid_routing::Step;
use braid_simulation::Caller;
use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

use crate::accounts::{Accounts, Holdings};
use crate::context::Context;
use crate::draft::{Asked, Draft};
use crate::nonces::{self, Nonces};
use crate::problem::Problem;
use crate::receipt::{Evidence, Receipts};
use crate::request::QuoteRequest;
use crate::simulation::Simulated;
use crate::stored::{Plan, StoredQuote};
use crate::{answer, explain, first_use, resolve, trial};

pub use crate::solve::{SolveLimits, Solver};

/// Most nonces that are tried before a quote gets one in a word of its own.
const MOST_NONCES: usize = 4;

/// Makes quotes.
pub struct Quoter {
    context: Context,
    solver: Solver,
    nonces: Nonces,
    receipts: Arc<Receipts>,
}

impl Quoter {
    /// Returns a quoter from the parts that it uses.
    pub fn new(context: Context, solver: Solver, receipts: Arc<Receipts>) -> Self {
        Self { context, solver, nonces: Nonces::default(), receipts }
    }

    /// Answers a caller's request with a quote, and keeps it: the answer as JSON. `body` is the request as it came.
    ///
    /// # Errors
    /// Every problem that a valid request can have.
    pub async fn quote(&self, request: QuoteRequest, body: Bytes, caller: Caller) -> Result<Box<RawValue>, Problem> {
        let Context { markets, audit, simulations, stored, .. } = &self.context;
        let published = markets.current()?;
        let tokens = resolve::tokens(&published.head.market, &request)?;
        resolve::check_faults(&audit.quarantine, &request)?;
        resolve::check_amounts(&request)?;
        self.solver.threads.check_room()?;
        let admitted = request.simulate.then(|| simulations.simulator.admit(caller)).transpose()?;

        let created_at_ms = stored.clock.now_ms();
        let asked = Asked { published, request, tokens, id: new_id(created_at_ms), created_at_ms };
        let reading = Reading::of(&asked);
        // the route first: what is turned away asks the node nothing, and what has no route does not wait for it
        let reads = async { Ok::<_, Problem>(reading.run(&self.context.accounts).await) };
        let ((mut draft, simulated), seen) = tokio::try_join!(biased; self.find(asked, caller, admitted), reads)?;
        if let Some(seen) = seen {
            if reading.signs {
                draft.permit.nonce = self.nonce(&draft, &seen.nonce_words).await;
            }
            draft.holdings = reading.holds.then_some(seen);
        }
        if let Some(measured) = simulated.as_ref().and_then(|simulated| simulated.gas) {
            explain::measured(&mut draft, measured.used, measured.limit());
        }
        draft.simulated = simulated;
        self.finish(draft, body).await
    }

    /// Finds a route of checked tokens and pools, and simulates it where its request asks for that. `admitted` keeps a
    /// place among the simulations until the route is found.
    async fn find<T>(&self, asked: Asked, caller: Caller, admitted: T) -> Result<(Draft, Option<Simulated>), Problem> {
        let Context { audit, simulations, .. } = &self.context;
        let (published, tokens) = (Arc::clone(&asked.published), asked.tokens.clone());
        let aside = first_use::aside(audit, &published);
        let draft = self.solver.solve(asked, aside).await.map_err(|problem| {
            let named: Vec<TokenId> = tokens.inputs.into_iter().chain(tokens.outputs).collect();
            first_use::with_unproven(problem, audit, &published, &named)
        })?;
        drop(admitted);
        let (mut draft, simulated) = first_use::settle(draft, caller, audit, &self.solver, simulations).await?;
        self.note_use(&draft);
        let kept = draft.kept.take();
        let simulated = match simulated {
            Some(simulated) => Some(simulated),
            None => trial::of(&draft, kept, caller, simulations).await,
        };
        Ok((draft, simulated))
    }

    /// Writes the answer of a draft, and keeps it, in memory, on disk and with other services.
    async fn finish(&self, draft: Draft, body: Bytes) -> Result<Box<RawValue>, Problem> {
        let Context { markets, simulations, stored, .. } = &self.context;
        let (id, left_out) = (draft.asked.id, markets.feed.status().left_out);
        let mut answer = answer::quote(&draft, simulations.proxy.state(), left_out);
        let text = to_raw_value(&answer).map_err(Problem::internal)?;
        let mut quote = StoredQuote { expires_at_ms: draft.expires_at_ms, plan: Plan::of(&draft), answer: text };
        let record = stored.keep(id, &quote)?;
        let unsettled = stored.settle(id, &record).await;
        if !unsettled.is_empty() {
            answer.warnings.extend(unsettled);
            quote.answer = to_raw_value(&answer).map_err(Problem::internal)?;
            // replaces the quote without the warning, also where others have it; where there is no room for a second
            // one, that stays
            if let Ok(record) = stored.keep(id, &quote) {
                stored.share(id, &record).await;
            }
        }
        self.receipts.keep(id, Evidence::of(draft, body, left_out, self.solver.limits));
        Ok(quote.answer)
    }

    /// Returns a nonce that no other quote of the owner was given, here or by another service.
    /// `words` are those of Permit2's bitmap that were read.
    async fn nonce(&self, draft: &Draft, words: &[Option<U256>]) -> U256 {
        let (id, owner) = (draft.asked.id.as_bytes(), draft.permit.owner);
        let (now_s, until_s) = (draft.asked.created_at_ms / 1_000, draft.permit.deadline);
        for _ in 0..MOST_NONCES {
            let nonce = self.nonces.give(owner, id, words, now_s, until_s);
            let Some(replicas) = &self.context.stored.replicas else { return nonce };
            if replicas.claim_nonce(owner, nonce, until_s.saturating_sub(now_s)).await != Some(false) {
                return nonce;
            }
        }
        permit2::fresh_nonce(id)
    }

    /// Tells the self-audit which pools quotes use.
    fn note_use(&self, draft: &Draft) {
        for step in &draft.found.solution.route.steps {
            if let Some(pool) = draft.asked.published.head.market.pool(step.pool) {
                let Step { coin_in, coin_out, amount_in, .. } = *step;
                self.context.audit.used(Probe { pool: pool.key, coin_in, coin_out, amount_in });
            }
        }
    }
}

/// What a quote asks the node about its taker.
struct Reading {
    block_hash: B256,
    taker: Address,
    /// Whether balances and allowances are asked for.
    holds: bool,
    /// Whether the nonces that a signature may use are asked for.
    signs: bool,
    sold: Vec<Address>,
    nonces: Vec<U256>,
}

impl Reading {
    fn of(asked: &Asked) -> Self {
        let Asked { published, request, id, .. } = asked;
        let sold: Vec<Address> = request.inputs.iter().map(|entry| entry.token.address).collect();
        let holds = request.check_allowances();
        let signs = request.include_permit2 && sold.iter().any(|token| *token != NATIVE_ETHER);
        Self {
            block_hash: published.head.block().hash,
            taker: request.taker,
            holds,
            signs,
            sold: if holds { sold } else { Vec::new() },
            nonces: if signs { nonces::candidates(id.as_bytes()) } else { Vec::new() },
        }
    }

    /// Asks the node, where there is something to ask.
    async fn run(&self, accounts: &Accounts) -> Option<Holdings> {
        if !self.holds && !self.signs {
            return None;
        }
        Some(accounts.read(self.block_hash, self.taker, &self.sold, &self.nonces).await)
    }
}

/// Returns a UUIDv7 of the service's own clock.
fn new_id(now_ms: u64) -> Uuid {
    let nanos = u32::try_from(now_ms % 1_000 * 1_000_000).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, now_ms / 1_000, nanos))
}
