//! Generates random acyclic flows through real pools.

use std::collections::BTreeMap;

use braid_devnet::accounts::{OTHER, TAKER};
use braid_devnet::tokens;
use braid_execution::{Order, PartnerFee, TokenAmount};
use braid_market::{Market, Tokens};
use braid_primitives::{Address, PoolId, Token, TokenId, U256, is_native_ether};
use braid_protocols::Product;
use braid_routing::{Route, Step};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

/// Tokens that are traded only by vaults, by pools whose rates follow from vaults, and by pools of the products below.
const VAULTS_ALONE: [&str; 22] = [
    "stETH",
    "sDAI",
    "pufETH",
    "gtUSDCp",
    "3Crv",
    "fUSDC",
    "fUSDT",
    "fWETH",
    "v2USDC",
    "waEthUSDC",
    "waEthUSDT",
    "waEthWETH",
    "sUSDS",
    "spUSDC",
    "sfrxETH",
    "sUSDC",
    "sUSDf",
    "sFRAX",
    "wstUSR",
    "sGHO",
    "svZCHF",
    "sUSG",
];
/// Products whose amounts depend on the timestamp or on another pool.
const VAULT_PRODUCTS: [Product; 10] = [
    Product::BalancerV3Buffer,
    Product::Erc4626,
    Product::LidoSteth,
    Product::LidoWsteth,
    Product::Metamorpho,
    Product::CurveMetapool,
    Product::CurveStableswapNg,
    Product::FluidDexT1,
    Product::FluidFToken,
    Product::MorphoVaultV2,
];

pub const PARTNER: Address = Address::repeat_byte(0x5a);
const HUBS: [&str; 5] = ["WETH", "USDC", "USDT", "DAI", "WBTC"];

pub struct Basket {
    pub route: Route,
    pub by_signature: bool,
    inputs: Vec<TokenAmount>,
    outputs: Vec<Address>,
    tokens: Vec<Address>,
    recipient: Address,
    partner_fee: Option<PartnerFee>,
}

impl Basket {
    /// Generates flows until there is one in which every token can be spent.
    pub fn roll(market: &Market, dice: &mut StdRng) -> Self {
        loop {
            if let Some(basket) = Self::try_roll(market, dice) {
                return basket;
            }
        }
    }

    fn try_roll(market: &Market, dice: &mut StdRng) -> Option<Self> {
        let alone = |token: &Token| VAULTS_ALONE.contains(&token.symbol.as_str());
        let priced = |token: &Token| is_native_ether(token.address) || tokens::find(&token.address.to_string()).is_ok();
        let exchanged = market.tokens().iter().filter(|(_, token)| !alone(token) && priced(token));
        let mut all: Vec<TokenId> = exchanged.map(|(id, _)| id).collect();
        all.shuffle(dice);
        let selling = dice.random_range(1..=3);
        let buying = dice.random_range(1..=3);
        let inputs: Vec<TokenId> = all.drain(..selling).collect();
        let outputs: Vec<TokenId> = all.drain(..buying).collect();
        let mut hubs: Vec<TokenId> =
            HUBS.iter().filter_map(|s| market.tokens().id(tokens::by_symbol(s).address)).collect();
        hubs.retain(|hub| !inputs.contains(hub) && !outputs.contains(hub));
        hubs.shuffle(dice);
        let nodes: Vec<TokenId> = inputs.iter().chain(&hubs).chain(&outputs).copied().collect();
        let partner_fee = dice.random_bool(0.3).then(|| PartnerFee {
            bps: dice.random_range(1..=300),
            recipient: PARTNER,
            on_output: dice.random_bool(0.5),
        });
        let amounts: Vec<TokenAmount> = inputs.iter().map(|id| random_amount(market, *id, dice)).collect();
        let mut flow = Flow { market, at_hand: BTreeMap::new(), used: Vec::new(), steps: Vec::new() };
        for (id, input) in inputs.iter().zip(&amounts) {
            flow.at_hand.insert(*id, partner_fee.map_or(input.amount, |fee| fee.after_input(input.amount)));
        }
        for (place, node) in nodes.iter().enumerate() {
            flow.spread(*node, &nodes[place + 1..], outputs.contains(node), dice)?;
        }
        let amounts_out: Vec<U256> =
            outputs.iter().map(|id| flow.at_hand.get(id).copied().unwrap_or_default()).collect();
        let after_fee = |amount: &U256| partner_fee.map_or(*amount, |fee| fee.after_output(*amount));
        if amounts_out.iter().any(|amount| after_fee(amount).is_zero()) {
            return None;
        }
        let address = |id: &TokenId| market.tokens().get(*id).unwrap().address;
        Some(Self {
            tokens: nodes.iter().map(address).collect(),
            outputs: outputs.iter().map(address).collect(),
            route: Route { steps: flow.steps, amounts_out },
            by_signature: dice.random_bool(0.3),
            inputs: amounts,
            recipient: if dice.random_bool(0.3) { OTHER } else { TAKER },
            partner_fee,
        })
    }

