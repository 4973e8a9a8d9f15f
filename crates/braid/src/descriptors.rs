//! The system's limit of open files and connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Requested limit of descriptors: more than the service needs.
const WANTED: u64 = 65_536;

/// Descriptors reserved for files, nodes and other things than clients; of few descriptors about a quarter.
const RESERVED: u64 = 256;

/// Raises the limit of open files as far as the process may, and returns the number of client connections that it allows.
pub(crate) fn room_for_connections() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = maximum.unwrap_or(WANTED).min(WANTED);
    let mut open = current.unwrap_or(u64::MAX);
    if open < raised && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok() {
        open = raised;
    }
    room(open)
}

fn room(descriptors: u64) -> usize {
    let room = descriptors.saturating_sub(RESERVED.min(descriptors / 4 + 32)).max(1);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_never_get_the_last_descriptors() {
        assert_eq!([room(0), room(64), room(256), room(1_024), room(65_536)], [1, 16, 160, 768, 65_280]);
    }
}
