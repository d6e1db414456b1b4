//! Paired differences: two policies in the same worlds, with a confidence interval.

/// The mean difference of two policies' costs over the same worlds, and how far chance may have moved it.
///
/// ```
/// use stagger_tune::{DifferenceVerdict, PairedDifference};
/// let better = PairedDifference::of(&[1.0, 2.0, 3.0, 4.0], &[2.0, 3.1, 3.9, 5.0]);
/// assert_eq!(better.verdict(), DifferenceVerdict::Lower);
/// let noise = PairedDifference::of(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.1, 3.9, 3.0]);
/// assert_eq!(noise.verdict(), DifferenceVerdict::WithinNoise);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// Worlds that were compared.
    pub worlds: usize,
    /// The mean of the first cost minus the second.
    pub mean: f64,
    /// The standard error of that mean.
    pub error: f64,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceVerdict {
    /// The first cost is lower beyond noise.
    Lower,
    /// The first cost is higher beyond noise.
    Higher,
    /// The interval holds zero.
    WithinNoise,
}

/// The normal quantile of a two-sided interval of 95 %.
const Z95: f64 = 1.959_964;

impl PairedDifference {
    /// Compares costs world by world; worlds that only one of them has are left out.
    #[must_use]
    pub fn of(first: &[f64], second: &[f64]) -> Self {
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        let n = float(differences.len());
        if differences.is_empty() {
            return Self { worlds: 0, mean: 0.0, error: 0.0 };
        }
        let mean = differences.iter().sum::<f64>() / n;
        let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        let variance = if differences.len() < 2 { 0.0 } else { squares / (n - 1.0) };
        Self { worlds: differences.len(), mean, error: libm::sqrt(variance / n) }
    }

    /// The two-sided interval of 95 % by Student's distribution.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        self.interval_at(Z95)
    }

    /// The interval of a normal quantile, widened for the number of worlds.
    #[must_use]
    pub fn interval_at(&self, z: f64) -> (f64, f64) {
        let half = self.error * student(z, self.worlds.saturating_sub(1));
        (self.mean - half, self.mean + half)
    }

    /// The verdict by the interval of 95 %.
    #[must_use]
    pub fn verdict(&self) -> DifferenceVerdict {
        let (low, high) = self.interval();
        if high < 0.0 {
            DifferenceVerdict::Lower
        } else if low > 0.0 {
            DifferenceVerdict::Higher
        } else {
            DifferenceVerdict::WithinNoise
        }
    }
}

/// Student's quantile of so many degrees of freedom for a normal quantile, by the expansion of Cornish
/// and Fisher (Abramowitz and Stegun 26.7.5); for one degree the exact values are far apart, and two
/// worlds prove nothing anyway.
fn student(z: f64, freedom: usize) -> f64 {
    if freedom == 0 {
        return f64::INFINITY;
    }
    let n = float(freedom);
    let (z2, z3) = (z * z, z * z * z);
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z2 * z3 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z2 * z2 * z3 + 19.0 * z2 * z3 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + first / n + second / (n * n) + third / (n * n * n)
}

#[expect(clippy::cast_precision_loss, reason = "a number of worlds")]
const fn float(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_agrees_with_the_tables() {
        // Student's t at 97.5 %: 2.571 for 5, 2.228 for 10, 2.042 for 30.
        for (freedom, table) in [(5, 2.571), (10, 2.228), (30, 2.042)] {
            let found = student(Z95, freedom);
            assert!((found - table).abs() < 0.01, "{freedom}: {found}");
        }
    }

    #[test]
    fn equal_costs_are_no_difference_and_one_world_proves_nothing() {
        let same = PairedDifference::of(&[1.0; 9], &[1.0; 9]);
        assert_eq!((same.mean, same.verdict()), (0.0, DifferenceVerdict::WithinNoise));
        let one = PairedDifference::of(&[1.0], &[2.0]);
        assert_eq!(one.verdict(), DifferenceVerdict::WithinNoise);
    }
}
