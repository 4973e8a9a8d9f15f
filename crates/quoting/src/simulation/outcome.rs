//! Judges an outcome of the EVM against its order.

use braid_execution::gas::ether_fee_reserve;
use braid_execution::{Order, Program, TokenAmount, proxy, received, revert};
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256};
use braid_simulation::grant::Granted;
use braid_simulation::{Grant, Outcome, Status};

use super::{MeasuredGas, Simulated, SimulationInput, unavailable};
use crate::model::{Revert, SimulatedOutput, Simulation, SimulationStatus};
use crate::path;
use crate::shown::Shown;

/// Largest excess of a payment that counts as rounding, in atomic units: tokens that keep balances in shares round.
const ROUNDING_UNITS: U256 = U256::from_limbs([2, 0, 0, 0]);

/// Returns the result of a simulation from its outcome.
pub(super) fn simulated(input: &SimulationInput<'_>, outcome: &Outcome, order: &Order) -> Simulated {
    let (block, shown) = (input.market.block(), input.shown);
    let gains = gains(input, outcome, order);
    let failure = failure(input, outcome, order, gains.as_deref());
    if failure.is_some()
        && let Some(why) = lacking(outcome, shown)
    {
        return unavailable(&why);
    }
    let paid = |(output, gain): (&TokenAmount, U256)| SimulatedOutput {
        token: shown.token(output.token),
        amount: gain.into(),
    };
    let mut overrides = Vec::new();
    for (grant, granted) in &outcome.grants {
        let name = match grant {
            Grant::Code { .. } => "code",
            Grant::Balance { .. } => "balance",
            Grant::Allowance { .. } => "allowance",
        };
        if *granted == Granted::Overridden && !overrides.contains(&name) {
            overrides.push(name);
        }
    }
    let reserve = ether_fee_reserve(order);
    let measured = MeasuredGas { used: outcome.gas_used, spent: outcome.gas_spent, reserve };
    let gas = failure.is_none().then_some(measured);
    let answer = Simulation {
        status: if failure.is_none() { SimulationStatus::Success } else { SimulationStatus::Reverted },
        block_number: Some(block.number),
        gas_used: Some(outcome.gas_used),
        outputs: order.outputs.iter().zip(gains.into_iter().flatten()).map(paid).collect(),
        overrides,
        revert: failure,
    };
    Simulated { answer, gas, warning: None }
}

/// Returns what the sender lacked because it could not be granted, if anything: a failure then says nothing of the quote.
fn lacking(outcome: &Outcome, shown: Shown) -> Option<String> {
    let (grant, _) = outcome.grants.iter().find(|(_, granted)| *granted == Granted::NotFound)?;
    let (lacks, token) = match grant {
        Grant::Code { .. } => return None,
        Grant::Balance { token, .. } => ("balance", token),
        Grant::Allowance { token, .. } => ("allowance", token),
    };
    let token = shown.token(*token).0.to_checksum(None);
    Some(format!(
        "the sender's {lacks} of {token} is too small, and the simulation found no storage word to raise it by"
    ))
}

/// Returns the amount of each output that arrived; `None` if the transaction reverted or called no proxy.
fn gains(input: &SimulationInput<'_>, outcome: &Outcome, order: &Order) -> Option<Vec<U256>> {
    let Status::Success(answer) = &outcome.status else { return None };
    if !proxy::is_proxy_code(&outcome.called_code) {
        return None;
    }
    let mut gains = match input.program.buys() {
        // a purchase returns the amount that it sold
        true => order.outputs.iter().map(|output| output.amount).collect(),
        false => received(answer)?,
    };
    // a path returns the amount that its last pool paid, of which a transfer fee may keep a part
    if input.program.path.is_some()
        && let ([gain], [output]) = (gains.as_mut_slice(), order.outputs.as_slice())
        && output.token != NATIVE_ETHER
        && let Some([before, after]) = outcome.balances.first()
    {
        *gain = after.saturating_sub(*before).min(*gain);
    }
    Some(gains)
}

