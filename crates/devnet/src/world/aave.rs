//! Aave V3 with its own code: the pool, three reserves with suppliers and borrowers, and their wrapped tokens.

use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol,
    sol_types::{SolCall, SolValue},
};
use serde_json::json;

use super::{
    Batch,
    placement::{self, Placement},
};
use crate::{
    DevnetError,
    abi::IErc20,
    accounts::MAKER,
    addresses as at,
    kit::Bundle,
    rpc::{Rpc, Tx},
    tokens,
};

sol! {
    struct RateCurve { uint16 optimal; uint32 base; uint32 slope1; uint32 slope2; }
    struct Listing {
        address asset; address aToken; address debtToken; uint8 decimals; string symbol; uint256 configuration; RateCurve curve;
    }
    interface Provider {
        function setAddress(bytes32 id, address value) external;
        function setACLAdmin(address admin) external;
    }
    interface Proxy { function initialize(address logic, bytes data) external payable; }
    interface Pool {
        function initialize(address provider) external;
        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referral) external;
        function borrow(address asset, uint256 amount, uint256 mode, uint16 referral, address onBehalfOf) external;
    }
    interface Oracle { function setAssetPrice(address asset, uint256 price) external; }
    interface Keeper { function list(Listing reserve) external; }
    interface Wrapped {
        function initialize(address aToken, string name, string symbol) external;
        function deposit(uint256 assets, address receiver) external returns (uint256);
    }
    interface Factory { function announce(address wrapped) external; }
}

/// The storage slot of the pool's mapping of reserves. The second word of a reserve begins with the supply index, and
/// the third with the debt index. Source: `PoolStorage`, `DataTypes.ReserveData`.
const RESERVES_SLOT: u64 = 52;

/// A reserve: its asset and tokens; both indices in millionths; the asset's price in dollars; the supply cap in
/// millions of whole tokens; and the amounts supplied, borrowed and wrapped, in thousands of whole tokens.
struct Reserve {
    asset: &'static str,
    a_token: Address,
    debt_token: Address,
    wrapped: Address,
    millionths: u64,
    usd: u64,
    cap_millions: u64,
    supplied: u64,
    borrowed: u64,
    wrapped_thousands: u64,
}

const RESERVES: [Reserve; 3] = [
    Reserve {
        asset: "USDC",
        a_token: at::AAVE_V3_A_USDC,
        debt_token: at::AAVE_V3_DEBT_USDC,
        wrapped: at::WA_USDC,
        millionths: 1_127_182,
        usd: 1,
        cap_millions: 4_200,
        supplied: 1_500_000,
        borrowed: 1_200_000,
        wrapped_thousands: 2_000_000,
    },
    Reserve {
        asset: "USDT",
        a_token: at::AAVE_V3_A_USDT,
        debt_token: at::AAVE_V3_DEBT_USDT,
        wrapped: at::WA_USDT,
        millionths: 1_141_421,
        usd: 1,
        cap_millions: 4_200,
        supplied: 1_500_000,
        borrowed: 1_000_000,
        wrapped_thousands: 2_000_000,
    },
    Reserve {
        asset: "WETH",
        a_token: at::AAVE_V3_A_WETH,
        debt_token: at::AAVE_V3_DEBT_WETH,
        wrapped: at::WA_WETH,
        millionths: 1_051_315,
        usd: 3_000,
        cap_millions: 3,
        supplied: 300,
        borrowed: 150,
        wrapped_thousands: 600,
    },
];

/// The treasury's share of the interest, in basis points.
const TREASURY_BPS: u64 = 1_000;

impl Reserve {
    fn asset(&self) -> &'static tokens::Token {
        tokens::by_symbol(self.asset)
    }

    fn thousands(&self, count: u64) -> U256 {
        self.asset().units(count * 1_000)
    }

    /// Returns Aave's configuration word: a loan-to-value ratio of 80 percent, active, borrowing enabled, with a supply
    /// cap.
    fn configuration(&self) -> U256 {
        let bits = |value: u64, place: usize| U256::from(value) << place;
        bits(8_000, 0)
            | bits(8_500, 16)
            | bits(10_500, 32)
            | bits(u64::from(self.asset().decimals), 48)
            | bits(1, 56)
            | bits(1, 58)
            | bits(TREASURY_BPS, 64)
            | bits(self.cap_millions * 1_000_000, 116)
            | bits(1, 252)
    }

    fn listing(&self) -> Listing {
        Listing {
            asset: self.asset().address,
            aToken: self.a_token,
            debtToken: self.debt_token,
            decimals: self.asset().decimals,
            symbol: self.asset.to_owned(),
            configuration: self.configuration(),
            curve: RateCurve { optimal: 9_000, base: 0, slope1: 550, slope2: 3_500 },
        }
    }
}

