//! The lease, the stream and the snapshot on a Redis-compatible server.
//!
//! | name | content |
//! | --- | --- |
//! | `braid:{market:1:v1}:lease` | the publisher, `FENCE RUN`, until the lease expires |
//! | `braid:{market:1:v1}:fence` | how often the lease was taken |
//! | `braid:{market:1:v1}:head` | the newest entry: its place, block and id |
//! | `braid:{market:1:v1}:blocks` | the stream |
//! | `braid:{market:1:v1}:snapshot` | the whole state at one place of the stream |
//! | `braid:{market:1:v1}:wanted` | set if a service read lately; without readers nothing is published |
//!
//! The names hold the chain and the version of the format. Scripts are atomic: a service that lost the lease, or does
//! not know the newest entry, appends nothing.

use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult, Script};

use super::super::NoRedis;
use super::state::MAX_ENTRY_BYTES;

/// Longest wait for a short answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest wait for entries.
const READ_PATIENCE: Duration = Duration::from_secs(5);

/// Longest wait while a whole market is transferred.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// Entries that the stream keeps.
pub const ENTRIES_KEPT: usize = 128;

/// Most entries that are read at once.
const ENTRIES_AT_ONCE: usize = 16;

const LEASE: &str = "braid:{market:1:v1}:lease";
const FENCE: &str = "braid:{market:1:v1}:fence";
const HEAD: &str = "braid:{market:1:v1}:head";
const BLOCKS: &str = "braid:{market:1:v1}:blocks";
const WANTED: &str = "braid:{market:1:v1}:wanted";
const SNAPSHOT: &str = "braid:{market:1:v1}:snapshot";

/// Time for which markets are published after the last read.
const WANTED_FOR: Duration = Duration::from_secs(60);

/// Takes a free lease, extends our own, and does neither while no service reads. A run has 32 characters.
static HOLD: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        local held = redis.call('GET', KEYS[1])
        if redis.call('EXISTS', KEYS[5]) == 0 then return { 'unwanted', '', '0', 0 } end
        if not held then
            held = redis.call('INCR', KEYS[2]) .. ' ' .. ARGV[1]
            redis.call('SET', KEYS[1], held, 'NX', 'PX', ARGV[2])
        elseif string.sub(held, -32) == ARGV[1] then
            redis.call('PEXPIRE', KEYS[1], ARGV[2])
        else
            held = ''
        end
        local head = redis.call('HMGET', KEYS[3], 'place', 'number')
        return { held, head[1] or '', head[2] or '0', redis.call('EXISTS', KEYS[4]) }
        ",
    )
});

/// Releases the lease.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
});

/// Appends an entry after the one that it leads from, or an entry with a snapshot that leads from none. A block that
/// another service published is not published again.
static APPEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end
        local head = redis.call('HMGET', KEYS[2], 'place', 'number')
        local place, number = head[1] or '', tonumber(head[2] or '0')
        if ARGV[2] ~= '' then
            if place ~= ARGV[2] then return 'parted' end
        elseif place ~= '' and string.sub(place, 1, 32) ~= string.sub(ARGV[3], 1, 32) and tonumber(ARGV[4]) <= number then
            return 'behind'
        end
        if ARGV[6] ~= '' then redis.call('SET', KEYS[4], ARGV[6]) end
        local id = redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[7], '*', 'from', ARGV[2], 'place', ARGV[3], 'entry', ARGV[5])
        redis.call('HSET', KEYS[2], 'place', ARGV[3], 'number', ARGV[4], 'id', id)
        return 'appended'
        ",
    )
});

/// Replaces the snapshot.
static SAVE_SNAPSHOT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[2], ARGV[2])
        return 1
        ",
    )
});

