//! Writes to standard output.

use std::fmt;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if the command goes on when nobody reads its output.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// Lets a command that sends transactions go on when the reader closes the pipe: it must not end between two of them.
pub(crate) fn go_on_without_reader() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// Prints a line. If the reader closed the pipe, exits with success, unless the command goes on without.
pub(crate) fn line(text: impl fmt::Display) -> eyre::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe && GOES_ON.load(Ordering::Relaxed) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// Prints a message to standard error, where results do not go. A closed standard error is no failure.
pub(crate) fn note(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
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
