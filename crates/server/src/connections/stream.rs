//! The bytes of a connection, with what they tell of its client.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::state::ConnectionState;

/// A stream that tells its [`ConnectionState`] what happens, and holds back what the HTTP library answers by itself:
/// what it writes while no request is under way is its plain-text word on a request that it could not read.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    /// The start of what was held back.
    held: Vec<u8>,
}

/// Bytes of a status line up to the end of the status: `HTTP/1.1 400`.
const STATUS_LINE: usize = 12;

impl Watched {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self { stream, state, held: Vec::new() }
    }

    /// Returns the stream, and the status that the HTTP library would have answered by itself.
    pub(super) fn into_inner(self) -> (TcpStream, Option<StatusCode>) {
        let status = self.held.get(STATUS_LINE - 3..STATUS_LINE);
        (self.stream, status.and_then(|status| StatusCode::from_bytes(status).ok()))
    }

    fn hold(&mut self, bytes: &[u8]) -> bool {
        let holds = self.state.is_waiting();
        if holds {
            let room = STATUS_LINE.saturating_sub(self.held.len());
            self.held.extend(bytes.iter().take(room));
        }
        holds
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
        if self.hold(bytes) {
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
                self.hold(slice);
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
