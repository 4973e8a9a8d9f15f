//! Makes untrusted text safe for SVG, and writes short amounts.

use braid_primitives::U256;

/// Most characters of a token's symbol.
const MAX_SYMBOL_CHARS: usize = 12;

/// Most combining marks on one letter.
const MAX_ACCENTS: usize = 2;

/// Returns whether a character is visible and in place: no control, no mark of direction, no filler, no character that
/// XML forbids.
fn is_visible(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}');
    !c.is_control() && !hidden
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Cuts a text to one line of at most `max_chars` characters, without controls, marks of direction and stacked accents.
/// Does not escape it.
pub fn clean(text: &str, max_chars: usize) -> String {
    let mut accents = 0;
    let mut line = String::new();
    // bound the work for long texts; keep white space, also line ends, which are controls, to keep words apart
    for c in text.chars().take(1_024).filter(|c| c.is_whitespace() || is_visible(*c)) {
        accents = if is_accent(c) { accents + 1 } else { 0 };
        let is_second_space = c.is_whitespace() && (line.is_empty() || line.ends_with(' '));
        if accents <= MAX_ACCENTS && !is_second_space {
            line.push(if c.is_whitespace() { ' ' } else { c });
        }
    }
    let line = line.trim_end();
    if line.chars().count() <= max_chars {
        return line.to_owned();
    }
    line.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
}

/// Returns a token's symbol, or its shortened address if the symbol has no visible character.
pub(super) fn symbol(symbol: &str, address: &str) -> String {
    let line = clean(symbol, MAX_SYMBOL_CHARS);
    if line.is_empty() { short(address) } else { line }
}

/// Shortens an address to its first six and last four characters.
pub(super) fn short(address: &str) -> String {
    let letters: Vec<char> = address.chars().collect();
    match letters.len() {
        0..=13 => letters.into_iter().collect(),
        length => letters[..6].iter().chain(['…'].iter()).chain(&letters[length - 4..]).collect(),
    }
}

/// Escapes a text for XML, between tags and in attributes.
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

/// Writes an amount in whole tokens with at most six significant digits, rounded down, with grouped thousands.
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

/// Writes basis points as per cent.
pub(super) fn percent(bps: u64) -> String {
    let text = format!("{}.{:02}", bps / 100, bps % 100);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes a certificate's gap in basis points, rounded up to a thousandth.
pub fn gap_bps(bps: f64) -> String {
    let shown = (bps * 1_000.0).ceil() / 1_000.0;
    format!("{shown:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes a number of steps.
pub fn steps(count: usize) -> String {
    format!("{count} {}", if count == 1 { "step" } else { "steps" })
}
