//! The order: what the proxy enforces, whatever the program does.

use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_routing::Route;
pub use braid_routing::machine::MAX_AMOUNT;
use serde::{Deserialize, Serialize};

use crate::partner::{MAX_PARTNER_FEE_BPS, PartnerFee};

/// The most tokens that an order and its program may name together.
pub const MAX_TOKENS: usize = 255;

/// A token and an amount of it in atomic units: an input's amount, or an output's minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAmount {
    /// Contract address; [`NATIVE_ETHER`] for ether.
    pub token: Address,
    /// Atomic units.
    pub amount: U256,
}

/// What the proxy enforces (`docs/internals/program.md`, section 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Taken exactly, or what is not used returned to the payer.
    pub inputs: Vec<TokenAmount>,
    /// The least that the recipient must gain of each output, after the partner fee.
    pub outputs: Vec<TokenAmount>,
    /// Who is paid.
    pub recipient: Address,
    /// Unix seconds: the last second at which the order may run.
    pub deadline: u64,
    /// Paid in the same call, if any.
    pub partner_fee: Option<PartnerFee>,
}

/// Why the proxy would refuse an order before anything moves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// There is nothing to sell or nothing to buy.
    #[error("an order needs inputs and outputs, got {inputs} and {outputs}")]
    Empty {
        /// How many inputs.
        inputs: usize,
        /// How many outputs.
        outputs: usize,
    },
    /// More tokens than an index of one byte can name.
    #[error("{got} tokens in one order, at most {MAX_TOKENS}")]
    TooManyTokens {
        /// How many.
        got: usize,
    },
    /// The recipient is nobody.
    #[error("the recipient is the zero address or the proxy itself: {0}")]
    InvalidRecipient(Address),
    /// The partner is nobody.
    #[error("the partner is the zero address or the proxy itself: {0}")]
    InvalidPartner(Address),
    /// The partner asks for too much.
    #[error("a partner fee of {got_bps} bps, at most {MAX_PARTNER_FEE_BPS}")]
    PartnerFeeTooHigh {
        /// What was asked for.
        got_bps: u16,
    },
    /// An amount of zero, or beyond 128 bits.
    #[error("input {index} has amount {got}, expected 1 to 2^128 - 1")]
    InvalidInputAmount {
        /// Position among the inputs.
        index: usize,
        /// Its amount.
        got: U256,
    },
    /// A minimum that protects nobody.
    #[error("output {index} has a minimum of zero")]
    ZeroMinimum {
        /// Position among the outputs.
        index: usize,
    },
    /// A token twice, among inputs and outputs together.
    #[error("token {0} is named twice")]
    DuplicateToken(Address),
}

impl Order {
    /// Checks every rule that the proxy checks before anything moves, except the deadline, which needs a clock.
    ///
    /// # Errors
    /// The first rule broken, in the order of the variants.
    pub fn validate(&self) -> Result<(), OrderError> {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        if inputs == 0 || outputs == 0 {
            return Err(OrderError::Empty { inputs, outputs });
        }
        if inputs + outputs > MAX_TOKENS {
            return Err(OrderError::TooManyTokens { got: inputs + outputs });
        }
        let nobody = |who: Address| who == Address::ZERO || who == crate::proxy::address();
        if nobody(self.recipient) {
            return Err(OrderError::InvalidRecipient(self.recipient));
        }
        if let Some(fee) = self.partner_fee {
            if fee.bps > MAX_PARTNER_FEE_BPS {
                return Err(OrderError::PartnerFeeTooHigh { got_bps: fee.bps });
            }
            if fee.bps > 0 && nobody(fee.recipient) {
                return Err(OrderError::InvalidPartner(fee.recipient));
            }
        }
        for (index, input) in self.inputs.iter().enumerate() {
            if input.amount.is_zero() || input.amount > MAX_AMOUNT {
                return Err(OrderError::InvalidInputAmount { index, got: input.amount });
            }
        }
        if let Some(index) = self.outputs.iter().position(|output| output.amount.is_zero()) {
            return Err(OrderError::ZeroMinimum { index });
        }
        let tokens: Vec<Address> = self.tokens().collect();
        for (index, token) in tokens.iter().enumerate() {
            if tokens.iter().take(index).any(|earlier| earlier == token) {
                return Err(OrderError::DuplicateToken(*token));
            }
        }
        Ok(())
    }

