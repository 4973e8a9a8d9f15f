//! The program machine: runs steps as the proxy runs them (`docs/internals/program.md`, section 3).
//!
//! Planning, repricing of stored routes, encoding and gas counting all run their steps here, so that a share and a
//! balance mean the same everywhere. [`Ledger`] keeps what is at hand of each token; [`Machine`] computes what the
//! pools of a market pay for each step.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, PoolId, TokenId, U256};
use braid_protocols::{Pool, RouteState, SwapError};

use crate::Step;

/// The largest amount that the proxy's ledger carries: 2¹²⁸ − 1.
pub const MAX_AMOUNT: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

/// The balances of an order in one token, in atomic units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Amount still with the payer.
    pub due: U256,
    /// Amount at the proxy.
    pub held: U256,
}

impl Account {
    /// Returns what a step can spend.
    pub const fn at_hand(self) -> U256 {
        self.due.saturating_add(self.held)
    }
}

/// The holder that an amount was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpentFrom {
    /// The payer: nothing of the token was at the proxy.
    Payer,
    /// The proxy.
    Proxy {
        /// Whether all that was still due was pulled to the proxy first.
        pulled: bool,
    },
}

/// The proxy's ledger: an account for each token that an order or its program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger<T> {
    accounts: Vec<(T, Account)>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { accounts: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Ledger<T> {
    /// Returns the account of a token; an empty one if nothing of it was ever at hand.
    pub fn account(&self, token: T) -> Account {
        self.accounts.iter().find(|(known, _)| *known == token).map_or_else(Account::default, |(_, account)| *account)
    }

    /// Returns what a step can spend of a token.
    pub fn at_hand(&self, token: T) -> U256 {
        self.account(token).at_hand()
    }

    /// Returns what a step with this share takes of what is at hand: `floor(at_hand · share / 2³²)`, or all of it if
    /// the share is 0.
    pub fn share_of(&self, token: T, share: u32) -> U256 {
        let at_hand = self.at_hand(token);
        if share == 0 { at_hand } else { share_of(at_hand, share) }
    }

    /// Adds an amount that the payer still owes.
    pub fn owe(&mut self, token: T, amount: U256) {
        let account = self.entry(token);
        account.due = account.due.saturating_add(amount);
    }

    /// Adds an amount that arrives at the proxy. Returns `false`, and adds nothing, if the sum exceeds [`MAX_AMOUNT`], at
    /// which the proxy reverts.
    pub fn credit(&mut self, token: T, amount: U256) -> bool {
        let account = self.entry(token);
        let held = account.held.saturating_add(amount);
        let is_carried = account.due.saturating_add(held) <= MAX_AMOUNT;
        if is_carried {
            account.held = held;
        }
        is_carried
    }

    /// Takes an amount of a token, which is at most what is at hand. Returns whom it was taken from: the payer, as long
    /// as the proxy holds nothing.
    pub fn spend(&mut self, token: T, amount: U256) -> SpentFrom {
        let account = self.entry(token);
        if account.held.is_zero() {
            account.due = account.due.saturating_sub(amount);
            return SpentFrom::Payer;
        }
        let pulled = !account.due.is_zero();
        *account = Account { due: U256::ZERO, held: account.at_hand().saturating_sub(amount) };
        SpentFrom::Proxy { pulled }
    }

    /// Moves all that is due of a token to the proxy.
    pub fn pull(&mut self, token: T) {
        let account = self.entry(token);
        *account = Account { due: U256::ZERO, held: account.at_hand() };
    }

    /// Returns the tokens of which something is at hand, in the order in which they first occurred.
    pub fn unspent(&self) -> impl Iterator<Item = (T, U256)> + '_ {
        let amounts = self.accounts.iter().map(|(token, account)| (*token, account.at_hand()));
        amounts.filter(|(_, amount)| !amount.is_zero())
    }

    fn entry(&mut self, token: T) -> &mut Account {
        let at = self.accounts.iter().position(|(known, _)| *known == token).unwrap_or(self.accounts.len());
        if at == self.accounts.len() {
            self.accounts.push((token, Account::default()));
        }
        &mut self.accounts[at].1
    }
}

/// Computes `floor(balance · share / 2³²)`, without overflow for any balance.
fn share_of(balance: U256, share: u32) -> U256 {
    let share = U256::from(share);
    let low = balance & U256::from(u32::MAX);
    let high: U256 = balance >> 32;
    high * share + ((low * share) >> 32)
}

/// A step whose amounts are not yet known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The pool.
    pub pool: PoolId,
    /// Position of the token in among the pool's coins.
    pub coin_in: u8,
    /// Position of the token out among the pool's coins.
    pub coin_out: u8,
    /// Share of what is at hand of the token in, in units of 2⁻³²; 0 takes all of it.
    pub share: u32,
}

/// Reasons why a step does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// The market does not have the pool, or the pool does not have the coins.
    #[error("no such pool, or no such coins")]
    Unknown,
    /// The step would have nothing to spend.
    #[error("nothing is at hand")]
    NothingAtHand,
    /// The pool would revert.
    #[error("{error}")]
    Refused {
        /// Amount offered to the pool, in atomic units.
        amount_in: U256,
        /// The pool's error.
        error: SwapError,
    },
}

