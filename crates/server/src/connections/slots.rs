//! Limits connections in all and per address, and evicts idle ones for new ones.
//!
//! At a limit, a new connection evicts the one that has been idle longest: of the same address at the limit per address, of
//! the address with the most connections otherwise. If none is idle, a few further slots accept new connections, which may
//! only ask for health and metrics.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::state::{ClientTimeouts, ConnectionState, Ending};

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Most connections in all.
    pub total: usize,
    /// Most connections from one address (for IPv6: one /64) that is not a trusted proxy.
    pub per_address: usize,
    /// Timeouts of clients.
    pub timeouts: ClientTimeouts,
}

/// Slots beyond the limits, for requests of health and metrics.
pub(super) const HEALTH_SLOTS: usize = 32;

/// The open connections.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) limits: ConnectionLimits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// Open connections by address and id, without evicted ones.
    by_address: HashMap<IpAddr, HashMap<u64, Arc<ConnectionState>>>,
    total: usize,
}

/// A connection's slot, free when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    address: IpAddr,
    pub(super) state: Arc<ConnectionState>,
    /// True if the connection is beyond the limits.
    pub(super) health_only: bool,
}

impl Slots {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Takes a slot for a connection. `is_limited` applies the limit per address.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr, is_limited: bool) -> Slot {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.by_address.get(&address).map_or(0, HashMap::len);
        let crowded = if is_limited && own >= self.limits.per_address {
            Some(Some(address))
        } else {
            (open.total >= self.limits.total).then_some(None)
        };
        let health_only = crowded.is_some_and(|address| !open.evict(address));
        let id = open.next;
        open.next += 1;
        let state = Arc::new(ConnectionState::default());
        open.by_address.entry(address).or_default().insert(id, Arc::clone(&state));
        open.total += 1;
        Slot { slots: Arc::clone(self), id, address, state, health_only }
    }

    /// Evicts the longest idle connection of the address with the most.
    pub(super) fn make_room(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).evict(None);
    }

    /// Ends the connections whose clients are too slow.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for state in open.by_address.values().flat_map(HashMap::values) {
            state.end_if_overdue(now, &self.limits.timeouts);
        }
    }
}

impl Open {
    /// Evicts the longest idle connection, of one address or of the address with the most. Returns `false` if none is idle.
    fn evict(&mut self, only: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let addresses = self.by_address.iter().filter(|(address, _)| only.is_none_or(|only| only == **address));
        let waiting = addresses.flat_map(|(address, states)| {
            let rank = move |(id, state): (&u64, &Arc<ConnectionState>)| {
                Some((Reverse(states.len()), state.idle_since(now)?, *id, *address))
            };
            states.iter().filter_map(rank)
        });
        let Some((_, _, id, address)) = waiting.min() else { return false };
        if let Some(state) = self.remove(address, id) {
            state.end(Ending::Evicted);
        }
        true
    }

    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Arc<ConnectionState>> {
        let states = self.by_address.get_mut(&address)?;
        let state = states.remove(&id)?;
        if states.is_empty() {
            self.by_address.remove(&address);
        }
        self.total -= 1;
        Some(state)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(self.address, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::state::Phase;
    use std::time::Duration;

    fn slots(total: usize, per_address: usize) -> Arc<Slots> {
        let second = Duration::from_secs(1);
        let timeouts = ClientTimeouts { idle: second, head: second, answer: second };
        Slots::new(ConnectionLimits { total, per_address, timeouts })
    }

    fn address(n: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, n])
    }

    fn is_over(slot: &Slot) -> bool {
        slot.state.idle_since(Instant::now()).is_none()
    }

    #[test]
    fn the_one_that_waits_longest_gives_way_within_an_address_with_too_many() {
        let slots = slots(10, 2);
        let other = slots.take(address(2), true);
        let first = slots.take(address(1), true);
        let second = slots.take(address(1), true);
        first.state.read();
        let third = slots.take(address(1), true);
        assert_eq!([&other, &first, &second, &third].map(is_over), [false, false, true, false]);
        drop(second);
        assert!(!third.health_only);
        // A trusted proxy may have any number of connections up to the total.
        let proxy: Vec<Slot> = (0..5).map(|_| slots.take(address(3), false)).collect();
        assert!(!proxy.iter().any(is_over));
    }

    #[test]
    fn the_address_with_the_most_gives_way_where_there_are_too_many_in_all() {
        let slots = slots(3, 3);
        let lone = slots.take(address(1), true);
        let many = [slots.take(address(2), true), slots.take(address(2), true)];
        let new = slots.take(address(3), true);
        assert_eq!([&lone, &many[0], &many[1], &new].map(is_over), [false, true, false, false]);
        // While the connections of that address are at work, those of others that wait are closed.
        many[1].state.enter(Phase::Work);
        let another = slots.take(address(2), true);
        another.state.enter(Phase::Work);
        let last = slots.take(address(4), true);
        assert_eq!([another.health_only, last.health_only], [false, false]);
        assert_eq!([&lone, &new].map(is_over), [true, true]);
    }

    #[test]
    fn where_all_are_at_work_a_new_one_answers_for_health_only_until_one_is_done() {
        let slots = slots(2, 2);
        let working = [slots.take(address(1), true), slots.take(address(1), true)];
        for slot in &working {
            slot.state.enter(Phase::Work);
        }
        assert!(slots.take(address(1), true).health_only);
        assert!(slots.take(address(2), true).health_only);
        working[0].state.enter(Phase::Idle);
        assert!(!slots.take(address(2), true).health_only);
        assert_eq!(working.iter().map(is_over).collect::<Vec<_>>(), [true, true]);
        drop(working);
        assert_eq!(slots.open.lock().unwrap().total, 0);
    }

    #[test]
    fn each_phase_has_its_timeouts() {
        let timeouts = ClientTimeouts {
            idle: Duration::from_secs(75),
            head: Duration::from_secs(10),
            answer: Duration::from_secs(20),
        };
        let rows = [
            (Phase::Idle, 75),
            (Phase::Head, 10),
            (Phase::Answer, 20),
            (Phase::Body, u64::MAX),
            (Phase::Work, u64::MAX),
        ];
        for (phase, most) in rows {
            for seconds in [5, 15, 30, 100] {
                let state = ConnectionState::default();
                state.enter(phase);
                state.end_if_overdue(Instant::now() + Duration::from_secs(seconds), &timeouts);
                let ended =
                    state.idle_since(Instant::now() + Duration::from_secs(200)).is_none() && phase != Phase::Work;
                assert_eq!(ended, seconds >= most, "{phase:?} after {seconds} s");
            }
        }
    }
}
