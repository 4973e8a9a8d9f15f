//! Vaults that no factory announces.

use alloy_primitives::{Address, address};
use serde::{Deserialize, Serialize};

/// Where the numbers of a vault's conversion are read. What its own previews say of it is compared when it is read, and a vault
/// that says something else is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// The vault's shares are of the assets that lie in it: OpenZeppelin's and solmate's vaults without a strategy.
    Holdings,
    /// A rate that compounds every second, from `chi`, `ssr` and `rho` of the vault itself; what is paid out is minted.
    SkySavings,
    /// The same from `chi`, `dsr` and `rho` of MakerDAO's pot.
    MakerPot,
    /// The same from `chi`, `vsr` and `rho` of the vault itself, with a cap on all assets; what is paid out lies in the vault.
    SparkSavings,
    /// A rate that compounds every second, from `chi`, `ssr` and `rho` of Sky's savings, in USDC, which Sky's exchange makes of USDS one to
    /// one, as far as it has any, and back.
    SkyThroughPsm,
    /// What lies in the vault, less a reward that vests in eight hours; holders may have to wait (`cooldownDuration`).
    EthenaStaking,
    /// The same, of a reward that vests in `vestingPeriod`.
    FalconStaking,
    /// What was stored, and a reward that streams until the end of its cycle.
    FraxStaking,
    /// What was stored, and what a cycle's reward has brought since the last visit, no faster than a rate.
    FraxSavings,
    /// A thousand shares each of a rebasing token that holds the asset.
    ResolvWrapper,
    /// An index that grows by simple interest, and a cap on all assets.
    AaveSavings,
    /// What is saved in another contract, with interest by a counter of ticks, at a price of 18 decimals.
    FrankencoinSavings,
    /// What the vault counts, over shares of which those that were minted for a profit go in a straight line; what is idle is paid out.
    YearnVault,
}

/// A vault of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The vault, which is its share.
    pub vault: Address,
    /// What is deposited.
    pub asset: Address,
    /// Where its numbers are.
    pub form: Form,
}

const fn listed(vault: Address, asset: Address, form: Form) -> Listed {
    Listed { vault, asset, form }
}

/// MakerDAO's pot, whose rate sDAI follows. Source: chainlog `MCD_POT`.
pub const MAKER_POT: Address = address!("197E90f9FAD81970bA7976f33CbD77088E5D7cf7");

const DAI: Address = address!("6B175474E89094C44Da98b954EedeAC495271d0F");
const USDC: Address = address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48");
const USDT: Address = address!("dAC17F958D2ee523a2206206994597C13D831ec7");
const WETH: Address = address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2");

