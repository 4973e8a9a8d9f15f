//! What `braid quote 1.5 ETH 2000 DAI USDC:60 WBTC:40` means.

use braid_primitives::BPS;
use eyre::{Result, eyre};

/// What is asked, in the caller's words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Amounts in whole tokens, and tokens.
    pub inputs: Vec<(String, String)>,
    /// Tokens and their shares in basis points.
    pub outputs: Vec<(String, u16)>,
}

/// Reads amounts with tokens and then tokens, with a share each or none.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    let mut inputs = Vec::new();
    let mut rest = words;
    while let [amount, token, others @ ..] = rest
        && is_number(amount)
    {
        inputs.push((amount.clone(), token.clone()));
        rest = others;
    }
    if inputs.is_empty() || rest.is_empty() {
        return Err(eyre!("say what to sell and what to get, for instance: braid quote 1.5 ETH USDC"));
    }
    Ok(Asked { inputs, outputs: outputs(rest)? })
}

/// Reads `--sell TOKEN:AMOUNT --buy TOKEN`.
pub(crate) fn from_options(sell: &str, buy: &str) -> Result<Asked> {
    let (token, amount) =
        sell.split_once(':').ok_or_else(|| eyre!("--sell is TOKEN:AMOUNT, for instance USDC:1000"))?;
    Ok(Asked { inputs: vec![(amount.into(), token.into())], outputs: vec![(buy.into(), whole())] })
}

fn whole() -> u16 {
    u16::try_from(BPS).unwrap_or(u16::MAX)
}

/// Whether a word is meant as a number; an address is not.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !word.starts_with("0x")
}

fn outputs(words: &[String]) -> Result<Vec<(String, u16)>> {
    let named: Vec<(&str, Option<&str>)> = words
        .iter()
        .map(|word| word.split_once(':').map_or((word.as_str(), None), |(name, share)| (name, Some(share))))
        .collect();
    if let Some(word) = words.iter().find(|word| is_number(word)) {
        return Err(eyre!("{word:?} has no token after it, or stands behind what to get"));
    }
    if named.iter().all(|(_, share)| share.is_none()) {
        return Ok(named.iter().zip(even(named.len())).map(|((name, _), share)| ((*name).to_owned(), share)).collect());
    }
    let mut outputs = Vec::new();
    for (name, share) in named {
        let share = share.ok_or_else(|| eyre!("give every output a share, or none: {name} has none"))?;
        let bps = crate::units::parse_units(share.trim_end_matches('%'), 2).and_then(|bps| u16::try_from(bps).ok());
        let bps = bps.filter(|bps| (1..=whole()).contains(bps));
        outputs.push((
            name.to_owned(),
            bps.ok_or_else(|| eyre!("{share:?} is no share: per cent, with two decimals at most"))?,
        ));
    }
    let sum: u64 = outputs.iter().map(|(_, bps)| u64::from(*bps)).sum();
    if sum != BPS {
        return Err(eyre!("the shares must sum to 100 per cent, and they sum to {}.{:02}", sum / 100, sum % 100));
    }
    Ok(outputs)
}

/// Even shares that sum to the whole.
fn even(count: usize) -> impl Iterator<Item = u16> {
    let count = u16::try_from(count).unwrap_or(u16::MAX).max(1);
    let (each, extra) = (whole() / count, whole() % count);
    (0..count).map(move |index| each + u16::from(index < extra))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Asked> {
        parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn amounts_and_tokens_then_what_to_get() {
        let asked = read("1.5 ETH USDC").unwrap();
        assert_eq!(asked.inputs, [("1.5".into(), "ETH".into())]);
        assert_eq!(asked.outputs, [("USDC".into(), 10_000)]);
        let basket = read("1.5 ETH .5 0xA0b8 USDC:60 WBTC:39.99% DAI:0.01").unwrap();
        assert_eq!(basket.inputs[1], (".5".into(), "0xA0b8".into()));
        assert_eq!(basket.outputs.iter().map(|(_, bps)| *bps).collect::<Vec<_>>(), [6_000, 3_999, 1]);
        let even = read("1 ETH A B C").unwrap();
        assert_eq!(even.outputs.iter().map(|(_, bps)| *bps).collect::<Vec<_>>(), [3_334, 3_333, 3_333]);
        assert_eq!(from_options("USDC:10", "WETH").unwrap(), read("10 USDC WETH").unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for text in [
            "ETH USDC",
            "1 ETH",
            "1",
            "",
            "1 ETH USDC 2",
            "1 ETH USDC:60 DAI",
            "1 ETH USDC:60 DAI:30",
            "1 ETH USDC:0 DAI:100",
            "1 ETH USDC:x",
            "1 ETH USDC:33.333 DAI:66.667",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(from_options("USDC", "WETH").is_err());
    }
}
