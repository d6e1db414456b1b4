//! Many runs of one entry, added up.

use stagger_core::Entropy;

use crate::plan::RecoveryState;
use crate::probe::{Latency, PER_SECOND, Strip};
use crate::scenario::{Peak, Play};
use crate::simulation::{Played, Simulation};
use crate::stat::{Sum, share};
use crate::storm_report::{EntryReport, EntrySeries, Healing};
use crate::streams::{Purpose, RandomStream};
use crate::thread_pool::ThreadPool;

/// The sums of many runs: whole numbers, so the order of the runs leaves no trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTally {
    calls: u64,
    succeeded: u64,
    finished: u64,
    wasted: u64,
    pub(crate) attempts: Sum,
    /// Peaks of attempts, retries and successes, in events a bucket.
    pub(crate) peak_attempts: Sum,
    pub(crate) peak_retries: Sum,
    pub(crate) peak_served: Sum,
    /// Nanoseconds, of the runs that recovered.
    pub(crate) recovered: Sum,
    /// Runs that recovered and failed again.
    pub(crate) relapsed: u64,
    /// Runs whose calls ended before a verdict was possible.
    pub(crate) not_within_watch: u64,
    /// Runs whose trouble never ended.
    pub(crate) trouble_lasts: u64,
    pub(crate) queued_most: Sum,
    pub(crate) latency: Latency,
    buckets: Buckets,
    /// Of the first run alone.
    pub(crate) strip: Strip,
    pub(crate) events: u64,
    digest: u64,
}

/// Sums per bucket of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Buckets {
    offered: Vec<u64>,
    /// Fewest, most and number of runs that reached the bucket.
    range: Vec<(u64, u64, u64)>,
    retries: Vec<u64>,
    served: Vec<u64>,
    wasted: Vec<u64>,
    queued: Vec<u64>,
    retrying: Vec<u64>,
}

impl RunTally {
    /// Plays everything under every run's seed; one tally a play.
    #[must_use]
    pub(crate) fn of(plays: &[&Play], seed: u64, runs: u32, pool: &ThreadPool<'_>) -> Vec<Self> {
        let start = || (Simulation::new(), vec![Self::default(); plays.len()]);
        let per_run = plays.len() as u64;
        let shares = pool.share(per_run * u64::from(runs), start, |(simulation, tallies), job| {
            // OK because job / per_run < runs, a u32, and job % per_run indexes plays.
            #[expect(clippy::cast_possible_truncation, reason = "bounded by runs and plays")]
            let (run, play) = ((job / per_run) as u32, (job % per_run) as usize);
            tallies[play].add(plays[play].run(simulation, run_seed(seed, run)), run == 0);
        });
        let mut all = vec![Self::default(); plays.len()];
        for (_, tallies) in shares {
            all.iter_mut().zip(tallies).for_each(|(sum, part)| sum.merge(part));
        }
        all
    }

    fn add(&mut self, played: Played, is_first: bool) {
        self.calls += played.calls;
        self.succeeded += played.succeeded;
        self.finished += played.finished;
        self.wasted += played.wasted.total;
        self.attempts.add(played.attempts.total - played.bystanding);
        self.peak_attempts.add(played.attempts.peak);
        self.peak_retries.add(played.retries.peak);
        self.peak_served.add(played.served.peak);
        match played.recovery {
            RecoveryState::Recovered(after) => self.recovered.add(after.as_nanos()),
            RecoveryState::Relapsed(_) => self.relapsed += 1,
            RecoveryState::NotWithinWatch => self.not_within_watch += 1,
            RecoveryState::TroubleLasts => self.trouble_lasts += 1,
            RecoveryState::Never => {}
        }
        self.queued_most.add(played.series.queued_most);
        self.latency.merge(&played.latency);
        self.buckets.add(&played);
        if is_first {
            self.strip = played.strip;
        }
        self.events += played.events;
        self.digest = self.digest.wrapping_add(played.digest);
    }

    fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.succeeded += other.succeeded;
        self.finished += other.finished;
        self.wasted += other.wasted;
        self.attempts.merge(&other.attempts);
        self.peak_attempts.merge(&other.peak_attempts);
        self.peak_retries.merge(&other.peak_retries);
        self.peak_served.merge(&other.peak_served);
        self.recovered.merge(&other.recovered);
        self.relapsed += other.relapsed;
        self.not_within_watch += other.not_within_watch;
        self.trouble_lasts += other.trouble_lasts;
        self.queued_most.merge(&other.queued_most);
        self.latency.merge(&other.latency);
        self.buckets.merge(&other.buckets);
        if other.strip != Strip::default() {
            self.strip = other.strip;
        }
        self.events += other.events;
        self.digest = self.digest.wrapping_add(other.digest);
    }

    /// The figures of these runs, under a name.
    pub(crate) fn row(&self, name: &str, peak: Peak) -> EntryReport {
        let counted = match peak {
            Peak::Attempts => &self.peak_attempts,
            Peak::Served => &self.peak_served,
        };
        EntryReport {
            name: name.to_owned(),
            runs: self.runs(),
            calls: self.calls(),
            attempts: self.attempts.scaled(1.0),
            peak: counted.scaled(PER_SECOND),
            peak_retries: self.peak_retries.scaled(PER_SECOND),
            worst_over_mean: None,
            amplification: self.amplification(),
            success: self.success(),
            wasted: self.wasted(),
            recovery: Healing {
                healed: self.recovered.count(),
                seconds: self.recovered.scaled(1e-9),
                relapsed: self.relapsed,
                not_within_watch: self.not_within_watch,
                trouble_lasts: self.trouble_lasts,
            },
            latency: [0.5, 0.95, 0.99].map(|share| self.latency.quantile(share)),
            queued_most: self.queued_most.scaled(1.0),
            series: self.series(),
            strip: self.strip.clone(),
            events: self.events,
            digest: self.digest(),
        }
    }

    /// Runs that were played.
    #[must_use]
    pub(crate) const fn runs(&self) -> u64 {
        self.attempts.count()
    }

    /// Calls a run.
    #[must_use]
    pub(crate) fn calls(&self) -> f64 {
        share(self.calls, self.runs())
    }

    /// Attempts a call.
    #[must_use]
    pub(crate) fn amplification(&self) -> f64 {
        self.attempts.total() / share(self.calls, 1).max(1.0)
    }

    /// The share of calls that ended in success, from 0 to 1.
    #[must_use]
    pub(crate) fn success(&self) -> f64 {
        share(self.succeeded, self.calls)
    }

    /// The share of finished work whose callers had gone, from 0 to 1.
    #[must_use]
    pub(crate) fn wasted(&self) -> f64 {
        share(self.wasted, self.finished)
    }

    /// The digests of all runs, added up.
    #[must_use]
    pub(crate) const fn digest(&self) -> u64 {
        self.digest
    }

    /// Means over the runs, bucket by bucket.
    pub(crate) fn series(&self) -> EntrySeries {
        let runs = self.runs();
        let mean = |sums: &[u64]| sums.iter().map(|&sum| share(sum, runs)).collect();
        let buckets = &self.buckets;
        let range = buckets.range.iter();
        EntrySeries {
            offered: mean(&buckets.offered),
            // A run that was over before a bucket had nothing in it.
            offered_range: range
                .map(|&(least, most, seen)| (if seen < runs { 0 } else { least }, most))
                .collect(),
            retries: mean(&buckets.retries),
            served: mean(&buckets.served),
            wasted: mean(&buckets.wasted),
            queued: mean(&buckets.queued),
            retrying: mean(&buckets.retrying),
        }
    }
}

impl Buckets {
    fn add(&mut self, played: &Played) {
        let offered = &played.attempts.buckets;
        let seen = offered.iter().map(|&count| (count, count, 1)).collect::<Vec<_>>();
        widen(&mut self.range, &seen);
        add_each(&mut self.offered, offered);
        add_each(&mut self.retries, &played.retries.buckets);
        add_each(&mut self.served, &played.served.buckets);
        add_each(&mut self.wasted, &played.wasted.buckets);
        let levels = &played.series.levels;
        add_each(&mut self.queued, &levels.iter().map(|level| level.0).collect::<Vec<_>>());
        add_each(&mut self.retrying, &levels.iter().map(|level| level.1).collect::<Vec<_>>());
    }

    fn merge(&mut self, other: &Self) {
        widen(&mut self.range, &other.range);
        add_each(&mut self.offered, &other.offered);
        add_each(&mut self.retries, &other.retries);
        add_each(&mut self.served, &other.served);
        add_each(&mut self.wasted, &other.wasted);
        add_each(&mut self.queued, &other.queued);
        add_each(&mut self.retrying, &other.retrying);
    }
}

/// The seed of one run of many: replaying it alone gives the same run.
#[must_use]
pub(crate) fn run_seed(seed: u64, run: u32) -> u64 {
    RandomStream::new(seed, Purpose::Run).at(run, 0).next_u64()
}

fn add_each(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

fn widen(ranges: &mut Vec<(u64, u64, u64)>, others: &[(u64, u64, u64)]) {
    ranges.resize(ranges.len().max(others.len()), (u64::MAX, 0, 0));
    for (range, other) in ranges.iter_mut().zip(others) {
        *range = (range.0.min(other.0), range.1.max(other.1), range.2 + other.2);
    }
}
