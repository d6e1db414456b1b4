//! A crashed server: its port refuses connections until it is restarted.

use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Instant, Policy};

use super::metastable::{CAPACITY, SCHEDULE, plan_between};
use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::Law;
use crate::plan::{CallerLayer, Fleet, RunPlan, Trouble};

/// Poisson callers at 70 % of the capacity, and a server whose port refuses every connection for ten
/// seconds. The default policy beside the same policy without a budget: a refused connection costs budget
/// like any retry, although nothing was processed, because a crashed server refuses every caller.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let load = options.callers.unwrap_or(LOAD);
    let usual = Policy::builder().build()?;
    let unbudgeted = usual.to_builder().budget(BudgetPlan::Unlimited).build()?;
    let mut compared = options.callers(&[Law::Full], &schedule)?;
    compared.push(("default, no budget".to_owned(), CallerLayer::new(unbudgeted)));
    compared.push(("default policy".to_owned(), CallerLayer::new(usual)));
    let case = ScenarioCase {
        outages: vec![CRASH],
        capacity: Some(CAPACITY),
        entries: entries(&compared, |caller| plan(load, caller)),
        ..ScenarioCase::new(format!("load {load}/s"), f64::from(load))
    };
    let mut parameters = schedule.parameters();
    parameters.push(("processes".to_owned(), PROCESSES.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 5,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
        ..Scenario::default()
    })
}

/// From the crash until the restart.
const CRASH: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(20_000_000_000));
const LOAD: u32 = 700;
const PROCESSES: u32 = 20;

/// The peak is looked for from the crash on: what callers send to a closed port is the storm.
fn plan(load: u32, caller: &CallerLayer) -> RunPlan {
    let mut plan = plan_between(Trouble::PortClosed, CRASH, load, caller.clone());
    plan.fleet = Fleet { processes: PROCESSES, ..Fleet::default() };
    plan.watch.peak_from = Some(CRASH.0);
    plan
}

const LESSON: &str = "\
A crashed server refuses connections at once, so callers run through their attempts as fast as their \
delays allow: the closed port gets three times the calls, and hardly any call is saved, because the \
crash is longer than all delays together. A refused call was not processed and may always be \
repeated, but it is not free: under the default budget callers spend what they have in hand, and \
then a tenth of the calls.";
