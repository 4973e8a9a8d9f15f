//! Tests of Sky's savings vault, Spark's vault of Sky's savings, and Spark's own vaults.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::{SolValue, sol};

use super::{World, whole};
use crate::{support::chain::OWNER, vault_bytecode::trades};

sol! {
    function setFees(uint256 tin, uint256 tout) external;
    function rely(address account) external;
    function suck(address debtor, address to, uint256 rad) external;
    function setDepositCap(uint256 cap) external;
    function initialize() external;
    interface Sky { function initialize(uint192 chi, uint256 ssr) external; }
    interface Spark { function initialize(address asset, uint192 chi, uint256 vsr, uint256 cap) external; }
}

pub const SUSDC: Address = address!("Bc65ad17c5C0a2A4D159fa5a503f4992c7B545FE");
pub const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
pub const USDS: Address = address!("dC035D45d973E3EC169d2276DDab16f1e407384F");
pub const SUSDS: Address = address!("a3931d71877C0E7a3148CB7Eb4463524FEc27fbD");
pub const SPUSDC: Address = address!("28B3a8fb53B741A8Fd78c0fb9A6B2393d896a43d");
pub const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
pub const VAT: Address = address!("35D1b3F3D7966A1DFe207aa4514C12a259A0492B");
pub const VOW: Address = address!("A950524441892A31ebddF91d3cEEFa04Bf454466");
pub const DAI_JOIN: Address = address!("9759A6Ac90977b93B58547b4A71c78317f391A28");
pub const USDS_JOIN: Address = address!("3C0f895007CA717Aa01c8693e59DF1e8C3777FEB");
pub const LITE_PSM: Address = address!("f6e72Db5454dd049d0788e411b06CfAF16853042");
pub const PSM: Address = address!("A188EEC8F81263234dA3622A406892F3D630f98c");
pub const POCKET: Address = address!("37305B1cD40574E4C5Ce33f8e8306Be057fD7341");

/// A rate accumulator that has grown, and its growth per second: four percent a year.
const RATE_RAY: u128 = 1_090_658_613_438_076_468_123_456_789;
const GROWTH_RAY: u128 = 1_000_000_001_243_680_656_318_820_312;

impl World {
    /// Sets up MakerDAO's vat with the joins that mint USDS and DAI, and sUSDS with a rate that has grown.
    fn save_at_sky(&mut self) {
        self.chain.place(VAT, "StandInVat", &[]);
        let rad = U256::ONE << 200;
        for (join, token) in [(USDS_JOIN, USDS), (DAI_JOIN, DAI)] {
            self.chain.place(join, "StandInSkyJoin", &(VAT, token).abi_encode());
            self.chain.send(VAT, &relyCall { account: OWNER }).unwrap();
            self.chain.send(VAT, &suckCall { debtor: VOW, to: join, rad }).unwrap();
            self.chain.set_balance(token, join, U256::ONE << 110);
        }
        self.chain.place(SUSDS, "StandInSusds", &(USDS, VAT, USDS_JOIN, VOW).abi_encode());
        self.chain.send(VAT, &relyCall { account: SUSDS }).unwrap();
        let chi = RATE_RAY.try_into().unwrap();
        self.chain.send(SUSDS, &Sky::initializeCall { chi, ssr: U256::from(GROWTH_RAY) }).unwrap();
    }
}

#[test]
fn sparks_dollars_go_through_skys_exchange_one_to_one_or_not_at_all() {
    let mut world = World::new(64, [USDC, SUSDC]);
    world.chain.place(USDS, "Asset", &[]);
    world.chain.place(DAI, "Asset", &[]);
    world.save_at_sky();
    world.chain.place(LITE_PSM, "StandInLitePsm", &(USDC, DAI, POCKET).abi_encode());
    world.chain.place(PSM, "StandInUsdsPsm", &(LITE_PSM, DAI_JOIN, USDS_JOIN, USDS, VAT).abi_encode());
    world.place("StandInSavingsUsdc", &(USDC, DAI, LITE_PSM, PSM, SUSDS).abi_encode());
    world.chain.send(SUSDC, &initializeCall {}).unwrap();
    world.chain.set_balance(DAI, LITE_PSM, U256::ONE << 100);
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(84, |world, _| {
        // The exchange's balances of both vary and are sometimes small.
        let (dai, usdc) = (world.random.log_uniform_between(76, 95), world.random.log_uniform_between(36, 55));
        world.chain.set_balance(DAI, LITE_PSM, dai);
        world.chain.set_balance(USDC, POCKET, usdc);
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
    assert!(world.cautious * 100 < world.paid, "{} refused here alone", world.cautious);
    world.chain.send(LITE_PSM, &setFeesCall { tin: U256::ONE, tout: U256::ZERO }).unwrap();
    assert!(world.is_odd(), "a fee of the exchange that is not modelled");
}

#[test]
fn skys_savings_take_everybodys_interest_first() {
    let mut world = World::new(69, [USDS, SUSDS]);
    world.chain.place(DAI, "Asset", &[]);
    world.save_at_sky();
    world.fill(whole(2_000_000_000));
    world.turns(95, |_, _| {});
}

#[test]
fn sparks_savings_are_capped_with_their_interest_and_pay_what_lies_there() {
    let mut world = World::new(70, [USDC, SPUSDC]);
    world.place("StandInSparkVault", &[]);
    let (chi, vsr) = (RATE_RAY.try_into().unwrap(), U256::from(GROWTH_RAY));
    let cap = U256::from(700_000_000_000_000_u64);
    world.chain.send(SPUSDC, &Spark::initializeCall { asset: USDC, chi, vsr, cap }).unwrap();
    world.fill(U256::from(300_000_000_000_000_u64));
    world.turns(50, |world, turn| {
        if turn % 10 == 0 {
            // Around the vault's balance and below it, so that the cap limits some deposits to the unit.
            let cap = U256::from(250_000_000_000_000_u64 + world.random.below(800_000_000_000_000));
            world.chain.send(SPUSDC, &setDepositCapCall { cap }).unwrap();
            let held = world.random.log_uniform_between(40, 49);
            world.chain.set_balance(USDC, SPUSDC, held);
        }
        world.around_deposits();
    });
    assert!(world.refused > trades(300) / 10, "{} refused", world.refused);
}
