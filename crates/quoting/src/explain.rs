//! Why this route: what simpler or freer routes would have been worth, in words and numbers. Two more solves at most.

use braid_primitives::{TokenId, U256};
use braid_protocols::Product;
use braid_routing::{PoolFilter, Request, Route, SimplePlan, Step, Witness, solve};

use crate::draft::Draft;
use crate::feed::Published;
use crate::model::{
    ExcludedProtocol, Exclusions, Explanation, Gain, GasShare, MarginalPrice, PoolName, SingleRoute, SingleStep,
    StepPrice,
};
use crate::shown::Shown;
use crate::{costs, path, prices};

/// The explanation of a draft, which answers `question`; `witness` holds the dual prices of its certificate.
pub(crate) fn explain(draft: &Draft, question: &Request, witness: Option<&Witness>) -> Explanation {
    let published = &draft.published;
    let worth = |(id, amount): (&TokenId, &U256)| prices::value_in_ether(published, *id, *amount);
    let given: Option<f64> = draft.tokens.inputs.iter().zip(&draft.sold).map(worth).sum();
    let got: Option<f64> = draft.tokens.outputs.iter().zip(&draft.solution.route.amounts_out).map(worth).sum();
    let gas = gas_share(draft);
    let net = net_value(published, question, &draft.solution.route);
    let gain_over = |other: Option<f64>| Some(gain(net? - other?, got?));
    let single = SimplePlan::SinglePath.route(&published.prepared, question);
    let splitting = single.as_ref().and_then(|route| gain_over(net_value(published, question, route)));
    let exclusions = exclusions(draft, question, |other| Some(gain(other? - net?, got?)));
    let best_single_route = single.map(|route| single_route(draft, question, &route));
    let marginal_prices = witness.map_or_else(Vec::new, |witness| marginal_prices(draft, witness));
    let step_prices = step_prices(published, question, &draft.solution.route);
    let mut explanation = Explanation {
        words: Vec::new(),
        input_value_wei: given.and_then(wei),
        output_value_wei: got.and_then(wei),
        gas,
        best_single_route,
        splitting,
        exclusions,
        marginal_prices,
        step_prices,
    };
    explanation.words = words(draft, &explanation);
    explanation
}

/// An explanation once the draft's gas was measured.
pub(crate) fn with_gas_of(draft: &Draft, explanation: Explanation) -> Explanation {
    let explanation = Explanation { gas: gas_share(draft), ..explanation };
    Explanation { words: words(draft, &explanation), ..explanation }
}

fn gas_share(draft: &Draft) -> GasShare {
    let outputs = draft.tokens.outputs.iter().zip(&draft.solution.route.amounts_out);
    let got: Option<f64> = outputs.map(|(id, amount)| prices::value_in_ether(&draft.published, *id, *amount)).sum();
    let cost_wei = costs::cost_wei(&draft.gas, &draft.fees);
    GasShare {
        gas_units: draft.gas.total_gas_units,
        cost_wei: cost_wei.into(),
        share_bps: got.and_then(|got| bps(f64::from(cost_wei) / 1e18, got)),
    }
}

/// What a route's outputs are worth at the reference prices, less the gas of its steps, in ether.
fn net_value(published: &Published, question: &Request, route: &Route) -> Option<f64> {
    let outputs = question.outputs.iter().zip(&route.amounts_out);
    let got: Option<f64> = outputs.map(|((id, _), amount)| prices::value_in_ether(published, *id, *amount)).sum();
    Some(got? - route.gas_units() as f64 * question.gas_price_wei as f64 / 1e18)
}

fn wei(ether: f64) -> Option<crate::model::Amount> {
    U256::try_from((ether * 1e18).max(0.0)).ok().map(Into::into)
}

fn bps(part: f64, whole: f64) -> Option<f64> {
    let share = part / whole * 10_000.0;
    share.is_finite().then(|| (share * 100.0).round() / 100.0)
}

/// A difference in ether; nothing is below zero.
fn gain(ether: f64, whole: f64) -> Gain {
    let ether = ether.max(0.0);
    Gain { value_wei: wei(ether).unwrap_or_default(), bps: bps(ether, whole).unwrap_or(0.0) }
}

