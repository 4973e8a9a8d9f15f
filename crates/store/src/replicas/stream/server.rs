//! The lease, the stream and the snapshot on a Redis-compatible server.
//!
//! | name | what |
//! | --- | --- |
//! | `braid:{market:1:v1}:lease` | who publishes: `FENCE RUN`, until it ends by itself |
//! | `braid:{market:1:v1}:fence` | how often the lease was taken |
//! | `braid:{market:1:v1}:head` | the newest entry: its place, block and id |
//! | `braid:{market:1:v1}:blocks` | the stream |
//! | `braid:{market:1:v1}:snapshot` | all that there was to tell at one place of the stream |
//! | `braid:{market:1:v1}:wanted` | whether anybody read lately: for nobody nothing is published |
//!
//! The names say the chain and the version of what is written. What must not come apart is one script: whoever lost the lease, or does not know the newest entry, appends nothing.

use std::sync::LazyLock;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult, Script};

use super::super::NoRedis;
use super::told::MAX_ENTRY_BYTES;

/// Longest wait for an answer to something small.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest wait for entries.
const READ_PATIENCE: Duration = Duration::from_secs(5);

/// Longest wait for a whole market to go over.
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

/// How long a market is published for whoever read it last.
const WANTED_FOR: Duration = Duration::from_secs(60);

/// Takes the lease where nobody has it, makes it last where we do; where nobody reads, nobody has it. A run has 32 characters.
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

/// Gives the lease back.
static RELEASE: LazyLock<Script> = LazyLock::new(|| {
    Script::new("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
});

/// Appends an entry behind the one that it leads from, or a snapshot that leads from nowhere. Of a block that somebody else published nothing
/// is published again.
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
static KEEP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        r"
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('SET', KEYS[2], ARGV[2])
        return 1
        ",
    )
});

/// What came behind an entry. One that is larger than an entry may be is read as empty, and no more than that at once.
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

/// Who has the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// We, under this token: how often the lease was taken, and our run.
    Ours {
        /// What an append must show.
        token: String,
        /// The newest entry.
        head: Option<StreamHead>,
        /// Whether there is a snapshot.
        has_snapshot: bool,
    },
    /// Another service.
    Others,
    /// Nobody: no service without a node has read for a minute.
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

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the stream.
    Done,
    /// The lease is somebody else's by now.
    Lost,
    /// The newest entry is another one: tell it whole.
    Parted,
    /// Somebody else published this block or a later one.
    Behind,
}

/// An entry as it lies in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its id in the stream.
    pub id: String,
    /// The place that it leads from; empty where the snapshot is to be read.
    pub from: String,
    /// The place that it leads to.
    pub to: String,
    /// What [`Told::after`](super::Told::after) reads.
    pub entry: Vec<u8>,
}

/// What came since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Whether a service follows a node and publishes.
    pub is_published: bool,
    /// The newest place; empty before the first.
    pub head: String,
    /// How long ago the newest entry was appended.
    pub head_age: Duration,
    /// Entries in their order.
    pub entries: Vec<Place>,
}

