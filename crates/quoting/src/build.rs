//! Builds a transaction from a stored quote: runs the stages in order.

use braid_execution::gas::{self, Authorization};
use braid_execution::{Order, calldata, calldata_with_permit2, permit2, proxy};
use braid_primitives::{Address, Bytes, CHAIN_ID, TokenId, U256};
use braid_routing::Route;
use braid_simulation::Caller;

use crate::accounts::Holdings;
use crate::context::Context;
use crate::feed::Published;
use crate::model::{BuildAnswer, BuiltInput, BuiltOutput, Call, Eip55, Issues, Quantity, RpcTransaction, Transaction};
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::proxy::ProxyState;
use crate::request::BuildRequest;
use crate::shown::Shown;
use crate::signature::Signatures;
use crate::simulation::SimulationInput;
use crate::stored::Plan;
use crate::{approvals, costs, reprice, warnings};

/// Least time until the deadline if the request names none, in seconds after the later of clock and head.
const MIN_DEADLINE_S: u64 = 600;

/// Builds transactions from quotes.
pub struct Builder {
    context: Context,
    signatures: Signatures,
}

impl Builder {
    /// Returns a builder from the parts that it uses.
    pub fn new(context: Context) -> Self {
        Self { context, signatures: Signatures::default() }
    }

    /// Turns a quote into a transaction on the newest market, for a caller.
    ///
    /// # Errors
    /// Every problem that a valid request can have.
    pub async fn build(&self, request: BuildRequest, caller: Caller) -> Result<BuildAnswer, Problem> {
        let Context { markets, audit, accounts, simulations, stored } = &self.context;
        let plan = stored.open(request.quote_id).await?.plan;
        let published = markets.current()?;
        let block = published.head.block();
        if plan.steps.iter().any(|step| audit.quarantine.holds(&published.head.market, step.pool)) {
            let detail = "a pool of the quote is in quarantine: the EVM disagreed with its model; ask for a new quote";
            return Err(Problem::new(Code::QuoteStale, detail));
        }
        let Revalidated { route, sold, expected } = revalidate(&published, &plan)?;
        let now_s = stored.clock.now_s().max(block.timestamp);
        let order = Order { deadline: deadline(now_s, &plan, &request)?, ..plan.order.clone() };

        let verified = match &request.permit2_signature {
            Some(bytes) => Some(self.signatures.verify(accounts, caller, block, &plan, bytes).await?),
            None => None,
        };
        let holdings = self.holdings(&published, &plan, verified.is_some()).await;
        let nonce_used =
            holdings.nonce_words.iter().flatten().any(|word| permit2::nonce_is_used(*word, plan.permit.nonce));
        let holdings = plan.check_allowances.then_some(holdings);

        let signature = verified.as_ref().map(|verified| &verified.signature);
        let mut transaction = transaction(&published, &plan, &order, &route, signature)?;
        let mut simulated = None;
        if request.simulate {
            let (market, shown) = (&published.head.market, Shown::with_ether(plan.ether_shown_as));
            let input = SimulationInput { caller, market, route: &route, shown, program: &plan.program };
            let seen = simulations.of_build(input, &transaction, &order).await;
            if let Some(measured) = seen.gas {
                transaction.gas = measured.limit();
            }
            simulated = Some(seen);
        }

        let proxy_state = simulations.proxy.state();
        let mut answer = answer(proxy_state, &request, &plan, &order, &holdings, (&sold, &expected), transaction);
        answer.warnings.extend(verified.and_then(|verified| verified.warning));
        answer.warnings.extend(nonce_used.then(warnings::nonce_used));
        if let Some(simulated) = simulated {
            answer.simulation = Some(simulated.answer);
            answer.warnings.extend(simulated.warning);
        }
        Ok(answer)
    }

    /// Reads the taker's balances and allowances if the quote's request wanted them, and the use of a signature's nonce.
    async fn holdings(&self, published: &Published, plan: &Plan, signed: bool) -> Holdings {
        if !plan.check_allowances && !signed {
            return Holdings::NONE;
        }
        let tokens = if plan.check_allowances {
            plan.order.inputs.iter().map(|input| input.token).collect()
        } else {
            Vec::new()
        };
        let nonces: &[U256] = if signed { &[plan.permit.nonce] } else { &[] };
        self.context.accounts.read(published.head.block().hash, plan.taker, &tokens, nonces).await
    }
}

