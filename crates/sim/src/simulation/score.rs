//! The figures of a run, while it is played and when it is over.

use stagger_core::retry::{Done, Stop};
use stagger_core::{Instant, Span};

use crate::plan::{RecoveryState, RunPlan};
use crate::probe::{Latency, Meter, MeterCounts, Recovering, Strip, Track};
use crate::queue::CallerEvent;
use crate::streams::mix;

/// The figures of one run; all of them whole numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Calls made by the outermost callers.
    pub calls: u64,
    /// Attempts of bystanders, who are in no other figure but the counts.
    pub bystanding: u64,
    /// Calls that ended in success.
    pub succeeded: u64,
    /// Attempts that reached the backend, first ones included.
    pub attempts: MeterCounts,
    /// Retries and further copies among them.
    pub retries: MeterCounts,
    /// Successes, by the time they reached the caller.
    pub served: MeterCounts,
    /// Attempts that the backend finished after their callers had gone.
    pub wasted: MeterCounts,
    /// Attempts that the backend finished, wasted ones included.
    pub finished: u64,
    /// Levels over time.
    pub series: Series,
    /// The latency of the calls that succeeded.
    pub latency: Latency,
    /// Whether and when the run recovered.
    pub recovery: RecoveryState,
    /// Single instants of attempts.
    pub strip: Strip,
    /// The time of the last event, counted from the origin.
    pub length: Span,
    /// Events in all.
    pub events: u64,
    /// A checksum over all events in their order: equal runs have equal digests.
    pub digest: u64,
}

/// Levels at the end of each bucket of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Attempts that wait in queues, and callers that wait to retry.
    pub levels: Vec<(u64, u64)>,
    /// The most attempts that ever waited at once.
    pub queued_most: u64,
}

/// The figures of a run so far, and its clock.
#[derive(Debug)]
pub(super) struct Score {
    pub(super) track: Track,
    attempts: Meter,
    retries: Meter,
    served: Meter,
    wasted: Meter,
    finished: u64,
    succeeded: u64,
    recovering: Recovering,
    latency: Latency,
    strip: Strip,
    events: u64,
    now: Instant,
    digest: u64,
}

impl Score {
    pub(super) fn new(plan: &RunPlan) -> Self {
        let watch = &plan.watch;
        let meter = |peak_in| Meter::new(watch.edge, peak_in);
        Self {
            track: Track::new(),
            attempts: meter(watch.peak_in()),
            retries: meter(watch.retries_in),
            served: meter(watch.peak_in()),
            wasted: meter(watch.peak_in()),
            finished: 0,
            succeeded: 0,
            recovering: match plan.trouble_lasts() {
                true => Recovering::TroubleLasts,
                false => Recovering::new(watch.edge, watch.recovery),
            },
            latency: Latency::default(),
            strip: Strip::default(),
            events: 0,
            now: Instant::ORIGIN,
            digest: 0,
        }
    }

    /// The time of the last event.
    #[inline]
    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// An event happens.
    #[inline]
    pub(super) fn event(&mut self, event: CallerEvent) {
        self.now = event.at();
        self.track.advance(self.now);
        self.events += 1;
        let folded = self.digest.rotate_left(1) ^ self.now.as_nanos();
        self.digest = mix(folded) ^ event.key();
    }

    /// An outermost call begins.
    #[inline]
    pub(super) fn arrival(&mut self) {
        self.recovering.arrived(self.now);
    }

    /// An attempt is at the backend; `other` if it is a bystander's, who is in the counts alone.
    #[inline]
    pub(super) fn attempt(&mut self, id: u32, number: u32, other: bool) {
        self.attempts.count(self.now);
        if !other {
            self.strip.note(id, self.now);
        }
        if number > 1 {
            self.retries.count(self.now);
        }
    }

    /// The backend is done with an attempt.
    #[inline]
    pub(super) fn finished(&mut self, wanted: bool) {
        self.finished += 1;
        if !wanted {
            self.wasted.count(self.now);
        }
    }

    /// An attempt of this number succeeded for an outermost caller who began at `started`.
    #[inline]
    pub(super) fn served(&mut self, number: u32, started: Instant) {
        self.served.count(self.now);
        if number == 1 {
            self.recovering.first_try_succeeded(started);
        }
    }

    /// An attempt of a bystander succeeded, which counts in no other figure.
    pub(super) fn served_others(&mut self) {
        self.served.count(self.now);
    }

    /// An outermost call is over.
    #[inline]
    pub(super) fn over(&mut self, done: &Done) {
        let succeeded = done.stop == Stop::Succeeded;
        self.recovering.over(self.now, succeeded);
        if succeeded {
            self.succeeded += 1;
            self.latency.add(done.elapsed);
        }
    }

    pub(super) fn finish(self, calls: u32, bystanding: u64) -> Played {
        let recovery = self.recovering.verdict(u64::from(calls));
        let queued_most = self.track.queued_most;
        Played {
            calls: u64::from(calls),
            bystanding,
            succeeded: self.succeeded,
            attempts: self.attempts.finish(),
            retries: self.retries.finish(),
            served: self.served.finish(),
            wasted: self.wasted.finish(),
            finished: self.finished,
            series: Series { levels: self.track.finish(), queued_most },
            latency: self.latency,
            recovery,
            strip: self.strip,
            length: self.now - Instant::ORIGIN,
            events: self.events,
            digest: self.digest,
        }
    }
}
