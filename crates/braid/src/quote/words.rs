//! Parses the arguments of `braid quote 1.5 ETH 2000 DAI USDC:60 WBTC:40` and `braid quote ETH 3000 USDC`.

use braid_primitives::BPS;
use eyre::Result;

use crate::exit::usage;

/// A parsed swap, with tokens and amounts as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A sale of amounts.
    Sale {
        /// Amounts in whole tokens, and tokens.
        inputs: Vec<(String, String)>,
        /// Tokens and their shares in basis points.
        outputs: Vec<(String, u16)>,
    },
    /// A purchase of an exact amount with another token.
    Purchase {
        /// The token that pays.
        pay: String,
        /// The amount to buy, in whole tokens, and its token.
        buy: (String, String),
    },
}

/// Parses AMOUNT TOKEN pairs followed by tokens with or without shares, or TOKEN AMOUNT TOKEN for an exact output.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    if let [pay, amount, token] = words
        && !is_number(pay)
        && is_number(amount)
        && !is_number(token)
    {
        return Ok(Asked::Purchase { pay: pay.clone(), buy: (amount.clone(), token.clone()) });
    }
    let mut inputs = Vec::new();
    let mut rest = words;
    while let [amount, token, others @ ..] = rest
        && is_number(amount)
    {
        inputs.push((amount.clone(), token.clone()));
        rest = others;
    }
    if inputs.is_empty() || rest.is_empty() {
        return Err(usage(incomplete(words, &inputs)));
    }
    Ok(Asked::Sale { inputs, outputs: outputs(rest)? })
}

/// Says what a swap lacks.
fn incomplete(words: &[String], inputs: &[(String, String)]) -> String {
    let forms = "`1.5 ETH USDC` sells 1.5 ETH, `ETH 3000 USDC` buys 3000 USDC with ETH";
    if let Some((amount, token)) = inputs.last() {
        return format!("name what to get after {amount} {token}: {forms}");
    }
    match words {
        [amount] if is_number(amount) => format!("name the token that {amount} is of, then what to get: {forms}"),
        // find words such as 1.5ETH and $1000
        [first, ..] if first.starts_with(|c: char| c.is_ascii_digit() || c == '$') => {
            format!("{first:?} is no amount: write amount and token apart, without a sign: {forms}")
        }
        [_, _, _, _, ..] if words.iter().any(|word| is_number(word)) => {
            format!("an exact output has one input and one output: {forms}")
        }
        _ => format!("say how much to sell, or how much to buy: {forms}"),
    }
}

/// Reads `--sell TOKEN:AMOUNT --buy TOKEN` or `--sell TOKEN --buy TOKEN:AMOUNT`.
pub(crate) fn from_options(sell: &str, buy: &str) -> Result<Asked> {
    match (sell.split_once(':'), buy.split_once(':')) {
        (Some((token, amount)), None) => {
            Ok(Asked::Sale { inputs: vec![(amount.into(), token.into())], outputs: vec![(buy.into(), whole())] })
        }
        (None, Some((token, amount))) => Ok(Asked::Purchase { pay: sell.into(), buy: (amount.into(), token.into()) }),
        _ => Err(usage(
            "give one of --sell and --buy an amount: `--sell USDC:1000 --buy WETH` or `--sell WETH --buy USDC:1000`",
        )),
    }
}

/// Returns the share of a single output, in basis points.
pub(crate) fn whole() -> u16 {
    u16::try_from(BPS).unwrap_or(u16::MAX)
}

/// Returns whether a word is a number, if only one with a sign or commas; an address and 1INCH are not.
fn is_number(word: &str) -> bool {
    word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && word.chars().all(|c| c.is_ascii_digit() || ".,_'eE+-".contains(c))
}

fn outputs(words: &[String]) -> Result<Vec<(String, u16)>> {
    if let Some(word) = words.iter().find(|word| is_number(word)) {
        return Err(usage(format!(
            "{word:?} has no token after it, or stands behind what to get. An exact amount is bought of one token, for one other: `ETH 3000 USDC`"
        )));
    }
    if let Some((name, share)) = words.iter().find_map(|word| word.split_once('=')) {
        return Err(usage(format!("write a share after a colon: {name}:{share}")));
    }
    let named: Vec<_> = words
        .iter()
        .map(|word| word.split_once(':').map_or((word.as_str(), None), |(name, share)| (name, Some(share))))
        .collect();
    shares(&named)
}

