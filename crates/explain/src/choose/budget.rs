//! The protection of a destination: its budget, whether it is called at all, and the longest hint that is obeyed.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{FloorRate, IntervalPlan, WindowPlan};
use stagger_core::{ConfigError, HintRule, LongHint, Rate, Ratio, Span};

use super::choice::{Draft, neat};
use super::delays::third;

/// From here on the floors of all callers add up to something.
const MANY: u32 = 100;

/// At so many calls a second the share alone is a retry a second.
const NO_FLOOR: f64 = 10.0;

/// Retries for each first attempt.
const SHARE: Ratio = Ratio::from_percent(10);

/// The longest interval for a retry: beyond a minute a caller would as well never retry.
const LONGEST: f64 = 60.0;

/// The longest interval in all: the waits of a patient call outlast it before its places are used up.
const LONGEST_IN_ALL: f64 = 600.0;

/// The most retries that an interval remembers.
const MOST_IN_INTERVAL: u32 = 16;

impl Draft<'_> {
    /// The budget: always one, and tighter where the floors of many callers add up.
    ///
    /// # Errors
    /// None: rates are within their bounds.
    pub(super) fn settle_budget(&mut self) -> Result<(), ConfigError> {
        if self.attempts == 1 {
            return Ok(());
        }
        let callers = self.answers.callers;
        match self.answers.rps.filter(|_| callers >= MANY) {
            Some(rps) if rps < NO_FLOOR => return self.settle_interval(rps),
            Some(rps) => {
                self.budget = WindowPlan::new(SHARE)?.with_floor(FloorRate::Add(Rate::ZERO)).into();
                self.because("budget.window.floor", format!(
                    "none: a tenth of {rps}/s is enough, and the floors of {callers} callers would add {} retries/s",
                    floors(callers)
                ));
            }
            None => {
                self.budget = self.with_floor()?.into();
                let (added, less) =
                    (floors(callers), if callers < MANY { "" } else { ": say --rps to have less" });
                self.because("budget.window.floor", format!(
                    "lets a caller with little traffic retry at all; {callers} of them add at most {added}/s{less}"
                ));
            }
        }
        self.because(
            "budget.window.ratio",
            "in a total outage retries add a tenth to the load, and not two thirds or more",
        );
        self.because(
            "budget.window.window",
            "long enough to survive a pause, short enough to forget an outage",
        );
        Ok(())
    }

    /// The default floor, with the retries of one call in hand.
    fn with_floor(&mut self) -> Result<WindowPlan, ConfigError> {
        let (plan, retries) = (WindowPlan::new(SHARE)?, self.attempts - 1);
        if retries <= plan.burst() {
            return Ok(plan);
        }
        self.because("budget.window.burst", "all retries of one call, while no other call fails");
        plan.with_burst(retries)
    }

    /// A tenth of little traffic is less than one retry a second, and a floor of one would be all.
    fn settle_interval(&mut self, rps: f64) -> Result<(), ConfigError> {
        let callers = self.answers.callers;
        // As many as one call makes, or a call could never come to its last attempt.
        let retries = (self.attempts - 1).min(MOST_IN_INTERVAL);
        let each = (1.0 / (SHARE.as_f64() * rps)).min(LONGEST);
        let seconds = (each * f64::from(retries)).ceil().clamp(1.0, LONGEST_IN_ALL);
        // OK because seconds are from 1 to 600, and retries at most 16.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
        let (interval, places) = (Span::from_secs(seconds as u64), retries as u8);
        self.budget = IntervalPlan::new(places, interval)?.into();
        let fleet = f64::from(callers) * f64::from(retries) / seconds;
        self.because("budget.interval.retries", format!(
            "enough for one call; a tenth of {rps}/s is less than 1/s, and the floors of {callers} callers would add {} retries/s",
            floors(callers)
        ));
        self.because(
            "budget.interval.interval",
            format!(
                "{} in it: {fleet:.0} a second of all {callers} callers",
                if retries == 1 { "one retry".to_owned() } else { format!("{retries} retries") }
            ),
        );
        Ok(())
    }
}

/// The retries a second that the default floors of so many callers add up to.
fn floors(callers: u32) -> f64 {
    WindowPlan::default().floor().rate().as_f64() * f64::from(callers)
}

/// From so many callers on, their first attempts alone keep a destination down.
const MANY_CALLERS: u32 = 100;

