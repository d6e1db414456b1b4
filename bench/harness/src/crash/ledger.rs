//! The accepted messages of a run, and their deliveries.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use xtask_workbench::note;

use super::cast::Role;
use super::checks::{Cap, Probes};
use super::report::CrashReport;
use crate::rig::{Arrival, Marker, Reaction, Witness};

/// The book of one run; its own account, apart from what the dispatcher says.
#[derive(Debug)]
pub(super) struct DeliveryLedger {
    seed: u64,
    roles: &'static [Role],
    pages: Mutex<DeliveryPages>,
}

#[derive(Debug)]
struct DeliveryPages {
    posts: Vec<Post>,
    duplicates: usize,
    /// Of the endpoints that have to be spared.
    cap: Cap,
    probes: Probes,
    /// Whether who was down is well now.
    healed: bool,
    /// Whether the database is about to forget what happens now.
    undoing: bool,
    /// The ports of a node that others have evicted, and the attempts that came from them since.
    evicted: BTreeSet<u16>,
    sent_while_evicted: usize,
    /// Those that came while the node was certainly no member.
    sent_after_eviction: usize,
    /// The same of all earlier evictions.
    sent_before: usize,
}

/// One message that was posted, however often.
#[derive(Clone, Debug, Default)]
struct Post {
    /// Every name that it was accepted or delivered under: one, if all is well.
    ids: Vec<Box<str>>,
    /// Whether its 202 was read.
    accepted: bool,
    /// Whether the database was restored to a moment before it was accepted.
    undone: bool,
    /// By endpoint: whether it was answered with a 2xx.
    answered: [bool; Role::ALL.len()],
}

impl DeliveryLedger {
    /// An empty one, for endpoints with these roles.
    pub(super) fn new(seed: u64, roles: &'static [Role]) -> Self {
        let pages = DeliveryPages {
            posts: Vec::new(),
            duplicates: 0,
            cap: Role::cap(),
            probes: Probes::default(),
            healed: false,
            undoing: false,
            evicted: BTreeSet::new(),
            sent_while_evicted: 0,
            sent_after_eviction: 0,
            sent_before: 0,
        };
        Self { seed, roles, pages: Mutex::new(pages) }
    }

    pub(super) const fn roles(&self) -> &'static [Role] {
        self.roles
    }

    /// From now on, whoever is down gets probes and nothing else.
    pub(super) fn breaker_is_open(&self) {
        self.pages().probes.judge(true);
    }

    /// Makes every failing endpoint healthy from now on.
    pub(super) fn heal(&self) {
        let mut pages = self.pages();
        pages.probes.judge(false);
        pages.healed = true;
    }

    /// Notes that a 202 was read, with this id.
    pub(super) fn accepted(&self, marker: Marker, id: &str) {
        let mut pages = self.pages();
        let undoing = pages.undoing;
        let post = pages.post(marker);
        post.accepted = true;
        post.named(id);
        post.undone |= undoing;
    }

    /// Whether the database is about to be restored to a moment before now: a promise that is made
    /// meanwhile cannot be kept.
    pub(super) fn undo(&self, undoing: bool) {
        self.pages().undoing = undoing;
    }

    /// From now on no attempt may come from these ports, which are those of an evicted node.
    pub(super) fn evict(&self, ports: BTreeSet<u16>) {
        let mut pages = self.pages();
        pages.evicted = ports;
        pages.sent_while_evicted = 0;
        pages.sent_before += std::mem::take(&mut pages.sent_after_eviction);
    }

    /// The attempts that have come from these ports. Their node may have joined again by now.
    pub(super) fn sent_while_evicted(&self) -> usize {
        self.pages().sent_while_evicted
    }

    /// So many of them came while the node was no member.
    pub(super) fn condemn(&self, sent: usize) {
        self.pages().sent_after_eviction = sent;
    }

    /// The attempts that came from evicted nodes.
    pub(super) fn sent_after_eviction(&self) -> usize {
        let pages = self.pages();
        pages.sent_before + pages.sent_after_eviction
    }

    /// Deliveries that were promised and not yet answered with a 2xx.
    pub(super) fn missing(&self) -> usize {
        self.pages().promised(self.roles).filter(|(post, at)| !post.answered[*at]).count()
    }

    /// The balance, with the dispatcher's own list of dead letters: (id, endpoint).
    pub(super) fn balance(&self, rounds: u32, dead: &HashSet<(String, usize)>) -> CrashReport {
        let pages = self.pages();
        let undone = pages.posts.iter().filter(|post| post.undone).count();
        let mut report =
            CrashReport { rounds, undone, duplicates: pages.duplicates, ..CrashReport::default() };
        for (post, endpoint) in pages.promised(self.roles) {
            let died = |id: &str| dead.contains(&(id.to_owned(), endpoint));
            report.accepted += 1;
            if post.answered[endpoint] {
                report.delivered += 1;
            } else if post.ids.iter().any(|id| died(id)) {
                report.dead += 1;
            } else {
                report.lost += 1;
                note(&format!("lost: {:?} at {:?}", post.ids, self.roles.get(endpoint)));
            }
        }
        let extra = |post: &Post| post.ids.len().saturating_sub(1);
        let kept = pages.posts.iter().filter(|post| !post.undone);
        report.duplicates_with_new_id = kept.map(extra).sum();
        report
    }

    /// The violations of caps and probes at the endpoints that have them.
    pub(super) fn spared(&self) -> (Cap, Probes) {
        let pages = self.pages();
        (pages.cap, pages.probes)
    }

    fn pages(&self) -> MutexGuard<'_, DeliveryPages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeliveryPages {
    fn post(&mut self, Marker(marker): Marker) -> &mut Post {
        if self.posts.len() <= marker {
            self.posts.resize(marker + 1, Post::default());
        }
        &mut self.posts[marker]
    }

    /// All deliveries that were promised: posts, and the places of the endpoints that want them.
    fn promised(&self, roles: &'static [Role]) -> impl Iterator<Item = (&Post, usize)> {
        let promised =
            self.posts.iter().enumerate().filter(|(_, post)| post.accepted && !post.undone);
        promised.flat_map(move |(marker, post)| {
            let wants = move |at: &usize| roles[*at].wants(Marker(marker));
            (0..roles.len()).filter(wants).map(move |at| (post, at))
        })
    }
}

