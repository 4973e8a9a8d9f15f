//! The HTTP transport of alloy's client: sends one POST per packet, and checks that the answer is to that packet.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use alloy::{
    rpc::json_rpc::{RequestPacket, ResponsePacket, RpcError},
    transports::{
        TransportError, TransportErrorKind, TransportFut,
        http::reqwest::{Client, Url},
    },
};

use super::packet;

/// Largest answer that is read, in bytes.
pub(super) const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Sends packets to one URL.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
    url: Url,
}

impl Http {
    pub(super) fn new(url: Url) -> Self {
        Self { client: Client::new(), url }
    }

    async fn send(self, packet: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let custom = |e: alloy::transports::http::reqwest::Error| TransportErrorKind::custom(e.without_url());
        let mut response = self.client.post(self.url).json(&packet).send().await.map_err(custom)?;
        let status = response.status();
        if matches!(status.as_u16(), 429 | 413) {
            // The status says more than the body.
            let retry_after =
                response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
            let retry_after = retry_after.map(Duration::from_secs);
            return Err(TransportErrorKind::http_error_with_retry_after(status.as_u16(), String::new(), retry_after));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(custom)? {
            if body.len().saturating_add(part.len()) > MAX_ANSWER_BYTES {
                return Err(TransportErrorKind::custom_str("the answer is longer than 256 MiB"));
            }
            body.extend_from_slice(&part);
        }
        let answer = if status.is_success() { packet::read(&body) } else { serde_json::from_slice(&body) };
        match answer {
            Ok(answer) if status.is_success() || is_error(&answer) => check_ids(&packet, answer),
            Err(error) if status.is_success() => Err(RpcError::DeserError { err: error, text: String::new() }),
            _ => Err(TransportErrorKind::http_error(status.as_u16(), String::new())),
        }
    }
}

/// Returns whether an answer is a JSON-RPC error, which says more than a failing status.
fn is_error(answer: &ResponsePacket) -> bool {
    answer.as_single().is_some_and(|single| single.payload.is_error())
}

/// Checks that an answer has the packet's id. An error without an id, or one that answers a batch, is about the whole
/// packet.
fn check_ids(packet: &RequestPacket, answer: ResponsePacket) -> Result<ResponsePacket, TransportError> {
    let Some(single) = answer.as_single() else { return Ok(answer) };
    let request = packet.as_single();
    if request.is_some_and(|request| *request.id() == single.id) {
        return Ok(answer);
    }
    match single.payload.as_error() {
        Some(error) if request.is_none() || single.id.is_none() => Err(RpcError::ErrorResp(error.clone())),
        _ => Err(TransportErrorKind::custom_str("the answer carries another request's id")),
    }
}

impl tower::Service<RequestPacket> for Http {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> Self::Future {
        Box::pin(self.clone().send(packet))
    }
}
