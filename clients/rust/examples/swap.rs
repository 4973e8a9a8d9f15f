//! Swaps one token for another: quote, approve or sign, build, send.
//!
//! `BRAID_KEY=… PRIVATE_KEY=0x… cargo run --example swap SELL AMOUNT BUY` (addresses, atomic units)
#![allow(clippy::print_stdout)]

use std::env;

use alloy::primitives::{Address, U256};
use alloy::providers::ProviderBuilder;
use alloy::signers::local::PrivateKeySigner;
use braid_swap::{Braid, BuildRequest, QuoteRequest, wallet};
use eyre::{OptionExt as _, ensure};

#[tokio::main(flavor = "current_thread")]
async fn main() -> eyre::Result<()> {
    let mut words = env::args().skip(1);
    let mut word = || words.next().ok_or_eyre("usage: swap SELL AMOUNT BUY");
    let (sell, amount, buy) = (word()?.parse::<Address>()?, word()?.parse::<U256>()?, word()?.parse::<Address>()?);
    let signer: PrivateKeySigner = env::var("PRIVATE_KEY")?.parse()?;
    let provider = ProviderBuilder::new().wallet(signer.clone()).connect(&env::var("RPC_URL")?).await?;
    let braid = Braid::new(env::var("BRAID_API")?).with_key(env::var("BRAID_KEY")?);

    let quote = braid.quote(&QuoteRequest::new(signer.address()).sell(sell, amount).buy(buy, 10_000)).await?;
    let signature = wallet::authorize(&braid, &provider, &signer, &quote).await?;
    let built = braid.build(&BuildRequest::new(&quote.quote_id).signed(signature).simulated()).await?;
    let pending = wallet::send(&braid, &provider, &quote, &built).await?;
    let receipt = pending.get_receipt().await?;

    ensure!(receipt.status(), "the transaction {} reverted", receipt.transaction_hash);
    let output = built.estimated_outputs.first().ok_or_eyre("a build has outputs")?;
    println!("{} of {} for {} gas", output.expected_amount, output.token, receipt.gas_used);
    Ok(())
}
