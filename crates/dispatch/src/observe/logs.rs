//! The target and the format of log lines.

use std::io;

use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use super::traces::TARGET;
use crate::Error;

/// The variable with the log filter: `debug`, `stagger_dispatch=debug,info`, ... Default: `info`.
const VARIABLE: &str = "STAGGER_LOG_FILTER";

/// The format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends the log to standard error, for the whole process. The variable `STAGGER_LOG_FILTER` sets
/// the log filter, in the syntax of `tracing-subscriber`; default `info`.
///
/// # Errors
/// The process has a log already; the variable cannot be read.
pub fn init_logs(format: LogFormat) -> Result<(), Error> {
    install(format, None)
}

/// The layer that exports traces, if there is one.
type Extra = Option<Box<dyn Layer<Registry> + Send + Sync>>;

pub(super) fn install(format: LogFormat, traces: Extra) -> Result<(), Error> {
    let twice = |_| Error::conflict("this process already has a logger");
    let lines = lines(format, filter()?);
    tracing_subscriber::registry().with(traces).with(lines).try_init().map_err(twice)
}

fn lines<S>(format: LogFormat, filter: EnvFilter) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => layer.with_ansi(false).with_filter(filter).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
    }
}

/// The spans of attempts are for traces: as context of log lines they would only repeat the fields.
fn filter() -> Result<EnvFilter, Error> {
    let bound = "directives of tracing-subscriber, such as `info` or `stagger_dispatch=debug`";
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let wrong = |_| Error::invalid(VARIABLE, &text, bound);
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .parse(&text)
        .map_err(wrong)?;
    let silent = format!("{TARGET}=off").parse();
    Ok(silent.map_or(EnvFilter::default(), |silent| filter.add_directive(silent)))
}
