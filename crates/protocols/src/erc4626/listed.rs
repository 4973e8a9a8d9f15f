//! Listed vaults, which no factory announces. Each is a row with its form, and each form is a row of parts.

use alloy_primitives::{Address, U256, address};
use serde::{Deserialize, Serialize};

use super::{
    gas::{Costs, RATE, RATIO, REWARDED, costs},
    parts::{AccrualPart as Accrual, ConversionPart as Conversion, LimitsPart as Limits, MAKER_POT},
};
use crate::aave::RAY;

/// Form of a vault: where the reader finds the values of its conversion, accrual and limits. The reader compares the
/// model with the vault's own previews, and excludes the vault if they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// Shares of the assets that the vault holds: OpenZeppelin's and solmate's vaults without a strategy.
    Holdings,
    /// A rate that compounds every second, from `chi`, `ssr` and `rho` of the vault itself. Payouts are minted.
    SkySavings,
    /// The same from `chi`, `dsr` and `rho` of MakerDAO's pot.
    MakerPot,
    /// The same from `chi`, `vsr` and `rho` of the vault itself, with a cap on all assets. Payouts come from the
    /// vault's balance.
    SparkSavings,
    /// A rate that compounds every second, from `chi`, `ssr` and `rho` of Sky's savings, paid in USDC. Sky's PSM
    /// exchanges USDC and USDS one to one, up to its balance.
    SkyThroughPsm,
    /// The vault's balance, less a reward that vests in eight hours. Redemptions may have a waiting period
    /// (`cooldownDuration`).
    EthenaStaking,
    /// The same, with a reward that vests in `vestingPeriod`.
    FalconStaking,
    /// Stored assets, and a reward that streams until the end of its cycle.
    FraxStaking,
    /// Stored assets, and the cycle's reward since the last distribution, at a capped rate.
    FraxSavings,
    /// A thousand shares each of a rebasing token that holds the asset.
    ResolvWrapper,
    /// An index with simple interest, and a cap on all assets.
    AaveSavings,
    /// Savings in another contract, with interest by a counter of ticks, at a price of 18 decimals.
    FrankencoinSavings,
    /// The vault's reported assets, over shares of which those minted for a profit unlock linearly. Payouts come from
    /// the idle balance.
    YearnVault,
}

/// Parts of a form.
pub(super) struct Parts {
    pub(super) conversion: Conversion,
    pub(super) accrual: Accrual,
    pub(super) limits: Limits,
    /// Gas units of its calls.
    pub(super) costs: Costs,
}

const fn parts(conversion: Conversion, accrual: Accrual, limits: Limits, costs: Costs) -> Parts {
    Parts { conversion, accrual, limits, costs }
}

/// Ray of a rate per atomic unit of USDC; one USDC unit is 10¹² units of USDS.
const RAY_OF_USDC: U256 = RAY.saturating_mul(U256::from_limbs([1_000_000_000_000, 0, 0, 0]));

/// Vesting period of Ethena's rewards, in seconds. Source: `StakedUSDe.VESTING_PERIOD`.
const ETHENA_VESTING_SECONDS: u64 = 8 * 3_600;

const CHI: Conversion = Conversion::Rate { keeper: None, one: RAY };
const SSR: Accrual = Accrual::Compounding { keeper: None, rate: "ssr()" };

