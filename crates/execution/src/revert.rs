//! What a reverted transaction says, in words: the proxy's own errors, Permit2's, and what pools and tokens give as reasons.

use alloy_primitives::hex;
use alloy_sol_types::{ContractError, GenericContractError, SolInterface, sol};
use braid_primitives::U256;

use crate::abi::IExecutionProxy::IExecutionProxyErrors as Proxy;

sol! {
    /// The errors that Permit2 answers a signature transfer with.
    #[derive(Debug, PartialEq, Eq)]
    #[allow(missing_docs)]
    interface IPermit2Errors {
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

/// Why a transaction to the proxy reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revert {
    /// The first four bytes, where there are so many.
    pub selector: Option<[u8; 4]>,
    /// The error's name, where it is known.
    pub name: Option<String>,
    /// What happened, for a person.
    pub message: String,
    /// The step of the program at which it happened, from 0, where the error names one.
    pub step: Option<usize>,
}

/// Reads the data of a revert. Never fails: what is not understood is said to be so, with its first bytes.
pub fn explain(data: &[u8]) -> Revert {
    let selector = data.first_chunk::<4>().copied();
    let (name, message, step) = match Proxy::abi_decode(data) {
        Ok(error) => (Some(name_of(data)), words(&error), step_of(&error)),
        Err(_) => match IPermit2Errors::IPermit2ErrorsErrors::abi_decode(data) {
            Ok(error) => (Some(name_of(data)), permit2_words(&error), None),
            Err(_) => (name_of_foreign(data), reason(data), None),
        },
    };
    Revert { selector, name, message, step }
}

fn name_of(data: &[u8]) -> String {
    let selector = data.first_chunk::<4>().copied().unwrap_or_default();
    let signature = Proxy::signature_by_selector(selector)
        .or_else(|| IPermit2Errors::IPermit2ErrorsErrors::signature_by_selector(selector));
    signature.and_then(|text| text.split('(').next()).unwrap_or_default().to_owned()
}

fn name_of_foreign(data: &[u8]) -> Option<String> {
    match GenericContractError::abi_decode(data) {
        Ok(ContractError::Revert(_)) => Some("Error".into()),
        Ok(ContractError::Panic(_)) => Some("Panic".into()),
        _ => None,
    }
}

/// The reason that a pool or a token gave, itself perhaps one of the proxy's errors from inside a callback.
fn reason(data: &[u8]) -> String {
    if data.is_empty() {
        return "it gave no reason".into();
    }
    if let Ok(error) = Proxy::abi_decode(data) {
        return words(&error);
    }
    match GenericContractError::abi_decode(data) {
        Ok(ContractError::Revert(text)) => format!("it said \"{}\"", printable(&text.reason)),
        Ok(ContractError::Panic(panic)) => format!("it panicked with code {}", panic.code),
        _ => format!("it answered 0x{}", hex::encode(data.get(..36).unwrap_or(data))),
    }
}

/// A contract's words without control characters, and not too many of them.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn words(error: &Proxy) -> String {
    match error {
        Proxy::OutputBelowMinimum(e) => {
            format!("the recipient would get {} of {}, less than the minimum of {}", e.got, e.token, e.expected)
        }
        Proxy::DeadlinePassed(e) => format!("the deadline {} has passed, it is {}", e.deadline, e.timestamp),
        Proxy::TransferFailed(e) => format!(
            "{} of {} could not be moved from {} to {} (balance and allowance?): {}",
            e.amount,
            e.token,
            e.from,
            e.to,
            reason(&e.reason)
        ),
        Proxy::EtherTransferFailed(e) => format!("{} refused {} wei: {}", e.to, e.amountWei, reason(&e.reason)),
        Proxy::ApprovalFailed(e) => format!("{} refused an approval: {}", e.token, reason(&e.reason)),
        Proxy::BalanceUnavailable(e) => format!("{} did not tell a balance: {}", e.token, reason(&e.reason)),
        Proxy::PoolCallFailed(e) => format!("pool {} refused the swap: {}", e.pool, reason(&e.reason)),
        Proxy::InvalidPoolAnswer(e) => format!("pool {} answered nonsense", e.pool),
        Proxy::CallbackMissing(e) => format!("pool {} did not ask for its input", e.pool),
        Proxy::CallbackAmountMismatch(e) => {
            format!("the pool asked for {} instead of {}: its liquidity ends before", e.got, e.expected)
        }
        Proxy::UnexpectedCallback(e) => format!("{} called back, expected {}", e.caller, e.expected),
        Proxy::UnexpectedEther(e) => format!("{} sent ether, expected {}", e.sender, e.expected),
        Proxy::NothingAtHand(e) => format!("nothing of {} is there to be spent", e.token),
        Proxy::AmountTooLarge(e) => format!("an amount of {} is above {}", e.got, e.maximum),
        Proxy::ValueMismatch(e) => format!("{} wei were sent, the order says {}", e.gotWei, e.expectedWei),
        Proxy::NothingToPermit(_) => "the order sells only ether, which needs no signature".into(),
        Proxy::InvalidRecipient(e) => format!("{} cannot be the recipient", e.recipient),
        Proxy::InvalidPartner(e) => format!("{} cannot be the partner", e.partner),
        Proxy::PartnerFeeTooHigh(e) => format!("a partner fee of {} bps is above {}", e.gotBps, e.maximumBps),
        Proxy::InvalidInputAmount(e) => format!("input {} has the amount {}", e.index, e.got),
        Proxy::ZeroMinimum(e) => format!("output {} has a minimum of zero", e.index),
        Proxy::DuplicateToken(e) => format!("{} is in the order twice", e.token),
        Proxy::EmptyOrder(e) => format!("the order has {} inputs and {} outputs", e.inputs, e.outputs),
        Proxy::TooManyTokens(e) => format!("{} tokens are more than {}", e.got, e.maximum),
        Proxy::Reentered(_) => "the proxy was called while an order ran".into(),
        Proxy::ProgramTruncated(_)
        | Proxy::UnknownOpcode(_)
        | Proxy::UnknownToken(_)
        | Proxy::WrongToken(_)
        | Proxy::InvalidDestination(_)
        | Proxy::NotPrepayable(_)
        | Proxy::InvalidFee(_) => "the program is malformed".into(),
    }
}

