//! Many runs of one plan, added up.

use crate::crew::Crew;
use crate::stat::{Sum, share};
use crate::streams::{Purpose, Stream};
use crate::world::{Plan, Played, World};
use stagger_core::Entropy;

/// The sums of many runs of one plan: whole numbers, so the order of the runs leaves no trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    runs: u64,
    calls: u64,
    succeeded: u64,
    attempts: u64,
    /// Attempts per bucket of time, over all runs.
    pub(crate) buckets: Vec<u64>,
    /// Peaks of attempts, retries and successes, in events a bucket.
    pub(crate) peak_attempts: Sum,
    pub(crate) peak_retries: Sum,
    pub(crate) peak_served: Sum,
    digest: u64,
}

impl Tally {
    /// Plays every plan under every run's seed; one tally a plan.
    #[must_use]
    pub fn of(plans: &[Plan], seed: u64, runs: u32, crew: &Crew<'_>) -> Vec<Self> {
        let start = || (World::new(), vec![Self::default(); plans.len()]);
        let per_run = plans.len() as u64;
        let shares = crew.share(per_run * u64::from(runs), start, |(world, tallies), job| {
            // OK because job / per_run < runs, a u32, and job % per_run indexes plans.
            #[expect(clippy::cast_possible_truncation, reason = "bounded by runs and plans")]
            let (run, plan) = ((job / per_run) as u32, (job % per_run) as usize);
            tallies[plan].add(&world.play(&plans[plan], run_seed(seed, run)));
        });
        let mut all = vec![Self::default(); plans.len()];
        for (_, tallies) in &shares {
            all.iter_mut().zip(tallies).for_each(|(sum, part)| sum.merge(part));
        }
        all
    }

    fn add(&mut self, played: &Played) {
        self.runs += 1;
        self.calls += played.calls;
        self.succeeded += played.succeeded;
        self.attempts += played.attempts.total;
        self.peak_attempts.add(played.attempts.peak);
        self.peak_retries.add(played.retries.peak);
        self.peak_served.add(played.served.peak);
        self.digest = self.digest.wrapping_add(played.digest);
        add_each(&mut self.buckets, &played.attempts.buckets);
    }

    fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.succeeded += other.succeeded;
        self.attempts += other.attempts;
        self.peak_attempts.merge(&other.peak_attempts);
        self.peak_retries.merge(&other.peak_retries);
        self.peak_served.merge(&other.peak_served);
        self.digest = self.digest.wrapping_add(other.digest);
        add_each(&mut self.buckets, &other.buckets);
    }

    /// Attempts a call.
    #[must_use]
    pub fn amplification(&self) -> f64 {
        share(self.attempts, self.calls)
    }

    /// The share of calls that ended in success, from 0 to 1.
    #[must_use]
    pub fn success(&self) -> f64 {
        share(self.succeeded, self.calls)
    }

    /// The digests of all runs, added up.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Attempts a bucket, as means over the runs.
    pub(crate) fn mean_buckets(&self) -> Vec<f64> {
        self.buckets.iter().map(|&count| share(count, self.runs)).collect()
    }
}

/// The seed of one run of many: replaying it alone gives the same run.
#[must_use]
pub(crate) fn run_seed(seed: u64, run: u32) -> u64 {
    Stream::new(seed, Purpose::Run).at(run, 0).next_u64()
}

fn add_each(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}
