//! The budget: how many retries a destination gets.

use stagger_core::budget::{FloorRate, IntervalPlan, WindowPlan};
use stagger_core::{ConfigError, Rate, Ratio, Span};

use super::draft::Draft;

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
