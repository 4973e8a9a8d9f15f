//! What is kept on disk, and what happens when the disk is full, slow or gone.
#![allow(clippy::unwrap_used, clippy::panic)]

mod keys;
mod quotes;
