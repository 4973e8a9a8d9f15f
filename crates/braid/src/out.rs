//! Writes to standard output.

use std::fmt;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::LazyLock;

/// Prints a line. Exits with success if the reader closed the pipe.
pub(crate) fn line(text: impl fmt::Display) -> eyre::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// True to print colours: on a terminal, unless `NO_COLOR` is set.
static COLOURS: LazyLock<bool> = LazyLock::new(|| {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
});

/// Colours the text of a success.
pub(crate) fn good(text: &str) -> String {
    coloured("32", text)
}

/// Colours the text of a failure.
pub(crate) fn bad(text: &str) -> String {
    coloured("31", text)
}

/// Dims less important text.
pub(crate) fn faint(text: &str) -> String {
    coloured("2", text)
}

fn coloured(code: &str, text: &str) -> String {
    if *COLOURS { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
