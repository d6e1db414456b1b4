//! Delay laws of others, to be measured beside the engine's.

use stagger_core::{Entropy, Span};

use crate::dist::{gaussian, open_unit};
use crate::law::{Law, Schedule};
use crate::streams::RandomStream;

/// Delay laws of others, here to be measured and not in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A normal distribution around half the ceiling with a quarter of it as deviation, clamped at
    /// zero.
    Gaussian(Schedule),
    /// Polly's second law: values of a smooth curve over octaves, one after the other subtracted.
    Octave(Schedule),
}

impl Foreign {
    /// The law, if the engine does not offer it.
    pub(crate) const fn of(law: Law, schedule: &Schedule) -> Option<Self> {
        match law {
            Law::Gaussian => Some(Self::Gaussian(*schedule)),
            Law::Octave => Some(Self::Octave(*schedule)),
            _ => None,
        }
    }

    /// The delay of retry `k` of this caller, `k` from 1; none for a wait before the first attempt.
    pub(crate) fn delay(&self, delays: &RandomStream, id: u32, k: u32) -> Span {
        if k == 0 {
            return Span::ZERO;
        }
        match self {
            Self::Gaussian(schedule) => {
                let ceiling = ceiling(schedule, k).as_nanos();
                let (mean, sd) = (Span::from_nanos(ceiling / 2), Span::from_nanos(ceiling / 4));
                gaussian(mean, sd, &mut delays.at(id, k))
            }
            Self::Octave(schedule) => octave(schedule, |n| delays.at(id, n + 1), k),
        }
    }
}

fn ceiling(schedule: &Schedule, k: u32) -> Span {
    let doubled = 1_u64.checked_shl(k.saturating_sub(1)).unwrap_or(u64::MAX);
    schedule.base.saturating_mul(doubled).min(schedule.cap)
}

/// `DecorrelatedJitterBackoffV2` of Polly.Contrib.WaitAndRetry: the retry of octave `n` comes at
/// `base / 1.4 * 2^(n + u) * tanh(sqrt(4 (n + u)))` after the first failure, with a `u` of its own.
/// So that consecutive octaves do not overlap, delays are differences of those instants.
fn octave<E: Entropy>(schedule: &Schedule, draw: impl Fn(u32) -> E, k: u32) -> Span {
    let instant = |n: u32| {
        let t = f64::from(n) + open_unit(draw(n).next_u64());
        libm::exp2(t) * libm::tanh(libm::sqrt(4.0 * t))
    };
    let after = instant(k - 1) - if k > 1 { instant(k - 2) } else { 0.0 };
    let Schedule { base, cap, .. } = schedule;
    Span::from_nanos(nanos(after * base_over(1.4, *base))).min(*cap)
}

#[expect(clippy::cast_precision_loss, reason = "a model's parameter")]
fn base_over(divisor: f64, base: Span) -> f64 {
    base.as_nanos() as f64 / divisor
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
const fn nanos(value: f64) -> u64 {
    // OK because a cast from float to integer saturates, and a negative delay is none.
    value as u64
}
