//! Helpers that several measurements share.

use std::time::Duration;

/// Returns a quantile of sorted times.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the list")]
pub(crate) fn quantile(sorted: &[Duration], part: f64) -> Duration {
    let at = (sorted.len().saturating_sub(1) as f64 * part) as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// Returns a quantile of sorted times, in milliseconds.
pub(crate) fn ms(sorted: &[Duration], part: f64) -> f64 {
    quantile(sorted, part).as_secs_f64() * 1e3
}

/// Reads the resident memory of a process (a number, or `self`), in KiB; `None` if the system does not report it.
pub(crate) fn resident_kib(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}
