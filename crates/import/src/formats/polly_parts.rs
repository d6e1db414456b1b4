//! The strategies of Polly: retry, circuit breaker and hedging, each as a part of a policy.

use stagger_core::breaker::BreakerPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Backoff, Jitter, PolicyBuilder, Ratio, Span};

use crate::spans::timespan;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

pub(super) const FORM: &str = "a TimeSpan such as 00:00:02";
const DELAY: Span = Span::from_secs(2);
/// `RetryHelper`: a quarter up and a quarter down.
const JITTER: Jitter = Jitter::Symmetric(Ratio::from_percent(25));
/// The most copies of a call that the engine sends.
const MOST_COPIES: u32 = 5;

#[derive(Clone, Copy)]
enum Growth {
    Constant,
    Linear,
    Exponential,
}

/// The retry strategy.
pub(super) fn retry_of(
    builder: PolicyBuilder,
    retry: &SettingsTable<'_>,
    standard: bool,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let words = [
        ("Constant", Growth::Constant),
        ("Linear", Growth::Linear),
        ("Exponential", Growth::Exponential),
    ];
    let usual = if standard { Growth::Exponential } else { Growth::Constant };
    // .NET binds an enumeration by its number, too.
    let number = retry.get("BackoffType").and_then(|(_, value)| value.as_u64());
    let number = number.and_then(|number| words.get(usize::try_from(number).ok()?));
    let growth = match number {
        Some((_, growth)) => *growth,
        None => retry.word("BackoffType", &words)?.unwrap_or(usual),
    };
    let jitter = retry.flag("UseJitter")?.unwrap_or(standard);
    let retries = retry.count("MaxRetryAttempts", (1, u32::MAX - 1))?.unwrap_or(3);
    let delay = retry.span("Delay", timespan, FORM)?.unwrap_or(DELAY);
    let most = retry.span("MaxDelay", timespan, FORM)?;
    let smooth = jitter && matches!(growth, Growth::Exponential);
    let free = match growth {
        Growth::Constant => Ok(Backoff::constant(delay)),
        Growth::Linear => Backoff::linear(delay, Span::MAX),
        Growth::Exponential => Backoff::exponential(delay, Span::MAX),
    };
    let free = free.map_err(retry.refused("Delay"))?;
    let cap = most.unwrap_or_else(|| free.ceiling(retries));
    let rule =
        Backoff::new(free.envelope(), delay.min(cap), cap).map_err(retry.refused("MaxDelay"))?;
    let law = match (jitter, smooth) {
        (false, _) => Jitter::None,
        (true, false) => JITTER,
        (true, true) => Jitter::Full,
    };
    if smooth {
        let why = "Polly's own formula (decorrelated jitter v2) is not here; full jitter below the same \
                   envelope has medians of 0.5, 1 and 2 delays where Polly has 0.9, 1.1 and 2";
        retry.nearly("UseJitter", why, imported);
        if !retry.has("UseJitter") {
            imported.leave_out(retry.at("UseJitter"), "true by default", why);
        }
    } else if jitter && most.is_some() {
        retry.nearly(
            "MaxDelay",
            "here it bounds the ceiling, and jitter may exceed it by a quarter",
            imported,
        );
    } else if !jitter {
        imported.note("Without UseJitter callers that fail together come back together.");
    }
    match retry.flag("ShouldRetryAfterHeader")? {
        Some(false) => retry.nearly("ShouldRetryAfterHeader", "here Retry-After is obeyed up to hints.max", imported),
        Some(true) => {}
        None if standard => {}
        None => imported.note("Polly's plain retry reads no hints; here Retry-After and its kin are obeyed up to 60 s."),
    }
    retry.leave_rest(imported, |key| match key {
        "shouldhandle" | "delaygenerator" | "onretry" => {
            "code, not a setting: classify, and observe"
        }
        "name" => "the name of the strategy in telemetry",
        _ => "no such setting here",
    });
    let rule = rule.with_jitter(law).map_err(retry.refused("UseJitter"))?;
    Ok(builder.max_attempts(retries + 1).backoff(rule))
}

/// The circuit breaker.
pub(super) fn breaker_of(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<BreakerPlan, ImportError> {
    let ratio = table.number("FailureRatio", (0.0, 1.0))?.unwrap_or(0.1);
    let minimum = table.count("MinimumThroughput", (2, u32::MAX))?.unwrap_or(100);
    let window = table.span("SamplingDuration", timespan, FORM)?.unwrap_or(Span::from_secs(30));
    let open = table.span("BreakDuration", timespan, FORM)?.unwrap_or(Span::from_secs(5));
    let share = table.share("FailureRatio", ratio)?;
    table.leave_rest(imported, |_| "code or a name, not a setting");
    imported.note("An open time is stretched at random by up to a half here, so that a fleet does not probe together.");
    BreakerPlan::builder()
        .window(window)
        .ratio(share)
        .minimum_calls(minimum)
        .open_time(open)
        .open_factor(Ratio::ONE)
        .open_cap(open)
        .build()
        .map_err(|error| {
            let key = match error.field() {
                "breaker.ratio" => "FailureRatio",
                "breaker.window" => "SamplingDuration",
                "breaker.minimum_calls" => "MinimumThroughput",
                _ => "BreakDuration",
            };
            table.refused(key)(error)
        })
}

/// The hedging strategy: copies of a call after a delay.
pub(super) fn hedge_of(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<HedgePlan, ImportError> {
    let more = table.count("MaxHedgedAttempts", (1, 10))?.unwrap_or(1);
    if more >= MOST_COPIES {
        table.nearly("MaxHedgedAttempts", "at most 5 copies are sent here", imported);
    }
    let delay = table.span("Delay", timespan, FORM)?.unwrap_or(DELAY);
    table.leave_rest(imported, |_| "code or a name, not a setting");
    HedgePlan::fixed(delay, (more + 1).min(MOST_COPIES)).map_err(table.refused("Delay"))
}
