//! Serves one connection, from its first byte to its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use braid_quoting::{Code, Problem};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::ServiceExt as _;
use uuid::Uuid;

use super::slots::Slot;
use super::state::{ConnectionState, Ending, HealthOnly, Phase};
use super::stream::Watched;
use crate::http::problem::{self, ProblemBody};

/// Largest request line with headers, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Time for which further bytes of a client are read and discarded before its connection is closed. Closing at once would
/// reset the connection, and the client would lose the answer.
const LINGER: Duration = Duration::from_secs(1);

/// Serves a connection until its client is done or too slow, it is evicted, or the service stops.
pub(super) async fn run(
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let state = Arc::clone(&slot.state);
    let (serving, health_only) = (Arc::clone(&state), slot.health_only);
    let service = service_fn(move |request: Request<Incoming>| {
        Box::pin(answer(router.clone(), Arc::clone(&serving), peer, health_only, request))
    });
    let io = TokioIo::new(Watched::new(stream, Arc::clone(&state)));
    let mut connection = http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).serve_connection(io, service);
    let mut is_shutting_down = false;
    let ending = loop {
        tokio::select! {
            _ = std::future::poll_fn(|cx| connection.poll_without_shutdown(cx)) => break None,
            ending = state.ended() => break Some(ending),
            _ = stopping.wait_for(|stopping| *stopping), if !is_shutting_down => {
                is_shutting_down = true;
                if state.is_waiting() {
                    break None;
                }
                std::pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    if *stopping.borrow() {
        return;
    }
    let (stream, unread) = connection.into_parts().io.into_inner().into_inner();
    let refused = match ending {
        Some(Ending::Overdue(Phase::Head)) => Some(Code::RequestTimeout),
        Some(_) => return,
        None => unread.map(code),
    };
    // a lingering connection can be evicted like any other
    tokio::select! {
        _ = tokio::time::timeout(LINGER, linger(stream, refused)) => {}
        _ = state.ended(), if ending.is_none() => {}
    }
}

async fn answer(
    router: Router,
    state: Arc<ConnectionState>,
    peer: SocketAddr,
    health_only: bool,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    state.enter(Phase::Body);
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    request.extensions_mut().insert(Arc::clone(&state));
    if health_only {
        request.extensions_mut().insert(HealthOnly);
    }
    let mut response = router.oneshot(request).await?;
    if health_only {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    state.enter(Phase::Answer);
    let end = AnswerEnd(state);
    Ok(response.map(|body| {
        let frames = body.map_frame(move |frame| {
            let _ = &end;
            frame
        });
        Body::new(frames)
    }))
}

/// Marks the answer as complete when dropped with its body.
struct AnswerEnd(Arc<ConnectionState>);

impl Drop for AnswerEnd {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// Returns the problem's code for a status of the HTTP library.
fn code(status: StatusCode) -> Code {
    match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Code::HeadersTooLarge,
        StatusCode::URI_TOO_LONG => Code::UriTooLong,
        _ => Code::MalformedRequest,
    }
}

/// Writes the answer to a request whose line and headers could not be parsed.
fn refusal(code: Code) -> String {
    let detail = match code {
        Code::HeadersTooLarge => "the headers are too many, or longer than 64 KiB together",
        Code::UriTooLong => "the request line is longer than 64 KiB",
        Code::RequestTimeout => "the request's headers did not arrive in time",
        _ => "the request is not HTTP/1.1",
    };
    let (id, status) = (Uuid::now_v7(), problem::status(code));
    let body = ProblemBody::new(&Problem::new(code, detail), "", &id.to_string()).text();
    tracing::info!(status = status.as_u16(), code = code.meaning().name, request_id = %id, "a request that cannot be parsed");
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
        x-request-id: {id}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a refusal if there is one, ends the sending side, and discards what the client still sends until it closes.
async fn linger(mut stream: TcpStream, refused: Option<Code>) -> std::io::Result<()> {
    if let Some(code) = refused {
        stream.write_all(refusal(code).as_bytes()).await?;
    }
    stream.shutdown().await?;
    let mut unwanted = [0; 4_096];
    while stream.read(&mut unwanted).await? > 0 {}
    Ok(())
}
