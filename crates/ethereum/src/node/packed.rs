//! Encodes many calls as one in the lens's packed form, which takes a tenth of Multicall3's bytes. Pure.
//!
//! ABI encoding pads everything to words, and JSON doubles it: four bytes of calldata with an answer of one byte take
//! 700 characters through Multicall3. The packed form lists each contract once, and omits leading zeros of words;
//! `contracts/lens/Lens.sol` describes it.

use std::collections::HashMap;

use braid_primitives::{Address, Bytes};
use braid_protocols::{Call, lens};

/// Number of calls from which the lens's code, sent with every such message, takes less than the padding of Multicall3.
pub(super) const MIN_CALLS: usize = 8;

/// Marks a call that failed.
const FAILED: u8 = 255;

/// Marks an answer that does not consist of words, or of too many.
const RAW_ANSWER: u8 = 254;

/// Marks calldata that does not consist of a selector and words, or of too many.
const RAW_CALLDATA: u8 = 255;

const WORD: usize = 32;

/// Encodes the calldata that makes all `calls` in order; `None` if they do not fit the form.
pub(super) fn encode(calls: &[Call]) -> Option<Bytes> {
    let mut table: Vec<Address> = Vec::new();
    let mut places: HashMap<Address, u16> = HashMap::new();
    let mut records = Vec::new();
    for call in calls {
        let place = match places.get(&call.to) {
            Some(place) => *place,
            None => {
                let place = u16::try_from(table.len()).ok()?;
                table.push(call.to);
                *places.entry(call.to).or_insert(place)
            }
        };
        records.extend(place.to_be_bytes());
        encode_calldata(&call.data, &mut records)?;
    }
    let contracts = u16::try_from(table.len()).ok()?;
    let mut data = lens::CALL_ALL.to_vec();
    data.extend(contracts.to_be_bytes());
    data.extend(table.iter().flat_map(|address| address.0));
    data.extend(records);
    Some(data.into())
}

fn encode_calldata(calldata: &[u8], records: &mut Vec<u8>) -> Option<()> {
    let as_words = calldata.split_at_checked(4).filter(|(_, words)| words.len().is_multiple_of(WORD));
    let counted = as_words.and_then(|(selector, words)| {
        let count = u8::try_from(words.len() / WORD).ok().filter(|count| *count < RAW_CALLDATA)?;
        Some((count, selector, words))
    });
    let Some((count, selector, words)) = counted else {
        records.push(RAW_CALLDATA);
        records.extend(u16::try_from(calldata.len()).ok()?.to_be_bytes());
        records.extend(calldata);
        return Some(());
    };
    records.push(count);
    records.extend(selector);
    for word in words.chunks_exact(WORD) {
        let zeros = word.iter().take_while(|byte| **byte == 0).count();
        let significant = word.get(zeros..)?;
        records.push(u8::try_from(significant.len()).ok()?);
        records.extend(significant);
    }
    Some(())
}

/// Decodes the answers in order, `None` for a call that reverted. Returns `None` if the bytes are no such answer.
pub(super) fn decode(bytes: &[u8], expected: usize) -> Option<Vec<Option<Bytes>>> {
    let mut rest = bytes;
    let mut answers = Vec::with_capacity(expected);
    for _ in 0..expected {
        let answer = match take(&mut rest, 1)? {
            [FAILED] => None,
            [RAW_ANSWER] => {
                let [high, middle, low] = take(&mut rest, 3)? else { return None };
                let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
                Some(Bytes::copy_from_slice(take(&mut rest, length)?))
            }
            [words] => {
                let mut answer = Vec::with_capacity(usize::from(*words) * WORD);
                for _ in 0..*words {
                    let [length] = take(&mut rest, 1)? else { return None };
                    let significant = take(&mut rest, usize::from(*length))?;
                    answer.resize(answer.len() + WORD.checked_sub(significant.len())?, 0);
                    answer.extend(significant);
                }
                Some(answer.into())
            }
            _ => return None,
        };
        answers.push(answer);
    }
    rest.is_empty().then_some(answers)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(to: u8, data: &[u8]) -> Call {
        Call { to: Address::repeat_byte(to), data: data.to_vec().into() }
    }

    #[test]
    fn a_contract_is_named_once_and_words_go_without_zeros() {
        let word = |last: u8| [&[0u8; 31][..], &[last]].concat();
        let asked = [&[1, 2, 3, 4][..], &word(7), &word(0)].concat();
        let packed = encode(&[call(9, &asked), call(9, &[5, 6, 7, 8]), call(9, &[1])]).unwrap();
        let expected = [
            &lens::CALL_ALL[..],
            &[0, 1],
            &[9; 20],
            &[0, 0, 2, 1, 2, 3, 4, 1, 7, 0],
            &[0, 0, 0, 5, 6, 7, 8],
            &[0, 0, 255, 0, 1, 1],
        ];
        assert_eq!(packed, expected.concat());
    }

    #[test]
    fn calldata_that_is_too_long_for_the_form_is_refused() {
        assert!(encode(&[call(1, &vec![0; 65_535])]).is_some());
        assert!(encode(&[call(1, &vec![0; 65_537])]).is_none());
        assert!(encode(&[call(1, &vec![0; 4 + 254 * 32])]).unwrap().len() < 400);
    }

    #[test]
    fn an_answer_is_whole_or_none() {
        let answer = [1, 1, 9, 255, 0, 254, 0, 0, 2, 3, 4];
        let word = Bytes::from([&[0u8; 31][..], &[9]].concat());
        let expected = vec![Some(word), None, Some(Bytes::new()), Some(Bytes::from_static(&[3, 4]))];
        assert_eq!(decode(&answer, 4).unwrap(), expected);
        for cut in 0..answer.len() {
            assert_eq!(decode(&answer[..cut], 4), None, "{cut}");
        }
        assert_eq!(decode(&answer, 3), None, "more than was asked for");
        assert_eq!(decode(&[1, 33], 1), None);
        assert_eq!(decode(&[&[1, 33][..], &[1; 33]].concat(), 1), None, "longer than a word");
    }
}
