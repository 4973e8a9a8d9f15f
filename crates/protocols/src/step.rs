//! The bytes of a step in the proxy's program (`docs/program.md`, section 2).

use arrayvec::ArrayVec;

use crate::{Pool, PoolState, balancer, curve, erc4626, fluid, lido, uniswap_v2, uniswap_v3, wrapped_ether};

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

impl Pool {
    /// The step's code for a trade of coin `coin_in` for coin `coin_out` of this pool.
    pub fn step_code(&self, coin_in: u8, coin_out: u8) -> StepCode {
        match &self.state {
            PoolState::WrappedEther => wrapped_ether::step_code(coin_in),
            PoolState::UniswapV2(state) => uniswap_v2::step_code(self.address, state.fee_bps),
            PoolState::UniswapV3(_) => uniswap_v3::step_code(self.address),
            PoolState::BalancerV2(state) => balancer::v2::step_code(state.pool_id),
            PoolState::BalancerV3(_) => balancer::v3::step_code(self.address),
            PoolState::BalancerV3Buffer(state) => balancer::v3::step_code(state.wrapped),
            PoolState::Curve(state) => curve::step_code(self.address, state, coin_in, coin_out),
            PoolState::Erc4626(_) | PoolState::Metamorpho(_) | PoolState::FluidFToken(_) | PoolState::VaultV2(_) => {
                erc4626::step_code(coin_in)
            }
            PoolState::Lido(_) => lido::step_code(self.product, coin_in),
            PoolState::FluidDexT1(state) => fluid::dex::step_code(self.address, state, coin_in),
        }
    }
}

impl StepCode {
    /// Whether the proxy pays the pool straight out of what an order begins with: ether, which the step wraps by itself, and an input
    /// that a Permit2 signature moves from its owner to the pool (`docs/program.md`, sections 2 and 5).
    pub fn begins_straight(&self) -> bool {
        matches!(self.opcode, uniswap_v2::OPCODE | uniswap_v3::OPCODE)
    }

    /// A step without operands, whose output comes to the proxy.
    pub(crate) fn bare(opcode: u8) -> Self {
        Self { opcode, operands: ArrayVec::new(), pays_anyone: false, prepayable: false, funding: Funding::Straight }
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