/// A stored route, repriced on the newest market.
struct Revalidated {
    route: Route,
    /// Amount sold of each input, before fees.
    sold: Vec<U256>,
    /// Amount that arrives of each output, after fees.
    expected: Vec<U256>,
}

/// Reprices the plan's route on the newest market. Refuses it with `QUOTE_STALE` if it no longer keeps the order.
fn revalidate(published: &Published, plan: &Plan) -> Result<Revalidated, Problem> {
    let stale = |detail: String| Problem::new(Code::QuoteStale, format!("{detail}; ask for a new quote"));
    let market = &published.head.market;
    let token = |address: Address| {
        market.tokens().id(address).ok_or_else(|| stale("a token of the quote is no longer in the market".into()))
    };
    let order = &plan.order;
    let inputs = order.inputs.iter().map(|input| Ok((token(input.token)?, order.input_after_fee(input))));
    let inputs = inputs.collect::<Result<Vec<_>, Problem>>()?;
    let outputs = order.outputs.iter().map(|output| token(output.token)).collect::<Result<Vec<_>, _>>()?;
    let at = market.block().next();
    if plan.program.buys() {
        let wanted = order.outputs.first().map(|output| output.amount).unwrap_or_default();
        let (sold, route) =
            reprice::purchase(market, &at, &plan.steps, wanted).map_err(|error| stale(error.to_string()))?;
        if let Some(input) = order.inputs.iter().find(|input| sold > input.amount) {
            let (token, maximum) = (input.token.to_checksum(None), input.amount);
            return Err(stale(format!("the newest market needs {sold} of {token}, the quote's maximum is {maximum}")));
        }
        return Ok(Revalidated { route, sold: vec![sold], expected: vec![wanted] });
    }
    let route =
        reprice::reprice(market, &at, &plan.steps, &inputs, &outputs).map_err(|error| stale(error.to_string()))?;
    let after_fee = |amount: &U256| order.partner_fee.map_or(*amount, |fee| fee.after_output(*amount));
    let arrives = |(token, amount): (&TokenId, &U256)| {
        braid_routing::arrives(market, &route, &at, *token, (*amount, after_fee(amount)))
    };
    let expected: Vec<U256> = outputs.iter().zip(&route.amounts_out).map(arrives).collect();
    for (output, amount) in order.outputs.iter().zip(&expected) {
        if *amount < output.amount {
            let token = output.token.to_checksum(None);
            let minimum = output.amount;
            return Err(stale(format!("the newest market pays {amount} of {token}, the quote's minimum is {minimum}")));
        }
    }
    let sold = order.inputs.iter().map(|input| input.amount).collect();
    Ok(Revalidated { route, sold, expected })
}

/// Returns the last second at which the transaction may run. `now_s` is the later of clock and head.
fn deadline(now_s: u64, plan: &Plan, request: &BuildRequest) -> Result<u64, Problem> {
    let wrong =
        |detail: String| Problem::invalid(vec![FieldError::new("/deadline", FieldCode::DeadlineInvalid, detail)]);
    let asked = request.deadline_s;
    if let Some(asked) = asked.filter(|asked| *asked <= now_s) {
        return Err(wrong(format!("the deadline {asked} has passed: it is {now_s} now")));
    }
    if request.permit2_signature.is_none() {
        let lasts_s = MIN_DEADLINE_S.max(plan.ttl_s.into());
        return Ok(asked.unwrap_or_else(|| now_s.saturating_add(lasts_s)));
    }
    let signed = plan.order.deadline;
    if signed <= now_s {
        let detail =
            format!("the deadline {signed} of the signed message has passed, it is {now_s} now: ask for a new quote");
        return Err(Problem::new(Code::QuoteExpired, detail));
    }
    match asked {
        Some(asked) if asked != signed => Err(wrong(format!("the signature binds the deadline {signed}, got {asked}"))),
        _ => Ok(signed),
    }
}

