//! From a market and a request to a route and a certificate. Pure: no I/O, no clock, no randomness.
