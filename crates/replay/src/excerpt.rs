//! The stretch of a log that is replayed, and what the lab is told about it.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fault, FirstTriesRule, MeasurementPlan, Recovery,
    RunPlan, Trouble, Workers,
};

use crate::access_log::AccessLog;
use crate::cells::{BucketCounts, share};
use crate::outage::{InferredOutage, OutageKind};

/// The stretch that is played before the first outage, to fill the ledgers.
const LEAD: Span = Span::from_secs(30);
/// The stretch that is played after the last outage, to see it over.
const TAIL: Span = Span::from_secs(60);
/// Buckets of the inference that lead and tail have at least.
const BUCKETS: u64 = 20;
/// The timeout of callers when attempts hung and the log does not say for how long.
const PATIENCE: Span = Span::from_secs(10);

/// The stretch of a log that is replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excerpt<'l> {
    pub(crate) log: &'l AccessLog,
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    /// Workers of the backend, if it has a bound.
    pub(crate) capacity: Option<u32>,
}

impl<'l> Excerpt<'l> {
    pub(crate) fn new(log: &'l AccessLog, capacity: Option<u32>) -> Self {
        let least = log.bucket.saturating_mul(BUCKETS);
        let (from, until) = match (log.outages.first(), log.outages.last()) {
            (Some(first), Some(last)) => {
                let before = (first.from - Instant::ORIGIN) - LEAD.max(least);
                (Instant::ORIGIN + before, (last.until + TAIL.max(least)).min(log.cells.end()))
            }
            _ => (Instant::ORIGIN, log.cells.end()),
        };
        Self { log, from, until, capacity }
    }

    pub(crate) fn outages(&self) -> impl Iterator<Item = &'l InferredOutage> {
        self.log.outages.iter()
    }

    /// First attempts in the stretch.
    pub(crate) fn firsts(&self) -> &'l [Instant] {
        let place = |at: Instant| self.log.firsts.partition_point(|&first| first < at);
        &self.log.firsts[place(self.from)..place(self.until)]
    }

    pub(crate) fn cells(&self) -> &'l [BucketCounts] {
        self.log.cells.within(self.from, self.until)
    }

    /// The instant of the log that recovery is counted from: the end of its last outage, or the start of
    /// what is replayed.
    pub(crate) fn edge(&self) -> Instant {
        self.log.outages.last().map_or(self.from, |outage| outage.until)
    }

    /// The rule by which the log and its replays are judged: that of the reference tables, in buckets
    /// that this log fills, allowing for what fails anyway.
    pub(crate) fn recovery(&self) -> FirstTriesRule {
        let usual = self.usual().ppm().saturating_mul(2);
        let (bucket, row) = (self.log.bucket.max(Span::from_millis(500)), 10);
        FirstTriesRule {
            bucket,
            row,
            share: Ratio::from_ppm(990_000_u32.saturating_sub(usual).max(500_000)),
            // A log that ends within a row of its edge shows no verdict.
            within: (self.until - self.edge()).max(bucket.saturating_mul(row.into())),
        }
    }

    /// The failing share outside of all outages.
    pub(crate) fn usual(&self) -> Ratio {
        let all = BucketCounts::sum(self.cells());
        let within = |count: fn(&InferredOutage) -> u32| {
            let failing = self.outages().filter(|o| !matches!(o.kind, OutageKind::Slow(_)));
            failing.map(count).fold(0, u32::saturating_add)
        };
        let bad = all.bad().saturating_sub(within(|o| o.failed));
        share(bad, all.attempts.saturating_sub(within(|o| o.attempts)))
    }

    /// The timeout of callers, if it matters.
    pub(crate) fn patience(&self) -> Option<Span> {
        let hangs = self.capacity.is_some() || self.outages().any(|o| o.kind == OutageKind::Hung);
        hangs.then(|| self.log.patience.unwrap_or(PATIENCE))
    }

    pub(crate) fn shifted(&self, at: Instant) -> Instant {
        Instant::ORIGIN + (at - self.from)
    }

    pub(crate) fn plan(&self, caller: CallerLayer) -> RunPlan {
        let times = self.firsts().iter().map(|&at| self.shifted(at)).collect();
        let own = caller.policy.limits().attempt_timeout();
        let caller = match self.patience() {
            Some(limit) if own.is_none() && !limit.is_zero() => caller.with_timeout(limit),
            _ => caller,
        };
        let service = self.log.service.unwrap_or_default();
        let workers = self.capacity.map(|count| Workers::new(count, None));
        let watch = MeasurementPlan {
            edge: self.shifted(self.edge()),
            recovery: Recovery::FirstTries(self.recovery()),
            ..MeasurementPlan::default()
        };
        RunPlan {
            backend: Backend { workers, ..Backend::UNLIMITED.serving_in(service) },
            faults: self.faults(),
            watch,
            ..RunPlan::new(ArrivalProcess::Recorded(times), caller)
        }
    }

    /// The outages, and behind them what fails anyway: the first trouble that holds counts.
    fn faults(&self) -> Vec<Fault> {
        let fault = |outage: &InferredOutage| {
            let trouble = match outage.kind {
                OutageKind::Refused => Trouble::Refuse,
                // Without workers there is nothing that could stall.
                OutageKind::Hung if self.capacity.is_none() => Trouble::Silence,
                OutageKind::Hung => Trouble::Stall,
                OutageKind::Failing(share) => Trouble::Failing(share),
                OutageKind::Slow(times) => Trouble::Slow(times),
            };
            Fault::new(trouble, self.shifted(outage.from), self.shifted(outage.until))
        };
        let usual = Fault::new(Trouble::Failing(self.usual()), Instant::ORIGIN, Instant::FAR);
        let always = (self.usual() > Ratio::ZERO).then_some(usual);
        self.outages().map(fault).chain(always).collect()
    }

    /// Attempts a second that the workers serve at most.
    pub(crate) fn most_served(&self) -> Option<f64> {
        let service = self.log.service.filter(|service| !service.is_zero())?;
        self.capacity.map(|workers| f64::from(workers) / service.as_secs_f64())
    }
}
