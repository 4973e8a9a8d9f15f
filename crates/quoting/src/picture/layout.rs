//! Places nodes and links, in pixels. Uses only sums, products and quotients, which are the same on every machine.

use super::flow::{Flow, Link, Node};

/// Width of the picture.
pub(super) const WIDTH: f64 = 960.0;
/// Margin left and right of the nodes.
pub(super) const MARGIN: f64 = 24.0;
/// Width of a node.
pub(super) const NODE: f64 = 14.0;
/// Space above the nodes, for title and subtitle.
pub(super) const TOP: f64 = 84.0;
/// Gap between nodes of a layer, with room for a name.
const GAP: f64 = 28.0;
/// Rounds in which nodes move towards their neighbours.
const ROUNDS: usize = 12;

/// A node's upper left corner, and its height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub layer: usize,
    pub x: f64,
    pub y: f64,
    pub height: f64,
}

/// A link's centre line, layer by layer, and its width.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ribbon {
    pub parts: Vec<Part>,
    pub width: f64,
}

/// Start and end of a ribbon's part between two layers.
pub(super) type Part = [(f64, f64); 2];

/// The layout of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub nodes: Vec<Place>,
    pub links: Vec<Ribbon>,
    /// Height of the area with the nodes.
    pub height: f64,
}

impl Layout {
    pub(super) fn of(flow: &Flow) -> Self {
        let (count, links) = (flow.nodes.len(), flow.links.len());
        let (flow, layers, owners) = &split_links(flow);
        let last = layers.iter().copied().max().unwrap_or(0);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
        for (node, layer) in layers.iter().enumerate() {
            members[*layer].push(node);
        }
        let most_nodes = members.iter().map(Vec::len).max().unwrap_or(1);
        let most_links = (0..flow.nodes.len()).map(|node| links_at(flow, node)).max().unwrap_or(1);
        let height = (120.0 + 16.0 * most_links as f64).max(52.0 * most_nodes as f64).min(640.0);

        let room = |nodes: &[usize]| height - GAP * nodes.len().saturating_sub(1) as f64;
        let values = |nodes: &[usize]| nodes.iter().map(|node| flow.nodes[*node].value).sum::<f64>();
        let scales = members.iter().filter(|nodes| values(nodes) > 0.0).map(|nodes| room(nodes) / values(nodes));
        let scale = scales.fold(height, f64::min).max(0.0);

        let step = if last == 0 { 0.0 } else { (WIDTH - 2.0 * MARGIN - NODE) / last as f64 };
        let place = |(node, layer): (usize, &usize)| Place {
            layer: *layer,
            x: MARGIN + step * *layer as f64,
            y: 0.0,
            height: (flow.nodes[node].value * scale).max(2.0),
        };
        let mut nodes: Vec<Place> = layers.iter().enumerate().map(place).collect();
        for layer in &mut members {
            stack(layer, &mut nodes, height);
        }
        for round in 0..ROUNDS {
            let forwards = round % 2 == 0;
            let order: Vec<usize> = if forwards { (0..=last).collect() } else { (0..=last).rev().collect() };
            for layer in order {
                align(flow, &mut members[layer], &mut nodes, forwards);
                stack(&members[layer], &mut nodes, height);
            }
        }
        let mut ribbons = vec![Ribbon { parts: Vec::new(), width: 0.0 }; links];
        for ((part, link), owner) in parts(flow, &nodes, scale).into_iter().zip(&flow.links).zip(owners) {
            ribbons[*owner].parts.push(part);
            ribbons[*owner].width = (link.value * scale).max(1.2);
        }
        nodes.truncate(count);
        Self { nodes, links: ribbons, height }
    }
}

/// Splits links at each layer that they cross, so that they pass beside its nodes. Returns also the nodes' layers, and
/// the link that each part belongs to.
fn split_links(flow: &Flow) -> (Flow, Vec<usize>, Vec<usize>) {
    let mut layers = layers(flow);
    let (mut split, mut owners) = (Flow { nodes: flow.nodes.clone(), links: Vec::new() }, Vec::new());
    for (owner, Link { from, to, value }) in flow.links.iter().copied().enumerate() {
        let mut at = from;
        for layer in layers[from] + 1..layers[to] {
            split.nodes.push(Node { token: String::new(), value, is_end: false });
            layers.push(layer);
            let passed = split.nodes.len() - 1;
            split.links.push(Link { from: at, to: passed, value });
            owners.push(owner);
            at = passed;
        }
        split.links.push(Link { from: at, to, value });
        owners.push(owner);
    }
    (split, layers, owners)
}

