//! Standard output, for answers.

use std::fmt;
use std::io::{ErrorKind, Write as _};

/// Prints a line. A reader that has seen enough and left is no failure.
pub(crate) fn line(text: impl fmt::Display) -> eyre::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}
