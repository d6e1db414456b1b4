//! The names that a user of the library sees: each is there because somebody wrote it down.

use std::collections::BTreeMap;
use std::error::Error;

use syn::{Item, UseTree, Visibility};

/// The names of each public module, whatever features they need, except those of modules in files of their own.
const NAMES: &[(&str, &str)] = &[
    (
        "stagger",
        "AdaptiveStats AttemptEnd AttemptInfo AttemptTimeout Backoff Batch Breaker Budget \
         CallReport Cancel Cause Classifier Classify Clock ConcurrencyLimit ConcurrencyStats \
         ConfigError ContextGuard Done Entropy Envelope Error Factor Hint HintRule HintScope \
         History Instant Jitter KeptLedger LedgerStats Ledgers Limits LocalLedger LongHint \
         NextDelivery NextStep OsEntropy Outcome ParseSpanError Pause Policy PolicyBuilder \
         PollError PollStop Poller Progress Rate RateLimit RateLimitStats Ratio Received \
         Reconnect Redelivery Remedy Retrier RetryCall Retryable RetryableBlocking Rng \
         SettledAttempt Sleep Span StdTime Stop TokioTime Verdict adaptive breaker budget call \
         classify concurrency context engine hedge hint http observe rate_limit reqwest \
         retry retry retry_blocking service_config tonic tower",
    ),
    ("stagger::adaptive", "AdaptivePlan AdaptiveReport ClientThrottlePlan Pacing"),
    ("stagger::breaker", "BreakerPlan BreakerPlanBuilder Counts Report StateKind Trip WindowKind"),
    ("stagger::budget", "BudgetPlan FloorRate IntervalPlan ThrottlePlan TokenPlan WindowPlan"),
    (
        "stagger::call",
        "Batched Blocking BlockingBatch BlockingOperation ByError ByResult ByType CallContext \
         CallSite Destination EveryError Hedged InContext Independent Informed Notify Operation \
         Plain Retried RetryAfter RetryFuture RetryIf SiteRetrier SiteTime",
    ),
    (
        "stagger::classify",
        "Code CodeSet HttpReply HttpRules MAX_SOURCE_DEPTH TransportRules UnknownCode \
         classify_error classify_grpc classify_io is_idempotent read_should_retry sources",
    ),
    ("stagger::concurrency", "ConcurrencyPlan"),
    (
        "stagger::engine",
        "Action Ask Attempt AttemptLimiter Call DestinationPause Detached Entrance FirstAttempt \
         FirstRefused Launched Ledger LimitPermit Parked Permit PlainLedger Retry Saved Session \
         Step Wait adaptive breaker budget concurrency hedge rate_limit",
    ),
    ("stagger::engine::adaptive", "AdaptiveLimit ClientThrottle CubicLimiter CubicRate"),
    ("stagger::engine::breaker", "Admission Breaker Call Destination Ticket Transition"),
    (
        "stagger::engine::budget",
        "Budget Charge IntervalState Level Paid SavedBudget Settled ThrottleState TokenState \
         WindowState",
    ),
    ("stagger::engine::concurrency", "ConcurrencyLimiter Entry Turn"),
    ("stagger::engine::hedge", "Hedging Latencies"),
    ("stagger::engine::rate_limit", "RateLimiter Reservation"),
    ("stagger::hedge", "HedgePlan"),
    (
        "stagger::hint",
        "HintReader RateLimit RateLimitPolicy ResetHeader ResetMeaning WallTime http_date \
         pushback rate_limit_hint rate_limit_reset retry_after retry_after_ms retry_delay \
         retry_info status_details structured",
    ),
    ("stagger::rate_limit", "RatePlan"),
];

#[test]
fn a_name_came_into_the_library_or_left_it_unnoticed() -> Result<(), Box<dyn Error>> {
    let mut names = BTreeMap::new();
    collect("stagger", &syn::parse_file(include_str!("../src/lib.rs"))?.items, &mut names)?;
    let engine = syn::parse_file(include_str!("../src/engine.rs"))?.items;
    collect("stagger::engine", &engine, &mut names)?;
    let found: Vec<_> =
        names.iter().map(|(path, names)| (path.as_str(), names.join(" "))).collect();
    let expected: Vec<_> = NAMES.iter().map(|(path, names)| (*path, (*names).to_owned())).collect();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn a_glob_exported_names_that_nobody_wrote_down() -> Result<(), Box<dyn Error>> {
    let items = syn::parse_file("pub use stagger_core::*;")?.items;
    assert!(collect("stagger", &items, &mut BTreeMap::new()).is_err());
    Ok(())
}

/// Collects the public names among `items` by the path of their module.
fn collect(
    path: &str,
    items: &[Item],
    names: &mut BTreeMap<String, Vec<String>>,
) -> Result<(), String> {
    let mut here = Vec::new();
    for item in items {
        match item {
            Item::Use(it) if is_public(&it.vis) => leaves(&it.tree, &mut here)?,
            Item::Mod(it) if is_public(&it.vis) => {
                here.push(it.ident.to_string());
                if let Some((_, items)) = &it.content {
                    collect(&format!("{path}::{}", it.ident), items, names)?;
                }
            }
            _ => {}
        }
    }
    here.sort();
    names.insert(path.to_owned(), here);
    Ok(())
}

fn leaves(tree: &UseTree, names: &mut Vec<String>) -> Result<(), String> {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Name(name) => {
            names.push(name.ident.to_string());
            Ok(())
        }
        UseTree::Rename(rename) => {
            names.push(rename.rename.to_string());
            Ok(())
        }
        UseTree::Group(group) => group.items.iter().try_for_each(|tree| leaves(tree, names)),
        _ => Err("a glob exports names that nobody wrote down".to_owned()),
    }
}

const fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}
