//! The four panels of OSDI'22: how much slowness, for how long, at what load.

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Fault, MeasurementPlan, Recovery, RunPlan, Trouble,
};

/// The backend of `stall` at 38 % load loses most of its capacity for a while; callers wait 3 s and
/// make five attempts without a delay between them.
///
/// Source: Huang et al., "Metastable Failures in the Wild" (OSDI 2022), figure 4.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule { base: Span::ZERO, cap: Span::ZERO, attempts: 5 });
    let compared = options.callers(&[Law::NoRetry, Law::Fixed], &schedule)?;
    let case = |trigger: &Trigger| ScenarioCase {
        outages: vec![(DOWN_FROM, DOWN_FROM + trigger.over)],
        capacity: Some(1_000.0),
        entries: entries(&compared, |caller| trigger.plan(caller)),
        ..ScenarioCase::new(trigger.label(), f64::from(trigger.left))
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 10,
        varied: Some("capacity left [1/1000]".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: TRIGGERS.iter().map(case).collect(),
        ..Scenario::default()
    })
}

/// One panel.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    /// The capacity that is left, in thousandths.
    left: u32,
    over: Span,
    /// Callers a second.
    load: u32,
}

const TRIGGERS: [Trigger; 4] = [
    Trigger { left: 225, over: Span::from_secs(10), load: 380 },
    Trigger { left: 200, over: Span::from_secs(10), load: 380 },
    Trigger { left: 200, over: Span::from_secs(9), load: 380 },
    Trigger { left: 200, over: Span::from_secs(10), load: 285 },
];
const DOWN_FROM: Instant = Instant::from_nanos(30_000_000_000);
const TIMEOUT: Span = Span::from_secs(3);

impl Trigger {
    fn label(&self) -> String {
        let left = f64::from(self.left) / 10.0;
        format!("{left} % for {}, load {}/s", self.over, self.load)
    }

    fn plan(&self, caller: &CallerLayer) -> RunPlan {
        let until = DOWN_FROM + self.over;
        let slower = Trouble::Slow(Ratio::from_ppm(1_000_000_000 / self.left));
        RunPlan {
            backend: Backend::of_workers(10, Span::from_millis(10), None),
            faults: vec![Fault::new(slower, DOWN_FROM, until)],
            watch: MeasurementPlan {
                edge: until,
                recovery: Recovery::first_tries(),
                ..MeasurementPlan::default()
            },
            ..RunPlan::new(
                ArrivalProcess::poisson(self.load, until + Span::from_secs(80)),
                caller.clone().with_timeout(TIMEOUT),
            )
        }
    }
}

const LESSON: &str = "\
Whether a system recovers by itself depends on a hair: a little more capacity left, one second less \
of trouble, or a quarter less load, and the same callers are served again. Past that edge the \
retries alone are more than the backend can do, for ever.";
