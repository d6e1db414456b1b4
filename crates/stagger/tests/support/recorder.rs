//! A recorder that writes down what it is told.

use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Hears every figure of this thread while it works.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures(Arc<Mutex<Vec<String>>>);

impl Figures {
    /// The figures of `work`: name, labels, what was done, and with which value.
    pub(crate) fn hear(work: impl FnOnce()) -> Vec<String> {
        let figures = Self::default();
        metrics::with_local_recorder(&figures, work);
        std::mem::take(&mut figures.0.lock().expect("no test panics while it writes"))
    }

    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<_> = key.labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(",")).replace("stagger.", "");
        Arc::new(Series { name, figures: self.clone() })
    }

    fn push(&self, line: String) {
        self.0.lock().expect("no test panics while it writes").push(line);
    }
}

impl Recorder for Figures {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.push(format!("counter {} in {unit:?}", name.as_str()));
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.push(format!("gauge {} in {unit:?}", name.as_str()));
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        self.push(format!("histogram {} in {unit:?}", name.as_str()));
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}

struct Series {
    name: String,
    figures: Figures,
}

impl Series {
    fn note(&self, what: &str, value: f64) {
        self.figures.push(format!("{} {what} {value}", self.name));
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.figures.push(format!("{} + {value}", self.name));
    }

    fn absolute(&self, value: u64) {
        self.figures.push(format!("{} = {value}", self.name));
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.note("+", value);
    }

    fn decrement(&self, value: f64) {
        self.note("-", value);
    }

    fn set(&self, value: f64) {
        self.note("=", value);
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.note("<-", value);
    }
}
