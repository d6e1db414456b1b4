//! Attempts of a call: how many, until when, and how long each may take.

use stagger_core::Span;

use super::Repeat;
use super::choice::{Draft, neat};
use super::delays::third;

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
        self.attempts = self.attempts.min(self.most_at_pace());
    }

    /// The attempts that five sixths of the SLO hold when each takes the p99 of a healthy one, at least one; the
    /// waits have the other sixth.
    fn most_at_pace(&self) -> u32 {
        let (Some(slo), Some(p99)) = (self.answers.slo, self.answers.p99) else { return u32::MAX };
        let room = slo.as_nanos() / 6 * 5;
        u32::try_from(room / p99.as_nanos().max(1)).unwrap_or(u32::MAX).max(1)
    }

    /// The reason for as many attempts as there are in the end.
    pub(super) fn reason_attempts(&mut self, asked: u32) {
        let layers = self.answers.layers;
        let reason = match (self.answers.repeat, self.attempts) {
            (Repeat::Never, _) => "not idempotent: after a timeout nobody knows whether it was \
                                   carried out, so it is sent once"
                .to_owned(),
            (_, n) if n == self.most_at_pace() => {
                "the first one counts; the SLO has no time for more at the p99 of each".to_owned()
            }
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

/// The time limit of an attempt of background work: a minute of silence is a dead connection.
const PATIENT_ATTEMPT: Span = Span::from_secs(60);

/// The time limit of an attempt that a person waits for, without an SLO.
const USUAL_ATTEMPT: Span = Span::from_secs(5);

impl Draft<'_> {
    /// The deadline, and how the attempts share what the waits leave of it.
    pub(super) fn settle_times(&mut self) {
        let usual = if self.answers.background { PATIENT_ATTEMPT } else { USUAL_ATTEMPT };
        let attempts = u64::from(self.attempts);
        match self.answers.slo {
            Some(slo) => {
                self.deadline = slo;
                let each = third(slo).saturating_sub(self.waits()).as_nanos() / attempts;
                let each = neat(Span::from_nanos(each));
                let healthy = self.healthy().min(slo);
                let most = usual.max(twentieth(slo)).max(healthy);
                self.attempt_timeout = each.clamp(healthy, most);
                self.because("limits.deadline", "the SLO: an answer after it is load without use");
                let reason = match attempts {
                    _ if each < healthy && healthy == slo => {
                        "all of the SLO, which is less than three times the p99: retries answer \
                         failures, not silence"
                    }
                    _ if each < healthy => {
                        "three times the p99, so that no healthy attempt is repeated while the \
                         server works on it"
                    }
                    _ if each > most => "longer than this without an answer is a dead connection",
                    1 => "a third of the SLO: the rest is for those above",
                    _ => {
                        "what the waits leave each attempt of a third of the SLO; slower calls \
                         want a longer SLO or fewer attempts"
                    }
                };
                self.because("limits.attempt_timeout", reason);
            }
            None => {
                self.attempt_timeout = usual.max(self.healthy());
                let all = self.attempt_timeout.saturating_mul(attempts);
                let all = all.saturating_add(self.waits());
                let all = all.saturating_add(self.longest_hint());
                self.deadline = Span::from_secs(all.as_secs_ceil());
                self.because(
                    "limits.deadline",
                    if attempts == 1 {
                        "as long as the attempt; an SLO would say better"
                    } else {
                        "holds all attempts and their longest waits; an SLO would say better"
                    },
                );
                let reason = if self.attempt_timeout > usual {
                    "three times the p99, so that no healthy attempt is repeated while the server works on it"
                } else if self.answers.background {
                    "a minute of silence is a dead connection; raise it for calls that work longer"
                } else {
                    "without it a call that hangs takes the whole deadline; set it to a few times the usual p99"
                };
                self.because("limits.attempt_timeout", reason);
            }
        }
    }
}

/// The time limit of an attempt as a multiple of the p99: an overload makes healthy attempts slower too.
const HEALTHY: u64 = 3;

impl Draft<'_> {
    /// The shortest time limit that leaves healthy attempts alone; zero where their pace is unknown.
    fn healthy(&self) -> Span {
        self.answers.p99.map_or(Span::ZERO, |p99| p99.saturating_mul(HEALTHY))
    }

    /// The advice where the time limit of an attempt came from the SLO alone.
    pub(super) fn advise_pace(&mut self) {
        if self.answers.p99.is_some() {
            return;
        }
        let limit = self.attempt_timeout;
        self.note(format!(
            "Compare attempt_timeout ({limit}) with the p99 of healthy attempts, or answer `p99`. \
             Attempts that are cut off sooner are repeated while the server still works on them; \
             at a high load that alone keeps it overloaded."
        ));
    }
}

/// A twentieth of the SLO: an attempt of a call that may take hours may itself take minutes.
const fn twentieth(slo: Span) -> Span {
    Span::from_nanos(slo.as_nanos() / 20)
}
