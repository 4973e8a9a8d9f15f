//! API keys, the same for all services: the key file as one value, of which each service has a copy in its data directory.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::ConnectionManager;
use redis::{AsyncCommands as _, Script};

use super::Replicas;
use crate::keys::KEY_FILE;
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

    /// Brings the copy of a data directory to what is shared. Where nothing is shared yet, or the server lost it, the copy is
    /// shared instead. False where the server does not answer; the copy then stays.
    ///
    /// # Errors
    /// When the copy cannot be read or written.
    pub async fn refresh(&self, dir: &Path) -> Result<bool, StoreError> {
        let Some(shared) = self.text().await else { return Ok(false) };
        let path = dir.join(KEY_FILE);
        let own = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(StoreError::Unreadable { path, source }),
        };
        if shared == own {
            return Ok(true);
        }
        if shared.is_empty() {
            return Ok(self.replace("", &own).await == Some(true));
        }
        crate::keys::write_copy(&path, &shared)?;
        Ok(true)
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
            if before.is_empty() {
                let _ = std::fs::remove_file(&path);
            } else {
                crate::keys::write_copy(&path, &before)?;
            }
            let answer = change(&KeyStore::open(scratch)?)?;
            let after = std::fs::read_to_string(&path).unwrap_or_default();
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