/// Returns the libraries that the pool's code is linked to (`contracts/devnet/bundle.mjs`).
fn libraries() -> impl Iterator<Item = Placement> {
    let names =
        ["AaveV3SupplyLogic", "AaveV3BorrowLogic", "AaveV3FlashLoanLogic", "AaveV3LiquidationLogic", "AaveV3PoolLogic"];
    (1_u8..).zip(names).map(|(place, name)| (name, Address::left_padding_from(&[0xaa, 0x3e, place]), vec![]))
}

/// Returns the contracts whose constructors call no other contract.
fn foundations() -> Vec<Placement> {
    let provider = at::AAVE_V3_PROVIDER;
    // Such a proxy does not forward calls from its admin, which is the provider.
    let proxy = |address: Address| ("AaveV3Proxy", address, provider.abi_encode());
    let mut all = vec![
        ("AaveV3AddressesProvider", provider, (String::new(), MAKER).abi_encode_params()),
        ("AaveV3Rates", at::AAVE_V3_RATES, provider.abi_encode()),
        ("AaveV3Pool", at::AAVE_V3_POOL_CODE, (provider, at::AAVE_V3_RATES).abi_encode()),
        ("AaveV3Rewards", at::AAVE_V3_REWARDS_CODE, MAKER.abi_encode()),
        ("AaveV3Oracle", at::AAVE_V3_ORACLE, vec![]),
        ("StandInStataTokenFactory", at::STATA_TOKEN_FACTORY, vec![]),
        proxy(at::AAVE_V3_POOL),
        proxy(at::AAVE_V3_REWARDS),
    ];
    all.extend(libraries());
    all.extend(RESERVES.iter().flat_map(|reserve| [proxy(reserve.a_token), proxy(reserve.debt_token)]));
    all
}

/// Returns the contracts whose constructors call the pool or its provider.
fn upon_them() -> Vec<Placement> {
    let (pool, rewards) = (at::AAVE_V3_POOL, at::AAVE_V3_REWARDS);
    let codes = (at::AAVE_V3_A_TOKEN_CODE, at::AAVE_V3_DEBT_TOKEN_CODE);
    vec![
        ("AaveV3AclManager", at::AAVE_V3_ACL_MANAGER, at::AAVE_V3_PROVIDER.abi_encode()),
        ("AaveV3AToken", codes.0, (pool, rewards, at::AAVE_V3_TREASURY).abi_encode()),
        ("AaveV3DebtToken", codes.1, (pool, rewards).abi_encode()),
        ("AaveV3WrappedToken", at::WRAPPED_TOKEN_CODE, (pool, rewards).abi_encode()),
        ("AaveV3Keeper", at::AAVE_V3_KEEPER, (pool, at::AAVE_V3_RATES, codes.0, codes.1).abi_encode()),
    ]
}

fn wrapped_tokens() -> Vec<Placement> {
    let wrapped = |reserve: &Reserve| {
        let token = tokens::TOKENS.iter().find(|token| token.address == reserve.wrapped);
        let (name, symbol) = token.map_or(("", ""), |token| (token.name, token.symbol));
        let begin =
            Wrapped::initializeCall { aToken: reserve.a_token, name: name.to_owned(), symbol: symbol.to_owned() };
        let args = (at::WRAPPED_TOKEN_CODE, at::AAVE_V3_PROVIDER, Bytes::from(begin.abi_encode()));
        ("TransparentProxy", reserve.wrapped, args.abi_encode_params())
    };
    RESERVES.iter().map(wrapped).collect()
}

/// Returns the rate providers that Balancer's pools call for wrapped tokens.
fn rate_providers() -> Vec<Placement> {
    let providers = [(at::WA_USDC, at::WA_USDC_RATE_PROVIDER), (at::WA_USDT, at::WA_USDT_RATE_PROVIDER)];
    providers.map(|(of, provider)| ("StandInErc4626RateProvider", provider, of.abi_encode())).to_vec()
}

/// Places the contracts, lists the reserves, supplies and borrows, and wraps.
pub(super) async fn build(rpc: &Rpc, bundle: &Bundle) -> Result<(), DevnetError> {
    placement::place(rpc, bundle, &foundations()).await?;
    connect(rpc).await?;
    placement::place(rpc, bundle, &upon_them()).await?;
    list(rpc).await?;
    placement::place(rpc, bundle, &wrapped_tokens()).await?;
    placement::place(rpc, bundle, &rate_providers()).await?;
    lend(rpc).await?;
    wrap(rpc).await
}

