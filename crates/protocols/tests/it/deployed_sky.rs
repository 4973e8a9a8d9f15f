//! Tests of Maker's and Sky's savings and of Spark's vault of USDC through Sky's exchange, with their own code where it
//! is available. See `docs/internals/protocols/vaults.md`.

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};
use alloy_sol_types::{SolValue, sol};
use braid_protocols::erc4626::MAKER_POT;

use crate::{
    listed_vaults::{
        World,
        sky::{POCKET, PSM, SUSDC, SUSDS, USDC, USDS},
        whole,
    },
    support::{chain::OWNER, deployed},
};

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
    function mint(address to, uint256 amount) external;
    function rely(address account) external;
    function drip() external returns (uint256);
    function suck(address debtor, address holder, uint256 rad) external;
    function initialize() external;
    interface Place { function file(bytes32 what, address to) external; }
    interface Number { function file(bytes32 what, uint256 to) external; }
}

const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const SDAI: Address = address!("83F20F44975D03b1b09e64809B757c47f942BEeA");
const VAT: Address = Address::repeat_byte(0x71);
const DAI_JOIN: Address = Address::repeat_byte(0x72);
const USDS_JOIN: Address = Address::repeat_byte(0x73);
const EXCHANGE: Address = Address::repeat_byte(0x74);
const VOW: Address = Address::repeat_byte(0x75);

fn what(name: &str) -> B256 {
    let mut word = [0; 32];
    word[..name.len()].copy_from_slice(name.as_bytes());
    word.into()
}

impl World {
    /// Sets up Maker's vat and enough DAI.
    fn maker(&mut self, [vat, dai, join]: [&Bytes; 3]) {
        self.own(VAT, vat, &[]);
        self.own(DAI, dai, &U256::ONE.abi_encode());
        self.own(DAI_JOIN, join, &(VAT, DAI).abi_encode());
        self.send(DAI, &relyCall { account: DAI_JOIN });
        self.send(VAT, &suckCall { debtor: VOW, holder: DAI_JOIN, rad: U256::ONE << 220_usize });
        self.send(DAI, &mintCall { to: OWNER, amount: U256::ONE << 110_usize });
    }

    /// Sets up USDS and its savings on that vat.
    fn sky(&mut self, [usds, join, savings]: [&Bytes; 3]) {
        self.own(USDS, usds, &[]);
        self.own(USDS_JOIN, join, &(VAT, USDS).abi_encode());
        self.proxied(SUSDS, savings, &(USDS_JOIN, VOW).abi_encode(), &initializeCall {});
        for (of, account) in [(VAT, SUSDS), (USDS, USDS_JOIN)] {
            self.send(of, &relyCall { account });
        }
    }

    /// Changes the rate at times.
    fn file(&mut self, turn: usize, of: Address, name: &str) {
        if turn.is_multiple_of(12) {
            let to = self.rate();
            self.send(of, &dripCall {});
            self.send(of, &Number::fileCall { what: what(name), to });
        }
    }
}

#[test]
fn makers_own_savings_pay_what_the_model_says() {
    let names = ["MakerVat", "MakerDai", "MakerDaiJoin", "MakerPot", "SavingsDai"];
    let Some([vat, dai, join, pot, savings]) = deployed::initcodes(names) else { return };
    let mut world = World::new(62, [DAI, SDAI]);
    world.maker([&vat, &dai, &join]);
    world.own(MAKER_POT, &pot, &VAT.abi_encode());
    world.send(VAT, &relyCall { account: MAKER_POT });
    world.send(MAKER_POT, &Place::fileCall { what: what("vow"), to: VOW });
    world.own(SDAI, &savings, &(DAI_JOIN, MAKER_POT).abi_encode());
    world.send(DAI, &approveCall { spender: SDAI, amount: U256::MAX });
    world.fill(whole(50_000_000));
    world.turns(90, |world, turn| world.file(turn, MAKER_POT, "dsr"));
}

#[test]
fn skys_own_savings_pay_what_the_model_says() {
    let names = ["MakerVat", "MakerDai", "MakerDaiJoin", "Usds", "UsdsJoin", "SUsds"];
    let Some([vat, dai, dai_join, usds, join, savings]) = deployed::initcodes(names) else { return };
    let mut world = World::new(63, [USDS, SUSDS]);
    world.maker([&vat, &dai, &dai_join]);
    world.sky([&usds, &join, &savings]);
    world.send(USDS, &mintCall { to: OWNER, amount: U256::ONE << 110_usize });
    world.send(USDS, &approveCall { spender: SUSDS, amount: U256::MAX });
    world.fill(whole(50_000_000));
    world.turns(90, |world, turn| world.file(turn, SUSDS, "ssr"));
}

#[test]
fn sparks_own_dollars_pay_what_the_model_says() {
    let names = [
        "MakerVat",
        "MakerDai",
        "MakerDaiJoin",
        "Usds",
        "UsdsJoin",
        "SUsds",
        "DssLitePsm",
        "UsdsPsmWrapper",
        "UsdcVault",
    ];
    let Some([vat, dai, dai_join, usds, join, savings, exchange, wrapper, vault]) = deployed::initcodes(names) else {
        return;
    };
    let mut world = World::new(64, [USDC, SUSDC]);
    world.chain.place(USDC, "AssetOf", &U256::from(6).abi_encode());
    world.maker([&vat, &dai, &dai_join]);
    world.sky([&usds, &join, &savings]);
    world.own(EXCHANGE, &exchange, &(what("LITE-PSM"), USDC, DAI_JOIN, POCKET).abi_encode());
    world.own(PSM, &wrapper, &(EXCHANGE, USDS_JOIN).abi_encode());
    world.proxied(SUSDC, &vault, &(PSM, SUSDS).abi_encode(), &initializeCall {});
    world.send(DAI, &mintCall { to: EXCHANGE, amount: U256::ONE << 100_usize });
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(50, |world, turn| {
        world.file(turn, SUSDS, "ssr");
        // The exchange's balances of both vary and are sometimes small.
        let (dai, usdc) = (world.random.log_uniform_between(70, 95), world.random.log_uniform_between(30, 55));
        let slot = keccak256((EXCHANGE, U256::from(2)).abi_encode());
        world.chain.set_word(DAI, slot.into(), dai);
        world.chain.set_balance(USDC, POCKET, usdc);
    });
}
