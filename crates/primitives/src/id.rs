//! Dense ids: positions in a market's tables, stable while the process keeps that market and its successors.

use serde::{Deserialize, Serialize};

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the position in the table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

dense_id!(
    /// Position of a token in the market's token table.
    TokenId
);
dense_id!(
    /// Position of a pool in the market's pool table.
    PoolId
);