async fn connect(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    let begin = Bytes::from(Pool::initializeCall { provider: at::AAVE_V3_PROVIDER }.abi_encode());
    for (proxy, logic) in [(at::AAVE_V3_POOL, at::AAVE_V3_POOL_CODE), (at::AAVE_V3_REWARDS, at::AAVE_V3_REWARDS_CODE)] {
        let call = Proxy::initializeCall { logic, data: begin.clone() };
        batch.send("a proxy of Aave", Tx::call(MAKER, proxy, &call).gas(1_000_000)).await?;
    }
    let call = Provider::setACLAdminCall { admin: MAKER };
    batch.send("Aave's administrator", Tx::call(MAKER, at::AAVE_V3_PROVIDER, &call).gas(200_000)).await?;
    for (id, value) in [
        ("POOL", at::AAVE_V3_POOL),
        ("POOL_CONFIGURATOR", at::AAVE_V3_KEEPER),
        ("ACL_MANAGER", at::AAVE_V3_ACL_MANAGER),
        ("PRICE_ORACLE", at::AAVE_V3_ORACLE),
    ] {
        let call = Provider::setAddressCall { id: B256::right_padding_from(id.as_bytes()), value };
        batch.send("an address of Aave", Tx::call(MAKER, at::AAVE_V3_PROVIDER, &call).gas(200_000)).await?;
    }
    batch.mine().await
}

async fn list(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for reserve in &RESERVES {
        let (asset, price) = (reserve.asset().address, U256::from(reserve.usd * 100_000_000));
        let call = Oracle::setAssetPriceCall { asset, price };
        batch.send("a price for Aave", Tx::call(MAKER, at::AAVE_V3_ORACLE, &call).gas(200_000)).await?;
        let call = Keeper::listCall { reserve: reserve.listing() };
        batch.send("a reserve of Aave", Tx::call(MAKER, at::AAVE_V3_KEEPER, &call).gas(3_000_000)).await?;
    }
    batch.mine().await?;
    for reserve in &RESERVES {
        // Sets the indices as if the reserve were some years old.
        let first = U256::from_be_bytes(keccak256((reserve.asset().address, U256::from(RESERVES_SLOT)).abi_encode()).0);
        let index = U256::from(reserve.millionths) * U256::from(10).pow(U256::from(21));
        for place in [1_u64, 2] {
            let slot = B256::from(first + U256::from(place));
            rpc.call("anvil_setStorageAt", json!([at::AAVE_V3_POOL, slot, B256::from(index)])).await?;
        }
    }
    Ok(())
}

async fn lend(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for reserve in &RESERVES {
        let asset = reserve.asset().address;
        for spender in [at::AAVE_V3_POOL, reserve.wrapped] {
            let call = IErc20::approveCall { spender, value: U256::MAX };
            batch.send("an allowance for Aave", Tx::call(MAKER, asset, &call).gas(100_000)).await?;
        }
        let amount = reserve.thousands(reserve.supplied);
        let call = Pool::supplyCall { asset, amount, onBehalfOf: MAKER, referral: 0 };
        batch.send("supplying Aave", Tx::call(MAKER, at::AAVE_V3_POOL, &call).gas(1_000_000)).await?;
    }
    batch.mine().await?;
    let mut batch = Batch::new(rpc);
    for reserve in &RESERVES {
        let (asset, amount) = (reserve.asset().address, reserve.thousands(reserve.borrowed));
        let call = Pool::borrowCall { asset, amount, mode: U256::from(2), referral: 0, onBehalfOf: MAKER };
        batch.send("borrowing from Aave", Tx::call(MAKER, at::AAVE_V3_POOL, &call).gas(1_000_000)).await?;
    }
    batch.mine().await
}

async fn wrap(rpc: &Rpc) -> Result<(), DevnetError> {
    let mut batch = Batch::new(rpc);
    for reserve in &RESERVES {
        let call = Wrapped::depositCall { assets: reserve.thousands(reserve.wrapped_thousands), receiver: MAKER };
        batch.send("wrapping at Aave", Tx::call(MAKER, reserve.wrapped, &call).gas(1_000_000)).await?;
        let call = Factory::announceCall { wrapped: reserve.wrapped };
        batch.send("announcing a wrapped token", Tx::call(MAKER, at::STATA_TOKEN_FACTORY, &call).gas(200_000)).await?;
    }
    batch.mine().await
}
