//! API keys, the same for all services: the key file as one value, of which each service has a copy in its data directory.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::ConnectionManager;
use redis::{AsyncCommands as _, Script};

use super::Replicas;
use crate::keys::{self, KEY_FILE};
use crate::{KeyStore, StoreError};

/// Longest wait for an answer: nobody's request waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name of the value.
const NAME: &str = "braid:keys";

/// Replaces the value where it is still what it was.
static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[1], ARGV[2])
        return 1
        ",
    )
});

/// The shared keys, and the copy of them in a data directory.
#[derive(Clone, Debug)]
pub struct SharedKeys {
    replicas: Replicas,
}

impl SharedKeys {
    /// The keys that the services of a server share.
    pub const fn of(replicas: Replicas) -> Self {
        Self { replicas }
    }

    /// Brings the copy of a data directory and what is shared to what both know together. So a server that lost its memory is told again, by
    /// every service what it knows: a key that one of them saw revoked stays revoked. False where the server does not answer; the copy
    /// then stays.
    ///
    /// # Errors
    /// When the copy cannot be read or written, or what is shared is no key file.
    pub async fn refresh(&self, dir: &Path) -> Result<bool, StoreError> {
        let Some(shared) = self.text().await else { return Ok(false) };
        let path = dir.join(KEY_FILE);
        let own = keys::text_of(&path)?.unwrap_or_default();
        if shared == own {
            return Ok(true);
        }
        let all = keys::merged(&path, [&shared, &own])?;
        if all != own {
            keys::write_merged(&path, &all)?;
        }
        // where others changed it meanwhile, the next look brings both together
        Ok(all == shared || self.replace(&shared, &all).await.is_some())
    }

    /// Changes the shared keys as `change` changes those of a data directory, which is a temporary one. Tried again where others
    /// change them meanwhile; `None` where the server does not answer.
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
                keys::write_merged(&path, &before)?;
            }
            let answer = change(&KeyStore::open(scratch)?)?;
            let after = keys::text_of(&path)?.unwrap_or_default();
            match self.replace(&before, &after).await {
                Some(true) => return Ok(Some(answer)),
                Some(false) => {}
                None => return Ok(None),
            }
        }
    }

    /// What is shared; empty where nothing is.
    async fn text(&self) -> Option<String> {
        let read = |mut connection: ConnectionManager| async move { connection.get::<_, Option<String>>(NAME).await };
        Some(self.replicas.ask_within(PATIENCE, read).await?.unwrap_or_default())
    }

    async fn replace(&self, before: &str, after: &str) -> Option<bool> {
        let (before, after) = (before.to_owned(), after.to_owned());
        let replace = |mut connection: ConnectionManager| async move {
            let mut call = REPLACE.key(NAME);
            call.arg(before).arg(after).invoke_async::<u8>(&mut connection).await
        };
        self.replicas.ask_within(PATIENCE, replace).await.map(|replaced| replaced == 1)
    }
}
