//! Asks for a confirmation of a swap with a large price impact.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use eyre::Result;

use crate::exit::{Exit, Failed};
use crate::impact::Impact;
use crate::out;

/// Says in a dry run what `--send` will ask for.
pub(super) fn tell(impact: &Impact, accepted_bps: Option<u16>) -> Result<()> {
    let Some((what, bps)) = impact.to_confirm(accepted_bps) else { return Ok(()) };
    out::line(format_args!("{what}: --send asks about it on a terminal, or takes --accept-impact-bps {bps}"))
}

/// Refuses a swap whose price impact is too large and neither accepted by the option nor confirmed. `ask` puts a question to
/// the user, and returns the answer, if there is a user.
pub(super) fn impact(
    impact: &Impact,
    accepted_bps: Option<u16>,
    ask: impl FnOnce(&str) -> Option<String>,
) -> Result<()> {
    let Some((what, bps)) = impact.to_confirm(accepted_bps) else { return Ok(()) };
    match ask(&format!("{what}. Type yes to swap all the same: ")) {
        Some(answer) if answer.trim().eq_ignore_ascii_case("yes") => Ok(()),
        Some(_) => {
            Err(Failed::new(Exit::Failure, format!("{what}, and it was not confirmed: nothing was signed")).into())
        }
        None => {
            let text = format!(
                "{what}, and there is no terminal to confirm it: nothing was signed. Sell less, or accept it with --accept-impact-bps {bps}"
            );
            Err(Failed::new(Exit::Failure, text).into())
        }
    }
}

/// Asks on the terminal; `None` if there is none.
pub(super) fn of_terminal(question: &str) -> Option<String> {
    let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return None;
    }
    let mut answer = String::new();
    write!(stderr, "{question}").and_then(|()| stderr.flush()).ok()?;
    stdin.lock().read_line(&mut answer).ok()?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swapped(bps: Option<i64>, accepted_bps: Option<u16>, answer: Option<&str>) -> Result<(), String> {
        let of = Impact { total_bps: bps, outputs: vec![("USDC".into(), bps)] };
        impact(&of, accepted_bps, |_| answer.map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_large_price_impact_is_confirmed_or_accepted_or_refused() {
        assert_eq!(swapped(Some(999), None, None), Ok(()));
        assert_eq!(swapped(Some(2_340), None, Some("yes\n")), Ok(()));
        assert_eq!(swapped(Some(2_340), Some(2_500), None), Ok(()));
        for no in ["", "\n", "y\n", "no\n"] {
            assert!(
                swapped(Some(2_340), None, Some(no)).unwrap_err().contains("was not confirmed: nothing was signed")
            );
        }
        let refused = swapped(Some(2_340), Some(2_000), None).unwrap_err();
        assert!(refused.contains("23.40%") && refused.ends_with("--accept-impact-bps 2340"), "{refused}");
        let unknown = swapped(None, None, None).unwrap_err();
        assert!(unknown.contains("impact is unknown") && unknown.ends_with("--accept-impact-bps 10000"), "{unknown}");
    }
}
