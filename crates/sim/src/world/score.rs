//! What is counted while a run is played.

use stagger_core::retry::{Done, Stop};
use stagger_core::{Instant, Ratio};

use super::played::{Played, Series};
use crate::plan::{Recovery, RecoveryState, Watch};
use crate::probe::{FirstTries, Latency, Meter, Stretch, Strip, Track};
use crate::queue::Event;
use crate::streams::mix;

/// The figures of a run so far, and its clock.
#[derive(Debug)]
pub(super) struct Score {
    watch: Watch,
    pub(super) track: Track,
    attempts: Meter,
    retries: Meter,
    served: Meter,
    wasted: Meter,
    finished: u64,
    succeeded: u64,
    /// Calls that were over before the edge.
    over_before: u64,
    /// Calls that succeeded from the edge on.
    succeeded_after: u64,
    first_tries: FirstTries,
    latency: Latency,
    last_served: Option<Instant>,
    strip: Strip,
    events: u64,
    now: Instant,
    digest: u64,
}

impl Score {
    pub(super) fn new(watch: &Watch) -> Self {
        let meter = |peak_in| Meter::new(watch.edge, peak_in);
        Self {
            watch: *watch,
            track: Track::new(),
            attempts: meter(watch.attempts_in),
            retries: meter(watch.retries_in),
            served: meter(Stretch::ALWAYS),
            wasted: meter(Stretch::ALWAYS),
            finished: 0,
            succeeded: 0,
            over_before: 0,
            succeeded_after: 0,
            first_tries: FirstTries::new(watch.edge, watch.recovery),
            latency: Latency::default(),
            last_served: None,
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
    pub(super) fn event(&mut self, event: Event) {
        self.now = event.at();
        self.track.advance(self.now);
        self.events += 1;
        let folded = self.digest.rotate_left(1) ^ self.now.as_nanos();
        self.digest = mix(folded) ^ event.key();
    }

    /// An outermost call begins.
    #[inline]
    pub(super) fn arrival(&mut self) {
        self.first_tries.arrived(self.now);
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
            self.first_tries.succeeded(started);
        }
    }

    /// An attempt succeeded for somebody who is in no figure but this.
    pub(super) fn served_others(&mut self) {
        self.served.count(self.now);
    }

    /// An outermost call is over.
    #[inline]
    pub(super) fn over(&mut self, done: &Done) {
        let before = self.now < self.watch.edge;
        self.over_before += u64::from(before);
        if done.stop == Stop::Succeeded {
            self.succeeded += 1;
            self.succeeded_after += u64::from(!before);
            self.latency.add(done.elapsed);
            self.last_served = Some(self.now);
        }
    }

    /// The verdict by the last call served, which says nothing when many others gave up.
    fn drained(&self, calls: u64) -> RecoveryState {
        let edge = self.watch.edge;
        // Where the last success lies before the edge, no call was served since.
        let Some(last) = self.last_served.filter(|&at| at >= edge) else {
            return RecoveryState::Never;
        };
        // Calls that never end count as failed.
        let needed = u128::from(calls.saturating_sub(self.over_before))
            * u128::from(Recovery::DRAINED_SHARE.ppm());
        match u128::from(self.succeeded_after) * u128::from(Ratio::SCALE) >= needed {
            true => RecoveryState::Recovered(last - edge),
            false => RecoveryState::Never,
        }
    }

    pub(super) fn finish(self, calls: u32, bystanding: u64) -> Played {
        let recovery = match self.watch.recovery {
            Recovery::Drained => self.drained(u64::from(calls)),
            Recovery::FirstTries { .. } => self.first_tries.verdict(),
        };
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
