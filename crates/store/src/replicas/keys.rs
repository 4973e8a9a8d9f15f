//! API keys that all services share: the key file as one value on the server, with a copy in each data directory.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use redis::{AsyncCommands as _, Script};

use super::{Connection, Replicas};
use crate::keys::{self, KEY_FILE};
use crate::{KeyStore, StoreError};

/// Longest wait for an answer, which no request waits for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name of the shared value.
const NAME: &str = "braid:keys";

/// Replaces the value if it is still the same.
static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2])
        return 1
        ",
    )
});

/// The shared keys.
#[derive(Clone, Debug)]
pub struct SharedKeys {
    replicas: Replicas,
}

impl SharedKeys {
    /// The keys that the services of a Redis server share.
    pub const fn of(replicas: Replicas) -> Self {
        Self { replicas }
    }

    /// Merges the shared keys and the copy in a data directory, and stores the result as both. A server that lost its
    /// memory so learns again from every service; a key that one of them saw revoked stays revoked. Returns false when
    /// the server does not answer; the copy then stays as it is.
    ///
    /// # Errors
    /// When the copy cannot be read or written, or what is shared is no key file.
    pub async fn refresh(&self, dir: &Path) -> Result<bool, StoreError> {
        let Some(shared) = self.text().await else { return Ok(false) };
        let (path, text) = (dir.join(KEY_FILE), shared.clone());
        // the disk and other processes may take long
        let merged = tokio::task::spawn_blocking(move || merge(&path, &text)).await;
        let all = merged.unwrap_or(Err(StoreError::WriterStopped))?;
        // If another service changed the value meanwhile, the next refresh merges again.
        Ok(all == shared || self.replace(&shared, &all).await.is_some())
    }

    /// Applies a change of keys in a temporary data directory to the shared keys; again if another service changes them
    /// meanwhile. `None` when the server does not answer.
    ///
    /// # Errors
    /// Those of the change.
    pub async fn change<T>(
        &self,
        scratch: &Path,
        mut change: impl FnMut(&KeyStore) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let path = scratch.join(KEY_FILE);
        loop {
            let Some(before) = self.text().await else { return Ok(None) };
            let _ = std::fs::remove_file(&path);
            if !before.is_empty() {
                keys::merge_into(&path, &before)?;
            }
            let answer = change(&KeyStore::open(scratch)?)?;
            let after = keys::text_of(&path)?;
            match self.replace(&before, &after).await {
                Some(true) => return Ok(Some(answer)),
                Some(false) => {}
                None => return Ok(None),
            }
        }
    }

    /// Returns the shared value; empty if there is none.
    async fn text(&self) -> Option<String> {
        let read = async |mut connection: Connection| connection.get::<_, Option<String>>(NAME).await;
        Some(self.replicas.ask_within(PATIENCE, read).await?.unwrap_or_default())
    }

    /// Replaces the shared value if it is still `before`; returns whether it was. `None` when the server does not
    /// answer.
    async fn replace(&self, before: &str, after: &str) -> Option<bool> {
        let mut call = REPLACE.key(NAME);
        call.arg(before).arg(after);
        let replace = async |mut connection: Connection| call.invoke_async::<u8>(&mut connection).await;
        self.replicas.ask_within(PATIENCE, replace).await.map(|replaced| replaced == 1)
    }
}

/// Merges the shared keys into the copy, and returns the result.
fn merge(path: &Path, shared: &str) -> Result<String, StoreError> {
    let own = keys::text_of(path)?;
    if shared == own {
        return Ok(own);
    }
    let all = keys::merged(path, [shared, &own])?;
    if all != own {
        keys::merge_into(path, &all)?;
    }
    Ok(all)
}
