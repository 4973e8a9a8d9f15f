//! Where nodes and links stand, in pixels. Only sums, products and quotients, so that every machine places them alike.

use super::flow::{Flow, Link};

/// Width of the picture.
pub(super) const WIDTH: f64 = 960.0;
/// Left and right of the nodes.
pub(super) const MARGIN: f64 = 24.0;
/// Width of a node.
pub(super) const NODE: f64 = 14.0;
/// Above the nodes: title and subtitle.
pub(super) const TOP: f64 = 84.0;
/// Between nodes of one layer, with room for a name.
const GAP: f64 = 28.0;
/// Times that nodes are moved towards what they are linked to.
const ROUNDS: usize = 12;

/// A node's upper left corner and its height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub layer: usize,
    pub x: f64,
    pub y: f64,
    pub height: f64,
}

/// A link's middle at both ends, and its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ribbon {
    pub from: (f64, f64),
    pub to: (f64, f64),
    pub width: f64,
}

/// A picture's places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub nodes: Vec<Place>,
    pub links: Vec<Ribbon>,
    /// Height of the part that has the nodes.
    pub height: f64,
}

impl Layout {
    pub(super) fn of(flow: &Flow) -> Self {
        let layers = layers(flow);
        let last = layers.iter().copied().max().unwrap_or(0);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
        for (node, layer) in layers.iter().enumerate() {
            members[*layer].push(node);
        }
        let most_nodes = members.iter().map(Vec::len).max().unwrap_or(1);
        let most_links = (0..flow.nodes.len()).map(|node| links_at(flow, node)).max().unwrap_or(1);
        let height = (120.0 + 16.0 * most_links as f64).max(60.0 * most_nodes as f64).min(640.0);

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
                draw_near(flow, &mut members[layer], &mut nodes, forwards);
                stack(&members[layer], &mut nodes, height);
            }
        }
        let links = ribbons(flow, &nodes, scale);
        Self { nodes, links, height }
    }
}

/// How many links meet at a node's busier side.
fn links_at(flow: &Flow, node: usize) -> usize {
    let leaving = flow.links.iter().filter(|link| link.from == node).count();
    leaving.max(flow.links.iter().filter(|link| link.to == node).count())
}

/// The layer of each node: as far from the start as its longest way; those that lead nowhere stand at the end.
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

/// Moves a layer's nodes to where their links come from, or go to, and orders them so.
fn draw_near(flow: &Flow, layer: &mut [usize], nodes: &mut [Place], forwards: bool) {
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
    // stable: nodes at one height keep their order
    layer.sort_by(|a, b| middle(&nodes[*a]).total_cmp(&middle(&nodes[*b])));
}

/// Keeps a layer's nodes apart and inside, in their order.
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

/// Puts links side by side at both of their ends, so that they cross as little as may be.
fn ribbons(flow: &Flow, nodes: &[Place], scale: f64) -> Vec<Ribbon> {
    let mut ribbons: Vec<Ribbon> = flow
        .links
        .iter()
        .map(|Link { from, to, value }| Ribbon {
            from: (nodes[*from].x + NODE, 0.0),
            to: (nodes[*to].x, 0.0),
            width: (value * scale).max(1.2),
        })
        .collect();
    for (node, place) in nodes.iter().enumerate() {
        let mut leaving: Vec<usize> = (0..ribbons.len()).filter(|at| flow.links[*at].from == node).collect();
        leaving.sort_by(|a, b| middle(&nodes[flow.links[*a].to]).total_cmp(&middle(&nodes[flow.links[*b].to])));
        let mut arriving: Vec<usize> = (0..ribbons.len()).filter(|at| flow.links[*at].to == node).collect();
        arriving.sort_by(|a, b| middle(&nodes[flow.links[*a].from]).total_cmp(&middle(&nodes[flow.links[*b].from])));
        let mut y = place.y;
        for at in leaving {
            ribbons[at].from.1 = y + flow.links[at].value * scale / 2.0;
            y += flow.links[at].value * scale;
        }
        y = place.y;
        for at in arriving {
            ribbons[at].to.1 = y + flow.links[at].value * scale / 2.0;
            y += flow.links[at].value * scale;
        }
    }
    ribbons
}