/// Returns the reason for which the transaction must not be sent, if there is one.
fn failure(input: &SimulationInput<'_>, outcome: &Outcome, order: &Order, gains: Option<&[U256]>) -> Option<Revert> {
    if !proxy::is_proxy_code(&outcome.called_code) {
        return Some(no_proxy(&outcome.called_code));
    }
    let gains = match (&outcome.status, gains) {
        (Status::Reverted(data), _) => return Some(reverted(data, input.program)),
        (Status::Halted(reason), _) => return Some(failed(None, format!("the EVM halted: {reason}"))),
        (Status::Success(_), None) => return Some(failed(None, "the proxy's return data cannot be decoded".into())),
        (Status::Success(_), Some(gains)) => gains,
    };
    let token = |token: Address| input.shown.token(token).0.to_checksum(None);
    for (output, gain) in order.outputs.iter().zip(gains) {
        if *gain < output.amount {
            let (token, minimum) = (token(output.token), output.amount);
            let message = format!(
                "{gain} of {token} arrives at the recipient, the minimum is {minimum}: the token keeps a part of its transfers, \
                 and the proxy does not check that along a path"
            );
            return Some(failed(Some("OutputBelowMinimum"), message));
        }
    }
    let taken = outcome.balances.last().map(|[before, after]| before.saturating_sub(*after));
    let sold = order.inputs.first().filter(|sold| sold.token != NATIVE_ETHER && input.program.path.is_some())?;
    let (taken, maximum) = (taken?, sold.amount);
    (taken > maximum.saturating_add(ROUNDING_UNITS)).then(|| {
        let token = token(sold.token);
        let message =
            format!("{taken} of {token} leaves the taker, the maximum is {maximum}: the token takes more than is sent");
        failed(Some("InputAboveMaximum"), message)
    })
}

/// Describes a call of an address that has no code, or the code of another contract.
fn no_proxy(code: &Bytes) -> Revert {
    let address = proxy::address().to_checksum(None);
    let message = if code.is_empty() {
        format!(
            "the execution proxy is not deployed: no contract is at {address}. The transaction would swap nothing, and ether sent \
             with it would be lost"
        )
    } else {
        format!("the contract at {address} is not the execution proxy")
    };
    failed(Some("ProxyNotDeployed"), message)
}

fn failed(name: Option<&str>, message: String) -> Revert {
    Revert { selector: None, name: name.map(str::to_owned), message, step: None }
}

