//! A TCP stream that tracks its client's progress.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::state::ConnectionState;

/// A stream that reports reads and writes to its [`ConnectionState`]. Discards what the HTTP library writes while no request
/// runs: its plain-text answer to a request that it could not parse. The service writes a problem instead.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    /// The first bytes that were discarded.
    discarded: Vec<u8>,
}

/// Length of a status line up to the status, in bytes: `HTTP/1.1 400`.
const STATUS_LINE_BYTES: usize = 12;

impl Watched {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self { stream, state, discarded: Vec::new() }
    }

    /// Returns the stream, and the status of the HTTP library's own answer, if there was one.
    pub(super) fn into_inner(self) -> (TcpStream, Option<StatusCode>) {
        let status = self.discarded.get(STATUS_LINE_BYTES - 3..STATUS_LINE_BYTES);
        (self.stream, status.and_then(|status| StatusCode::from_bytes(status).ok()))
    }

    fn discard_own_answer(&mut self, bytes: &[u8]) -> bool {
        let discards = self.state.is_waiting();
        if discards {
            let room = STATUS_LINE_BYTES.saturating_sub(self.discarded.len());
            self.discarded.extend(bytes.iter().take(room));
        }
        discards
    }

    fn note_written(&self, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(_)) = written {
            self.state.written();
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.state.read();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.discard_own_answer(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note_written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if self.state.is_waiting() {
            for slice in slices {
                self.discard_own_answer(slice);
            }
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.note_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            self.state.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
