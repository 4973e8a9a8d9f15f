//! The gas of a program, counted while the program runs.

use std::convert::Infallible;

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, WETH};
use braid_protocols::{
    Pool, Warm,
    step::{Funding, TRANSFERS_GAS_UNITS},
};
use braid_routing::Route;
use braid_routing::machine::SpentFrom;

use super::{costs, meter::Meter};
use crate::program::run::{Observer, Payee, Ran, Run};
use crate::program::{EncodeError, Leg};
use crate::{Destination, Order, Program, permit2, proxy};

/// How the payer lets the proxy take the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// By allowances to the proxy (or nothing, when only ether is sold).
    Allowance,
    /// By a Permit2 signature.
    Permit2,
}

/// What the walk found, apart from the intrinsic cost of the transaction.
pub(super) struct Walked {
    /// Before refunds.
    pub(super) gas_units: u64,
    /// What the EVM would refund if there were no cap.
    pub(super) refund_gas_units: u64,
    /// Per step of the route, after refunds.
    pub(super) step_gas_units: Vec<u64>,
}

/// Walks the program.
///
/// # Errors
/// [`EncodeError`] where the route does not fit the market.
pub(super) fn walk(
    market: &Market,
    route: &Route,
    order: &Order,
    program: &Program,
    payer: Address,
    authorization: Authorization,
) -> Result<Walked, EncodeError> {
    let legs = Leg::of_route(market, route)?;
    let buys = program.buys();
    let sold = if buys { order.sold_along(route) } else { order.clone() };
    let mut run = Run::new(&sold);
    let mut walker = Walker::new(market, order, payer, legs.len());
    walker.along_path = program.path.is_some();
    walker.buys = buys;
    walker.open(&mut run, &legs, program, authorization);
    run.pay_input_fees(&mut walker);
    let Ok(()) = run.steps(&legs, &program.steps, &mut walker);
    run.settle(&mut walker);
    if buys && order.inputs.iter().any(|input| input.token == NATIVE_ETHER) {
        // what was not needed goes back
        walker.meter.touch(payer);
        walker.meter.work(costs::SEND_ETHER);
    }
    if !walker.along_path {
        walker.read_recipients_balances();
    }
    Ok(Walked {
        gas_units: walker.meter.gas_units,
        refund_gas_units: u64::try_from(walker.meter.refund_gas_units).unwrap_or(0),
        step_gas_units: walker.step_gas_units,
    })
}

/// Counts the gas of what a program does.
struct Walker<'a> {
    market: &'a Market,
    order: &'a Order,
    payer: Address,
    proxy: Address,
    /// What the steps before left warm.
    warm: Warm,
    /// Whether the program is sent as a path, which keeps no ledger and looks at no balance.
    along_path: bool,
    /// Whether less may be sold than the order allows.
    buys: bool,
    /// The input that the owner's signature pays straight to the first step's pool.
    signed: Option<Address>,
    meter: Meter,
    step_gas_units: Vec<u64>,
}

impl Observer for Walker<'_> {
    type Error = Infallible;

    fn step(&mut self, ran: &Ran<'_>, run: &Run<'_>) -> Result<(), Infallible> {
        let before = self.net();
        if !ran.folded {
            self.meter.work(if self.along_path { costs::HOP } else { costs::STEP });
        }
        if ran.destination == Destination::Recipient && !self.along_path && ran.leg.found_by.is_some() {
            self.meter.work(costs::KNOWN_POOL);
        }
        if let Some(pool) = self.market.pool(ran.leg.step.pool) {
            match pool.product.wraps_ether() {
                true => self.convert_ether(ran, run),
                false => self.swap(pool, ran, run),
            }
        }
        let added = u64::try_from(self.net() - before).unwrap_or(0);
        if let Some(slot) = self.step_gas_units.get_mut(ran.route_step) {
            *slot = added;
        }
        Ok(())
    }

    fn payment(&mut self, token: Address, to: Payee, spent_from: SpentFrom, run: &Run<'_>) {
        let to = match to {
            Payee::Partner(partner) => {
                self.meter.work(costs::PARTNER_FEE);
                partner
            }
            Payee::Recipient => self.order.recipient,
            Payee::Payer => self.payer,
        };
        self.pay(token, to, spent_from, run);
    }
}

