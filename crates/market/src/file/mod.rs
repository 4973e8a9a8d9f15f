//! Market files: a whole market on disk, so that a quote can be recomputed offline.
//!
//! Layout: 8 bytes `BRAIDMKT`; version, 4 bytes little-endian; length of the body, 8 bytes little-endian; Keccak-256 of
//! those 20 bytes and the body; the body: JSON of block, tokens and pools, compressed with zstd. Ids are positions. The
//! same market always gives the same bytes. A file may also hold the progress of the pool discovery (`search`), which
//! this crate copies without reading it.

mod error;

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{BufReader, Read, Write},
    path::Path,
    sync::Arc,
};

use alloy_primitives::{B256, Keccak256};
use braid_primitives::{Block, Token};
use braid_protocols::Pool;
use serde::{Deserialize, Serialize, de::DeserializeOwned, de::IgnoredAny};

use crate::{Market, Tokens};

pub use error::FileError;

/// Version of the layout: the one written, and the only one read.
pub const VERSION: u32 = 2;

/// Magic bytes and layout version of a packed value.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// First bytes.
    pub magic: &'static [u8; 8],
    /// Version that is written, and the only one that is read.
    pub version: u32,
}

const MARKET: Form = Form { magic: b"BRAIDMKT", version: VERSION };
const HEADER_BYTES: usize = 20;
const BODY_AT: usize = HEADER_BYTES + 32;
const COMPRESSION_LEVEL: i32 = 3;

/// Maximum size of a file, in bytes. Mainnet's takes 30 MB with every announced pool.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Maximum size of a body after decompression, in bytes. It is read in pieces.
const MAX_TEXT_BYTES: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
struct Body<S> {
    block: Block,
    tokens: Vec<Token>,
    pools: Vec<Arc<Pool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<S>,
}

impl Market {
    /// Writes the market to a file atomically: an interrupted write keeps the old file.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        write(path, &self.to_bytes()?)
    }

    /// Reads a market that [`Market::save`] wrote.
    ///
    /// # Errors
    /// [`FileError`] describes the problem of the file.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        Self::from_bytes(&read(path)?)
    }

    /// Serialises the market as the content of a market file.
    ///
    /// # Errors
    /// [`FileError::Body`] if the market could not be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FileError> {
        self.to_bytes_with(None::<&()>)
    }

    /// Serialises the market with the progress of the pool discovery.
    ///
    /// # Errors
    /// As [`Market::to_bytes`].
    pub fn to_bytes_with<S: Serialize>(&self, search: Option<&S>) -> Result<Vec<u8>, FileError> {
        let tokens = self.tokens().iter().map(|(_, token)| token.clone()).collect();
        let body = Body { block: *self.block(), tokens, pools: self.pools().to_vec(), search };
        pack(&MARKET, &body)
    }

    /// Parses the content of a market file.
    ///
    /// # Errors
    /// [`FileError`] describes the problem.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::from_bytes_with::<IgnoredAny>(bytes).map(|(market, _)| market)
    }

    /// Parses the content of a market file, with the progress of the pool discovery if the file has it.
    ///
    /// # Errors
    /// As [`Market::from_bytes`].
    pub fn from_bytes_with<S: DeserializeOwned>(bytes: &[u8]) -> Result<(Self, Option<S>), FileError> {
        let body: Body<S> = unpack(&MARKET, bytes)?;
        let tokens = table(body.tokens)?;
        check_states(&body.pools)?;
        let count = body.pools.len();
        let pools = body.pools.into_iter().map(Arc::unwrap_or_clone);
        let market = Self::new(body.block, Arc::new(tokens), pools)?;
        if market.pools().len() != count {
            return Err(FileError::Body { why: "a pool is listed twice".into() });
        }
        Ok((market, body.search))
    }
}

