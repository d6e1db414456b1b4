//! A row of bars in one line of text.

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars for `values` against the height `full`; what is above nothing gets at least the lowest bar.
pub(crate) fn sparkline(values: &[f64], full: f64) -> String {
    let bars = values.iter().map(|&value| BARS[height(value, full)]);
    bars.collect::<String>().trim_end().to_owned()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at 0..=8")]
fn height(value: f64, full: f64) -> usize {
    if value <= 0.0 || full <= 0.0 {
        return 0;
    }
    // OK because a cast from float to integer saturates, and the result is clamped.
    ((value / full * 8.0).round() as usize).clamp(1, 8)
}

/// Buckets merged to at most `width` bars, each the fullest of `per_bar` buckets.
pub(crate) fn merged(buckets: &[f64], per_bar: usize) -> Vec<f64> {
    buckets.chunks(per_bar.max(1)).map(|part| part.iter().copied().fold(0.0, f64::max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_still_seen_and_nothing_is_not() {
        assert_eq!(sparkline(&[1000.0, 0.0, 0.1, 500.0], 1000.0), "█ ▁▄");
        assert_eq!(sparkline(&[0.0, 0.0], 0.0), "");
    }

    #[test]
    fn merging_keeps_the_peak() {
        assert_eq!(merged(&[1.0, 5.0, 2.0], 2), [5.0, 2.0]);
    }
}
