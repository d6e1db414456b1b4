//! Storms from counters that are scraped: attempts and calls, or attempts and retries.

use std::collections::{BTreeMap, VecDeque};

use stagger_core::Span;

use crate::alarm::{Alarm, to_the_second};
use crate::exposition::Sample;
use crate::layers::LayerFactors;
use crate::retry_estimate::{AttemptEvidence, RetryEstimate};
use crate::settings::WatchSettings;
use crate::top_sources::TopSources;
use crate::verdict::{StormVerdict, WatchEvent};

/// The names of the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterNames {
    /// The counter of attempts.
    pub attempts: String,
    /// The counter of calls, or of retries.
    pub other: OtherCounter,
}

/// The counter beside that of attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherCounter {
    /// It counts calls.
    Calls(String),
    /// It counts retries.
    Retries(String),
}

/// Counters that are looked for when none is named: those of stagger, of Envoy, and of gRPC's
/// OpenTelemetry metrics (gRFC A66).
const KNOWN: [(&str, &str, bool); 3] = [
    ("stagger_call_attempts_sum", "stagger_call_attempts_count", true),
    ("envoy_cluster_upstream_rq_total", "envoy_cluster_upstream_rq_retry", false),
    ("grpc_client_attempt_started_total", "grpc_client_call_duration_seconds_count", true),
];

impl CounterNames {
    /// The first known pair of which both are in these samples.
    #[must_use]
    pub fn known(samples: &[Sample]) -> Option<Self> {
        let has = |name: &str| samples.iter().any(|sample| sample.name == name);
        let (attempts, other, is_calls) =
            KNOWN.into_iter().find(|(attempts, other, _)| has(attempts) && has(other))?;
        let other = other.to_owned();
        let other =
            if is_calls { OtherCounter::Calls(other) } else { OtherCounter::Retries(other) };
        Some(Self { attempts: attempts.to_owned(), other })
    }

    /// Whether a sample of this name belongs to any known pair.
    #[must_use]
    pub fn is_known(name: &str) -> bool {
        KNOWN.iter().any(|(attempts, other, _)| name == *attempts || name == *other)
    }

    /// Whether a sample of this name is one of these counters.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        name == self.attempts || name == self.other.name()
    }
}

impl OtherCounter {
    fn name(&self) -> &str {
        match self {
            Self::Calls(name) | Self::Retries(name) => name,
        }
    }
}

/// Finds retry storms in counters.
///
/// A counter that falls has begun again from zero. Synchrony and layers are not known, and neither is
/// what the server can serve.
///
/// ```
/// use stagger_core::Span;
/// use stagger_watch::{CounterNames, CounterWatch, WatchEvent, WatchSettings, parse_exposition};
/// let mut watch = None;
/// let mut events = Vec::new();
/// for second in 0..20 {
///     // A hundred calls a second, and three attempts for each from the tenth second on.
///     let attempts = if second < 10 { 100 * second } else { 1_000 + 300 * (second - 10) };
///     let page = format!(
///         "stagger_call_attempts_sum {attempts}\nstagger_call_attempts_count {}\n",
///         100 * second,
///     );
///     let samples = parse_exposition(&page, CounterNames::is_known)?;
///     let watch = watch.get_or_insert_with(|| {
///         let names = CounterNames::known(&samples).expect("stagger's own counters");
///         CounterWatch::new(WatchSettings::default(), names)
///     });
///     events.extend(watch.scrape(Span::from_secs(1_700_000_000 + second), &samples));
/// }
/// assert!(matches!(events[0], WatchEvent::Began(_)));
/// # Ok::<(), stagger_watch::ExpositionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CounterWatch {
    settings: WatchSettings,
    names: CounterNames,
    /// The last values by name and labels.
    series: BTreeMap<(bool, String), f64>,
    /// The increments of each scrape, the first of them at the end of a scrape without any.
    scrapes: VecDeque<Increment>,
    sources: TopSources,
    alarm: Alarm,
    left_out: u64,
}

#[derive(Clone, Copy, Debug)]
struct Increment {
    at: Span,
    attempts: f64,
    other: f64,
}

/// Series that are kept; a page with more is watched by the first of them.
const MOST_SERIES: usize = 10_000;
/// Scrapes that are kept: one a second over the longest window, and some.
const MOST_SCRAPES: usize = 128;
/// Sources that are named.
const NAMED: usize = 5;

impl CounterWatch {
    /// A watch of these counters that has seen nothing.
    #[must_use]
    pub fn new(settings: WatchSettings, names: CounterNames) -> Self {
        Self {
            settings,
            names,
            series: BTreeMap::new(),
            scrapes: VecDeque::new(),
            sources: TopSources::default(),
            alarm: Alarm::default(),
            left_out: 0,
        }
    }

    /// Takes the samples of a scrape at this time since the epoch.
    pub fn scrape(&mut self, at: Span, samples: &[Sample]) -> Option<WatchEvent> {
        let mut sum = Increment { at, attempts: 0.0, other: 0.0 };
        // A scrape before the last one, by a clock that was set back, starts the window again.
        if self.scrapes.back().is_some_and(|last| last.at >= at) {
            self.scrapes.clear();
        }
        for sample in samples.iter().filter(|sample| sample.value.is_finite()) {
            let is_attempts = sample.name == self.names.attempts;
            if !is_attempts && sample.name != self.names.other.name() {
                continue;
            }
            let grown = self.grown(is_attempts, sample);
            let labels = named(&sample.labels);
            match (is_attempts, &self.names.other) {
                (true, _) => sum.attempts += grown,
                (false, OtherCounter::Calls(_)) => sum.other += grown,
                (false, OtherCounter::Retries(_)) => {
                    sum.other += grown;
                    self.sources.note(&labels, grown);
                }
            }
        }
        self.scrapes.push_back(sum);
        let window = Span::from_secs(u64::from(self.settings.window_seconds()));
        while self.scrapes.len() > MOST_SCRAPES
            || self.scrapes.get(1).is_some_and(|next| at - next.at >= window)
        {
            self.scrapes.pop_front();
        }
        self.judge(at)
    }

