//! Buys exactly an amount for as little as possible, and keeps the receipt that shows that it was the least.
//!
//! `BRAID_KEY=… PRIVATE_KEY=0x… cargo run --example exact_output PAY AMOUNT BUY FOLDER` (addresses, atomic units)
#![allow(clippy::print_stdout)]

use std::env;
use std::path::Path;

use alloy::primitives::{Address, U256};
use alloy::providers::ProviderBuilder;
use alloy::signers::local::PrivateKeySigner;
use braid_swap::{Braid, BuildRequest, QuoteRequest, wallet};
use eyre::{OptionExt as _, ensure};

#[tokio::main(flavor = "current_thread")]
async fn main() -> eyre::Result<()> {
    let mut words = env::args().skip(1);
    let mut word = || words.next().ok_or_eyre("usage: exact_output PAY AMOUNT BUY FOLDER");
    let (pay, amount, buy) = (word()?.parse::<Address>()?, word()?.parse::<U256>()?, word()?.parse::<Address>()?);
    let folder = word()?;
    let signer: PrivateKeySigner = env::var("PRIVATE_KEY")?.parse()?;
    let provider = ProviderBuilder::new().wallet(signer.clone()).connect(&env::var("RPC_URL")?).await?;
    let braid = Braid::new(env::var("BRAID_API")?).with_key(env::var("BRAID_KEY")?);

    let mut request = QuoteRequest::new(signer.address()).pay_with(pay).buy_exactly(buy, amount);
    request.ttl_s = Some(300);
    let quote = braid.quote(&request).await?;
    let (bought, input) = quote.exact_output.as_ref().zip(quote.estimated_inputs.first()).ok_or_eyre("a purchase")?;
    println!("{} of {}, at most {} ({:?})", input.expected_amount, input.token, input.maximum_amount, bought.bought);
    // `braid verify receipt.json --market quote.market` works all of it out again, offline
    std::fs::write(Path::new(&folder).join("receipt.json"), braid.receipt(&quote.quote_id).await?)?;
    std::fs::write(Path::new(&folder).join("quote.market"), braid.market(&quote.quote_id).await?)?;

    let signature = wallet::authorize(&braid, &provider, &signer, &quote).await?;
    let built = braid.build(&BuildRequest::new(&quote.quote_id).signed(signature).simulated()).await?;
    let receipt = wallet::send(&braid, &provider, &quote, &built).await?.get_receipt().await?;
    ensure!(receipt.status(), "the transaction {} reverted", receipt.transaction_hash);
    Ok(())
}
