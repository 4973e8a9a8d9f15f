//! Tests of different clients: slow ones, many at once, ones with another protocol, and simple ones that keep their
//! connection.

use std::time::{Duration, Instant};

use braid_server::{ClientTimeouts, Config, ConnectionLimits, LimitsConfig};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{KEY, Service, data, request};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);
/// Short enough for a test to wait.
const SHORT: Duration = Duration::from_millis(200);

const PATIENT: ClientTimeouts = ClientTimeouts { idle: LONG, head: LONG, answer: LONG };

/// A client that writes HTTP by hand over one connection.
struct Plain {
    stream: TcpStream,
    unread: Vec<u8>,
}

struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Plain {
    async fn open(service: &Service) -> Self {
        let address = service.base.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, unread: Vec::new() }
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads until `end` is found; returns `false` if the connection ends before.
    async fn has(&mut self, end: impl Fn(&[u8]) -> bool) -> bool {
        while !end(&self.unread) {
            let mut chunk = [0; 16_384];
            match self.stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return false,
                Ok(n) => self.unread.extend_from_slice(&chunk[..n]),
            }
        }
        true
    }

    /// Returns the next answer; `None` if the connection ends without one.
    async fn answer(&mut self) -> Option<Answer> {
        let end_of_head = |bytes: &[u8]| bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        if !self.has(|bytes| end_of_head(bytes).is_some()).await {
            return None;
        }
        let at = end_of_head(&self.unread).unwrap();
        let head = String::from_utf8(self.unread.drain(..at).collect()).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        assert!(self.has(|bytes| bytes.len() >= length).await, "the connection ended within an answer");
        let body: Vec<u8> = self.unread.drain(..length).collect();
        let body = serde_json::from_slice(&body).unwrap();
        Some(Answer { status: head[9..12].parse().unwrap(), head, body })
    }

    /// Returns whether the connection ends without further data.
    async fn is_over(&mut self) -> bool {
        !self.has(|bytes| !bytes.is_empty()).await
    }

    async fn health(service: &Service) -> u16 {
        let mut plain = Self::open(service).await;
        plain.send("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        plain.answer().await.map_or(0, |answer| answer.status)
    }
}

fn post(path: &str, key: &str, kind: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
    )
}

fn with(timeouts: ClientTimeouts, total: usize, per_address: usize) -> Config {
    Config { connections: ConnectionLimits { total, per_address, timeouts }, ..Config::default() }
}

fn code(answer: &Answer) -> &str {
    assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
    assert_eq!(answer.body["status"], answer.status);
    answer.body["code"].as_str().unwrap()
}

#[tokio::test]
async fn a_refusal_never_costs_a_plain_client_its_connection() {
    let limits = LimitsConfig { reads_per_min: 1_000, keyed_per_min: 1_000, ..LimitsConfig::default() };
    let service = Service::with(Config { limits, ..Config::default() }).await;
    let body = request().to_string();
    let json = "application/json";
    let large = "x".repeat(200_000);
    let refusals = [
        (post("/v1/quote", "wrong", json, body.len()), &body, 401),
        (post("/nowhere", KEY, json, body.len()), &body, 404),
        (post("/v1/prices", KEY, json, body.len()), &body, 405),
        (post("/v1/quote", KEY, "text/plain", body.len()), &body, 415),
        (post("/v1/quote", KEY, json, large.len()), &large, 413),
    ];
    let mut plain = Plain::open(&service).await;
    // After a thousand calls of each kind the limit refuses them, which is also a valid answer.
    let (mut seen, mut calls) = ([0; 2], 0);
    for round in 0..2_500 {
        for (head, body, expected) in &refusals {
            // Large bodies take time.
            if *expected == 413 && round % 50 != 0 {
                continue;
            }
            // The head first, as many clients send it.
            plain.send(head).await;
            plain.send(body).await;
            let answer = plain.answer().await.unwrap_or_else(|| panic!("call {calls} has no answer"));
            assert!(answer.status == *expected || answer.status == 429, "{expected}: {}", answer.body);
            assert!(!answer.head.contains("connection: close"), "{}", answer.head);
            seen[usize::from(answer.status == 429)] += 1;
            calls += 1;
        }
    }
    assert!(calls > 10_000 && seen[0] > 1_000 && seen[1] > 1_000, "{seen:?}");
}

#[tokio::test]
async fn a_body_without_end_is_answered_and_the_connection_closed_as_announced() {
    let service = Service::start().await;
    let mut plain = Plain::open(&service).await;
    let length = 1 << 30;
    plain.send(post("/v1/quote", KEY, "application/json", length)).await;
    // The client is still sending when the answer comes.
    plain.send(vec![b' '; 300_000]).await;
    let answer = plain.answer().await.unwrap();
    assert_eq!((answer.status, code(&answer)), (413, "PAYLOAD_TOO_LARGE"));
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
    assert!(plain.is_over().await);

    // A client that sends `Expect: 100-continue` need not send the body.
    let mut asking = Plain::open(&service).await;
    let head =
        post("/v1/quote", KEY, "application/json", 200_000).replace("host: x", "host: x\r\nexpect: 100-continue");
    asking.send(head).await;
    let answer = asking.answer().await.unwrap();
    assert_eq!((answer.status, code(&answer)), (413, "PAYLOAD_TOO_LARGE"));
    assert!(answer.head.contains("connection: close"));
}

