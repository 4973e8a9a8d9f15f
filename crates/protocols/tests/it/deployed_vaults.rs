//! Tests of listed vaults with their own code where it is available: what the reader reads, and what a trade pays at a
//! later timestamp, alone and after another in the same block, while rewards, rates and balances change. See
//! `docs/internals/protocols/vaults.md`.

use alloy_primitives::{Address, Bytes, U256, address, fixed_bytes, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_protocols::erc4626::RAY;

use crate::{
    listed_vaults::{
        DAY, FRAX, SFRAX, STUSR, SUSDF, USDF, USR, WSTUSR, World,
        aave::{GHO, SGHO},
        frankencoin::{SAVINGS, SVZCHF, ZCHF},
        whole,
        yearn::{SUSG, USG},
    },
    support::{chain::OWNER, deployed},
};

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function balanceOf(address owner) external view returns (uint256);
    function mint(address to, uint256 amount) external;
    function grantRole(bytes32 role, address account) external;
    function setCooldownDuration(uint24 duration) external;
    function transferInRewards(uint256 amount) external;
    function syncRewards() external;
    function syncRewardsAndDistribution() external;
    function setTargetRate(uint16 rate) external;
    function setSupplyCap(uint160 cap) external;
    function setVsrBounds(uint256 least, uint256 most) external;
    function setVsr(uint256 rate) external;
    function setDepositCap(uint256 cap) external;
    function applyChange() external;
    function setReferral(address referrer, uint24 fee) external;
    interface Resolv { function initialize(string name, string symbol, address of) external; }
    interface Aave { function initialize(address asset, uint160 cap, address owner) external; }
    interface Spark { function initialize(address asset, string name, string symbol, address owner) external; }
    interface Falcon { function initialize(address asset, address owner, address silo, uint32 vesting, uint24 cooldown) external; }
    interface Frankencoin { function initialize(address minter, string message) external; }
    interface Yearn {
        function initialize(address asset, string name, string symbol, address manager, uint256 unlock) external;
        function set_role(address account, uint256 role) external;
        function set_deposit_limit(uint256 limit) external;
        function add_strategy(address strategy) external;
        function update_max_debt_for_strategy(address strategy, uint256 debt) external;
        function update_debt(address strategy, uint256 debt) external returns (uint256);
        function process_report(address strategy) external returns (uint256, uint256);
    }
}

const USDE: Address = address!("4c9EDD5852cd905f086C759E8383e09bff1E68B3");
const SUSDE: Address = address!("9D39A5DE30e57443BfF2A8307A4256c8797A3497");
const FRXETH: Address = address!("5E8422345238F34275888049021821E8E08CAa1f");
const SFRXETH: Address = address!("aC3E018457B222d93114458476f3E3416Abbe38F");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");
const SPETH: Address = address!("fE6eb3b609a7C8352A241f7F3A21CEA4e9209B8f");
const STRATEGY: Address = Address::repeat_byte(0x71);
const FACTORY: Address = Address::repeat_byte(0x72);
const OTHER: Address = Address::repeat_byte(0x73);

impl World {
    /// Places a contract's own code at an address.
    pub fn own(&mut self, at: Address, code: &Bytes, arguments: &[u8]) {
        self.chain.construct(at, code, arguments);
    }

    /// Places the implementation of a proxy directly at an address. Its constructor disables initialisation, so this
    /// enables it again, as in the proxy's storage.
    pub fn proxied(&mut self, at: Address, code: &Bytes, arguments: &[u8], initialize: &impl SolCall) {
        self.own(at, code, arguments);
        // keccak256("openzeppelin.storage.Initializable") - 1, with a last byte of zero (ERC-7201).
        let slot = fixed_bytes!("f0c57e16840df040f15088dc2f81fe391c3923bec73e23a9662efc9c229c6a00");
        self.chain.set_word(at, slot.into(), U256::ZERO);
        self.send(at, initialize);
    }

