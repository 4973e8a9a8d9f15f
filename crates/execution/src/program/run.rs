//! Runs a program on the proxy's ledger with the amounts that its route says (`docs/internals/program.md`, section 3),
//! and tells an observer of all that moves: one observer checks a program against its route, another counts gas.

use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_routing::machine::{Ledger, SpentFrom};

use super::leg::Leg;
use super::steps::{Destination, ProgramStep};
use crate::Order;

/// A step of the program that ran.
pub(crate) struct Ran<'a> {
    /// Position in the route.
    pub(crate) route_step: usize,
    /// The step of the route.
    pub(crate) leg: &'a Leg,
    /// What the proxy spent on it, in atomic units.
    pub(crate) amount_in: U256,
    /// Who it was taken from; nobody, where the step before paid it into the pool.
    pub(crate) spent_from: Option<SpentFrom>,
    /// Where its output goes.
    pub(crate) destination: Destination,
    /// Whether it is the wrapping that the next step does by itself.
    pub(crate) folded: bool,
    /// Whether the ledger carries its output beside what it has of the token.
    pub(crate) is_carried: bool,
}

/// Who is paid by the proxy itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payee {
    /// The partner, a fee.
    Partner(Address),
    /// The recipient, an output.
    Recipient,
    /// The payer, what is left of an input.
    Payer,
}

/// Hears what a program does. The ledger is the one after what is told.
pub(crate) trait Observer {
    /// Why it ends a run early.
    type Error;

    /// A step ran, and its output is where it goes.
    fn step(&mut self, ran: &Ran<'_>, run: &Run<'_>) -> Result<(), Self::Error>;

    /// The proxy paid an amount of a token out of the ledger, outside of any step.
    fn payment(&mut self, token: Address, to: Payee, spent_from: SpentFrom, run: &Run<'_>);
}

/// A program in its run.
pub(crate) struct Run<'a> {
    order: &'a Order,
    /// What is due and what the proxy holds.
    pub(crate) ledger: Ledger<Address>,
    /// What steps paid to the recipient directly.
    delivered: Ledger<Address>,
    /// What the step before paid into the pool of the next.
    in_flight: U256,
}

impl<'a> Run<'a> {
    /// Puts the inputs into the ledger: ether at the proxy, tokens due from the payer.
    pub(crate) fn new(order: &'a Order) -> Self {
        let mut ledger = Ledger::default();
        for input in &order.inputs {
            ledger.owe(input.token, input.amount);
        }
        ledger.pull(NATIVE_ETHER);
        Self { order, ledger, delivered: Ledger::default(), in_flight: U256::ZERO }
    }

    /// Pays a partner's fee on the inputs.
    pub(crate) fn pay_input_fees<O: Observer>(&mut self, observer: &mut O) {
        let Some(fee) = self.order.partner_fee.filter(|fee| !fee.on_output) else { return };
        for input in &self.order.inputs {
            self.pay(input.token, fee.on(input.amount), Payee::Partner(fee.recipient), observer);
        }
    }

    /// Runs every step.
    ///
    /// # Errors
    /// The observer's.
    pub(crate) fn steps<O: Observer>(
        &mut self,
        legs: &[Leg],
        steps: &[ProgramStep],
        observer: &mut O,
    ) -> Result<(), O::Error> {
        for place in steps {
            if let Some((at, wrap)) = place.wraps.and_then(|at| Some((at, legs.get(at)?))) {
                let wrapping =
                    ProgramStep { route_step: at, destination: Destination::Proxy, prepaid: false, wraps: None };
                self.step(wrap, &wrapping, true, observer)?;
            }
            if let Some(leg) = legs.get(place.route_step) {
                self.step(leg, place, false, observer)?;
            }
        }
        Ok(())
    }

    /// Pays outputs to the recipient, after a partner's fee on them, and what is left of the inputs to the payer.
    pub(crate) fn settle<O: Observer>(&mut self, observer: &mut O) {
        let order = self.order;
        for output in &order.outputs {
            let held = self.ledger.at_hand(output.token);
            let fee = order.partner_fee.filter(|fee| fee.on_output);
            if let Some(fee) = fee {
                self.pay(output.token, fee.on(held), Payee::Partner(fee.recipient), observer);
            }
            let rest = fee.map_or(held, |fee| fee.after_output(held));
            self.pay(output.token, rest, Payee::Recipient, observer);
        }
        for input in &order.inputs {
            let unspent = self.ledger.account(input.token).held;
            self.pay(input.token, unspent, Payee::Payer, observer);
        }
    }

    /// Returns what the recipient has or will have of an output, before a partner's fee on it.
    pub(crate) fn output(&self, token: Address) -> U256 {
        self.delivered.at_hand(token).saturating_add(self.ledger.at_hand(token))
    }

    fn step<O: Observer>(
        &mut self,
        leg: &Leg,
        place: &ProgramStep,
        folded: bool,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        let (amount_in, spent_from) = if place.prepaid {
            (std::mem::take(&mut self.in_flight), None)
        } else {
            let amount = self.ledger.share_of(leg.token_in, leg.step.share);
            (amount, Some(self.ledger.spend(leg.token_in, amount)))
        };
        let amount_out = leg.step.amount_out;
        let is_carried = match place.destination {
            Destination::Proxy => self.ledger.credit(leg.token_out, amount_out),
            Destination::Recipient => self.delivered.credit(leg.token_out, amount_out),
            Destination::NextPool => {
                self.in_flight = amount_out;
                true
            }
        };
        let (route_step, destination) = (place.route_step, place.destination);
        observer.step(&Ran { route_step, leg, amount_in, spent_from, destination, folded, is_carried }, self)
    }

    fn pay<O: Observer>(&mut self, token: Address, amount: U256, to: Payee, observer: &mut O) {
        if !amount.is_zero() {
            let spent_from = self.ledger.spend(token, amount);
            observer.payment(token, to, spent_from, self);
        }
    }
}
