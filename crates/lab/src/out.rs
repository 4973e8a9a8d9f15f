//! Writes results to standard output.

use std::fmt;
use std::io::{ErrorKind, Write as _};

/// Prints a line. A closed pipe ends the program successfully, because its reader has seen enough.
pub(crate) fn line(text: impl fmt::Display) -> eyre::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}