/// Returns the entries after one. An entry above the size limit is returned empty, and all together stay within the
/// limit.
static READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        redis.pcall('SET', KEYS[4], '1', 'PX', ARGV[4])
        local most, entries = tonumber(ARGV[2]), {}
        local room = most
        for _, found in ipairs(redis.call('XRANGE', KEYS[2], '(' .. ARGV[1], '+', 'COUNT', ARGV[3])) do
            local fields = {}
            for i = 1, #found[2] - 1, 2 do fields[found[2][i]] = found[2][i + 1] end
            local entry = fields['entry'] or ''
            if #entry > most then entry = '' end
            if #entry > room then break end
            room = room - #entry
            local function short(name) return string.sub(fields[name] or '', 1, 64) end
            entries[#entries + 1] = { found[1], short('from'), short('place'), entry }
        end
        local head, time = redis.call('HMGET', KEYS[1], 'place', 'id'), redis.call('TIME')
        return { redis.call('EXISTS', KEYS[3]), time[1] .. '.' .. time[2], string.sub(head[1] or '', 1, 64), string.sub(head[2] or '', 1, 64), entries }
        ",
    )
});

/// Why the server gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StreamError(String);

/// Holder of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// This service.
    Ours {
        /// Token that an append must show: how often the lease was taken, and our run.
        token: String,
        /// The newest entry.
        head: Option<StreamHead>,
        /// Whether there is a snapshot.
        has_snapshot: bool,
    },
    /// Another service.
    Others,
    /// Nobody, because no service without a node has read for a minute.
    Unwanted,
}

/// The newest entry of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// Its place.
    pub place: String,
    /// Height of its block.
    pub number: u64,
}

/// Result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the stream.
    Done,
    /// Another service has the lease by now.
    Lost,
    /// The newest entry is another one: publish a snapshot.
    Parted,
    /// Another service published this block or a later one.
    Behind,
}

/// An entry of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEntry {
    /// Its id in the stream.
    pub id: String,
    /// The place that it leads from; empty if the snapshot must be read.
    pub from: String,
    /// The place that it leads to.
    pub to: String,
    /// Bytes for [`StreamState::after`](super::StreamState::after).
    pub entry: Vec<u8>,
}

/// Entries that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRead {
    /// Whether a service follows a node and publishes.
    pub is_published: bool,
    /// The newest place; empty before the first.
    pub head: String,
    /// How long ago the newest entry was appended.
    pub head_age: Duration,
    /// Entries in their order.
    pub entries: Vec<StreamEntry>,
}

/// A connection for markets alone, so that no quote waits behind a whole market.
pub struct MarketStream {
    client: Client,
    connection: Option<MultiplexedConnection>,
}

impl std::fmt::Debug for MarketStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MarketStream")
    }
}

impl MarketStream {
    /// Names the server; the connection is made on first use.
    ///
    /// # Errors
    /// [`NoRedis`] when the URL is invalid.
    pub fn open(url: &str) -> Result<Self, NoRedis> {
        Ok(Self { client: Client::open(url)?, connection: None })
    }

