//! Medians and quantiles of what was measured.

use std::time::Duration;

/// The value in the middle; 0 for none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The smallest value that at least so many parts per thousand of `sorted` do not exceed, in ms.
pub(crate) fn quantile(sorted: &[Duration], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).map_or(0.0, |span| span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_value_that_occurred() {
        let sorted: Vec<Duration> = (1..=10).map(Duration::from_millis).collect();
        let found = [500, 900, 990, 1000].map(|per_mille| quantile(&sorted, per_mille));
        assert_eq!(found, [5.0, 9.0, 10.0, 10.0]);
        assert_eq!((quantile(&[], 500), median(vec![3.0, 1.0, 2.0])), (0.0, 2.0));
    }
}
