//! Reads addresses that a person writes, with their checksum.

use braid_primitives::Address;

/// Length of an address, with 0x.
const LENGTH: usize = 42;

/// Parses an address. Digits in one case have no checksum; in mixed case they must have the one of EIP-55.
///
/// # Errors
/// If the text is no address, or its checksum is wrong: then a digit may be mistyped.
pub(crate) fn parse(text: &str) -> Result<Address, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = digits.filter(|digits| text.len() == LENGTH && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let (Some(digits), Ok(address)) = (digits, text.to_ascii_lowercase().parse::<Address>()) else {
        return Err(format!("{text:?} is no address: write 0x and 40 hexadecimal digits{}", length(text)));
    };
    let has = |is: fn(&u8) -> bool| digits.as_bytes().iter().any(is);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    if is_mixed && address.to_checksum(None)[2..] != *digits {
        return Err(format!(
            "the checksum of {text} is wrong, so a digit may be mistyped: copy the address again, or write it in small letters if it is right"
        ));
    }
    Ok(address)
}

/// Says how many digits there are, if that is what is wrong.
fn length(text: &str) -> String {
    let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits.map_or_else(String::new, |digits| format!("; it has {}", digits.len()))
}

/// Returns whether a text is meant as an address, and not as a symbol.
pub(crate) fn is_meant(text: &str) -> bool {
    text.starts_with("0x") && text.len() > 10 || text.len() == LENGTH && text.starts_with("0X")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_checksum_and_a_missing_digit_are_found() {
        let usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
        let address: Address = usdc.parse().unwrap();
        for text in [usdc, &usdc.to_ascii_lowercase(), &format!("0x{}", usdc[2..].to_ascii_uppercase())] {
            assert_eq!(parse(text), Ok(address), "{text}");
        }
        let told = |text: &str| parse(text).unwrap_err();
        assert!(told("0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48").contains("the checksum of 0xa0b8"));
        assert!(told("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB49").contains("small letters"));
        assert!(told(&usdc[..41]).ends_with(": write 0x and 40 hexadecimal digits; it has 39"));
        assert_eq!(told("bob"), "\"bob\" is no address: write 0x and 40 hexadecimal digits");
        for text in ["", "0x", "vitalik.eth", "0xzz", "A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xé"] {
            assert!(told(text).contains("is no address"), "{text}");
        }
    }
}