    /// The figures of the window; `None` before the second scrape.
    #[must_use]
    pub fn window(&self) -> Option<StormVerdict> {
        let (first, last) = (self.scrapes.front()?, self.scrapes.back()?);
        let seconds = u32::try_from((last.at - first.at).as_secs_ceil()).unwrap_or(u32::MAX);
        (seconds > 0)
            .then(|| verdict(to_the_second(last.at), seconds, self.estimate(), &self.sources))
    }

    /// Whether a storm is on.
    #[must_use]
    pub const fn is_storm(&self) -> bool {
        self.alarm.is_on()
    }

    /// Samples that were left out, because there are more than 10 000 series.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The watch is over.
    pub fn finish(&mut self) -> Option<WatchEvent> {
        self.alarm.end()
    }

    fn judge(&mut self, at: Span) -> Option<WatchEvent> {
        let (now, estimate) = (self.window()?, self.estimate());
        let event = self.alarm.note(&self.settings, to_the_second(at), &estimate, || now);
        self.sources.fade();
        event
    }

    /// The growth of one counter since the last scrape; nothing for one that is new.
    fn grown(&mut self, is_attempts: bool, sample: &Sample) -> f64 {
        let key = (is_attempts, named(&sample.labels));
        if !self.series.contains_key(&key) && self.series.len() >= MOST_SERIES {
            self.left_out += 1;
            return 0.0;
        }
        match self.series.insert(key, sample.value) {
            Some(last) if last <= sample.value => sample.value - last,
            Some(_) => sample.value.max(0.0),
            None => 0.0,
        }
    }

    /// The first increment is of the time before the window.
    fn estimate(&self) -> RetryEstimate {
        let within = self.scrapes.iter().skip(1);
        let (attempts, other) =
            within.fold((0.0, 0.0), |sum, one| (sum.0 + one.attempts, sum.1 + one.other));
        let calls = match self.names.other {
            OtherCounter::Calls(_) => other,
            OtherCounter::Retries(_) => (attempts - other).max(0.0),
        };
        let evidence = AttemptEvidence::Number;
        RetryEstimate { attempts, calls: calls.min(attempts), error: 0.0, evidence }
    }
}

fn verdict(
    until: stagger_replay::Stamp,
    seconds: u32,
    estimate: RetryEstimate,
    sources: &TopSources,
) -> StormVerdict {
    StormVerdict {
        until,
        seconds,
        estimate,
        failing: None,
        one_in: 1,
        layers: LayerFactors::default(),
        synchrony: None,
        clients: Vec::new(),
        routes: sources.top(NAMED),
        budget: None,
    }
}

fn named(labels: &[(String, String)]) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, cluster: &str, value: f64) -> Sample {
        let labels = vec![("cluster".to_owned(), cluster.to_owned())];
        Sample { name: name.to_owned(), labels, value }
    }

    const TOTAL: &str = "envoy_cluster_upstream_rq_total";
    const RETRY: &str = "envoy_cluster_upstream_rq_retry";

    fn watch() -> CounterWatch {
        let samples = [sample(TOTAL, "a", 0.0), sample(RETRY, "a", 0.0)];
        CounterWatch::new(WatchSettings::default(), CounterNames::known(&samples).unwrap())
    }

    fn scrapes(watch: &mut CounterWatch, all: &[(u64, f64, f64)]) -> Vec<WatchEvent> {
        let events = all.iter().filter_map(|&(second, total, retries)| {
            let samples = [sample(TOTAL, "a", total), sample(RETRY, "a", retries)];
            watch.scrape(Span::from_secs(1_000 + second), &samples)
        });
        events.collect()
    }

    #[test]
    fn a_counter_that_falls_has_begun_again() {
        let mut watch = watch();
        let calm = [(0, 5_000.0, 10.0), (2, 5_200.0, 11.0), (4, 100.0, 1.0), (6, 300.0, 2.0)];
        assert_eq!(scrapes(&mut watch, &calm), []);
        let now = watch.window().unwrap();
        assert_eq!((now.estimate.attempts, now.estimate.retries()), (500.0, 3.0));
    }

    #[test]
    fn a_storm_is_named_by_its_labels_and_ends() {
        let mut watch = watch();
        let mut all = vec![(0, 0.0, 0.0), (1, 300.0, 200.0), (2, 600.0, 400.0)];
        all.extend(
            (3..30).map(|n| (n, 600.0 + 100.0 * f64::from(u32::try_from(n).unwrap()), 400.0)),
        );
        let events = scrapes(&mut watch, &all);
        let [WatchEvent::Began(storm), .., WatchEvent::Ended(summary)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!(storm.routes[0].name, "cluster=a");
        assert!((storm.estimate.attempts_a_call() - 3.0).abs() < 1e-9);
        assert!((summary.worst - 3.0).abs() < 1e-9);
        assert!(!watch.is_storm());
    }

    #[test]
    fn a_page_of_too_many_series_is_bounded() {
        let mut watch = watch();
        let all: Vec<_> = (0..20_000).map(|n| sample(TOTAL, &n.to_string(), 1.0)).collect();
        watch.scrape(Span::from_secs(1), &all);
        assert_eq!((watch.series.len(), watch.left_out()), (MOST_SERIES, 10_000));
    }
}
