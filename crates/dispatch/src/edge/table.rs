//! All connections of clients: at most so many, and who loses one when there is no room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger::{Clock, Instant, Span, TokioTime};
use tokio::sync::Notify;

use super::phase::ConnectionPhase;

/// The share of a full table that is freed at once, so that a flood of connections does not search the
/// table for each of them.
const FREED_SHARE: usize = 64;

/// The time for which a connection may wait for its client before any other can take its place: a client that
/// works keeps its connection in any flood, and a new one gets to send its request. A connection that has brought no
/// request is not safe from a source that has fewer connections than its own.
const SAFE_TIME: Span = Span::from_secs(1);

/// The time for which a table that has no place to give is not searched again.
const PAUSE: Span = Span::from_millis(50);

/// The connections that are open.
#[derive(Clone, Debug)]
pub(super) struct ConnectionTable {
    most: usize,
    open: Arc<Mutex<OpenConnections>>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    by_number: BTreeMap<u64, OpenConnection>,
    by_source: HashMap<IpAddr, usize>,
    number: u64,
    /// Before `.0` there is no place for a source with `.1` connections or more.
    full: (Instant, usize),
}

#[derive(Debug)]
struct OpenConnection {
    source: IpAddr,
    phase: Arc<ConnectionPhase>,
    evicted: Arc<Notify>,
}

/// The place of one connection in the table. Dropping it gives the place back.
#[derive(Debug)]
pub(super) struct TableEntry {
    number: u64,
    table: ConnectionTable,
    pub(super) phase: Arc<ConnectionPhase>,
    evicted: Arc<Notify>,
}

impl ConnectionTable {
    pub(super) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// Takes a connection in. In a full table another connection loses its place, if one has waited for its
    /// client for a second, or has brought no request and its source has more connections; `None` otherwise.
    ///
    /// The place is taken from the source that has the most connections: a single source can neither take the
    /// connections of all others, nor keep others out by opening new ones all the time.
    pub(super) fn admit(&self, from: IpAddr) -> Option<TableEntry> {
        let source = source_of(from);
        let (phase, evicted) = (Arc::new(ConnectionPhase::new()), Arc::new(Notify::new()));
        let mut open = self.lock();
        let freed = self.most.div_ceil(FREED_SHARE);
        if open.by_number.len() >= self.most && !open.evict_for(source, freed) {
            return None;
        }
        open.number += 1;
        let number = open.number;
        let (its_phase, its_evicted) = (Arc::clone(&phase), Arc::clone(&evicted));
        let connection = OpenConnection { source, phase: its_phase, evicted: its_evicted };
        open.by_number.insert(number, connection);
        *open.by_source.entry(source).or_default() += 1;
        drop(open);
        Some(TableEntry { number, table: self.clone(), phase, evicted })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Takes the places of at most `count` connections away, because one comes from `newcomer`; false if all are at
    /// work or safe.
    fn evict_for(&mut self, newcomer: IpAddr, count: usize) -> bool {
        let (now, own) = (TokioTime.now(), self.share(newcomer));
        let (full_until, full_for) = self.full;
        if now < full_until && own >= full_for {
            return false;
        }
        let expendable = self.by_number.iter().filter_map(|(number, connection)| {
            let rank = connection.phase.expendable()?;
            let (served, waits_since) = rank;
            let share = self.share(connection.source);
            // With the new one its source still has fewer.
            let is_excess = !served && share > own + 1;
            let is_safe = now.since(waits_since) < SAFE_TIME && !is_excess;
            (!is_safe).then_some((Reverse(share), rank, *number))
        });
        let mut expendable: Vec<_> = expendable.collect();
        if expendable.len() > count {
            expendable.select_nth_unstable(count);
            expendable.truncate(count);
        }
        for (.., number) in &expendable {
            if let Some(connection) = self.remove(*number) {
                connection.evicted.notify_one();
            }
        }
        if expendable.is_empty() {
            self.full = (now + PAUSE, own);
        }
        !expendable.is_empty()
    }

    /// The connections of a source.
    fn share(&self, source: IpAddr) -> usize {
        self.by_source.get(&source).copied().unwrap_or_default()
    }

    fn remove(&mut self, number: u64) -> Option<OpenConnection> {
        let connection = self.by_number.remove(&number)?;
        if let Some(count) = self.by_source.get_mut(&connection.source) {
            *count -= 1;
            if *count == 0 {
                self.by_source.remove(&connection.source);
            }
        }
        Some(connection)
    }
}

impl TableEntry {
    /// Ready when the connection has lost its place.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for TableEntry {
    fn drop(&mut self) {
        self.table.lock().remove(self.number);
    }
}

/// A client has one IPv4 address, or 2^64 of IPv6 (RFC 6177).
pub(super) fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use stagger::Sleep;

    use super::*;

    async fn wait() {
        TokioTime.sleep(SAFE_TIME).await;
    }

    fn address(n: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, n])
    }

    async fn is_evicted(entry: &TableEntry) -> bool {
        tokio::select! {
            biased;
            () = entry.evicted() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_source_took_the_connections_of_all_others() {
        let table = ConnectionTable::new(4);
        let other = table.admit(address(2)).expect("room");
        let greedy: Vec<_> = (0..3).map(|_| table.admit(address(1)).expect("room")).collect();
        assert!(table.admit(address(1)).is_none(), "each gets to send its request");
        wait().await;
        let _next = table.admit(address(1)).expect("it takes the place of its own oldest");
        assert!(!is_evicted(&other).await, "it is older than all of them");
        assert!(is_evicted(&greedy[0]).await && !is_evicted(&greedy[1]).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_reopens_its_connections_kept_all_others_out() {
        let table = ConnectionTable::new(4);
        let served = table.admit(address(1)).expect("room");
        served.phase.reply_begins();
        served.phase.reply_ends();
        let greedy: Vec<_> = (0..3).map(|_| table.admit(address(1)).expect("room")).collect();
        assert!(table.admit(address(1)).is_none(), "its own are as new as this one");
        let _other = table.admit(address(2)).expect("in the same moment, for a source without any");
        assert!(is_evicted(&greedy[0]).await);
        let _second = table.admit(address(2)).expect("it still has fewer");
        assert!(is_evicted(&greedy[1]).await && !is_evicted(&greedy[2]).await);
        assert!(table.admit(address(2)).is_none(), "now both have two");
        assert!(!is_evicted(&served).await, "it brought a request, and is safe for its time");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_lost_its_connection() {
        let table = ConnectionTable::new(1);
        let busy = table.admit(address(1)).expect("room");
        busy.phase.reply_begins();
        wait().await;
        assert!(table.admit(address(2)).is_none());
        busy.phase.reply_ends();
        assert!(table.admit(address(2)).is_none(), "it has only just ended its request");
        wait().await;
        assert!(table.admit(address(2)).is_some());
        assert!(is_evicted(&busy).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_connection_kept_its_place() {
        let table = ConnectionTable::new(1);
        for _ in 0..3 {
            let entry = table.admit(address(1)).expect("room");
            entry.phase.reply_begins();
        }
        assert!(table.lock().by_source.is_empty());
    }

    #[test]
    fn each_address_of_a_client_counted_as_another_client() {
        let of = |text: &str| source_of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
