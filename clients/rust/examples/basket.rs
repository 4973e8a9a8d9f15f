//! Sells several tokens for several others in one transaction, after comparing what each gas tier would cost.
//!
//! `BRAID_KEY=… PRIVATE_KEY=0x… cargo run --example basket 0xSELL:AMOUNT … 0xBUY=BPS …` (the shares sum to 10,000)
#![allow(clippy::print_stdout)]

use std::env;

use alloy::providers::ProviderBuilder;
use alloy::signers::local::PrivateKeySigner;
use braid_swap::{Braid, BuildRequest, GasTier, QuoteRequest, wallet};
use eyre::{ensure, eyre};

#[tokio::main(flavor = "current_thread")]
async fn main() -> eyre::Result<()> {
    let signer: PrivateKeySigner = env::var("PRIVATE_KEY")?.parse()?;
    let provider = ProviderBuilder::new().wallet(signer.clone()).connect(&env::var("RPC_URL")?).await?;
    let braid = Braid::new(env::var("BRAID_API")?).with_key(env::var("BRAID_KEY")?);
    let mut request = QuoteRequest::new(signer.address());
    for word in env::args().skip(1) {
        request = match (word.split_once(':'), word.split_once('=')) {
            (Some((token, amount)), None) => request.sell(token.parse()?, amount.parse()?),
            (None, Some((token, bps))) => request.buy(token.parse()?, bps.parse()?),
            _ => return Err(eyre!("{word}: expected 0xSELL:AMOUNT or 0xBUY=BPS")),
        };
    }

    for tier in [GasTier::Slow, GasTier::Standard, GasTier::Fast, GasTier::Urgent] {
        request.gas_priority = Some(tier);
        let costs = braid.quote(&request).await?.costs;
        println!("{tier:?}: {} wei for gas, at most {}", costs.gas_cost_wei, costs.max_gas_cost_wei);
    }

    request.gas_priority = None;
    let quote = braid.quote(&request).await?;
    for output in &quote.estimated_outputs {
        let share_bps = output.realized_ratio_bps.unwrap_or_default();
        println!("{}: {}, {share_bps} bps of the value", output.symbol, output.expected_amount);
    }
    let signature = wallet::authorize(&braid, &provider, &signer, &quote).await?;
    let built = braid.build(&BuildRequest::new(&quote.quote_id).signed(signature)).await?;
    let receipt = wallet::send(&braid, &provider, &quote, &built).await?.get_receipt().await?;
    ensure!(receipt.status(), "the transaction {} reverted", receipt.transaction_hash);
    println!("swapped in {}", receipt.transaction_hash);
    Ok(())
}
