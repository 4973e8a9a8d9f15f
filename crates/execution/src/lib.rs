//! From a route to an order, a program, approvals and fees: everything the proxy needs. Pure.
