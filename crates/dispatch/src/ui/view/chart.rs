//! AttemptRates by the second: first attempts, and retries on top of them.

use std::fmt::Write;

use super::figure;
use crate::model::EndpointId;
use crate::node::AttemptRates;

/// Height of the picture, whatever the numbers are.
const HEIGHT: u64 = 1_000;

/// The picture that is there without scripts, and where scripts get the numbers.
#[derive(Clone, Debug)]
pub(in crate::ui) struct Chart {
    /// The URL of the numbers.
    pub(in crate::ui) source: String,
    /// Seconds shown: the width of the picture.
    pub(in crate::ui) width: usize,
    /// The outline of the first attempts, as SVG says it.
    pub(in crate::ui) first_path: String,
    /// The outline of the retries on top of them.
    pub(in crate::ui) retries_path: String,
    pub(in crate::ui) first: String,
    pub(in crate::ui) retries: String,
    /// The most in one second.
    pub(in crate::ui) peak: String,
}

impl Chart {
    pub(in crate::ui) fn new(arrivals: &AttemptRates, endpoint: Option<EndpointId>) -> Self {
        let source = match endpoint {
            Some(id) => format!("/ui/attempt-rates?endpoint={id}"),
            None => "/ui/attempt-rates".into(),
        };
        let bars: Vec<_> =
            arrivals.seconds.iter().map(|s| (u64::from(s.first), u64::from(s.retries))).collect();
        let peak = bars.iter().map(|(first, retries)| first + retries).max().unwrap_or(0);
        let level = |n: u64| HEIGHT - HEIGHT * n / peak.max(1);
        let outline = |bar: fn(&(u64, u64)) -> (u64, u64)| {
            outline(bars.iter().map(bar).map(|(from, to)| (level(from), level(to))))
        };
        Self {
            source,
            width: bars.len().max(1),
            first_path: outline(|(first, _)| (0, *first)),
            retries_path: outline(|(first, retries)| (*first, first + retries)),
            first: figure(bars.iter().map(|(first, _)| first).sum()),
            retries: figure(bars.iter().map(|(_, retries)| retries).sum()),
            peak: figure(peak),
        }
    }
}

/// One rectangle a second, none where there is nothing.
fn outline(bars: impl Iterator<Item = (u64, u64)>) -> String {
    let mut path = String::new();
    for (x, (bottom, top)) in bars.enumerate().filter(|(_, (bottom, top))| bottom != top) {
        // Writing into a string cannot fail.
        let _ = write!(path, "M{x} {bottom}V{top}h1V{bottom}z");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Second;

    #[test]
    fn retries_stand_on_first_attempts() {
        let second = |first, retries| Second { first, retries, ..Second::default() };
        let seconds = vec![second(0, 0), second(1_000, 0), second(500, 1_500)];
        let chart = Chart::new(&AttemptRates { seconds }, None);
        assert_eq!(chart.first_path, "M1 1000V500h1V1000zM2 1000V750h1V1000z");
        assert_eq!(chart.retries_path, "M2 750V0h1V750z");
        assert_eq!((chart.width, chart.peak.as_str()), (3, "2000"));
    }

    #[test]
    fn nothing_at_all_is_an_empty_picture() {
        let chart = Chart::new(&AttemptRates::default(), None);
        assert_eq!((chart.width, chart.first_path.as_str()), (1, ""));
    }
}
