//! The time for which shards are without a leader.

use std::time::Duration;

/// Samples of all shards' leaders. A shard is without a leader from the moment when its leader
/// fails, or when it was last seen with one, until a healthy node is seen to lead it.
#[derive(Debug)]
pub(super) struct Gaps {
    shards: Vec<ShardLead>,
    longest: Duration,
}

#[derive(Clone, Copy, Debug)]
struct ShardLead {
    /// The time at which it was last seen with a leader.
    led: Duration,
    without: Option<Duration>,
}

impl Gaps {
    /// So many shards, all of them led at `now`.
    pub(super) fn new(shards: usize, now: Duration) -> Self {
        Self {
            shards: vec![ShardLead { led: now, without: None }; shards],
            longest: Duration::ZERO,
        }
    }

    /// Records a sample of a shard that was queried and answered at these times: `unwell` is the
    /// time since which its leader has failed, if it has no healthy one. Returns the gap that has
    /// ended, if there was one.
    pub(super) fn sample(
        &mut self,
        shard: usize,
        (asked, answered): (Duration, Duration),
        unwell: Option<Duration>,
    ) -> Option<Duration> {
        let shard = self.shards.get_mut(shard)?;
        let Some(since) = unwell else {
            shard.led = asked;
            let gap = answered.saturating_sub(shard.without.take()?);
            self.longest = self.longest.max(gap);
            return Some(gap);
        };
        shard.without.get_or_insert(since.max(shard.led));
        None
    }

    /// The longest gap, those counted that are not over.
    pub(super) fn longest(&self, now: Duration) -> Duration {
        let open = self.shards.iter().filter_map(|shard| Some(now.saturating_sub(shard.without?)));
        open.fold(self.longest, Duration::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds.
    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A sample that takes 2 ms.
    fn at(time: u64) -> (Duration, Duration) {
        (ms(time), ms(time + 2))
    }

    #[test]
    fn a_gap_begins_when_the_leader_falls_and_not_when_it_is_seen() {
        let mut gaps = Gaps::new(2, ms(0));
        assert_eq!(gaps.sample(1, at(100), None), None);
        assert_eq!(gaps.sample(1, at(200), Some(ms(110))), None);
        assert_eq!(gaps.longest(ms(300)), ms(190));
        assert_eq!(gaps.sample(1, at(400), None), Some(ms(292)));
        assert_eq!(gaps.longest(ms(9_000)), ms(292));
    }

    #[test]
    fn a_shard_that_nobody_leads_had_its_leader_until_it_was_last_seen() {
        let mut gaps = Gaps::new(1, ms(0));
        gaps.sample(0, at(100), None);
        gaps.sample(0, at(150), Some(ms(0)));
        gaps.sample(0, at(200), Some(ms(0)));
        assert_eq!(gaps.longest(ms(200)), ms(100));
    }

    #[test]
    fn from_one_that_falls_to_another_is_one_gap() {
        let mut gaps = Gaps::new(1, ms(0));
        gaps.sample(0, at(100), Some(ms(50)));
        gaps.sample(0, at(200), Some(ms(190)));
        assert_eq!(gaps.sample(0, at(300), None), Some(ms(252)));
    }
}
