//! Writes the SVG: a title, ribbons from token to token, and the steps as a list.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use braid_protocols::Product;

use super::flow::Flow;
use super::layout::{Layout, MARGIN, NODE, Part, Place, Ribbon, TOP, WIDTH};
use super::text::{brief, clean, escaped, gap_bps, percent, short, steps, symbol};
use super::view::{Quote, Step};

/// Colours of product families, in the order of the registry, as in the explorer. Each has a contrast of 3:1 or more
/// against white.
const COLOURS: [&str; 10] =
    ["#6b7280", "#c2257a", "#4f46e5", "#a1620a", "#15803d", "#475569", "#b91c1c", "#0369a1", "#1d4ed8", "#6d28d9"];
/// Colour of an unknown product.
const OTHER: &str = "#57534e";

/// Height of a line in the list of steps.
const LINE: f64 = 19.0;

/// Estimated width of a letter of a label.
const LETTER: f64 = 7.0;

/// Left edges of the columns of the list of steps.
const COLUMNS: [f64; 5] = [MARGIN, 62.0, 300.0, 560.0, 820.0];

pub(super) fn draw(quote: &Quote, flow: &Flow, layout: &Layout) -> String {
    let list = TOP + layout.height + 48.0;
    let height = list + LINE * quote.path.steps.len() as f64 + 12.0;
    let mut svg = String::new();
    // writing to a string does not fail
    let _ = head(&mut svg, quote, height);
    for ((step, link), ribbon) in quote.path.steps.iter().zip(&flow.links).zip(&layout.links) {
        debug_assert!(link.from != link.to);
        let _ = draw_ribbon(&mut svg, quote, step, ribbon);
    }
    // drawn after all ribbons, so that none covers a label
    for (step, ribbon) in quote.path.steps.iter().zip(&layout.links) {
        let _ = draw_label(&mut svg, step, ribbon);
    }
    for (node, place) in flow.nodes.iter().zip(&layout.nodes) {
        let _ = draw_node(&mut svg, &symbol_of(quote, &node.token), node.is_end, place);
    }
    for (index, step) in quote.path.steps.iter().enumerate() {
        let _ = draw_line(&mut svg, quote, (index, step), list + LINE * index as f64);
    }
    svg.push_str("</svg>\n");
    svg
}

fn product(step: &Step) -> Option<&'static Product> {
    Product::ALL.iter().find(|product| product.id() == step.protocol)
}

/// Returns a product's name; the id of an unknown product.
fn name(step: &Step) -> String {
    product(step).map_or_else(|| clean(&step.protocol, 40), |product| product.name().to_owned())
}

fn colour(step: &Step) -> &'static str {
    let Some(product) = product(step) else { return OTHER };
    let before = Product::ALL.iter().take_while(|other| other.family() != product.family());
    let families: BTreeSet<&str> = before.map(|other| other.family()).collect();
    COLOURS[families.len() % COLOURS.len()]
}

fn symbol_of(quote: &Quote, address: &str) -> String {
    quote.token(address).map_or_else(|| short(address), |token| symbol(&token.symbol, address))
}

fn amount_of(quote: &Quote, address: &str, amount: braid_primitives::U256) -> String {
    let decimals = quote.token(address).map_or(0, |token| token.decimals);
    format!("{} {}", brief(amount, decimals), symbol_of(quote, address))
}

fn head(svg: &mut String, quote: &Quote, height: f64) -> std::fmt::Result {
    let given: Vec<String> =
        quote.estimated_inputs.iter().map(|input| amount_of(quote, &input.token, input.expected_amount.0)).collect();
    let got: Vec<String> = quote
        .estimated_outputs
        .iter()
        .map(|output| amount_of(quote, &output.token, output.expected_amount.0))
        .collect();
    let title = format!("{} → {}", given.join(" + "), got.join(" + "));
    let steps = steps(quote.path.steps.len());
    let certificate = quote.certificate.as_ref().map_or_else(String::new, |certificate| {
        format!(", at most {} bps better exists in {} pools", gap_bps(certificate.gap_bps), certificate.pools_covered)
    });
    let subtitle = format!("{steps} on block {}{certificate}", quote.block.number);
    let [title, subtitle] = [escaped(&title), escaped(&subtitle)];
    let size = if title.chars().count() > 88 { 13 } else { 19 };
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#14202b\">"
    )?;
    writeln!(svg, "<title>{title}</title>\n<desc>{subtitle}</desc>")?;
    writeln!(svg, "<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>")?;
    writeln!(svg, "<text x=\"{MARGIN}\" y=\"32\" font-size=\"{size}\" font-weight=\"600\">{title}</text>")?;
    writeln!(svg, "<text x=\"{MARGIN}\" y=\"54\" fill=\"#4a5967\">{subtitle}</text>")
}

