//! The storm lab of stagger: the production engine against modelled outages, in virtual time.
//!
//! A [`RunPlan`] says when callers arrive, how they retry, what their processes remember, what the
//! backend is like and what goes wrong with it; a [`Simulation`] plays it from the first attempt to the
//! last under one seed. A [`Scenario`] plays many plans under many seeds and gives back a [`StormReport`]
//! of plain figures; [`CATALOGUE`] lists the scenarios that ship.
//!
//! ```
//! use stagger_core::Span;
//! use stagger_sim::{ThreadPool, Law, Named, StormOptions};
//! let options = StormOptions {
//!     runs: Some(20),
//!     up_at: Some(Span::from_millis(200)),
//!     laws: vec![Law::Full],
//!     ..StormOptions::default()
//! };
//! let lockstep = Named::find("L3").expect("it ships").scenario(&options)?;
//! let report = lockstep.run(&ThreadPool::single());
//! let [no_retry, full] = &report.cases[0].rows[..] else { panic!("one row an entry") };
//! // A caller that fails and never retries is not served; six attempts with full jitter serve all.
//! assert_eq!(no_retry.success, 0.0);
//! assert!(full.success > 0.99);
//! assert!((full.amplification - 3.91).abs() < 0.1);
//! # Ok::<(), stagger_core::ConfigError>(())
//! ```
//!
//! Callers drive the machine of `stagger-core` itself: no delay is computed here a second time.
//!
//! # The same bytes everywhere
//! Time is whole nanoseconds. Events happen in the order (time, class, client), see [`CallerEvent`].
//! Every draw is a hash of the seed, the purpose, the client and the attempt, see [`RandomStream`], so
//! nothing depends on who draws first. Figures are sums of whole numbers, so runs may be played by
//! any number of threads, see [`ThreadPool`]. What is not uniform goes through `libm`, not the platform.
#![forbid(unsafe_code)]

mod dist;
mod foreign;
mod law;
mod ledgers;
mod plan;
mod probe;
mod queue;
mod run_tally;
mod scenario;
mod server;
mod simulation;
mod stat;
mod storm_report;
mod streams;
mod thread_pool;
mod waits;

pub use foreign::Foreign;
pub use law::{Law, Schedule};
pub use plan::{
    ArrivalProcess, ArrivalTimes, Away, Backend, Bystanders, CallerLayer, Cancel, ColdStart,
    Connections, Deposit, Fault, FirstCalls, FirstTriesRule, Fleet, Full, Hop, LedgerModel,
    MeasurementPlan, Paying, QueueDiscipline, Ramp, Recovery, RecoveryState, RunPlan, Scope,
    ServerRateLimit, Service, SharedBudget, Stretch, Trouble, Workers,
};
pub use probe::{BUCKET, FirstTries, KEPT_BUCKETS, Latency, MeterCounts, Strip};
pub use queue::{CallerEvent, Class, Heap, Queue, Wheel};
pub use scenario::{
    CATALOGUE, Contention, Growth, Mean, Named, Peak, Play, Scenario, ScenarioCase, ScenarioEntry,
    Shape, Shapes, ShapesReport, StormOptions, Wave,
};
pub use simulation::{Played, Series, Simulation};
pub use stat::Stat;
pub use storm_report::{
    CaseReport, EntryReport, EntrySeries, Healing, RecoveryVerdict, StormReport,
};
pub use streams::{Draw, Purpose, RandomStream};
pub use thread_pool::ThreadPool;
pub use waits::Equal;
