//! Exit codes: one for each kind of failure, for scripts.

use std::fmt;
use std::process::ExitCode;

use braid_ethereum::NodeError;

/// Kind of failure of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Anything else.
    Failure = 1,
    /// An argument or a setting is missing or wrong, or names an unknown token or a file that cannot be used.
    Usage = 2,
    /// There is no route or not enough liquidity, or a token cannot be swapped.
    NoRoute = 3,
    /// A node or a service does not answer, or refuses for now.
    Unreachable = 4,
    /// The market is too old, or has moved past a minimum.
    Stale = 5,
    /// A receipt or an answer of a service differs from the local computation.
    Disagrees = 6,
    /// A transaction would revert, or did.
    Reverted = 7,
    /// The user ended it: 128 and the number of SIGINT.
    Interrupted = 130,
}

/// The table in `braid --help`. Clap itself exits with 2 for an argument that it cannot parse.
pub(crate) const TABLE: &str = "Exit codes:
  0  done
  1  failed: the message says why
  2  an argument or a setting is missing or wrong, or names an unknown token or a file that cannot be used:
     the message says what to write
  3  no route, not enough liquidity, or a token that cannot be swapped
  4  a node or a service does not answer, or refuses for now
  5  the market is too old, or has moved past the minimum: quote again
  6  a receipt or an answer of a service differs from the local computation
  7  a transaction would revert, or did
130  `braid swap` was interrupted: the message says whether it had sent something";

/// A failure with its kind and a sentence.
#[derive(Debug)]
pub(crate) struct Failed {
    exit: Exit,
    text: String,
}

impl Failed {
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self { exit, text: text.into() }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

/// Returns the failure for a missing or wrong argument or setting.
pub(crate) fn usage(text: impl Into<String>) -> eyre::Report {
    Failed::new(Exit::Usage, text).into()
}

/// Returns the exit code of a failure.
pub(crate) fn code(error: &eyre::Report) -> ExitCode {
    let exit = match error.downcast_ref::<Failed>() {
        Some(failed) => failed.exit,
        None => match error.downcast_ref::<NodeError>() {
            Some(NodeError::Unreachable { .. } | NodeError::Timeout { .. }) => Exit::Unreachable,
            Some(NodeError::BadUrl { .. }) => Exit::Usage,
            _ => Exit::Failure,
        },
    };
    ExitCode::from(exit as u8)
}