/// Returns the outputs with their shares in basis points; equal shares if none is given.
pub(crate) fn shares(named: &[(&str, Option<&str>)]) -> Result<Vec<(String, u16)>> {
    if named.iter().all(|(_, share)| share.is_none()) {
        return Ok(named.iter().zip(even(named.len())).map(|((name, _), share)| ((*name).to_owned(), share)).collect());
    }
    let mut outputs = Vec::new();
    for (name, share) in named {
        let share = share.ok_or_else(|| {
            usage(format!("give every output a share, as in `USDC:60 WBTC:40`, or none: {name} has none"))
        })?;
        let bps = crate::units::parse_units(share.trim_end_matches('%'), 2).and_then(|bps| u16::try_from(bps).ok());
        let bps = bps.filter(|bps| (1..=whole()).contains(bps)).ok_or_else(|| {
            usage(format!(
                "{share:?} is no share: write per cent above 0, with two decimals at most, as in `USDC:60 WBTC:40`"
            ))
        })?;
        outputs.push(((*name).to_owned(), bps));
    }
    let sum: u64 = outputs.iter().map(|(_, bps)| u64::from(*bps)).sum();
    if sum != BPS {
        return Err(usage(format!(
            "the shares must sum to 100 per cent, as in `USDC:60 WBTC:40`, and they sum to {}.{:02}; without shares all are equal",
            sum / 100,
            sum % 100
        )));
    }
    Ok(outputs)
}

/// Returns equal shares that sum to 10000.
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

    type Sold = Vec<(String, String)>;

    fn sale(text: &str) -> (Sold, Vec<(String, u16)>) {
        match read(text).unwrap() {
            Asked::Sale { inputs, outputs } => (inputs, outputs),
            Asked::Purchase { .. } => panic!("{text} is a purchase"),
        }
    }

    #[test]
    fn amounts_and_tokens_then_what_to_get() {
        let (inputs, outputs) = sale("1.5 ETH USDC");
        assert_eq!(inputs, [("1.5".into(), "ETH".into())]);
        assert_eq!(outputs, [("USDC".into(), 10_000)]);
        let (inputs, outputs) = sale("1.5 ETH .5 0xA0b8 USDC:60 WBTC:39.99% DAI:0.01");
        assert_eq!(inputs[1], (".5".into(), "0xA0b8".into()));
        assert_eq!(outputs.iter().map(|(_, bps)| *bps).collect::<Vec<_>>(), [6_000, 3_999, 1]);
        let (_, even) = sale("1 ETH A B C");
        assert_eq!(even.iter().map(|(_, bps)| *bps).collect::<Vec<_>>(), [3_334, 3_333, 3_333]);
        assert_eq!(from_options("USDC:10", "WETH").unwrap(), read("10 USDC WETH").unwrap());
        assert_eq!(sale("2 1INCH 1INCH").1, [("1INCH".into(), 10_000)], "a symbol may begin with a digit");
    }

    #[test]
    fn a_token_then_an_amount_is_an_exact_output() {
        let bought = |pay: &str, amount: &str, token: &str| Asked::Purchase {
            pay: pay.into(),
            buy: (amount.into(), token.into()),
        };
        assert_eq!(read("ETH 3000 USDC").unwrap(), bought("ETH", "3000", "USDC"));
        assert_eq!(read("0xA0b8 .5 0xC02a").unwrap(), bought("0xA0b8", ".5", "0xC02a"));
        assert_eq!(from_options("WETH", "USDC:10").unwrap(), read("WETH 10 USDC").unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for text in [
            "ETH USDC",
            "1 ETH",
            "1",
            "",
            "1 ETH USDC 2",
            "ETH 2",
            "ETH 2 3",
            "ETH 1 USDC DAI",
            "ETH DAI 1 USDC",
            "1 ETH 2 USDC",
            "1 ETH USDC:60 DAI",
            "1 ETH USDC:60 DAI:30",
            "1 ETH USDC:0 DAI:100",
            "1 ETH USDC:x",
            "1 ETH USDC=60 DAI=40",
            "1 ETH USDC:33.333 DAI:66.667",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(from_options("USDC", "WETH").is_err() && from_options("USDC:1", "WETH:1").is_err());
    }
}