    pub fn send(&mut self, to: Address, call: &impl SolCall) {
        self.chain.send(to, call).unwrap();
    }

    /// Grants a role to the sender of all transactions.
    fn grant(&mut self, role: &str) {
        self.send(self.coins[1], &grantRoleCall { role: keccak256(role), account: OWNER });
    }

    /// Gives an account some of the asset.
    fn give(&mut self, to: Address, amount: U256) {
        let held = self.chain.view(self.coins[0], &balanceOfCall { owner: to });
        self.chain.set_balance(self.coins[0], to, held + amount);
    }

    /// Returns a per-second rate of up to about a tenth a year, in ray.
    pub fn rate(&mut self) -> U256 {
        RAY + U256::from(self.random.below(3_000_000_000_000_000_000))
    }
}

#[test]
fn ethenas_own_vault_pays_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["StakedUSDeV2"]) else { return };
    let mut world = World::new(61, [USDE, SUSDE]);
    world.own(SUSDE, &code, &(USDE, OWNER, OWNER).abi_encode());
    world.fill(whole(400_000_000));
    world.send(SUSDE, &setCooldownDurationCall { duration: Default::default() });
    world.turns(89, |world, turn| {
        if turn % 10 == 0 {
            let amount = world.random.log_uniform(85);
            // The contract refuses this while another reward is vesting.
            drop(world.chain.send(SUSDE, &transferInRewardsCall { amount }));
        }
    });
}

#[test]
fn sparks_own_vault_pays_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["SparkVault"]) else { return };
    let mut world = World::new(64, [WETH, SPETH]);
    let call = Spark::initializeCall { asset: WETH, name: String::new(), symbol: String::new(), owner: OWNER };
    world.proxied(SPETH, &code, &[], &call);
    world.grant("SETTER_ROLE");
    world.send(SPETH, &setVsrBoundsCall { least: RAY, most: RAY + U256::from(20_000_000_000_000_000_000_u128) });
    world.send(SPETH, &setDepositCapCall { cap: U256::MAX >> 1 });
    world.fill(whole(500_000));
    world.turns(82, |world, turn| {
        if turn % 12 == 0 {
            let rate = world.rate();
            world.send(SPETH, &setVsrCall { rate });
        }
        if turn % 8 == 0 {
            // The rest is lent elsewhere.
            let held = world.random.log_uniform_between(60, 80);
            world.chain.set_balance(WETH, SPETH, held);
            let cap = whole(500_000 + world.random.below(2_000_000));
            world.send(SPETH, &setDepositCapCall { cap });
        }
        world.around_limits();
    });
}

#[test]
fn frax_ethers_own_vault_pays_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["SfrxEth"]) else { return };
    let mut world = World::new(65, [FRXETH, SFRXETH]);
    // The contract stores times in 32 bits.
    world.pause = 4 * DAY;
    world.own(SFRXETH, &code, &(FRXETH, U256::from(7 * DAY)).abi_encode());
    world.fill(whole(100_000));
    world.turns(80, |world, turn| {
        if turn % 4 == 0 {
            let gain = world.random.log_uniform_between(50, 75);
            world.give(SFRXETH, gain);
        }
        if turn % 9 == 0 {
            drop(world.chain.send(SFRXETH, &syncRewardsCall {}));
        }
    });
}

#[test]
fn frax_dollars_own_vault_pays_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["StakedFrax"]) else { return };
    let mut world = World::new(66, [FRAX, SFRAX]);
    let most = U256::from(3_170_979_198_u64);
    let args = (FRAX, String::new(), String::new(), U256::from(7 * DAY), most, OWNER);
    world.own(SFRAX, &code, &args.abi_encode_params());
    world.fill(whole(50_000_000));
    world.turns(86, |world, turn| {
        if turn % 4 == 0 {
            let gain = world.random.log_uniform_between(60, 84);
            world.give(SFRAX, gain);
        }
        if turn % 9 == 0 {
            world.send(SFRAX, &syncRewardsAndDistributionCall {});
        }
    });
}

