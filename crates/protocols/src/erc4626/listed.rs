//! Vaults that no factory announces.

use alloy_primitives::{Address, address};

/// Where the numbers of a vault's conversion are read. What its own previews say of it is compared when it is read, and a vault
/// that says something else is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The vault's shares are of the assets that lie in it: OpenZeppelin's and solmate's vaults without a strategy.
    Holdings,
    /// A rate that compounds every second, from `chi`, `ssr` and `rho` of the vault itself; what is paid out is minted.
    SkySavings,
    /// The same from `chi`, `dsr` and `rho` of MakerDAO's pot.
    MakerPot,
    /// The same from `chi`, `vsr` and `rho` of the vault itself; what is paid out lies in the vault.
    SparkSavings,
    /// What lies in the vault, less a reward that vests in eight hours; holders may have to wait (`cooldownDuration`).
    EthenaStaking,
    /// What was stored, and a reward that streams until the end of its cycle.
    FraxStaking,
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
