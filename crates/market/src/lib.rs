//! The immutable market: pools and tokens at one block, the token graph, reference prices.
