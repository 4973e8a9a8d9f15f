//! A quote's text in few bytes: packed, then compressed with a quote of the same shape as the dictionary.

use std::io;
use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use super::pack::{pack, unpack};

/// A quote as the service stored it, whose words other quotes share. Quotes that were stored with another one cannot be read: to change it
/// forgets, at the next start, those that are open.
const EXAMPLE: &str = include_str!("example.json");

/// How hard the compressor tries. Measured on quotes of three to twelve steps: 3 leaves 6% more bytes, 19 takes eight times as long.
const LEVEL: i32 = 9;

/// Most bytes that a text may have when it is read.
const MOST_BYTES: usize = 16 << 20;

struct Dictionary {
    /// Tells the dictionary from any other.
    tag: [u8; 4],
    encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
}

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
    let bytes = pack(EXAMPLE.trim());
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    Dictionary {
        tag: digest.first_chunk().copied().unwrap_or_default(),
        encoder: EncoderDictionary::copy(&bytes, LEVEL),
        decoder: DecoderDictionary::copy(&bytes),
    }
});

/// The dictionary's tag, the length of the packed text, and the packed text compressed.
pub(super) fn encode(text: &str) -> io::Result<Vec<u8>> {
    let packed = pack(text);
    let compressed = Compressor::with_prepared_dictionary(&DICTIONARY.encoder)?.compress(&packed)?;
    let len = u32::try_from(packed.len()).map_err(io::Error::other)?;
    Ok([&DICTIONARY.tag[..], &len.to_be_bytes(), &compressed].concat())
}

/// The text of [`encode`]; `None` for what another version wrote.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let (tag, rest) = bytes.split_first_chunk::<4>()?;
    let (len, compressed) = rest.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_be_bytes(*len)).ok().filter(|len| *len <= MOST_BYTES)?;
    if *tag != DICTIONARY.tag {
        return None;
    }
    unpack(&Decompressor::with_prepared_dictionary(&DICTIONARY.decoder).ok()?.decompress(compressed, len).ok()?)
}
