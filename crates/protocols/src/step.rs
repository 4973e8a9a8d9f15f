//! The bytes of a step in the proxy's program (`docs/internals/program.md`, section 2).

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::SolValue;
use arrayvec::ArrayVec;

/// The most operand bytes that any step has.
pub const MAX_OPERANDS: usize = 32;

/// What a protocol contributes to a step of the program: all but the token indices, the share and the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCode {
    /// Which step the proxy runs.
    pub opcode: u8,
    /// What follows the step's head.
    pub operands: ArrayVec<u8, MAX_OPERANDS>,
    /// Whom the step's contract may pay.
    pub receivers: Receivers,
    /// The factory that vouches for the pool, if it stands at the address that follows from its coins.
    pub origin: Option<Origin>,
    /// Whether the input can lie in the pool before the step runs, so that the step before can pay it there.
    pub prepayable: bool,
    /// Whether the proxy pays the pool straight out of what an order begins with: ether, which the step wraps by itself, and an input
    /// that a Permit2 signature moves from its owner to the pool (`docs/internals/program.md`, sections 2 and 5).
    pub begins_straight: bool,
    /// How the pool gets its input.
    pub funding: Funding,
}

/// Whom a step's contract may pay. The proxy lets a contract pay the recipient only if what it pays is then known without a look at
/// the recipient's balance, which others can raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// The proxy (destination 0).
    Proxy,
    /// The proxy, the next step's pool (destination 2), and, where its factory vouches for the pool, the recipient (destination 1).
    Pools,
    /// Any of the three.
    Anyone,
}

/// A factory that deploys pools by CREATE2, as the proxy knows it (`contracts/src/Pools.sol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factory {
    /// Its number in a path.
    pub number: u8,
    /// Deploys the pools.
    pub deployer: Address,
    /// Keccak hash of a pool's creation code.
    pub init_code_hash: B256,
}

impl Factory {
    /// Where the factory's pool of two tokens stands if there is one; `fee_pips` where the fee is part of the address.
    pub fn pool(&self, a: Address, b: Address, fee_pips: Option<u32>) -> Address {
        let (token0, token1) = (a.min(b), a.max(b));
        let salt = match fee_pips {
            None => keccak256([token0.as_slice(), token1.as_slice()].concat()),
            Some(fee) => keccak256((token0, token1, U256::from(fee)).abi_encode()),
        };
        self.deployer.create2(salt, self.init_code_hash)
    }
}

/// Where a pool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The factory.
    pub factory: Factory,
    /// The pool itself.
    pub pool: Address,
    /// The fee in millionths, where it is part of the address.
    pub fee_pips: Option<u32>,
}

impl Origin {
    /// Whether the factory's pool of two tokens is this one.
    pub fn vouches(&self, a: Address, b: Address) -> bool {
        self.factory.pool(a, b, self.fee_pips) == self.pool
    }
}

/// How a pool gets a step's input: what the gas of a whole transaction depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Funding {
    /// Straight from whoever has it, the payer or the proxy.
    Straight,
    /// From the proxy, by an allowance that the step gives and the pool uses up.
    Approval,
    /// It lies at the proxy, and the pool takes it there without an allowance.
    Held,
    /// Ether, along with the call.
    Ether,
}

impl StepCode {
    /// A step without operands, whose output comes to the proxy.
    pub(crate) fn bare(opcode: u8) -> Self {
        Self {
            opcode,
            operands: ArrayVec::new(),
            receivers: Receivers::Proxy,
            origin: None,
            prepayable: false,
            begins_straight: false,
            funding: Funding::Straight,
        }
    }

    /// The same step with these bytes after the operands that it has; bytes beyond [`MAX_OPERANDS`] are not taken.
    pub(crate) fn with(mut self, bytes: &[u8]) -> Self {
        self.operands.extend(bytes.iter().copied().take(self.operands.remaining_capacity()));
        self
    }
}

/// What a pool's gas per step counts for moving tokens, net of refunds: `transferFrom` of the input out of an allowance that is
/// used up, and `transfer` of the output to someone who has some already, both plain ERC-20s that the transaction touches for
/// the first time. Two cold accounts, five cold slots written from something to something, one of them cleared
/// (EIP-2929, EIP-2200, EIP-3529), and the tokens' own work.
///
/// A model of a whole transaction takes this off and counts the transfers that really happen.
pub const TRANSFERS_GAS_UNITS: u64 = 31_300;
