//! The quantity that differs between the cases of a report: a name, a unit, and an axis.

use stagger_sim::StormReport;

use crate::chart::Axis;

/// `outage [s]` in its two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Varied {
    pub(crate) name: String,
    pub(crate) unit: String,
}

/// From this factor between the ends on, equal factors are clearer than equal steps.
const LOG_FROM: f64 = 20.0;

impl Varied {
    /// The quantity that differs between cases, if there are two or more and they vary something.
    pub(crate) fn of(report: &StormReport) -> Option<Self> {
        let varied = report.varied.as_deref().filter(|_| report.cases.len() > 1)?;
        Some(Self::named(varied))
    }

    pub(super) fn named(text: &str) -> Self {
        let (name, unit) = match text.split_once('[') {
            Some((name, unit)) => (name.trim(), unit.trim_end_matches(']').trim()),
            None => (text.trim(), ""),
        };
        Self { name: name.to_owned(), unit: unit.to_owned() }
    }

    /// Whether the cases vary how much there is to do.
    pub(super) fn is_load(&self) -> bool {
        self.name.contains("load") || self.name.contains("rate") && self.unit == "1/s"
    }

    /// Whether they vary how often attempts fail.
    pub(crate) fn is_failures(&self) -> bool {
        self.name.to_lowercase().starts_with("fail")
    }

    /// The axis over all cases, and over these values too.
    pub(super) fn axis(&self, report: &StormReport, more: impl IntoIterator<Item = f64>) -> Axis {
        let values = report.cases.iter().map(|case| case.value).chain(more);
        let (from, to) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if from > 0.0 && to / from >= LOG_FROM {
            return Axis::log(&self.name, &self.unit, from, to);
        }
        Axis::linear(&self.name, &self.unit, from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_told_from_the_name() {
        let varied = Varied::named("load [1/s]");
        assert_eq!((varied.name.as_str(), varied.unit.as_str()), ("load", "1/s"));
        assert!(varied.is_load() && !varied.is_failures());
        assert!(Varied::named("failing [%]").is_failures());
        assert_eq!(Varied::named("clients").unit, "");
    }
}
