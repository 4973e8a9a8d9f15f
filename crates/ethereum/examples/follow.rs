//! Follows a node and says each head: `cargo run -p braid-ethereum --example follow -- ws://127.0.0.1:8545`
#![allow(clippy::print_stdout)]

use braid_ethereum::{Follower, FollowerConfig, Node};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8545".into());
    let node = Node::connect(&url).await?;
    let mut follower = Follower::spawn(node.clone(), FollowerConfig::default());
    while follower.heads.changed().await.is_ok() {
        let Some(head) = follower.heads.borrow_and_update().clone() else { continue };
        let (block, pools, fees) = (head.block(), head.market.pools().len(), head.fees);
        println!("{} {} pools {pools} fees {fees:?} traffic {:?}", block.number, block.hash, node.traffic());
    }
    Ok(())
}
