//! Stands between the client and the protocol's library, which does not answer lines that it cannot parse: answers those,
//! passes messages on, and joins the answers to a batch.

use std::fmt::Display;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use eyre::Result;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, Stdout, WriteHalf,
};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use super::lines::{self, Line};

/// The only revision of the protocol that has batches.
const WITH_BATCHES: &str = "2025-03-26";

/// Bytes that wait between this side and the library.
const BUFFER: usize = 64 << 10;

/// Longest wait for the last answers after the client has closed its end: as long as a request to the service may take.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// The library's end, and the task that writes to the client.
pub(super) struct Wire {
    pub library: DuplexStream,
    pub output: JoinHandle<Result<()>>,
}

/// Starts to read standard input and to write to standard output.
pub(super) fn start() -> Wire {
    let (library, own) = tokio::io::duplex(BUFFER);
    let (from, to) = tokio::io::split(own);
    let (state, stdout) = (Arc::<Mutex<State>>::default(), Arc::new(Mutex::new(tokio::io::stdout())));
    let (waiting, settled) = watch::channel(0);
    let client = Client { state, stdout, waiting };
    tokio::spawn(client.clone().read(to, settled));
    Wire { library, output: tokio::spawn(client.write(from)) }
}

/// The client's side.
#[derive(Clone)]
struct Client {
    state: Arc<Mutex<State>>,
    stdout: Arc<Mutex<Stdout>>,
    /// Number of requests that wait for their answers.
    waiting: watch::Sender<usize>,
}

impl Client {
    /// Reads the client's lines to the end, and waits for the last answers.
    async fn read(self, mut to: WriteHalf<DuplexStream>, mut settled: watch::Receiver<usize>) {
        let mut stdin = BufReader::new(tokio::io::stdin());
        while let Ok(Some(line)) = lines::next(&mut stdin).await {
            let Admitted { pass, answer } = self.state.lock().await.admit(line);
            self.count().await;
            for message in pass {
                if print(&mut to, &message).await.is_err() {
                    return;
                }
            }
            if let Some(answer) = answer {
                // leave a client that does not read any more to the task that writes
                let _ = print(&mut *self.stdout.lock().await, &answer).await;
            }
        }
        let _ = tokio::time::timeout(LAST_ANSWERS, settled.wait_for(|waiting| *waiting == 0)).await;
        let _ = to.shutdown().await;
    }

    /// Writes the library's answers to the client.
    async fn write(self, from: ReadHalf<DuplexStream>) -> Result<()> {
        let mut lines = BufReader::new(from).lines();
        while let Some(line) = lines.next_line().await? {
            let settled = self.state.lock().await.settle(serde_json::from_str(&line)?);
            let answer = match settled {
                Settled::AsItIs => Some(line),
                Settled::Held => None,
                Settled::Joined(answers) => Some(Value::from(answers).to_string()),
            };
            if let Some(answer) = answer {
                match print(&mut *self.stdout.lock().await, &answer).await {
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                    printed => printed?,
                }
            }
            self.count().await;
        }
        Ok(())
    }

    async fn count(&self) {
        self.waiting.send_replace(self.state.lock().await.open.len());
    }
}

async fn print(to: &mut (impl AsyncWrite + Unpin), message: impl Display) -> std::io::Result<()> {
    to.write_all(format!("{message}\n").as_bytes()).await?;
    to.flush().await
}

/// Requests without an answer.
#[derive(Debug, Default)]
struct State {
    /// Revision of the protocol that client and server agreed on.
    revision: Option<String>,
    /// Ids of the requests that were passed on.
    open: Vec<Value>,
    batches: Vec<Batch>,
}

/// A batch of which answers are missing.
#[derive(Debug, Default)]
struct Batch {
    missing: Vec<Value>,
    answers: Vec<Value>,
}

/// What becomes of a line.
#[derive(Debug, Default, PartialEq)]
struct Admitted {
    /// Messages for the library.
    pass: Vec<Value>,
    /// An answer to the client.
    answer: Option<Value>,
}

/// What becomes of a message of the library.
#[derive(Debug, PartialEq)]
enum Settled {
    AsItIs,
    /// Other answers of its batch are missing.
    Held,
    /// It was the last of these answers to a batch.
    Joined(Vec<Value>),
}

