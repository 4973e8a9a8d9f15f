//! Runs random quoted routes (two hundred, or five hundred with `LONG=1`) in the real pools on a local chain.
//! Recipients must receive what was quoted and takers must give what was quoted, to the wei, and the proxy must keep
//! nothing. The modelled gas is compared with the receipts.
//!
//! All ways of paying take part: allowances, Permit2 signatures by the node's wallet, ether in and out, and partner
//! fees on either side.
use std::collections::BTreeMap;
use std::sync::Arc;

use braid_devnet::accounts::{OTHER, TAKER};
use braid_devnet::addresses::STETH;
use braid_devnet::tokens;
use braid_execution::{
    Authorization, GasEstimate, Order, PartnerFee, Permit, Program, TokenAmount, gas, permit2, proxy,
};
use braid_market::Market;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256, WETH};
use braid_protocols::Product;
use braid_routing::{PoolFilter, Prepared, Request, Route, SolveError, solve};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::chain::Chain;
use crate::gas_table::{Measured, Table};

/// Families of products whose state other pools' trades change. Their pools are read again after every route.
const ENTANGLED: [&str; 5] = ["erc4626", "morpho", "fluid", "lido", "curve"];

const SEED: u64 = 20_260_702;
const PARTNER: Address = Address::repeat_byte(0x5a);
const GWEI: u64 = 1_000_000_000;

/// A random request.
struct Wish {
    token_in: Address,
    token_out: Address,
    amount: U256,
    recipient: Address,
    partner_fee: Option<PartnerFee>,
    permit2: bool,
    max_hops: u8,
    gas_price_wei: u64,
    filter: PoolFilter,
}

impl Wish {
    fn roll(market: &Market, dice: &mut StdRng) -> Self {
        // A transfer of stETH may move a wei or two less. The test of vaults covers it.
        let exact = |t: &&tokens::Token| t.address != STETH;
        let mut listed: Vec<(Address, u8, f64)> =
            tokens::TOKENS.iter().filter(exact).map(|t| (t.address, t.decimals, t.price_usd)).collect();
        listed.push((NATIVE_ETHER, 18, 3_000.0));
        let mut filter = PoolFilter::default();
        let family = Product::ALL.choose(dice).unwrap().family();
        let alone = dice.random_bool(0.3);
        if alone {
            // Between coins of one family and only through its pools, so that every product is used.
            listed.retain(|(token, ..)| trades(market, family, *token));
            let others = Product::ALL.iter().filter(|p| p.family() != family && **p != Product::WrappedEther);
            others.for_each(|product| filter.exclude_product(*product));
        }
        // Otherwise hubs more often than the tail, so that routes split.
        let pick = |dice: &mut StdRng| {
            let among = if !alone && dice.random_bool(0.6) { &listed[..5] } else { &listed[..] };
            let native = !alone && dice.random_bool(0.12);
            if native { listed[listed.len() - 1] } else { *among.choose(dice).unwrap() }
        };
        let (token_in, decimals, price) = pick(dice);
        let token_out = loop {
            let (token, ..) = pick(dice);
            if token != token_in {
                break token;
            }
        };
        // A cent to three million dollars, with every order of magnitude equally likely.
        let dollars = 10f64.powf(dice.random_range(-2.0..6.5));
        let units = (dollars / price * 10f64.powi(i32::from(decimals))).max(1.0);
        if !alone && dice.random_bool(0.4) {
            filter.exclude_product(*Product::ALL.choose(dice).unwrap());
        }
        let fee = |dice: &mut StdRng| PartnerFee {
            bps: dice.random_range(1..=300),
            recipient: PARTNER,
            on_output: dice.random_bool(0.5),
        };
        Self {
            token_in,
            token_out,
            amount: U256::from(units as u128),
            recipient: if dice.random_bool(0.15) { OTHER } else { TAKER },
            partner_fee: dice.random_bool(0.2).then(|| fee(dice)),
            permit2: dice.random_bool(0.25) && token_in != NATIVE_ETHER,
            max_hops: dice.random_range(1..=5),
            gas_price_wei: *[0, GWEI, 20 * GWEI].choose(dice).unwrap(),
            filter,
        }
    }