    /// Takes or extends the lease.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn hold(&mut self, run: &str, lease: Duration) -> Result<Lease, StreamError> {
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let mut call = HOLD.key(LEASE);
        call.key(FENCE).key(HEAD).key(SNAPSHOT).key(WANTED).arg(run).arg(lease_ms);
        let hold = async |mut connection| call.invoke_async::<(String, String, u64, u8)>(&mut connection).await;
        let (token, place, number, snapshots) = self.ask(PATIENCE, hold).await?;
        match token.as_str() {
            "" => return Ok(Lease::Others),
            "unwanted" => return Ok(Lease::Unwanted),
            _ => {}
        }
        let head = (!place.is_empty()).then_some(StreamHead { place, number });
        Ok(Lease::Ours { token, head, has_snapshot: snapshots == 1 })
    }

    /// Releases the lease, so that another service need not wait until it expires.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn release(&mut self, token: &str) -> Result<(), StreamError> {
        let mut call = RELEASE.key(LEASE);
        call.arg(token);
        self.ask(PATIENCE, async |mut connection| call.invoke_async::<()>(&mut connection).await).await
    }

    /// Appends an entry that leads `from` a place `to` another; one without `from` comes with a snapshot.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer; the entry may then be there or not.
    pub async fn append(
        &mut self,
        token: &str,
        from: &str,
        (to, number): (&str, u64),
        entry: &[u8],
        snapshot: &[u8],
    ) -> Result<Appended, StreamError> {
        let mut call = APPEND.key(LEASE);
        call.key(HEAD).key(BLOCKS).key(SNAPSHOT);
        call.arg(token).arg(from).arg(to).arg(number).arg(entry).arg(snapshot).arg(ENTRIES_KEPT);
        let append = async |mut connection| call.invoke_async::<String>(&mut connection).await;
        let answer = self.ask(LONG_PATIENCE, append).await?;
        Ok(match answer.as_str() {
            "appended" => Appended::Done,
            "parted" => Appended::Parted,
            "behind" => Appended::Behind,
            _ => Appended::Lost,
        })
    }

    /// Replaces the snapshot. Returns false if another service has the lease by now.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn save_snapshot(&mut self, token: &str, snapshot: &[u8]) -> Result<bool, StreamError> {
        let mut call = SAVE_SNAPSHOT.key(LEASE);
        call.key(SNAPSHOT).arg(token).arg(snapshot);
        let save = async |mut connection| call.invoke_async::<u8>(&mut connection).await;
        Ok(self.ask(LONG_PATIENCE, save).await? == 1)
    }

    /// Reads the entries after an id.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn read(&mut self, after: &str) -> Result<StreamRead, StreamError> {
        type Answer = (u8, String, Vec<u8>, Vec<u8>, Vec<(String, Vec<u8>, Vec<u8>, Vec<u8>)>);
        let mut call = READ.key(HEAD);
        call.key(BLOCKS).key(LEASE).key(WANTED);
        call.arg(after).arg(MAX_ENTRY_BYTES).arg(ENTRIES_AT_ONCE).arg(WANTED_FOR.as_secs() * 1_000);
        let read = async |mut connection| call.invoke_async::<Answer>(&mut connection).await;
        let (is_published, now, head, head_id, entries) = self.ask(READ_PATIENCE, read).await?;
        // Bytes that are no text become a place that is unknown.
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let entry = |(id, from, to, entry)| StreamEntry { id, from: text(from), to: text(to), entry };
        let entries = entries.into_iter().map(entry).collect();
        Ok(StreamRead {
            is_published: is_published == 1,
            head: text(head),
            head_age: age(&now, &text(head_id)),
            entries,
        })
    }

    /// Reads the snapshot, up to the largest market file; empty if there is none.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn snapshot(&mut self) -> Result<Vec<u8>, StreamError> {
        let mut command = redis::cmd("GETRANGE");
        command.arg(SNAPSHOT).arg(0).arg(braid_market::file::MAX_FILE_BYTES);
        self.ask(LONG_PATIENCE, async |mut connection| command.query_async(&mut connection).await).await
    }

    /// Drops a snapshot from which the newest entry cannot be reached; the publisher writes another.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn drop_snapshot(&mut self) -> Result<(), StreamError> {
        let mut command = redis::cmd("DEL");
        command.arg(SNAPSHOT);
        self.ask(PATIENCE, async |mut connection| command.query_async(&mut connection).await).await
    }

    /// Asks over the connection, or over a new one if the last request on it failed: a broken one may stay silent for
    /// minutes.
    async fn ask<T>(
        &mut self,
        patience: Duration,
        question: impl AsyncFnOnce(MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StreamError> {
        let silent = || StreamError("it does not answer in time".into());
        let failed = |error| StreamError(NoRedis::from(error).0);
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let config = AsyncConnectionConfig::new().set_response_timeout(None);
                let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
                tokio::time::timeout(PATIENCE, connecting).await.map_err(|_| silent())?.map_err(failed)?
            }
        };
        let answer = tokio::time::timeout(patience, question(connection.clone())).await.map_err(|_| silent())?;
        let answer = answer.map_err(failed)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

/// Returns how long ago an entry was appended, from the server's clock (`seconds.microseconds`) and the entry's id,
/// which begins with milliseconds.
fn age(now: &str, id: &str) -> Duration {
    let now_ms = now.split_once('.').and_then(|(s, us)| Some((s.parse::<u64>().ok()?, us.parse::<u64>().ok()?)));
    let now_ms = now_ms.map(|(s, us)| s.saturating_mul(1_000).saturating_add(us / 1_000));
    let id_ms = id.split_once('-').and_then(|(ms, _)| ms.parse::<u64>().ok());
    Duration::from_millis(now_ms.zip(id_ms).map_or(0, |(now, id)| now.saturating_sub(id)))
}
