//! The service of the demo: `braid serve` as a child process.

use std::{
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use braid_devnet::process::Bound;
use eyre::{WrapErr, bail};

/// Interval between two readiness checks, and how long they go on.
const POLL: Duration = Duration::from_millis(100);
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest time for the last requests of the service.
const GRACE: Duration = Duration::from_secs(15);

/// A running `braid serve`. It ends when this is dropped.
pub(crate) struct Service {
    process: Bound,
    url: String,
    log: PathBuf,
    /// The service's data folder, which is removed with the service.
    _data: tempfile::TempDir,
}

impl Service {
    pub(crate) fn start(braid: &Path, port: u16, rpc_url: &str, key: &str, log: PathBuf) -> eyre::Result<Self> {
        let data = tempfile::tempdir().wrap_err("cannot make a folder for the service's data")?;
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder).wrap_err_with(|| format!("cannot make {}", folder.display()))?;
        }
        let output = File::create(&log).wrap_err_with(|| format!("cannot write {}", log.display()))?;
        let errors = output.try_clone()?;
        let args = [
            "serve",
            "--rpc-url",
            rpc_url,
            "--listen",
            &format!("127.0.0.1:{port}"),
            "--data-dir",
            &data.path().display().to_string(),
            "--api-key",
            key,
            "--anonymous-quotes",
        ]
        .map(str::to_owned);
        let process = Bound::start_with_grace(braid, args, output, errors, GRACE)
            .wrap_err_with(|| format!("cannot start {}", braid.display()))?;
        Ok(Self { process, url: format!("http://127.0.0.1:{port}"), log, _data: data })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the service reports that it is ready.
    pub(crate) async fn ready(&mut self) -> eyre::Result<()> {
        let client = reqwest::Client::new();
        let asked = async {
            loop {
                self.still_runs()?;
                let answer = client.get(format!("{}/ready", self.url)).send().await;
                if answer.is_ok_and(|a| a.status().is_success()) {
                    return Ok(());
                }
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(READY_TIMEOUT, asked).await {
            Ok(outcome) => outcome,
            Err(_) => bail!("the service was not ready within {READY_TIMEOUT:?}; its log is {}", self.log.display()),
        }
    }

    /// Waits until the service ends by itself, and returns the reason.
    pub(crate) async fn ended(&mut self) -> eyre::Report {
        loop {
            if let Err(error) = self.still_runs() {
                return error;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn still_runs(&mut self) -> eyre::Result<()> {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let last = log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                bail!("the service ended ({status}): {last} (its log is {})", self.log.display())
            }
        }
    }
}

/// Checks that a port is free, and returns an error with the remedy if it is taken.
pub(crate) fn check_port(port: u16) -> eyre::Result<()> {
    match TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Ok(()),
        Err(_) => {
            bail!("port {port} of 127.0.0.1 is in use: stop what listens there, or set BRAID_PORT to another port")
        }
    }
}
