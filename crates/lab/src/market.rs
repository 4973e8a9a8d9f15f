//! `braid-lab market load` and `export`: converts between market files and recorded markets in JSON.

use std::path::{Path, PathBuf};

use braid_lab::recorded;
use braid_market::Market;
use eyre::{Result, WrapErr as _};

use crate::out;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: braid-lab market load recorded.json recorded.market")]
pub(crate) struct LoadArgs {
    /// Market file: one that Braid wrote, or a recorded one in JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The market file to write
    #[arg(value_name = "OUT")]
    out: PathBuf,
}

/// Runs `braid-lab market load`. Writes in canonical form, so that the same pools in the same states give the same
/// bytes.
pub(crate) fn load(args: &LoadArgs) -> Result<()> {
    let market = read(&args.file)?.canonical();
    market.save(&args.out)?;
    let (pools, block) = (market.pools().len(), market.block().number);
    out::line(format_args!("{pools} pools at block {block} are in {}", args.out.display()))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Pools of kinds that the format does not support are skipped, with a message.")]
pub(crate) struct ExportArgs {
    /// Market file: one that Braid wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The JSON file to write
    #[arg(value_name = "JSON")]
    json: PathBuf,
}

/// Runs `braid-lab market export`.
pub(crate) fn export(args: &ExportArgs) -> Result<()> {
    let exported = recorded::export(&read(&args.file)?);
    for (product, count) in &exported.unsupported {
        eprintln!("skipped: {count} × {product}");
    }
    let context = || format!("cannot write {}", args.json.display());
    let file = std::fs::File::create(&args.json).wrap_err_with(context)?;
    serde_json::to_writer(std::io::BufWriter::new(file), &exported.document).wrap_err_with(context)
}

fn read(file: &Path) -> Result<Market> {
    let imported = recorded::open(file)?;
    for (kind, count) in &imported.skipped {
        eprintln!("skipped: {count} × {kind}");
    }
    Ok(imported.market)
}
