pub mod bytecode;
pub mod chain;
pub mod random;
pub mod v3;
