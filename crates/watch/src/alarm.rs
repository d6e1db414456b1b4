//! The alarm: when a storm begins, goes on and is over, from one window to the next.

use stagger_core::Span;
use stagger_replay::Stamp;

use crate::retry_estimate::RetryEstimate;
use crate::settings::WatchSettings;
use crate::verdict::{StormSummary, StormVerdict, WatchEvent};

/// Windows in a row that must be above the threshold: one alone may be a burst of a second.
const CONFIRMED: u32 = 2;
/// Windows in a row, a second apart, that must be below the lower threshold before a storm is over: retries come in
/// waves, and delays of ten seconds are usual caps.
const QUIET: u32 = 10;

/// The state of the alarm.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarm {
    above: u32,
    storm: Option<OngoingStorm>,
}

#[derive(Clone, Debug)]
struct OngoingStorm {
    summary: StormSummary,
    quiet: u32,
    /// Windows since the last report.
    silent: u32,
}

impl Alarm {
    /// Whether a storm is on.
    pub(crate) const fn is_on(&self) -> bool {
        self.storm.is_some()
    }

    /// Takes the next window, which ends at `until`; `verdict` is asked for when there is something
    /// to report.
    pub(crate) fn note(
        &mut self,
        settings: &WatchSettings,
        until: Stamp,
        estimate: &RetryEstimate,
        verdict: impl FnOnce() -> StormVerdict,
    ) -> Option<WatchEvent> {
        let is_storm = estimate.at_least() >= settings.attempts_a_call()
            && estimate.retries() >= f64::from(settings.least_retries());
        self.above = if is_storm { self.above + 1 } else { 0 };
        let Some(storm) = &mut self.storm else {
            if self.above < CONFIRMED {
                return None;
            }
            let worst = estimate.attempts_a_call();
            let summary = StormSummary { began: until, ended: until, worst };
            self.storm = Some(OngoingStorm { summary, quiet: 0, silent: 0 });
            return Some(WatchEvent::Began(Box::new(verdict())));
        };
        if is_storm {
            storm.summary.ended = until;
            storm.summary.worst = storm.summary.worst.max(estimate.attempts_a_call());
        }
        let is_quiet = estimate.at_least() < settings.over_below();
        storm.quiet = if is_quiet { storm.quiet + 1 } else { 0 };
        storm.silent += 1;
        if storm.quiet >= QUIET {
            return self.end();
        }
        if storm.silent < settings.window_seconds() || !is_storm {
            return None;
        }
        storm.silent = 0;
        Some(WatchEvent::Continues(Box::new(verdict())))
    }

    /// The storm is over, because the log is or because its clock has jumped.
    pub(crate) fn end(&mut self) -> Option<WatchEvent> {
        self.above = 0;
        self.storm.take().map(|storm| WatchEvent::Ended(storm.summary))
    }
}

/// An instant of a log, to the second.
pub(crate) const fn to_the_second(since_epoch: Span) -> Stamp {
    Stamp { since_epoch, grain: Span::from_secs(1) }
}
