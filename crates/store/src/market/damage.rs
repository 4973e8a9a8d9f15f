//! Why a database cannot be used.

/// Why a database cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file is no database, or its structure is broken.
    #[error("the market database is damaged: {reason}")]
    Broken {
        /// The reason.
        reason: String,
    },
    /// The records differ from those that were written.
    #[error("the market database is damaged: its records differ from those that were written")]
    Sum,
    /// Written by another version of Braid.
    #[error("the market database was written by another version of Braid ({reason} in {what})")]
    Layout {
        /// Kind of record.
        what: &'static str,
        /// The difference.
        reason: String,
    },
}