/// The list, in the order of addresses within a form. Sources: `../shared/mainnet.json`, which names the registry that each is
/// from. Vaults that Morpho's factories announce are not here, nor Fluid's, nor Aave's wrapped tokens.
pub const LISTED: &[Listed] = &[
    listed(address!("83F20F44975D03b1b09e64809B757c47f942BEeA"), DAI, Form::MakerPot),
    listed(
        address!("a3931d71877C0E7a3148CB7Eb4463524FEc27fbD"),
        address!("dC035D45d973E3EC169d2276DDab16f1e407384F"),
        Form::SkySavings,
    ),
    listed(
        address!("C5d6A7B61d18AfA11435a889557b068BB9f29930"),
        address!("4f8e5DE400DE08B164E7421B3EE387f461beCD1A"),
        Form::SkySavings,
    ),
    listed(address!("28B3a8fb53B741A8Fd78c0fb9A6B2393d896a43d"), USDC, Form::SparkSavings),
    listed(address!("e2e7a17dFf93280dec073C995595155283e3C372"), USDT, Form::SparkSavings),
    listed(address!("fE6eb3b609a7C8352A241f7F3A21CEA4e9209B8f"), WETH, Form::SparkSavings),
    listed(
        address!("9D39A5DE30e57443BfF2A8307A4256c8797A3497"),
        address!("4c9EDD5852cd905f086C759E8383e09bff1E68B3"),
        Form::EthenaStaking,
    ),
    listed(
        address!("aC3E018457B222d93114458476f3E3416Abbe38F"),
        address!("5E8422345238F34275888049021821E8E08CAa1f"),
        Form::FraxStaking,
    ),
    listed(address!("Bc65ad17c5C0a2A4D159fa5a503f4992c7B545FE"), USDC, Form::SkyThroughPsm),
    listed(
        address!("c8CF6D7991f15525488b2A83Df53468D682Ba4B0"),
        address!("Fa2B947eEc368f42195f24F36d2aF29f7c24CeC2"),
        Form::FalconStaking,
    ),
    listed(
        address!("A663B02CF0a4b149d2aD41910CB81e23e1c41c32"),
        address!("853d955aCEf822Db058eb8505911ED77F175b99e"),
        Form::FraxSavings,
    ),
    listed(
        address!("1202F5C7b4B9E47a1A484E8B270be34dbbC75055"),
        address!("66a1E37c9b0eAddca17d3662D6c05F4DECf3e110"),
        Form::ResolvWrapper,
    ),
    listed(
        address!("E1753F2e00940cC31213dd92013cF019DFE4ca1d"),
        address!("40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f"),
        Form::AaveSavings,
    ),
    listed(
        address!("E5F130253fF137f9917C0107659A4c5262abf6b0"),
        address!("B58E61C3098d85632Df34EecfB899A1Ed80921cB"),
        Form::FrankencoinSavings,
    ),
    listed(
        address!("F17D6f98A5C6EAA99d149079984119e0A4EF6900"),
        address!("B1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1"),
        Form::YearnVault,
    ),
    listed(
        address!("08d23468A467d2bb86FaE0e32F247A26C7E2e994"),
        address!("41D5D79431A913C4aE7d69a668ecdfE5fF9DFB68"),
        Form::Holdings,
    ),
    listed(
        address!("19ebb35279A16207Ec4ba82799CC64715065F7F6"),
        address!("6aD038cA6C04e885630851278ca0a856Ad9a66cC"),
        Form::Holdings,
    ),
    listed(
        address!("7751E2F4b8ae93EF6B79d86419d42FE3295A4559"),
        address!("bdC7c08592Ee4aa51D06C27Ee23D5087D65aDbcD"),
        Form::Holdings,
    ),
    listed(
        address!("88887bE419578051FF9F4eb6C858A951921D8888"),
        address!("cCcc62962d17b8914c62D74FfB843d73B2a3cccC"),
        Form::Holdings,
    ),
    listed(
        address!("9F4330700a36B29952869fac9b33f45EEdd8A3d8"),
        address!("6440f144b7e50D6a8439336510312d2F54beB01D"),
        Form::Holdings,
    ),
    listed(
        address!("b45ad160634c528Cc3D2926d9807104FA3157305"),
        address!("865377367054516e17014CcdED1e7d814EDC9ce4"),
        Form::Holdings,
    ),
    listed(address!("d217a07493B6BA272Ff806ee5eaBDFf86C292cC6"), WETH, Form::Holdings),
    listed(
        address!("D2af830E8CBdFed6CC11Bab697bB25496ed6FA62"),
        address!("2A8e1E676Ec238d8A992307B495b45B3fEAa5e86"),
        Form::Holdings,
    ),
    listed(address!("D9A442856C234a39a81a089C06451EBAa4306a72"), WETH, Form::Holdings),
    listed(
        address!("DBDC1Ef57537E34680B898E1FEBD3D68c7389bCB"),
        address!("48f9e38f3070AD8945DFEae3FA70987722E3D89c"),
        Form::Holdings,
    ),
    listed(
        address!("DcEe70654261AF21C44c093C300eD3Bb97b78192"),
        address!("856c4Efb76C1D1AE02e20CEB03A2A6a08b0b8dC3"),
        Form::Holdings,
    ),
];