#[tokio::test]
async fn a_client_that_is_too_slow_is_told_and_let_go() {
    // Only one timeout is short in each configuration, so that the others never expire.
    let head = with(ClientTimeouts { head: SHORT, ..PATIENT }, 100, 100);
    let body = Config { body_timeout: SHORT, ..with(PATIENT, 100, 100) };
    let sent = ["GET /health HTTP/1.1\r\nx-slow: ".to_owned(), post("/v1/quote", KEY, "application/json", 100) + "{"];
    for (config, sent) in [head, body].into_iter().zip(sent) {
        let service = Service::with(config).await;
        let mut slow = Plain::open(&service).await;
        slow.send(sent).await;
        let answer = slow.answer().await.unwrap();
        assert_eq!((answer.status, code(&answer)), (408, "REQUEST_TIMEOUT"));
        assert!(answer.head.contains("connection: close"));
        assert!(slow.is_over().await);
    }
    let service = Service::with(with(ClientTimeouts { idle: 5 * SHORT, ..PATIENT }, 100, 100)).await;
    let mut idle = Plain::open(&service).await;
    idle.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!(idle.answer().await.unwrap().status, 200);
    assert!(idle.is_over().await);
    let service = Service::with(with(ClientTimeouts { answer: SHORT, ..PATIENT }, 100, 100)).await;
    // A client that sends requests and does not read the answers.
    let mut deaf = Plain::open(&service).await;
    let asked = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(400);
    deaf.send(asked).await;
    // All answers together do not fit between the two, so the connection ends only by the timeout. Writing fails then.
    let is_over = async {
        while deaf.stream.write_all(b"\r\n").await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, is_over).await.expect("the service ends the connection");
}

/// A browser hides an answer without these headers from its page: refusals before the routes looked like a broken network.
#[tokio::test]
async fn a_page_of_another_origin_can_read_what_is_refused_before_the_routes() {
    let allows_any = |answer: &Answer| answer.head.contains("access-control-allow-origin: *");
    let with_origin = |head: String| head.replace("host: x", "host: x\r\norigin: https://wallet.example");
    let service = Service::with(Config { body_timeout: SHORT, ..with(PATIENT, 100, 100) }).await;
    let mut slow = Plain::open(&service).await;
    slow.send(with_origin(post("/v1/quote", KEY, "application/json", 100)) + "{").await;
    let answer = slow.answer().await.unwrap();
    assert_eq!(code(&answer), "REQUEST_TIMEOUT");
    assert!(allows_any(&answer), "{}", answer.head);

    let service = Service::with(Config { solve_threads: 1, solve_wait: LONG, ..with(PATIENT, 1, 1) }).await;
    let busy = service.occupies_a_thread().await;
    let accepted = tokio::spawn(service.post("/v1/quote", &request()).send());
    while service.app.work.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    let mut beyond = Plain::open(&service).await;
    beyond.send(with_origin("GET /v1/chains HTTP/1.1\r\nhost: x\r\n\r\n".into())).await;
    let answer = beyond.answer().await.unwrap();
    assert_eq!(code(&answer), "OVERLOADED");
    assert!(allows_any(&answer), "{}", answer.head);
    busy.ends().await;
    data(accepted.await.unwrap().unwrap()).await;
}

