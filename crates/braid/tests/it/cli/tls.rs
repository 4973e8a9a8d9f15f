//! Tests of nodes behind TLS: a certificate without a trusted authority is refused.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{braid, fails_with, listening_on, terminate};

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli").join(name)
}

/// A node with a self-signed certificate.
struct TlsNode {
    process: Child,
    port: String,
}

impl TlsNode {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.arg(beside("tls_node.py")).arg(beside("node.pem")).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("python3 is needed: {error}"));
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, port: port.trim().into() }
    }
}

impl Drop for TlsNode {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_node_with_a_certificate_that_nobody_vouches_for_is_refused() {
    let (node, dir) = (TlsNode::start(), tempfile::tempdir().unwrap());
    let serve = |scheme: &str, log: &str| {
        let mut command = braid(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--log", log]);
        command.arg("--rpc-url").arg(format!("{scheme}://localhost:{}/hidden", node.port));
        command.arg("--data-dir").arg(dir.path());
        command
    };
    for scheme in ["https", "wss"] {
        let said = fails_with(4, &serve(scheme, "off").output().unwrap());
        assert!(said.contains("invalid peer certificate") && !said.contains("hidden"), "{said}");
    }
    // The operator names a private authority with the variable that OpenSSL uses.
    let mut command = serve("https", "info");
    command.env("SSL_CERT_FILE", beside("node.pem")).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    listening_on(&mut BufReader::new(child.stderr.take().unwrap()));
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
