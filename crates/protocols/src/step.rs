//! The bytes of a step in the proxy's program (`docs/program.md`, section 2).

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
    /// Whether the output can be sent to anyone (destinations 1 and 2), or only to the proxy.
    pub pays_anyone: bool,
    /// Whether the input can lie in the pool before the step runs, so that the step before can pay it there.
    pub prepayable: bool,
    /// Whether the proxy pays the pool straight out of what an order begins with: ether, which the step wraps by itself, and an input
    /// that a Permit2 signature moves from its owner to the pool (`docs/program.md`, sections 2 and 5).
    pub begins_straight: bool,
    /// How the pool gets its input.
    pub funding: Funding,
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
            pays_anyone: false,
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
