//! Whether the budgets of a fleet spend in pulses during an outage.

use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Instant, Span};

use super::fleets::{Variant, variant_entries};
use super::{Scenario, ScenarioCase, StormOptions};
use crate::law::Schedule;
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Fault, Fleet, LedgerModel, MeasurementPlan, RunPlan,
    Stretch, Trouble,
};

/// A thousand processes make five calls a second each; from 20 s on all calls fail. The default
/// budget, and the same share and floor where spent retries come back with their slot.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let processes = options.callers.unwrap_or(PROCESSES).max(1);
    let budget = BudgetPlan::default();
    let variants = [("window-block", LedgerModel::WindowBlock), ("default", LedgerModel::Engine)]
        .map(|(name, ledger)| Variant { name, budget, processes, ledger });
    let entries = variant_entries(options, &schedule, processes, &variants, plan)?;
    let case = ScenarioCase::new(format!("{processes} processes"), f64::from(processes), entries)
        .outage(OUTAGE);
    Ok(Scenario::new(LESSON, 1, schedule.parameters(), vec![case])
        .with("processes", processes)
        .with("calls a second", load(processes)))
}

/// The default policy's.
const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 3 };
const PROCESSES: u32 = 1_000;
/// From the 20th second to the end of the minute and a half that is watched.
const OUTAGE: (Instant, Instant) =
    (Instant::from_nanos(20_000_000_000), Instant::from_nanos(90_000_000_000));
/// The window of the default budget: pulses are looked for after the first one.
const WINDOW: Span = Span::from_secs(10);

/// Five calls a second for each process, at most four million in all.
const fn load(processes: u32) -> u32 {
    let load = processes.saturating_mul(5);
    if load > 4_000_000 { 4_000_000 } else { load }
}

fn plan(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    let settled = Stretch { from: OUTAGE.0 + WINDOW, until: OUTAGE.1 };
    RunPlan {
        fleet,
        backend: Backend::UNLIMITED,
        faults: vec![Fault::new(Trouble::Refuse, OUTAGE.0, Instant::FAR)],
        watch: MeasurementPlan {
            edge: OUTAGE.0,
            peak_from: Some(settled.from),
            retries_in: settled,
            evenness_in: Some(settled),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(ArrivalProcess::poisson(load(fleet.processes), OUTAGE.1), caller)
    }
}

const LESSON: &str = "\
Peaks and pulses are those after the first window of the outage. Processes notice an outage \
together. Where spent retries come back with the slot they were spent in, each process spends a \
window's worth at once, and the fleet repeats that pulse once a window for as long as the outage \
lasts. The default earns retries by first attempts and time: the fleet sends as many of them, \
evenly.";
