//! Text that strangers wrote, made safe for a line of SVG; amounts for a glance.

use braid_primitives::U256;

/// Most characters of a token's symbol.
const SYMBOL: usize = 12;

/// Most accents on one letter.
const ACCENTS: usize = 2;

/// Returns whether a character is drawn where it stands: no control, no mark of direction, no filler, nothing that XML
/// forbids.
fn is_seen(c: char) -> bool {
    let unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}');
    !c.is_control() && !unseen
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Cuts any text to one short line, not yet escaped: no controls, no marks of direction, no stacks of accents, at most
/// so many characters.
pub fn clean(text: &str, most: usize) -> String {
    let mut accents = 0;
    let mut line = String::new();
    // a text of any length costs no more than a long one
    // white space first: the end of a line is a control too, and what it parts stays apart
    for c in text.chars().take(1_024).filter(|c| c.is_whitespace() || is_seen(*c)) {
        accents = if is_accent(c) { accents + 1 } else { 0 };
        let is_second_space = c.is_whitespace() && (line.is_empty() || line.ends_with(' '));
        if accents <= ACCENTS && !is_second_space {
            line.push(if c.is_whitespace() { ' ' } else { c });
        }
    }
    let line = line.trim_end();
    if line.chars().count() <= most {
        return line.to_owned();
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Returns a token's symbol, or the ends of its address where it has none that can be seen.
pub(super) fn symbol(symbol: &str, address: &str) -> String {
    let line = clean(symbol, SYMBOL);
    if line.is_empty() { short(address) } else { line }
}

/// Returns the ends of an address.
pub(super) fn short(address: &str) -> String {
    let letters: Vec<char> = address.chars().collect();
    match letters.len() {
        0..=13 => letters.into_iter().collect(),
        length => letters[..6].iter().chain(['…'].iter()).chain(&letters[length - 4..]).collect(),
    }
}

/// Text as it may stand in XML, between tags and in quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Writes six significant digits of an amount, cut and never rounded up; thousands are grouped.
pub(super) fn brief(amount: U256, decimals: u8) -> String {
    const DIGITS: usize = 6;
    let decimals = usize::from(decimals);
    let digits = format!("{amount:0>width$}", width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    if whole.len() > 21 {
        return format!("{}.{} × 10^{}", &whole[..1], &whole[1..4], whole.len() - 1);
    }
    let kept = match whole {
        "0" => part.bytes().take_while(|digit| *digit == b'0').count() + DIGITS,
        _ => DIGITS.saturating_sub(whole.len()),
    };
    let part = part[..kept.min(part.len())].trim_end_matches('0');
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if part.is_empty() { text } else { format!("{text}.{part}") }
}

/// Basis points as per cent.
pub(super) fn percent(bps: u64) -> String {
    let text = format!("{}.{:02}", bps / 100, bps % 100);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes the gap of a certificate in basis points, to a thousandth and never smaller than it is.
pub fn gap_bps(bps: f64) -> String {
    let shown = (bps * 1_000.0).ceil() / 1_000.0;
    format!("{shown:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes how many steps there are.
pub fn steps(count: usize) -> String {
    format!("{count} {}", if count == 1 { "step" } else { "steps" })
}