/// A connection of its own: whole markets go over it, and nobody's quote waits behind one.
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
    /// The stream on a server, which is connected to when it is first asked.
    ///
    /// # Errors
    /// [`NoRedis`] when the URL is none.
    pub fn open(url: &str) -> Result<Self, NoRedis> {
        Ok(Self { client: Client::open(url)?, connection: None })
    }

    /// Takes the lease or makes it last.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn hold(&mut self, run: &str, lease: Duration) -> Result<Held, StreamError> {
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let hold = |mut connection: MultiplexedConnection| async move {
            let mut call = HOLD.key(LEASE);
            call.key(FENCE).key(HEAD).key(SNAPSHOT).key(WANTED).arg(run).arg(lease_ms);
            call.invoke_async::<(String, String, u64, u8)>(&mut connection).await
        };
        let (token, place, number, snapshots) = self.ask(PATIENCE, hold).await?;
        match token.as_str() {
            "" => return Ok(Held::Others),
            "unwanted" => return Ok(Held::Unwanted),
            _ => {}
        }
        let head = (!place.is_empty()).then_some(StreamHead { place, number });
        Ok(Held::Ours { token, head, has_snapshot: snapshots == 1 })
    }

    /// Gives the lease back, so that another service need not wait for its end.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn release(&mut self, token: &str) -> Result<(), StreamError> {
        let release = |mut connection: MultiplexedConnection| async move {
            RELEASE.key(LEASE).arg(token).invoke_async::<()>(&mut connection).await
        };
        self.ask(PATIENCE, release).await
    }

    /// Appends an entry that leads `from` a place `to` another; one that leads from nowhere comes with a snapshot.
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
        let append = |mut connection: MultiplexedConnection| async move {
            let mut call = APPEND.key(LEASE);
            call.key(HEAD).key(BLOCKS).key(SNAPSHOT);
            call.arg(token).arg(from).arg(to).arg(number).arg(entry).arg(snapshot).arg(ENTRIES_KEPT);
            call.invoke_async::<String>(&mut connection).await
        };
        let answer = self.ask(LONG_PATIENCE, append).await?;
        Ok(match answer.as_str() {
            "appended" => Appended::Done,
            "parted" => Appended::Parted,
            "behind" => Appended::Behind,
            _ => Appended::Lost,
        })
    }

    /// Replaces the snapshot. False where the lease is somebody else's by now.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn keep(&mut self, token: &str, snapshot: &[u8]) -> Result<bool, StreamError> {
        let keep = |mut connection: MultiplexedConnection| async move {
            let mut call = KEEP.key(LEASE);
            call.key(SNAPSHOT).arg(token).arg(snapshot).invoke_async::<u8>(&mut connection).await
        };
        Ok(self.ask(LONG_PATIENCE, keep).await? == 1)
    }

    /// What came behind the entry of this id.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn read(&mut self, after: &str) -> Result<Read, StreamError> {
        type Answer = (u8, String, Vec<u8>, Vec<u8>, Vec<(String, Vec<u8>, Vec<u8>, Vec<u8>)>);
        let read = |mut connection: MultiplexedConnection| async move {
            let mut call = READ.key(HEAD);
            call.key(BLOCKS).key(LEASE).key(WANTED);
            call.arg(after).arg(MAX_ENTRY_BYTES).arg(ENTRIES_AT_ONCE).arg(WANTED_FOR.as_secs() * 1_000);
            call.invoke_async::<Answer>(&mut connection).await
        };
        let (is_published, now, head, head_id, entries) = self.ask(READ_PATIENCE, read).await?;
        // what is no text is no place either, and is met like any other that is unknown
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let place = |(id, from, to, entry)| Place { id, from: text(from), to: text(to), entry };
        let entries = entries.into_iter().map(place).collect();
        Ok(Read { is_published: is_published == 1, head: text(head), head_age: age(&now, &text(head_id)), entries })
    }

    /// The snapshot, of at most so many bytes; empty where there is none.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn snapshot(&mut self) -> Result<Vec<u8>, StreamError> {
        let read = |mut connection: MultiplexedConnection| async move {
            let mut command = redis::cmd("GETRANGE");
            command.arg(SNAPSHOT).arg(0).arg(braid_market::file::MAX_FILE_BYTES).query_async(&mut connection).await
        };
        self.ask(LONG_PATIENCE, read).await
    }

    /// Drops a snapshot from which the newest entry is not reached: whoever publishes writes another.
    ///
    /// # Errors
    /// [`StreamError`] when the server does not answer.
    pub async fn drop_snapshot(&mut self) -> Result<(), StreamError> {
        let drop = |mut connection: MultiplexedConnection| async move {
            redis::cmd("DEL").arg(SNAPSHOT).query_async(&mut connection).await
        };
        self.ask(PATIENCE, drop).await
    }

    /// Asks over the connection, or a new one where the last question on it failed: one that was cut off may stay silent for minutes.
    async fn ask<T, F>(
        &mut self,
        patience: Duration,
        question: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, StreamError>
    where
        F: Future<Output = RedisResult<T>>,
    {
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

/// How long ago an entry was appended: the server's clock, in seconds and microseconds, and an id, which begins with milliseconds.
fn age(now: &str, id: &str) -> Duration {
    let now_ms = now.split_once('.').and_then(|(s, us)| Some((s.parse::<u64>().ok()?, us.parse::<u64>().ok()?)));
    let now_ms = now_ms.map(|(s, us)| s.saturating_mul(1_000).saturating_add(us / 1_000));
    let id_ms = id.split_once('-').and_then(|(ms, _)| ms.parse::<u64>().ok());
    Duration::from_millis(now_ms.zip(id_ms).map_or(0, |(now, id)| now.saturating_sub(id)))
}
