//! `--sweep KEY=A..B/STEPS`: the values of one setting.

use stagger_core::Span;

use crate::command_error::CommandError;

/// A key with its values, as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SweepAxis {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

/// Values unless the text says how many.
const STEPS: u64 = 8;
/// As many columns as a screen has room for.
const MAX_STEPS: u64 = 40;

impl SweepAxis {
    /// Reads one.
    ///
    /// # Errors
    /// A text of another form.
    pub(super) fn parse(text: &str) -> Result<Self, CommandError> {
        let read = || {
            let (key, range) = text.split_once('=')?;
            let (from, rest) = range.split_once("..")?;
            let (to, steps) = match rest.split_once('/') {
                Some((to, steps)) => (to, steps.parse().ok()?),
                None => (rest, STEPS),
            };
            let steps = Some(steps).filter(|steps| (2..=MAX_STEPS).contains(steps))?;
            let values = spans(from, to, steps).or_else(|| numbers(from, to, steps))?;
            let key = (!key.is_empty()).then(|| key.to_owned())?;
            Some(Self { key, values })
        };
        read().ok_or_else(|| {
            CommandError::bad_value(&format!(
                "invalid value '{text}' for '--sweep': must be KEY=A..B/STEPS with two spans or two \
                 numbers and from 2 to {MAX_STEPS} steps, such as base=50ms..1s/8"
            ))
        })
    }
}

fn spans(from: &str, to: &str, steps: u64) -> Option<Vec<String>> {
    let (from, to): (Span, Span) = (from.parse().ok()?, to.parse().ok()?);
    let (from, to) = (from.as_nanos(), to.as_nanos());
    let unit = unit(from.abs_diff(to) / (steps - 1));
    let at = |step| {
        let nanos = between(from, to, step, steps)?;
        let is_end = step == 0 || step + 1 == steps;
        let nanos = if is_end { nanos } else { nanos - nanos % unit };
        Some(Span::from_nanos(nanos).to_string())
    };
    (0..steps).map(at).collect()
}

/// A hundredth of the power of ten in one step: what is finer says nothing, and fills the screen.
fn unit(step: u64) -> u64 {
    10_u64.pow(step.checked_ilog10().unwrap_or(0).saturating_sub(2))
}

/// Whole numbers stay whole; others have six decimals at most.
fn numbers(from: &str, to: &str, steps: u64) -> Option<Vec<String>> {
    if let (Ok(from), Ok(to)) = (from.parse::<u64>(), to.parse::<u64>()) {
        let mut values: Vec<String> = (0..steps)
            .map(|step| Some(between(from, to, step, steps)?.to_string()))
            .collect::<Option<_>>()?;
        values.dedup();
        return Some(values);
    }
    let (from, to): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
    if !from.is_finite() || !to.is_finite() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 40 steps")]
    let at = |step: u64| from + (to - from) * step as f64 / (steps - 1) as f64;
    let shown = |value: f64| {
        let digits = format!("{value:.6}");
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    Some((0..steps).map(|step| shown(at(step))).collect())
}

/// The value of one step, the ends included; rounded down.
fn between(from: u64, to: u64, step: u64, steps: u64) -> Option<u64> {
    let (from, to, step) = (i128::from(from), i128::from(to), i128::from(step));
    u64::try_from(from + (to - from) * step / i128::from(steps - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_played() {
        let values = |text| SweepAxis::parse(text).unwrap().values;
        assert_eq!(values("outage=0.25s..1s/4"), ["250ms", "500ms", "750ms", "1s"]);
        assert_eq!(values("load=100..900/3"), ["100", "500", "900"]);
        assert_eq!(values("callers=1..2/5"), ["1", "2"]);
        assert_eq!(values("share=1..0.5/2"), ["1", "0.5"]);
        assert_eq!(values("base=1s..50ms").len(), 8);
        assert_eq!(values("base=50ms..1s/4"), ["50ms", "366ms", "683ms", "1s"]);
        assert_eq!(values("base=1ns..3ns/3"), ["1ns", "2ns", "3ns"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in
            ["", "base", "base=1s", "base=1s..2", "=1..2", "a=1..2/1", "a=1..2/41", "a=x..y"]
        {
            assert!(SweepAxis::parse(text).is_err(), "{text}");
        }
    }
}
