//! Mean and spread over runs, kept as whole numbers.

/// A sum of whole observations, exact, so that adding them in any order gives the same figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    n: u64,
    total: u128,
    squares: u128,
}

/// A mean and the standard deviation of single runs around it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// The mean over the runs.
    pub mean: f64,
    /// The standard deviation of one run; zero when there was only one.
    pub sd: f64,
}

impl Sum {
    /// Adds one observation.
    pub(crate) const fn add(&mut self, observed: u64) {
        self.n += 1;
        self.total += observed as u128;
        self.squares += observed as u128 * observed as u128;
    }

    /// Adds what another sum holds.
    pub(crate) const fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.total += other.total;
        self.squares += other.squares;
    }

    /// The number of observations.
    #[must_use]
    pub(crate) const fn count(&self) -> u64 {
        self.n
    }

    /// Their sum.
    #[must_use]
    pub(crate) fn total(&self) -> f64 {
        float(self.total)
    }

    /// The mean; zero without observations.
    #[must_use]
    pub(crate) fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { float(self.total) / float(u128::from(self.n)) }
    }

    /// The standard deviation of one observation; zero below two of them.
    #[must_use]
    pub(crate) fn sd(&self) -> f64 {
        let n = u128::from(self.n);
        if n < 2 {
            return 0.0;
        }
        // n * squares >= total^2 (Cauchy-Schwarz), and both are exact.
        let spread = (n * self.squares).saturating_sub(self.total * self.total);
        (float(spread) / float(n * (n - 1))).sqrt()
    }

    /// Mean and spread, each times `factor`: counts in a bucket to counts in a second.
    #[must_use]
    pub(crate) fn scaled(&self, factor: f64) -> Stat {
        Stat { mean: self.mean() * factor, sd: self.sd() * factor }
    }
}

/// `part / whole`, zero when there is no whole.
#[must_use]
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(u128::from(part)) / float(u128::from(whole)) }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people, never for a decision")]
pub(crate) const fn float(n: u128) -> f64 {
    // OK because 53 bits are more digits than any report shows.
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_two_three_have_the_mean_two_and_the_deviation_one() {
        let mut sum = Sum::default();
        for observed in [1, 2, 3] {
            sum.add(observed);
        }
        assert_eq!((sum.mean(), sum.sd()), (2.0, 1.0));
    }
}
