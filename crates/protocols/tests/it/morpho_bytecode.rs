//! Compares MetaMorpho vaults with Morpho's own code in an EVM: Morpho Blue and its adaptive interest rate model under
//! a vault of release 1.0, or of 1.1 where its code is available. Others lend, borrow, repay and default; the
//! protocol's fee and caps change; weeks pass at times. Every turn compares each market's interest and what the vault
//! pays.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolValue, sol};
use braid_primitives::ExecutionBlock;
use braid_protocols::{
    After, Pool, PoolState, Product,
    morpho::{ADAPTIVE_CURVE_IRM, MORPHO_BLUE},
};

use crate::{
    support::{
        bytecode,
        chain::{Chain, OWNER},
        deployed,
        morpho::{self, MarketParams},
        random::Random,
    },
    vault_bytecode::{START, amount_of, discovered, read, trades, vault_call, with_asset},
};

sol! {
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function setSupplyQueue(bytes32[] queue) external;
    function setFeeRecipient(address recipient) external;
    function setFee(uint256 fee) external;
}

const ASSET: Address = Address::repeat_byte(0x11);
const VAULT: Address = Address::repeat_byte(0x4d);
const DAY: u64 = 86_400;

/// A vault of four markets, one of which earns nothing.
struct World {
    chain: Chain,
    random: Random,
    markets: Vec<MarketParams>,
    now: u64,
    paid: usize,
    refused: usize,
    accrued: usize,
}

impl World {
    fn new(seed: u64, vault: &Bytes) -> Self {
        let mut chain = with_asset(ASSET);
        morpho::place(&mut chain);
        let markets: Vec<_> = (0..4_u8)
            .map(|n| morpho::market(&mut chain, ASSET, n, if n == 3 { Address::ZERO } else { ADAPTIVE_CURVE_IRM }))
            .collect();
        let name = (OWNER, MORPHO_BLUE, U256::from(DAY), ASSET, String::new(), String::new());
        chain.construct(VAULT, vault, &name.abi_encode_params());
        for (params, bits) in markets.iter().zip([88_u64, 90, 92, 86]) {
            let cap = U256::ONE << bits;
            chain.send(VAULT, &morpho::Vault::submitCapCall { params: params.clone(), cap }).unwrap();
        }
        let now = START + DAY;
        chain.set_block(1, now);
        for params in &markets {
            chain.send(VAULT, &morpho::Vault::acceptCapCall { params: params.clone() }).unwrap();
        }
        let queue = markets.iter().map(morpho::id).collect();
        chain.send(VAULT, &setSupplyQueueCall { queue }).unwrap();
        for owned in [VAULT, MORPHO_BLUE] {
            // To another account, since the fees would otherwise go to the taker.
            chain.send(owned, &setFeeRecipientCall { recipient: Address::repeat_byte(0xfe) }).unwrap();
        }
        let tenths = |n: u64| U256::from(n) * U256::from(10).pow(U256::from(17));
        chain.send(VAULT, &setFeeCall { fee: tenths(1) }).unwrap();
        for (n, params) in markets.iter().take(2).enumerate() {
            let call = morpho::Protocol::setFeeCall { params: params.clone(), fee: tenths(1 + n as u64) };
            chain.send(MORPHO_BLUE, &call).unwrap();
        }
        chain.send(VAULT, &depositCall { assets: U256::ONE << 91, receiver: OWNER }).unwrap();
        Self { chain, random: Random::new(seed), markets, now, paid: 0, refused: 0, accrued: 0 }
    }

    /// Makes the changes of other users: they borrow, repay and lend.
    fn live(&mut self) {
        let params = self.markets[self.random.below(3) as usize].clone();
        let (assets, shares, data) = (self.random.log_uniform_between(60, 90), U256::ZERO, Default::default());
        match self.random.below(4) {
            0 | 1 => morpho::borrow(&mut self.chain, &params, assets),
            2 => {
                let call = morpho::repayCall { params, assets, shares, onBehalf: OWNER, data };
                drop(self.chain.send(MORPHO_BLUE, &call));
            }
            _ => {
                let call = morpho::supplyCall { params, assets, shares, onBehalf: OWNER, data };
                self.chain.send(MORPHO_BLUE, &call).unwrap();
            }
        }
    }

