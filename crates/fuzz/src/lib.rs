//! Fuzz targets, one per decoder of outside bytes. No input may cause a panic, and accepted input must satisfy the
//! reader's guarantees.
//!
//! `tests/smoke.rs` runs each target briefly on stable Rust. `make fuzz` runs them under libFuzzer, which needs nightly
//! Rust: see `fuzz/`.

mod chain;
mod files;
mod requests;
mod samples;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// The target's name, which is also the name of its binary in `fuzz/targets`.
    pub name: &'static str,
    /// Runs the decoder on bytes.
    pub run: fn(&[u8]),
    /// Returns inputs that pass the decoder's first checks.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target.
pub const TARGETS: [Target; 7] = [
    Target { name: "request", run: requests::request, seeds: requests::request_seeds },
    Target { name: "receipt", run: requests::receipt, seeds: requests::receipt_seeds },
    Target { name: "market_file", run: files::market_file, seeds: files::market_seeds },
    Target { name: "stream", run: files::stream, seeds: files::stream_seeds },
    Target { name: "logs", run: chain::logs, seeds: chain::logs_seeds },
    Target { name: "answers", run: chain::answers, seeds: chain::answers_seeds },
    Target { name: "rpc", run: chain::rpc, seeds: chain::rpc_seeds },
];

/// Runs a target on bytes.
pub fn run(name: &str, data: &[u8]) {
    for target in TARGETS.iter().filter(|target| target.name == name) {
        (target.run)(data);
    }
}
