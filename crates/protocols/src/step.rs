//! The bytes of a step in the proxy's program (`docs/internals/program.md`, section 2).

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::SolValue;
use arrayvec::ArrayVec;

/// Maximum number of operand bytes of a step.
pub const MAX_OPERANDS: usize = 32;

/// A protocol's part of a step in the program: everything but the token indices, the share and the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCode {
    /// Opcode of the proxy's step.
    pub opcode: u8,
    /// Operands after the step's head.
    pub operands: ArrayVec<u8, MAX_OPERANDS>,
    /// Receivers that the step's contract may pay directly.
    pub receivers: Receivers,
    /// Factory and inputs of the CREATE2 address, for a pool that may be a known pool.
    pub origin: Option<Origin>,
    /// Whether the previous step can send the input to the pool in advance.
    pub prepayable: bool,
    /// Whether the proxy can pay the pool directly at the start of an order: with ether, which the step wraps itself,
    /// and with an input that a Permit2 signature moves from its owner to the pool (`docs/internals/program.md`,
    /// sections 2 and 5).
    pub begins_straight: bool,
    /// How the pool receives its input.
    pub funding: Funding,
    /// Whether the step runs after the other steps that pay its token, if it can: the proxy counts those by the growth of
    /// its balance, and this one by its own amount of a token that moves whole shares.
    pub runs_last: bool,
}

/// Receivers that a step's contract may pay. The proxy lets a contract pay the recipient only if the paid amount is
/// then known without reading the recipient's balance, which anybody can raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// The proxy (destination 0).
    Proxy,
    /// The proxy, the next step's pool (destination 2), and, for a known pool, the recipient (destination 1).
    Pools,
    /// Any of the three.
    Anyone,
}

/// A factory that deploys pools by CREATE2, as in the proxy's table (`contracts/src/Pools.sol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factory {
    /// Number of the factory in a path.
    pub number: u8,
    /// Contract that deploys the pools.
    pub deployer: Address,
    /// Keccak-256 of a pool's creation code.
    pub init_code_hash: B256,
}

impl Factory {
    /// Computes the CREATE2 address of the factory's pool of two tokens, whether it exists or not. `fee_pips` is given
    /// if the salt contains the fee.
    pub fn pool(&self, a: Address, b: Address, fee_pips: Option<u32>) -> Address {
        let (token0, token1) = (a.min(b), a.max(b));
        let salt = match fee_pips {
            None => keccak256([token0.as_slice(), token1.as_slice()].concat()),
            Some(fee) => keccak256((token0, token1, U256::from(fee)).abi_encode()),
        };
        self.deployer.create2(salt, self.init_code_hash)
    }
}

/// Factory and inputs of a pool's CREATE2 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The factory.
    pub factory: Factory,
    /// Address of the pool.
    pub pool: Address,
    /// Fee in hundredths of a basis point, if the salt contains it.
    pub fee_pips: Option<u32>,
}

impl Origin {
    /// Tells whether the pool is at the factory's CREATE2 address of two tokens: then it is a known pool.
    pub fn is_known_pool(&self, a: Address, b: Address) -> bool {
        self.factory.pool(a, b, self.fee_pips) == self.pool
    }
}

/// How a pool receives a step's input. The gas of a transaction depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funding {
    /// Transferred directly by the payer or the proxy.
    Straight,
    /// Taken from the proxy by an allowance that the step sets and the pool uses up.
    Approval,
    /// Taken from the proxy without an allowance.
    Held,
    /// Sent as ether with the call.
    Ether,
}

impl StepCode {
    /// Returns a step without operands, whose output goes to the proxy.
    pub(crate) fn bare(opcode: u8) -> Self {
        Self {
            opcode,
            operands: ArrayVec::new(),
            receivers: Receivers::Proxy,
            origin: None,
            prepayable: false,
            begins_straight: false,
            funding: Funding::Straight,
            runs_last: false,
        }
    }

    /// Appends operand bytes. Bytes beyond [`MAX_OPERANDS`] are dropped.
    pub(crate) fn with(mut self, bytes: &[u8]) -> Self {
        self.operands.extend(bytes.iter().copied().take(self.operands.remaining_capacity()));
        self
    }
}

/// Gas units of token transfers that a step's gas includes, net of refunds: a `transferFrom` of the input from an
/// allowance that it uses up, and a `transfer` of the output to an account with a balance, both plain ERC-20s touched
/// for the first time. That is two cold accounts, five cold slots rewritten from non-zero values, one of them cleared
/// (EIP-2929, EIP-2200, EIP-3529), and the tokens' own code.
///
/// The gas model of a whole transaction subtracts this and adds the transfers that really happen.
pub const TRANSFERS_GAS_UNITS: u64 = 31_300;
