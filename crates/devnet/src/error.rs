//! Errors of the local chain. Each message states the remedy where there is one.

use std::path::PathBuf;

use alloy::primitives::Address;

/// Errors of the start and the use of the local chain.
#[derive(Debug, thiserror::Error)]
pub enum DevnetError {
    /// The npm packages are not installed.
    #[error("{} is missing: run `npm ci --ignore-scripts` in {}", .missing.display(), .contracts.display())]
    PackagesMissing {
        /// The file that is missing.
        missing: PathBuf,
        /// The folder to install in.
        contracts: PathBuf,
    },
    /// Another process listens on the port.
    #[error("port {port} of 127.0.0.1 is in use: stop what listens there, or choose another port")]
    PortInUse {
        /// The requested port.
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
        /// The last lines of its output.
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
        /// The defect.
        problem: String,
    },
    /// The node refused a call or could not be reached.
    #[error("{method} failed: {reason}")]
    Rpc {
        /// The JSON-RPC method.
        method: String,
        /// The message of the node or of the transport.
        reason: String,
    },
    /// A transaction was mined and reverted.
    #[error("{what} reverted (to {to})")]
    Reverted {
        /// The purpose of the transaction.
        what: String,
        /// Its target.
        to: Address,
    },
    /// A contract differs from mainnet's.
    #[error("{what}: got {got}, expected {expected}")]
    Mismatch {
        /// The property that was checked.
        what: String,
        /// The value that was found.
        got: String,
        /// The value on mainnet.
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
