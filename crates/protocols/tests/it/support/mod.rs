pub mod aave;
pub mod assets;
pub mod balancer_v3;
pub mod bytecode;
pub mod chain;
pub mod morpho;
pub mod random;
pub mod v3;