fn transaction(
    published: &Published,
    plan: &Plan,
    order: &Order,
    route: &Route,
    signature: Option<&Bytes>,
) -> Result<Transaction, Problem> {
    let program = &plan.program;
    let (data, authorization) = match signature {
        Some(signature) => {
            let data = calldata_with_permit2(order, program, &plan.permit, signature);
            (data, Authorization::Permit2)
        }
        None => (calldata(order, program), Authorization::Allowance),
    };
    let fees = costs::fees(&published.head, plan.gas_priority);
    let gas = gas::estimate(&published.head.market, route, order, program, plan.taker, authorization)
        .map_err(Problem::internal)?;
    Ok(Transaction {
        chain_id: CHAIN_ID,
        kind: 2,
        from: Eip55(plan.taker),
        to: Eip55(proxy::address()),
        data,
        value: Quantity(order.value_wei()),
        gas: gas.gas_limit,
        max_fee_per_gas: fees.max_fee_per_gas,
        max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
    })
}

fn answer(
    proxy_state: ProxyState,
    request: &BuildRequest,
    plan: &Plan,
    order: &Order,
    holdings: &Option<Holdings>,
    (sold, expected): (&[U256], &[U256]),
    transaction: Transaction,
) -> BuildAnswer {
    let shown = Shown::with_ether(plan.ether_shown_as);
    let unread = Holdings::NONE;
    let holdings = holdings.as_ref().unwrap_or(&unread);
    let signed = request.permit2_signature.is_some();
    let approvals = if signed {
        approvals::for_spender(order, holdings, permit2::ADDRESS, |holding| holding.permit2_allowance)
    } else {
        approvals::for_spender(order, holdings, proxy::address(), |holding| holding.proxy_allowance)
    };
    let mut notes: Vec<_> = warnings::proxy(proxy_state).into_iter().collect();
    notes.extend((!holdings.complete).then(warnings::accounts_unread));
    let inputs = order.inputs.iter().zip(sold);
    let outputs = order.outputs.iter().zip(expected);
    let swap = Call { to: transaction.to, data: transaction.data.clone(), value: transaction.value };
    BuildAnswer {
        quote_id: request.quote_id,
        rpc_transaction: RpcTransaction::from(&transaction),
        transaction,
        authorization: authorization(order, signed),
        deadline: order.deadline,
        estimated_inputs: inputs
            .map(|(input, sold)| BuiltInput {
                token: shown.token(input.token),
                chain_id: CHAIN_ID,
                expected_amount: (*sold).into(),
                maximum_amount: input.amount.into(),
            })
            .collect(),
        estimated_outputs: outputs
            .map(|(output, expected)| BuiltOutput {
                token: shown.token(output.token),
                chain_id: CHAIN_ID,
                expected_amount: (*expected).into(),
                minimum_amount: output.amount.into(),
            })
            .collect(),
        issues: Issues {
            balance: approvals::balance_issues(order, holdings, shown),
            allowance: approvals::allowance_issues(&approvals),
            unknown_protocols: Vec::new(),
        },
        calls: approvals::calls(&approvals).chain([swap]).collect(),
        approvals: approvals::listed(approvals, plan.approvals_listed),
        simulation: None,
        warnings: notes,
    }
}

fn authorization(order: &Order, signed: bool) -> &'static str {
    match (signed, order.erc20_inputs().next()) {
        (true, _) => "permit2",
        (false, Some(_)) => "allowance",
        (false, None) => "native",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_primitives::Bytes;
    use serde_json::Value;
    use uuid::Uuid;

    #[test]
    fn a_signed_message_whose_deadline_has_passed_is_not_built() {
        let mut stored: Value = serde_json::from_str(include_str!("stored/example.json")).unwrap();
        let plan: Plan = serde_json::from_value(stored["plan"].take()).unwrap();
        let permit2_signature = Some(Bytes::from(vec![0; 65]));
        let request = BuildRequest { quote_id: Uuid::nil(), permit2_signature, simulate: false, deadline_s: None };
        let signed = plan.order.deadline;
        assert_eq!(deadline(signed - 1, &plan, &request), Ok(signed));
        assert_eq!(deadline(signed, &plan, &request).unwrap_err().code, Code::QuoteExpired);
    }
}
