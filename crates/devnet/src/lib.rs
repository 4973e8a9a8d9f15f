//! A local Ethereum chain with the real protocol contracts, for the demo and the tests.
//!
//! [`Devnet::start`] starts a node with chain id 1 on a loopback port, for http and websocket. Contracts and tokens are
//! at their **mainnet addresses**, so software written for mainnet runs against it unchanged:
//!
//! - real code of most protocols, and stand-ins where it cannot be had (`docs/internals/local-chain.md` lists both);
//! - our own tokens, which behave like the real ones ([`tokens::TOKENS`]);
//! - a market of pools with prices like mainnet's ([`world::pools::POOLS`]).
//!
//! The world is built once from the npm packages pinned in `contracts/package.json` and cached as a state file in the
//! build folder. The name of the file is a hash of all its inputs, so an outdated file is never used. The node ends
//! when its owner ends, in whatever way.
//!
//! ```no_run
//! # async fn story() -> Result<(), braid_devnet::DevnetError> {
//! use braid_devnet::{Devnet, Options, accounts, tokens};
//!
//! let chain = Devnet::start(Options::default()).await?; // a free port, a block per transaction
//! let usdc = tokens::by_symbol("USDC");
//! assert!(chain.balance_of(usdc.address, accounts::TAKER).await? > alloy::primitives::U256::ZERO);
//! println!("node at {}", chain.http_url());
//! # Ok(())
//! # }
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod abi;
pub mod accounts;
pub mod addresses;
mod cache;
mod chain;
mod clock;
mod error;
mod kit;
mod node;
pub mod process;
mod proxy;
pub mod rpc;
pub mod tokens;
pub mod world;

pub use chain::{Devnet, Options};
pub use error::DevnetError;
pub use kit::Kit;
pub use node::Mining;
pub use proxy::{ProxyArtifact, deploy_proxy};
