//! Dense ids: positions in a market's tables, stable for as long as the process keeps that market's lineage.

use serde::{Deserialize, Serialize};

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in the table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id!(
    /// A token's position in the market's token table.
    TokenId
);
dense_id!(
    /// A pool's position in the market's pool table.
    PoolId
);
