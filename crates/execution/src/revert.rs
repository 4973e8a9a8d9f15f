//! What a reverted execution says, in words.
//!
//! The proxy's own errors are decoded whole; inside those that carry a pool's or a token's reason, the reason is read
//! too: `Error(string)`, `Panic(uint256)`, or bare text as old tokens give it.

use alloy_sol_types::{SolError, SolInterface};
use braid_primitives::{Address, Bytes, U256};

use crate::abi::IExecutionProxy::{self as Proxy, IExecutionProxyErrors as Errors};

/// A decoded revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revert {
    /// The first four bytes of the data; `None` if there are fewer.
    pub selector: Option<[u8; 4]>,
    /// The error's name, if it is known.
    pub name: Option<String>,
    /// What happened, for a person.
    pub message: String,
    /// Which step of the program failed, counted from 0, where the error says so; settlement counts as the one after the
    /// last. [`Program::route_step`](crate::Program::route_step) has the route's step.
    pub step: Option<u64>,
}

/// Reads the data of a revert.
///
/// ```
/// # use braid_execution::revert::decode;
/// let revert = decode(&[]);
/// assert_eq!(revert.message, "it reverted without a reason");
/// ```
pub fn decode(data: &[u8]) -> Revert {
    let selector = data.first_chunk::<4>().copied();
    if let Ok(error) = Errors::abi_decode(data) {
        let (message, step) = proxy_error(&error, MOST_NESTED);
        let name = selector.and_then(Errors::name_by_selector).map(str::to_owned);
        return Revert { selector, name, message, step: step.and_then(|step| u64::try_from(step).ok()) };
    }
    let (name, message) = plain(data);
    Revert { selector, name, message, step: None }
}

/// Returns a standard error, bare text, or what is left when it is neither: a name and words.
fn plain(data: &[u8]) -> (Option<String>, String) {
    if data.is_empty() {
        return (None, "it reverted without a reason".into());
    }
    if let Ok(error) = alloy_sol_types::Revert::abi_decode(data) {
        return (Some("Error".into()), printable(&error.reason));
    }
    if let Ok(panic) = alloy_sol_types::Panic::abi_decode(data) {
        return (Some("Panic".into()), format!("panic code {:#04x}", panic.code));
    }
    if let Some((name, message)) = permit2_error(data) {
        return (Some(name.into()), message.into());
    }
    let text: Vec<u8> = data.iter().copied().filter(|byte| *byte != 0).collect();
    match std::str::from_utf8(&text) {
        Ok(text) if !text.is_empty() && text.chars().all(|c| !c.is_control()) => (None, printable(text)),
        _ => (None, format!("it reverted with {}", shortened(data))),
    }
}

mod permit2 {
    #![allow(missing_docs)]
    alloy_sol_types::sol! {
        error SignatureExpired(uint256 signatureDeadline);
        error InvalidNonce();
        error InvalidSigner();
        error InvalidSignature();
        error InvalidSignatureLength();
        error InvalidContractSignature();
        error InvalidAmount(uint256 maxAmount);
        error LengthMismatch();
    }
}

/// Returns the errors of Permit2 that a signed transfer can meet.
fn permit2_error(data: &[u8]) -> Option<(&'static str, &'static str)> {
    let selector = *data.first_chunk::<4>()?;
    let known = [
        (permit2::SignatureExpired::SELECTOR, "SignatureExpired", "the Permit2 signature is past its deadline"),
        (permit2::InvalidNonce::SELECTOR, "InvalidNonce", "the Permit2 nonce is used: the signature was sent before"),
        (permit2::InvalidSigner::SELECTOR, "InvalidSigner", "the Permit2 signature is not the owner's for this order"),
        (permit2::InvalidSignature::SELECTOR, "InvalidSignature", "the Permit2 signature is malformed"),
        (permit2::InvalidSignatureLength::SELECTOR, "InvalidSignatureLength", "the Permit2 signature is malformed"),
        (
            permit2::InvalidContractSignature::SELECTOR,
            "InvalidContractSignature",
            "the owner's contract does not accept the Permit2 signature",
        ),
        (permit2::InvalidAmount::SELECTOR, "InvalidAmount", "the Permit2 signature is for a smaller amount"),
        (permit2::LengthMismatch::SELECTOR, "LengthMismatch", "the Permit2 signature is for other tokens"),
    ];
    known.into_iter().find(|(known, _, _)| *known == selector).map(|(_, name, message)| (name, message))
}

/// Longest text that is repeated from a contract, in characters.
const MOST_TEXT: usize = 200;

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MOST_TEXT).collect()
}

fn shortened(data: &[u8]) -> String {
    let shown = Bytes::copy_from_slice(data.get(..32).unwrap_or(data));
    if data.len() > 32 { format!("{shown}… ({} bytes)", data.len()) } else { shown.to_string() }
}

/// Most errors inside one another that are read. The proxy cuts reasons so short that they hold fewer; a token or a
/// wallet may answer with any number.
const MOST_NESTED: usize = 8;

