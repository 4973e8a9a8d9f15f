//! What can go wrong with the local chain, each with what to do about it.

use std::path::PathBuf;

use alloy::primitives::Address;

/// Why the local chain could not start or answer.
#[derive(Debug, thiserror::Error)]
pub enum DevnetError {
    /// The npm packages are not installed.
    #[error("{} is missing: run `npm ci --ignore-scripts` in {}", .missing.display(), .contracts.display())]
    PackagesMissing {
        /// The file that was looked for.
        missing: PathBuf,
        /// The folder to install in.
        contracts: PathBuf,
    },
    /// Something else listens on the port.
    #[error("port {port} of 127.0.0.1 is in use: stop what listens there, or choose another port")]
    PortInUse {
        /// The port asked for.
        port: u16,
    },
    /// A program that the chain needs could not be started.
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        /// The program's name or path.
        program: String,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A program that the chain needs failed.
    #[error("`{program}` failed: {output}")]
    Failed {
        /// The program's name or path.
        program: String,
        /// What it last said.
        output: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {problem}", .path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The node refused a call or could not be reached.
    #[error("{method} failed: {reason}")]
    Rpc {
        /// The JSON-RPC method.
        method: String,
        /// The node's or the transport's words.
        reason: String,
    },
    /// A transaction was mined and reverted.
    #[error("{what} reverted (to {to})")]
    Reverted {
        /// What the transaction was for.
        what: String,
        /// Its target.
        to: Address,
    },
    /// A contract is not what mainnet has.
    #[error("{what}: got {got}, expected {expected}")]
    Mismatch {
        /// What was checked.
        what: String,
        /// What was found.
        got: String,
        /// What mainnet has.
        expected: String,
    },
    /// There is no token of this symbol or address.
    #[error("the local chain has no token {0}")]
    UnknownToken(String),
}

impl DevnetError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
