//! Whether a destination is called at all.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{ConfigError, Ratio, Span};

use super::draft::Draft;

/// From so many callers on, their first attempts alone keep a destination down.
const MANY: u32 = 100;
/// Below so many calls a second a window of ten seconds never holds the twenty calls that a share
/// needs.
const SPARSE: f64 = 2.0;
/// Failures in a row that are no chance.
const IN_A_ROW: u32 = 5;

impl Draft<'_> {
    /// A breaker where callers are many: a budget bounds retries, but not first attempts.
    ///
    /// # Errors
    /// None: the settings are constants.
    pub(super) fn settle_breaker(&mut self) -> Result<(), ConfigError> {
        let callers = self.answers.callers;
        if callers < MANY {
            return Ok(());
        }
        let ramp = (Ratio::from_percent(10), Span::from_secs(10));
        let builder = BreakerPlan::builder().ramp(ramp.0, ramp.1);
        let sparse = self.answers.rps.is_some_and(|rps| rps < SPARSE);
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
