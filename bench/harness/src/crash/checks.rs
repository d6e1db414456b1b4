//! The findings of the receiver and the database in a round: the time without a leader, whether a cap on the rate holds, and
//! whether an endpoint that is down is left alone but for one probe at a time.

use std::time::Duration;

use tokio::time::Instant;

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

/// Judges arrivals by the generic cell rate algorithm (ITU-T I.371): in any window of length `w` at most
/// `1 + (w + slack) / interval` conform. One that does not conform counts, and changes nothing.
///
/// It judges with each of [`JITTERS`], because the pauses of the machine are known only at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    interval: Duration,
    slack: Duration,
    judgements: [Judgement; JITTERS.len()],
}

/// The judgement with one tolerance.
#[derive(Clone, Copy, Debug, Default)]
struct Judgement {
    /// The theoretical arrival time of the next attempt.
    next: Option<Instant>,
    exceeded: usize,
    /// The most that an arrival was earlier than allowed.
    earliest: Duration,
}

/// Tolerances beyond the slack: attempts are counted when they are launched, and their time to the receiver
/// varies. On a machine whose cores are all busy, each process may be paused for as long as the first one.
/// A later one counts where this process was paused for longer. Two leaders at the same time are detected
/// within twice of it.
const JITTERS: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_millis(1250),
    Duration::from_millis(3000),
];

/// A pause that every process has now and then.
const SHORT: Duration = Duration::from_millis(100);

/// The verdict on the arrivals at an endpoint with a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CapVerdict {
    /// The number of arrivals beyond the cap.
    pub(super) exceeded: usize,
    /// The tolerance with which they were judged.
    pub(super) allowed: Duration,
    /// The most that one was too early.
    pub(super) earliest: Duration,
}

impl Cap {
    /// One attempt in each `interval`; one who was late may catch up by `slack`.
    pub(super) const fn new(interval: Duration, slack: Duration) -> Self {
        let none = Judgement { next: None, exceeded: 0, earliest: Duration::ZERO };
        Self { interval, slack, judgements: [none; JITTERS.len()] }
    }

    pub(super) fn arrived(&mut self, now: Instant) {
        for (judgement, jitter) in self.judgements.iter_mut().zip(JITTERS) {
            let next = judgement.next.unwrap_or(now);
            let early = next.saturating_duration_since(now).saturating_sub(self.slack);
            judgement.earliest = judgement.earliest.max(early);
            if early > jitter {
                judgement.exceeded += 1;
            } else {
                judgement.next = Some(next.max(now) + self.interval);
            }
        }
    }

    /// The verdict, where the machine paused this process for `pause` at most: the nodes beside it may have been
    /// paused for as long.
    pub(super) fn found(&self, pause: Duration) -> CapVerdict {
        // The first tolerance covers short pauses.
        let wanted = if pause <= SHORT { JITTERS[0] } else { JITTERS[0] + pause };
        let at = JITTERS.iter().position(|jitter| *jitter >= wanted).unwrap_or(JITTERS.len() - 1);
        let Judgement { exceeded, earliest, .. } = self.judgements[at];
        CapVerdict { exceeded, allowed: JITTERS[at], earliest }
    }
}

/// The time that the endpoint takes for each attempt.
pub(super) const HOLD: Duration = Duration::from_millis(150);

/// Counts attempts that arrive while another one is under way: until it has been answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probes {
    /// Whether its breaker is known to be open.
    judging: bool,
    last: Option<Instant>,
    count: usize,
    overlapping: usize,
}

impl Probes {
    /// From now on only probes may come; or anything again.
    pub(super) const fn judge(&mut self, judging: bool) {
        self.judging = judging;
    }

    pub(super) fn arrived(&mut self, now: Instant) {
        let before = self.last.replace(now);
        if self.judging {
            self.count += 1;
            let close = before.is_some_and(|before| now < before + HOLD);
            self.overlapping += usize::from(close);
        }
    }

    /// The number of attempts, and of those that came while another one was in flight.
    pub(super) const fn found(&self) -> (usize, usize) {
        (self.count, self.overlapping)
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

    const MS: Duration = Duration::from_millis(1);

    /// The number of arrivals at these milliseconds beyond one in 20 ms with a slack of 80 ms.
    fn beyond(arrivals: impl IntoIterator<Item = u32>) -> usize {
        let (mut cap, begun) = (Cap::new(20 * MS, 80 * MS), Instant::now());
        arrivals.into_iter().for_each(|at| cap.arrived(begun + MS * at));
        cap.found(Duration::ZERO).exceeded
    }

    #[test]
    fn where_the_machine_paused_everything_more_jitter_is_allowed() {
        let (mut cap, begun) = (Cap::new(20 * MS, 80 * MS), Instant::now());
        (0..25).for_each(|_| cap.arrived(begun));
        let found = [0, 50, 300, 301, 60_000].map(|pause| cap.found(pause * MS));
        assert_eq!(found.map(|verdict| verdict.exceeded), [10, 10, 0, 0, 0]);
        let allowed = found.map(|verdict| verdict.allowed);
        assert_eq!(allowed, [200, 200, 500, 1250, 3000].map(|ms| ms * MS));
    }

    #[test]
    fn a_burst_within_slack_and_jitter_is_allowed_and_no_more() {
        // 1 + (0 + 80 + 200) / 20 at once.
        assert_eq!((beyond(vec![0; 15]), beyond(vec![0; 16])), (0, 1));
    }

    #[test]
    fn the_pace_itself_is_kept_for_ever_and_twice_of_it_is_not() {
        assert_eq!(beyond((0..1000).map(|at| at * 20)), 0);
        let twice = beyond((0..1000).map(|at| at * 10));
        assert!((480..=500).contains(&twice), "{twice}");
    }

    #[test]
    fn what_was_not_used_is_not_saved_up() {
        let burst = |from: u32| std::iter::repeat_n(from, 16);
        assert_eq!(beyond(burst(0).chain(burst(60_000))), 2);
    }

    #[test]
    fn a_second_probe_is_seen_once_the_breaker_is_known_to_be_open() {
        let (mut probes, begun) = (Probes::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        probes.arrived(at(0));
        probes.arrived(at(10));
        probes.judge(true);
        [160, 310, 400].into_iter().for_each(|ms| probes.arrived(at(ms)));
        assert_eq!(probes.found(), (3, 1));
        probes.judge(false);
        probes.arrived(at(401));
        assert_eq!(probes.found(), (3, 1));
    }
}
