//! The flags of `stagger storm --from-log` about the log and its outages.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use stagger_core::{Ratio, Span};
use stagger_replay::{OutageThresholds, RetryRule, Stamp, StatedOutage};

/// The facts that are known besides the log, and the lines of it that count.
#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// State a fault, because a log shows only what came of it: 2026-01-31T22:10:00Z+5s:hung, or a span
    /// since the log begins, and refused, hung, failing=0.2 or slow=5 [as inferred]
    #[arg(long, value_name = "FROM+LASTS[:KIND]", requires = "from_log", value_parser = outage)]
    pub(crate) outage: Vec<StatedOutage>,

    /// The rule that tells retries without numbers and ids: by client and request, or not at all [guess]
    #[arg(long, value_name = "RULE", requires = "from_log", value_parser = retries())]
    pub(crate) retries: Option<RetryRule>,

    /// Leave out attempts of the log that began earlier
    #[arg(long, value_name = "TIME", requires = "from_log", value_parser = stamp)]
    pub(crate) from: Option<Stamp>,

    /// Leave out attempts of the log that began then or later
    #[arg(long, value_name = "TIME", requires = "from_log", value_parser = stamp)]
    pub(crate) until: Option<Stamp>,

    /// Per cent above the usual failing share at which an outage begins [30]
    #[arg(long, value_name = "POINTS", requires = "from_log", value_parser = points)]
    pub(crate) outage_share: Option<Ratio>,

    /// The same for failures that last, over 200 attempts and 5 s at least [10]
    #[arg(long, value_name = "POINTS", requires = "from_log", value_parser = points)]
    pub(crate) sustained_share: Option<Ratio>,

    /// The factor by which attempts in a slow stretch take longer than usual [4]
    #[arg(long, value_name = "TIMES", requires = "from_log", value_parser = times)]
    pub(crate) slow_factor: Option<Ratio>,

    /// The shortest stretch without a line that is told [10s]
    #[arg(long, value_name = "TIME", requires = "from_log", value_parser = span)]
    pub(crate) hole: Option<Span>,

    /// Also write the replay as a scenario file, which stagger storm FILE plays
    #[arg(long, value_name = "FILE.toml", requires = "from_log", value_hint = ValueHint::FilePath)]
    pub(crate) export: Option<PathBuf>,
}

impl ReplayFlags {
    /// The bounds of outages.
    pub(crate) fn thresholds(&self) -> OutageThresholds {
        let usual = OutageThresholds::default();
        OutageThresholds {
            share: self.outage_share.unwrap_or(usual.share),
            sustained: self.sustained_share.unwrap_or(usual.sustained),
            slow: self.slow_factor.unwrap_or(usual.slow),
            hole: self.hole.unwrap_or(usual.hole),
        }
    }
}

fn outage(text: &str) -> Result<StatedOutage, String> {
    text.parse().map_err(|error: stagger_core::ConfigError| format!("must be {}", error.bound()))
}

fn retries() -> impl TypedValueParser<Value = RetryRule> {
    PossibleValuesParser::new(["guess", "none"]).map(|rule| match rule.as_str() {
        "none" => RetryRule::None,
        _ => RetryRule::Guess,
    })
}

fn stamp(text: &str) -> Result<Stamp, String> {
    Stamp::read(text).ok_or_else(|| "must be a time as in a log: 2026-01-31T22:10:00Z".to_owned())
}

fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("must be {error}"))
}

fn points(text: &str) -> Result<Ratio, String> {
    let points = text.parse().ok().filter(|points: &u32| (1..=100).contains(points));
    points.map(Ratio::from_percent).ok_or_else(|| "must be a whole number from 1 to 100".to_owned())
}

fn times(text: &str) -> Result<Ratio, String> {
    let times = text.parse().ok().filter(|times: &f64| (1.1..=1_000.0).contains(times));
    let times = times.ok_or_else(|| "must be a number from 1.1 to 1000".to_owned())?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    // OK because 1000 times a million fits.
    Ok(Ratio::from_ppm((times * f64::from(Ratio::SCALE)).round() as u32))
}