impl Form {
    /// Returns the parts of the form.
    pub(super) const fn parts(self) -> Parts {
        match self {
            Self::Holdings => parts(Conversion::Holdings, Accrual::None, Limits::Holdings, RATIO),
            // all interest is minted and distributed first, through the vault's own dai in the vat
            Self::SkySavings => parts(CHI, SSR, Limits::Minted, costs([109_500, 108_500], 22_000).passing([1, 1])),
            Self::MakerPot => parts(
                Conversion::Rate { keeper: Some(MAKER_POT), one: RAY },
                Accrual::Compounding { keeper: Some(MAKER_POT), rate: "dsr()" },
                Limits::Minted,
                RATE,
            ),
            Self::SparkSavings => parts(
                CHI,
                Accrual::Compounding { keeper: None, rate: "vsr()" },
                Limits::Capped,
                costs([61_000, 55_300], 22_000),
            ),
            // plus the PSM with both joins: limited by the PSM's dai and by its dollars of either kind
            Self::SkyThroughPsm => parts(
                Conversion::Rate { keeper: None, one: RAY_OF_USDC },
                SSR,
                Limits::Exchange,
                costs([236_000, 234_000], 42_000).passing([5, 4]),
            ),
            Self::EthenaStaking => parts(
                Conversion::HoldingsAndOne,
                Accrual::Vesting { seconds: Some(ETHENA_VESTING_SECONDS) },
                Limits::Cooldown,
                REWARDED,
            ),
            Self::FalconStaking => parts(
                Conversion::HoldingsAndOne,
                Accrual::Vesting { seconds: None },
                Limits::Cooldown,
                costs([53_100, 54_000], 24_800),
            ),
            Self::FraxStaking => parts(
                Conversion::BeforeStream,
                Accrual::Streaming,
                Limits::BeforeStream,
                costs([42_000, 42_000], 11_500),
            ),
            Self::FraxSavings => {
                parts(Conversion::Stored, Accrual::Distributing, Limits::Holdings, costs([54_300, 54_900], 19_300))
            }
            // a deposit passes through the vault
            Self::ResolvWrapper => parts(
                Conversion::Rebasing,
                Accrual::None,
                Limits::Rebasing,
                costs([85_000, 75_800], 30_200).passing([1, 0]),
            ),
            Self::AaveSavings => parts(
                Conversion::StoredIndex,
                Accrual::StoredIndex,
                Limits::CappedAndPaused,
                costs([57_000, 58_700], 15_800),
            ),
            Self::FrankencoinSavings => parts(
                Conversion::Saved,
                Accrual::Ticking,
                Limits::Earning,
                costs([97_000, 86_200], 27_800).passing([1, 0]),
            ),
            Self::YearnVault => {
                parts(Conversion::BeforeUnlocking, Accrual::Unlocking, Limits::Idle, costs([62_700, 61_200], 22_000))
            }
        }
    }

    /// Returns the name of the form.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Holdings => "holdings",
            Self::YearnVault => "unlocking",
            Self::FraxSavings => "distributing",
            Self::FraxStaking => "streaming",
            Self::FalconStaking => "vesting",
            Self::SparkSavings => "compounding",
            _ => "listed",
        }
    }
}

/// A listed vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Address of the vault, which is also its share.
    pub vault: Address,
    /// Deposited asset.
    pub asset: Address,
    /// Form of the vault.
    pub form: Form,
}

/// Builds the list from rows of vault, asset and form.
macro_rules! vaults {
    ($($vault:literal $asset:literal $form:ident)*) => {
        &[$(Listed { vault: address!($vault), asset: address!($asset), form: Form::$form }),*]
    };
}

