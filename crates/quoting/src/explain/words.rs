//! An explanation in sentences.

use braid_protocols::Product;

use crate::draft::Draft;
use crate::model::{Exclusions, Explanation, Gain, SingleRoute};
use crate::path;

/// Writes an explanation's sentences.
pub(super) fn of(draft: &Draft, explanation: &Explanation) -> Vec<String> {
    let (published, route) = (&draft.input.published, &draft.found.solution.route);
    let used = path::protocols_used(published, route);
    let over = if used.is_empty() { "no protocol".into() } else { used.join(", ") };
    let mut words = vec![format!("The route takes {} over {over}.", counted(route.steps.len(), "step", "steps"))];
    words.push(splitting(draft, explanation));
    if let Some(share) = explanation.gas.share_bps {
        words.push(format!("Gas of {} units costs {share} bps of what is received.", explanation.gas.gas_units));
    }
    words.extend(explanation.exclusions.iter().flat_map(excluded));
    words.push(match &draft.found.solution.certificate {
        Ok(certificate) => {
            let (gap, pools) = (certificate.gap_bps.max(0.0), certificate.pools_covered);
            format!("No route over the {pools} pools covered can be worth more than {gap:.2} bps above this one.")
        }
        Err(reason) => format!("The route has no certificate: {reason}."),
    });
    words
}

/// Compares the route with the best single path.
fn splitting(draft: &Draft, explanation: &Explanation) -> String {
    let request = &draft.input.request;
    match (&explanation.best_single_route, &explanation.splitting) {
        (Some(single), Some(gain)) if gain.bps > 0.0 => format!(
            "The best single path, {}, would have been worth {} bps less after gas: that is what splitting added.",
            protocols(single),
            gain.bps
        ),
        (Some(single), _) => format!("No split was worth its gas: one path, {}, is the best.", protocols(single)),
        (None, _) if request.inputs.len() + request.outputs.len() > 2 => {
            "With several inputs or outputs there is no single path to compare with.".into()
        }
        (None, _) => "No single path takes the whole amount.".into(),
    }
}

/// Writes one sentence for each exclusion of the request, with its cost, and one for the cost of all together.
fn excluded(exclusions: &Exclusions) -> Vec<String> {
    let cost = |cost: &Option<Gain>| match cost {
        Some(cost) if cost.bps > 0.0 => format!("cost {} bps", cost.bps),
        Some(_) => "cost nothing".into(),
        None => "has an unknown cost".into(),
    };
    let Exclusions { protocols, pools, pools_cost, cost: all } = exclusions;
    let mut parts: Vec<String> = Vec::new();
    for part in protocols {
        let pools = counted(part.pools, "pool", "pools");
        parts.push(format!("Excluding {}, {pools}, {}.", part.protocol, cost(&part.cost)));
    }
    if *pools > 0 {
        parts.push(format!("Excluding {} {}.", counted(*pools, "single pool", "single pools"), cost(pools_cost)));
    }
    match parts.len() {
        0 => parts.push("The request excludes nothing that the market has.".into()),
        1 => {}
        _ => parts.push(format!("All exclusions together {}.", cost(all))),
    }
    parts
}

/// Names the protocols of a single path, in order.
fn protocols(single: &SingleRoute) -> String {
    let wraps = |id: &str| Product::ALL.iter().any(|product| product.wraps_ether() && product.id() == id);
    let steps: Vec<&str> = single.steps.iter().map(|step| step.protocol).filter(|id| !wraps(id)).collect();
    if steps.is_empty() { "wrapping alone".into() } else { steps.join(" then ") }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
