//! `braid completions` and `braid man`, generated from the definition of the command line.

use std::path::PathBuf;

use clap_complete::Shell;
use eyre::{Result, eyre};

use crate::out;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid completions bash > ~/.local/share/bash-completion/completions/braid
  braid completions zsh > ~/.zfunc/_braid
  braid completions fish > ~/.config/fish/completions/braid.fish")]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  braid man | man -l -
  braid man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for every command into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `braid completions`.
pub(crate) fn completions(args: &CompletionArgs, mut command: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "braid", &mut script);
    out::line(String::from_utf8(script)?.trim_end())
}

/// `braid man`.
pub(crate) fn man(args: &ManArgs, command: clap::Command) -> Result<()> {
    if let Some(dir) = &args.dir {
        let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(command, dir));
        return written.map_err(|error| eyre!("the pages cannot be written to {}: {error}", dir.display()));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    out::line(String::from_utf8(page)?.trim_end())
}
