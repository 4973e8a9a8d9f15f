//! Balancer V3's own vault with the contracts that it needs, and the filler that calls it within sessions.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::SolValue;
use braid_protocols::balancer::v3::VAULT;

use super::{
    bytecode,
    chain::{Chain, OWNER},
};

/// The authorizer, whose default administrator is [`OWNER`].
pub const AUTHORIZER: Address = address!("A331D84eC860Bf466b4CdCcFb4aC09a1B43F3aE6");
const EXTENSION: Address = address!("0E8B07657D719B86e06bF0806D6729e3D528C9A9");
const ADMIN: Address = address!("35fFB749B273bEb20F40f35EdeB805012C539864");
const CONTROLLER: Address = address!("000000000000000000000000000000000000FEE3");

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// The contract that puts the first coins into pools and buffers, and trades.
pub const FILLER: Address = address!("000000000000000000000000000000000000F111");

/// The pause window and the buffer period, in seconds.
pub const WINDOWS_SECONDS: [u64; 2] = [126_144_000, 7_776_000];

/// Returns hundredths with 18 decimals.
pub fn wad(hundredths: u64) -> U256 {
    U256::from(hundredths) * U256::from(10).pow(U256::from(16))
}

/// Places Multicall3, which returns the block's timestamp, the vault and its extensions, its authorizer, which
/// [`OWNER`] owns, its fee controller, and the filler.
pub fn place_vault(chain: &mut Chain) {
    chain.set_code(MULTICALL3, bytecode::runtime("Multicall3"));
    chain.place(AUTHORIZER, "BalancerV2Authorizer", &OWNER.abi_encode());
    let windows = WINDOWS_SECONDS.map(U256::from);
    let least = (U256::from(1_000_000), U256::from(10_000));
    let admin = (VAULT, windows[0], windows[1], least.0, least.1);
    chain.place(ADMIN, "BalancerV3VaultAdmin", &admin.abi_encode());
    chain.place(CONTROLLER, "BalancerV3ProtocolFeeController", &(VAULT, wad(50), wad(10)).abi_encode());
    chain.place(EXTENSION, "BalancerV3VaultExtension", &(VAULT, ADMIN).abi_encode());
    chain.place(VAULT, "BalancerV3Vault", &(EXTENSION, AUTHORIZER, CONTROLLER).abi_encode());
    chain.place(FILLER, "BalancerV3Filler", &[]);
}
