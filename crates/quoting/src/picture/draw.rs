//! Writes the SVG: a title, ribbons from token to token, and the steps as a list.

use std::fmt::Write as _;

use super::flow::Flow;
use super::layout::{Layout, MARGIN, NODE, Place, Ribbon, TOP, WIDTH};
use super::text::{brief, clean, escaped, percent, short, symbol, words};
use super::view::{Quote, Step};

/// Colours of protocols, in the order in which the route meets them; each has 3 to 1 against white.
const COLOURS: [&str; 8] = ["#c2257a", "#0f766e", "#b45309", "#4f46e5", "#b91c1c", "#0369a1", "#15803d", "#6d28d9"];

/// Height of a line of the list of steps.
const LINE: f64 = 19.0;

/// About how wide a letter of a label is.
const LETTER: f64 = 7.0;

/// Where the columns of the list begin.
const COLUMNS: [f64; 5] = [MARGIN, 62.0, 300.0, 560.0, 820.0];

pub(super) fn draw(quote: &Quote, flow: &Flow, layout: &Layout) -> String {
    let colours = Colours::of(quote);
    let list = TOP + layout.height + 48.0;
    let height = list + LINE * quote.path.steps.len() as f64 + 12.0;
    let mut svg = String::new();
    // writing to a string does not fail
    let _ = head(&mut svg, quote, height);
    for ((step, link), ribbon) in quote.path.steps.iter().zip(&flow.links).zip(&layout.links) {
        debug_assert!(link.from != link.to);
        let _ = draw_ribbon(&mut svg, quote, step, ribbon, colours.of_step(step));
    }
    for (node, place) in flow.nodes.iter().zip(&layout.nodes) {
        let _ = draw_node(&mut svg, &symbol_of(quote, &node.token), node.is_end, place);
    }
    for (index, step) in quote.path.steps.iter().enumerate() {
        let _ = draw_line(&mut svg, quote, (index, step), list + LINE * index as f64, colours.of_step(step));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Which protocol has which colour.
struct Colours<'a>(Vec<&'a str>);

impl<'a> Colours<'a> {
    fn of(quote: &'a Quote) -> Self {
        let mut met: Vec<&str> = Vec::new();
        for step in &quote.path.steps {
            if !met.contains(&step.protocol.as_str()) {
                met.push(&step.protocol);
            }
        }
        Self(met)
    }

    fn of_step(&self, step: &Step) -> &'static str {
        let at = self.0.iter().position(|met| *met == step.protocol).unwrap_or(0);
        COLOURS[at % COLOURS.len()]
    }
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
    let steps = quote.path.steps.len();
    let plural = if steps == 1 { "step" } else { "steps" };
    let certificate = quote.certificate.as_ref().map_or_else(String::new, |certificate| {
        format!(", at most {} bps better exists in {} pools", gap(certificate.gap_bps), certificate.pools_covered)
    });
    let subtitle = format!("{steps} {plural} on block {}{certificate}", quote.block.number);
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

/// A gap, never shown smaller than it is.
fn gap(bps: f64) -> String {
    let shown = (bps * 1_000.0).ceil() / 1_000.0;
    format!("{shown:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn draw_ribbon(svg: &mut String, quote: &Quote, step: &Step, ribbon: &Ribbon, colour: &str) -> std::fmt::Result {
    let Ribbon { from: (x0, y0), to: (x1, y1), width } = *ribbon;
    let (y0, y1, bend) = (y0 + TOP, y1 + TOP, (x0 + x1) / 2.0);
    let (share, protocol) = (percent(step.share_bps), words(&step.protocol));
    let given = amount_of(quote, &step.token_in, step.amount_in.0);
    let got = amount_of(quote, &step.token_out, step.amount_out.0);
    let told = escaped(&format!("{protocol} {}: {share}, {given} → {got}", clean(&step.pool, 120)));
    writeln!(
        svg,
        "<path d=\"M{x0:.1},{y0:.1}C{bend:.1},{y0:.1} {bend:.1},{y1:.1} {x1:.1},{y1:.1}\" fill=\"none\" stroke=\"{colour}\" \
         stroke-opacity=\"0.6\" stroke-width=\"{:.1}\"><title>{told}</title></path>",
        (width - 1.0).max(1.2)
    )?;
    let labels = [format!("{protocol} · {share}"), protocol, share];
    let fits = |label: &&String| label.chars().count() as f64 * LETTER < x1 - x0 - 16.0;
    if let Some(label) = labels.iter().find(fits).filter(|_| width > 15.0) {
        let label = escaped(label);
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
             paint-order=\"stroke\">{label}</text>",
            x0 + 8.0,
            y0 + 4.5
        )?;
    }
    Ok(())
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

fn draw_line(svg: &mut String, quote: &Quote, (index, step): (usize, &Step), y: f64, colour: &str) -> std::fmt::Result {
    let cells = [
        format!("{}", index + 1),
        format!("{} {}", words(&step.protocol), short(step.pool.split('/').next().unwrap_or(""))),
        amount_of(quote, &step.token_in, step.amount_in.0),
        format!("→ {}", amount_of(quote, &step.token_out, step.amount_out.0)),
        percent(step.share_bps),
    ];
    writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{colour}\"/>",
        MARGIN + 22.0,
        y - 10.0
    )?;
    for (x, cell) in COLUMNS.iter().zip(&cells) {
        let cell = escaped(cell);
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"12\">{cell}</text>")?;
    }
    Ok(())
}
