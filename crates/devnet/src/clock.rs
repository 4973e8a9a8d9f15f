//! The wall clock, which this crate reads only here.

/// Returns the seconds since the Unix epoch; 0 if the machine's clock is set to a time before it.
#[allow(clippy::disallowed_methods, reason = "the rim: a local chain's blocks carry the real time")]
pub(crate) fn unix_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