/// Returns the larger of the numbers of links that leave and that enter a node.
fn links_at(flow: &Flow, node: usize) -> usize {
    let leaving = flow.links.iter().filter(|link| link.from == node).count();
    leaving.max(flow.links.iter().filter(|link| link.to == node).count())
}

/// Returns the layer of each node: the length of the longest path to it; nodes without a link out are in the last layer.
fn layers(flow: &Flow) -> Vec<usize> {
    let mut layers = vec![0; flow.nodes.len()];
    for node in flow.ordered() {
        for link in flow.links.iter().filter(|link| link.from == node) {
            layers[link.to] = layers[link.to].max(layers[node] + 1);
        }
    }
    let last = layers.iter().copied().max().unwrap_or(0);
    for (node, layer) in layers.iter_mut().enumerate() {
        if !flow.links.iter().any(|link| link.from == node) {
            *layer = last;
        }
    }
    layers
}

fn middle(place: &Place) -> f64 {
    place.y + place.height / 2.0
}

/// Moves a layer's nodes to the weighted middle of their neighbours on one side, and sorts them by height.
fn align(flow: &Flow, layer: &mut [usize], nodes: &mut [Place], forwards: bool) {
    for node in layer.iter().copied() {
        let neighbours = flow.links.iter().filter_map(|link| {
            let (own, other) = if forwards { (link.to, link.from) } else { (link.from, link.to) };
            (own == node).then(|| (middle(&nodes[other]), link.value.max(1e-9)))
        });
        let (sum, weight) = neighbours.fold((0.0, 0.0), |(sum, weight), (y, value)| (sum + y * value, weight + value));
        if weight > 0.0 {
            nodes[node].y = sum / weight - nodes[node].height / 2.0;
        }
    }
    // a stable sort: nodes at the same height keep their order
    layer.sort_by(|a, b| middle(&nodes[*a]).total_cmp(&middle(&nodes[*b])));
}

/// Moves a layer's nodes apart and inside the picture, in their order.
fn stack(layer: &[usize], nodes: &mut [Place], height: f64) {
    let mut free = 0.0f64;
    for node in layer.iter().copied() {
        nodes[node].y = nodes[node].y.max(free);
        free = nodes[node].y + nodes[node].height + GAP;
    }
    let mut end = height;
    for node in layer.iter().rev().copied() {
        nodes[node].y = nodes[node].y.min(end - nodes[node].height);
        end = nodes[node].y - GAP;
    }
}

/// Places links side by side at both ends, in the order of their other ends, so that few cross.
fn parts(flow: &Flow, nodes: &[Place], scale: f64) -> Vec<Part> {
    let ends = |link: &Link| [(nodes[link.from].x + NODE, 0.0), (nodes[link.to].x, 0.0)];
    let mut parts: Vec<Part> = flow.links.iter().map(ends).collect();
    for (node, place) in nodes.iter().enumerate() {
        let mut leaving: Vec<usize> = (0..parts.len()).filter(|at| flow.links[*at].from == node).collect();
        leaving.sort_by(|a, b| middle(&nodes[flow.links[*a].to]).total_cmp(&middle(&nodes[flow.links[*b].to])));
        let mut arriving: Vec<usize> = (0..parts.len()).filter(|at| flow.links[*at].to == node).collect();
        arriving.sort_by(|a, b| middle(&nodes[flow.links[*a].from]).total_cmp(&middle(&nodes[flow.links[*b].from])));
        for (end, side) in [leaving, arriving].into_iter().enumerate() {
            let mut y = place.y;
            for at in side {
                let width = flow.links[at].value * scale;
                parts[at][end].1 = y + width / 2.0;
                y += width;
            }
        }
    }
    parts
}