    /// Returns the order whose minimums are the full computed amounts.
    pub fn order(&self, deadline: u64) -> Order {
        let after_fee = |amount: U256| self.partner_fee.map_or(amount, |fee| fee.after_output(amount));
        let outputs = self.outputs.iter().zip(&self.route.amounts_out);
        Order {
            inputs: self.inputs.clone(),
            outputs: outputs.map(|(token, made)| TokenAmount { token: *token, amount: after_fee(*made) }).collect(),
            recipient: self.recipient,
            deadline,
            partner_fee: self.partner_fee,
        }
    }

    pub fn tokens_met(&self) -> impl Iterator<Item = Address> + '_ {
        self.tokens.iter().copied()
    }
}

/// Returns an amount worth a cent to a hundred thousand dollars.
fn random_amount(market: &Market, id: TokenId, dice: &mut StdRng) -> TokenAmount {
    let token = market.tokens().get(id).unwrap();
    let price = if id == Tokens::ETHER { 3_000.0 } else { tokens::find(&token.address.to_string()).unwrap().price_usd };
    let dollars = 10f64.powf(dice.random_range(-2.0..5.0));
    let units = (dollars / price * 10f64.powi(i32::from(token.decimals))).max(1.0);
    TokenAmount { token: token.address, amount: U256::from(units as u128) }
}

struct Flow<'a> {
    market: &'a Market,
    at_hand: BTreeMap<TokenId, U256>,
    used: Vec<PoolId>,
    steps: Vec<Step>,
}

impl Flow<'_> {
    /// Sends the balance of a token to later tokens, through one to three pools. An output may keep all or a part of
    /// it. `None` if it cannot be spent, or if a pool refuses.
    fn spread(&mut self, token: TokenId, later: &[TokenId], is_output: bool, dice: &mut StdRng) -> Option<()> {
        let has = self.at_hand.get(&token).is_some_and(|amount| !amount.is_zero());
        if !has || (is_output && dice.random_bool(0.8)) {
            return Some(());
        }
        let leads_on = |id: &&PoolId| {
            let pool = self.market.pool(**id).unwrap();
            let anytime = !VAULT_PRODUCTS.contains(&pool.product);
            // A route may use a lender's state only once.
            let met = |id: &PoolId| self.market.pool(*id).unwrap().shares_state_at() == pool.shares_state_at();
            anytime
                && !self.used.iter().any(met)
                && pool.coins.iter().any(|coin| *coin != token && later.contains(coin))
        };
        let pools: Vec<PoolId> = self.market.pools_of(token).iter().filter(leads_on).copied().collect();
        if pools.is_empty() {
            return is_output.then_some(());
        }
        let branches = dice.random_range(1..=3.min(pools.len()));
        let chosen: Vec<PoolId> = pools.choose_multiple(dice, branches).copied().collect();
        for (index, pool) in chosen.iter().enumerate() {
            // Two pools with the same lender may have been chosen.
            let place = |id: &PoolId| self.market.pool(*id).map(|pool| pool.shares_state_at());
            if self.used.iter().any(|used| place(used) == place(pool)) {
                return None;
            }
            let last = index + 1 == branches && !is_output;
            let share = if last { 0 } else { dice.random_range(1 << 20..u32::MAX) };
            self.step(*pool, token, share, later, dice)?;
        }
        Some(())
    }

    fn step(&mut self, id: PoolId, token_in: TokenId, share: u32, later: &[TokenId], dice: &mut StdRng) -> Option<()> {
        let pool = self.market.pool(id)?;
        let balance = self.at_hand.get(&token_in).copied()?;
        let amount_in = if share == 0 { balance } else { (balance * U256::from(share)) >> 32 };
        let coin_in = pool.coin_index(token_in)?;
        let leads_on = |coin: &TokenId| *coin != token_in && later.contains(coin);
        let onwards: Vec<TokenId> = pool.coins.iter().copied().filter(leads_on).collect();
        let token_out = match onwards[..] {
            [only] => only,
            _ => *onwards.choose(dice)?,
        };
        let coin_out = pool.coin_index(token_out)?;
        let swap = pool.swap(&self.market.block().next(), coin_in, coin_out, amount_in).ok()?;
        *self.at_hand.entry(token_in).or_default() -= amount_in;
        *self.at_hand.entry(token_out).or_default() += swap.amount_out;
        self.used.push(id);
        let (amount_out, gas_units) = (swap.amount_out, swap.gas_units);
        self.steps.push(Step {
            pool: id,
            coin_in,
            coin_out,
            token_in,
            token_out,
            share,
            amount_in,
            amount_out,
            gas_units,
        });
        Some(())
    }
}
