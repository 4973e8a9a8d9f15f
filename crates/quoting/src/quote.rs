//! Makes a quote from a request: runs the stages in order.

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
use crate::draft::{Draft, SolveInput};
use crate::nonces::{self, Nonces};
use crate::problem::Problem;
use crate::receipt::{Evidence, Receipts};
use crate::request::QuoteRequest;
use crate::simulation::Simulated;
use crate::stored::{Plan, StoredQuote};
use crate::{answer, draft_simulation, explain, first_use, resolve};

pub use crate::solve::{SolveLimits, Solver};

/// Most nonces that are tried before a quote gets one in an unused word of Permit2's bitmap.
const MAX_NONCE_ATTEMPTS: usize = 4;

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

    /// Answers a caller's request with a quote, as JSON, and stores it. `body` is the request's text.
    ///
    /// # Errors
    /// Every problem that a valid request can have.
    pub async fn quote(&self, request: QuoteRequest, body: Bytes, caller: Caller) -> Result<Box<RawValue>, Problem> {
        let Context { markets, audit, simulations, stored, .. } = &self.context;
        let published = markets.current()?;
        let tokens = resolve::tokens(&published.head.market, &request)?;
        resolve::check_faults(&audit.quarantine, &request)?;
        resolve::check_amounts(&request)?;
        resolve::check_steps(&request)?;
        self.solver.threads.check_room()?;
        let admitted = request.simulate.then(|| simulations.simulator.admit(caller)).transpose()?;

        let created_at_ms = stored.clock.now_ms();
        let input = SolveInput { published, request, tokens, id: new_id(created_at_ms), created_at_ms };
        let taker_reads = TakerReads::of(&input);
        // biased: poll the route first, so that a refused request sends no read to the node, and one without a route does not
        // wait for it
        let reads = async { Ok::<_, Problem>(taker_reads.run(&self.context.accounts).await) };
        let ((mut draft, simulated), seen) = tokio::try_join!(biased; self.find(input, caller, admitted), reads)?;
        if let Some(seen) = seen {
            if taker_reads.reads_nonces {
                draft.permit.nonce = self.nonce(&draft, &seen.nonce_words).await;
            }
            draft.holdings = taker_reads.reads_holdings.then_some(seen);
        }
        if let Some(measured) = simulated.as_ref().and_then(|simulated| simulated.gas) {
            explain::use_measured_gas(&mut draft, measured.used, measured.limit());
        }
        draft.simulated = simulated;
        self.finish(draft, body).await
    }

    /// Finds a route through verified tokens and pools, and simulates it if requested. `admitted` keeps a slot among the
    /// simulations until the route is found.
    async fn find<T>(
        &self,
        input: SolveInput,
        caller: Caller,
        admitted: T,
    ) -> Result<(Draft, Option<Simulated>), Problem> {
        let Context { audit, simulations, .. } = &self.context;
        let (published, tokens) = (Arc::clone(&input.published), input.tokens.clone());
        let exclusions = first_use::exclusions(audit, &published);
        let draft = self.solver.solve(input, exclusions).await.map_err(|problem| {
            let named: Vec<TokenId> = tokens.inputs.into_iter().chain(tokens.outputs).collect();
            first_use::with_unverified_vaults(problem, audit, &published, &named)
        })?;
        drop(admitted);
        let (mut draft, simulated) = first_use::settle(draft, caller, audit, &self.solver, simulations).await?;
        self.note_use(&draft);
        let kept = draft.kept.take();
        let simulated = match simulated {
            Some(simulated) => Some(simulated),
            None => draft_simulation::simulate(&draft, kept, caller, simulations).await,
        };
        Ok((draft, simulated))
    }

    /// Writes the answer of a draft, and stores it in memory, on disk and with other services.
    async fn finish(&self, draft: Draft, body: Bytes) -> Result<Box<RawValue>, Problem> {
        let Context { markets, simulations, stored, .. } = &self.context;
        let (id, excluded_by_follower) = (draft.input.id, markets.feed.status().excluded);
        let mut answer = answer::quote(&draft, simulations.proxy.state(), excluded_by_follower);
        let text = to_raw_value(&answer).map_err(Problem::internal)?;
        let mut quote = StoredQuote { expires_at_ms: draft.expires_at_ms, plan: Plan::of(&draft), answer: text };
        let record = stored.keep(id, &quote)?;
        let unsettled = stored.settle(id, &record).await;
        if !unsettled.is_empty() {
            answer.warnings.extend(unsettled);
            quote.answer = to_raw_value(&answer).map_err(Problem::internal)?;
            // replace the stored quote by the one with the warnings, here and at other services; if there is no room, keep the
            // first
            if let Ok(record) = stored.keep(id, &quote) {
                stored.share(id, &record).await;
            }
        }
        self.receipts.keep(id, Evidence::of(draft, body, excluded_by_follower, self.solver.limits));
        Ok(quote.answer)
    }

    /// Returns a nonce that no other open quote of the owner has, at this or another service. `words` are the words of
    /// Permit2's bitmap that were read.
    async fn nonce(&self, draft: &Draft, words: &[Option<U256>]) -> U256 {
        let (id, owner) = (draft.input.id.as_bytes(), draft.permit.owner);
        let (now_s, until_s) = (draft.input.created_at_ms / 1_000, draft.permit.deadline);
        for _ in 0..MAX_NONCE_ATTEMPTS {
            let nonce = self.nonces.assign(owner, id, words, now_s, until_s);
            let Some(replicas) = &self.context.stored.replicas else { return nonce };
            if replicas.claim_nonce(owner, nonce, until_s.saturating_sub(now_s)).await != Some(false) {
                return nonce;
            }
        }
        permit2::fresh_nonce(id)
    }

    /// Reports the pools of a quote to the audit.
    fn note_use(&self, draft: &Draft) {
        for step in &draft.found.solution.route.steps {
            if let Some(pool) = draft.input.published.head.market.pool(step.pool) {
                let Step { coin_in, coin_out, amount_in, .. } = *step;
                self.context.audit.used(Probe { pool: pool.key, coin_in, coin_out, amount_in });
            }
        }
    }
}

