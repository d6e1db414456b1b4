//! The state of callers: whether the last attempt of each one failed, in bounded memory.
//!
//! A caller is an id that all attempts of a call share, or a client with what it asked for. Of ids only
//! failures are remembered, because a call that was served does not come back. Of clients both are: how
//! often one comes back after a success says how often it would come back after a failure anyway.
//!
//! With too many callers, a share of them is followed, chosen by their hashes: 1/2, 1/4 and
//! so on. Ratios of followed attempts stay what they are.

use std::collections::BTreeMap;

use stagger_core::Span;

/// Callers of one generation at most: two generations of 65 536 callers, about 24 bytes each and
/// what the tree adds, are some 5 MB.
const MOST: usize = 1 << 16;
/// The length of a generation. A caller is remembered for one to two of them, so that a
/// Retry-After of a minute is still followed.
const GENERATION: Span = Span::from_secs(60);

/// The callers of the last one to two minutes.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallerTable {
    young: BTreeMap<u64, LastAttempt>,
    old: BTreeMap<u64, LastAttempt>,
    /// The time at which `young` was begun.
    turned: Span,
    /// Callers whose mixed hashes have one of these bits are not followed.
    mask: u64,
    failing: u32,
    served: u32,
}

/// The last attempt of a caller.
#[derive(Clone, Copy, Debug)]
struct LastAttempt {
    failed: bool,
    ended: Span,
}

/// The attempt before this one of the same caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The caller is not followed.
    NotFollowed,
    /// None is remembered, or it was not over yet.
    Nothing,
    /// It was served.
    Served,
    /// It failed.
    Failed,
}

impl CallerTable {
    /// Notes an attempt, and says how the one before it ended.
    ///
    /// `grain` is how far stamps may be off; `keeps_served` is whether successes are remembered.
    pub(crate) fn note(
        &mut self,
        key: u64,
        (began, ended): (Span, Span),
        failed: bool,
        grain: Span,
        keeps_served: bool,
    ) -> Before {
        if !self.follows(key) {
            return Before::NotFollowed;
        }
        let last = self.young.get(&key).or_else(|| self.old.get(&key)).copied();
        let before = match last {
            Some(last) if began.saturating_add(grain) < last.ended => Before::Nothing,
            Some(last) if last.failed => Before::Failed,
            Some(_) => Before::Served,
            None => Before::Nothing,
        };
        self.forget(key);
        if failed || keeps_served {
            self.remember(key, LastAttempt { failed, ended });
        }
        before
    }

    /// Callers whose last attempt failed, and those whose last attempt was served.
    pub(crate) fn counts(&self) -> (f64, f64) {
        (f64::from(self.failing), f64::from(self.served))
    }

    /// One caller in how many is followed.
    pub(crate) const fn one_in(&self) -> u64 {
        self.mask + 1
    }

    /// Time has come to `now`: callers that were not heard of for a while are forgotten.
    pub(crate) fn advance(&mut self, now: Span) {
        if now - self.turned < GENERATION {
            return;
        }
        self.turned = now;
        let quiet = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        quiet.values().for_each(|last| *self.count(last.failed) -= 1);
        if self.old.len() < MOST / 4 {
            self.mask >>= 1;
        }
    }

    fn follows(&self, key: u64) -> bool {
        mixed(key) & self.mask == 0
    }

    fn forget(&mut self, key: u64) {
        if let Some(last) = self.young.remove(&key).or_else(|| self.old.remove(&key)) {
            *self.count(last.failed) -= 1;
        }
    }

    fn remember(&mut self, key: u64, last: LastAttempt) {
        self.young.insert(key, last);
        *self.count(last.failed) += 1;
        while self.young.len() > MOST {
            self.mask = (self.mask << 1) | 1;
            let mask = self.mask;
            self.young.retain(|&key, _| mixed(key) & mask == 0);
            self.old.retain(|&key, _| mixed(key) & mask == 0);
            let kept = self.young.values().chain(self.old.values());
            let (mut failing, mut served) = (0, 0);
            kept.for_each(|last| *(if last.failed { &mut failing } else { &mut served }) += 1);
            (self.failing, self.served) = (failing, served);
            if self.mask == u64::MAX {
                return;
            }
        }
    }

    const fn count(&mut self, failed: bool) -> &mut u32 {
        if failed { &mut self.failing } else { &mut self.served }
    }
}

/// The finalizer of MurmurHash3, so that callers with similar hashes are not followed together.
const fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ (key >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAIN: Span = Span::from_millis(1);

    fn at(ms: u64) -> (Span, Span) {
        (Span::from_millis(ms), Span::from_millis(ms + 10))
    }

    #[test]
    fn an_attempt_that_was_under_way_before_the_failure_follows_nothing() {
        let mut table = CallerTable::default();
        table.note(7, at(1_000), true, GRAIN, true);
        assert_eq!(table.note(7, at(1_005), true, GRAIN, true), Before::Nothing);
        assert_eq!(table.note(7, at(1_015), false, GRAIN, true), Before::Failed);
        assert_eq!(table.note(7, at(1_100), false, GRAIN, true), Before::Served);
        assert_eq!(table.note(7, at(1_200), false, GRAIN, false), Before::Served);
        assert_eq!(table.note(7, at(1_300), false, GRAIN, false), Before::Nothing);
    }

    #[test]
    fn more_callers_than_there_is_room_for_leave_a_share_of_them() {
        let mut table = CallerTable::default();
        for key in 0..1_000_000 {
            table.note(key, at(1_000), key % 2 == 0, GRAIN, true);
        }
        assert!(table.young.len() <= MOST, "{}", table.young.len());
        assert!(table.one_in() >= 16, "one in {}", table.one_in());
        let (failing, served) = table.counts();
        assert_eq!(failing + served, f64::from(u32::try_from(table.young.len()).unwrap()));
        assert!((0.45..0.55).contains(&(failing / (failing + served))));
        for minute in 1..20 {
            table.advance(Span::from_secs(60 * minute));
        }
        assert_eq!((table.one_in(), table.counts()), (1, (0.0, 0.0)));
    }
}