fn draw_ribbon(svg: &mut String, quote: &Quote, step: &Step, ribbon: &Ribbon) -> std::fmt::Result {
    let given = amount_of(quote, &step.token_in, step.amount_in.0);
    let got = amount_of(quote, &step.token_out, step.amount_out.0);
    let (share, pool) = (percent(step.share_bps), clean(&step.pool, 120));
    let tooltip = escaped(&format!("{} {pool}: {share}, {given} → {got}", name(step)));
    let curve = |[(x0, y0), (x1, y1)]: &Part| {
        let (y0, y1, bend) = (y0 + TOP, y1 + TOP, (x0 + x1) / 2.0);
        format!("{x0:.1},{y0:.1}C{bend:.1},{y0:.1} {bend:.1},{y1:.1} {x1:.1},{y1:.1}")
    };
    let path = ribbon.parts.iter().map(curve).collect::<Vec<_>>().join("L");
    writeln!(
        svg,
        "<path d=\"M{path}\" fill=\"none\" stroke=\"{}\" stroke-opacity=\"0.6\" stroke-width=\"{:.1}\"><title>{tooltip}</title></path>",
        colour(step),
        (ribbon.width - 1.0).max(1.2)
    )
}

/// Labels a ribbon at its start, if there is room.
fn draw_label(svg: &mut String, step: &Step, ribbon: &Ribbon) -> std::fmt::Result {
    let Some([(x0, y0), (x1, _)]) = ribbon.parts.first() else { return Ok(()) };
    let (share, name) = (percent(step.share_bps), name(step));
    let labels = [format!("{name} · {share}"), name, share];
    let fits = |label: &&String| label.chars().count() as f64 * LETTER < x1 - x0 - 16.0;
    let Some(label) = labels.iter().find(fits).filter(|_| ribbon.width > 15.0) else { return Ok(()) };
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
        x0 + 8.0,
        y0 + TOP + 4.5,
        escaped(label)
    )
}

fn draw_node(svg: &mut String, name: &str, is_end: bool, place: &Place) -> std::fmt::Result {
    let Place { x, y, height, .. } = *place;
    let colour = if is_end { "#0f766e" } else { "#6b7a88" };
    let y = y + TOP;
    writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{NODE}\" height=\"{height:.1}\" rx=\"3\" fill=\"{colour}\"/>"
    )?;
    let (at, anchor) = if x > WIDTH * 0.75 { (x + NODE, "end") } else { (x, "start") };
    let name = escaped(name);
    writeln!(
        svg,
        "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" font-weight=\"600\" stroke=\"#ffffff\" stroke-width=\"3\" \
         stroke-linejoin=\"round\" paint-order=\"stroke\">{name}</text>",
        y - 7.0
    )
}

fn draw_line(svg: &mut String, quote: &Quote, (index, step): (usize, &Step), y: f64) -> std::fmt::Result {
    let cells = [
        format!("{}", index + 1),
        format!("{} {}", name(step), short(step.pool.split('/').next().unwrap_or(""))),
        amount_of(quote, &step.token_in, step.amount_in.0),
        format!("→ {}", amount_of(quote, &step.token_out, step.amount_out.0)),
        percent(step.share_bps),
    ];
    writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{}\"/>",
        MARGIN + 22.0,
        y - 10.0,
        colour(step)
    )?;
    for (x, cell) in COLUMNS.iter().zip(&cells) {
        let cell = escaped(cell);
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"12\">{cell}</text>")?;
    }
    Ok(())
}
