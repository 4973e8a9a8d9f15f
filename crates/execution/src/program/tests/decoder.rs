//! A decoder of programs that follows section 2 of `docs/internals/program.md`, byte by byte.

use braid_primitives::Address;

use crate::Order;

#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) tokens: Vec<Address>,
    pub(super) steps: Vec<DecodedStep>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedStep {
    pub(super) opcode: u8,
    pub(super) to: u8,
    pub(super) token_in: usize,
    pub(super) token_out: usize,
    pub(super) share: u32,
    pub(super) pool: Option<Address>,
    pub(super) fee_bps: Option<u16>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> &'a [u8] {
        assert!(self.0.len() >= size, "the program is cut short");
        let (head, rest) = self.0.split_at(size);
        self.0 = rest;
        head
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn address(&mut self) -> Address {
        Address::from_slice(self.take(20))
    }
}

pub(super) fn decode(order: &Order, program: &[u8]) -> Decoded {
    let mut reader = Reader(program);
    let mut tokens: Vec<Address> = order.tokens().collect();
    for _ in 0..reader.byte() {
        tokens.push(reader.address());
    }
    let mut steps = Vec::new();
    while !reader.0.is_empty() {
        let (opcode, to) = (reader.byte(), reader.byte());
        let (token_in, token_out) = (usize::from(reader.byte()), usize::from(reader.byte()));
        let share = u32::from_be_bytes(reader.take(4).try_into().unwrap());
        let (pool, fee_bps) = match opcode {
            0x01 | 0x02 => (None, None),
            0x10 => (Some(reader.address()), Some(u16::from_be_bytes(reader.take(2).try_into().unwrap()))),
            0x11 => (Some(reader.address()), None),
            other => panic!("opcode {other:#x}"),
        };
        assert!(token_in < tokens.len() && token_out < tokens.len() && to <= 2);
        steps.push(DecodedStep { opcode, to, token_in, token_out, share, pool, fee_bps });
    }
    Decoded { tokens, steps }
}
