//! Deadline and time per attempt.

use stagger_core::Span;

use super::delays::third;
use super::draft::{Draft, neat};

/// The time limit of an attempt of background work: a minute of silence is a dead connection.
const PATIENT: Span = Span::from_secs(60);
/// The time limit of an attempt that a person waits for, without an SLO.
const USUAL: Span = Span::from_secs(5);

impl Draft<'_> {
    /// The deadline, and how the attempts share what the waits leave of it.
    pub(super) fn settle_times(&mut self) {
        let usual = if self.answers.background { PATIENT } else { USUAL };
        let attempts = u64::from(self.attempts);
        match self.answers.slo {
            Some(slo) => {
                self.deadline = slo;
                let each = third(slo).saturating_sub(self.waits()).as_nanos() / attempts;
                let each = neat(Span::from_nanos(each));
                let most = usual.max(twentieth(slo));
                self.attempt_timeout = each.min(most);
                self.because("limits.deadline", "the SLO: an answer after it is load without use");
                let reason = match attempts {
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
                self.attempt_timeout = usual;
                let all = usual.saturating_mul(attempts).saturating_add(self.waits());
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
                let reason = if self.answers.background {
                    "a minute of silence is a dead connection; raise it for calls that work longer"
                } else {
                    "without it a call that hangs takes the whole deadline; set it to a few times the usual p99"
                };
                self.because("limits.attempt_timeout", reason);
            }
        }
    }
}

/// A twentieth of the SLO: an attempt of a call that may take hours may itself take minutes.
const fn twentieth(slo: Span) -> Span {
    Span::from_nanos(slo.as_nanos() / 20)
}