/// Serialises a value in the layout of a market file: JSON, compressed, with a checksum.
///
/// # Errors
/// [`FileError::Body`] if the value could not be serialised.
pub fn pack(form: &Form, value: &impl Serialize) -> Result<Vec<u8>, FileError> {
    let text = serde_json::to_vec(value).map_err(|error| FileError::Body { why: error.to_string() })?;
    let body = zstd::encode_all(text.as_slice(), COMPRESSION_LEVEL)
        .map_err(|error| FileError::Body { why: error.to_string() })?;
    let mut bytes = Vec::with_capacity(BODY_AT + body.len());
    bytes.extend(form.magic);
    bytes.extend(form.version.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(checksum(&bytes, &body));
    bytes.extend(body);
    Ok(bytes)
}

/// Parses a value that [`pack`] wrote.
///
/// # Errors
/// [`FileError`] describes the problem of the bytes.
pub fn unpack<T: DeserializeOwned>(form: &Form, bytes: &[u8]) -> Result<T, FileError> {
    let body = checked_body(form, bytes)?;
    let unreadable = |why: String| FileError::Body { why };
    let decoder = zstd::Decoder::new(body).map_err(|error| unreadable(error.to_string()))?;
    let text = BufReader::new(decoder.take(MAX_TEXT_BYTES));
    serde_json::from_reader(text).map_err(|error| unreadable(error.to_string()))
}

/// Refuses pools with impossible states.
pub(crate) fn check_states(pools: &[Arc<Pool>]) -> Result<(), FileError> {
    for pool in pools {
        let checked = pool.product.validate(&pool.state, pool.coins.len());
        checked.map_err(|what| FileError::State { pool: pool.key, what })?;
    }
    Ok(())
}

/// Writes a file atomically: an interrupted write keeps the old file.
///
/// # Errors
/// [`FileError::Io`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let partial = path.with_extension(format!("partial-{}", std::process::id()));
    let write = || {
        let mut file = fs::File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(|error| {
        // report the first failure, not one of the clean-up
        let _ = fs::remove_file(&partial);
        FileError::io(path, &error)
    })
}

/// Reads a file, unless it is too large for a market file.
///
/// # Errors
/// [`FileError::Io`], [`FileError::TooLarge`].
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let io = |error: std::io::Error| FileError::io(path, &error);
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(io)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLarge { most: MAX_FILE_BYTES });
    }
    Ok(bytes)
}

fn checked_body<'a>(form: &Form, bytes: &'a [u8]) -> Result<&'a [u8], FileError> {
    let (Some(header), true) = (bytes.get(..HEADER_BYTES), bytes.starts_with(form.magic)) else {
        return Err(FileError::NotAMarket);
    };
    let number = |range: std::ops::Range<usize>| {
        header.get(range).unwrap_or_default().iter().rev().fold(0u64, |number, byte| (number << 8) | u64::from(*byte))
    };
    let version = number(8..12);
    if version != u64::from(form.version) {
        return Err(FileError::Version { got: version, expected: form.version });
    }
    let expected = number(12..20).saturating_add(BODY_AT as u64);
    if bytes.len() as u64 != expected {
        return Err(FileError::Length { got: bytes.len() as u64, expected });
    }
    let (sum, body) =
        bytes.get(HEADER_BYTES..).and_then(|rest| rest.split_at_checked(32)).ok_or(FileError::NotAMarket)?;
    if checksum(header, body) != sum {
        return Err(FileError::Checksum);
    }
    Ok(body)
}

fn checksum(header: &[u8], body: &[u8]) -> B256 {
    let mut hasher = Keccak256::new();
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}

/// Builds the token table from a list, which must begin with ether and wrapped ether and repeat no address.
fn table(list: Vec<Token>) -> Result<Tokens, FileError> {
    let mut tokens = Tokens::new();
    let known: Vec<_> = tokens.iter().map(|(_, token)| token.address).collect();
    if !list.iter().map(|token| token.address).take(known.len()).eq(known) {
        return Err(FileError::Body { why: "the tokens do not begin with ether and wrapped ether".into() });
    }
    let count = list.len();
    for token in list {
        tokens.insert(token);
    }
    if tokens.len() != count {
        return Err(FileError::Body { why: "a token is listed twice".into() });
    }
    Ok(tokens)
}
