//! Child processes that never outlive their owner.
//!
//! A child runs behind a small watcher in the shell that reads from a pipe whose other end only this process holds. However the
//! owner ends — a clean exit, a panic, `kill -9` — the operating system closes the pipe, and the watcher ends the child.
//! The child is in a process group of its own, so that Ctrl-C in a terminal reaches the owner alone and the
//! owner decides the order of things.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
};

/// Ends the program when the pipe on its standard input closes: kindly first, for good after two seconds.
const WATCHED: &str = r#"
exec 3<&0 </dev/null
(
  read -r _ <&3
  kill -TERM $$
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $$ || exit; sleep 0.2; done
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
    /// Starts `program`; its standard output and standard error go where the given [`Stdio`]s say.
    ///
    /// # Errors
    /// When the shell or the program cannot be started. A program that does not exist shows as an early exit.
    pub fn start<S: AsRef<OsStr>>(
        program: &Path,
        args: impl IntoIterator<Item = S>,
        stdout: impl Into<Stdio>,
        stderr: impl Into<Stdio>,
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(WATCHED).arg("watched").arg(program).args(args);
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
        // The pipe closes before the child is waited for: until then its process id cannot belong to another.
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
