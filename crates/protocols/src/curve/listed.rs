//! Pools known from the start: individually deployed ones, and the largest of factories whose lists take long to read.

use alloy_primitives::{Address, address};
use braid_primitives::{NATIVE_ETHER, WETH};

use super::{
    coins::{DAI, FRAX, RENBTC, SBTC, STETH, SUSD, THREE_CRV, USDC, USDT, WBTC, WSTETH},
    lending,
};
use crate::{Discovered, Product};

/// A pool and its coins.
type Listed = (Address, &'static [Address]);

/// Builds a list from rows of a pool and its coins, each an address or a constant.
macro_rules! pools {
    ($($pool:literal: $($coin:tt),+;)*) => { &[$((address!($pool), &[$(pools!(@coin $coin)),+])),*] };
    (@coin $address:literal) => { address!($address) };
    (@coin $coin:ident) => { $coin };
}

/// StableSwap pools of plain coins. Source: Curve's main registry.
///
/// Excluded: lending pools except [`lending::pools`] (their coins' rates accrue elsewhere), aETH, rETH and wBETH (rates
/// that no model covers).
const STABLE: &[Listed] = pools! {
    "bEbc44782C7dB0a1A60Cb6fe97d0b483032FF1C7": DAI, USDC, USDT;
    "A5407eAE9Ba41422680e2e00537571bcC53efBfD": DAI, USDC, USDT, SUSD;
    "DC24316b9AE028F1497c275EB9192a3Ea0f67022": NATIVE_ETHER, STETH;
    "93054188d876f558f4a66B2EF1d97d16eDf0895B": RENBTC, WBTC;
    "7fC77b5c7614E1533320Ea6DDc2Eb61fa00A9714": RENBTC, WBTC, SBTC;
    "4CA9b3063Ec5866A4B82E437059D2C43d1be596F": "0316EB71485b0Ab14103307bf65a021042c6d380", WBTC;
    "c5424B857f758E906013F3555Dad202e4bdB4567": NATIVE_ETHER, "5e74C9036fb86BD7eCdcb084a0673EFc32eA31cb";
    "0Ce6a5fF5217e38315f87032CF90686C96627CAA": "dB25f211AB05b1c97D595516F45794528a807ad8", "D71eCFF9342A5Ced620049e616c5035F1dB98620";
    "F178C0b5Bb7e7aBF4e12A4838C7b7c5bA2C623c0": "514910771AF9Ca656af840dff83E8264EcF986CA", "bBC455cb4F1B9e4bFC4B73970d360c8f032EfEE6";
    "1005F7406f32a61BD760CfA14aCCd2737913d546": USDC, USDT;
    "4e0915C88bC70750D68C481540F081fEFaF22273": USDC, USDT, "a693B19d2931d498c5B318dF961919BB4aee87a5", FRAX;
    "DcEF968d416a41Cdac0ED8702fAC8128A64241A2": FRAX, USDC;
    "a1F8A6807c402E4A15ef4EBa36528A3FED24E577": NATIVE_ETHER, "5E8422345238F34275888049021821E8E08CAa1f";
    "f253f83AcA21aAbD2A20553AE0BF7F65C755A07F": WBTC, SBTC;
    "Ae34574AC03A15cd58A92DC79De7B1A0800F1CE3": FRAX, "8E870D67F660D95d5be530380D0eC0bd388289E1";
};

/// Metapools on the 3pool, by their own coin. Source: Curve's main registry.
const META: &[(Address, Address)] = &[
    (address!("4f062658EaAF2C1ccf8C8e36D6824CDf41167956"), address!("056Fd409E1d7A124BD7017459dFEa2F387b6d5Cd")),
    (address!("8474DdbE98F5aA3179B3B3F5942D724aFcdec9f6"), address!("e2f2a5C287993345a840Db3B0845fbC70f5935a5")),
    (address!("EcD5e75AFb02eFa118AF914515D6521aaBd189F1"), address!("0000000000085d4780B73119b644AE5ecd22b376")),
    (address!("d632f22692FaC7611d2AA1C0D552930D43CAEd3B"), FRAX),
    (address!("Ed279fDD11cA84bEef15AF5D39BB4d4bEE23F0cA"), address!("5f98805A4E8be255a32880FDeC7F6728C6568bA0")),
    (address!("4807862AA8b2bF68830e4C8dc86D0e9A998e085a"), address!("4Fabb145d64652a948d72533023f6E7A623C7C53")),
    (address!("43b4FdFD4Ff969587185cDB6f0BD875c5Fc83f8c"), address!("BC6DA0FE9aD5f3b0d58160288917AA56653660E9")),
    (address!("5a6A4D54456819380173272A5E8E9B9904BdF41B"), address!("99D8a9C45b2ecA8864373A26D1459e3Dff1e17F3")),
];

/// CryptoSwap pools of two coins, 2021. Source: Curve's main registry; the first two are from the factory, as named in
/// public configurations of routers and vaults.
const CRYPTO: &[Listed] = pools! {
    "8301AE4fc9c624d1D396cbDAa1ed877821D7C511": WETH, "D533a949740bb3306d119CC777fa900bA034cd52";
    "0f3159811670c117c372428D4E69AC32325e4D0F": WETH, "ae78736Cd615f374D3085123A210448E74Fc6393";
    "B576491F1E6e5E62f1d8F26062Ee822B40B0E0d4": WETH, "4e3FBD56CD56c3e72c1403e103b45Db9da5B9D2B";
    "98638FAcf9a3865cd033F36548713183f6996122": WETH, "090185f2135308BaD17527004364eBcC2D37e5F6";
    "752eBeb79963cf0732E9c0fec72a49FD1DEfAEAC": WETH, "CdF7028ceAB81fA0C6971208e83fa7872994beE5";
    "AdCFcf9894335dC340f6Cd182aFA45999F45Fc44": "68749665FF8D2d112Fa859AA293F07A622782F38", THREE_CRV;
    "E84f5b1582BA325fDf9cE6B0c1F087ccfC924e54": "1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c", THREE_CRV;
    "98a7F18d4E56Cfe84E3D081B40001B3d5bD3eB8B": USDC, "dB25f211AB05b1c97D595516F45794528a807ad8";
    "9838eCcC42659FA8AA7daF2aD134b53984c9427b": "C581b735A1688071A1746c968e0798D642EDE491", THREE_CRV;
};

/// tricrypto2.
const TRICRYPTO: &[Listed] = pools! {
    "D51a44d3FaE010294C616388b506AcdA1bfAAE46": USDT, WBTC, WETH;
};

/// StableSwap, next generation. Source: for the first, a recording of its own answers; for the others, public
/// configurations of vaults.
const STABLE_NG: &[Listed] = pools! {
    "4f493B7dE8aAC7d55F71853688b1F7C8F0243C85": USDC, USDT;
    "167478921b907422F8E88B43C4Af2B8BEa278d3A": "83F20F44975D03b1b09e64809B757c47f942BEeA", "9D39A5DE30e57443BfF2A8307A4256c8797A3497";
    "EEda34A377dD0ca676b9511EE1324974fA8d980D": "D9A442856C234a39a81a089C06451EBAa4306a72", WSTETH;
    "02950460E2b9529D0E00284A5fA2d7bDF3fA4d72": "4c9EDD5852cd905f086C759E8383e09bff1E68B3", USDC;
};

/// Tells whether a pool is listed.
pub(super) fn holds(pool: &Discovered) -> bool {
    pools(pool.product).iter().any(|listed| listed.key.contract == pool.key.contract)
}

/// Returns the listed pools of a product.
pub(super) fn pools(product: Product) -> Vec<Discovered> {
    let plain = |listed: &[Listed]| -> Vec<Discovered> {
        listed.iter().map(|(pool, coins)| Discovered::new(*pool, product, coins.to_vec())).collect()
    };
    match product {
        Product::CurveStableswap => plain(STABLE).into_iter().chain(lending::pools()).collect(),
        Product::CurveStableswapNg => plain(STABLE_NG),
        Product::CurveCryptoswap => plain(CRYPTO),
        Product::CurveTricrypto => plain(TRICRYPTO),
        Product::CurveMetapool => {
            let coins = |own: Address| vec![own, THREE_CRV, DAI, USDC, USDT];
            META.iter().map(|(pool, own)| Discovered::new(*pool, product, coins(*own))).collect()
        }
        _ => Vec::new(),
    }
}