/// The reads of a quote's taker from the node.
struct TakerReads {
    block_hash: B256,
    taker: Address,
    /// True to read balances and allowances.
    reads_holdings: bool,
    /// True to read which Permit2 nonces are used.
    reads_nonces: bool,
    sold: Vec<Address>,
    nonces: Vec<U256>,
}

impl TakerReads {
    fn of(input: &SolveInput) -> Self {
        let SolveInput { published, request, id, .. } = input;
        let sold: Vec<Address> = request.inputs.iter().map(|entry| entry.token.address).collect();
        let reads_holdings = request.check_allowances();
        let reads_nonces = request.include_permit2 && sold.iter().any(|token| *token != NATIVE_ETHER);
        Self {
            block_hash: published.head.block().hash,
            taker: request.taker,
            reads_holdings,
            reads_nonces,
            sold: if reads_holdings { sold } else { Vec::new() },
            nonces: if reads_nonces { nonces::candidates(id.as_bytes()) } else { Vec::new() },
        }
    }

    /// Reads from the node; `None` if there is nothing to read.
    async fn run(&self, accounts: &Accounts) -> Option<Holdings> {
        if !self.reads_holdings && !self.reads_nonces {
            return None;
        }
        Some(accounts.read(self.block_hash, self.taker, &self.sold, &self.nonces).await)
    }
}

/// Returns a UUIDv7 with the time of the service's clock.
fn new_id(now_ms: u64) -> Uuid {
    let nanos = u32::try_from(now_ms % 1_000 * 1_000_000).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, now_ms / 1_000, nanos))
}