/// Runs steps over the pools of a market, exact to the wei, each after the state changes of those before it.
#[derive(Debug)]
pub struct Machine<'m> {
    market: &'m Market,
    at: ExecutionBlock,
    ledger: Ledger<TokenId>,
    state: RouteState,
}

impl<'m> Machine<'m> {
    /// Starts with these amounts at hand, for execution in the block `at`.
    pub fn new(market: &'m Market, at: ExecutionBlock, inputs: &[(TokenId, U256)]) -> Self {
        let mut ledger = Ledger::default();
        inputs.iter().for_each(|(token, amount)| ledger.owe(*token, *amount));
        Self { market, at, ledger, state: RouteState::default() }
    }

    /// Returns what is at hand of each token.
    pub const fn ledger(&self) -> &Ledger<TokenId> {
        &self.ledger
    }

    /// Runs one step. A step that fails changes nothing.
    ///
    /// # Errors
    /// [`StepError`] where the proxy would revert.
    pub fn run(&mut self, instruction: Instruction) -> Result<Step, StepError> {
        let Instruction { pool: id, coin_in, coin_out, share } = instruction;
        let pool = self.market.pool(id).ok_or(StepError::Unknown)?;
        let coin = |index: u8| pool.coins.get(usize::from(index)).copied().ok_or(StepError::Unknown);
        let (token_in, token_out) = (coin(coin_in)?, coin(coin_out)?);
        let amount_in = self.ledger.share_of(token_in, share);
        if amount_in.is_zero() {
            return Err(StepError::NothingAtHand);
        }
        let refused = |error| StepError::Refused { amount_in, error };
        if self.may_lack_a_share(pool, token_out) {
            return Err(refused(SwapError::Closed));
        }
        let swap = self.state.swap(pool, &self.at, coin_in, coin_out, amount_in).map_err(refused)?;
        if !self.ledger.credit(token_out, swap.amount_out) {
            return Err(refused(SwapError::Overflow { amount_in }));
        }
        self.ledger.spend(token_in, amount_in);
        self.state.record(pool, swap.after);
        let (amount_out, gas_units) = (swap.amount_out, swap.gas_units);
        Ok(Step { pool: id, coin_in, coin_out, token_in, token_out, share, amount_in, amount_out, gas_units })
    }

    /// Returns whether what a pool pays would join an input that counts in shares (stETH). Both are rounded down to
    /// shares on their way to the proxy, so their sum can need one share more than arrived.
    fn may_lack_a_share(&self, pool: &Pool, token_out: TokenId) -> bool {
        let keeps = |pool: &Pool| pool.keeps_shares_of(token_out);
        !self.ledger.account(token_out).due.is_zero()
            && pool.pays_rounded_shares()
            && self.market.pools_of(token_out).iter().any(|id| self.market.pool(*id).is_some_and(keeps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(amount: u64) -> U256 {
        U256::from(amount)
    }

    #[test]
    fn a_share_is_rounded_down_and_zero_takes_all() {
        let mut ledger = Ledger::default();
        ledger.owe('a', units(10));
        assert_eq!(ledger.share_of('a', 1 << 31), units(5));
        assert_eq!(ledger.share_of('a', (1 << 31) - 1), units(4));
        assert_eq!(ledger.share_of('a', 0), units(10));
        assert_eq!(ledger.share_of('b', 0), U256::ZERO);
        assert_eq!(share_of(U256::MAX, u32::MAX), U256::MAX - (U256::MAX >> 32) - U256::ONE, "of any balance");
    }

    #[test]
    fn the_payer_pays_until_the_proxy_holds_something() {
        let mut ledger = Ledger::default();
        ledger.owe('a', units(10));
        assert_eq!(ledger.spend('a', units(4)), SpentFrom::Payer);
        assert!(ledger.credit('a', units(1)));
        assert_eq!(ledger.account('a'), Account { due: units(6), held: units(1) });
        assert_eq!(ledger.spend('a', units(3)), SpentFrom::Proxy { pulled: true });
        assert_eq!(ledger.account('a'), Account { due: U256::ZERO, held: units(4) });
        assert_eq!(ledger.spend('a', units(4)), SpentFrom::Proxy { pulled: false });
        assert_eq!(ledger.unspent().next(), None);
        ledger.owe('b', units(7));
        assert!(ledger.credit('b', units(2)));
        ledger.pull('b');
        assert_eq!(ledger.account('b'), Account { due: U256::ZERO, held: units(9) });
    }

    #[test]
    fn a_sum_that_the_proxy_does_not_carry_is_refused() {
        let mut ledger = Ledger::default();
        assert!(!ledger.credit('a', U256::MAX) && !ledger.credit('a', U256::ONE << 128));
        assert!(ledger.credit('a', MAX_AMOUNT) && !ledger.credit('a', U256::ONE));
        assert_eq!(ledger.at_hand('a'), MAX_AMOUNT);
        ledger.owe('b', MAX_AMOUNT);
        assert!(!ledger.credit('b', U256::ONE), "what is due counts");
    }
}
