//! Quotes that every service can build, and the Permit2 nonces that they use.

use alloy_primitives::{Address, U256};
use redis::{AsyncCommands as _, ExistenceCheck, SetExpiry, SetOptions};
use uuid::Uuid;

use super::{Connection, NoAnswer, Replicas};
use crate::QuoteRecord;

/// Bytes before a quote's body: the time until which it is kept.
const HEAD: usize = 8;

fn name(id: Uuid) -> String {
    format!("braid:quote:{id}")
}

/// Reads a quote as [`Replicas::share_quote`] writes it.
fn record(value: &[u8]) -> Option<QuoteRecord> {
    let (head, body) = value.split_at_checked(HEAD)?;
    Some(QuoteRecord { keep_until_ms: u64::from_be_bytes(head.try_into().ok()?), body: body.into() })
}

impl Replicas {
    /// Shares a quote with the other services. Returns whether the server has it, so that they find it.
    pub async fn share_quote(&self, id: Uuid, record: &QuoteRecord, now_ms: u64) -> bool {
        let left_ms = record.keep_until_ms.saturating_sub(now_ms).max(1);
        let value = [&record.keep_until_ms.to_be_bytes()[..], &record.body].concat();
        let options = SetOptions::default().with_expiration(SetExpiry::PX(left_ms));
        let write =
            async |mut connection: Connection| connection.set_options::<_, _, ()>(name(id), value, options).await;
        self.ask(write).await.is_some()
    }

    /// Returns a quote that another service shared; `None` if the server has none with this id.
    ///
    /// # Errors
    /// [`NoAnswer`] while the server fails: it may have the quote.
    pub async fn shared_quote(&self, id: Uuid) -> Result<Option<QuoteRecord>, NoAnswer> {
        let read = async |mut connection: Connection| connection.get::<_, Option<Vec<u8>>>(name(id)).await;
        let value = self.ask(read).await.ok_or(NoAnswer)?;
        Ok(value.and_then(|value| record(&value)))
    }

    /// Reserves a Permit2 nonce of an owner for some seconds. Returns false if another service used it; `None` while
    /// the server fails.
    pub async fn claim_nonce(&self, owner: Address, nonce: U256, for_s: u64) -> Option<bool> {
        let name = format!("braid:nonce:{owner}:{nonce:x}");
        let options =
            SetOptions::default().conditional_set(ExistenceCheck::NX).with_expiration(SetExpiry::EX(for_s.max(1)));
        let claim =
            async |mut connection: Connection| connection.set_options::<_, _, Option<String>>(name, 1, options).await;
        Some(self.ask(claim).await?.is_some())
    }
}