impl Post {
    fn named(&mut self, id: &str) {
        if !self.ids.iter().any(|known| **known == *id) {
            self.ids.push(id.into());
        }
    }
}

impl Witness for DeliveryLedger {
    fn arrived(&self, arrival: &Arrival<'_>) -> Reaction {
        let (marker, role) = (Marker::of(arrival.body), self.roles.get(arrival.endpoint));
        let (Some(marker), Some(role)) = (marker, role) else { return Reaction::Answer(400) };
        let (mut pages, now) = (self.pages(), Instant::now());
        let undoing = pages.undoing;
        pages.sent_while_evicted += usize::from(pages.evicted.contains(&arrival.peer));
        let post = pages.post(marker);
        // One that nobody promised yet, and that the database will not know.
        post.undone |= undoing && post.ids.is_empty();
        post.named(arrival.id);
        let again = post.answered[arrival.endpoint];
        pages.duplicates += usize::from(again);
        match role {
            Role::Capped => pages.cap.arrived(now),
            Role::Down => pages.probes.arrived(now),
            _ => {}
        }
        if pages.healed && *role == Role::Down {
            return Reaction::Answer(200);
        }
        role.reaction(self.seed, marker, arrival.attempt)
    }

    fn answered(&self, arrival: &Arrival<'_>, status: u16) {
        if let Some(marker) = Marker::of(arrival.body)
            && (200..300).contains(&status)
        {
            self.pages().post(marker).answered[arrival.endpoint] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers a message to the endpoint that is always well, under this id.
    fn deliver(ledger: &DeliveryLedger, marker: Marker, id: &str) {
        let body = marker.payload(64);
        let arrival = Arrival { peer: 1, endpoint: 0, id, attempt: 1, body: body.as_bytes() };
        assert_eq!(ledger.arrived(&arrival), Reaction::Answer(200));
        ledger.answered(&arrival, 200);
    }

    #[test]
    fn what_was_promised_is_delivered_dead_or_lost() {
        let ledger = DeliveryLedger::new(1, Role::of(1));
        ledger.accepted(Marker(0), "msg_0");
        deliver(&ledger, Marker(0), "msg_0");
        // Nobody read the 202 of this one: nothing was promised.
        deliver(&ledger, Marker(1), "msg_1");
        let report = ledger.balance(3, &HashSet::from([("msg_0".to_owned(), 3)]));
        assert_eq!((report.accepted, report.delivered, report.dead), (5, 1, 1));
        assert_eq!((report.lost, report.duplicates, ledger.missing()), (3, 0, 4));
    }

    #[test]
    fn what_a_restore_undoes_is_no_promise_and_what_an_evicted_node_sends_is_counted() {
        let ledger = DeliveryLedger::new(1, Role::of(1));
        ledger.undo(true);
        ledger.accepted(Marker(0), "msg_0");
        deliver(&ledger, Marker(1), "msg_1");
        ledger.undo(false);
        ledger.accepted(Marker(1), "msg_9");
        ledger.evict(BTreeSet::from([1]));
        deliver(&ledger, Marker(2), "msg_2");
        ledger.condemn(ledger.sent_while_evicted());
        // It may have joined again by then.
        deliver(&ledger, Marker(2), "msg_2");
        ledger.evict(BTreeSet::from([2]));
        deliver(&ledger, Marker(2), "msg_2");
        ledger.condemn(ledger.sent_while_evicted());
        let report = ledger.balance(1, &HashSet::new());
        assert_eq!((report.accepted, report.lost, report.undone), (0, 0, 2));
        assert_eq!((report.duplicates_with_new_id, ledger.sent_after_eviction()), (0, 1));
    }

    #[test]
    fn a_second_id_is_found_whether_it_was_answered_or_delivered() {
        let ledger = DeliveryLedger::new(1, Role::of(1));
        ledger.accepted(Marker(0), "msg_0");
        deliver(&ledger, Marker(0), "msg_0");
        deliver(&ledger, Marker(0), "msg_9");
        let report = ledger.balance(1, &HashSet::new());
        assert_eq!((report.duplicates, report.duplicates_with_new_id), (1, 1));
        let ledger = DeliveryLedger::new(1, Role::of(1));
        ledger.accepted(Marker(0), "msg_0");
        ledger.accepted(Marker(0), "msg_9");
        assert_eq!(ledger.balance(1, &HashSet::new()).duplicates_with_new_id, 1);
    }
}
