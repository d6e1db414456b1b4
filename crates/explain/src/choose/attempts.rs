//! The number of attempts, before the time is asked.

use super::Repeat;
use super::draft::Draft;

/// Three calls in all: what most SDKs make.
const USUAL: u32 = 3;
/// With layers below or above that may retry too: the square stays at four.
const LAYERED: u32 = 2;
/// Their longest waits fill an hour, by base 1 s and cap 5 min.
const PATIENT: u32 = 20;
/// The same with layers: their longest waits still ride out eight minutes.
const PATIENT_LAYERED: u32 = 10;

impl Draft<'_> {
    /// The most attempts; what time there is may make them fewer.
    pub(super) fn settle_attempts(&mut self) {
        let layered = self.answers.layers > 1;
        self.attempts = match (self.answers.repeat, self.answers.background, layered) {
            (Repeat::Never, ..) => 1,
            (_, true, false) => PATIENT,
            (_, true, true) => PATIENT_LAYERED,
            (_, false, false) => USUAL,
            (_, false, true) => LAYERED,
        };
    }

    /// The reason for as many attempts as there are in the end.
    pub(super) fn reason_attempts(&mut self, asked: u32) {
        let layers = self.answers.layers;
        let reason = match (self.answers.repeat, self.attempts) {
            (Repeat::Never, _) => "not idempotent: after a timeout nobody knows whether it was \
                                   carried out, so it is sent once"
                .to_owned(),
            (_, 1) => "no wait that is long enough fits into a sixth of the SLO".to_owned(),
            (_, n) if n < asked => {
                format!(
                    "as many as a sixth of the SLO holds the waits of; the first one counts ({asked} without it)"
                )
            }
            (_, n) if layers > 1 => {
                format!(
                    "few, because {layers} layers stand behind each other: {n}^{layers} calls of one if all did so"
                )
            }
            (_, PATIENT) => {
                "the first one counts; a call that fails alone rides out most of an hour, and the budget ends it sooner when all fail".to_owned()
            }
            (_, _) => {
                "the first one counts; as most SDKs, what two retries do not heal is an outage"
                    .to_owned()
            }
        };
        self.because("limits.max_attempts", reason);
    }
}
