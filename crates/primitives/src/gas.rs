//! Gas priority tiers.

use serde::{Deserialize, Serialize};

/// How soon a sender wants inclusion; it selects the priority fee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GasTier {
    /// Cheapest; may wait several blocks.
    Slow,
    /// The default.
    #[default]
    Standard,
    /// Aims at the next block or two.
    Fast,
    /// Aims at the next block.
    Urgent,
}

impl GasTier {
    /// Every tier, cheapest first.
    pub const ALL: [Self; 4] = [Self::Slow, Self::Standard, Self::Fast, Self::Urgent];

    /// Returns the name used in requests and answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Standard => "standard",
            Self::Fast => "fast",
            Self::Urgent => "urgent",
        }
    }

    /// Returns the tier with a name, if there is one.
    ///
    /// ```
    /// # use braid_primitives::GasTier;
    /// assert_eq!(GasTier::from_name("fast"), Some(GasTier::Fast));
    /// assert_eq!(GasTier::from_name("FAST"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }
}
