//! Many calls in one: `Multicall3.aggregate3`, with every call allowed to fail.

use alloy::sol_types::SolCall;
use braid_primitives::{Address, Bytes, address};
use braid_protocols::{Call, lens};

/// Multicall3 at the address it has on mainnet and most other chains.
pub const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// Most calls in one aggregate.
pub(crate) const MAX_CALLS: usize = 1_000;

/// Most calldata in one aggregate, in bytes.
pub(crate) const MAX_CALLDATA_BYTES: usize = 256 * 1024;

/// Most gas that the lens may take in one aggregate, in gas units: nodes allow 50 million a call.
pub(crate) const MAX_LENS_GAS: u64 = 30_000_000;

mod abi {
    alloy::sol! {
        struct Call3 { address target; bool allowFailure; bytes callData; }
        struct Result { bool success; bytes returnData; }
        function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData);
    }
}

/// The calldata that makes all `calls` in order.
pub(crate) fn encode(calls: &[Call]) -> Bytes {
    let calls = calls
        .iter()
        .map(|call| abi::Call3 { target: call.to, allowFailure: true, callData: call.data.clone() })
        .collect();
    abi::aggregate3Call { calls }.abi_encode().into()
}

/// The answers in order; `None` for a call that reverted. `None` as a whole where the bytes are no such answer.
pub(crate) fn decode(bytes: &[u8], expected: usize) -> Option<Vec<Option<Bytes>>> {
    let results = abi::aggregate3Call::abi_decode_returns(bytes).ok()?;
    let answers = results.into_iter().map(|r| r.success.then_some(r.returnData));
    Some(answers.collect()).filter(|answers: &Vec<_>| answers.len() == expected)
}

/// Cuts calls into runs that respect both limits; a call that is larger than the limit stands alone.
pub(crate) fn chunks(calls: &[Call]) -> Vec<&[Call]> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes, mut gas) = (0, 0usize, 0u64);
    for (index, call) in calls.iter().enumerate() {
        // address, flag, offset, length and padding of one entry
        let size = call.data.len().saturating_add(192);
        let lens_gas = lens::gas_units(call);
        let full = index - start == MAX_CALLS
            || bytes.saturating_add(size) > MAX_CALLDATA_BYTES
            || gas.saturating_add(lens_gas) > MAX_LENS_GAS;
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
            let cut = chunks(&calls);
            assert_eq!(cut.concat(), calls);
            assert!(cut.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= MAX_CALLS));
            let bytes = |chunk: &[Call]| chunk.iter().map(|c| c.data.len() + 192).sum::<usize>();
            assert!(cut.iter().all(|chunk| chunk.len() == 1 || bytes(chunk) <= MAX_CALLDATA_BYTES));
        }
    }

    #[test]
    fn calls_of_the_lens_share_an_aggregate_as_far_as_gas_goes() {
        let calls = vec![lens::read(Address::ZERO, 60, -58, 57); 100];
        let cut = chunks(&calls);
        assert_eq!(cut.concat(), calls);
        assert!(cut.iter().all(|chunk| chunk.iter().map(lens::gas_units).sum::<u64>() <= MAX_LENS_GAS));
        assert!(cut.len() < 5, "{}", cut.len());
        assert_eq!(chunks(&vec![lens::read(Address::ZERO, 1, -3_466, 3_465); 3]).len(), 3, "a whole word range each");
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