/// Below so many calls a second a window of ten seconds never holds the twenty calls that a share
/// needs.
const SPARSE_RATE: f64 = 2.0;

/// Failures in a row that are no chance.
const IN_A_ROW: u32 = 5;

impl Draft<'_> {
    /// A breaker where callers are many: a budget bounds retries, but not first attempts.
    ///
    /// # Errors
    /// None: the settings are constants.
    pub(super) fn settle_breaker(&mut self) -> Result<(), ConfigError> {
        let callers = self.answers.callers;
        if callers < MANY_CALLERS {
            return Ok(());
        }
        let ramp = (Ratio::from_percent(10), Span::from_secs(10));
        let builder = BreakerPlan::builder().ramp(ramp.0, ramp.1);
        let sparse = self.answers.rps.is_some_and(|rps| rps < SPARSE_RATE);
        let builder = if sparse {
            // Fewer than one call's attempts would open it for that call alone, and end it.
            let row = IN_A_ROW.max(self.attempts);
            self.because("breaker.ratio", format!("off: at this rate the window never holds the calls that a share needs, so {row} in a row decide"));
            self.because(
                "breaker.consecutive",
                "failures without a success between them; one failing call alone opens nothing before its last attempt",
            );
            builder.ratio(None).consecutive(row)
        } else {
            self.because(
                "breaker.ratio",
                "half of the calls: what fails less is better retried than refused",
            );
            builder
        };
        self.breaker = Some(builder.build()?);
        self.because("breaker.window", format!("{callers} callers: their first attempts alone would keep a server down, so they stop"));
        self.because("breaker.minimum_calls", "below it a share is chance");
        self.because(
            "breaker.open_time",
            "stretched at random by up to a half, so that probes do not meet",
        );
        self.because(
            "breaker.open_factor",
            "a server that fails its probes is asked ever less often",
        );
        self.because("breaker.open_cap", "a recovery is noticed within a minute and a half");
        self.because("breaker.probes", "one answer is enough to know");
        self.because(
            "breaker.ramp_from",
            "a server that has just come back meets a tenth of the load first",
        );
        self.because("breaker.ramp_time", "and all of it after this");
        Ok(())
    }
}

/// The longest hint of those who wait and of those who do not: the window of many rate limits.
const USUAL: Span = Span::from_secs(60);

const PATIENT: Span = Span::from_secs(15 * 60);

/// The share of a hint that is added at random.
const HINT_SPREAD: Ratio = Ratio::from_percent(50);

impl Draft<'_> {
    /// The hint rule: never shorter than the cap, for what we would wait anyway we also wait when asked.
    ///
    /// # Errors
    /// None: the share is a constant.
    pub(super) fn settle_hints(&mut self) -> Result<(), ConfigError> {
        if self.attempts == 1 {
            return Ok(());
        }
        let cap = self.backoff.cap().max(self.throttled.map_or(Span::ZERO, |rule| rule.cap()));
        let (max, reason) = match (
            self.answers.slo,
            self.answers.rate_limited,
            self.answers.background,
        ) {
            (Some(slo), true, _) => (
                slo,
                "as long as the SLO; what does not fit before the deadline ends the call, hint in hand",
            ),
            (Some(slo), false, _) => (
                neat(third(slo)),
                "a third of the SLO; a longer hint ends the call, and its caller can reschedule",
            ),
            (None, _, true) => (
                PATIENT,
                "the window of many rate limits; a job can be rescheduled for longer ones",
            ),
            (None, true, false) => {
                (USUAL, "the limit says when it ends: asking before is one more refusal")
            }
            (None, false, false) => {
                (CAPPED, "no longer than our own cap: who waits wants to know rather than wait")
            }
        };
        self.hints = HintRule::new(max.max(cap), HINT_SPREAD, LongHint::Stop)?;
        self.because("hints.max", reason);
        self.because(
            "hints.spread",
            "upward only: callers told the same instant do not meet there",
        );
        self.because("hints.long", "a call that the server has refused in advance is not made");
        Ok(())
    }

    /// The time that one obeyed hint may take, where the deadline is made to hold it.
    pub(super) fn longest_hint(&self) -> Span {
        let obeyed = self.answers.rate_limited && !self.answers.background && self.attempts > 1;
        if obeyed { USUAL.saturating_add(HINT_SPREAD.of_span(USUAL)) } else { Span::ZERO }
    }
}

/// As the usual cap.
const CAPPED: Span = Span::from_secs(10);