    fn after_input_fee(&self) -> U256 {
        self.partner_fee.map_or(self.amount, |fee| fee.after_input(self.amount))
    }

    fn request(&self, chain: &Chain) -> Request {
        let id = |token| chain.market.tokens().id(token).unwrap();
        Request {
            inputs: vec![(id(self.token_in), self.after_input_fee())],
            outputs: vec![(id(self.token_out), 10_000)],
            max_hops: self.max_hops,
            filter: self.filter.clone(),
            gas_price_wei: self.gas_price_wei,
            max_steps: 24,
            at: chain.market.block().next(),
        }
    }

    /// Returns the order whose minimum is the full quoted amount, so that the proxy reverts for one wei less.
    fn order(&self, quoted: U256, deadline: u64) -> Order {
        Order {
            inputs: vec![TokenAmount { token: self.token_in, amount: self.amount }],
            outputs: vec![TokenAmount { token: self.token_out, amount: quoted }],
            recipient: self.recipient,
            deadline,
            partner_fee: self.partner_fee,
        }
    }
}

/// Returns whether a token is a coin of a family's pools. Ether counts as WETH, except for Lido.
fn trades(market: &Market, family: &str, token: Address) -> bool {
    let token = if token == NATIVE_ETHER && family != "lido" { WETH } else { token };
    let pools = market.tokens().id(token).map_or(&[][..], |id| market.pools_of(id));
    pools.iter().any(|id| market.pool(*id).is_some_and(|pool| pool.product.family() == family))
}

/// A transaction that is ready to be sent, with its program and estimated gas.
struct Ready {
    data: Bytes,
    program: Program,
    estimate: GasEstimate,
}

/// Encodes a route, and signs it if it is paid by signature. Otherwise the allowance exists already.
async fn authorize(chain: &Chain, wish: &Wish, route: &Route, order: &Order, nonce: u128) -> Ready {
    let program = braid_execution::encode_program(&chain.market, route, order).unwrap();
    let authorization = if wish.permit2 { Authorization::Permit2 } else { Authorization::Allowance };
    let estimate = gas::estimate(&chain.market, route, order, &program, TAKER, authorization).unwrap();
    if !wish.permit2 {
        return Ready { data: braid_execution::calldata(order, &program), program, estimate };
    }
    let permit = Permit { owner: TAKER, nonce: U256::from(nonce), deadline: order.deadline, sender: TAKER };
    let typed = permit2::typed_data(order, program.sent(), &permit).unwrap();
    let signature = chain.sign(&typed).await;
    assert_eq!(permit2::recover_signer(typed.hash, &signature), Ok(TAKER), "the wallet signs the same hash");
    let data = braid_execution::calldata_with_permit2(order, &program, &permit, &signature);
    Ready { data, program, estimate }
}

/// The balances of taker, recipient and partner in the input and the output token.
struct Holdings([Vec<U256>; 3]);

impl Holdings {
    async fn read(chain: &Chain, wish: &Wish) -> Self {
        let both = [wish.token_in, wish.token_out];
        let owners = [TAKER, wish.recipient, PARTNER];
        Self(futures::future::join_all(owners.map(|owner| chain.balances(owner, &both))).await.try_into().unwrap())
    }

    /// Returns how much an account (0 taker, 1 recipient, 2 partner) gained of a token (0 in, 1 out). Negative numbers
    /// wrap.
    fn gain(&self, after: &Self, who: usize, which: usize) -> U256 {
        after.0[who][which].wrapping_sub(self.0[who][which])
    }
}

/// Gives the taker the input and approves it.
async fn supply(chain: &mut Chain, wish: &Wish) {
    chain.afford(wish.token_in, wish.amount).await;
    let spender = if wish.permit2 { permit2::ADDRESS } else { proxy::address() };
    if wish.token_in != NATIVE_ETHER {
        chain.approve(wish.token_in, spender, wish.amount).await;
    }
    // Amounts are for the timestamp of the next block.
    chain.refresh(&[]).await;
}

