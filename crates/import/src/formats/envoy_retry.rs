//! Envoy's retries, which Istio, Envoy Gateway, Kuma and gateways of the Gateway API configure too.
//!
//! Defaults: <https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto#config-route-v3-retrypolicy>
//! (one retry, base interval 25 ms, longest interval ten times that, hints up to 300 s) and
//! <https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/circuit_breaker.proto> (a budget of 20 %, at
//! least 3 retries under way).

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Backoff, HintRule, LongHint, Rate, Ratio, Span};

use crate::spans::Read;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// The base interval of a route's retries.
pub(super) const BASE: Span = Span::from_millis(25);
/// The longest interval is so many times the base interval when it is not set.
pub(super) const GROWTH: u64 = 10;
const LONGEST_HINT: Span = Span::from_secs(300);
/// Envoy draws from one to one and a half times the interval that the server asked for.
const SPREAD: Ratio = Ratio::from_percent(50);

/// The notation of lengths of time, and a sentence about it.
pub(super) type Notation = (Read, &'static str);

/// Full jitter below an exponential envelope, from a table of two intervals.
pub(super) fn backoff(
    table: Option<&SettingsTable<'_>>,
    keys: (&str, &str),
    (read, form): Notation,
    usual: Span,
) -> Result<Backoff, ImportError> {
    let Some(table) = table else { return exponential(usual) };
    let base = table.span(keys.0, read, form)?.unwrap_or(usual);
    if base.is_zero() {
        return Err(ImportError::new(table.at(keys.0), "\"0s\"", "above 0s"));
    }
    let cap = table.span(keys.1, read, form)?.unwrap_or_else(|| base.saturating_mul(GROWTH));
    Backoff::exponential(base, cap).map_err(table.refused(keys.1))
}

/// The backoff of a base interval alone.
///
/// # Errors
/// None: the cap is never below the base.
pub(super) fn exponential(base: Span) -> Result<Backoff, ImportError> {
    let built = Backoff::exponential(base, base.saturating_mul(GROWTH));
    built.map_err(|error| ImportError::new(error.field(), error.value(), error.bound()))
}

/// The rule for hints of a `rate_limited_retry_back_off`.
pub(super) fn hints(
    limited: &SettingsTable<'_>,
    keys: (&str, &str),
    (read, form): Notation,
    imported: &mut Imported,
) -> Result<HintRule, ImportError> {
    let max = limited.span(keys.0, read, form)?.unwrap_or(LONGEST_HINT);
    let why =
        "Retry-After and the usual reset headers are read without being named; others are not";
    limited.nearly(keys.1, why, imported);
    limited.leave_rest(imported, |_| "no such setting here");
    imported.note(
        "Envoy waits its own back-off when a hint is longer than the longest interval; here such a hint \
         ends the call.",
    );
    HintRule::new(max, SPREAD, LongHint::Stop).map_err(limited.refused(keys.0))
}

/// A retry budget: a share of the calls, and the least number of retries under way.
pub(super) fn budget(
    table: &SettingsTable<'_>,
    percent_key: &str,
    percent: Option<f64>,
    least: Option<u32>,
    imported: &mut Imported,
) -> Result<BudgetPlan, ImportError> {
    let (percent, least) = (percent.unwrap_or(20.0), least.unwrap_or(3));
    let share = table.share(percent_key, percent / 100.0)?;
    let floor = FloorRate::AtLeast(Rate::per_second(least));
    let plan = WindowPlan::new(share).map(|plan| plan.with_floor(floor));
    imported.leave_out(
        table.path.clone(),
        format!("{percent}%, at least {least}"),
        "Envoy counts retries under way against calls under way; here it is retries against first \
         attempts of the last 10 s, and the minimum is so many a second",
    );
    plan.map(BudgetPlan::from).map_err(table.refused(percent_key))
}

/// Failures in a row of one host, after which Envoy ejects it.
pub(super) fn ejection(
    table: &SettingsTable<'_>,
    failures: u32,
    time: Span,
    imported: &mut Imported,
) -> Result<BreakerPlan, ImportError> {
    imported.leave_out(
        table.path.clone(),
        format!("{failures} in a row, for {time}"),
        "Envoy ejects single hosts, each time for longer; here the breaker is that of the whole \
         destination, and its open time stays the same",
    );
    let plan = BreakerPlan::builder()
        .ratio(None)
        .consecutive(failures)
        .open_time(time)
        .open_factor(Ratio::ONE)
        .open_cap(time)
        .build();
    plan.map_err(|error| ImportError::new(table.path.clone(), error.value(), error.bound()))
}

/// The reasons why settings of Envoy's retries are left out, by their plain names.
pub(super) fn why(key: &str) -> &'static str {
    match key {
        "retryon"
        | "retriablestatuscodes"
        | "retriableheaders"
        | "retriablerequestheaders"
        | "retriableresponseheaders" => {
            "which failures are retried is said where calls are classified"
        }
        "retryhostpredicate"
        | "hostselectionretrymaxattempts"
        | "retrypriority"
        | "retryoptionspredicates"
        | "retryremotelocalities"
        | "retryignoreprevioushosts"
        | "hostselection"
        | "hostselectionmaxattempts"
        | "numattemptsperpriority" => "the choice of a host is the connector's",
        "pertryidletimeout" => "there is no limit on silence within an attempt",
        _ => "no such setting here",
    }
}

/// The remarks on every policy of Envoy.
pub(super) fn notes(imported: &mut Imported) {
    imported.note(
        "Envoy's page has retry N drawn from 0 to (2^N - 1) times the base; its code, and the policy, \
         draw it from 0 to 2^(N-1) times the base, below the cap.",
    );
    imported.note("Envoy decides by retry_on what is retried; here the caller's classifiers do.");
}

/// The remark on a policy without a budget.
pub(super) fn no_budget(imported: &mut Imported) {
    imported.note(
        "Without a retry_budget Envoy bounds retries by max_retries, 3 under way at once for each \
         cluster; a budget here counts over time, so it is unlimited: set [budget.window].",
    );
}

/// The remark on a policy without `rate_limited_retry_back_off`.
pub(super) fn no_hints(imported: &mut Imported) {
    imported.note(
        "Envoy reads no Retry-After without rate_limited_retry_back_off; here it is obeyed up to 60 s.",
    );
}
