//! A herd against a capacity: the picture of the whole subject.

use stagger_core::{ConfigError, Instant, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, Bystanders, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble,
};

/// N clients lose everything at once; from some time on ten workers take 10 ms each, behind a queue
/// of 100 that refuses when it is full. All retry until they are served.
///
/// Recovery is until the last of them is; the peak counts attempts from the end of the outage on.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule { attempts: u32::MAX, ..Schedule::default() });
    let laws = [
        Law::NoRetry,
        Law::Fixed,
        Law::None,
        Law::Symmetric,
        Law::Equal,
        Law::Full,
        Law::DecorrelatedClamped,
        Law::Octave,
    ];
    let compared = options.callers(&laws, &schedule)?;
    let bystander = Law::NoRetry.caller(&schedule)?;
    let case = |herd: Herd| {
        let up = Instant::ORIGIN + herd.up_at;
        ScenarioCase {
            outages: vec![(Instant::ORIGIN, up)],
            capacity: Some(1_000.0),
            entries: entries(&compared, |caller| herd.plan(caller, &bystander)),
            ..ScenarioCase::new(herd.label(), f64::from(herd.callers))
        }
    };
    let (callers, up_at, beside) = (options.callers, options.up_at, options.beside);
    let herds = if callers.is_some() || up_at.is_some() || beside.is_some() {
        let callers = callers.unwrap_or(HERDS[0].callers);
        let up_at = up_at.unwrap_or(HERDS[0].up_at);
        let background = beside.filter(|&rate| rate > 0).map(|rate| (rate, up_at + BESIDE_FOR));
        vec![Herd { callers, up_at, background }]
    } else {
        HERDS.to_vec()
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 5,
        varied: Some("callers".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: herds.into_iter().map(case).collect(),
        ..Scenario::default()
    })
}

/// The callers that fail together, the end of their outage, and those that call meanwhile.
#[derive(Clone, Copy, Debug)]
struct Herd {
    callers: u32,
    up_at: Span,
    /// Callers a second who never retry, and until when they come.
    background: Option<(u32, Span)>,
}

/// The time for which others go on calling when the user gives their number: longer than a herd
/// of a thousand needs under any law, and short enough to be played while a user watches.
const BESIDE_FOR: Span = Span::from_secs(60);

/// The herds of the reference table.
const HERDS: [Herd; 3] = [
    Herd { callers: 1_000, up_at: Span::from_millis(200), background: None },
    Herd { callers: 10_000, up_at: Span::from_millis(200), background: None },
    Herd {
        callers: 10_000,
        up_at: Span::from_secs(3),
        background: Some((500, Span::from_secs(1_000))),
    },
];

impl Herd {
    fn label(&self) -> String {
        let Self { callers, up_at, background } = self;
        let more = background.map_or_else(String::new, |(rate, _)| format!(", {rate}/s beside"));
        format!("{callers} callers, up at {up_at}{more}")
    }

    fn plan(&self, caller: &CallerLayer, bystander: &CallerLayer) -> RunPlan {
        let up = Instant::ORIGIN + self.up_at;
        let mut plan = RunPlan {
            backend: Backend::of_workers(10, Span::from_millis(10), Some(100)),
            faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up)],
            watch: MeasurementPlan { edge: up, ..MeasurementPlan::default() },
            ..RunPlan::new(ArrivalProcess::Together { callers: self.callers }, caller.clone())
        };
        if let Some((rate, until)) = self.background {
            let arrivals = ArrivalProcess::poisson(rate, Instant::ORIGIN + until);
            plan.bystanders.push(Bystanders { arrivals, caller: bystander.clone() });
        }
        plan
    }
}

const LESSON: &str = "\
Without jitter a herd comes back in one instant, the backend serves what fits its queue, refuses \
the rest, and is idle until the next wave, which comes later every time: with exponential backoff \
it takes 50 times as long as with full jitter and leaves the backend 1 % busy. Retrying at a fixed \
pace drains in the least time there is, at seven times the work.";
