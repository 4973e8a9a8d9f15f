//! Routes of every shape over artificial pools. The amounts out are arbitrary, and the amounts in follow from the
//! shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, NATIVE_ETHER, PoolId, Token, TokenId, U256, WETH};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2, uniswap_v3};
use braid_routing::{Route, Step};
use proptest::prelude::*;

use crate::{Order, PartnerFee, TokenAmount};

pub(super) const V2: Product = Product::UniswapV2;
pub(super) const V3: Product = Product::UniswapV3;

/// The amounts that a route leaves, by token.
type AtHand = BTreeMap<TokenId, U256>;

pub(super) struct Case {
    pub(super) market: Market,
    pub(super) route: Route,
    pub(super) order: Order,
}

/// The random choices that make a case. Nodes are tokens in topological order.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    inputs: usize,
    middle: usize,
    outputs: usize,
    ether_in: bool,
    amounts: Vec<u64>,
    /// For each node and each of up to three branches: the distance to its target, the share, and whether the pool is a
    /// pair.
    branches: Vec<Vec<(usize, u32, bool)>>,
    fee: Option<PartnerFee>,
}

impl Arbitrary for Shape {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        let branch = (0usize..4, 1u32.., any::<bool>());
        let fee = (1u16..=300, any::<bool>()).prop_map(|(bps, on_output)| PartnerFee {
            bps,
            recipient: Address::repeat_byte(9),
            on_output,
        });
        (
            1usize..=3,
            0usize..=4,
            1usize..=3,
            any::<bool>(),
            prop::collection::vec(1_000_000_000u64.., 3),
            prop::collection::vec(prop::collection::vec(branch, 1..=3), 10),
            prop::option::of(fee),
        )
            .prop_map(|(inputs, middle, outputs, ether_in, amounts, branches, fee)| Self {
                inputs,
                middle,
                outputs,
                ether_in,
                amounts,
                branches,
                fee,
            })
            .boxed()
    }
}

/// Builds a case. Tokens 0 (ether) and 1 (WETH) are those of the table, and artificial tokens follow.
struct Maker {
    tokens: Tokens,
    pools: Vec<Pool>,
    steps: Vec<Step>,
    at_hand: AtHand,
}

impl Maker {
    fn new() -> Self {
        Self { tokens: Tokens::new(), pools: Vec::new(), steps: Vec::new(), at_hand: AtHand::new() }
    }