/// Makes one swap from the request to the receipt, and compares every balance.
async fn swap(chain: &mut Chain, prepared: &Prepared, wish: &Wish, nonce: u128) -> Result<Measured, SolveError> {
    let solution = solve(prepared, &wish.request(chain))?;
    let route = &solution.route;
    let made = route.amounts_out[0];
    let quoted = wish.partner_fee.map_or(made, |fee| fee.after_output(made));
    let order = wish.order(quoted, chain.market.block().timestamp + 3_600);
    let ready = authorize(chain, wish, route, &order, nonce).await;

    let before = Holdings::read(chain, wish).await;
    let receipt = chain.send(proxy::address(), ready.data.clone(), order.value_wei(), ready.estimate.gas_limit).await;
    let after = Holdings::read(chain, wish).await;
    if !receipt.succeeded {
        let why = chain.why(proxy::address(), ready.data, order.value_wei()).await;
        panic!("reverted for {why}: {order:?} {route:?} {:?} with {} gas", ready.program, ready.estimate.gas_limit);
    }
    // Gas is paid in ether, in addition to ether that is sold, and reduces ether that is received.
    let gas_in = if wish.token_in == NATIVE_ETHER { receipt.fee_wei } else { U256::ZERO };
    let paid_back = wish.token_out == NATIVE_ETHER && wish.recipient == TAKER;
    let gas_out = if paid_back { receipt.fee_wei } else { U256::ZERO };
    let spent = after.gain(&before, 0, 0).wrapping_sub(gas_in);
    assert_eq!(spent, wish.amount, "the taker gives exactly the input");
    let received = before.gain(&after, 1, 1).wrapping_add(gas_out);
    assert_eq!(received, quoted, "the recipient gets exactly what was quoted: {route:?}");
    assert_eq!(before.gain(&after, 2, 0), wish.amount - wish.after_input_fee(), "the partner's share of the input");
    assert_eq!(before.gain(&after, 2, 1), made - quoted, "the partner's share of the output");

    let everything: Vec<Address> = tokens::TOKENS.iter().map(|t| t.address).chain([NATIVE_ETHER]).collect();
    for (token, kept) in everything.iter().zip(chain.balances(proxy::address(), &everything).await) {
        // Less than one share of stETH is worth zero or one wei.
        let crumb = U256::from(u8::from(*token == STETH));
        assert!(kept <= crumb, "the proxy keeps {kept} of {token}: {route:?}");
    }
    let measured =
        Measured::new(chain, route, &ready.program, &ready.estimate, receipt.gas_used, wish.permit2, wish.partner_fee);
    let entangled = chain
        .market
        .pools()
        .iter()
        .filter(|pool| ENTANGLED.contains(&pool.product.family()) || pool.product == Product::BalancerV3Buffer);
    let pools = route.steps.iter().filter_map(|step| chain.market.pool(step.pool));
    let touched: Vec<Address> =
        pools.map(|pool| pool.key.contract).chain(entangled.map(|pool| pool.key.contract)).collect();
    chain.refresh(&touched).await;
    Ok(measured)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_routes_pay_what_was_quoted() {
    // The number of swaps, and the minimum number of swaps through each product.
    let (routes, least) = if std::env::var_os("LONG").is_some() { (500, 3) } else { (200, 1) };
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    chain.settle_in(PARTNER).await;
    let mut dice = StdRng::seed_from_u64(SEED);
    let mut prepared = Prepared::new(Arc::clone(&chain.market));
    let mut table = Table::default();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut attempt = 0u128;
    while table.len() < routes {
        attempt += 1;
        assert!(attempt < 3 * routes as u128, "too few wishes have a route: {refused:?}");
        let wish = Wish::roll(&chain.market, &mut dice);
        supply(&mut chain, &wish).await;
        prepared = prepared.next(Arc::clone(&chain.market));
        match swap(&mut chain, &prepared, &wish, attempt).await {
            Ok(measured) => table.add(measured),
            Err(error) => {
                *refused.entry(format!("{error:?}").split('(').next().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    for product in Product::ALL {
        let count = table.routes_through(*product);
        println!("{:<30} in {count} routes", product.id());
        assert!(count >= least, "{} is in {count} routes", product.id());
    }
    let fresh = chain.read_everything().await;
    assert_eq!(fresh.pools(), chain.market.pools(), "pools that no route touched did not change");
    println!("refused: {refused:?}");
    table.print();
    // Some routes are the first trade in a pool.
    table.check(0.97);
}
