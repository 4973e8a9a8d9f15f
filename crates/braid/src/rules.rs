//! Options of pools to follow, for the commands that read a node.

use std::collections::BTreeSet;

use braid_ethereum::{FollowerConfig, PoolRules};
use braid_primitives::{Address, PoolKey};
use braid_protocols::Product;
use eyre::Result;

use crate::exit::usage;

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Pools")]
pub(crate) struct RuleArgs {
    /// First block of the pool discovery. By default each factory's deployment
    #[arg(long, env = "BRAID_START_BLOCK", value_name = "NUMBER")]
    start_block: Option<u64>,
    #[command(flatten)]
    floor: FloorArgs,
    /// Exclude every pool of this token; may be given several times
    #[arg(long = "deny-token", env = "BRAID_DENY_TOKENS", value_name = "ADDRESS", value_delimiter = ',', value_parser = crate::address::parse)]
    deny_tokens: Vec<Address>,
    /// Exclude this pool: its contract's address, followed by a slash and the pool's id if the contract holds many
    /// pools; may be given several times
    #[arg(long = "deny-pool", env = "BRAID_DENY_POOLS", value_name = "POOL", value_delimiter = ',')]
    deny_pools: Vec<PoolKey>,
    /// Exclude this protocol or product (uniswap, uniswap_v2, …); may be given several times
    #[arg(long = "deny-protocol", env = "BRAID_DENY_PROTOCOLS", value_name = "NAME", value_delimiter = ',')]
    deny_protocols: Vec<String>,
    /// Include only pools whose tokens are all allowed; ether always is. May be given several times
    #[arg(long = "allow-token", env = "BRAID_ALLOW_TOKENS", value_name = "ADDRESS", value_delimiter = ',', value_parser = crate::address::parse)]
    allow_tokens: Vec<Address>,
    /// Include this pool whatever the other options say; may be given several times
    #[arg(long = "allow-pool", env = "BRAID_ALLOW_POOLS", value_name = "POOL", value_delimiter = ',')]
    allow_pools: Vec<PoolKey>,
    /// Include only this protocol or product; may be given several times
    #[arg(long = "allow-protocol", env = "BRAID_ALLOW_PROTOCOLS", value_name = "NAME", value_delimiter = ',')]
    allow_protocols: Vec<String>,
    /// Add an unlisted ERC-4626 vault. It is modelled if its own answers reveal its rule, and quoted once the EVM
    /// agrees; may be given several times
    #[arg(long = "vault", env = "BRAID_VAULTS", value_name = "ADDRESS", value_delimiter = ',', value_parser = crate::address::parse)]
    vaults: Vec<Address>,
    /// Add ERC-4626 vaults that are seen to trade, at most 256, as if `--vault` named them. Each is read at every block
    #[arg(long, env = "BRAID_FIND_VAULTS")]
    find_vaults: bool,
}

/// The floor of pools, also for the commands that read a node's market once.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FloorArgs {
    /// Exclude ether pools that hold less ether than this; 0 includes all
    #[arg(help_heading = "Pools", long, env = "BRAID_MIN_ETHER", value_name = "ETHER", default_value_t = 0.1,
          value_parser = parse_ether)]
    min_ether: f64,
}

impl FloorArgs {
    /// Returns the settings of a follower of all products with this floor.
    pub(crate) fn follower(self) -> FollowerConfig {
        let rules = PoolRules { min_ether: self.min_ether, ..PoolRules::default() };
        FollowerConfig { rules, ..FollowerConfig::default() }
    }
}

/// Most vaults in options: each is read at every block.
const MAX_VAULTS: usize = 256;

fn parse_ether(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ether) if ether.is_finite() && ether >= 0.0 => Ok(ether),
        _ => Err("expected an amount of ether, for instance 0.5".into()),
    }
}

impl RuleArgs {
    /// Returns a follower's settings with these rules.
    pub(crate) fn follower(&self) -> Result<FollowerConfig> {
        let (denied, allowed) = (products(&self.deny_protocols)?, products(&self.allow_protocols)?);
        let followed = |product: &&Product| {
            !denied.contains(product) && (self.allow_protocols.is_empty() || allowed.contains(product))
        };
        let products: Vec<Product> = Product::ALL.iter().filter(followed).copied().collect();
        if products.is_empty() {
            return Err(usage("no protocol is left to follow: see --deny-protocol and --allow-protocol"));
        }
        let rules = PoolRules {
            min_ether: self.floor.min_ether,
            deny_tokens: self.deny_tokens.iter().copied().collect(),
            deny_pools: self.deny_pools.iter().copied().collect(),
            allow_tokens: self.allow_tokens.iter().copied().collect(),
            allow_pools: self.allow_pools.iter().copied().collect(),
        };
        let vaults: BTreeSet<Address> = self.vaults.iter().copied().collect();
        if vaults.len() > MAX_VAULTS {
            let count = vaults.len();
            return Err(usage(format!(
                "{count} vaults are named, and at most {MAX_VAULTS} can be: name fewer with --vault"
            )));
        }
        if self.guesses_vaults() && !products.iter().any(|product| product.takes_names()) {
            return Err(usage(
                "--vault and --find-vaults take ERC-4626 vaults, which --deny-protocol or --allow-protocol leaves out: follow erc4626",
            ));
        }
        Ok(FollowerConfig {
            products,
            start_block: self.start_block,
            rules,
            vaults,
            find_vaults: self.find_vaults,
            ..FollowerConfig::default()
        })
    }

    /// Returns whether unlisted vaults are followed.
    pub(crate) fn guesses_vaults(&self) -> bool {
        self.find_vaults || !self.vaults.is_empty()
    }
}

fn products(names: &[String]) -> Result<Vec<Product>> {
    let mut products = Vec::new();
    for name in names {
        let named = Product::named(name);
        if named.is_empty() {
            let known: Vec<&str> = Product::ALL.iter().map(|product| product.id()).collect();
            return Err(usage(format!("there is no protocol {name:?}; there are {}", known.join(", "))));
        }
        products.extend(named);
    }
    Ok(products)
}
