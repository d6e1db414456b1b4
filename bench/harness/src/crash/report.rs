//! The balance of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::cast::Trouble;
use super::checks::{Cap, CapVerdict, Probes};
use super::leaders::{Found, ShardSpread};

/// Counts are of deliveries, one for each message and endpoint that wants it.
#[derive(Debug, Default, Serialize)]
pub(super) struct CrashReport {
    pub(super) rounds: u32,
    pub(super) nodes: usize,
    /// The number of times that each trouble was made.
    pub(super) troubles: BTreeMap<Trouble, usize>,
    /// Promised by a 202 that was read.
    pub(super) accepted: usize,
    /// Of these: answered with a 2xx.
    pub(super) delivered: usize,
    /// Of these: in the list of dead letters.
    pub(super) dead: usize,
    /// Of these: neither.
    pub(super) lost: usize,
    /// Messages that a restored database has forgotten, and which count nowhere else.
    pub(super) undone: usize,
    /// Came again after a 2xx.
    pub(super) duplicates: usize,
    /// Came, or was accepted again, under another id.
    pub(super) duplicates_with_new_id: usize,
    #[serde(flatten)]
    pub(super) together: Option<Together>,
}

/// The guarantees of several nodes together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Together {
    lease_s: f64,
    /// From when a shard's leader was killed, told to end, stopped or cut off, or when the shard was last
    /// seen to have one, until it was led by a node that was well. Without the time that PostgreSQL was
    /// away.
    longest_without_leader_s: f64,
    /// The time for which the machine paused the harness, which counts in none of these.
    paused_s: f64,
    /// Attempts at an endpoint with a cap on its rate beyond what it allows in any window, at the
    /// receiver, with an allowance of so much for the way there; and the most that one was too early.
    cap_exceeded: usize,
    cap_jitter_allowed_ms: f64,
    cap_jitter_ms: f64,
    /// Drains after which the node was still a member: it had ended without them.
    drains_skipped: usize,
    /// Attempts of a node that the others had evicted, before it joined again.
    sent_after_eviction: usize,
    /// Probes of a breaker, and those that came while another one was under way.
    probes: usize,
    probes_overlapping: usize,
    /// The most and the least shards that a node led at the end, when all had lived for some leases.
    shards_most: Option<usize>,
    shards_least: Option<usize>,
}

impl Together {
    pub(super) fn new(
        lease: Duration,
        found: Found,
        (cap, probes): (Cap, Probes),
        (drains_skipped, sent_after_eviction): (usize, usize),
    ) -> Self {
        let thousandths = |figure: f64| (figure * 1e3).round() / 1e3;
        let CapVerdict { exceeded, allowed, earliest } = cap.found(found.longest_pause);
        let (probes, probes_overlapping) = probes.found();
        Self {
            lease_s: lease.as_secs_f64(),
            longest_without_leader_s: thousandths(found.longest.as_secs_f64()),
            paused_s: thousandths(found.paused.as_secs_f64()),
            cap_exceeded: exceeded,
            cap_jitter_allowed_ms: thousandths(allowed.as_secs_f64() * 1e3),
            cap_jitter_ms: thousandths(earliest.as_secs_f64() * 1e3),
            drains_skipped,
            sent_after_eviction,
            probes,
            probes_overlapping,
            shards_most: found.spread.map(|spread| spread.most),
            shards_least: found.spread.map(|spread| spread.least),
        }
    }

    fn is_good(&self) -> bool {
        let spread = self.shards_most.zip(self.shards_least);
        let spread = spread.map(|(most, least)| ShardSpread { most, least });
        self.longest_without_leader_s <= self.lease_s
            && self.cap_exceeded == 0
            && self.drains_skipped == 0
            && self.sent_after_eviction == 0
            && self.probes > 0
            && self.probes_overlapping == 0
            && spread.is_some_and(ShardSpread::is_even)
    }
}