impl State {
    fn admit(&mut self, line: Line) -> Admitted {
        match line {
            Line::Blank => Admitted::default(),
            Line::Refused(answer) => Admitted { pass: Vec::new(), answer: Some(answer) },
            Line::Message(message) => {
                self.note(&message);
                let settled = cancelled(&message).map(|id| self.finish(id, None));
                let answer = match settled {
                    Some(Settled::Joined(answers)) if !answers.is_empty() => Some(answers.into()),
                    _ => None,
                };
                Admitted { pass: vec![message], answer }
            }
            Line::Batch(messages) if self.revision.as_deref() == Some(WITH_BATCHES) => self.admit_batch(messages),
            Line::Batch(_) => Admitted { pass: Vec::new(), answer: Some(lines::no_batches()) },
        }
    }

    fn admit_batch(&mut self, messages: Vec<Value>) -> Admitted {
        let (mut pass, mut batch) = (Vec::new(), Batch::default());
        for message in messages {
            match lines::refusal(&message) {
                Some(answer) => batch.answers.push(answer),
                None => {
                    batch.missing.extend(self.note(&message));
                    pass.push(message);
                }
            }
        }
        if batch.missing.is_empty() {
            let answer = (!batch.answers.is_empty()).then_some(Value::Array(batch.answers));
            return Admitted { pass, answer };
        }
        self.batches.push(batch);
        Admitted { pass, answer: None }
    }

    /// Notes a message to the library, and returns the id of a request.
    fn note(&mut self, message: &Value) -> Option<Value> {
        let id = message.get("id").filter(|_| message.get("method").is_some())?;
        self.open.push(id.clone());
        Some(id.clone())
    }

    /// Takes a message of the library.
    fn settle(&mut self, message: Value) -> Settled {
        if let Some(revision) = message["result"]["protocolVersion"].as_str().filter(|_| self.revision.is_none()) {
            self.revision = Some(revision.to_owned());
        }
        match message.get("id").filter(|_| message.get("method").is_none()).cloned() {
            Some(id) => self.finish(&id, Some(message)),
            None => Settled::AsItIs,
        }
    }

    /// Ends a request, with its answer unless it was cancelled.
    fn finish(&mut self, id: &Value, answer: Option<Value>) -> Settled {
        self.open.retain(|open| open != id);
        let Some(at) = self.batches.iter().position(|batch| batch.missing.contains(id)) else { return Settled::AsItIs };
        let mut batch = self.batches.swap_remove(at);
        batch.missing.retain(|missing| missing != id);
        batch.answers.extend(answer);
        if batch.missing.is_empty() {
            return Settled::Joined(batch.answers);
        }
        self.batches.push(batch);
        Settled::Held
    }
}

/// Returns the id of the request that a message cancels. A cancelled request has no answer.
fn cancelled(message: &Value) -> Option<&Value> {
    (message["method"] == "notifications/cancelled").then(|| &message["params"]["requestId"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    fn answer(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    }

    #[test]
    fn a_batch_is_answered_as_one_in_the_revision_that_has_them_and_refused_in_others() {
        let mut state = State::default();
        let batch = || Line::Batch(vec![request(1), json!({"jsonrpc": "2.0", "method": "n"}), json!(7), request(2)]);
        assert_eq!(state.admit(batch()).answer, Some(lines::no_batches()));
        let begun = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": WITH_BATCHES}});
        assert_eq!(state.settle(begun), Settled::AsItIs);
        let Admitted { pass, answer: at_once } = state.admit(batch());
        assert_eq!((pass.len(), at_once), (3, None));
        assert_eq!(state.settle(answer(2)), Settled::Held);
        assert_eq!(state.settle(answer(9)), Settled::AsItIs);
        let Settled::Joined(joined) = state.settle(answer(1)) else { panic!("{state:?}") };
        let ids: Vec<&Value> = joined.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&Value::Null, &json!(2), &json!(1)]);
        assert!(state.open.is_empty() && state.batches.is_empty(), "{state:?}");
        let wrong = state.admit(Line::Batch(vec![json!(7)])).answer.unwrap();
        assert_eq!(wrong.as_array().unwrap().len(), 1);
    }

    #[test]
    fn a_cancelled_request_is_not_waited_for() {
        let mut state = State::default();
        state.admit(Line::Message(request(1)));
        state.admit(Line::Message(request(2)));
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        state.admit(Line::Message(cancel));
        state.settle(answer(2));
        assert!(state.open.is_empty(), "{state:?}");
        state.revision = Some(WITH_BATCHES.into());
        state.admit(Line::Batch(vec![request(3), request(4)]));
        assert_eq!(state.settle(answer(3)), Settled::Held);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}});
        assert_eq!(state.admit(Line::Message(cancel)).answer, Some(json!([answer(3)])));
    }
}
