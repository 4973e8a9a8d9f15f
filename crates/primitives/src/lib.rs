//! The shared vocabulary of Braid: tokens, pools, blocks, routes, quotes. No I/O, no clock.
