#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod dist;
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

pub use law::{Foreign, Law, Schedule};
pub use plan::{
    Abandonment, ArrivalProcess, ArrivalTimes, Autoscaling, Away, Backend, Balancer, Bystanders,
    Cache, CacheFill, CallerLayer, Cancel, Clicks, ColdStart, Connections, Crash, Criticality,
    Deposit, Ejection, Fault, FirstCalls, FirstTriesRule, Fleet, Full, Hop, LedgerModel,
    MeasurementPlan, Paying, Propagation, QueueDiscipline, Ramp, RateStep, Recovery, RecoveryState,
    Routing, RunPlan, Scope, ServerRateLimit, Service, SharedBudget, Shedding, Stretch, Trouble,
    Users, Workers,
};
pub use probe::{BUCKET, FirstTries, KEPT_BUCKETS, Latency, MeterCounts, Strip};
pub use queue::{CallerEvent, Class, Heap, Queue, Wheel};
pub use scenario::{
    CATALOGUE, Contention, Growth, Mean, Named, Peak, Play, Scenario, ScenarioCase, ScenarioEntry,
    Shape, Shapes, ShapesReport, StormOptions, Wave,
};
pub use server::{AttemptTicket, BackendMachine, OfferedAttempt};
pub use simulation::{AttemptEnd, ObservedRun, Played, PlayedAttempt, Series, Simulation};
pub use stat::Stat;
pub use storm_report::{
    CaseReport, EntryReport, EntrySeries, Healing, RecoveryVerdict, StormReport,
};
pub use streams::{Draw, Purpose, RandomStream};
pub use thread_pool::ThreadPool;
pub use waits::Equal;
