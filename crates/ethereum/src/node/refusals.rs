//! Reads limits from a node's refusals. Pure. Every provider words them differently: a number counts only if it can be
//! nothing but the limit; otherwise the limit is found by halving.

/// A number in a message, and the text before and after it.
struct Quantity<'a> {
    value: u64,
    before: &'a str,
    after: &'a str,
}

/// Returns how many blocks a refused range `from..=to` may have, from a suggested range or from the stated limit.
pub(super) fn blocks(message: &str, from: u64, to: u64) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let all = quantities(&message);
    let suggested = all.windows(2).find_map(|pair| match pair {
        [a, b] if a.value == from && (from..to).contains(&b.value) => Some(b.value - from + 1),
        _ => None,
    });
    let speaks_of_ranges = message.contains("range") || message.contains("block");
    let limit = || {
        let asked = to - from + 1;
        let of_blocks = |quantity: &&Quantity<'_>| {
            let unit = quantity.after.trim_start();
            let of_results = ["result", "log", "event", "request", "s ", "sec", "mb", "kb"];
            !of_results.iter().any(|word| unit.starts_with(word)) && !quantity.before.ends_with("results ")
        };
        let limits = all.iter().filter(of_blocks).map(|quantity| quantity.value);
        limits.filter(|value| (1..asked).contains(value) && *value != from).max()
    };
    suggested.or_else(|| speaks_of_ranges.then(limit).flatten())
}

/// Returns how many requests a refused message of `asked` requests may have.
pub(super) fn batch(message: &str, asked: u64) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let limits =
        quantities(&message).into_iter().map(|quantity| quantity.value).filter(|value| (1..asked).contains(value));
    message.contains("batch").then(|| limits.max()).flatten()
}

/// Returns how much gas a refused call may take, in gas units.
pub(super) fn gas(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    let plausible = |value: &u64| (100_000..1_000_000_000).contains(value);
    message.contains("gas").then(|| quantities(&message).into_iter().map(|q| q.value).find(plausible)).flatten()
}

/// Returns the numbers of a text in lower case: hexadecimal, decimal with or without commas, or in thousands (`2k`).
/// Skips numbers inside words and addresses, and error codes.
fn quantities(text: &str) -> Vec<Quantity<'_>> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let part_of_a_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'.' | b'_'));
        if !bytes[at].is_ascii_digit() || part_of_a_word {
            at += 1;
            continue;
        }
        let start = at;
        let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b'x' | b',' | b'_');
        while bytes.get(at).is_some_and(is_digit) {
            at += 1;
        }
        let digits = text[start..at].trim_end_matches(',').replace([',', '_'], "");
        let value = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let thousands = text[at..].starts_with('k') && !text[at + 1..].starts_with(|c: char| c.is_alphanumeric());
        at += usize::from(thousands);
        let before = &text[..start];
        let is_negative = before.strip_suffix('-').is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric()));
        let is_a_code = is_negative || before.trim_end_matches([' ', ':']).ends_with("code");
        let is_a_word = text[at..].starts_with(|c: char| c.is_alphabetic());
        if let Some(value) = value.filter(|_| !is_a_code && !is_a_word) {
            let value = if thousands { value.saturating_mul(1_000) } else { value };
            found.push(Quantity { value, before: &text[..start], after: &text[at..] });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wordings are those of providers and clients in public threads and documents.
    #[test]
    fn limits_of_ranges_are_read_however_they_are_worded() {
        let (from, to) = (0x98_9680, 0x98_9680 + 9_999);
        for (message, expected) in [
            ("query exceeds max block range 2000", Some(2_000)),
            ("exceed maximum block range: 5000", Some(5_000)),
            ("eth_getLogs is limited to a 1,000 range", Some(1_000)),
            ("eth_getLogs range is too large, max is 1k blocks", Some(1_000)),
            ("requested too many blocks from 10000000 to 10009999, maximum is set to 2048", Some(2_048)),
            (
                "You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should \
              work: [0x989680, 0x989873]",
                Some(500),
            ),
            ("Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.", Some(10)),
            ("query returned more than 10000 results. Try with this block range [0x989680, 0x989a67].", Some(1_000)),
            ("query exceeds max results 20000, retry with the range 10000000-10000499", Some(500)),
            (
                "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the \
              response size, or any block range with a cap of 10K logs in the response.",
                Some(2_000),
            ),
            ("ranges over 10000 blocks are not supported on freetier", None),
            ("query returned more than 5000 results", None),
            ("block range is too wide", None),
            ("error code -32602: block range too large", None),
            ("query timeout exceeded", None),
            ("", None),
        ] {
            assert_eq!(blocks(message, from, to), expected, "{message}");
        }
    }

    #[test]
    fn limits_of_batches_and_of_gas_are_read() {
        assert_eq!(batch("batch too large", 50), None);
        assert_eq!(batch("maximum batch size is 10, got 50", 50), Some(10));
        assert_eq!(batch("Batch of more than 3 requests are not allowed on free tier", 50), Some(3));
        assert_eq!(batch("up to 3 requests", 50), None);
        assert_eq!(gas("out of gas: gas required exceeds: 10000000"), Some(10_000_000));
        assert_eq!(gas("gas required exceeds allowance (16777216)"), Some(16_777_216));
        assert_eq!(gas("out of gas"), None);
        assert_eq!(gas("execution reverted: 10000000"), None);
    }

    #[test]
    fn numbers_that_are_no_limits_are_passed_over_and_nothing_panics() {
        let numbers = |text: &str| quantities(text).iter().map(|q| q.value).collect::<Vec<_>>();
        assert_eq!(numbers("0x0f3a8a v2 https://x.io/v3/12ab 1.5 7é 18446744073709551616 , 0x"), [998_026, 1]);
        assert_eq!(numbers("1,000,000,"), [1_000_000]);
    }
}
