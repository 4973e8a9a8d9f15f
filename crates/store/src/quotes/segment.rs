//! One file of quotes: records one after another, each with a checksum, so that damage affects no other quotes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::record::QuoteRecord;

/// Extension of files of quotes.
const SUFFIX: &str = "quotes";

/// Time within which the quotes of one file end, in milliseconds: the file outlives its first quote by this much.
const SPAN_MS: u64 = 60_000;

/// Bytes after which a file takes no more quotes.
const FULL_BYTES: u64 = 16 << 20;

/// Bytes before a body: marker, checksum, end, id and length of the body.
const HEAD_BYTES: usize = 8 + 8 + 8 + 16 + 4;

/// A file of quotes.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    file: File,
    /// Random bytes that begin every record, so that no body can contain a record.
    marker: [u8; 8],
    /// End of the first quote, in unix milliseconds.
    first_end_ms: u64,
    places: RwLock<HashMap<Uuid, Place>>,
}

/// Position of a record in its file, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    at: u64,
    len: usize,
}

impl Segment {
    /// Creates a file for quotes that end from this time on.
    pub(super) fn create(dir: &Path, first_end_ms: u64) -> io::Result<Self> {
        let mut marker = [0; 8];
        getrandom::fill(&mut marker).map_err(|_| io::Error::other("the operating system gives no random bytes"))?;
        let path = dir.join(format!("{first_end_ms:020}-{:016x}.{SUFFIX}", u64::from_be_bytes(marker)));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        // Makes the name survive a loss of power, not only the content.
        File::open(dir)?.sync_all()?;
        Ok(Self { path, file, marker, first_end_ms, places: RwLock::default() })
    }

    /// Opens a file that an earlier process wrote; returns it with the number of bytes that are no record. `None` if
    /// its name is not that of a file of quotes.
    pub(super) fn open(path: PathBuf) -> Option<io::Result<(Self, usize)>> {
        let name = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?.strip_suffix('.')?;
        let (first_end_ms, marker) = name.split_once('-')?;
        let first_end_ms = first_end_ms.parse().ok()?;
        let marker = u64::from_str_radix(marker, 16).ok()?.to_be_bytes();
        Some(File::open(&path).and_then(|file| {
            let bytes = std::fs::read(&path)?;
            let (places, lost) = scan(marker, &bytes);
            Ok((Self { path, file, marker, first_end_ms, places: RwLock::new(places) }, lost))
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a record belongs in this file, which has `end` bytes.
    pub(super) fn takes(&self, record: &QuoteRecord, end: u64) -> bool {
        let last_end_ms = self.first_end_ms.saturating_add(SPAN_MS);
        end < FULL_BYTES && (self.first_end_ms..=last_end_ms).contains(&record.keep_until_ms)
    }

    /// Returns whether every quote in it has ended.
    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        self.first_end_ms.saturating_add(SPAN_MS) < now_ms
    }

    pub(super) fn len(&self) -> usize {
        self.places.read().len()
    }

    /// Writes records at an offset and waits for the disk; returns the new end. They are found once the disk has them.
    pub(super) fn append(&self, at: u64, batch: &[(Uuid, QuoteRecord)]) -> io::Result<u64> {
        let mut bytes = Vec::new();
        let mut places = Vec::with_capacity(batch.len());
        for (id, record) in batch {
            let before = bytes.len();
            encode(self.marker, *id, record, &mut bytes)?;
            places.push((*id, Place { at: at.saturating_add(before as u64), len: bytes.len() - before }));
        }
        if let Err(error) = self.file.write_all_at(&bytes, at).and_then(|()| self.file.sync_data()) {
            // A partly written batch must not use the space of a full disk.
            let _ = self.file.set_len(at);
            return Err(error);
        }
        self.places.write().extend(places);
        Ok(at.saturating_add(bytes.len() as u64))
    }

    /// Returns the quote of an id, if this file has it. A damaged one is logged, and forgotten as at a restart.
    pub(super) fn find(&self, id: Uuid) -> io::Result<Option<QuoteRecord>> {
        let place = self.places.read().get(&id).copied();
        let Some(place) = place else { return Ok(None) };
        let mut bytes = vec![0; place.len];
        match self.file.read_exact_at(&mut bytes, place.at) {
            // the file was cut
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            read => read?,
        }
        let found = decode(self.marker, &bytes).filter(|found| found.id == id).map(|found| found.record());
        if found.is_none() && self.places.write().remove(&id).is_some() {
            tracing::warn!(%id, file = %self.path.display(), "a quote on disk is damaged: it is not found there");
        }
        Ok(found)
    }
}

/// A decoded record.
struct Found<'a> {
    id: Uuid,
    keep_until_ms: u64,
    body: &'a [u8],
}

impl Found<'_> {
    fn record(&self) -> QuoteRecord {
        QuoteRecord { keep_until_ms: self.keep_until_ms, body: Arc::from(self.body) }
    }
}

fn encode(marker: [u8; 8], id: Uuid, record: &QuoteRecord, bytes: &mut Vec<u8>) -> io::Result<()> {
    let len = u32::try_from(record.body.len()).map_err(io::Error::other)?;
    bytes.extend(marker);
    let sum_at = bytes.len();
    bytes.extend([0; 8]);
    bytes.extend(record.keep_until_ms.to_be_bytes());
    bytes.extend(id.as_bytes());
    bytes.extend(len.to_be_bytes());
    bytes.extend(&record.body[..]);
    let sum = sum(&bytes[sum_at + 8..]);
    bytes[sum_at..sum_at + 8].copy_from_slice(&sum);
    Ok(())
}

/// Decodes the record at the beginning of some bytes; `None` if there is no whole one.
fn decode(marker: [u8; 8], bytes: &[u8]) -> Option<Found<'_>> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    let (kept_sum, rest) = rest.split_first_chunk::<8>()?;
    let (keep_until_ms, body) = rest.split_first_chunk::<8>()?;
    let (id, body) = body.split_first_chunk::<16>()?;
    let (len, body) = body.split_first_chunk::<4>()?;
    let body = body.get(..usize::try_from(u32::from_be_bytes(*len)).ok()?)?;
    let whole = rest.get(..8 + 16 + 4 + body.len())?;
    let found = Found { id: Uuid::from_bytes(*id), keep_until_ms: u64::from_be_bytes(*keep_until_ms), body };
    (*head == marker && *kept_sum == sum(whole)).then_some(found)
}

/// Returns the position of every whole record, and the number of bytes that are none.
fn scan(marker: [u8; 8], bytes: &[u8]) -> (HashMap<Uuid, Place>, usize) {
    let mut places = HashMap::new();
    let (mut at, mut lost) = (0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let len = if let Some(found) = decode(marker, rest) {
            let len = HEAD_BYTES + found.body.len();
            places.insert(found.id, Place { at: at as u64, len });
            len
        } else {
            let next = rest.windows(marker.len()).skip(1).position(|window| window == marker);
            let len = next.map_or(rest.len(), |skipped| skipped + 1);
            lost += len;
            len
        };
        at += len;
    }
    (places, lost)
}

fn sum(bytes: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    digest.first_chunk().copied().unwrap_or_default()
}
