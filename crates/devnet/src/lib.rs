//! A local Ethereum chain with the real protocol contracts, for the demo and the tests.
