//! Child processes that never outlive their owner.
//!
//! A child runs behind a small shell script, the watcher, that reads from a pipe whose other end only this process
//! holds. However the owner ends (a clean exit, a panic, `kill -9`), the operating system closes the pipe, and the
//! watcher ends the child. The child is in its own process group, so Ctrl-C in a terminal reaches only the owner, and
//! the owner decides the order in which children end.

use std::{
    ffi::OsStr,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

/// The script of the watcher. When its standard input closes before a line arrives, it sends the program SIGTERM, and
/// SIGKILL after `$1` fifths of a second.
const WATCHED: &str = r#"
exec 3<&0 </dev/null
fifths=$1; shift
(
  read -r _ <&3 && exit
  kill -TERM $$
  while [ $fifths -gt 0 ]; do kill -0 $$ || exit; sleep 0.2; fifths=$((fifths - 1)); done
  kill -KILL $$
) >/dev/null 2>&1 &
exec "$@" 3<&-
"#;

/// A child process that ends when this value is dropped.
#[derive(Debug)]
pub struct Bound {
    child: Child,
    lifeline: Option<ChildStdin>,
}

impl Bound {
    /// Starts `program`. When it must end, it gets SIGTERM and, two seconds later, SIGKILL; see
    /// [`Self::start_with_grace`].
    ///
    /// # Errors
    /// When the shell cannot be started. A program that does not exist shows as an early exit.
    pub fn start<S: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = S>,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> io::Result<Self> {
        Self::start_with_grace(program, args, stdout, stderr, Duration::from_secs(2))
    }

    /// Starts `program` with the given standard output and standard error. When it must end, it gets SIGTERM, and
    /// SIGKILL if it still runs after `grace`.
    ///
    /// # Errors
    /// When the shell cannot be started. A program that does not exist shows as an early exit.
    pub fn start_with_grace<S: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = S>,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
        grace: Duration,
    ) -> io::Result<Self> {
        let fifths = (grace.as_millis() / 200).to_string();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(WATCHED).arg("watched").arg(fifths).arg(program).args(args);
        command.process_group(0).stdin(Stdio::piped()).stdout(stdout).stderr(stderr);
        let mut child = command.spawn()?;
        let lifeline = child.stdin.take();
        Ok(Self { child, lifeline })
    }

    /// Returns the program's process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns how the program ended; `None` while it runs.
    ///
    /// # Errors
    /// When the operating system does not report the status.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Ends the program and waits until it has ended.
    pub fn stop(&mut self) {
        if let (Ok(Some(_)), Some(lifeline)) = (self.child.try_wait(), &mut self.lifeline) {
            // The program ended by itself, and its process id may belong to another program by now. A line tells the
            // watcher to exit without sending signals.
            let _ = lifeline.write_all(b"\n");
        }
        // The pipe must close before the child is waited for: until then the child's process id cannot be reused.
        drop(self.lifeline.take());
        if let Err(error) = self.child.wait() {
            tracing::warn!(%error, "a child process could not be waited for");
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.stop();
    }
}
