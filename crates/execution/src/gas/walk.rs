//! The program, walked step by step as the proxy runs it.

use std::collections::BTreeMap;

use braid_market::Market;
use braid_primitives::{Address, NATIVE_ETHER, TokenId, U256, WETH};
use braid_protocols::{
    Pool, Warm,
    step::{Funding, TRANSFERS_GAS_UNITS},
};
use braid_routing::{Route, Step};

use super::{Authorization, costs, meter::Meter};
use crate::{Destination, Order, Program, ProgramStep, permit2, proxy};

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
pub(super) fn walk(
    market: &Market,
    route: &Route,
    order: &Order,
    program: &Program,
    payer: Address,
    authorization: Authorization,
) -> Walked {
    let mut walker = Walker::new(market, order, payer);
    walker.open(route, program, authorization);
    let mut step_gas_units = vec![0; route.steps.len()];
    for place in &program.steps {
        let Some(step) = route.steps.get(place.route_step) else { continue };
        if let Some((wrap, slot)) = place.wraps.and_then(|at| route.steps.get(at).zip(step_gas_units.get_mut(at))) {
            let before = walker.net();
            walker.wrap(wrap);
            *slot = u64::try_from(walker.net() - before).unwrap_or(0);
        }
        let before = walker.net();
        walker.step(step, *place);
        if let Some(slot) = step_gas_units.get_mut(place.route_step) {
            *slot = u64::try_from(walker.net() - before).unwrap_or(0);
        }
    }
    walker.settle();
    Walked {
        gas_units: walker.meter.gas_units,
        refund_gas_units: u64::try_from(walker.meter.refund_gas_units).unwrap_or(0),
        step_gas_units,
    }
}

/// What the order has of a token: with the payer, and at the proxy.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    due: U256,
    held: U256,
}

struct Walker<'a> {
    market: &'a Market,
    order: &'a Order,
    payer: Address,
    proxy: Address,
    ledger: BTreeMap<Address, Account>,
    /// What the steps before left warm.
    warm: Warm,
    /// The input that the owner's signature pays straight to the first step's pool.
    signed: Option<Address>,
    meter: Meter,
}

impl<'a> Walker<'a> {
    fn new(market: &'a Market, order: &'a Order, payer: Address) -> Self {
        let mut meter = Meter::default();
        let proxy = proxy::address();
        meter.warm(proxy);
        meter.warm(payer);
        Self { market, order, payer, proxy, ledger: BTreeMap::new(), warm: Warm::default(), signed: None, meter }
    }

    /// Gas so far, less what is to be refunded.
    fn net(&self) -> i64 {
        i64::try_from(self.meter.gas_units).unwrap_or(i64::MAX) - self.meter.refund_gas_units
    }

    /// Decoding, checks, the signature, the fee on the inputs.
    fn open(&mut self, route: &Route, program: &Program, authorization: Authorization) {
        let tokens = self.order.tokens().count();
        let listed = program.bytes.first().copied().map_or(0, usize::from);
        self.meter
            .work(costs::CALL + costs::times(tokens, costs::ORDER_TOKEN) + costs::times(listed, costs::LISTED_TOKEN));
        for input in &self.order.inputs {
            let native = input.token == NATIVE_ETHER;
            let account = self.ledger.entry(input.token).or_default();
            if native { account.held = input.amount } else { account.due = input.amount }
        }
        if authorization == Authorization::Permit2 && permit2::applies_to(self.order) {
            self.permit2_payment(self.goes_straight(route, program));
        }
        for output in &self.order.outputs {
            self.read_balance(output.token, self.order.recipient);
        }
        if let Some(fee) = self.order.partner_fee.filter(|fee| !fee.on_output && fee.bps > 0) {
            for input in &self.order.inputs {
                let amount = fee.on(input.amount);
                if !amount.is_zero() {
                    self.meter.work(costs::PARTNER_FEE);
                    self.pay_out_of_ledger(input.token, amount, fee.recipient);
                }
            }
        }
    }