    /// Returns the order with what a purchase along a route sells in place of the most that it may sell.
    pub(crate) fn sold_along(&self, route: &Route) -> Self {
        let sold = route.steps.first().map(|step| step.amount_in).unwrap_or_default();
        let inputs = self.inputs.iter().map(|input| TokenAmount { amount: sold, ..*input }).collect();
        Self { inputs, ..self.clone() }
    }

    /// Returns the tokens of the order in the order of the program's token indices: inputs, then outputs.
    pub fn tokens(&self) -> impl Iterator<Item = Address> + '_ {
        self.inputs.iter().chain(&self.outputs).map(|entry| entry.token)
    }

    /// `transaction.value` in wei: the amount of the native input, or zero.
    pub fn value_wei(&self) -> U256 {
        self.inputs.iter().find(|input| input.token == NATIVE_ETHER).map_or(U256::ZERO, |input| input.amount)
    }

    /// Returns the inputs that need an allowance or a Permit2 signature: all but native ether.
    pub fn erc20_inputs(&self) -> impl Iterator<Item = &TokenAmount> {
        self.inputs.iter().filter(|input| input.token != NATIVE_ETHER)
    }

    /// Returns what an input leaves to the route once a partner fee on inputs is paid.
    pub fn input_after_fee(&self, input: &TokenAmount) -> U256 {
        self.partner_fee.map_or(input.amount, |fee| fee.after_input(input.amount))
    }

    /// Returns whether a partner is paid out of the outputs.
    pub fn has_output_fee(&self) -> bool {
        self.partner_fee.is_some_and(|fee| fee.on_output && fee.bps > 0)
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::{WETH, address};

    use super::*;

    const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
    const TAKER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

    fn entry(token: Address, amount: u64) -> TokenAmount {
        TokenAmount { token, amount: U256::from(amount) }
    }

    fn order() -> Order {
        Order {
            inputs: vec![entry(USDC, 1_000)],
            outputs: vec![entry(WETH, 1)],
            recipient: TAKER,
            deadline: 1,
            partner_fee: None,
        }
    }

    #[test]
    fn a_plain_order_is_valid() {
        assert_eq!(order().validate(), Ok(()));
    }

    #[test]
    fn every_rule_of_the_proxy_is_refused_here_first() {
        let fee = |bps, recipient| Some(PartnerFee { bps, recipient, on_output: false });
        let cases: Vec<(Order, OrderError)> = vec![
            (Order { inputs: vec![], ..order() }, OrderError::Empty { inputs: 0, outputs: 1 }),
            (Order { outputs: vec![], ..order() }, OrderError::Empty { inputs: 1, outputs: 0 }),
            (Order { recipient: Address::ZERO, ..order() }, OrderError::InvalidRecipient(Address::ZERO)),
            (
                Order { recipient: crate::proxy::address(), ..order() },
                OrderError::InvalidRecipient(crate::proxy::address()),
            ),
            (Order { partner_fee: fee(301, TAKER), ..order() }, OrderError::PartnerFeeTooHigh { got_bps: 301 }),
            (Order { partner_fee: fee(1, Address::ZERO), ..order() }, OrderError::InvalidPartner(Address::ZERO)),
            (
                Order { inputs: vec![entry(USDC, 0)], ..order() },
                OrderError::InvalidInputAmount { index: 0, got: U256::ZERO },
            ),
            (
                Order { inputs: vec![TokenAmount { token: USDC, amount: MAX_AMOUNT + U256::ONE }], ..order() },
                OrderError::InvalidInputAmount { index: 0, got: U256::ONE << 128 },
            ),
            (Order { outputs: vec![entry(WETH, 0)], ..order() }, OrderError::ZeroMinimum { index: 0 }),
            (Order { outputs: vec![entry(USDC, 1)], ..order() }, OrderError::DuplicateToken(USDC)),
            (Order { inputs: vec![entry(USDC, 1), entry(USDC, 1)], ..order() }, OrderError::DuplicateToken(USDC)),
        ];
        for (order, expected) in cases {
            assert_eq!(order.validate(), Err(expected));
        }
    }

    #[test]
    fn only_a_native_input_carries_value() {
        assert_eq!(order().value_wei(), U256::ZERO);
        let native = Order { inputs: vec![entry(USDC, 5), entry(NATIVE_ETHER, 7)], ..order() };
        assert_eq!(native.value_wei(), U256::from(7));
        assert_eq!(native.erc20_inputs().count(), 1);
    }
}
