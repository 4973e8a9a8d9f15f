//! Writes the hex and the long integers of a JSON text as bytes. A text holds the same addresses in three spellings; as bytes they are the
//! same, and a compressor finds them.

use braid_primitives::{Address, Bytes};

/// Stands before hex digits in small letters: their number, then the bytes. JSON holds none of these three characters.
const HEX: u8 = 1;
/// Stands before the 20 bytes of an address in its EIP-55 spelling.
const ADDRESS: u8 = 2;
/// Stands before an integer: the number of its bytes, then the bytes.
const INTEGER: u8 = 3;

/// Fewest digits that are worth it.
const FEWEST_DIGITS: usize = 6;
/// Most decimal digits that always fit into 16 bytes.
const MOST_DIGITS: usize = 38;

/// The text as bytes.
pub(super) fn pack(text: &str) -> Vec<u8> {
    let text = text.as_bytes();
    let mut packed = Vec::with_capacity(text.len() / 2);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let taken = hex(rest, &mut packed).or_else(|| integer(rest, &mut packed));
        // Digits of a run that is not packed are not looked at one by one: a part of it must not be taken for a run.
        let plain = || rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count().max(1);
        at += taken.unwrap_or_else(|| {
            let len = plain();
            packed.extend(&rest[..len]);
            len
        });
    }
    packed
}

/// The text of [`pack`]; `None` for other bytes.
pub(super) fn unpack(packed: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(packed.len() * 2);
    let mut rest = packed;
    while let Some((first, others)) = rest.split_first() {
        rest = match *first {
            HEX => {
                let (len, others) = others.split_first_chunk::<2>()?;
                let digits = usize::from(u16::from_be_bytes(*len));
                let (bytes, others) = others.split_at_checked(digits.div_ceil(2))?;
                let spelled = Bytes::copy_from_slice(bytes).to_string();
                text.extend(b"0x");
                text.extend(&spelled.as_bytes()[2 + digits % 2..]);
                others
            }
            ADDRESS => {
                let (bytes, others) = others.split_first_chunk::<20>()?;
                text.extend(Address::from(*bytes).to_checksum(None).as_bytes());
                others
            }
            INTEGER => {
                let (len, others) = others.split_first()?;
                let (bytes, others) = others.split_at_checked(usize::from(*len).min(16))?;
                let number = bytes.iter().fold(0u128, |number, byte| (number << 8) | u128::from(*byte));
                text.extend(number.to_string().as_bytes());
                others
            }
            plain => {
                text.push(plain);
                others
            }
        };
    }
    String::from_utf8(text).ok()
}

/// Packs the hex string that a text begins with; how much of the text it was.
fn hex(text: &[u8], packed: &mut Vec<u8>) -> Option<usize> {
    let digits = text.strip_prefix(b"0x")?;
    let len = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let digits = std::str::from_utf8(&digits[..len]).ok()?;
    if let Ok(address) = Address::parse_checksummed(format!("0x{digits}"), None) {
        packed.push(ADDRESS);
        packed.extend(address.as_slice());
    } else {
        let count = u16::try_from(len).ok().filter(|_| len >= FEWEST_DIGITS)?;
        if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let even = if len % 2 == 0 { digits.to_owned() } else { format!("0{digits}") };
        let bytes: Bytes = even.parse().ok()?;
        packed.push(HEX);
        packed.extend(count.to_be_bytes());
        packed.extend(bytes);
    }
    Some(2 + len)
}

/// Packs the decimal integer that a text begins with; how much of the text it was.
fn integer(text: &[u8], packed: &mut Vec<u8>) -> Option<usize> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let packs = (FEWEST_DIGITS..=MOST_DIGITS).contains(&len) && text[0] != b'0';
    let number: u128 = std::str::from_utf8(&text[..len]).ok().filter(|_| packs)?.parse().ok()?;
    let bytes = number.to_be_bytes();
    let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
    packed.push(INTEGER);
    packed.push(u8::try_from(bytes.len()).ok()?);
    packed.extend(bytes);
    Some(len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_comes_back_and_most_are_shorter() {
        let address = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
        for (text, len) in [
            (address.to_owned(), 21),
            (address.to_lowercase(), 23),
            (address.to_uppercase(), 42),
            ("0xc02aaa39b".into(), 8),
            ("0x".into(), 2),
            ("0x12".into(), 4),
            ("123456".into(), 5),
            ("0123456".into(), 7),
            (u128::MAX.to_string(), 39),
            ("a123456".into(), 7),
        ] {
            assert_eq!((pack(&text).len(), unpack(&pack(&text))), (len, Some(text.clone())), "{text}");
        }
        assert_eq!(unpack(&[ADDRESS, 1]), None);
    }

    proptest! {
        #[test]
        fn every_json_text_comes_back(parts in prop::collection::vec("\\PC{0,12}|0x[0-9a-f]{0,80}|0x[0-9a-fA-F]{38,42}|[0-9]{1,50}", 0..12)) {
            let text = parts.concat();
            prop_assert_eq!(unpack(&pack(&text)), Some(text));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes);
        }
    }
}
