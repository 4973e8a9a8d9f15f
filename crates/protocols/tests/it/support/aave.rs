//! Aave V3's own code with one reserve and its wrapped token.

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_protocols::{Product, erc4626::AAVE_POOLS};

use super::chain::{Chain, OWNER};

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
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
        function borrow(address asset, uint256 amount, uint256 mode, uint16 referral, address onBehalfOf) external;
        function repay(address asset, uint256 amount, uint256 mode, address onBehalfOf) external returns (uint256);
        function mintToTreasury(address[] assets) external;
    }
    interface Acl { function addEmergencyAdmin(address admin) external; }
    interface Oracle { function setAssetPrice(address asset, uint256 price) external; }
    interface Keeper {
        function list(Listing reserve) external;
        function configure(address asset, uint256 configuration) external;
    }
    interface Wrapped {
        function initialize(address aToken, string name, string symbol) external;
        function setPaused(bool paused) external;
    }
    interface Factory { function announce(address wrapped) external; }
    function approve(address spender, uint256 amount) external returns (bool);
}

pub const POOL: Address = AAVE_POOLS[0];
pub const KEEPER: Address = Address::repeat_byte(0xc0);
const PROVIDER: Address = address!("2f39d218133AFaB8F2B819B1066c7E434Ad94E9e");
const ACL: Address = address!("c2aaCf6553D20d1e9d78E365AAba8032af9c85b0");
const ORACLE: Address = address!("54586bE62E3c3580375aE3723C145253060Ca0C2");
const REWARDS: Address = address!("8164Cc65827dcFe994AB23944CBC90e0aa80bFcb");
const RATES: Address = address!("9ec6F08190DeA04A54f8Afc53Db96134e5E3FdFB");
const TREASURY: Address = address!("464C71f6c2F760DdA6093dCB91C24c39e5d6e18c");
const ADMIN: Address = Address::repeat_byte(0xad);
const A_TOKEN: Address = Address::repeat_byte(0xa1);
const DEBT_TOKEN: Address = Address::repeat_byte(0xd1);
/// Implementations behind proxies.
const POOL_CODE: Address = Address::repeat_byte(0xe1);
const REWARDS_CODE: Address = Address::repeat_byte(0xe2);
const A_TOKEN_CODE: Address = Address::repeat_byte(0xe3);
const DEBT_TOKEN_CODE: Address = Address::repeat_byte(0xe4);
const WRAPPED_CODE: Address = Address::repeat_byte(0xe5);

/// The configuration of a reserve.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub decimals: u8,
    pub frozen: bool,
    pub paused: bool,
    pub factor_bps: u64,
    pub cap: u64,
}

impl Configuration {
    /// Returns Aave's configuration word: a loan-to-value ratio of 80 percent, with borrowing enabled.
    pub fn word(&self) -> U256 {
        let bits = |value: u64, place: usize| U256::from(value) << place;
        bits(8_000, 0)
            | bits(8_500, 16)
            | bits(10_500, 32)
            | bits(u64::from(self.decimals), 48)
            | bits(1, 56)
            | bits(u64::from(self.frozen), 57)
            | bits(1, 58)
            | bits(u64::from(self.paused), 60)
            | bits(self.factor_bps, 64)
            | bits(self.cap, 116)
            | bits(1, 252)
    }
}

