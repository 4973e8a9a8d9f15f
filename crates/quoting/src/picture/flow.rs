//! The route as an acyclic graph: tokens are nodes, steps are links, and each has a width.

use braid_primitives::U256;

use super::view::{Output, Quote};

/// A token at one visit of the route.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The token's address.
    pub token: String,
    /// Value that passes through, as a share of the outputs' value: 0 to 1.
    pub value: f64,
    /// True if the route begins or ends here.
    pub is_end: bool,
}

/// A step between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub from: usize,
    pub to: usize,
    /// Value that passes through, as for a node.
    pub value: f64,
}

/// Nodes, and one link for each step in the order of execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flow {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
}

impl Flow {
    pub(super) fn of(quote: &Quote) -> Self {
        let mut flow = Self::default();
        for step in &quote.path.steps {
            let from = flow.latest(&step.token_in);
            let to = flow.latest(&step.token_out);
            // a token to which the route returns gets a node for each visit, so that the graph stays acyclic
            let to = if flow.leads(to, from) { flow.add(&step.token_out) } else { to };
            flow.links.push(Link { from, to, value: 0.0 });
        }
        flow.weigh(quote);
        flow
    }

    fn add(&mut self, token: &str) -> usize {
        self.nodes.push(Node { token: token.to_owned(), value: 0.0, is_end: false });
        self.nodes.len() - 1
    }

    /// Returns the newest node of a token.
    fn latest(&mut self, token: &str) -> usize {
        self.nodes.iter().rposition(|node| node.token == token).unwrap_or_else(|| self.add(token))
    }

    /// Returns whether a path leads from one node to another.
    fn leads(&self, from: usize, to: usize) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(self.links.iter().filter(|link| link.from == at).map(|link| link.to));
            }
        }
        false
    }

    /// Returns the nodes in topological order.
    pub(super) fn ordered(&self) -> Vec<usize> {
        let mut missing = vec![0usize; self.nodes.len()];
        for link in &self.links {
            missing[link.to] += 1;
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|node| missing[*node] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for link in self.links.iter().filter(|link| link.from == node) {
                missing[link.to] -= 1;
                if missing[link.to] == 0 {
                    order.push(link.to);
                }
            }
        }
        order
    }

    /// Computes values from the outputs backwards: divides a node's value among its incoming links by amount.
    fn weigh(&mut self, quote: &Quote) {
        let outputs = shares(&quote.estimated_outputs);
        let amounts: Vec<U256> = quote.path.steps.iter().map(|step| step.amount_out.0).collect();
        for node in self.ordered().into_iter().rev() {
            let token = self.nodes[node].token.clone();
            let is_last = self.nodes.iter().rposition(|other| other.token == token) == Some(node);
            let output = outputs.iter().find(|(output, _)| is_last && *output == token);
            let is_first = self.nodes.iter().position(|other| other.token == token) == Some(node);
            let brought = quote.estimated_inputs.iter().find(|input| is_first && input.token == token);
            let passed: f64 = self.links.iter().filter(|link| link.from == node).map(|link| link.value).sum();
            let value = passed + output.map_or(0.0, |(_, share)| *share);
            self.nodes[node].value = value;
            self.nodes[node].is_end = output.is_some() || brought.is_some();
            let arriving = self.links.iter().zip(&amounts).filter(|(link, _)| link.to == node);
            // the taker's input is a part of the token's amount, beside the outputs of steps
            let own = brought.map_or(0.0, |input| f64::from(input.expected_amount.0));
            let whole = own + arriving.map(|(_, amount)| f64::from(*amount)).sum::<f64>();
            for (link, amount) in self.links.iter_mut().zip(&amounts).filter(|(link, _)| link.to == node) {
                link.value = if whole > 0.0 { value * (f64::from(*amount) / whole) } else { 0.0 };
            }
        }
    }
}

/// Returns each output's share of the outputs' value.
fn shares(outputs: &[Output]) -> Vec<(&str, f64)> {
    let values: Vec<f64> = outputs.iter().map(|output| output.value().max(0.0)).collect();
    let whole: f64 = values.iter().sum();
    let even = 1.0 / outputs.len().max(1) as f64;
    let share = |value: f64| if whole > 0.0 && whole.is_finite() { value / whole } else { even };
    outputs.iter().zip(values).map(|(output, value)| (output.token.as_str(), share(value))).collect()
}
