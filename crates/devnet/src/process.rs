//! Child processes that never outlive their owner.
//!
//! A child runs behind a small watcher in the shell that reads from a pipe whose other end only this process holds. However the
//! owner ends — a clean exit, a panic, `kill -9` — the operating system closes the pipe, and the watcher ends the child.
//! The child is in a process group of its own, so that Ctrl-C in a terminal reaches the owner alone and the
//! owner decides the order of things.

use std::{
    ffi::OsStr,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

/// Ends the program when the pipe on its standard input closes without a line in it: kindly first, for good after `$1` fifths of a second.
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

/// A program that ends with this value.
#[derive(Debug)]
pub struct Bound {
    child: Child,
    lifeline: Option<ChildStdin>,
}

impl Bound {
    /// Starts `program`, to be ended kindly and, two seconds later, for good; see [`Self::start_with_grace`].
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

    /// Starts `program`; its standard output and standard error go where the given [`Stdio`]s say. When it is to end
    /// it gets a terminate signal, and is killed if it still runs after `grace`.
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

    /// The program's process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How the program ended, or `None` while it runs.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the program to end, and waits until it has.
    pub fn stop(&mut self) {
        if let (Ok(Some(_)), Some(lifeline)) = (self.child.try_wait(), &mut self.lifeline) {
            // It ended by itself and its process id may belong to another by now: a line sends the watcher away.
            let _ = lifeline.write_all(b"\n");
        }
        // The pipe closes before the child is waited for: until then its process id is its own.
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