    fn token(&mut self) -> TokenId {
        let number = u64::try_from(self.tokens.len()).unwrap();
        let address = Address::left_padding_from(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        self.tokens.insert(Token { address, symbol: String::new(), name: String::new(), decimals: 18 })
    }

    fn pool(&mut self, product: Product, coins: [TokenId; 2]) -> PoolId {
        let id = u8::try_from(self.pools.len()).unwrap();
        let state = match product {
            Product::WrappedEther => PoolState::WrappedEther(braid_protocols::wrapped_ether::State),
            Product::UniswapV2 => PoolState::UniswapV2(uniswap_v2::State { reserve0: 1, reserve1: 1, fee_bps: 30 }),
            _ => PoolState::UniswapV3(uniswap_v3::State {
                sqrt_price_x96: U256::from(1) << 96,
                tick: 0,
                liquidity: 1,
                fee_pips: 500,
                fee_protocol: 0,
                tick_spacing: 10,
                ticks: Arc::from([]),
            }),
        };
        let stray = if product == Product::WrappedEther { WETH } else { Address::repeat_byte(0x80 + id) };
        let mut pool = Pool { key: stray.into(), product, coins: coins.into_iter().collect(), state };
        // The first pool of two tokens gets its factory's address, and every other pool an address of no factory.
        if let Some(origin) = pool.step_code(0, 1).origin {
            let [a, b] = coins.map(|coin| self.tokens.get(coin).unwrap().address);
            let known = origin.factory.pool(a, b, origin.fee_pips);
            if self.pools.iter().all(|other| other.key.contract != known) {
                pool.key = known.into();
            }
        }
        self.pools.push(pool);
        PoolId(u32::from(id))
    }

    /// Adds a step that takes a share of the available balance. A share that takes nothing adds no step.
    fn step(&mut self, product: Product, token_in: TokenId, token_out: TokenId, share: u32) {
        let balance = self.at_hand.get(&token_in).copied().unwrap_or_default();
        let amount_in = if share == 0 { balance } else { (balance * U256::from(share)) >> 32 };
        if amount_in.is_zero() {
            return;
        }
        *self.at_hand.entry(token_in).or_default() -= amount_in;
        let wrapped = product == Product::WrappedEther;
        let amount_out = if wrapped { amount_in } else { amount_in + amount_in / U256::from(3) + U256::ONE };
        *self.at_hand.entry(token_out).or_default() += amount_out;
        let flipped = !wrapped && self.pools.len() % 2 == 1;
        let coins = if flipped { [token_out, token_in] } else { [token_in, token_out] };
        let pool = self.pool(product, coins);
        let (coin_in, coin_out) = if flipped { (1, 0) } else { (0, 1) };
        let step = Step { pool, coin_in, coin_out, token_in, token_out, share, amount_in, amount_out, gas_units: 1 };
        self.steps.push(step);
    }

    fn finish(self, inputs: &[(TokenId, U256)], outputs: &[TokenId], fee: Option<PartnerFee>) -> Case {
        let address = |id: TokenId| self.tokens.get(id).unwrap().address;
        let made = |id: &TokenId| self.at_hand.get(id).copied().unwrap_or_default();
        let amounts_out: Vec<U256> = outputs.iter().map(made).collect();
        let order = Order {
            inputs: inputs.iter().map(|(id, amount)| TokenAmount { token: address(*id), amount: *amount }).collect(),
            outputs: outputs.iter().map(|id| TokenAmount { token: address(*id), amount: U256::ONE }).collect(),
            recipient: Address::repeat_byte(0x11),
            deadline: 1,
            partner_fee: fee,
        };
        let block = Block {
            number: 1,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 1,
            base_fee_per_gas_wei: 1,
            gas_used: 0,
            gas_limit: 1,
        };
        let tokens = Arc::new(self.tokens);
        let market = Market::empty(block, Arc::clone(&tokens)).next(block, tokens, self.pools).unwrap();
        Case { market, route: Route { steps: self.steps, amounts_out }, order }
    }
}

/// Returns a random acyclic route: every node but an unspent output sends its whole balance to later nodes.
pub(super) fn case(shape: &Shape) -> Case {
    let mut maker = Maker::new();
    let mut nodes: Vec<TokenId> = Vec::new();
    if shape.ether_in {
        nodes.push(Tokens::ETHER);
    }
    let inputs = if shape.ether_in { 1 } else { shape.inputs };
    let count = inputs + shape.middle + shape.outputs;
    while nodes.len() < count + usize::from(shape.ether_in) {
        let weth_next = shape.ether_in && nodes.len() == 1;
        let token = if weth_next { Tokens::WETH } else { maker.token() };
        nodes.push(token);
    }
    let selling: Vec<(TokenId, U256)> =
        nodes.iter().zip(&shape.amounts).take(inputs).map(|(id, amount)| (*id, U256::from(*amount))).collect();
    for (id, amount) in &selling {
        maker.at_hand.insert(*id, shape.fee.map_or(*amount, |fee| fee.after_input(*amount)));
    }
    let outputs: Vec<TokenId> = nodes[nodes.len() - shape.outputs..].to_vec();
    for (at, node) in nodes.iter().enumerate() {
        let later = &nodes[at + 1..];
        if *node == Tokens::ETHER {
            maker.step(Product::WrappedEther, *node, Tokens::WETH, 0);
            continue;
        }
        let Some(last) = later.last().copied() else { continue };
        let is_output = outputs.contains(node);
        let branches = &shape.branches[at % shape.branches.len()];
        for (index, (distance, share, pair)) in branches.iter().enumerate() {
            let target = later.get(*distance).copied().unwrap_or(last);
            // An output keeps a part. Any other token gives its last branch the whole rest.
            let share = if index + 1 == branches.len() && !is_output { 0 } else { *share };
            maker.step(if *pair { V2 } else { V3 }, *node, target, share);
        }
    }
    // An output that received nothing is removed.
    let bought: Vec<TokenId> =
        outputs.into_iter().filter(|id| maker.at_hand.get(id).is_some_and(|amount| !amount.is_zero())).collect();
    maker.finish(&selling, &bought, shape.fee)
}

/// Returns a route of one input through pools in a row.
pub(super) fn chain(products: &[Product], fee: Option<PartnerFee>) -> Case {
    let mut maker = Maker::new();
    let nodes: Vec<TokenId> = (0..=products.len()).map(|_| maker.token()).collect();
    let amount = U256::from(1_000_000);
    maker.at_hand.insert(nodes[0], fee.map_or(amount, |fee| fee.after_input(amount)));
    for (product, pair) in products.iter().zip(nodes.windows(2)) {
        maker.step(*product, pair[0], pair[1], 0);
    }
    maker.finish(&[(nodes[0], amount)], &[nodes[products.len()]], fee)
}

/// Returns a route with one pool that does not have its factory's address.
pub(super) fn pool_of_no_factory() -> Case {
    let mut maker = Maker::new();
    let (from, into, amount) = (maker.token(), maker.token(), U256::from(1_000_000));
    maker.pool(V3, [from, into]);
    maker.at_hand.insert(from, amount);
    maker.step(V3, from, into, 0);
    maker.finish(&[(from, amount)], &[into], None)
}

/// Returns the example of `docs/internals/program.md`: a third through a pair, the rest through a V3 pool.
pub(super) fn split_of_usdc_over_v2_and_v3() -> Case {
    let mut maker = Maker::new();
    let (usdc, amount) = (maker.token(), U256::from(3_000_000_000u64));
    maker.at_hand.insert(usdc, amount);
    maker.step(V2, usdc, Tokens::WETH, 0x5555_5555);
    maker.step(V3, usdc, Tokens::WETH, 0);
    maker.finish(&[(usdc, amount)], &[Tokens::WETH], None)
}

/// Returns a route of ether to a token over a pair and a V3 pool.
pub(super) fn ether_over_two_pools() -> Case {
    let mut maker = Maker::new();
    let (token, amount) = (maker.token(), U256::from(10).pow(U256::from(18)));
    maker.at_hand.insert(Tokens::ETHER, amount);
    maker.step(Product::WrappedEther, Tokens::ETHER, Tokens::WETH, 0);
    maker.step(V2, Tokens::WETH, token, 1 << 31);
    maker.step(V3, Tokens::WETH, token, 0);
    maker.finish(&[(Tokens::ETHER, amount)], &[token], None)
}

/// Returns a route of ether through WETH to a token.
pub(super) fn ether_to_ether_free_swap() -> Case {
    let mut maker = Maker::new();
    let (token, amount) = (maker.token(), U256::from(10).pow(U256::from(18)));
    maker.at_hand.insert(Tokens::ETHER, amount);
    maker.step(Product::WrappedEther, Tokens::ETHER, Tokens::WETH, 0);
    maker.step(V3, Tokens::WETH, token, 0);
    let case = maker.finish(&[(Tokens::ETHER, amount)], &[token], None);
    assert_eq!(case.order.inputs[0].token, NATIVE_ETHER);
    case
}
