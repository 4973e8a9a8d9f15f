//! Finds what a mistyped symbol may have meant.

/// Most suggestions.
const MOST: usize = 3;

/// Returns the symbols that are a typing error or two away from a text, the closest first, and among equals in their order.
pub(crate) fn similar<'a>(text: &str, symbols: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let allowed = match text.len() {
        0..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let mut found: Vec<(usize, &str)> = Vec::new();
    for symbol in symbols {
        let other: Vec<char> = symbol.to_lowercase().chars().collect();
        let is_near = text.len().abs_diff(other.len()) <= allowed && !found.iter().any(|(_, known)| *known == symbol);
        let distance = if is_near { distance(&text, &other) } else { usize::MAX };
        if distance <= allowed {
            found.push((distance, symbol));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(MOST).map(|(_, symbol)| symbol).collect()
}

/// Writes a question for these suggestions, with a space before it; nothing if there is none.
pub(crate) fn question(suggestions: &[&str]) -> String {
    match suggestions {
        [] => String::new(),
        [others @ .., last] if !others.is_empty() => format!(" Did you mean {} or {last}?", others.join(", ")),
        [one, ..] => format!(" Did you mean {one}?"),
    }
}

/// Returns how many letters must be added, dropped, changed or swapped with the next one.
fn distance(one: &[char], other: &[char]) -> usize {
    let width = other.len() + 1;
    let mut rows = vec![0; (one.len() + 1) * width];
    for at in 0..rows.len() {
        let (i, j) = (at / width, at % width);
        let back = |rows: &[usize], di: usize, dj: usize| rows[(i - di) * width + j - dj];
        rows[at] = if i == 0 || j == 0 {
            i + j
        } else {
            let changed = usize::from(one[i - 1] != other[j - 1]);
            let least = (back(&rows, 1, 0) + 1).min(back(&rows, 0, 1) + 1).min(back(&rows, 1, 1) + changed);
            let is_swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if is_swapped { least.min(back(&rows, 2, 2) + 1) } else { least }
        };
    }
    rows.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_symbol_that_was_meant() {
        let known = ["USDC", "USDT", "WETH", "WBTC", "stETH", "USDC", "UNI"];
        for (text, meant) in [
            ("usdcc", vec!["USDC", "USDT"]),
            ("UDSC", vec!["USDC"]),
            ("wet", vec!["WETH"]),
            ("stEHT", vec!["stETH"]),
            ("WBCT", vec!["WBTC"]),
            ("un", vec![]),
            ("nothing", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(similar(text, known), meant, "{text}");
        }
        assert_eq!(question(&["A", "B", "C"]), " Did you mean A, B or C?");
        assert_eq!((question(&["A"]), question(&[])), (" Did you mean A?".into(), String::new()));
    }
}
