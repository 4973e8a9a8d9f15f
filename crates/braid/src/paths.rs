//! The data directory.

use std::path::PathBuf;

/// The data directory, common to the commands that use it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DataDir {
    /// Directory for the market, quotes and API keys; made if it is missing
    #[arg(
        long,
        visible_alias = "data",
        env = "BRAID_DATA_DIR",
        value_name = "DIR",
        default_value = "braid-data",
        global = true
    )]
    pub(crate) data_dir: PathBuf,
}