/// The list. Sources: the registries of mainnet addresses that each protocol publishes, by the name in the comment;
/// they do not say how much each vault holds. Vaults announced by Morpho's and Fluid's factories and Aave's wrapped
/// tokens are not listed here.
pub const LISTED: &[Listed] = vaults! {
    "83F20F44975D03b1b09e64809B757c47f942BEeA" "6B175474E89094C44Da98b954EedeAC495271d0F" MakerPot           // sDAI
    "a3931d71877C0E7a3148CB7Eb4463524FEc27fbD" "dC035D45d973E3EC169d2276DDab16f1e407384F" SkySavings         // sUSDS
    "C5d6A7B61d18AfA11435a889557b068BB9f29930" "4f8e5DE400DE08B164E7421B3EE387f461beCD1A" SkySavings         // sUSDD
    "28B3a8fb53B741A8Fd78c0fb9A6B2393d896a43d" "A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" SparkSavings       // spUSDC
    "e2e7a17dFf93280dec073C995595155283e3C372" "dAC17F958D2ee523a2206206994597C13D831ec7" SparkSavings       // spUSDT
    "fE6eb3b609a7C8352A241f7F3A21CEA4e9209B8f" "C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" SparkSavings       // spETH
    "9D39A5DE30e57443BfF2A8307A4256c8797A3497" "4c9EDD5852cd905f086C759E8383e09bff1E68B3" EthenaStaking      // sUSDe
    "aC3E018457B222d93114458476f3E3416Abbe38F" "5E8422345238F34275888049021821E8E08CAa1f" FraxStaking        // sfrxETH
    "Bc65ad17c5C0a2A4D159fa5a503f4992c7B545FE" "A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" SkyThroughPsm      // sUSDC
    "c8CF6D7991f15525488b2A83Df53468D682Ba4B0" "Fa2B947eEc368f42195f24F36d2aF29f7c24CeC2" FalconStaking      // sUSDf
    "A663B02CF0a4b149d2aD41910CB81e23e1c41c32" "853d955aCEf822Db058eb8505911ED77F175b99e" FraxSavings        // sFRAX
    "1202F5C7b4B9E47a1A484E8B270be34dbbC75055" "66a1E37c9b0eAddca17d3662D6c05F4DECf3e110" ResolvWrapper      // wstUSR
    "E1753F2e00940cC31213dd92013cF019DFE4ca1d" "40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f" AaveSavings        // sGHO
    "E5F130253fF137f9917C0107659A4c5262abf6b0" "B58E61C3098d85632Df34EecfB899A1Ed80921cB" FrankencoinSavings // svZCHF
    "F17D6f98A5C6EAA99d149079984119e0A4EF6900" "B1c2Db5d6cA03FCe73dBd304d320bF76C55Ae1B1" YearnVault         // sUSG
    "08d23468A467d2bb86FaE0e32F247A26C7E2e994" "41D5D79431A913C4aE7d69a668ecdfE5fF9DFB68" Holdings           // StakedInv
    "19ebb35279A16207Ec4ba82799CC64715065F7F6" "6aD038cA6C04e885630851278ca0a856Ad9a66cC" Holdings           // HastraPRIME
    "7751E2F4b8ae93EF6B79d86419d42FE3295A4559" "bdC7c08592Ee4aa51D06C27Ee23D5087D65aDbcD" Holdings           // wUSDL
    "88887bE419578051FF9F4eb6C858A951921D8888" "cCcc62962d17b8914c62D74FfB843d73B2a3cccC" Holdings           // StakedcapUSD
    "9F4330700a36B29952869fac9b33f45EEdd8A3d8" "6440f144b7e50D6a8439336510312d2F54beB01D" Holdings           // YearnBOLD
    "b45ad160634c528Cc3D2926d9807104FA3157305" "865377367054516e17014CcdED1e7d814EDC9ce4" Holdings           // StakedDola
    "d217a07493B6BA272Ff806ee5eaBDFf86C292cC6" "C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" Holdings           // TelosCEarnWETH
    "D2af830E8CBdFed6CC11Bab697bB25496ed6FA62" "2A8e1E676Ec238d8A992307B495b45B3fEAa5e86" Holdings           // wOUSD
    "D9A442856C234a39a81a089C06451EBAa4306a72" "C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2" Holdings           // pufETH
    "DBDC1Ef57537E34680B898E1FEBD3D68c7389bCB" "48f9e38f3070AD8945DFEae3FA70987722E3D89c" Holdings           // StakedinfiniFiUSD
    "DcEe70654261AF21C44c093C300eD3Bb97b78192" "856c4Efb76C1D1AE02e20CEB03A2A6a08b0b8dC3" Holdings           // wOETH
};
