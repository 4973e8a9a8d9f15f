//! Runs development commands, which moved to `braid-lab`, with the `braid-lab` beside this binary.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use eyre::{Result, WrapErr as _, eyre};

const LAB: &str = "braid-lab";
const MOVED: [&[&str]; 7] = [
    &["vectors"],
    &["bench"],
    &["bench-http"],
    &["bench-restart"],
    &["market", "generate"],
    &["market", "load"],
    &["market", "export"],
];

/// Runs a command that moved to `braid-lab`; `None` for any other.
pub(crate) fn run(args: &[OsString]) -> Option<Result<ExitCode>> {
    let name = MOVED.iter().find(|name| args.get(..name.len()).is_some_and(|words| words == **name))?;
    Some(run_lab(&name.join(" "), args))
}

fn run_lab(name: &str, args: &[OsString]) -> Result<ExitCode> {
    let beside = std::env::current_exe()?.with_file_name(format!("{LAB}{}", std::env::consts::EXE_SUFFIX));
    if !beside.exists() {
        return Err(eyre!(
            "`braid {name}` is now `{LAB} {name}`, and {} is not there; `cargo build --release -p {LAB}` makes it",
            beside.display()
        ));
    }
    let status =
        Command::new(&beside).args(args).status().wrap_err_with(|| format!("cannot run {}", beside.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
