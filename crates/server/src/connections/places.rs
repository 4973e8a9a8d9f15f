//! How many connections there may be, in all and from one address, and whose is given up for a new one.
//!
//! A new connection always finds a place while others wait for their clients: the one that has waited longest gives way, of the
//! same address where that has too many, of the address with the most otherwise. Where all are at work, a few spare places take
//! new connections, on which only questions after the service's health are answered.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::link::{Ending, Link, Patience};

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// In all.
    pub total: usize,
    /// From one address (of IPv6: one /64), trusted proxies aside.
    pub per_address: usize,
    /// How long a client may take.
    pub patience: Patience,
}

/// Places beyond the limits, for questions after the service's health.
pub(super) const SPARE: usize = 32;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) limits: ConnectionLimits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// Those that were evicted are no longer here.
    by_address: HashMap<IpAddr, HashMap<u64, Arc<Link>>>,
    total: usize,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    address: IpAddr,
    pub(super) link: Arc<Link>,
    /// Whether it is beyond the limits.
    pub(super) is_spare: bool,
}

impl Places {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// A place for a connection. `bounded` is whether its address may have only so many.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr, bounded: bool) -> Place {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.by_address.get(&address).map_or(0, HashMap::len);
        let crowded = if bounded && own >= self.limits.per_address {
            Some(Some(address))
        } else {
            (open.total >= self.limits.total).then_some(None)
        };
        let is_spare = crowded.is_some_and(|address| !open.evict(address));
        let id = open.next;
        open.next += 1;
        let link = Arc::new(Link::default());
        open.by_address.entry(address).or_default().insert(id, Arc::clone(&link));
        open.total += 1;
        Place { places: Arc::clone(self), id, address, link, is_spare }
    }

    /// Gives up the connection that has waited longest, of the address with the most.
    pub(super) fn make_room(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).evict(None);
    }

    /// Ends the connections whose clients have taken too long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for link in open.by_address.values().flat_map(HashMap::values) {
            link.end_if_overdue(now, &self.limits.patience);
        }
    }
}

impl Open {
    /// Gives up the connection that has waited longest: of one address, or of that with the most; `false` where all are at work.
    fn evict(&mut self, only: Option<IpAddr>) -> bool {
        let now = Instant::now();
        let addresses = self.by_address.iter().filter(|(address, _)| only.is_none_or(|only| only == **address));
        let waiting = addresses.flat_map(|(address, links)| {
            let rank = move |(id, link): (&u64, &Arc<Link>)| {
                Some((Reverse(links.len()), link.idle_since(now)?, *id, *address))
            };
            links.iter().filter_map(rank)
        });
        let Some((_, _, id, address)) = waiting.min() else { return false };
        if let Some(link) = self.remove(address, id) {
            link.end(Ending::Evicted);
        }
        true
    }

    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Arc<Link>> {
        let links = self.by_address.get_mut(&address)?;
        let link = links.remove(&id)?;
        if links.is_empty() {
            self.by_address.remove(&address);
        }
        self.total -= 1;
        Some(link)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(self.address, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connections::link::Phase;
    use std::time::Duration;

    fn places(total: usize, per_address: usize) -> Arc<Places> {
        let second = Duration::from_secs(1);
        let patience = Patience { idle: second, head: second, answer: second };
        Places::new(ConnectionLimits { total, per_address, patience })
    }

    fn address(n: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, n])
    }

    fn is_over(place: &Place) -> bool {
        place.link.idle_since(Instant::now()).is_none()
    }

    #[test]
    fn the_one_that_waits_longest_gives_way_within_an_address_with_too_many() {
        let places = places(10, 2);
        let other = places.take(address(2), true);
        let first = places.take(address(1), true);
        let second = places.take(address(1), true);
        first.link.read();
        let third = places.take(address(1), true);
        assert_eq!([&other, &first, &second, &third].map(is_over), [false, false, true, false]);
        drop(second);
        assert!(!third.is_spare);
        // a proxy that is trusted has as many as there are
        let proxy: Vec<Place> = (0..5).map(|_| places.take(address(3), false)).collect();
        assert!(!proxy.iter().any(is_over));
    }

    #[test]
    fn the_address_with_the_most_gives_way_where_there_are_too_many_in_all() {
        let places = places(3, 3);
        let lone = places.take(address(1), true);
        let many = [places.take(address(2), true), places.take(address(2), true)];
        let new = places.take(address(3), true);
        assert_eq!([&lone, &many[0], &many[1], &new].map(is_over), [false, true, false, false]);
        // where that one's are at work, whoever waits
        many[1].link.enter(Phase::Work);
        let another = places.take(address(2), true);
        another.link.enter(Phase::Work);
        let last = places.take(address(4), true);
        assert_eq!([another.is_spare, last.is_spare], [false, false]);
        assert_eq!([&lone, &new].map(is_over), [true, true]);
    }

    #[test]
    fn where_all_are_at_work_a_new_one_is_spare_until_one_is_done() {
        let places = places(2, 2);
        let working = [places.take(address(1), true), places.take(address(1), true)];
        for place in &working {
            place.link.enter(Phase::Work);
        }
        assert!(places.take(address(1), true).is_spare);
        assert!(places.take(address(2), true).is_spare);
        working[0].link.enter(Phase::Idle);
        assert!(!places.take(address(2), true).is_spare);
        assert_eq!(working.iter().map(is_over).collect::<Vec<_>>(), [true, true]);
        drop(working);
        assert_eq!(places.open.lock().unwrap().total, 0);
    }

    #[test]
    fn each_phase_has_its_patience() {
        let patience =
            Patience { idle: Duration::from_secs(75), head: Duration::from_secs(10), answer: Duration::from_secs(20) };
        let rows = [
            (Phase::Idle, 75),
            (Phase::Head, 10),
            (Phase::Answer, 20),
            (Phase::Body, u64::MAX),
            (Phase::Work, u64::MAX),
        ];
        for (phase, most) in rows {
            for seconds in [5, 15, 30, 100] {
                let link = Link::default();
                link.enter(phase);
                link.end_if_overdue(Instant::now() + Duration::from_secs(seconds), &patience);
                let ended =
                    link.idle_since(Instant::now() + Duration::from_secs(200)).is_none() && phase != Phase::Work;
                assert_eq!(ended, seconds >= most, "{phase:?} after {seconds} s");
            }
        }
    }
}
