//! A run that happened elsewhere, measured by the probes of the lab.

use stagger_core::{Instant, Span};

use super::score::Played;
use crate::plan::RunPlan;
use crate::probe::{Latency, Meter, Recovering};

/// The measurements of a run whose attempts happen outside of the lab: over sockets, in real time.
///
/// The probes are those of a simulated run, so that the figures of both compare: the same buckets, peaks and
/// rules of recovery. Instants are counted from the start of the run, and are told in order.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_sim::{ArrivalProcess, Law, ObservedRun, RunPlan, Schedule};
/// let caller = Law::Full.caller(&Schedule::default())?;
/// let plan = RunPlan::new(ArrivalProcess::Together { callers: 1 }, caller);
/// let mut run = ObservedRun::new(&plan);
/// let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
/// run.arrived(at(0));
/// run.attempted(at(0), 1);
/// run.attempted(at(120), 2);
/// run.served(at(130), 2, at(0));
/// run.over(at(130), true, Span::from_millis(130));
/// let played = run.finish();
/// assert_eq!((played.calls, played.succeeded, played.attempts.total), (1, 1, 2));
/// assert_eq!(played.recovery.recovered(), Some(Span::from_millis(130)));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ObservedRun {
    attempts: Meter,
    retries: Meter,
    served: Meter,
    recovering: Recovering,
    latency: Latency,
    calls: u64,
    succeeded: u64,
    bystanding: u64,
    last: Instant,
}

impl ObservedRun {
    /// Nothing observed yet; the stretches and the rule of recovery are the plan's.
    #[must_use]
    pub fn new(plan: &RunPlan) -> Self {
        let watch = &plan.watch;
        Self {
            attempts: Meter::new(watch.edge, watch.peak_in()),
            retries: Meter::new(watch.edge, watch.retries_in),
            served: Meter::new(watch.edge, watch.peak_in()),
            recovering: match plan.trouble_lasts() {
                true => Recovering::TroubleLasts,
                false => Recovering::new(watch.edge, watch.recovery),
            },
            latency: Latency::default(),
            calls: 0,
            succeeded: 0,
            bystanding: 0,
            last: Instant::ORIGIN,
        }
    }

    /// A call begins.
    pub fn arrived(&mut self, at: Instant) {
        self.last = self.last.max(at);
        self.calls += 1;
        self.recovering.arrived(at);
    }

    /// An attempt of this number, from 1, is made.
    pub fn attempted(&mut self, at: Instant, number: u32) {
        self.last = self.last.max(at);
        self.attempts.count(at);
        if number > 1 {
            self.retries.count(at);
        }
    }

    /// An attempt of this number succeeded for a call that began at `began`.
    pub fn served(&mut self, at: Instant, number: u32, began: Instant) {
        self.last = self.last.max(at);
        self.served.count(at);
        if number == 1 {
            self.recovering.first_try_succeeded(began);
        }
    }

    /// A call is over, after this long.
    pub fn over(&mut self, at: Instant, succeeded: bool, elapsed: Span) {
        self.last = self.last.max(at);
        self.recovering.over(at, succeeded);
        if succeeded {
            self.succeeded += 1;
            self.latency.add(elapsed);
        }
    }

    /// The same as [`attempted`](Self::attempted) for a bystander, whose attempts are in the counts alone.
    pub fn attempted_beside(&mut self, at: Instant, number: u32) {
        self.attempted(at, number);
        self.bystanding += 1;
    }

    /// The figures; calls that are not over count as failed. Levels of queues and the digest are empty.
    #[must_use]
    pub fn finish(self) -> Played {
        Played {
            calls: self.calls,
            bystanding: self.bystanding,
            succeeded: self.succeeded,
            attempts: self.attempts.finish(),
            retries: self.retries.finish(),
            served: self.served.finish(),
            latency: self.latency,
            recovery: self.recovering.verdict(self.calls),
            length: self.last - Instant::ORIGIN,
            ..Played::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{Law, Schedule};
    use crate::plan::ArrivalProcess;

    #[test]
    fn a_bystander_was_a_call_and_one_that_never_ended_a_success() {
        let caller = Law::Full.caller(&Schedule::default()).expect("the default schedule");
        let plan = RunPlan::new(ArrivalProcess::Together { callers: 2 }, caller);
        let mut run = ObservedRun::new(&plan);
        let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
        run.arrived(at(0));
        run.arrived(at(1));
        run.attempted(at(1), 1);
        run.attempted_beside(at(2), 1);
        run.served(at(3), 1, at(0));
        run.over(at(3), true, Span::from_millis(3));
        let played = run.finish();
        assert_eq!((played.calls, played.succeeded, played.bystanding), (2, 1, 1));
        assert_eq!((played.attempts.total, played.attempts.peak, played.retries.total), (2, 2, 0));
        assert_eq!(played.recovery.recovered(), None, "half of the calls failed");
        assert_eq!(played.length, Span::from_millis(3));
    }
}
