//! Tests of the follower on a real local chain with the real contracts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation, clippy::print_stdout)]

mod acts;
mod answers;
mod behind;
mod buffers;
mod faults;
mod floods;
mod following;
mod hiccups;
mod lending;
mod lists;
mod nodes;
mod providers;
mod proxy;
mod reading;
mod restarting;
mod snapshots;
mod standin;
mod support;
mod surviving;
mod unreadable;
mod wire;