fn single_route(draft: &Draft, question: &Request, route: &Route) -> SingleRoute {
    let market = &draft.published.head.market;
    let shown = Shown::by(&draft.request);
    let address = |id: TokenId| market.tokens().get(id).map(|token| shown.token(token.address));
    let step = |step: &Step| {
        let pool = market.pool(step.pool)?;
        let (token_in, token_out) = (address(step.token_in)?, address(step.token_out)?);
        Some(SingleStep { protocol: pool.product.id(), pool: PoolName(pool.key), token_in, token_out })
    };
    SingleRoute {
        steps: route.steps.iter().filter_map(step).collect(),
        expected_amount: route.amounts_out.first().copied().unwrap_or_default().into(),
        gas_units: route.gas_units(),
        net_value_wei: net_value(&draft.published, question, route).and_then(wei),
    }
}

/// What was left out, and what the best route with all pools is worth more.
fn exclusions(draft: &Draft, question: &Request, cost: impl Fn(Option<f64>) -> Option<Gain>) -> Option<Exclusions> {
    if question.filter == draft.aside.filter {
        return None;
    }
    let market = &draft.published.head.market;
    let mut products: Vec<(Product, usize)> = Vec::new();
    let mut pools = 0;
    let all = market.pools().iter().filter_map(|pool| Some((market.pool_id(pool.key)?, pool.product)));
    for (id, product) in all {
        // what no quote uses is not the request's doing
        if question.filter.allows(id, product) || !draft.aside.filter.allows(id, product) {
            continue;
        }
        if !question.filter.excludes_product(product) {
            pools += 1;
        } else if let Some((_, count)) = products.iter_mut().find(|(known, _)| *known == product) {
            *count += 1;
        } else {
            products.push((product, 1));
        }
    }
    products.sort_by_key(|(product, _)| product.index());
    let with = |filter: PoolFilter| {
        let freer = Request { filter, ..question.clone() };
        let best = solve(&draft.published.prepared, &freer).ok()?;
        cost(net_value(&draft.published, question, &best.route))
    };
    let all = with(draft.aside.filter.clone());
    // what is the only exclusion costs as much as all of them
    let alone = products.len() + usize::from(pools > 0) == 1;
    let part = |filter: PoolFilter| if alone { all.clone() } else { with(filter) };
    let protocols = products.iter().map(|(product, pools)| ExcludedProtocol {
        protocol: product.id(),
        pools: *pools,
        cost: part(filter_but(draft, question, Some(*product))),
    });
    let protocols = protocols.collect();
    let pools_cost = (pools > 0).then(|| part(filter_but(draft, question, None))).flatten();
    Some(Exclusions { protocols, pools, pools_cost, cost: all })
}

/// The question's filter with one product allowed again, or, without one, with the single pools allowed again.
fn filter_but(draft: &Draft, question: &Request, allowed: Option<Product>) -> PoolFilter {
    let mut filter = draft.aside.filter.clone();
    for product in Product::ALL.iter().copied().filter(|product| question.filter.excludes_product(*product)) {
        if allowed != Some(product) {
            filter.exclude_product(product);
        }
    }
    if allowed.is_some() {
        let market = &draft.published.head.market;
        for pool in draft.request.exclude_pools.iter().filter_map(|key| market.pool_id(*key)) {
            filter.exclude_pool(pool);
        }
    }
    filter
}

/// What one more of each of the route's tokens would be worth, by the prices of the dual problem.
fn marginal_prices(draft: &Draft, witness: &Witness) -> Vec<MarginalPrice> {
    let tokens = draft.published.head.market.tokens();
    let shown = Shown::by(&draft.request);
    let mut seen: Vec<TokenId> = Vec::new();
    for id in draft.solution.route.steps.iter().flat_map(|step| [step.token_in, step.token_out]) {
        if !seen.contains(&id) {
            seen.push(id);
        }
    }
    let price = |id: TokenId| {
        let token = tokens.get(id)?;
        let value = witness.of(id)?.price_wei * 10f64.powi(i32::from(token.decimals)) / 1e18;
        let reference = prices::ether_per_token(&draft.published, id);
        let text = |price: f64| format!("{price}");
        let token = shown.token(token.address);
        value.is_finite().then(|| MarginalPrice { token, value: text(value), reference: reference.map(text) })
    };
    seen.into_iter().filter_map(price).collect()
}

