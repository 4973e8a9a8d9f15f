//! Writes a quote's answer from its draft.

use braid_execution::{permit2, proxy};
use braid_primitives::{CHAIN_ID, TokenId, U256};
use braid_routing::{Certificate, Uncertified};

use crate::accounts::Holdings;
use crate::clock::rfc3339;
use crate::draft::{Draft, Found};
use crate::model::{
    self, BlockRef, Bought, Eip55, EstimatedInput, EstimatedOutput, ExactOutput, FeeConfig, InputEcho, Issues,
    OutputEcho, Permit2, QuoteAnswer, ReferencePrice, Warning,
};
use crate::proxy::ProxyState;
use crate::request::{InputEntry, OutputEntry};
use crate::shown::Shown;
use crate::{approvals, costs, path, prices, warnings};

/// Writes the answer. `excluded_by_follower` counts the known pools that are not in the market.
pub(crate) fn quote(draft: &Draft, proxy_state: ProxyState, excluded_by_follower: usize) -> QuoteAnswer {
    let request = &draft.input.request;
    let published = &draft.input.published;
    let shown = Shown::by(request);
    let route = &draft.found.solution.route;
    let block = published.head.block();
    let dollars = request.include_usd_pricing.then(|| prices::dollars_per_ether(&published.prepared)).flatten();
    let unread = Holdings::NONE;
    let holdings = draft.holdings.as_ref().unwrap_or(&unread);
    let approvals =
        approvals::for_spender(&draft.found.order, holdings, proxy::address(), |holding| holding.proxy_allowance);
    let impacts = impacts(draft);
    let simulated = draft.simulated.as_ref();
    let mut notes: Vec<Warning> = Vec::new();
    notes.extend(warnings::proxy(proxy_state));
    notes.extend(warnings::impact(impacts.total_bps));
    notes.extend(may_buy_more(draft).then(warnings::surplus));
    notes.extend((request.excludes_wrapping() && wraps_ether(draft)).then(warnings::wrapping));
    notes.extend(warnings::unknown_pools(&draft.unknown.pools));
    let ttl_ms = draft.expires_at_ms.saturating_sub(draft.input.created_at_ms);
    notes.extend(warnings::long_ttl(ttl_ms, request.slippage_tolerance_bps));
    notes.extend(draft.exclusions.unverified.iter().map(warnings::unverified));
    notes.extend(warnings::shares(&asked_shares(draft), &values_got(draft)));
    notes.extend((!holdings.complete).then(warnings::accounts_unread));
    notes.extend(simulated.and_then(|simulated| simulated.warning.clone()));
    notes.extend((request.include_usd_pricing && dollars.is_none()).then(warnings::no_dollars));
    let certificate = certificate(draft, excluded_by_follower);
    notes.extend(certificate.as_ref().err().map(warnings::uncertified));
    let is_exceeded = draft.found.solution.certificate.as_ref().is_ok_and(|certificate| certificate.is_exceeded);
    notes.extend(is_exceeded.then(warnings::exceeded));
    QuoteAnswer {
        quote_id: draft.input.id,
        created_at: rfc3339(draft.input.created_at_ms),
        expires_at: rfc3339(draft.expires_at_ms),
        ttl_ms,
        block: BlockRef { number: block.number, hash: block.hash, timestamp: block.timestamp },
        taker: Eip55(request.taker),
        recipient: Eip55(request.recipient),
        inputs: inputs(draft, shown),
        outputs: outputs(draft, shown),
        slippage_tolerance_bps: request.slippage_tolerance_bps,
        estimated_inputs: estimated_inputs(draft, shown),
        estimated_outputs: estimated_outputs(draft, shown, dollars, &impacts),
        exact_output: exact_output(draft),
        total_price_impact_bps: impacts.total_bps,
        costs: costs::costs(&draft.gas, &draft.fees, request.gas_priority, dollars, partner_fee_ether(draft)),
        path: path::path(published, route, &draft.gas.step_gas_units, shown),
        protocols_used: path::protocols_used(published, route),
        fee_config: fee_config(draft),
        issues: Issues {
            balance: approvals::balance_issues(&draft.found.order, holdings, shown),
            allowance: approvals::allowance_issues(&approvals),
            unknown_protocols: draft.unknown.protocols.clone(),
        },
        approvals: approvals::listed(approvals, request.listed()),
        permit2: permit(draft, holdings),
        certificate: certificate.ok(),
        simulation: simulated.map(|simulated| simulated.answer.clone()),
        warnings: notes,
        explanation: draft.explanation.clone(),
    }
}

