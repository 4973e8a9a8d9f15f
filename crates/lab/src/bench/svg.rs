//! Line charts as SVG: two axes, lines, and a legend. Enough for the benchmark's plots, and without a dependency.

use std::fmt::Write as _;

/// An axis: its ends, and whether it is logarithmic or linear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) is_logarithmic: bool,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Margins for labels: left, right, top, bottom.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 48.0;
/// Colours that are distinguishable with colour vision deficiency.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

impl Axis<'_> {
    /// Returns the position of a value between the ends, from 0 to 1. Values outside are moved to the nearest end.
    fn share(&self, value: f64) -> f64 {
        let place = |v: f64| if self.is_logarithmic { v.max(f64::MIN_POSITIVE).log10() } else { v };
        let (low, high) = (place(self.low), place(self.high));
        ((place(value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Returns the labelled values: powers of ten, or fifths of a linear axis.
    fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return (0..=5).map(|k| self.low + (self.high - self.low) * f64::from(k) / 5.0).collect();
        }
        let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
        (-18..=18).map(|power| 10_f64.powi(power)).filter(within).collect()
    }
}

/// Draws lines over common axes.
pub(crate) fn chart(title: &str, x: &Axis<'_>, y: &Axis<'_>, lines: &[Line]) -> String {
    let across = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
    let up = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    for value in x.ticks() {
        let at = across(value);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>");
        let below = bottom + 16.0;
        let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", number(value));
    }
    for value in y.ticks() {
        let at = up(value);
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/>");
        let (beside, middle) = (LEFT - 6.0, at + 4.0);
        let _ = writeln!(svg, "<text x=\"{beside}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>", number(value));
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
         <text transform=\"translate(16 {})rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 10.0,
        escaped(x.label),
        (TOP + bottom) / 2.0,
        escaped(y.label)
    );
    for ((line, colour), row) in lines.iter().zip(COLOURS.iter().cycle()).zip(0_u32..) {
        let points: Vec<String> = line.points.iter().map(|(a, b)| format!("{:.1},{:.1}", across(*a), up(*b))).collect();
        let points = points.join(" ");
        let _ = writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>");
        let at = TOP + 16.0 * (f64::from(row) + 0.5);
        let (from, to, text) = (right + 12.0, right + 28.0, right + 34.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{from} {at}H{to}\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{text}\" y=\"{}\">{}</text>",
            at + 4.0,
            escaped(&line.name)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Formats a number briefly: 0.001, 10, and 50,000 as 50k.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1e6 => format!("{}M", value / 1e6),
        large if large >= 1e3 => format!("{}k", value / 1e3),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_lines_where_its_axes_say() {
        let x = Axis { label: "pools", low: 100.0, high: 10_000.0, is_logarithmic: true };
        let y = Axis { label: "share < all", low: 0.0, high: 100.0, is_logarithmic: false };
        let line = Line { name: "p50".into(), points: vec![(100.0, 0.0), (1_000.0, 50.0), (1e9, 200.0)] };
        let svg = chart("time", &x, &y, &[line]);
        // Two corners of the frame and its centre: the points outside are moved to the edge.
        assert!(svg.contains("points=\"64.0,352.0 277.0,196.0 490.0,40.0\""), "{svg}");
        assert!(svg.contains("share &lt; all") && svg.contains(">10k<"));
    }
}
