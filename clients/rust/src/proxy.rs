//! The calls by which the execution proxy swaps.

use alloy_sol_types::{SolInterface as _, sol};

sol! {
    struct Input { address token; uint256 amount; }
    struct Output { address token; uint256 minimum; }
    struct Order {
        Input[] inputs; Output[] outputs; address recipient; uint256 deadline; address partner; uint16 partnerFeeBps;
        bool partnerFeeOnOutput;
    }
    struct Swap { address tokenIn; uint256 amountIn; address tokenOut; uint256 amountOut; address recipient; uint256 deadline; }
    struct Permit { address owner; uint256 nonce; uint256 deadline; address sender; }

    interface Proxy {
        function execute(Order order, bytes program) external payable returns (uint256[] received);
        function executeWithPermit2(Order order, bytes program, Permit permit, bytes signature) external payable returns (uint256[] received);
        function swap(Swap order, bytes path) external payable returns (uint256 amount);
        function swapWithPermit2(Swap order, bytes path, Permit permit, bytes signature) external returns (uint256 amount);
    }
}

/// Returns whether calldata is of one of them.
pub(crate) fn is_call_of_proxy(data: &[u8]) -> bool {
    Proxy::ProxyCalls::abi_decode(data).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloy::json_abi::JsonAbi;
    use alloy_primitives::Address;
    use serde_json::Value;

    use super::Proxy::ProxyCalls;
    use crate::Braid;

    #[test]
    fn address_and_calls_are_those_of_the_contract() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/artifacts/ExecutionProxy.json");
        let artifact: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let address: Address = artifact["address"].as_str().unwrap().parse().unwrap();
        assert_eq!(Braid::new("").proxy(), address);
        let abi: JsonAbi = serde_json::from_value(artifact["abi"].clone()).unwrap();
        let swaps = abi.functions().filter(|function| function.name != "balancerV3UnlockCallback");
        let mut selectors: Vec<[u8; 4]> = swaps.map(|function| function.selector().0).collect();
        selectors.sort_unstable();
        assert_eq!(ProxyCalls::SELECTORS, selectors);
    }
}
