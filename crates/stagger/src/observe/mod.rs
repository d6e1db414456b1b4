//! Every retry made visible: `tracing` events and `metrics` figures, each by its feature.
//!
//! A clean first try is silent, and costs nothing here: no formatting, no allocation, no reading of
//! the clock. Everything else is reported once, the same for async, blocking and hedged calls. Names
//! follow OpenTelemetry: dotted, in one namespace, times in seconds. Labels are bounded: verdicts,
//! stop reasons, breaker states, and the constant given to [`Retrier::named`](crate::Retrier::named).
//!
//! # Events (feature `tracing`, target `stagger`)
//!
//! | event | level | when | fields |
//! | --- | --- | --- | --- |
//! | `stagger.retry` | info | a retry is decided, before its delay | `stagger.attempt` (the one that failed), `stagger.delay`, `stagger.verdict`, `stagger.hint` |
//! | `stagger.hold` | info | an attempt waits, because another call was given a hint for all | `stagger.delay` |
//! | `stagger.hedge` | debug | a further copy of a slow call is launched | `stagger.attempt` |
//! | `stagger.end` | see below | a call ends, unless by a clean first try | `stagger.stop_reason`, `stagger.attempts`, `stagger.elapsed`, `stagger.hint` |
//! | `stagger.store.unreachable`, `stagger.store.reachable` | warn, info | the store of a shared budget or breaker answers no more, answers again (feature `redis`) | `stagger.budget`, `stagger.store` |
//! | `stagger.breaker.opened`, `stagger.breaker.closed` | warn, info | a shared breaker has opened, or closed, for what another process saw (feature `redis`) | `stagger.breaker`, `stagger.store` |
//!
//! Those of calls carry `stagger.destination` when there is a name. The end of a call is info when it succeeded
//! after all, debug when no retry would have helped (permanent, cancelled, dropped), else a warning.
//!
//! # Metrics (feature `metrics`)
//!
//! | metric | kind | labels | counts |
//! | --- | --- | --- | --- |
//! | `stagger.retries` | counter | `stagger.verdict` | retries decided; the breaker may still refuse one after its delay |
//! | `stagger.retry.delay` | histogram, s | `stagger.verdict` | their delays |
//! | `stagger.hedges` | counter | | further copies of slow calls |
//! | `stagger.stops` | counter | `stagger.stop_reason` | ends of calls, clean first tries left out |
//! | `stagger.call.attempts` | histogram | `stagger.stop_reason` | attempts of the same calls |
//! | `stagger.budget.level` | gauge | | retries that the budget would grant in a row |
//! | `stagger.budget.grants`, `.refusals`, `.refunds` | counter | | what the budget answered |
//! | `stagger.breaker.state` | gauge | `stagger.breaker.state` | 1 for the state that the breaker is in, 0 for the others |
//! | `stagger.breaker.refusals`, `.openings` | counter | | attempts that the breaker refused, and how often it opened |
//! | `stagger.budget.permits` | gauge | | leased permits that a process holds (feature `redis`) |
//! | `stagger.budget.leased`, `.lease_denied`, `.local_granted` | counter | | permits that the store granted and did not, and retries granted without it |
//! | `stagger.budget.store_up` | gauge | | 1 while the store answers, 0 while it does not |
//! | `stagger.breaker.remote_moves`, `.probes_leased` | counter | | moves of a shared breaker that other processes caused, and probes that the store granted (feature `redis`) |
//!
//! All carry `stagger.destination` when there is a name. Those of budgets and breakers are a ledger's
//! own: `report_ledger` and `report_shared` report them, as often as they are called.

mod events;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "tracing")]
mod tracing;

#[cfg(feature = "redis")]
pub(crate) use events::{breaker_closed, breaker_opened, store_reachable, store_unreachable};
pub(crate) use events::{ended, hedged, held, retried};
#[cfg(all(feature = "metrics", feature = "redis"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "metrics", feature = "redis"))))]
pub use metrics::report_shared;
#[cfg(feature = "metrics")]
#[cfg_attr(docsrs, doc(cfg(feature = "metrics")))]
pub use metrics::{describe_metrics, report_ledger};
