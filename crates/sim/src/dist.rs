//! Draws that are not uniform: exponential gaps and the normal distribution.
//!
//! Logarithms and cosines come from `libm` in pure Rust: the standard library leaves their last
//! digits to the platform, and here they decide events.

use std::f64::consts::TAU;

use stagger_core::{Entropy, Ratio, Span};

/// A gap between two arrivals of a Poisson process with this mean gap.
#[must_use]
pub(crate) fn exponential(mean: Span, entropy: &mut impl Entropy) -> Span {
    nanos(-libm::log(open_unit(entropy.next_u64())) * float(mean.as_nanos()))
}

/// A lognormal draw with this mean, whose logarithm has this standard deviation. Takes two words.
#[must_use]
pub(crate) fn lognormal(mean: Span, sigma: Ratio, entropy: &mut impl Entropy) -> Span {
    let sigma = sigma.as_f64();
    let exponent = sigma * standard_normal(entropy) - sigma * sigma / 2.0;
    nanos(float(mean.as_nanos()) * libm::exp(exponent))
}

/// A Pareto draw with this mean, whose tail falls with this power; a power of 1 or less, which has no
/// mean, is read as slightly more.
#[must_use]
pub(crate) fn pareto(mean: Span, shape: Ratio, entropy: &mut impl Entropy) -> Span {
    let shape = shape.as_f64().max(1.000_001);
    let least = float(mean.as_nanos()) * (shape - 1.0) / shape;
    nanos(least * libm::pow(open_unit(entropy.next_u64()), -1.0 / shape))
}

/// A normal draw by the Box-Muller transform; what falls below zero is returned as zero.
///
/// It exists to show what Gaussian jitter does, and nothing in the engine uses it. Takes two words.
#[must_use]
pub(crate) fn gaussian(mean: Span, sd: Span, entropy: &mut impl Entropy) -> Span {
    nanos(normal(mean, sd, entropy))
}

/// A normal draw without its sign, as the simulator of 2015 has its hops.
pub(crate) fn normal_magnitude(mean: Span, sd: Span, entropy: &mut impl Entropy) -> Span {
    nanos(normal(mean, sd, entropy).abs())
}

fn normal(mean: Span, sd: Span, entropy: &mut impl Entropy) -> f64 {
    float(mean.as_nanos()) + standard_normal(entropy) * float(sd.as_nanos())
}

fn standard_normal(entropy: &mut impl Entropy) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(open_unit(entropy.next_u64())));
    radius * libm::cos(TAU * open_unit(entropy.next_u64()))
}

/// The word as a number strictly between 0 and 1, so that its logarithm is finite.
pub(crate) fn open_unit(word: u64) -> f64 {
    (float(word >> 11) + 0.5) / float(1 << 53)
}

#[expect(clippy::cast_precision_loss, reason = "a model's parameter; 53 bits are 104 days of ns")]
fn float(n: u64) -> f64 {
    // OK because the loss is one part in 2^53.
    n as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn nanos(value: f64) -> Span {
    // OK because a cast from float to integer saturates, and negative means "at once".
    Span::from_nanos((value + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::{Purpose, RandomStream};

    fn moments(draw: impl Fn(u32) -> Span) -> (f64, f64) {
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|i| draw(i).as_secs_f64()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        (mean, variance.sqrt())
    }

    #[test]
    fn gaps_have_the_mean_and_spread_of_a_poisson_process() {
        let stream = RandomStream::new(3, Purpose::Arrival);
        let (mean, sd) = moments(|i| exponential(Span::from_secs(2), &mut stream.at(i, 0)));
        assert!((mean - 2.0).abs() < 0.02 && (sd - 2.0).abs() < 0.03, "{mean} {sd}");
    }

    #[test]
    fn the_middle_word_draws_the_median_gap() {
        let gap = exponential(Span::from_secs(1), &mut || u64::MAX / 2);
        assert!((gap.as_secs_f64() - std::f64::consts::LN_2).abs() < 0.001, "{gap}");
    }

    #[test]
    fn normal_draws_have_their_mean_and_spread() {
        let stream = RandomStream::new(3, Purpose::Delay);
        let (ten, two) = (Span::from_secs(10), Span::from_secs(2));
        let (mean, sd) = moments(|i| gaussian(ten, two, &mut stream.at(i, 0)));
        assert!((mean - 10.0).abs() < 0.02 && (sd - 2.0).abs() < 0.02, "{mean} {sd}");
    }

    #[test]
    fn the_extreme_words_draw_finite_spans() {
        for word in [0, u64::MAX] {
            let mut source = || word;
            assert!(exponential(Span::from_secs(1), &mut source) < Span::from_secs(60));
            let far = gaussian(Span::from_secs(1), Span::from_secs(1), &mut source);
            assert!(far < Span::from_secs(60));
        }
    }
}