#[test]
fn resolvs_own_wrapper_pays_what_the_model_says() {
    let Some([inner, outer]) = deployed::initcodes(["StUSR", "WstUSR"]) else { return };
    let mut world = World::new(67, [USR, WSTUSR]);
    // A coin that counts allowances.
    let coin = (String::new(), String::new(), U256::from(18), OWNER, U256::ONE << 120_usize);
    world.chain.place(USR, "TokenAtSlot0", &coin.abi_encode_params());
    world.send(USR, &approveCall { spender: WSTUSR, amount: U256::MAX });
    let call = |of| Resolv::initializeCall { name: String::from("a"), symbol: String::from("b"), of };
    world.proxied(STUSR, &inner, &[], &call(USR));
    world.proxied(WSTUSR, &outer, &[], &call(STUSR));
    world.fill(whole(100_000_000));
    world.turns(82, |world, turn| {
        if turn % 5 == 0 {
            let gain = world.random.log_uniform(70);
            world.give(STUSR, gain);
        }
    });
}

#[test]
fn falcons_own_vault_pays_what_the_model_says() {
    let Some([code, silo]) = deployed::initcodes(["StakedUSDf", "USDfSilo"]) else { return };
    let mut world = World::new(68, [USDF, SUSDF]);
    world.own(OTHER, &silo, &USDF.abi_encode());
    let (vesting, cooldown) = (7 * DAY as u32, DAY as u32);
    let call = Falcon::initializeCall {
        asset: USDF,
        owner: OWNER,
        silo: OTHER,
        vesting,
        cooldown: cooldown.try_into().unwrap(),
    };
    world.proxied(SUSDF, &code, &OWNER.abi_encode(), &call);
    world.grant("REWARDER_ROLE");
    world.send(SUSDF, &setCooldownDurationCall { duration: Default::default() });
    world.fill(whole(400_000_000));
    world.turns(89, |world, turn| {
        if turn % 10 == 0 {
            let amount = world.random.log_uniform(85);
            drop(world.chain.send(SUSDF, &transferInRewardsCall { amount }));
        }
    });
}

#[test]
fn aaves_own_savings_pay_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["SGho"]) else { return };
    let mut world = World::new(69, [GHO, SGHO]);
    let call = Aave::initializeCall { asset: GHO, cap: whole(400_000_000).to(), owner: OWNER };
    world.proxied(SGHO, &code, &[], &call);
    world.grant("YIELD_MANAGER_ROLE");
    world.fill(whole(100_000_000));
    world.turns(90, |world, turn| {
        if turn % 25 == 0 {
            let rate = world.random.below(5_001) as u16;
            world.send(SGHO, &setTargetRateCall { rate });
        }
        if turn % 10 == 0 {
            let cap = whole(90_000_000 + world.random.below(300_000_000));
            world.send(SGHO, &setSupplyCapCall { cap: cap.to() });
            let held = world.random.log_uniform_between(80, 90);
            world.chain.set_balance(GHO, SGHO, held);
        }
        world.around_limits();
    });
}