#[tokio::test]
async fn health_answers_while_one_client_holds_every_place() {
    for (total, per_address) in [(64, 16), (16, 64)] {
        let service = Service::with(with(PATIENT, total, per_address)).await;
        let mut held = Vec::new();
        for n in 0..200 {
            let mut plain = Plain::open(&service).await;
            match n % 3 {
                0 => plain.send("GET /health HTTP/1.1\r\nx-slow: ").await,
                1 => plain.send(post("/v1/quote", KEY, "application/json", 100) + "{").await,
                _ => {}
            }
            held.push(plain);
            assert_eq!(Plain::health(&service).await, 200, "{n}");
        }
        // The same holds for a client that sends `Connection: close` and does not close.
        let mut staying = Vec::new();
        for n in 0..100 {
            let mut plain = Plain::open(&service).await;
            plain.send("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
            staying.push(plain);
            assert_eq!(Plain::health(&service).await, 200, "{n}");
        }
        drop(staying);
        // All connections beyond the limit were closed.
        let mut ends: FuturesUnordered<_> = held.iter_mut().map(Plain::is_over).collect();
        for _ in 0..200 - 16 {
            assert!(ends.next().await.unwrap());
        }
    }
}

#[tokio::test]
async fn where_all_are_at_work_health_is_answered_and_the_rest_told_to_come_back() {
    let config = Config { solve_threads: 1, solve_wait: LONG, ..with(PATIENT, 4, 4) };
    let service = Service::with(config).await;
    let busy = service.occupies_a_thread().await;
    let accepted: Vec<_> = (0..4).map(|_| tokio::spawn(service.post("/v1/quote", &request()).send())).collect();
    while service.app.work.waiting() < 4 {
        tokio::task::yield_now().await;
    }
    for _ in 0..50 {
        assert_eq!(Plain::health(&service).await, 200);
        let mut plain = Plain::open(&service).await;
        plain.send("GET /v1/chains HTTP/1.1\r\nhost: x\r\n\r\n").await;
        let answer = plain.answer().await.unwrap();
        assert_eq!((answer.status, code(&answer)), (503, "OVERLOADED"));
        assert!(answer.head.contains("retry-after: 1") && answer.head.contains("connection: close"), "{}", answer.head);
    }
    busy.ends().await;
    for call in accepted {
        data(call.await.unwrap().unwrap()).await;
    }
}

/// Clients that gave up left no trace: the slowest requests were in neither the metrics nor the log.
#[tokio::test]
async fn a_client_that_leaves_before_its_answer_is_counted() {
    let service = Service::with(Config { solve_threads: 1, solve_wait: LONG, ..with(PATIENT, 100, 100) }).await;
    let busy = service.occupies_a_thread().await;
    let body = request().to_string();
    let mut hasty = Plain::open(&service).await;
    hasty.send(post("/v1/quote", KEY, "application/json", body.len()) + &body).await;
    while service.app.work.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    drop(hasty);
    let counted = async {
        let expected = "braid_http_request_seconds_count{route=\"/v1/quote\",status=\"499\"} 1";
        while !service.get("/metrics").send().await.unwrap().text().await.unwrap().contains(expected) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, counted).await.expect("the request is counted");
    busy.ends().await;
}

#[tokio::test]
async fn a_stop_waits_for_work_and_for_nobody_who_has_not_asked() {
    let service = Service::with(Config { shutdown_grace: LONG, ..with(PATIENT, 400, 400) }).await;
    let mut held = Vec::new();
    for n in 0..100 {
        let mut plain = Plain::open(&service).await;
        if n % 2 == 0 {
            plain.send("GET /health HTTP/1.1\r\nx-slow: ").await;
        }
        held.push(plain);
    }
    assert_eq!(Plain::health(&service).await, 200);
    let begun = Instant::now();
    service.stop().await;
    assert!(begun.elapsed() < LONG / 10, "{:?}", begun.elapsed());
    for plain in &mut held {
        assert!(plain.is_over().await);
    }
}

#[tokio::test]
async fn a_stop_ends_in_time_whoever_is_still_sending() {
    let grace = Duration::from_millis(300);
    let service = Service::with(Config { shutdown_grace: grace, ..with(PATIENT, 400, 400) }).await;
    let mut slow = Plain::open(&service).await;
    slow.send(post("/v1/quote", KEY, "application/json", 100) + "{").await;
    assert_eq!(Plain::health(&service).await, 200);
    let begun = Instant::now();
    service.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(slow.is_over().await);
}

#[tokio::test]
async fn what_is_no_http_is_a_problem_like_any_other() {
    let service = Service::start().await;
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    let rows = [
        ("NONSENSE\r\n\r\n".to_owned(), 400, "MALFORMED_REQUEST"),
        ("GET /health HTTP/9.9\r\n\r\n".to_owned(), 400, "MALFORMED_REQUEST"),
        ("GET /health HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400, "MALFORMED_REQUEST"),
        ("POST /v1/quote HTTP/1.1\r\ncontent-length: many\r\n\r\n".to_owned(), 400, "MALFORMED_REQUEST"),
        (format!("GET /health HTTP/1.1\r\n{many}\r\n"), 431, "HEADERS_TOO_LARGE"),
        (format!("GET /health HTTP/1.1\r\nx-long: {}\r\n\r\n", "x".repeat(200_000)), 431, "HEADERS_TOO_LARGE"),
    ];
    for (sent, status, expected) in rows {
        let mut plain = Plain::open(&service).await;
        // The first answer does not change the state of the connection.
        plain.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert_eq!(plain.answer().await.unwrap().status, 200);
        // If the answer comes before everything is sent, nobody reads the rest.
        let _ = plain.stream.write_all(sent.as_bytes()).await;
        let answer = plain.answer().await.unwrap_or_else(|| panic!("{expected} is not told"));
        assert_eq!((answer.status, code(&answer)), (status, expected), "{}", &sent[..20]);
        assert!(answer.head.contains("connection: close") && answer.head.contains("x-request-id: "));
        assert!(plain.is_over().await);
    }
    let mut long = Plain::open(&service).await;
    let _ = long.stream.write_all(format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)).as_bytes()).await;
    let answer = long.answer().await.unwrap();
    assert!([414, 431].contains(&answer.status), "{}", answer.body);
    code(&answer);
}