/// Returns whether a purchase sells a maximum input that may buy more than the exact output: not where it buys exactly, nor
/// where the maximum is what the amount costs.
fn may_buy_more(draft: &Draft) -> bool {
    let found = &draft.found;
    let sells_more = |needed_in| found.order.inputs.iter().any(|input| input.amount > needed_in);
    found.purchase.as_ref().is_some_and(|purchase| !found.program.buys() && sells_more(purchase.needed_in))
}

/// Returns whether the route wraps or unwraps ether.
fn wraps_ether(draft: &Draft) -> bool {
    let market = &draft.input.published.head.market;
    let pools = draft.found.solution.route.steps.iter().filter_map(|step| market.pool(step.pool));
    pools.into_iter().any(|pool| pool.product.wraps_ether())
}

fn inputs(draft: &Draft, shown: Shown) -> Vec<InputEcho> {
    let echo = |entry: &InputEntry| InputEcho {
        chain_id: CHAIN_ID,
        address: shown.token(entry.token.address),
        amount: entry.amount.map(Into::into),
    };
    draft.input.request.inputs.iter().map(echo).collect()
}

fn outputs(draft: &Draft, shown: Shown) -> Vec<OutputEcho> {
    let echo = |entry: &OutputEntry| OutputEcho {
        chain_id: CHAIN_ID,
        address: shown.token(entry.token.address),
        ratio_bps: entry.share_bps(),
        amount: entry.amount.map(Into::into),
    };
    draft.input.request.outputs.iter().map(echo).collect()
}

/// Returns a token's symbol and decimals.
fn named(draft: &Draft, id: TokenId) -> (String, u8) {
    let token = draft.input.published.head.market.tokens().get(id);
    token.map(|token| (token.symbol.clone(), token.decimals)).unwrap_or_default()
}

fn estimated_inputs(draft: &Draft, shown: Shown) -> Vec<EstimatedInput> {
    let Found { sold, order, .. } = &draft.found;
    let input = |(index, entry): (usize, &InputEntry)| {
        let (symbol, decimals) = named(draft, *draft.input.tokens.inputs.get(index)?);
        Some(EstimatedInput {
            token: shown.token(entry.token.address),
            chain_id: CHAIN_ID,
            symbol,
            decimals,
            expected_amount: (*sold.get(index)?).into(),
            maximum_amount: order.inputs.get(index)?.amount.into(),
        })
    };
    draft.input.request.inputs.iter().enumerate().filter_map(input).collect()
}

fn exact_output(draft: &Draft) -> Option<ExactOutput> {
    let purchase = draft.found.purchase.as_ref()?;
    Some(ExactOutput {
        amount: purchase.amount.into(),
        bought: if draft.found.program.buys() { Bought::Exactly } else { Bought::AtLeast },
        needed_input: purchase.needed_in.into(),
    })
}

/// Returns the price impacts of the route from after a partner's fee on the inputs to before one on the outputs: the fee is
/// not price impact.
fn impacts(draft: &Draft) -> prices::Impacts {
    let fee = draft.input.request.fee();
    let on_output = fee.is_some_and(|fee| fee.on_output);
    let route = &draft.found.solution.route;
    let inputs = draft.input.tokens.inputs.iter().zip(&draft.found.sold);
    let given = inputs.map(|(id, sold)| (*id, fee.map_or(*sold, |fee| fee.after_input(*sold))));
    let amounts = if on_output { &route.amounts_out } else { &draft.found.expected };
    let got = draft.input.tokens.outputs.iter().copied().zip(amounts.iter().copied());
    prices::impacts(&draft.input.published.prepared, route, &given.collect::<Vec<_>>(), &got.collect::<Vec<_>>())
}

/// Values the partner's fee in ether; zero if there is none.
fn partner_fee_ether(draft: &Draft) -> Option<f64> {
    let Some(fee) = draft.input.request.fee() else { return Some(0.0) };
    let value = |id: &TokenId, before: U256, after: U256| {
        prices::value_in_ether(&draft.input.published, *id, before.saturating_sub(after))
    };
    if fee.on_output {
        let paid =
            draft.input.tokens.outputs.iter().zip(&draft.found.solution.route.amounts_out).zip(&draft.found.expected);
        return paid.map(|((id, paid), left)| value(id, *paid, *left)).sum();
    }
    let taken = draft.input.tokens.inputs.iter().zip(&draft.found.sold);
    taken.map(|(id, sold)| value(id, *sold, fee.after_input(*sold))).sum()
}