#[test]
fn frankencoins_own_vault_pays_what_the_model_says() {
    let names = ["Frankencoin", "FrankencoinSavings", "SavingsVaultZchf"];
    let Some([coin, savings, vault]) = deployed::initcodes(names) else { return };
    let mut world = World::new(70, [ZCHF, SVZCHF]);
    world.own(ZCHF, &coin, &U256::from(DAY).abi_encode());
    for minter in [OWNER, SAVINGS] {
        world.send(ZCHF, &Frankencoin::initializeCall { minter, message: String::new() });
    }
    world.send(ZCHF, &mintCall { to: OWNER, amount: U256::ONE << 110 });
    world.own(SAVINGS, &savings, &(ZCHF, U256::from(35_000)).abi_encode());
    world.own(SVZCHF, &vault, &(OWNER, ZCHF, SAVINGS, String::new(), String::new()).abi_encode_params());
    world.send(ZCHF, &approveCall { spender: SVZCHF, amount: U256::MAX });
    world.fill(whole(180_000));
    world.turns(80, |world, turn| {
        if turn % 15 == 0 {
            // A change that was proposed long ago: 24 bits of a rate and 40 bits of a time, above the current ones.
            let rate = U256::from(1 + world.random.below(200_000));
            let word = world.chain.word(SAVINGS, U256::ZERO) & (U256::MAX >> 128_usize);
            world.chain.set_storage(SAVINGS, 0, word | (rate << 128_usize));
            drop(world.chain.send(SAVINGS, &applyChangeCall {}));
        }
        if turn % 40 == 0 {
            let referrer = if turn % 80 == 0 { USR } else { Address::ZERO };
            world.send(SVZCHF, &setReferralCall { referrer, fee: 123_456_u32.try_into().unwrap() });
        }
    });
}

#[test]
fn yearns_own_vault_pays_what_the_model_says() {
    let Some([code]) = deployed::initcodes(["YearnVaultV3"]) else { return };
    let mut world = World::new(71, [USG, SUSG]);
    world.own(OTHER, &code, &[]);
    // The vault is a minimal proxy (EIP-1167). Its factory is a contract that takes no fee.
    let proxy = [&[0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73], OTHER.as_slice(), &PROXY_END].concat();
    world.chain.set_code(SUSG, proxy.into());
    let (name, symbol, unlock) = (String::from("a"), String::from("b"), U256::from(7 * DAY));
    world.send(SUSG, &Yearn::initializeCall { asset: USG, name, symbol, manager: OWNER, unlock });
    world.chain.set_code(FACTORY, vec![0x60, 0x40, 0x60, 0x00, 0xf3].into());
    world.chain.set_storage(SUSG, 3, U256::from_be_slice(FACTORY.as_slice()));
    world.chain.place(STRATEGY, "OzVaultWithOffset", &(USG, U256::ZERO).abi_encode());
    // Another account holds shares of the strategy. Otherwise assets given to it while nobody holds shares would be
    // lost to the next depositor.
    world.send(STRATEGY, &depositCall { assets: whole(100_000), receiver: OTHER });
    world.send(SUSG, &Yearn::set_roleCall { account: OWNER, role: U256::from((1 << 14) - 1) });
    world.send(SUSG, &Yearn::set_deposit_limitCall { limit: U256::MAX });
    world.send(SUSG, &Yearn::add_strategyCall { strategy: STRATEGY });
    world.send(SUSG, &Yearn::update_max_debt_for_strategyCall { strategy: STRATEGY, debt: U256::MAX });
    world.fill(whole(3_000_000));
    world.turns(80, |world, turn| {
        if turn % 9 == 0 {
            let limit = whole(2_000_000 + world.random.below(3_000_000));
            world.send(SUSG, &Yearn::set_deposit_limitCall { limit });
        }
        if turn % 6 == 0 {
            let debt = world.random.log_uniform_between(70, 82);
            drop(world.chain.send(SUSG, &Yearn::update_debtCall { strategy: STRATEGY, debt }));
        }
        if turn % 11 == 0 {
            let gain = world.random.log_uniform_between(50, 75);
            world.give(STRATEGY, gain);
            world.send(SUSG, &Yearn::process_reportCall { strategy: STRATEGY });
        }
    });
}

/// The part of a minimal proxy's code after the address.
const PROXY_END: [u8; 15] = [0x5a, 0xf4, 0x3d, 0x82, 0x80, 0x3e, 0x90, 0x3d, 0x91, 0x60, 0x2b, 0x57, 0xfd, 0x5b, 0xf3];
