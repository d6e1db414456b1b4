//! The stretch of a log that is replayed, and what the lab is told about it.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, BUCKET, Backend, CallerLayer, Fault, FirstTriesRule, MeasurementPlan, Recovery,
    RunPlan, Trouble, Workers,
};

use crate::access_log::AccessLog;
use crate::cells::BucketCounts;
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
    /// The part of each outage, from its start on, that was the fault; the rest came of it.
    pub(crate) fault: Ratio,
}

impl<'l> Excerpt<'l> {
    pub(crate) fn new(log: &'l AccessLog, capacity: Option<u32>) -> Self {
        let least = log.bucket.saturating_mul(BUCKETS);
        let first = log.all_trouble().map(|outage| outage.from).min();
        let last = log.all_trouble().map(|outage| outage.until).max();
        let (from, until) = match (first, last) {
            (Some(first), Some(last)) => {
                let before = (first - Instant::ORIGIN) - LEAD.max(least);
                (Instant::ORIGIN + before, (last + TAIL.max(least)).min(log.cells.end()))
            }
            _ => (Instant::ORIGIN, log.cells.end()),
        };
        Self { log, from, until: until.max(from), capacity, fault: Ratio::ONE }
    }

    /// The same, with this part of each outage as the fault.
    pub(crate) const fn with_fault(self, fault: Ratio) -> Self {
        Self { fault, ..self }
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

    /// The end of an outage's fault.
    fn fault_end(&self, outage: &InferredOutage) -> Instant {
        outage.from + self.fault.of_span(outage.length())
    }

    /// The instant of the log that recovery is counted from: the end of its last fault on an edge of a
    /// bucket, or the start of what is replayed.
    pub(crate) fn edge(&self) -> Instant {
        let Some(last) = self.log.outages.last() else { return self.from };
        let after = (self.fault_end(last) - Instant::ORIGIN).as_nanos();
        Instant::from_nanos(after.next_multiple_of(BUCKET.as_nanos()))
    }

    /// The rule by which the log and its replays are judged: that of the reference tables, in buckets
    /// that this log fills, allowing for what fails anyway. Without an outage there is nothing to recover
    /// from, so that any first attempt shows it.
    pub(crate) fn recovery(&self) -> FirstTriesRule {
        let bucket = self.log.bucket.max(Span::from_millis(500));
        if self.log.outages.is_empty() {
            return FirstTriesRule { bucket, row: 1, share: Ratio::ZERO, within: Span::MAX };
        }
        let usual = self.usual().ppm().saturating_mul(2);
        let row = 10;
        FirstTriesRule {
            bucket,
            row,
            share: Ratio::from_ppm(990_000_u32.saturating_sub(usual).max(500_000)),
            // A log that ends within a row of its edge shows no verdict.
            within: (self.until - self.edge()).max(bucket.saturating_mul(row.into())),
        }
    }

    /// The failing share outside of all that failed and of all that is stated.
    pub(crate) fn usual(&self) -> Ratio {
        let is_healthy = |at: Instant| {
            let mut failing = self.log.all_trouble().filter(|outage| outage.has_failures());
            !failing.any(|outage| outage.from <= at && at < outage.until)
        };
        let first = self.from.as_nanos().div_ceil(BUCKET.as_nanos());
        let at = |place| Instant::ORIGIN + BUCKET.saturating_mul(place);
        let healthy = (first..).zip(self.cells()).filter(|(place, _)| is_healthy(at(*place)));
        let healthy: Vec<BucketCounts> = healthy.map(|(_, cell)| *cell).collect();
        BucketCounts::sum(&healthy).failing()
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
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let fault = |outage: &InferredOutage| {
            let trouble = match outage.kind {
                OutageKind::Refused => Trouble::Refuse,
                // Without workers there is nothing that could stall.
                OutageKind::Hung if self.capacity.is_none() => Trouble::Silence,
                OutageKind::Hung => Trouble::Stall,
                OutageKind::Failing(share) => Trouble::Failing(share),
                OutageKind::Slow(times) => Trouble::Slow(times),
                // The calls of that time are not in the log.
                OutageKind::Silent => return None,
            };
            let until = self.fault_end(outage);
            Some(Fault::new(trouble, self.shifted(outage.from), self.shifted(until)))
        };
        let usual = Fault::new(Trouble::Failing(self.usual()), Instant::ORIGIN, Instant::FAR);
        let always = (self.usual() > Ratio::ZERO).then_some(usual);
        self.outages().filter_map(fault).chain(always).collect()
    }

    /// Attempts a second that the workers serve at most.
    pub(crate) fn most_served(&self) -> Option<f64> {
        let service = self.log.service.filter(|service| !service.is_zero())?;
        self.capacity.map(|workers| f64::from(workers) / service.as_secs_f64())
    }
}