impl<'a> Walker<'a> {
    fn new(market: &'a Market, order: &'a Order, payer: Address, steps: usize) -> Self {
        let mut meter = Meter::default();
        let proxy = proxy::address();
        meter.warm(proxy);
        meter.warm(payer);
        let step_gas_units = vec![0; steps];
        let (warm, along_path, buys, signed) = (Warm::default(), false, false, None);
        Self { market, order, payer, proxy, warm, along_path, buys, signed, meter, step_gas_units }
    }

    /// Gas so far, less what is to be refunded.
    fn net(&self) -> i64 {
        i64::try_from(self.meter.gas_units).unwrap_or(i64::MAX) - self.meter.refund_gas_units
    }

    /// Decoding, checks, the signature, the recipient's balances.
    fn open(&mut self, run: &mut Run<'_>, legs: &[Leg], program: &Program, authorization: Authorization) {
        let tokens = self.order.tokens().count();
        let listed = program.bytes.first().copied().map_or(0, usize::from);
        self.meter.work(if self.along_path {
            costs::PATH
        } else {
            costs::CALL + costs::times(tokens, costs::ORDER_TOKEN) + costs::times(listed, costs::LISTED_TOKEN)
        });
        if authorization == Authorization::Permit2 && permit2::applies_to(self.order) {
            self.signed = self.goes_straight(legs, program);
            self.permit2_payment(run);
        }
        if !self.along_path {
            self.read_recipients_balances();
        }
    }

    /// Returns the input that a signature moves to the first step's pool and not to the proxy: the only one that is not
    /// ether, spent whole by a first step that takes it so.
    fn goes_straight(&self, legs: &[Leg], program: &Program) -> Option<Address> {
        let mut inputs = self.order.erc20_inputs();
        let only = inputs.next().filter(|_| inputs.next().is_none())?.token;
        let place = program.steps.first().filter(|place| place.wraps.is_none())?;
        let leg = legs.get(place.route_step)?;
        let fee = self.order.partner_fee.is_some_and(|fee| !fee.on_output && fee.bps > 0);
        (!fee && leg.step.share == 0 && leg.token_in == only && leg.code.begins_straight).then_some(only)
    }

    fn permit2_payment(&mut self, run: &mut Run<'_>) {
        self.meter.touch(permit2::ADDRESS);
        self.meter.work(costs::PERMIT2);
        let nonce_word = (permit2::ADDRESS, self.payer, Address::ZERO);
        self.meter.write(nonce_word, false, false);
        for input in self.order.erc20_inputs() {
            self.meter.work(costs::PERMIT2_TOKEN);
            if self.signed.is_none() {
                self.transfer_from(permit2::ADDRESS, input.token, self.proxy, run);
                run.ledger.pull(input.token);
            }
        }
    }

    /// Ether to WETH at the proxy, or back.
    fn convert_ether(&mut self, ran: &Ran<'_>, run: &Run<'_>) {
        if ran.leg.token_in == NATIVE_ETHER {
            self.meter.touch(WETH);
            self.meter.work(costs::WRAP);
            self.receive(WETH, self.proxy);
        } else {
            self.bring(ran, run);
            self.meter.touch(WETH);
            self.meter.work(costs::UNWRAP);
            self.give(WETH, self.proxy, run);
        }
    }

    fn swap(&mut self, pool: &Pool, ran: &Ran<'_>, run: &Run<'_>) {
        let (leg, step) = (ran.leg, &ran.leg.step);
        let (holder, coins, at) = (pool.holder(), [step.coin_in, step.coin_out], self.market.block().next());
        let own = self.warm.step(pool, coins, &at, step.amount_in, step.gas_units);
        self.meter.work(own.saturating_sub(TRANSFERS_GAS_UNITS));
        self.meter.lend(pool.refunded_gas_units(step.coin_in));
        if let Some(spent_from) = ran.spent_from {
            match leg.code.funding {
                Funding::Straight => self.pay(leg.token_in, holder, spent_from, run),
                Funding::Approval => {
                    self.bring(ran, run);
                    self.allow(leg.token_in, holder);
                    self.transfer(leg.token_in, self.proxy, holder, run);
                }
                Funding::Held => {
                    self.bring(ran, run);
                    self.transfer(leg.token_in, self.proxy, holder, run);
                }
                Funding::Ether => {}
            }
        }
        let receiver = match ran.destination {
            Destination::Proxy => self.proxy,
            Destination::Recipient => self.order.recipient,
            // whichever pool it is, it held some before
            Destination::NextPool => Address::ZERO,
        };
        if leg.token_out == NATIVE_ETHER {
            self.meter.work(costs::ETHER_IN);
        } else {
            self.transfer(leg.token_out, holder, receiver, run);
        }
    }

