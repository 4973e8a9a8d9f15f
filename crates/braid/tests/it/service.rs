//! `braid serve` as a process, on a chain or on a Redis server.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The API key that every service of the tests accepts.
pub(crate) const KEY: &str = "key-of-the-test";

/// A running service. It ends when dropped.
pub(crate) struct Service {
    pub(crate) process: Child,
    pub(crate) base: String,
}

impl Service {
    /// Starts a service that follows a node, and waits until it is ready.
    pub(crate) async fn start(url: &str, data: &Path) -> Self {
        Self::start_with(&["--rpc-url", url], data).await
    }

    /// Starts a service whose arguments say where its market comes from, and waits until it is ready.
    pub(crate) async fn start_with(source: &[&str], data: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_braid"))
            .env_clear()
            .args(["serve", "--listen", "127.0.0.1:0", "--api-key", KEY, "--log-format", "text"])
            .args(["--rate-limit", "4294967295"])
            .args(source)
            .arg("--data")
            .arg(data)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(process.stderr.take().unwrap());
        let (told, heard) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut told = Some(told);
            for line in log.lines().map_while(Result::ok) {
                let place = line.split("127.0.0.1:").nth(1).filter(|_| line.contains("listening"));
                let port: Option<String> = place.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
                if let Some((told, port)) = port.and_then(|port| Some((told.take()?, port))) {
                    told.send(port).unwrap();
                }
            }
        });
        let service = Self { process, base: format!("http://127.0.0.1:{}", heard.await.unwrap()) };
        // The service's answer states how long to wait for it.
        while service.get("/ready").send().await.unwrap().status() != 200 {
            tokio::task::yield_now().await;
        }
        service
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        reqwest::Client::new().get(format!("{}{path}", self.base)).header("x-api-key", KEY)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