fn asked_shares(draft: &Draft) -> Vec<u16> {
    draft.input.request.outputs.iter().map(|output| output.share_bps()).collect()
}

fn values_got(draft: &Draft) -> Vec<Option<f64>> {
    let outputs = draft.input.tokens.outputs.iter().zip(&draft.found.expected);
    outputs.map(|(id, amount)| prices::value_in_ether(&draft.input.published, *id, *amount)).collect()
}

fn estimated_outputs(
    draft: &Draft,
    shown: Shown,
    dollars: Option<f64>,
    impacts: &prices::Impacts,
) -> Vec<EstimatedOutput> {
    let values = values_got(draft);
    let shares = prices::shares_bps(&values);
    let Found { expected, order, .. } = &draft.found;
    let output = |(index, entry): (usize, &OutputEntry)| {
        let id = *draft.input.tokens.outputs.get(index)?;
        let (symbol, decimals) = named(draft, id);
        let price = prices::ether_per_token(&draft.input.published.prepared, id);
        let value = values.get(index).copied().flatten();
        Some(EstimatedOutput {
            token: shown.token(entry.token.address),
            chain_id: CHAIN_ID,
            symbol,
            decimals,
            expected_amount: (*expected.get(index)?).into(),
            minimum_amount: order.outputs.get(index)?.amount.into(),
            ratio_bps: entry.share_bps(),
            realized_ratio_bps: shares.get(index).copied().flatten(),
            reference_price: price.map(|price| ReferencePrice { numeraire: "ETH", value: price.to_string() }),
            price_impact_bps: impacts.outputs_bps.get(index).copied().flatten(),
            usd_value: dollars.zip(value).map(|(rate, value)| prices::sum_in_dollars(rate * value)),
        })
    };
    draft.input.request.outputs.iter().enumerate().filter_map(output).collect()
}

fn fee_config(draft: &Draft) -> FeeConfig {
    let fee = draft.input.request.fee();
    FeeConfig {
        protocol_fee_bps: 0,
        partner_fee_bps: fee.map_or(0, |fee| fee.bps),
        partner_recipient: fee.map(|fee| Eip55(fee.recipient)),
        partner_fee_on_output: fee.is_some_and(|fee| fee.on_output),
        pass_positive_slippage_to_user: true,
    }
}

fn permit(draft: &Draft, holdings: &Holdings) -> Option<Permit2> {
    if !draft.input.request.include_permit2 {
        return None;
    }
    let order = &draft.found.order;
    let data = permit2::typed_data(order, draft.found.program.sent(), &draft.permit)?;
    let approvals = approvals::for_spender(order, holdings, permit2::ADDRESS, |holding| holding.permit2_allowance);
    Some(Permit2 {
        contract: Eip55(permit2::ADDRESS),
        approvals: approvals::listed(approvals, draft.input.request.listed()),
        hash: data.hash,
        deadline: draft.permit.deadline,
        eip712: data.eip712,
    })
}

/// Returns the certificate, or the reason for which there is none.
fn certificate(draft: &Draft, excluded_by_follower: usize) -> Result<model::Certificate, Uncertified> {
    let Certificate { upper_bound_value_wei, achieved_value_wei, gap_bps, pools_covered, excluded, .. } =
        draft.found.solution.certificate.clone()?;
    if !gap_bps.is_finite() {
        return Err(Uncertified::NoBound);
    }
    let by_service = draft.exclusions.pool_count;
    Ok(model::Certificate {
        upper_bound_value_wei: upper_bound_value_wei.into(),
        achieved_value_wei: achieved_value_wei.into(),
        gap_bps: gap_bps.max(0.0),
        pools_covered,
        excluded: model::Excluded {
            quarantined: excluded_by_follower + by_service as usize,
            // the router's filter holds both
            filtered: excluded.filtered.saturating_sub(by_service),
            max_hops: excluded.max_hops,
        },
        least_input: draft.found.purchase.as_ref().and_then(|purchase| purchase.least_in).map(Into::into),
    })
}
