//! Code that is placed over contracts to make them give wrong answers.

use braid_primitives::{Address, Bytes};

pub type Selector = [u8; 4];
pub const TRANSFER: Selector = [0xa9, 0x05, 0x9c, 0xbb];
pub const TRANSFER_FROM: Selector = [0x23, 0xb8, 0x72, 0xdd];
pub const BALANCE_OF: Selector = [0x70, 0xa0, 0x82, 0x31];
pub const GET_RESERVES: Selector = [0x09, 0x02, 0xf1, 0xac];

/// Code that delegates every call to the contract's original code, on the contract's own storage, with these
/// exceptions.
#[derive(Default)]
pub struct Layer {
    /// Calls that fail.
    pub refuses: Vec<Selector>,
    /// Calls that fail if a word of the calldata, by its offset, exceeds a number.
    pub refuses_above: Vec<(Selector, u8, u128)>,
    /// Words of the calldata, by their offset, that are reduced by a hundredth.
    pub told_less: Vec<(Selector, u8)>,
    /// Words of the calldata, by their offset, that are reduced by one unit.
    pub told_a_unit_less: Vec<(Selector, u8)>,
    /// Words of the answer, by their offset, that are reduced by a hundredth.
    pub tells_less: Vec<(Selector, u8)>,
    /// Words of the answer, by their offset, that are reduced by the seconds since a time.
    pub tells_less_since: Vec<(Selector, u8, u64)>,
}

impl Layer {
    pub fn code(&self, beneath: Address) -> Bytes {
        let mut code = Vec::new();
        for selector in &self.refuses {
            when(&mut code, selector, &[0x5f, 0x5f, 0xfd]);
        }
        for (selector, at, most) in &self.refuses_above {
            let body = revert_above(code.len() + HEAD, *at, *most);
            when(&mut code, selector, &body);
        }
        // Copies the calldata to memory.
        code.extend([0x36, 0x5f, 0x5f, 0x37]);
        for (selector, at) in &self.told_less {
            when(&mut code, selector, &less(*at));
        }
        for (selector, at) in &self.told_a_unit_less {
            when(&mut code, selector, &a_unit_less(*at));
        }
        // delegatecall(gas, beneath, 0, calldatasize, 0, 0), and the answer to memory.
        code.extend([0x5f, 0x5f, 0x36, 0x5f, 0x73]);
        code.extend(beneath);
        code.extend([0x5a, 0xf4, 0x3d, 0x5f, 0x5f, 0x3e]);
        // A failure is passed on.
        let [high, low] = u16::try_from(code.len() + 7).unwrap().to_be_bytes();
        code.extend([0x61, high, low, 0x57, 0x3d, 0x5f, 0xfd, 0x5b]);
        for (selector, at) in &self.tells_less {
            when(&mut code, selector, &less(*at));
        }
        for (selector, at, since) in &self.tells_less_since {
            when(&mut code, selector, &less_since(*at, *since));
        }
        code.extend([0x3d, 0x5f, 0xf3]);
        code.into()
    }
}

/// The number of bytes that [`when`] puts before a body.
const HEAD: usize = 16;

/// Runs a body for calls of a selector, and skips it for others.
fn when(code: &mut Vec<u8>, selector: &Selector, body: &[u8]) {
    code.extend([0x5f, 0x35, 0x60, 0xe0, 0x1c, 0x63]);
    code.extend(selector);
    let [high, low] = u16::try_from(code.len() + 6 + body.len()).unwrap().to_be_bytes();
    code.extend([0x14, 0x15, 0x61, high, low, 0x57]);
    code.extend(body);
    code.push(0x5b);
}

/// `if (calldata[at] > most) revert()`, in code that begins at this position.
fn revert_above(place: usize, at: u8, most: u128) -> Vec<u8> {
    let [high, low] = u16::try_from(place + 29).unwrap().to_be_bytes();
    // push16 most, push1 at, calldataload, gt, iszero, push2 end, jumpi, push0, push0, revert, end
    let test = [0x60, at, 0x35, 0x11, 0x15, 0x61, high, low, 0x57, 0x5f, 0x5f, 0xfd, 0x5b];
    [&[0x6f][..], &most.to_be_bytes(), &test].concat()
}

/// `memory[at] = memory[at] * 99 / 100`
fn less(at: u8) -> [u8; 13] {
    [0x60, at, 0x51, 0x60, 99, 0x02, 0x60, 100, 0x90, 0x04, 0x60, at, 0x52]
}

/// `memory[at] = memory[at] - (now - since)`
fn less_since(at: u8, since: u64) -> Vec<u8> {
    // push8 since, timestamp, sub: now - since; push1 at, mload, sub; push1 at, mstore
    [&[0x67][..], &since.to_be_bytes(), &[0x42, 0x03, 0x60, at, 0x51, 0x03, 0x60, at, 0x52]].concat()
}

/// `memory[at] = memory[at] - 1`
fn a_unit_less(at: u8) -> [u8; 9] {
    [0x60, 1, 0x60, at, 0x51, 0x03, 0x60, at, 0x52]
}
