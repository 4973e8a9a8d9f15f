//! Checks the tokens that a service names against their contracts, so that amounts use the decimals of the chain.

use alloy::network::TransactionBuilder as _;
use alloy::providers::Provider as _;
use alloy::rpc::types::TransactionRequest;
use alloy::sol_types::{SolCall as _, sol};
use braid_primitives::{NATIVE_ETHER, U256};
use eyre::Result;

use crate::chain::Chain;
use crate::exit::{Exit, Failed};
use crate::tokens::Sides;

sol! {
    #![sol(alloy_sol_types = alloy::sol_types)]

    function decimals() external view returns (uint256);
}

/// Refuses tokens that have no contract on the chain, or other decimals there.
pub(super) async fn check(chain: &Chain, sides: &Sides) -> Result<()> {
    for token in sides.tokens().filter(|token| token.address != NATIVE_ETHER) {
        let call = TransactionRequest::default().with_to(token.address).with_input(decimalsCall {}.abi_encode());
        let answer = chain.ask(async { chain.provider.call(call).await }).await?;
        let (symbol, address, host) = (&token.symbol, token.address.to_checksum(None), &chain.host);
        let wrong = match decimalsCall::abi_decode_returns(&answer) {
            Ok(decimals) if decimals == U256::from(token.decimals) => continue,
            Ok(decimals) => format!("with {} decimals, and its contract has {decimals}", token.decimals),
            // an address without code returns no data
            Err(_) => format!("and no token's contract is there on the chain of {host}"),
        };
        let text = format!("the service names {symbol} at {address} {wrong}: nothing was signed");
        return Err(Failed::new(Exit::Disagrees, text).into());
    }
    Ok(())
}
