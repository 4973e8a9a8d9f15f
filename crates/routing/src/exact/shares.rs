//! Moves flow between the outputs of a basket.
//!
//! At each token the balance is split in proportions. To bring more to an output, every branch grows with the part of
//! it that ends there: a branch's factor is the mean of the outputs' factors, weighted by where its flow ends. This
//! works for any acyclic flow, needs no derivative, and leaves a plan unchanged whose shares are right.

use crate::problem::Flow;
use crate::tuning::Tuning;

/// Converts the distance between shares reached and shares wanted into factors, and learns how strongly outputs
/// respond.
#[derive(Clone, Debug)]
pub(crate) struct Steer {
    /// Logarithms of the last factors, and of the shares reached before them.
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// Growth of each output's share with its factor, both in logarithms.
    response: Vec<f64>,
}

impl Steer {
    pub(crate) fn new(outputs: usize) -> Self {
        Self { last: None, response: vec![1.0; outputs] }
    }

    /// Computes the factors for shares given as (reached, wanted).
    pub(crate) fn factors(&mut self, shares: &[(f64, f64)]) -> Vec<f64> {
        let got: Vec<f64> = shares.iter().map(|(is, _)| is.max(Tuning::LEAST_SHARE).ln()).collect();
        if let Some((moved, before)) = &self.last {
            for (k, response) in self.response.iter_mut().enumerate() {
                let seen = (got[k] - before[k]) / moved[k];
                if moved[k].abs() > Tuning::LEAST_SHARE_MOVE && seen.is_finite() {
                    *response = seen.clamp(*Tuning::SHARE_RESPONSE.start(), *Tuning::SHARE_RESPONSE.end());
                }
            }
        }
        let missing = shares.iter().zip(&got).map(|((_, wanted), got)| wanted.ln() - got);
        let step = missing.zip(&self.response).map(|(missing, response)| {
            (missing / response).clamp(-Tuning::LONGEST_SHARE_STEP, Tuning::LONGEST_SHARE_STEP)
        });
        let moved: Vec<f64> = step.collect();
        let factors = moved.iter().map(|step| step.exp()).collect();
        self.last = Some((moved, got));
        factors
    }
}

/// Scales flows, and the amounts that outputs keep, by the outputs' factors.
pub(crate) fn steer(flows: &mut [Flow], kept: &mut [(u32, f64)], outputs: &[u32], factors: &[f64]) {
    let mut gains: Vec<(u32, f64)> = Vec::new();
    let tokens: Vec<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    let factor = |token: u32| outputs.iter().position(|output| *output == token).map(|at| factors[at]);
    // As many rounds as the longest path: each settles the tokens whose followers are all settled.
    for _ in 0..=flows.len() {
        let mut settled = false;
        for token in &tokens {
            if gains.iter().any(|(known, _)| known == token) {
                continue;
            }
            let Some(gain) = gain(*token, flows, kept, factor(*token), &gains) else { continue };
            gains.push((*token, gain));
            settled = true;
        }
        if !settled {
            break;
        }
    }
    let gain = |token: u32| gains.iter().find(|(known, _)| *known == token).map_or(1.0, |(_, gain)| *gain);
    for flow in flows {
        flow.amount_in *= gain(flow.to);
    }
    for (token, amount) in kept {
        *amount *= factor(*token).unwrap_or(1.0);
    }
}

/// Computes the factor of what arrives at a token: the mean over its branches; `None` while one of them is not settled.
fn gain(token: u32, flows: &[Flow], kept: &[(u32, f64)], factor: Option<f64>, gains: &[(u32, f64)]) -> Option<f64> {
    let stays = kept.iter().find(|(known, _)| *known == token).map_or(0.0, |(_, amount)| *amount);
    let (mut sum, mut weighted) = (0.0, 0.0);
    for flow in flows.iter().filter(|flow| flow.from == token) {
        let (_, onward) = gains.iter().find(|(known, _)| *known == flow.to)?;
        sum += flow.amount_in;
        weighted += flow.amount_in * onward;
    }
    if sum == 0.0 {
        return Some(factor.unwrap_or(1.0));
    }
    if let Some(factor) = factor {
        sum += stays;
        weighted += stays * factor;
    }
    Some(weighted / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(pair: u32, from: u32, to: u32, amount_in: f64) -> Flow {
        Flow { pair, side: 0, from, to, amount_in }
    }

    #[test]
    fn branches_grow_by_what_of_them_ends_at_the_output_that_wants_more() {
        // 0 → 1 → {3, 4} and 0 → 2 → 4: output 3 wants twice as much.
        let mut flows =
            [flow(0, 0, 1, 6.0), flow(1, 0, 2, 4.0), flow(2, 1, 3, 3.0), flow(3, 1, 4, 3.0), flow(4, 2, 4, 4.0)];
        steer(&mut flows, &mut [], &[3, 4], &[2.0, 1.0]);
        let amounts = flows.map(|flow| flow.amount_in);
        assert_eq!(amounts, [9.0, 4.0, 6.0, 3.0, 4.0]);
    }

    #[test]
    fn an_output_that_flows_on_keeps_more_of_what_reaches_it() {
        // 0 → 1, where 2 units stay and 2 go on to token 2.
        let (mut flows, mut kept) = ([flow(0, 0, 1, 4.0), flow(1, 1, 2, 2.0)], [(1, 2.0)]);
        steer(&mut flows, &mut kept, &[1, 2], &[3.0, 1.0]);
        assert_eq!((flows[0].amount_in, flows[1].amount_in, kept[0].1), (8.0, 2.0, 6.0));
    }

    #[test]
    fn an_output_that_answers_weakly_is_pushed_harder() {
        let mut steer = Steer::new(2);
        let first = steer.factors(&[(0.25, 0.5), (0.75, 0.5)]);
        // Half of the distance in logarithms was made up.
        let got = (0.25_f64 * 0.5).sqrt();
        let second = steer.factors(&[(got, 0.5), (1.0 - got, 0.5)]);
        assert!((first[0] - 2.0).abs() < 1e-12 && (second[0] - 2.0).abs() < 1e-9, "{first:?} {second:?}");
    }
}