impl CrashReport {
    /// Whether nothing was lost, receivers can tell every duplicate, and nodes did together what one does.
    pub(super) fn is_good(&self) -> bool {
        self.lost == 0
            && self.duplicates_with_new_id == 0
            && self.accepted > 0
            && self.together.is_none_or(|together| together.is_good())
    }
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, nodes, accepted, delivered, dead, lost, .. } = self;
        writeln!(f, "{rounds} troubles under load, nodes: {nodes}")?;
        for (trouble, count) in &self.troubles {
            writeln!(f, "{count:>10} {}", trouble.name())?;
        }
        writeln!(f, "{accepted:>10} deliveries promised")?;
        writeln!(f, "{delivered:>10} delivered")?;
        writeln!(f, "{dead:>10} dead, as the receiver asked for")?;
        writeln!(f, "{lost:>10} lost")?;
        writeln!(f, "{:>10} messages undone by a restored database", self.undone)?;
        writeln!(f, "{:>10} duplicates with the same id", self.duplicates)?;
        writeln!(f, "{:>10} under another id", self.duplicates_with_new_id)?;
        self.together.map_or(Ok(()), |together| together.fmt(f))
    }
}

impl fmt::Display for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { longest_without_leader_s: longest, lease_s, .. } = self;
        writeln!(f, "{longest:>10} s: the longest without a leader; a lease is {lease_s} s")?;
        writeln!(f, "{:>10} s: pauses of the machine, which do not count", self.paused_s)?;
        let Self { cap_exceeded, cap_jitter_ms, cap_jitter_allowed_ms, .. } = self;
        writeln!(f, "{cap_exceeded:>10} attempts beyond a cap on the rate")?;
        writeln!(f, "{cap_jitter_ms:>10} ms too early, of {cap_jitter_allowed_ms} allowed")?;
        writeln!(f, "{:>10} drains skipped", self.drains_skipped)?;
        writeln!(f, "{:>10} attempts of evicted nodes", self.sent_after_eviction)?;
        writeln!(f, "{:>10} probes, {} overlapping", self.probes, self.probes_overlapping)?;
        match self.shards_most.zip(self.shards_least) {
            Some((most, least)) => writeln!(f, "{most:>10} shards at most, {least} at least"),
            None => writeln!(f, "           nodes never lived long enough to see work spread"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together() -> Together {
        let spread = Some(ShardSpread { most: 86, least: 85 });
        let found = Found { longest: Duration::from_secs(2), spread, ..Found::default() };
        let mut probes = Probes::default();
        probes.judge(true);
        probes.arrived(tokio::time::Instant::now());
        let cap = Cap::new(Duration::from_secs(1), Duration::ZERO);
        Together::new(Duration::from_secs(2), found, (cap, probes), (0, 0))
    }

    #[test]
    fn each_thing_that_nodes_may_not_do_together_is_a_failure() {
        let good = together();
        assert!(good.is_good());
        let bad = [
            Together { longest_without_leader_s: 2.001, ..good },
            Together { cap_exceeded: 1, ..good },
            Together { drains_skipped: 1, ..good },
            Together { sent_after_eviction: 1, ..good },
            Together { probes_overlapping: 1, ..good },
            Together { probes: 0, ..good },
            Together { shards_least: Some(84), ..good },
            Together { shards_most: None, ..good },
        ];
        assert!(bad.iter().all(|bad| !bad.is_good()), "{bad:?}");
    }

    #[test]
    fn figures_of_several_nodes_stand_beside_the_others() {
        let report =
            CrashReport { accepted: 1, together: Some(together()), ..CrashReport::default() };
        let json = serde_json::to_value(&report).expect("a report is plain data");
        assert_eq!((&json["lost"], &json["longest_without_leader_s"]), (&0.into(), &2.0.into()));
        let alone = serde_json::to_value(CrashReport::default()).expect("a report is plain data");
        assert_eq!(alone.get("cap_exceeded"), None);
    }
}