    /// Removes a part of what a market is owed, as a bad debt does.
    fn lose(&mut self) {
        let params = &self.markets[self.random.below(3) as usize];
        let word = U256::from_be_bytes(keccak256((morpho::id(params), U256::from(3)).abi_encode()).0);
        let mut words = [word, word + U256::ONE].map(|slot| (slot, self.chain.word(MORPHO_BLUE, slot)));
        let owed = words[1].1 & U256::from(u128::MAX);
        let lost = self.random.up_to(owed >> 4_usize);
        for (slot, value) in &mut words {
            self.chain.set_word(MORPHO_BLUE, *slot, *value - lost);
        }
    }

    /// Compares each market with interest in the model with what Morpho stores.
    fn accrue(&mut self, pool: &Pool) {
        let PoolState::Metamorpho(vault) = &pool.state else { panic!("a vault") };
        for params in self.markets.clone() {
            let id: B256 = morpho::id(&params);
            let holding = vault.holdings.iter().find(|holding| holding.id == id).unwrap();
            let model = holding.market.accrued(self.now).unwrap();
            self.chain.send(MORPHO_BLUE, &morpho::accrueInterestCall { params }).unwrap();
            let real = self.chain.view(MORPHO_BLUE, &morpho::marketCall { id });
            assert_eq!(
                (model.supply_assets, model.supply_shares, model.borrow_assets, u128::from(model.last_update)),
                (real.totalSupplyAssets, real.totalSupplyShares, real.totalBorrowAssets, real.lastUpdate),
            );
            self.accrued += usize::from(real.totalBorrowAssets > holding.market.borrow_assets);
        }
    }

    /// Checks that model and contract agree on a trade with the owner's balance, and returns whether it pays.
    fn same(&mut self, pool: &Pool, before: &After, coin_in: u8, amount: U256) -> bool {
        let at = ExecutionBlock { number: 1, timestamp: self.now };
        let owned = self.chain.view(VAULT, &balanceOfCall { owner: OWNER });
        if coin_in == 1 && amount > owned {
            return false;
        }
        let contract = amount_of(self.chain.try_data(VAULT, vault_call(coin_in, amount).into()));
        let model = pool.swap_after(&at, before, coin_in, 1 - coin_in, amount);
        assert_eq!(model.as_ref().ok().map(|swap| swap.amount_out), contract, "coin {coin_in} {amount}: {model:?}");
        if contract.is_some() {
            self.paid += 1
        } else {
            self.refused += 1
        }
        contract.is_some()
    }

    fn turn(&mut self, turn: usize) {
        self.live();
        if self.random.one_in(20) {
            self.lose();
        }
        let pool = read(&mut self.chain, &discovered(Product::Metamorpho, VAULT, [ASSET, VAULT]));
        self.now += self.random.below(if turn.is_multiple_of(7) { 35 * DAY } else { 60 });
        self.chain.set_block(1, self.now);
        let at = ExecutionBlock { number: 1, timestamp: self.now };
        let (coin_in, amount) = (u8::from(self.random.coin()), self.random.log_uniform_between(30, 93));
        let pays = self.same(&pool, &After::Unchanged, coin_in, amount);
        if turn.is_multiple_of(3) {
            self.accrue(&pool);
        } else if pays {
            self.chain.send_data(VAULT, vault_call(coin_in, amount).into()).unwrap();
            let swap = pool.swap(&at, coin_in, 1 - coin_in, amount).unwrap();
            let (next, amount) = (u8::from(self.random.coin()), self.random.log_uniform_between(30, 91));
            self.same(&pool, &swap.after, next, amount);
        }
    }
}

fn differential(release: &str, vault: &Bytes) {
    let (mut paid, mut refused, mut accrued) = (0, 0, 0);
    for seed in 0..trades(300) as u64 / 300 {
        let mut world = World::new(81 + seed, vault);
        (0..300).for_each(|turn| world.turn(turn));
        (paid, refused, accrued) = (paid + world.paid, refused + world.refused, accrued + world.accrued);
    }
    println!("Morpho Blue under MetaMorpho {release}: {paid} paid, {refused} refused, interest {accrued} times");
    assert!(paid > trades(300) / 3 && refused > 0 && accrued > trades(300) / 3);
}

#[test]
fn morphos_own_code_pays_what_the_model_says() {
    differential("1.0", &bytecode::initcode("MetaMorpho"));
}

#[test]
fn morphos_own_code_of_release_1_1_pays_what_the_model_says() {
    let Some([vault]) = deployed::initcodes(["MetaMorphoV1_1"]) else { return };
    differential("1.1", &vault);
}