fn reverted(data: &Bytes, program: &Program) -> Revert {
    let decoded = revert::decode(data);
    let step = decoded.step.and_then(|step| usize::try_from(step).ok());
    Revert {
        selector: decoded.selector.map(|selector| Bytes::from(selector).to_string()),
        name: decoded.name,
        message: decoded.message,
        // a revert in the settlement reports the number of steps as its step
        step: step.and_then(|step| program.route_step(step)).map(path::step_id),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_execution::{Destination, ProgramStep};
    use braid_market::{Market, Tokens};
    use braid_routing::Route;
    use braid_simulation::Caller;

    use super::*;
    use crate::testing;

    const TOKEN: Address = Address::repeat_byte(0x70);

    /// The selector of `NothingAtHand(uint256,address)`.
    const NOTHING_AT_HAND: [u8; 4] = [0xe0, 0x87, 0x4b, 0x6c];

    fn market() -> Market {
        Market::empty(testing::block(1_700_000_000), Arc::new(Tokens::new()))
    }

    fn order() -> Order {
        Order {
            inputs: vec![TokenAmount { token: Address::repeat_byte(0x71), amount: U256::from(500) }],
            outputs: vec![TokenAmount { token: TOKEN, amount: U256::from(100) }],
            recipient: Address::repeat_byte(2),
            deadline: 1,
            partner_fee: None,
        }
    }

    /// Returns a program of these steps of its route; `path` is the first byte of a path.
    fn program(route_steps: &[usize], path: Option<u8>) -> Program {
        let step = |route_step: &usize| ProgramStep {
            route_step: *route_step,
            destination: Destination::Proxy,
            prepaid: false,
            wraps: None,
        };
        Program {
            bytes: Bytes::new(),
            steps: route_steps.iter().map(step).collect(),
            path: path.map(|kind| vec![kind].into()),
        }
    }

    fn outcome(status: Status, balances: &[[u64; 2]]) -> Outcome {
        Outcome {
            status,
            gas_used: 100_000,
            gas_spent: 110_000,
            grants: Vec::new(),
            called_code: proxy::runtime_code().clone(),
            balances: balances.iter().map(|changes| changes.map(U256::from)).collect(),
        }
    }

    fn answer(amount: u64) -> Status {
        Status::Success(U256::from(amount).to_be_bytes::<32>().to_vec().into())
    }

    fn simulate(program: &Program, outcome: &Outcome) -> Simulated {
        let (market, route) = (market(), Route { steps: Vec::new(), amounts_out: Vec::new() });
        let (caller, shown) = (Caller::SERVICE, Shown::with_ether(NATIVE_ETHER));
        simulated(&SimulationInput { caller, market: &market, route: &route, shown, program }, outcome, &order())
    }

    fn amounts(simulated: &Simulated) -> Vec<String> {
        let amount =
            |output: &SimulatedOutput| serde_json::to_value(output.amount).unwrap().as_str().unwrap().to_owned();
        simulated.answer.outputs.iter().map(amount).collect()
    }

    /// A call of an address without code succeeds, and takes the ether that is sent along.
    #[test]
    fn a_success_without_the_proxy_is_a_failure() {
        for code in [Bytes::new(), Bytes::from_static(&[0x00])] {
            let outcome = Outcome { called_code: code.clone(), ..outcome(Status::Success(Bytes::new()), &[]) };
            let seen = simulate(&program(&[0], None), &outcome);
            assert_eq!(seen.answer.status, SimulationStatus::Reverted);
            let revert = seen.answer.revert.unwrap();
            assert_eq!(revert.name.as_deref(), Some("ProxyNotDeployed"));
            assert_eq!(revert.message.contains("not deployed"), code.is_empty(), "{}", revert.message);
            assert!(seen.gas.is_none() && seen.answer.outputs.is_empty());
        }
    }

    /// The route wraps ether, which its second step does by itself in the program, and its last step runs before its third.
    #[test]
    fn a_revert_names_the_step_of_the_route() {
        let program = program(&[1, 3, 2], None);
        let step = |step: u64| {
            let words = [U256::from(step).to_be_bytes::<32>(), TOKEN.into_word().0].concat();
            let data = [&NOTHING_AT_HAND[..], &words].concat().into();
            let revert = simulate(&program, &outcome(Status::Reverted(data), &[])).answer.revert.unwrap();
            assert_eq!(revert.name.as_deref(), Some("NothingAtHand"));
            revert.step
        };
        let named = [0, 1, 2].map(|at| step(at).unwrap());
        assert_eq!(named, ["s2", "s4", "s3"]);
        assert_eq!(step(3), None, "settlement is no step");
    }

    /// A token may keep balances in a list of checkpoints, as LDO does: then no single word decides its answer.
    #[test]
    fn a_revert_for_lack_of_what_could_not_be_granted_says_nothing() {
        let (token, owner, amount) = (TOKEN, Address::repeat_byte(3), U256::from(500));
        let with = |granted, status| Outcome {
            grants: vec![(Grant::Balance { token, owner, amount }, granted)],
            ..outcome(status, &[])
        };
        let program = program(&[0], None);
        let reverts = || Status::Reverted(Bytes::new());
        let seen = simulate(&program, &with(Granted::NotFound, reverts()));
        assert_eq!(seen.answer.status, SimulationStatus::Unavailable);
        assert!(seen.answer.revert.is_none() && seen.gas.is_none());
        let warning = seen.warning.unwrap();
        assert!(warning.message.contains("balance of 0x7070"), "{}", warning.message);
        for granted in [Granted::Overridden, Granted::NotNeeded] {
            assert_eq!(simulate(&program, &with(granted, reverts())).answer.status, SimulationStatus::Reverted);
        }
        let data = [32_u64, 1, 120].map(|word| U256::from(word).to_be_bytes::<32>()).concat();
        let goes_through = simulate(&program, &with(Granted::NotFound, Status::Success(data.into())));
        assert_eq!(goes_through.answer.status, SimulationStatus::Success);
    }

    #[test]
    fn a_path_tells_what_arrives_of_a_token_that_keeps_a_part() {
        for (path, returned) in [(0xff, 120), (0xfe, 480)] {
            let program = program(&[0], Some(path));
            let whole = simulate(&program, &outcome(answer(returned), &[[7, 127], [900, 400]]));
            assert_eq!(whole.answer.status, SimulationStatus::Success, "{:?}", whole.answer.revert);
            assert_eq!(amounts(&whole), [if path == 0xff { "120" } else { "100" }]);
            assert!(whole.gas.is_some());

            let taxed = simulate(&program, &outcome(answer(returned), &[[7, 106], [900, 400]]));
            assert_eq!(taxed.answer.status, SimulationStatus::Reverted);
            assert_eq!(amounts(&taxed), ["99"]);
            let revert = taxed.answer.revert.unwrap();
            assert_eq!(revert.name.as_deref(), Some("OutputBelowMinimum"));
            assert!(
                revert.message.contains("99 of 0x7070") && revert.message.contains("minimum is 100"),
                "{}",
                revert.message
            );

            let drained = simulate(&program, &outcome(answer(returned), &[[7, 127], [900, 397]]));
            assert_eq!(drained.answer.revert.unwrap().name.as_deref(), Some("InputAboveMaximum"));
        }
    }

    /// Steps are counted by the proxy, which knows what it paid: balances that others raise do not count.
    #[test]
    fn a_program_of_steps_tells_what_the_proxy_counted() {
        let mut data = [32_u64, 1, 120].map(|word| U256::from(word).to_be_bytes::<32>()).concat();
        let seen = simulate(&program(&[0], None), &outcome(Status::Success(data.clone().into()), &[]));
        assert_eq!((seen.answer.status, amounts(&seen)), (SimulationStatus::Success, vec!["120".to_owned()]));
        data.pop();
        let seen = simulate(&program(&[0], None), &outcome(Status::Success(data.into()), &[]));
        assert_eq!(seen.answer.status, SimulationStatus::Reverted);
    }
}
