//! The calls by which the execution proxy swaps.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolInterface as _, sol};

use self::Proxy::ProxyCalls;
use crate::{ETHER, EstimatedInput, EstimatedOutput, Quote, Terms};

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

/// What an order makes sure of.
pub(crate) struct Ordered {
    pub pays: Vec<(Address, U256)>,
    pub minimums: Vec<(Address, U256)>,
    pub recipient: Address,
}

/// Reads the order of a swap from its calldata; `None` where it is of another call.
pub(crate) fn order_of(data: &[u8]) -> Option<Ordered> {
    Some(match ProxyCalls::abi_decode(data).ok()? {
        ProxyCalls::execute(call) => call.order.into(),
        ProxyCalls::executeWithPermit2(call) => call.order.into(),
        ProxyCalls::swap(call) => call.order.into(),
        ProxyCalls::swapWithPermit2(call) => call.order.into(),
    })
}

impl From<Order> for Ordered {
    fn from(Order { inputs, outputs, recipient, .. }: Order) -> Self {
        Self {
            pays: inputs.into_iter().map(|input| (input.token, input.amount)).collect(),
            minimums: outputs.into_iter().map(|output| (output.token, output.minimum)).collect(),
            recipient,
        }
    }
}

impl From<Swap> for Ordered {
    fn from(Swap { tokenIn, amountIn, tokenOut, amountOut, recipient, .. }: Swap) -> Self {
        Self { pays: vec![(tokenIn, amountIn)], minimums: vec![(tokenOut, amountOut)], recipient }
    }
}

impl From<Terms> for Ordered {
    fn from(Terms { pays, minimums, recipient, .. }: Terms) -> Self {
        Self { pays, minimums, recipient }
    }
}

impl Ordered {
    /// Returns whether no more is taken than a quote says, and no less paid to its recipient than its minimums.
    pub(crate) fn keeps(&self, quote: &Quote) -> bool {
        // a quote names ether as it was asked for
        let named = |token: Address| if token.is_zero() { ETHER } else { token };
        let (inputs, outputs) = (&quote.estimated_inputs, &quote.estimated_outputs);
        let taken = |said: &EstimatedInput| self.pays.iter().find(|(token, _)| *token == named(said.token));
        // a signature takes no ether
        let takes = |said: &EstimatedInput| {
            taken(said).map_or(named(said.token) == ETHER, |(_, amount)| *amount <= said.maximum_amount)
        };
        let known = inputs.iter().filter(|said| taken(said).is_some()).count();
        let pays = |(said, (token, minimum)): (&EstimatedOutput, &(Address, U256))| {
            named(said.token) == *token && *minimum >= said.minimum_amount
        };
        self.recipient == quote.recipient
            && (self.pays.len(), self.minimums.len()) == (known, outputs.len())
            && inputs.iter().all(takes)
            && outputs.iter().zip(&self.minimums).all(pays)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloy::json_abi::JsonAbi;
    use alloy_primitives::Bytes;
    use alloy_sol_types::SolCall as _;
    use serde_json::Value;

    use super::*;
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

    #[test]
    fn an_order_is_the_quotes_whichever_call_it_is_in() {
        let (other, one) = (Address::with_last_byte(1), U256::from(1));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let answer = "/paths/~1v1~1quote/post/responses/200/content/application~1json/example/data";
        let mut quote: Quote = serde_json::from_value(document.pointer(answer).unwrap().clone()).unwrap();
        let (token_in, amount) = (quote.estimated_inputs[0].token, quote.estimated_inputs[0].maximum_amount);
        let (token_out, minimum) = (quote.estimated_outputs[0].token, quote.estimated_outputs[0].minimum_amount);
        let swap = Swap {
            tokenIn: token_in,
            amountIn: amount,
            tokenOut: token_out,
            amountOut: minimum,
            recipient: quote.recipient,
            deadline: one,
        };
        let order = |swap: Swap| Order {
            inputs: vec![Input { token: swap.tokenIn, amount: swap.amountIn }],
            outputs: vec![Output { token: swap.tokenOut, minimum: swap.amountOut }],
            recipient: swap.recipient,
            deadline: one,
            partner: Address::ZERO,
            partnerFeeBps: 0,
            partnerFeeOnOutput: false,
        };
        let permit = Permit { owner: other, nonce: one, deadline: one, sender: other };
        let calls = |swap: &Swap| {
            let (swap, bytes, permit) = (swap.clone(), Bytes::new(), permit.clone());
            let order = order(swap.clone());
            [
                Proxy::executeCall { order: order.clone(), program: bytes.clone() }.abi_encode(),
                Proxy::executeWithPermit2Call {
                    order,
                    program: bytes.clone(),
                    permit: permit.clone(),
                    signature: bytes.clone(),
                }
                .abi_encode(),
                Proxy::swapCall { order: swap.clone(), path: bytes.clone() }.abi_encode(),
                Proxy::swapWithPermit2Call { order: swap, path: bytes.clone(), permit, signature: bytes }.abi_encode(),
            ]
        };
        let keep = |swap: &Swap, quote: &Quote| calls(swap).map(|data| order_of(&data).unwrap().keeps(quote));
        assert_eq!(keep(&swap, &quote), [true; 4]);
        assert_eq!(keep(&Swap { amountIn: amount - one, amountOut: minimum + one, ..swap.clone() }, &quote), [true; 4]);
        for wrong in [
            Swap { recipient: other, ..swap.clone() },
            Swap { amountIn: amount + one, ..swap.clone() },
            Swap { tokenIn: other, ..swap.clone() },
            Swap { amountOut: minimum - one, ..swap.clone() },
            Swap { tokenOut: other, ..swap.clone() },
        ] {
            assert_eq!(keep(&wrong, &quote), [false; 4]);
        }
        let ordered = |inputs, outputs| {
            let data =
                Proxy::executeCall { order: Order { inputs, outputs, ..order(swap.clone()) }, program: Bytes::new() };
            order_of(&data.abi_encode()).unwrap()
        };
        let (input, output) = (Input { token: token_in, amount }, Output { token: token_out, minimum });
        assert!(!ordered(vec![input.clone(), Input { token: other, amount: one }], vec![output.clone()]).keeps(&quote));
        assert!(!ordered(vec![input.clone()], Vec::new()).keeps(&quote));
        assert!(!ordered(Vec::new(), vec![output.clone()]).keeps(&quote));
        assert!(!ordered(vec![input.clone(), input.clone()], vec![output.clone()]).keeps(&quote));
        // Ether comes with the transaction: a signature for the other tokens does not name it.
        let ether = EstimatedInput { token: Address::ZERO, ..quote.estimated_inputs[0].clone() };
        quote.estimated_inputs.push(ether);
        let both = vec![input.clone(), Input { token: ETHER, amount }];
        assert!(ordered(vec![input.clone()], vec![output.clone()]).keeps(&quote));
        assert!(ordered(both, vec![output.clone()]).keeps(&quote));
        assert!(!ordered(vec![Input { token: ETHER, amount }], vec![output.clone()]).keeps(&quote));
        assert!(!ordered(vec![input.clone(), input.clone()], vec![output]).keeps(&quote));
        quote.estimated_inputs.pop();
        quote.estimated_outputs[0].token = Address::ZERO;
        assert_eq!(keep(&Swap { tokenOut: ETHER, ..swap.clone() }, &quote), [true; 4]);
        assert_eq!(keep(&swap, &quote), [false; 4]);
    }
}
