//! Tests of the files on disk, and of a disk that is full, slow or gone.
#![allow(clippy::unwrap_used, clippy::panic)]

mod keys;
mod quotes;