    /// The input that a signature moves to the first step's pool and not to the proxy: the only one that is not ether, spent whole
    /// by a first step that takes it so.
    fn goes_straight(&self, route: &Route, program: &Program) -> Option<Address> {
        let mut inputs = self.order.erc20_inputs();
        let only = inputs.next().filter(|_| inputs.next().is_none())?.token;
        let place = program.steps.first().filter(|place| place.wraps.is_none())?;
        let step = route.steps.get(place.route_step)?;
        let code = self.market.pool(step.pool)?.step_code(step.coin_in, step.coin_out);
        let fee = self.order.partner_fee.is_some_and(|fee| !fee.on_output && fee.bps > 0);
        (!fee && step.share == 0 && self.address(step.token_in) == only && code.begins_straight).then_some(only)
    }

    fn permit2_payment(&mut self, straight: Option<Address>) {
        self.signed = straight;
        self.meter.touch(permit2::ADDRESS);
        self.meter.work(costs::PERMIT2);
        let nonce_word = (permit2::ADDRESS, self.payer, Address::ZERO);
        self.meter.write(nonce_word, false, false);
        for input in self.order.erc20_inputs() {
            self.meter.work(costs::PERMIT2_TOKEN);
            if straight.is_some() {
                continue;
            }
            self.transfer_from(permit2::ADDRESS, input.token, self.proxy);
            let account = self.ledger.entry(input.token).or_default();
            (account.due, account.held) = (U256::ZERO, account.due);
        }
    }

    /// Ether to WETH at the proxy.
    fn wrap(&mut self, step: &Step) {
        self.meter.touch(WETH);
        self.meter.work(costs::WRAP);
        self.spend(NATIVE_ETHER, step.amount_in);
        self.credit(WETH, step.amount_out, Destination::Proxy);
        self.receive(WETH, self.proxy);
    }

    fn step(&mut self, step: &Step, place: ProgramStep) {
        self.meter.work(costs::STEP);
        let (token_in, token_out) = (self.address(step.token_in), self.address(step.token_out));
        let Some(pool) = self.market.pool(step.pool) else { return };
        match pool.product {
            product if product.wraps_ether() && token_in == NATIVE_ETHER => self.wrap(step),
            product if product.wraps_ether() => {
                self.bring(token_in, step.amount_in);
                self.meter.touch(WETH);
                self.meter.work(costs::UNWRAP);
                self.give(WETH, self.proxy);
                self.credit(token_out, step.amount_out, Destination::Proxy);
            }
            _ => {
                let (holder, coins, at) = (pool.holder(), [step.coin_in, step.coin_out], self.market.block().next());
                let own = self.warm.step(pool, coins, &at, step.amount_in, step.gas_units);
                self.meter.work(own.saturating_sub(TRANSFERS_GAS_UNITS));
                self.meter.lend(pool.refunded_gas_units(step.coin_in));
                match pool.step_code(step.coin_in, step.coin_out).funding {
                    _ if place.prepaid => {}
                    Funding::Straight => self.pay_out_of_ledger(token_in, step.amount_in, holder),
                    Funding::Approval => {
                        self.bring(token_in, step.amount_in);
                        self.allow(token_in, holder);
                        self.transfer(token_in, self.proxy, holder);
                    }
                    Funding::Held => {
                        self.bring(token_in, step.amount_in);
                        self.transfer(token_in, self.proxy, holder);
                    }
                    Funding::Ether => {
                        self.spend(token_in, step.amount_in);
                    }
                }
                self.credit(token_out, step.amount_out, place.destination);
                let receiver = match place.destination {
                    Destination::Proxy => self.proxy,
                    Destination::Recipient => self.order.recipient,
                    // whichever pool it is, it held some before
                    Destination::NextPool => Address::ZERO,
                };
                if token_out == NATIVE_ETHER {
                    self.meter.work(costs::ETHER_IN);
                } else {
                    self.transfer(token_out, holder, receiver);
                }
            }
        }
    }

    /// Outputs to the recipient, what is left of inputs to the payer, balances read again.
    fn settle(&mut self) {
        let fee = self.order.partner_fee.filter(|fee| fee.on_output && fee.bps > 0);
        for output in &self.order.outputs {
            let held = self.ledger.get(&output.token).copied().unwrap_or_default().held;
            if held.is_zero() {
                continue;
            }
            if let Some(fee) = fee.filter(|fee| !fee.on(held).is_zero()) {
                self.meter.work(costs::PARTNER_FEE);
                self.pay_out_of_ledger(output.token, fee.on(held), fee.recipient);
            }
            let rest = fee.map_or(held, |fee| fee.after_output(held));
            self.pay_out_of_ledger(output.token, rest, self.order.recipient);
        }
        for input in &self.order.inputs {
            let held = self.ledger.get(&input.token).copied().unwrap_or_default().held;
            if !held.is_zero() {
                self.pay_out_of_ledger(input.token, held, self.payer);
            }
        }
        for output in &self.order.outputs {
            self.read_balance(output.token, self.order.recipient);
        }
    }

