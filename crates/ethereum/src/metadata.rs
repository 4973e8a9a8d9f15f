//! Reads names, symbols and decimals of tokens. Tokens are hostile: their answers are bounded and cleaned.

use alloy::sol_types::SolCall;
use braid_primitives::{Address, B256, Bytes, Token, U256};
use braid_protocols::Call;

use crate::{Node, NodeError};

/// Longest symbol, in characters; longer ones are cut.
pub const MAX_SYMBOL_CHARS: usize = 32;

/// Longest name, in characters; longer ones are cut.
pub const MAX_NAME_CHARS: usize = 96;

/// Most decimals of a token: 10^36 atomic units leave 40 digits of a 256-bit amount.
pub const MAX_DECIMALS: u8 = 36;

mod abi {
    alloy::sol! {
        function symbol() external view returns (string);
        function name() external view returns (string);
        function decimals() external view returns (uint8);
    }
}

const CALLS: usize = 3;

/// Reads tokens at a block; `None` for a token without usable decimals, whose pools are excluded.
pub(crate) async fn read_tokens(
    node: &Node,
    block_hash: B256,
    addresses: &[Address],
) -> Result<Vec<Option<Token>>, NodeError> {
    let calls = addresses.iter().flat_map(|address| {
        let data: [Bytes; CALLS] = [
            abi::symbolCall {}.abi_encode().into(),
            abi::nameCall {}.abi_encode().into(),
            abi::decimalsCall {}.abi_encode().into(),
        ];
        data.map(|data| Call { to: *address, data })
    });
    let answers = node.read(block_hash, calls.collect()).await?;
    let tokens = addresses.iter().zip(answers.chunks(CALLS)).map(|(address, answers)| token(*address, answers));
    Ok(tokens.collect())
}

fn token(address: Address, answers: &[Option<Bytes>]) -> Option<Token> {
    let [symbol, name, decimals] = answers else { return None };
    Some(Token {
        address,
        symbol: text(symbol.as_ref().map_or(&[], |answer| answer), MAX_SYMBOL_CHARS),
        name: text(name.as_ref().map_or(&[], |answer| answer), MAX_NAME_CHARS),
        decimals: decimals_of(decimals.as_ref()?)?,
    })
}

fn decimals_of(answer: &[u8]) -> Option<u8> {
    let word = answer.get(..32)?;
    u8::try_from(U256::from_be_slice(word)).ok().filter(|decimals| *decimals <= MAX_DECIMALS)
}

/// Decodes a text: an ABI `string`, or a `bytes32` padded with zeros (MKR and others). Cuts it to `max_chars`
/// characters, and removes control characters and those that reorder or hide text. Empty if there is none.
fn text(answer: &[u8], max_chars: usize) -> String {
    // At most four bytes per character, and as many again for dropped ones.
    let bytes = raw_text(answer);
    let bytes = bytes.get(..max_chars * 8).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let kept: String = text.chars().filter(|c| is_plain(*c)).collect();
    let cut: String = kept.trim().chars().take(max_chars).collect();
    cut.trim_end().to_owned()
}

fn raw_text(answer: &[u8]) -> &[u8] {
    if answer.len() < 64 {
        let end = answer.iter().position(|byte| *byte == 0).unwrap_or(answer.len());
        return answer.get(..end.min(32)).unwrap_or_default();
    }
    let word =
        |at: usize| answer.get(at..at.checked_add(32)?).and_then(|w| usize::try_from(U256::from_be_slice(w)).ok());
    let Some(start) = word(0) else { return &[] };
    let Some(length) = word(start) else { return &[] };
    let Some(body) = start.checked_add(32).and_then(|start| answer.get(start..)) else { return &[] };
    body.get(..length).unwrap_or(body)
}

fn is_plain(c: char) -> bool {
    let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffd}' | '\u{ad}');
    let tags = matches!(c, '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffc}' | '\u{61c}' | '\u{180e}');
    !c.is_control() && !hides && !tags
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolValue;
    use proptest::prelude::*;

    use super::*;

    fn decimals(answer: &[u8]) -> Option<u8> {
        let answers = [None, None, Some(Bytes::copy_from_slice(answer))];
        token(Address::ZERO, &answers).map(|token| token.decimals)
    }

    #[test]
    fn a_symbol_is_read_as_string_or_as_bytes32() {
        assert_eq!(text(&"USDC".abi_encode(), MAX_SYMBOL_CHARS), "USDC");
        let mut padded = [0u8; 32];
        padded[..3].copy_from_slice(b"MKR");
        assert_eq!(text(&padded, MAX_SYMBOL_CHARS), "MKR");
        assert_eq!(text(&"₮ether 🚀".abi_encode(), MAX_SYMBOL_CHARS), "₮ether 🚀");
    }

    #[test]
    fn a_symbol_of_ten_megabytes_is_cut() {
        let long = "A".repeat(10 << 20).abi_encode();
        assert_eq!(text(&long, MAX_SYMBOL_CHARS), "A".repeat(MAX_SYMBOL_CHARS));
    }

    #[test]
    fn characters_that_deceive_are_removed() {
        let sly = "U\u{0}S\n\u{202e}D\u{200b}C\u{1b}[31m".abi_encode();
        assert_eq!(text(&sly, MAX_SYMBOL_CHARS), "USDC[31m");
    }

    #[test]
    fn a_token_without_usable_decimals_is_no_token() {
        assert_eq!(decimals(&U256::from(18).abi_encode()), Some(18));
        assert_eq!(decimals(&U256::from(0).abi_encode()), Some(0));
        assert_eq!(decimals(&U256::from(MAX_DECIMALS).abi_encode()), Some(MAX_DECIMALS));
        assert_eq!(decimals(&U256::from(77).abi_encode()), None);
        assert_eq!(decimals(&U256::MAX.abi_encode()), None);
        assert_eq!(decimals(&[]), None, "an account without code");
        assert_eq!(token(Address::ZERO, &[None, None, None]), None, "a call that reverts");
    }

    #[test]
    fn a_token_without_a_symbol_is_still_a_token() {
        let token = token(Address::ZERO, &[None, Some(Bytes::new()), Some(U256::from(6).abi_encode().into())]).unwrap();
        assert_eq!((token.symbol.as_str(), token.name.as_str(), token.decimals), ("", "", 6));
    }

    proptest! {
        #[test]
        fn no_answer_whatever_panics_or_grows(answer in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(text(&answer, MAX_NAME_CHARS).chars().count() <= MAX_NAME_CHARS);
            prop_assert!(text(&answer, MAX_NAME_CHARS).chars().all(is_plain));
            decimals_of(&answer);
        }

        #[test]
        fn an_offset_or_length_that_lies_is_survived(offset in any::<u64>(), length in any::<u64>()) {
            let mut answer = U256::from(offset).abi_encode();
            answer.extend(U256::from(length).abi_encode());
            answer.extend([b'x'; 32]);
            prop_assert!(text(&answer, MAX_SYMBOL_CHARS).chars().count() <= MAX_SYMBOL_CHARS);
        }
    }
}