/// Places the pool with a reserve of an asset, which [`OWNER`] has approved, and its wrapped token, which a factory
/// announces.
pub fn place(chain: &mut Chain, asset: Address, wrapped: Address, configuration: Configuration) {
    chain.place(PROVIDER, "AaveV3AddressesProvider", &(String::new(), OWNER).abi_encode_params());
    for (k, name) in
        ["SupplyLogic", "BorrowLogic", "FlashLoanLogic", "LiquidationLogic", "PoolLogic"].iter().enumerate()
    {
        let library = Address::left_padding_from(&[0xaa, 0x3e, u8::try_from(k + 1).unwrap()]);
        chain.place(library, &format!("AaveV3{name}"), &[]);
    }
    chain.place(RATES, "AaveV3Rates", &PROVIDER.abi_encode());
    chain.place(POOL_CODE, "AaveV3Pool", &(PROVIDER, RATES).abi_encode());
    chain.place(REWARDS_CODE, "AaveV3Rewards", &OWNER.abi_encode());
    for proxy in [POOL, REWARDS, A_TOKEN, DEBT_TOKEN] {
        chain.place(proxy, "AaveV3Proxy", &ADMIN.abi_encode());
    }
    let begin = Pool::initializeCall { provider: PROVIDER }.abi_encode();
    for (proxy, logic) in [(POOL, POOL_CODE), (REWARDS, REWARDS_CODE)] {
        chain.send(proxy, &Proxy::initializeCall { logic, data: begin.clone().into() }).unwrap();
    }
    chain.place(A_TOKEN_CODE, "AaveV3AToken", &(POOL, REWARDS, TREASURY).abi_encode());
    chain.place(DEBT_TOKEN_CODE, "AaveV3DebtToken", &(POOL, REWARDS).abi_encode());
    chain.send(PROVIDER, &Provider::setACLAdminCall { admin: OWNER }).unwrap();
    chain.place(ACL, "AaveV3AclManager", &PROVIDER.abi_encode());
    chain.place(ORACLE, "AaveV3Oracle", &[]);
    chain.place(KEEPER, "AaveV3Keeper", &(POOL, RATES, A_TOKEN_CODE, DEBT_TOKEN_CODE).abi_encode());
    for (id, value) in [("POOL", POOL), ("POOL_CONFIGURATOR", KEEPER), ("ACL_MANAGER", ACL), ("PRICE_ORACLE", ORACLE)] {
        let call = Provider::setAddressCall { id: B256::right_padding_from(id.as_bytes()), value };
        chain.send(PROVIDER, &call).unwrap();
    }
    chain.send(ACL, &Acl::addEmergencyAdminCall { admin: OWNER }).unwrap();
    chain.send(ORACLE, &Oracle::setAssetPriceCall { asset, price: U256::from(100_000_000) }).unwrap();
    let reserve = Listing {
        asset,
        aToken: A_TOKEN,
        debtToken: DEBT_TOKEN,
        decimals: configuration.decimals,
        symbol: "ASSET".to_owned(),
        configuration: configuration.word(),
        curve: RateCurve { optimal: 9_000, base: 0, slope1: 550, slope2: 3_500 },
    };
    chain.send(KEEPER, &Keeper::listCall { reserve }).unwrap();
    chain.place(WRAPPED_CODE, "AaveV3WrappedToken", &(POOL, REWARDS).abi_encode());
    let begin = Wrapped::initializeCall { aToken: A_TOKEN, name: String::new(), symbol: String::new() };
    let proxy = (WRAPPED_CODE, ADMIN, begin.abi_encode());
    chain.place(
        wrapped,
        "TransparentProxy",
        &(proxy.0, proxy.1, alloy_primitives::Bytes::from(proxy.2)).abi_encode_params(),
    );
    let factory = Product::Erc4626.sources()[0].emitter;
    chain.place(factory, "StandInStataTokenFactory", &[]);
    chain.send(factory, &Factory::announceCall { wrapped }).unwrap();
    for spender in [POOL, wrapped] {
        chain.send(asset, &approveCall { spender, amount: U256::MAX }).unwrap();
    }
}

/// Makes a change of other users: they supply, borrow, repay or withdraw, or the treasury takes its share.
pub fn others(chain: &mut Chain, asset: Address, what: u64, amount: U256) {
    let (on, mode) = (OWNER, U256::from(2));
    let _ = match what {
        0 => chain.send(POOL, &Pool::supplyCall { asset, amount, onBehalfOf: on, referral: 0 }),
        1 | 2 => chain.send(POOL, &Pool::borrowCall { asset, amount, mode, referral: 0, onBehalfOf: on }),
        3 => chain.send(POOL, &Pool::repayCall { asset, amount, mode, onBehalfOf: on }),
        4 => chain.send(POOL, &Pool::withdrawCall { asset, amount, to: on }),
        _ => chain.send(POOL, &Pool::mintToTreasuryCall { assets: vec![asset] }),
    };
}
