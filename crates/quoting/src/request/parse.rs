//! Parses values from text.

use braid_primitives::{Address, B256, NATIVE_ETHER, U256, is_native_ether};
use uuid::Uuid;

/// A token as the client named it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedToken {
    /// The token; ether is [`NATIVE_ETHER`].
    pub address: Address,
    /// The address that the client used: the zero address may stand for ether. Answers use the same form.
    pub shown: Address,
}

impl AskedToken {
    /// Returns a token from the address that a client used.
    pub fn new(shown: Address) -> Self {
        let address = if is_native_ether(shown) { NATIVE_ETHER } else { shown };
        Self { address, shown }
    }
}

/// A reason for which a text is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressError {
    /// Not 0x and 40 hex digits.
    Shape,
    /// Mixed case without the right checksum.
    Checksum,
}

/// Reads an address, after 0x or 0X: digits of one case throughout, or of mixed case with the checksum of EIP-55.
pub(super) fn parse_address(text: &str) -> Result<Address, AddressError> {
    let digits = hex_digits(text, 40).ok_or(AddressError::Shape)?;
    let address: Address = digits.parse().map_err(|_| AddressError::Shape)?;
    let lower = digits.bytes().any(|byte| byte.is_ascii_lowercase());
    let upper = digits.bytes().any(|byte| byte.is_ascii_uppercase());
    if lower && upper && address.to_checksum(None).strip_prefix("0x") != Some(digits) {
        return Err(AddressError::Checksum);
    }
    Ok(address)
}

/// Reads the id of a pool, after 0x or 0X.
pub(super) fn parse_pool_id(text: &str) -> Option<B256> {
    hex_digits(text, 64)?.parse().ok()
}

/// Returns the digits after 0x or 0X; `None` unless there are so many, all hexadecimal.
fn hex_digits(text: &str, count: usize) -> Option<&str> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    (digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

/// Reads a positive decimal integer below 2^256 without sign, leading zero, point or exponent.
pub(super) fn parse_amount(text: &str) -> Option<U256> {
    // 2^256 - 1 has 78 digits
    let plain = !text.is_empty() && text.len() <= 78 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || text.starts_with('0') {
        return None;
    }
    U256::from_str_radix(text, 10).ok()
}

/// Reads a UUID in its usual form, with dashes.
pub fn parse_quote_id(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USDC: &str = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";

    #[test]
    fn one_case_or_the_checksum() {
        let expected = USDC.parse::<Address>().unwrap();
        let upper = format!("0x{}", USDC[2..].to_uppercase());
        let with_upper_prefix = USDC.replace("0x", "0X");
        for text in [USDC, &USDC.to_lowercase(), &upper, &USDC.to_uppercase(), &with_upper_prefix] {
            assert_eq!(parse_address(text), Ok(expected), "{text}");
        }
        let wrong = USDC.replace('b', "B");
        assert_eq!(parse_address(&wrong), Err(AddressError::Checksum));
    }

    #[test]
    fn what_is_no_address() {
        for text in ["", "0x", "USDC", &USDC[..41], &USDC[2..], "0X0b", &format!("{USDC}0"), "0xzz"] {
            assert_eq!(parse_address(text), Err(AddressError::Shape), "{text}");
        }
    }

    #[test]
    fn what_is_a_pools_id() {
        let id = B256::repeat_byte(0xab);
        let digits = id.to_string().split_off(2);
        for text in [format!("0x{digits}"), format!("0X{digits}"), format!("0x{}", digits.to_uppercase())] {
            assert_eq!(parse_pool_id(&text), Some(id), "{text}");
        }
        for text in [digits.clone(), format!("0x0x{}", &digits[2..]), format!("0x{digits}0"), "0x12".into()] {
            assert_eq!(parse_pool_id(&text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount() {
        let too_large =
            (U256::MAX.to_string(), "115792089237316195423570985008687907853269984665640564039457584007913129639936");
        assert_eq!(parse_amount(&too_large.0), Some(U256::MAX));
        for text in [
            "",
            "0",
            "00",
            "01",
            "-1",
            "+1",
            "1.0",
            "1e6",
            "0x10",
            " 1",
            "1 ",
            "1_0",
            "١",
            too_large.1,
            &"9".repeat(400),
        ] {
            assert_eq!(parse_amount(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_amount_is_read_back(limbs in any::<[u64; 4]>()) {
            let value = U256::from_limbs(limbs);
            prop_assume!(!value.is_zero());
            prop_assert_eq!(parse_amount(&value.to_string()), Some(value));
        }

        #[test]
        fn every_checksummed_address_is_read_back(bytes in any::<[u8; 20]>()) {
            let address = Address::from(bytes);
            prop_assert_eq!(parse_address(&address.to_checksum(None)), Ok(address));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in "\\PC{0,80}") {
            let _ = (parse_address(&text), parse_amount(&text));
        }
    }
}
