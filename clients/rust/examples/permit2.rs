//! Shows what a signature would allow before it is made, then swaps by it.
//!
//! `BRAID_KEY=… PRIVATE_KEY=0x… cargo run --example permit2 SELL AMOUNT BUY`
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
    let mut word = || words.next().ok_or_eyre("usage: permit2 SELL AMOUNT BUY");
    let (sell, amount, buy) = (word()?.parse::<Address>()?, word()?.parse::<U256>()?, word()?.parse::<Address>()?);
    let signer: PrivateKeySigner = env::var("PRIVATE_KEY")?.parse()?;
    let provider = ProviderBuilder::new().wallet(signer.clone()).connect(&env::var("RPC_URL")?).await?;
    let braid = Braid::new(env::var("BRAID_API")?).with_key(env::var("BRAID_KEY")?);

    let quote = braid.quote(&QuoteRequest::new(signer.address()).sell(sell, amount).buy(buy, 10_000)).await?;
    let permit2 = quote.permit2.as_ref().ok_or_eyre("ether needs no signature")?;
    let terms = permit2.terms()?;
    for (token, amount) in &terms.pays {
        println!("pays {amount} of {token}");
    }
    for (token, minimum) in &terms.minimums {
        println!("{} gets at least {minimum} of {token}", terms.recipient);
    }
    ensure!(terms.recipient == signer.address() && terms.pays == [(sell, amount)], "this is not what was asked for");

    wallet::approve(&braid, &provider, &permit2.approvals).await?;
    let signature = wallet::sign(&braid, &signer, permit2).await?;
    let built = braid.build(&BuildRequest::new(&quote.quote_id).signed(Some(signature))).await?;
    let receipt = wallet::send(&braid, &provider, &quote, &built).await?.get_receipt().await?;
    ensure!(receipt.status(), "the transaction {} reverted", receipt.transaction_hash);
    println!("swapped by {} in {}", built.authorization, receipt.transaction_hash);
    Ok(())
}