fn permit2_words(error: &IPermit2Errors::IPermit2ErrorsErrors) -> String {
    use IPermit2Errors::IPermit2ErrorsErrors as Permit2;
    match error {
        Permit2::SignatureExpired(e) => format!("the Permit2 signature expired at {}", e.signatureDeadline),
        Permit2::InvalidNonce(_) => "the Permit2 signature was used before".into(),
        Permit2::InvalidSigner(_) => "the Permit2 signature is not the owner's".into(),
        Permit2::InvalidContractSignature(_) => "the owner's contract does not stand by the signature".into(),
        Permit2::InvalidSignature(_) | Permit2::InvalidSignatureLength(_) => "the signature is malformed".into(),
        Permit2::InvalidAmount(e) => format!("the signature permits at most {}", e.maxAmount),
        Permit2::LengthMismatch(_) => "the signature permits another number of tokens".into(),
    }
}

/// The step that an error names; `None` where it stands for "inside a callback", and where no step is named.
fn step_of(error: &Proxy) -> Option<usize> {
    let step: U256 = match error {
        Proxy::ProgramTruncated(e) => e.step,
        Proxy::UnknownOpcode(e) => e.step,
        Proxy::UnknownToken(e) => e.step,
        Proxy::WrongToken(e) => e.step,
        Proxy::InvalidDestination(e) => e.step,
        Proxy::NotPrepayable(e) => e.step,
        Proxy::InvalidFee(e) => e.step,
        Proxy::NothingAtHand(e) => e.step,
        Proxy::AmountTooLarge(e) => e.step,
        Proxy::PoolCallFailed(e) => e.step,
        Proxy::InvalidPoolAnswer(e) => e.step,
        Proxy::CallbackMissing(e) => e.step,
        Proxy::TransferFailed(e) => e.step,
        Proxy::ApprovalFailed(e) => e.step,
        Proxy::EtherTransferFailed(e) => e.step,
        _ => return None,
    };
    usize::try_from(step).ok()
}

#[cfg(test)]
mod tests {
    use alloy_sol_types::{Revert as Text, SolError};
    use braid_primitives::{Address, WETH};
    use proptest::prelude::*;

    use super::*;
    use crate::abi::IExecutionProxy;

    #[test]
    fn a_missed_minimum_is_told_with_its_amounts() {
        let error = IExecutionProxy::OutputBelowMinimum {
            index: U256::ZERO,
            token: WETH,
            got: U256::from(41),
            expected: U256::from(42),
        };
        let revert = explain(&error.abi_encode());
        assert_eq!(revert.name.as_deref(), Some("OutputBelowMinimum"));
        assert_eq!(revert.selector, Some(IExecutionProxy::OutputBelowMinimum::SELECTOR));
        assert!(revert.message.contains("41") && revert.message.contains("42") && revert.message.contains("minimum"));
        assert_eq!(revert.step, None);
    }

    #[test]
    fn the_reason_of_a_pool_comes_through_with_the_step() {
        let inner = Text::from("UniswapV2: K").abi_encode();
        let error = IExecutionProxy::PoolCallFailed {
            step: U256::from(3),
            pool: Address::repeat_byte(7),
            reason: inner.into(),
        };
        let revert = explain(&error.abi_encode());
        assert_eq!(revert.step, Some(3));
        assert!(revert.message.contains("UniswapV2: K"), "{}", revert.message);
    }

    #[test]
    fn a_callback_error_inside_a_pools_reason_is_read_too() {
        let inner =
            IExecutionProxy::CallbackAmountMismatch { got: U256::from(5), expected: U256::from(9) }.abi_encode();
        let error = IExecutionProxy::PoolCallFailed { step: U256::ZERO, pool: WETH, reason: inner.into() };
        assert!(explain(&error.abi_encode()).message.contains("asked for 5 instead of 9"));
    }

    #[test]
    fn permit2_and_plain_reverts_have_names() {
        let nonce = explain(&IPermit2Errors::InvalidNonce {}.abi_encode());
        assert_eq!((nonce.name.as_deref(), nonce.step), (Some("InvalidNonce"), None));
        let plain = explain(&Text::from("nope\u{7}").abi_encode());
        assert_eq!((plain.name.as_deref(), plain.message.as_str()), (Some("Error"), "it said \"nope\""));
        assert_eq!(explain(&[]).message, "it gave no reason");
        assert_eq!(explain(&[1, 2, 3, 4, 5]).message, "it answered 0x0102030405");
    }

    #[test]
    fn the_step_inside_a_callback_is_no_step() {
        let error = IExecutionProxy::TransferFailed {
            step: U256::MAX,
            token: WETH,
            from: WETH,
            to: WETH,
            amount: U256::ONE,
            reason: Default::default(),
        };
        assert_eq!(explain(&error.abi_encode()).step, None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(data in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = explain(&data);
        }

        #[test]
        fn no_cut_panics(cut in 0usize..200, step: u64) {
            let inner = Text::from("a reason").abi_encode();
            let error = IExecutionProxy::PoolCallFailed { step: U256::from(step), pool: WETH, reason: inner.into() };
            let data = error.abi_encode();
            let _ = explain(&data[..cut.min(data.len())]);
        }
    }
}