/// Returns the reason inside another error: an error of the proxy's own callbacks, with at most `nested` others inside
/// one another, or a plain one.
fn reason(data: &[u8], nested: usize) -> String {
    let inner = nested.checked_sub(1).and_then(|left| Some(proxy_error(&Errors::abi_decode(data).ok()?, left).0));
    inner.unwrap_or_else(|| plain(data).1)
}

fn proxy_error(error: &Errors, nested: usize) -> (String, Option<U256>) {
    use Errors as E;
    let reason = |data: &[u8]| reason(data, nested);
    let named = |address: &Address| address.to_checksum(None);
    let at = |step: U256| (step != U256::MAX).then_some(step);
    match error {
        E::WrongChain(e) => (format!("the proxy runs on chain {}, this is chain {}", e.expected, e.got), None),
        E::WrongSender(e) => {
            (format!("the signature lets {} send the order, {} did", named(&e.expected), named(&e.got)), None)
        }
        E::UnknownCall(e) => (format!("the proxy has no call {}", e.selector), None),
        E::UnknownPath(e) => (format!("no path begins with {:#04x}", e.kind), None),
        E::UnknownFactory(e) => (format!("no factory has the number {}", e.factory), at(e.step)),
        E::InputAboveMaximum(e) => (format!("it costs {}, the most is {}", e.got, e.maximum), None),
        E::NotEnoughGas(_) => ("too little gas is left to pay the partner".into(), None),
        E::OutputMissed(e) => (format!("{} came out, {} was to be bought", e.got, e.expected), at(e.step)),
        E::Reentered(_) => ("the proxy was called while an order runs".into(), None),
        E::DeadlinePassed(Proxy::DeadlinePassed { deadline, timestamp }) => {
            (format!("the deadline {deadline} has passed: the block's time is {timestamp}"), None)
        }
        E::EmptyOrder(e) => (format!("the order has {} inputs and {} outputs", e.inputs, e.outputs), None),
        E::TooManyTokens(e) => (format!("{} tokens, at most {} are possible", e.got, e.maximum), None),
        E::InvalidRecipient(e) => (format!("{} cannot be the recipient", named(&e.recipient)), None),
        E::InvalidPartner(e) => (format!("{} cannot be paid the partner fee", named(&e.partner)), None),
        E::PartnerFeeTooHigh(e) => (format!("a partner fee of {} bps, at most {}", e.gotBps, e.maximumBps), None),
        E::InvalidInputAmount(e) => (format!("input {} has the amount {}, 1 to {}", e.index, e.got, e.maximum), None),
        E::ZeroMinimum(e) => (format!("output {} has no minimum", e.index), None),
        E::DuplicateToken(e) => (format!("{} stands twice in the order", named(&e.token)), None),
        E::ValueMismatch(e) => (format!("{} wei sent, expected {}", e.gotWei, e.expectedWei), None),
        E::NothingToPermit(_) => ("there is no token to permit".into(), None),
        E::ProgramTruncated(e) => (format!("the program ends at {}, needed {}", e.length, e.needed), at(e.step)),
        E::UnknownOpcode(e) => (format!("no step has the opcode {:#04x}", e.opcode), at(e.step)),
        E::UnknownToken(e) => (format!("token {} of {}", e.index, e.count), at(e.step)),
        E::WrongToken(e) => (format!("token {}, expected {}", named(&e.got), named(&e.expected)), at(e.step)),
        E::InvalidDestination(e) => (format!("the step cannot pay to destination {}", e.to), at(e.step)),
        E::NotPrepayable(e) => (format!("a step of opcode {:#04x} cannot be paid ahead", e.opcode), at(e.step)),
        E::InvalidFee(e) => (format!("a pool fee of {} bps, below {}", e.gotBps, e.limitBps), at(e.step)),
        E::NothingAtHand(e) => (format!("nothing is left of {}", named(&e.token)), at(e.step)),
        E::AmountTooLarge(e) => (format!("the amount {} is above {}", e.got, e.maximum), at(e.step)),
        E::PoolCallFailed(e) => (format!("pool {} refused: {}", named(&e.pool), reason(&e.reason)), at(e.step)),
        E::InvalidPoolAnswer(e) => (format!("pool {} gave an impossible answer", named(&e.pool)), at(e.step)),
        E::CallbackMissing(e) => (format!("pool {} did not ask for its input", named(&e.pool)), at(e.step)),
        E::UnexpectedCallback(e) => {
            let why = if e.expected.is_zero() {
                "which no step waits for"
            } else {
                "not on the terms that its step waits for"
            };
            (format!("{} called back, {why}: got {}, expected {}", named(&e.caller), e.got, e.expected), None)
        }
        E::CallbackAmountMismatch(e) => {
            (format!("the pool asked for {}, expected {}: its liquidity is used up", e.got, e.expected), None)
        }
        E::UnexpectedEther(e) => (format!("{} sent ether, expected {}", named(&e.sender), named(&e.expected)), None),
        E::InputNotTaken(e) => (format!("pool {} left {} of its input", named(&e.pool), e.left), at(e.step)),
        E::TransferFailed(e) => {
            let what = format!("{} of token {} from {}", e.amount, named(&e.token), named(&e.from));
            (format!("the transfer of {what} failed: {}", reason(&e.reason)), at(e.step))
        }
        E::ApprovalFailed(e) => {
            (format!("the approval of token {} failed: {}", named(&e.token), reason(&e.reason)), at(e.step))
        }
        E::BalanceUnavailable(e) => {
            (format!("token {} does not tell its balance: {}", named(&e.token), reason(&e.reason)), None)
        }
        E::EtherTransferFailed(e) => {
            // Only settlement sends ether, which a path counts as its first step.
            (format!("{} did not accept {} wei: {}", named(&e.to), e.amountWei, reason(&e.reason)), None)
        }
        E::OutputBelowMinimum(e) => {
            (format!("{} of {} arrived, the minimum is {}", e.got, named(&e.token), e.expected), None)
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::B256;

    use super::*;

    #[test]
    fn a_pools_reason_is_read_inside_the_proxys_error() {
        let inner = alloy_sol_types::Revert::from("UniswapV2: K").abi_encode();
        let pool = Address::repeat_byte(7);
        let data = Proxy::PoolCallFailed { step: U256::from(2), pool, reason: inner.into() }.abi_encode();
        let revert = decode(&data);
        assert_eq!(revert.name.as_deref(), Some("PoolCallFailed"));
        assert_eq!(revert.step, Some(2));
        assert!(revert.message.ends_with("refused: UniswapV2: K"), "{}", revert.message);
    }

    #[test]
    fn an_error_inside_a_callback_is_told_with_the_step_around_it() {
        let inner = Proxy::CallbackAmountMismatch { got: U256::from(1), expected: U256::from(2) }.abi_encode();
        let data = Proxy::PoolCallFailed { step: U256::ZERO, pool: Address::ZERO, reason: inner.into() }.abi_encode();
        assert!(decode(&data).message.contains("asked for 1, expected 2"));
        let transfer = Proxy::TransferFailed {
            step: U256::MAX,
            token: Address::ZERO,
            from: Address::ZERO,
            to: Address::ZERO,
            amount: U256::from(3),
            reason: Bytes::new(),
        };
        assert_eq!(decode(&transfer.abi_encode()).step, None);
    }

    #[test]
    fn a_callback_out_of_place_says_whether_one_was_awaited() {
        let told = |expected: B256| {
            let caller = Address::repeat_byte(7);
            decode(&Proxy::UnexpectedCallback { caller, got: B256::repeat_byte(1), expected }.abi_encode()).message
        };
        assert!(told(B256::ZERO).contains("which no step waits for"));
        assert!(told(B256::repeat_byte(2)).contains("not on the terms"));
    }

    #[test]
    fn errors_of_others_are_named_where_they_are_known() {
        assert_eq!(decode(&permit2::InvalidNonce {}.abi_encode()).name.as_deref(), Some("InvalidNonce"));
        let panic = alloy_sol_types::Panic { code: U256::from(0x11) }.abi_encode();
        assert_eq!(decode(&panic).message, "panic code 0x11");
        assert_eq!(decode(b"SPL").message, "SPL");
        assert_eq!(decode(&[0xde, 0xad, 0xbe, 0xef]).message, "it reverted with 0xdeadbeef");
        assert_eq!(decode(&[0xff; 100]).message, format!("it reverted with 0x{}… (100 bytes)", "ff".repeat(32)));
    }

    /// The stack of a thread would not hold a call for each of them.
    #[test]
    fn errors_inside_one_another_are_read_up_to_a_depth() {
        let mut data = Bytes::from(alloy_sol_types::Revert::from("SPL").abi_encode());
        for level in 1..=2_000 {
            data = Proxy::PoolCallFailed { step: U256::ONE, pool: Address::ZERO, reason: data }.abi_encode().into();
            if level == MOST_NESTED {
                assert!(decode(&data).message.ends_with("refused: SPL"));
            }
        }
        let revert = decode(&data);
        assert_eq!((revert.name.as_deref(), revert.step), (Some("PoolCallFailed"), Some(1)));
        assert!(revert.message.len() < 2_000, "{}", revert.message);
    }

    #[test]
    fn no_data_makes_it_panic() {
        for length in 0..200usize {
            decode(&vec![0x41; length]);
            let mut cut = Proxy::OutputBelowMinimum::default_like().abi_encode();
            cut.truncate(length);
            decode(&cut);
        }
    }

    impl Proxy::OutputBelowMinimum {
        fn default_like() -> Self {
            Self { index: U256::ZERO, token: Address::ZERO, got: U256::ZERO, expected: U256::ONE }
        }
    }
}
