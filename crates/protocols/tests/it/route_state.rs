//! A route may change a vault whose share is a coin of a later pool that reads the vault's rate. Then the pool must be
//! priced with the new rate or be refused, and never be priced with the old rate.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::{ExecutionBlock, TokenId};
use braid_protocols::{
    Pool, PoolState, Product, RouteState, SwapError,
    curve::{
        self, Model,
        stable::{self, Amplification, ProductRule, Rate, Rates, Rules, VaultRate},
    },
    erc4626::{self, Accrual, Conversion, Limits, WAD},
};

const NOW: ExecutionBlock = ExecutionBlock { number: 20_000_000, timestamp: 1_700_000_000 };
const VAULT: Address = Address::repeat_byte(0x11);
const ASSET: TokenId = TokenId(1);
const SHARE: TokenId = TokenId(2);
const OTHER: TokenId = TokenId(3);

fn pool(contract: Address, product: Product, coins: [TokenId; 2], state: impl Into<PoolState>) -> Pool {
    Pool { key: contract.into(), product, coins: ArrayVec::from_iter(coins), state: state.into() }
}

/// Returns a vault of a few hundred wei, in which the rounding of each deposit changes the rate.
fn small() -> erc4626::State {
    let (total_assets, total_shares) = (U256::from(1_003), U256::from(707));
    let (virtual_assets, virtual_shares) = (U256::ZERO, U256::ZERO);
    let conversion = Conversion::Ratio { total_assets, total_shares, virtual_assets, virtual_shares };
    erc4626::State { conversion, accrual: Accrual::None, limits: Limits::NONE, form: None }
}

/// Returns a pool of the vault's share and another token, which reads the share's rate.
fn asking(rate: Rate) -> Pool {
    let pool_state = stable::State {
        balances: ArrayVec::from_iter([WAD * U256::from(1_000_000); 2]),
        rates: Rates(ArrayVec::from_iter([rate, Rate::Fixed(WAD)])),
        amplification: Amplification::constant(U256::from(10_000), 100),
        fee: 4_000_000,
        offpeg_fee_multiplier: 0,
        admin_fee: 5_000_000_000,
        rules: Rules::standard(ProductRule::TimesN),
    };
    let state = curve::State {
        model: Model::Stable(pool_state),
        ether_coin: None,
        base_pool: None,
        has_oracle: true,
        steth: None,
    };
    pool(Address::repeat_byte(0x22), Product::CurveStableswapNg, [SHARE, OTHER], std::sync::Arc::new(state))
}

/// Returns the rate of a vault that a pool reads, for the vault's state at one moment.
fn said(vault: &erc4626::State) -> VaultRate {
    let (multiplier, whole_share, asset_scale) = (WAD, WAD, U256::ONE);
    VaultRate { multiplier, whole_share, asset_scale, address: VAULT, vault: *vault }
}

fn after_a_deposit(vault: &erc4626::State) -> RouteState {
    let mut route = RouteState::default();
    let direct = pool(VAULT, Product::Erc4626, [ASSET, SHARE], Box::new(*vault));
    let deposited = route.swap(&direct, &NOW, 0, 1, U256::from(501)).unwrap();
    route.record(&direct, deposited.after);
    route
}

#[test]
fn a_pool_that_asks_a_vault_is_priced_by_the_rate_after_the_routes_deposit() {
    let vault = small();
    let amount = WAD * U256::from(1_234);
    let asks = asking(Rate::Vault(Box::new(said(&vault))));
    let (_, left) = vault.deposit(&NOW, U256::from(501)).unwrap();
    let afterwards = asking(Rate::Vault(Box::new(said(&left))));
    let alone = asks.swap(&NOW, 0, 1, amount).unwrap().amount_out;
    let together = after_a_deposit(&vault).swap(&asks, &NOW, 0, 1, amount).unwrap().amount_out;
    assert_eq!(together, afterwards.swap(&NOW, 0, 1, amount).unwrap().amount_out);
    assert_ne!(together, alone, "the deposit moved the rate");
}

#[test]
fn a_pool_that_asks_a_contract_that_is_not_modelled_is_refused_once_the_rate_moved() {
    let amount = WAD * U256::from(1_234);
    let asks = asking(Rate::Fixed(WAD * U256::from(1_003) / U256::from(707)));
    assert!(RouteState::default().swap(&asks, &NOW, 0, 1, amount).is_ok(), "nothing moved yet");
    assert_eq!(after_a_deposit(&small()).swap(&asks, &NOW, 0, 1, amount), Err(SwapError::Closed));
    // The rate of a vault with a fixed rate does not change with a deposit.
    let fixed = Conversion::Rate { rate: WAD * U256::from(3), one: WAD * U256::from(2) };
    let route = after_a_deposit(&erc4626::State { conversion: fixed, ..small() });
    assert!(route.swap(&asks, &NOW, 0, 1, amount).is_ok());
    // A rate that contains only decimals does not come from a contract.
    let plain = asking(Rate::Fixed(WAD));
    assert!(after_a_deposit(&small()).swap(&plain, &NOW, 0, 1, amount).is_ok());
}
