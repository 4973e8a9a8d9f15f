//! From a request to a quote: the stages in order.

use std::sync::Arc;

use braid_audit::{Audit, Probe};
use braid_execution::permit2;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, TokenId, U256};
use braid_routing::Step;
use braid_simulation::Caller;
use serde_json::value::{RawValue, to_raw_value};
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::clock::Clock;
use crate::draft::{Asked, Draft};
use crate::feed::Markets;
use crate::nonces::{self, Nonces};
use crate::problem::Problem;
use crate::receipt::{Evidence, Receipts};
use crate::request::QuoteRequest;
use crate::simulation::Simulations;
use crate::stored::{Plan, StoredQuote, StoredQuotes};
use crate::{answer, explain, first_use, resolve, trial};

pub use crate::solve::{SolveLimits, Solver};

/// Most nonces that are tried before a quote gets one in a word of its own.
const MOST_NONCES: usize = 4;

/// Makes quotes.
pub struct Quoter {
    clock: Arc<dyn Clock>,
    markets: Markets,
    audit: Arc<Audit>,
    solver: Solver,
    accounts: Accounts,
    simulations: Simulations,
    stored: StoredQuotes,
    nonces: Nonces,
    receipts: Arc<Receipts>,
}

impl Quoter {
    /// A quoter from the parts that it uses.
    pub fn new(
        markets: Markets,
        audit: Arc<Audit>,
        solver: Solver,
        accounts: Accounts,
        simulations: Simulations,
        stored: StoredQuotes,
        receipts: Arc<Receipts>,
    ) -> Self {
        let clock = Arc::clone(&stored.clock);
        Self { clock, markets, audit, solver, accounts, simulations, stored, nonces: Nonces::default(), receipts }
    }

    /// Answers a caller's request with a quote, and keeps it: the answer as JSON. `body` is the request as it came.
    ///
    /// # Errors
    /// Every problem that a valid request can have.
    pub async fn quote(&self, request: QuoteRequest, body: Bytes, caller: Caller) -> Result<Box<RawValue>, Problem> {
        let published = self.markets.current()?;
        let tokens = resolve::tokens(&published.head.market, &request)?;
        resolve::check_faults(&self.audit.quarantine, &request)?;
        resolve::check_amounts(&request)?;

        let simulator = &self.simulations.simulator;
        let admitted = request.simulate.then(|| simulator.admit(caller)).transpose()?;

        // the route is looked for, checked and simulated while the node is asked about the taker
        let (block, now_ms) = (*published.head.block(), self.clock.now_ms());
        let (id, taker, reads) = (new_id(now_ms), request.taker, request.check_allowances());
        let sold: Vec<_> = request.inputs.iter().map(|entry| entry.token.address).collect();
        let signs = request.include_permit2 && sold.iter().any(|token| *token != NATIVE_ETHER);
        let asked_about = if reads { sold } else { Vec::new() };
        let nonces = if signs { nonces::candidates(id.as_bytes()) } else { Vec::new() };
        let reading = async {
            if !reads && !signs {
                return Ok(None);
            }
            Ok(Some(self.accounts.read(block.hash, taker, &asked_about, &nonces).await))
        };
        let named: Vec<TokenId> = tokens.inputs.iter().chain(&tokens.outputs).copied().collect();
        let aside = first_use::aside(&self.audit, &published);
        let asked = Asked { published: Arc::clone(&published), request, tokens, id, created_at_ms: now_ms };
        let finding = async {
            let draft = self.solver.solve(asked, aside).await;
            let draft = draft.map_err(|problem| first_use::with_unproven(problem, &self.audit, &published, &named))?;
            drop(admitted);
            let settling = first_use::settle(draft, caller, &self.audit, &self.solver, &self.simulations);
            let (draft, mut simulated) = settling.await?;
            self.note_use(&draft);
            if simulated.is_none() {
                simulated = trial::of(&draft, caller, &self.simulations).await;
            }
            Ok::<_, Problem>((draft, simulated))
        };
        // the route first: what is turned away asks the node nothing, and what has no route does not wait for it
        let ((mut draft, simulated), seen) = tokio::try_join!(biased; finding, reading)?;

        if let Some(seen) = seen.as_ref().filter(|_| signs) {
            let (now_s, until_s) = (now_ms / 1_000, draft.permit.deadline);
            draft.permit.nonce = self.nonce(taker, id, &seen.nonce_words, now_s, until_s).await;
        }
        draft.holdings = seen.filter(|_| reads);

        if let Some(simulated) = simulated {
            if let Some(measured) = simulated.gas {
                draft.gas = measured.in_place_of(draft.gas);
                draft.explanation =
                    draft.explanation.take().map(|explanation| explain::with_gas_of(&draft, explanation));
            }
            draft.simulated = Some(simulated);
        }

        let left_out = self.markets.feed.status().left_out;
        let mut answer = answer::quote(&draft, self.simulations.proxy.state(), left_out);
        let text = to_raw_value(&answer).map_err(Problem::internal)?;
        let mut quote = StoredQuote { expires_at_ms: draft.expires_at_ms, plan: Plan::of(&draft), answer: text };
        let record = self.stored.keep(id, &quote)?;
        let unsettled = self.stored.settle(id, &record).await;
        if !unsettled.is_empty() {
            answer.warnings.extend(unsettled);
            quote.answer = to_raw_value(&answer).map_err(Problem::internal)?;
            // Replaces the quote without the warning, also where others have it; where there is no room for a second one, that stays.
            if let Ok(record) = self.stored.keep(id, &quote) {
                self.stored.share(id, &record).await;
            }
        }
        self.receipts.keep(id, Evidence::of(draft, body, left_out, self.solver.limits));
        Ok(quote.answer)
    }

    /// A nonce that no other quote of the owner was given, here or by another service.
    async fn nonce(&self, owner: Address, id: Uuid, words: &[Option<U256>], now_s: u64, until_s: u64) -> U256 {
        for _ in 0..MOST_NONCES {
            let nonce = self.nonces.give(owner, id.as_bytes(), words, now_s, until_s);
            let Some(replicas) = &self.stored.replicas else { return nonce };
            if replicas.claim_nonce(owner, nonce, until_s.saturating_sub(now_s)).await != Some(false) {
                return nonce;
            }
        }
        permit2::fresh_nonce(id.as_bytes())
    }

    /// Tells the self-audit which pools quotes use.
    fn note_use(&self, draft: &Draft) {
        for step in &draft.solution.route.steps {
            if let Some(pool) = draft.published.head.market.pool(step.pool) {
                let Step { coin_in, coin_out, amount_in, .. } = *step;
                self.audit.used(Probe { pool: pool.key, coin_in, coin_out, amount_in });
            }
        }
    }
}

/// A UUIDv7 of the service's own clock.
fn new_id(now_ms: u64) -> Uuid {
    let nanos = u32::try_from(now_ms % 1_000 * 1_000_000).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, now_ms / 1_000, nanos))
}
