//! Converts whole tokens to atomic units and back, without floating point.

use braid_primitives::U256;
use eyre::{Result, eyre};

use crate::exit::usage;

/// Parses a decimal number of whole tokens, such as `1.5`, `.5` or `2.`, to atomic units; `None` for another text, or if it
/// has more than `decimals` places.
pub(crate) fn parse_units(text: &str, decimals: u8) -> Option<U256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let places = usize::from(decimals);
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || fraction.len() > places || !digits(whole) || !digits(fraction) {
        return None;
    }
    U256::from_str_radix(&format!("{whole}{fraction:0<places$}"), 10).ok()
}

/// Parses a decimal number of gwei to wei.
///
/// # Errors
/// If the text is no such number, has more than nine decimals, or its wei do not fit 64 bits.
pub(crate) fn parse_gwei(text: &str) -> Result<u64> {
    let wei = parse_units(text, 9).and_then(|wei| u64::try_from(wei).ok());
    wei.ok_or_else(|| eyre!("{text:?} is no price in gwei: write a decimal number with at most 9 places, such as 0.5"))
}

/// Parses an amount of a token above zero to atomic units.
pub(crate) fn amount_of(text: &str, symbol: &str, decimals: u8) -> Result<U256> {
    match parse_units(text, decimals) {
        Some(units) if !units.is_zero() => Ok(units),
        Some(_) => Err(usage(format!("{text:?} is no amount of {symbol}: write one above zero, such as 1.5"))),
        None => Err(usage(format!("{text:?} is no amount of {symbol}: {}", correction(text, decimals)))),
    }
}

/// Says how to write an amount that cannot be parsed.
fn correction(text: &str, decimals: u8) -> String {
    let places = if decimals == 0 { "without decimals".into() } else { format!("with at most {decimals} decimals") };
    let plain: String = text.chars().filter(|c| !",_' ".contains(*c)).collect();
    match parse_units(&plain, decimals) {
        // name both readings of a comma: it may separate thousands or decimals
        Some(_) if text.contains(',') => {
            let point = text.replacen(',', ".", 1);
            let decimal =
                parse_units(&point, decimals).map(|_| format!(", or {point} if the comma begins the decimals"));
            format!("write {plain}{}", decimal.unwrap_or_default())
        }
        Some(_) if plain != text => format!("write {plain}"),
        _ if is_decimal(text) => format!("write it {places}"),
        _ => format!("write a decimal number {places}, such as 1000 or {}", if decimals == 0 { "2" } else { "1.5" }),
    }
}

/// Returns whether a text is a decimal number, of whatever length.
fn is_decimal(text: &str) -> bool {
    let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    u8::try_from(places).ok().and_then(|places| parse_units(text, places)).is_some()
}

/// Writes an amount as a decimal number of whole tokens, without trailing zeros.
pub(crate) fn format_units(amount: U256, decimals: u8) -> String {
    let places = usize::from(decimals);
    let digits = format!("{amount:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    match fraction.trim_end_matches('0') {
        "" => whole.into(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// Writes basis points in per cent, with two decimals.
pub(crate) fn percent(bps: i64) -> String {
    let (sign, bps) = (if bps < 0 { "-" } else { "" }, bps.unsigned_abs());
    format!("{sign}{}.{:02}%", bps / 100, bps % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_tokens_become_atomic_units_and_back() {
        for (text, decimals, units) in
            [("1000", 6, 1_000_000_000u64), ("0.5", 18, 500_000_000_000_000_000), ("7", 0, 7)]
        {
            let parsed = parse_units(text, decimals).unwrap();
            assert_eq!(parsed, U256::from(units));
            assert_eq!(format_units(parsed, decimals), text);
        }
        assert_eq!(format_units(U256::ZERO, 6), "0");
        // Forms that the explorer accepts too.
        for (text, units) in [(".5", 500_000u64), ("0.50", 500_000), ("2.", 2_000_000), ("007", 7_000_000)] {
            assert_eq!(parse_units(text, 6), Some(U256::from(units)), "{text}");
        }
    }

    #[test]
    fn basis_points_are_written_in_per_cent() {
        let written = [0, 5, -5, 31, 1_234, 10_000].map(percent);
        assert_eq!(written, ["0.00%", "0.05%", "-0.05%", "0.31%", "12.34%", "100.00%"]);
    }

    #[test]
    fn a_price_of_gas_has_decimals() {
        for (text, wei) in [("20", 20_000_000_000), ("0.05", 50_000_000), (".000000001", 1), ("0", 0)] {
            assert_eq!(parse_gwei(text).unwrap(), wei, "{text}");
        }
        for text in ["", "-1", "1e-3", "0.0000000001", "20000000000"] {
            assert!(parse_gwei(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_amount_says_what_to_write() {
        let told = |text: &str, decimals| amount_of(text, "USDC", decimals).unwrap_err().to_string();
        for (text, decimals, words) in [
            ("0", 6, "write one above zero, such as 1.5"),
            ("1,000,000", 6, "write 1000000"),
            ("1,5", 6, "write 15, or 1.5 if the comma begins the decimals"),
            ("1,000.5", 6, "write 1000.5"),
            ("1_000", 6, "write 1000"),
            ("1.0000001", 6, "write it with at most 6 decimals"),
            ("1.5", 0, "write it without decimals"),
            ("1e18", 6, "write a decimal number with at most 6 decimals, such as 1000 or 1.5"),
            ("-1", 6, "write a decimal number with at most 6 decimals, such as 1000 or 1.5"),
        ] {
            let told = told(text, decimals);
            assert_eq!(told, format!("{text:?} is no amount of USDC: {words}"));
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "..5", "1.2.3", "-1", "-.5", "1e3", "1.0000001", "1,5", "0x1"] {
            assert_eq!(parse_units(text, 6), None, "{text}");
        }
    }
}