fn step_prices(published: &Published, question: &Request, route: &Route) -> Vec<StepPrice> {
    let market = &published.head.market;
    let whole = |id: TokenId, amount: U256| {
        market.tokens().get(id).map(|token| f64::from(amount) / 10f64.powi(i32::from(token.decimals)))
    };
    let rate = |step: &Step, taken: U256, paid: U256| {
        let rate = whole(step.token_out, paid)? / whole(step.token_in, taken)?;
        rate.is_finite().then_some(rate)
    };
    let marginal = |step: &Step| {
        let more = step.amount_in.checked_div(U256::from(1_000))?.max(U256::ONE);
        let pool = market.pool(step.pool)?;
        let swap = pool.swap(&question.at, step.coin_in, step.coin_out, step.amount_in.checked_add(more)?).ok()?;
        rate(step, more, swap.amount_out.checked_sub(step.amount_out)?)
    };
    let price = |(index, step): (usize, &Step)| {
        let average = rate(step, step.amount_in, step.amount_out)?;
        Some(StepPrice { step: path::step_id(index), average, marginal: marginal(step) })
    };
    route.steps.iter().enumerate().filter_map(price).collect()
}

fn words(draft: &Draft, explanation: &Explanation) -> Vec<String> {
    let route = &draft.solution.route;
    let protocols = path::protocols_used(&draft.published, route);
    let mut words = vec![format!(
        "The route takes {} over {}.",
        counted(route.steps.len(), "step", "steps"),
        if protocols.is_empty() { "no protocol".into() } else { protocols.join(", ") }
    )];
    match (&explanation.best_single_route, &explanation.splitting) {
        (Some(single), Some(gain)) if gain.bps > 0.0 => words.push(format!(
            "The best single route, {}, would have been worth {} bps less after gas: that is what splitting added.",
            chain(single),
            gain.bps
        )),
        (Some(single), _) => {
            words.push(format!("No split was worth its gas: one chain, {}, is the best.", chain(single)));
        }
        (None, _) if draft.request.inputs.len() + draft.request.outputs.len() > 2 => {
            words.push("With several inputs or outputs there is no single route to compare with.".into());
        }
        (None, _) => words.push("No single chain of pools takes the whole amount.".into()),
    }
    if let Some(share) = explanation.gas.share_bps {
        let GasShare { gas_units, .. } = explanation.gas;
        words.push(format!("Gas of {gas_units} units costs {share} bps of what is received."));
    }
    if let Some(exclusions) = &explanation.exclusions {
        words.extend(left_out(exclusions));
    }
    words.push(match &draft.solution.certificate {
        Ok(certificate) => {
            let (gap, pools) = (certificate.gap_bps.max(0.0), certificate.pools_covered);
            format!("No route over the {pools} pools looked at can be worth more than {gap:.2} bps above this one.")
        }
        Err(reason) => format!("How far from the best this route is cannot be told: {reason}."),
    });
    words
}

/// What the request left out, one sentence each, and what all of it cost.
fn left_out(exclusions: &Exclusions) -> Vec<String> {
    let cost = |cost: &Option<Gain>| match cost {
        Some(cost) if cost.bps > 0.0 => format!("cost {} bps", cost.bps),
        Some(_) => "cost nothing".into(),
        None => "cost what cannot be told".into(),
    };
    let Exclusions { protocols, pools, pools_cost, cost: all } = exclusions;
    let mut parts: Vec<String> = protocols
        .iter()
        .map(|part| {
            format!("Excluding {}, {}, {}.", part.protocol, counted(part.pools, "pool", "pools"), cost(&part.cost))
        })
        .collect();
    if *pools > 0 {
        parts.push(format!("Excluding {} {}.", counted(*pools, "single pool", "single pools"), cost(pools_cost)));
    }
    match parts.len() {
        0 => parts.push("The request excludes nothing that the market has.".into()),
        1 => {}
        _ => parts.push(format!("All that was excluded {} together.", cost(all))),
    }
    parts
}

fn chain(single: &SingleRoute) -> String {
    let wraps = |id: &str| Product::ALL.iter().any(|product| product.wraps_ether() && product.id() == id);
    let steps = single.steps.iter().filter(|step| !wraps(step.protocol));
    let steps: Vec<&str> = steps.map(|step| step.protocol).collect();
    if steps.is_empty() { "wrapping alone".into() } else { steps.join(" then ") }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
