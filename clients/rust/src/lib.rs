//! A client of Braid, a swap router for Ethereum: ask for a quote, approve or sign, build, send.
//!
//! ```no_run
//! # use braid_swap::{Braid, BuildRequest, QuoteRequest, wallet};
//! # use alloy::{primitives::{U256, address}, providers::{Provider, ProviderBuilder}, signers::local::PrivateKeySigner};
//! # async fn five_lines() -> Result<(), Box<dyn std::error::Error>> {
//! # let (usdc, weth) = (address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"), address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"));
//! let signer: PrivateKeySigner = std::env::var("PRIVATE_KEY")?.parse()?;
//! let provider = ProviderBuilder::new().wallet(signer.clone()).connect("http://127.0.0.1:8545").await?;
//! let braid = Braid::new("http://127.0.0.1:8080").with_key("demo-key");
//!
//! let quote = braid.quote(&QuoteRequest::new(signer.address()).sell(usdc, U256::from(1_000_000_000)).buy(weth, 10_000)).await?;
//! let signature = wallet::authorize(&braid, &provider, &signer, &quote).await?;
//! let built = braid.build(&BuildRequest::new(&quote.quote_id).signed(signature).simulated()).await?;
//! let pending = wallet::send(&braid, &provider, &quote, &built).await?;
//! let receipt = pending.get_receipt().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Amounts are integers in atomic units. Every failure is an [`Error`]; what the service says is wrong is its
//! [`Problem`], with a stable [`Code`] and every wrong field.

mod client;
mod error;
mod permit2;
#[cfg(feature = "wallet")]
mod proxy;
mod request;
mod response;
#[cfg(feature = "wallet")]
pub mod wallet;

pub use client::Braid;
pub use error::{Code, Error, FieldError, Problem};
pub use permit2::{SigningError, Terms};
pub use request::{BuildRequest, GasTier, Input, Output, PartnerFee, QuoteRequest};
pub use response::*;

use alloy_primitives::{Address, address};

/// Stands for native ether wherever the API takes a token.
pub const ETHER: Address = address!("EeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE");
