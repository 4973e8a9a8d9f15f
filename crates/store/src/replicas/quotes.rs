//! Quotes that any of the services can build, and the Permit2 nonces that they name.

use alloy_primitives::{Address, U256};
use redis::aio::ConnectionManager;
use redis::{AsyncCommands as _, ExistenceCheck, SetExpiry, SetOptions};
use uuid::Uuid;

use super::Replicas;
use crate::QuoteRecord;

/// Bytes in front of a quote's body: until when it is kept.
const HEAD: usize = 8;

fn name(id: Uuid) -> String {
    format!("braid:quote:{id}")
}

impl Replicas {
    /// Gives a quote to the others. True once the server has it: any of them finds it from then on.
    pub async fn share_quote(&self, id: Uuid, record: &QuoteRecord, now_ms: u64) -> bool {
        let left_ms = record.keep_until_ms.saturating_sub(now_ms).max(1);
        let value = [&record.keep_until_ms.to_be_bytes()[..], &record.body].concat();
        let options = SetOptions::default().with_expiration(SetExpiry::PX(left_ms));
        let write = |mut connection: ConnectionManager| async move {
            connection.set_options::<_, _, ()>(name(id), value, options).await
        };
        self.ask(write).await.is_some()
    }

    /// A quote that another service gave.
    pub async fn shared_quote(&self, id: Uuid) -> Option<QuoteRecord> {
        let read =
            |mut connection: ConnectionManager| async move { connection.get::<_, Option<Vec<u8>>>(name(id)).await };
        let value = self.ask(read).await??;
        let (head, body) = value.split_at_checked(HEAD)?;
        Some(QuoteRecord { keep_until_ms: u64::from_be_bytes(head.try_into().ok()?), body: body.into() })
    }

    /// Takes a Permit2 nonce of an owner for so many seconds. False where another service gave it away; `None` while the server fails.
    pub async fn claim_nonce(&self, owner: Address, nonce: U256, for_s: u64) -> Option<bool> {
        let name = format!("braid:nonce:{owner}:{nonce:x}");
        let options =
            SetOptions::default().conditional_set(ExistenceCheck::NX).with_expiration(SetExpiry::EX(for_s.max(1)));
        let claim = |mut connection: ConnectionManager| async move {
            connection.set_options::<_, _, Option<String>>(name, 1, options).await
        };
        Some(self.ask(claim).await?.is_some())
    }
}