    /// Moves an amount out of the ledger to somebody else, from the payer or from the proxy, as the proxy would.
    fn pay(&mut self, token: Address, to: Address, spent_from: SpentFrom, run: &Run<'_>) {
        if token == NATIVE_ETHER {
            self.meter.touch(to);
            self.meter.work(costs::SEND_ETHER);
            return;
        }
        match spent_from {
            SpentFrom::Payer => {
                let spender = if self.signed == Some(token) { permit2::ADDRESS } else { self.proxy };
                self.transfer_from(spender, token, to, run);
            }
            SpentFrom::Proxy { pulled } => {
                if pulled {
                    self.transfer_from(self.proxy, token, self.proxy, run);
                }
                self.transfer(token, self.proxy, to, run);
            }
        }
    }

    /// Brings what a step spends to the proxy, which pays the pool itself.
    fn bring(&mut self, ran: &Ran<'_>, run: &Run<'_>) {
        if matches!(ran.spent_from, Some(SpentFrom::Payer | SpentFrom::Proxy { pulled: true })) {
            self.transfer_from(self.proxy, ran.leg.token_in, self.proxy, run);
        }
    }

    /// The proxy's allowance: for exactly what is taken, and used up; but by a token that lets the spender take without
    /// one it is left as it is, and was left so before.
    fn allow(&mut self, token: Address, spender: Address) {
        self.meter.work(costs::ALLOWANCE);
        let allowance = (token, self.proxy, spender);
        let pool = self.market.pool_id(token).and_then(|id| self.market.pool(id));
        if pool.and_then(Pool::implicit_spender) == Some(spender) {
            self.meter.write(allowance, false, false);
        } else {
            self.meter.write(allowance, true, false);
            self.meter.write(allowance, true, true);
        }
    }

    /// `transferFrom` by a spender whose allowance is for exactly what the order takes.
    fn transfer_from(&mut self, spender: Address, token: Address, to: Address, run: &Run<'_>) {
        self.meter.work(costs::TRANSFER_FROM - costs::TRANSFER);
        // Permit2's allowance is for all later swaps too.
        let used_up = !self.buys && spender == self.proxy && run.ledger.account(token).due.is_zero();
        self.meter.write((token, self.payer, spender), false, used_up);
        self.transfer(token, self.payer, to, run);
    }

    fn transfer(&mut self, token: Address, from: Address, to: Address, run: &Run<'_>) {
        self.meter.touch(token);
        self.meter.work(costs::TRANSFER);
        self.give(token, from, run);
        self.receive(token, to);
    }

    /// A balance that falls: the proxy's to zero when the ledger says so, everyone else's never.
    fn give(&mut self, token: Address, holder: Address, run: &Run<'_>) {
        let held = run.ledger.account(token).held;
        let at_proxy = holder == self.proxy;
        self.meter.write((token, holder, Address::ZERO), at_proxy, at_proxy && held.is_zero());
    }

    /// A balance that rises: the proxy's from zero, everyone else's from something.
    fn receive(&mut self, token: Address, holder: Address) {
        self.meter.write((token, holder, Address::ZERO), holder == self.proxy, false);
    }

    fn read_recipients_balances(&mut self) {
        for output in self.order.outputs.iter().filter(|output| output.token != NATIVE_ETHER) {
            self.meter.touch(output.token);
            self.meter.work(costs::BALANCE_OF);
            self.meter.read((output.token, self.order.recipient, Address::ZERO), false);
        }
    }
}
