//! Encodes many calls as one: `Multicall3.aggregate3`, with every call allowed to fail.

use alloy::sol_types::SolCall;
use braid_primitives::{Address, Bytes, address};
use braid_protocols::{Call, lens};

use super::limits::Limits;

/// Address of Multicall3 on mainnet and most other chains.
pub const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// Most calldata in one aggregate, in bytes.
const MAX_CALLDATA_BYTES: usize = 256 * 1024;

/// Bounds on one aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Calls.
    pub(super) calls: usize,
    /// Calldata, in bytes.
    pub(super) bytes: usize,
    /// Gas of the lens, in gas units.
    pub(super) lens_gas: u64,
}

impl Bounds {
    /// Returns the bounds that a node is known to accept.
    pub(super) fn of(limits: &Limits) -> Self {
        // Two hex digits a byte, besides the lens's code and the rest of the message.
        let body = usize::try_from(limits.bytes.now() / 2).unwrap_or(usize::MAX).saturating_sub(4_096);
        Self {
            calls: usize::try_from(limits.calls.now()).unwrap_or(usize::MAX),
            bytes: MAX_CALLDATA_BYTES.min(body),
            lens_gas: limits.lens_gas.now(),
        }
    }
}

mod abi {
    alloy::sol! {
        struct Call3 { address target; bool allowFailure; bytes callData; }
        struct Result { bool success; bytes returnData; }
        function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData);
    }
}

/// Encodes the calldata that makes all `calls` in order.
pub(crate) fn encode(calls: &[Call]) -> Bytes {
    let calls = calls
        .iter()
        .map(|call| abi::Call3 { target: call.to, allowFailure: true, callData: call.data.clone() })
        .collect();
    abi::aggregate3Call { calls }.abi_encode().into()
}

/// Decodes the answers in order, `None` for a call that reverted. Returns `None` if the bytes are no such answer.
pub(crate) fn decode(bytes: &[u8], expected: usize) -> Option<Vec<Option<Bytes>>> {
    let results = abi::aggregate3Call::abi_decode_returns(bytes).ok()?;
    let answers = results.into_iter().map(|r| r.success.then_some(r.returnData));
    Some(answers.collect()).filter(|answers: &Vec<_>| answers.len() == expected)
}

/// Cuts calls into chunks within all bounds; a call that exceeds a bound is alone.
pub(super) fn chunks(calls: &[Call], bounds: Bounds) -> Vec<&[Call]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes, mut gas) = (0, 0usize, 0u64);
    for (index, call) in calls.iter().enumerate() {
        // Address, flag, offset, length and padding of one entry.
        let size = call.data.len().saturating_add(192);
        let lens_gas = lens::gas_units(call);
        let full = index - start == bounds.calls
            || bytes.saturating_add(size) > bounds.bytes
            || gas.saturating_add(lens_gas) > bounds.lens_gas;
        if full && index > start {
            chunks.push(&calls[start..index]);
            (start, bytes, gas) = (index, 0, 0);
        }
        bytes = bytes.saturating_add(size);
        gas = gas.saturating_add(lens_gas);
    }
    if start < calls.len() {
        chunks.push(&calls[start..]);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolValue;

    use super::*;
    use crate::node::limits::Limits;

    fn bounds() -> Bounds {
        Bounds::of(&Limits::default())
    }

    fn call(bytes: usize) -> Call {
        Call { to: Address::ZERO, data: vec![0u8; bytes].into() }
    }

    #[test]
    fn the_selector_is_the_deployed_one() {
        assert_eq!(abi::aggregate3Call::SELECTOR, [0x82, 0xad, 0x56, 0xcb]);
    }

    #[test]
    fn chunks_keep_order_and_lose_nothing() {
        for sizes in [vec![], vec![4; 1], vec![36; 1_000], vec![50_000; 5], vec![200_000, 4, 200_000]] {
            let calls: Vec<Call> = sizes.iter().map(|size| call(*size)).collect();
            let cut = chunks(&calls, bounds());
            assert_eq!(cut.concat(), calls);
            assert!(cut.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= bounds().calls));
            let bytes = |chunk: &[Call]| chunk.iter().map(|c| c.data.len() + 192).sum::<usize>();
            assert!(cut.iter().all(|chunk| chunk.len() == 1 || bytes(chunk) <= MAX_CALLDATA_BYTES));
        }
    }

    #[test]
    fn calls_of_the_lens_share_an_aggregate_as_far_as_gas_goes() {
        let calls = vec![lens::read(Address::ZERO, 60, -58, 57); 100];
        let cut = chunks(&calls, bounds());
        assert_eq!(cut.concat(), calls);
        assert!(cut.iter().all(|chunk| chunk.iter().map(lens::gas_units).sum::<u64>() <= bounds().lens_gas));
        assert!(cut.len() < 5, "{}", cut.len());
        assert_eq!(
            chunks(&vec![lens::read(Address::ZERO, 1, -3_466, 3_465); 3], bounds()).len(),
            3,
            "a whole word range each"
        );
    }

    #[test]
    fn a_failed_call_is_none_and_an_empty_answer_is_not() {
        let results = vec![
            abi::Result { success: true, returnData: Bytes::from_static(&[1]) },
            abi::Result { success: false, returnData: Bytes::from_static(&[2]) },
            abi::Result { success: true, returnData: Bytes::new() },
        ];
        let bytes = (results,).abi_encode_params();
        let answers = decode(&bytes, 3).unwrap();
        assert_eq!(answers, [Some(Bytes::from_static(&[1])), None, Some(Bytes::new())]);
        assert!(decode(&bytes, 2).is_none(), "a wrong number of answers is no answer");
        assert!(decode(&[], 3).is_none(), "a chain without the contract answers nothing");
    }
}
