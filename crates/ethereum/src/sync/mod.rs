//! Keeps the market at the node's head: the first market, every block after it, missed blocks and reorganisations.

mod activity;
mod advance;
mod background;
mod boot;
mod compare;
mod gaps;
mod grow;
mod join;
mod journal;
mod missed;
mod named;
mod reorganise;
mod resume;
mod sample;
mod synchronizer;

pub(crate) use background::Found;
pub(crate) use synchronizer::Synchronizer;