    /// Moves an amount out of the ledger to somebody else, from the payer or from the proxy, as the proxy would.
    fn pay_out_of_ledger(&mut self, token: Address, amount: U256, to: Address) {
        let from_payer = self.spend(token, amount);
        if token == NATIVE_ETHER {
            self.meter.touch(to);
            self.meter.work(costs::SEND_ETHER);
        } else if from_payer {
            let spender = if self.signed == Some(token) { permit2::ADDRESS } else { self.proxy };
            self.transfer_from(spender, token, to);
        } else {
            self.transfer(token, self.proxy, to);
        }
    }

    /// Takes an amount out of the ledger; says whether it is still with the payer.
    fn spend(&mut self, token: Address, amount: U256) -> bool {
        let account = self.ledger.get(&token).copied().unwrap_or_default();
        let from_payer = account.held.is_zero() && token != NATIVE_ETHER;
        let next = if from_payer {
            Account { due: account.due.saturating_sub(amount), ..account }
        } else {
            if !account.due.is_zero() {
                self.transfer_from(self.proxy, token, self.proxy);
            }
            Account { due: U256::ZERO, held: (account.due + account.held).saturating_sub(amount) }
        };
        self.ledger.insert(token, next);
        from_payer
    }

    /// Takes an amount out of the ledger for a step that the proxy itself pays.
    fn bring(&mut self, token: Address, amount: U256) {
        if self.spend(token, amount) {
            self.transfer_from(self.proxy, token, self.proxy);
        }
    }

    /// The proxy's allowance: for exactly what is taken, and used up; but by a token that lets the spender take without one it is left as it is,
    /// and was left so before.
    fn allow(&mut self, token: Address, spender: Address) {
        self.meter.work(costs::ALLOWANCE);
        let allowance = (token, self.proxy, spender);
        let pool = self.market.pool_id(token).and_then(|id| self.market.pool(id));
        if pool.and_then(Pool::own_token_lets) == Some(spender) {
            self.meter.write(allowance, false, false);
        } else {
            self.meter.write(allowance, true, false);
            self.meter.write(allowance, true, true);
        }
    }

    fn credit(&mut self, token: Address, amount: U256, destination: Destination) {
        if destination == Destination::Proxy {
            let account = self.ledger.entry(token).or_default();
            account.held = account.held.saturating_add(amount);
        }
    }

    /// `transferFrom` by a spender whose allowance is for exactly what the order takes.
    fn transfer_from(&mut self, spender: Address, token: Address, to: Address) {
        self.meter.work(costs::TRANSFER_FROM - costs::TRANSFER);
        let used_up = self.ledger.get(&token).is_none_or(|account| account.due.is_zero()) || spender != self.proxy;
        self.meter.write((token, self.payer, spender), false, used_up);
        self.transfer(token, self.payer, to);
    }

    fn transfer(&mut self, token: Address, from: Address, to: Address) {
        self.meter.touch(token);
        self.meter.work(costs::TRANSFER);
        self.give(token, from);
        self.receive(token, to);
    }

    /// A balance that falls: the proxy's to zero when the ledger says so, everyone else's never.
    fn give(&mut self, token: Address, holder: Address) {
        let held = self.ledger.get(&token).copied().unwrap_or_default().held;
        let at_proxy = holder == self.proxy;
        self.meter.write((token, holder, Address::ZERO), at_proxy, at_proxy && held.is_zero());
    }

    /// A balance that rises: the proxy's from zero, everyone else's from something.
    fn receive(&mut self, token: Address, holder: Address) {
        self.meter.write((token, holder, Address::ZERO), holder == self.proxy, false);
    }

    fn read_balance(&mut self, token: Address, holder: Address) {
        if token != NATIVE_ETHER {
            self.meter.touch(token);
            self.meter.work(costs::BALANCE_OF);
            self.meter.read((token, holder, Address::ZERO), false);
        }
    }

    fn address(&self, token: TokenId) -> Address {
        self.market.tokens().get(token).map_or(Address::ZERO, |token| token.address)
    }
}
