//! Callers that all fail in one instant, and a second copy of slow calls.

use stagger_core::budget::{BudgetPlan, WindowPlan};
use stagger_core::hedge::HedgePlan;
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, Bystanders, CallerLayer, Fault, Hop, MeasurementPlan, RunPlan,
    Service, Trouble, Workers,
};

/// All callers make their first attempt at the origin and fail; the backend serves all of them, at
/// once, from some time on.
///
/// The peak counts attempts that arrive from then on.
pub(super) fn lockstep(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let callers = options.callers.unwrap_or(1_000);
    let up_at = options.up_at.map_or_else(|| UP_AT.to_vec(), |at| vec![at]);
    let compared = options.callers(&Law::ALL, &schedule)?;
    let case = |up_at: Span| {
        ScenarioCase::new(
            format!("up at {up_at}"),
            up_at.as_secs_f64(),
            entries(&compared, |caller| lockstep_plan(callers, caller, up_at)),
        )
        .outage((Instant::ORIGIN, Instant::ORIGIN + up_at))
    };
    Ok(Scenario::new(
        LOCKSTEP_LESSON,
        200,
        schedule.parameters(),
        up_at.into_iter().map(case).collect(),
    )
    .varying("up at [s]"))
}

/// The times of the reference table.
const UP_AT: [Span; 3] = [Span::from_millis(200), Span::from_secs(1), Span::from_secs(3)];

fn lockstep_plan(callers: u32, caller: &CallerLayer, up_at: Span) -> RunPlan {
    let up = Instant::ORIGIN + up_at;
    RunPlan {
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up)],
        watch: MeasurementPlan::around(up),
        ..RunPlan::new(ArrivalProcess::Together { callers }, caller.clone())
    }
}

const LOCKSTEP_LESSON: &str = "\
Callers that failed together and wait without jitter come back together. Jitter spreads them. \
Full and equal jitter also shorten the waiting in all, so in a longer outage they run out of \
attempts first: give them one more.";

/// N clients lose everything at once; from some time on ten workers take 10 ms each, behind a queue
/// of 100 that refuses when it is full. All retry until they are served.
///
/// Recovery is until the last of them is; the peak counts attempts from the end of the outage on.
pub(super) fn herd(options: &StormOptions) -> Result<Scenario, ConfigError> {
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
        ScenarioCase::new(
            herd.label(),
            f64::from(herd.callers),
            entries(&compared, |caller| herd.plan(caller, &bystander)),
        )
        .outage((Instant::ORIGIN, up))
        .capacity(1_000.0)
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
    Ok(Scenario::new(HERD_LESSON, 5, schedule.parameters(), herds.into_iter().map(case).collect())
        .varying("callers"))
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

const HERD_LESSON: &str = "\
Without jitter a herd comes back in one instant, the backend serves what fits its queue, refuses \
the rest, and is idle until the next wave, which comes later every time: with exponential backoff \
it takes 50 times as long as with full jitter and leaves the backend 1 % busy. Retrying at a fixed \
pace drains in the least time there is, at seven times the work.";

/// Two attempts in a hundred take thirty times as long as the others; and the same while everything
/// is slow for five seconds, so that every call is one for a second copy.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let load = options.callers.unwrap_or(LOAD);
    let mut rows = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        let caller = caller.with_timeout(TIMEOUT);
        if name == Law::NoRetry.name() || options.policies.iter().any(|(own, _)| *own == name) {
            rows.push((name, caller));
            continue;
        }
        rows.push(("no hedge".to_owned(), caller.clone()));
        for (how, percent, budget) in hedges()? {
            let hedge = HedgePlan::quantile(Ratio::from_percent(percent), FALLBACK, 2)?;
            let policy = caller.policy.to_builder().hedge(hedge).budget(budget).build()?;
            rows.push((how.to_owned(), CallerLayer { policy, ..caller.clone() }));
        }
    }
    let case = |(label, slow): (&str, u32)| {
        let entries = entries(&rows, |caller| plan(load, caller.clone(), slow));
        let case = ScenarioCase::new(label, f64::from(slow), entries).capacity(CAPACITY);
        if slow > 1 { case.outage(SLOW) } else { case }
    };
    Ok(Scenario::new(
        LESSON,
        4,
        schedule.parameters(),
        [("a slow tail", 1), ("all slow for 5 s", 3)].map(case).into(),
    )
    .varying("times as slow")
    .with("calls a second", load))
}

const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(1), attempts: 3 };

const LOAD: u32 = 2_000;

const LENGTH: Span = Span::from_secs(30);

const TIMEOUT: Span = Span::from_secs(1);

/// The delay of a copy before latencies are known.
const FALLBACK: Span = Span::from_millis(100);

const SLOW: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(15_000_000_000));

/// 60 workers at 15.8 ms on average.
const CAPACITY: f64 = 3_797.0;

/// The quantile after which a copy goes out, and the budget that pays for it.
fn hedges() -> Result<[(&'static str, u32, BudgetPlan); 4], ConfigError> {
    let tenth: BudgetPlan = WindowPlan::new(Ratio::from_percent(10))?.into();
    Ok([
        ("hedge after p95", 95, BudgetPlan::Unlimited),
        ("hedge after p50", 50, BudgetPlan::Unlimited),
        ("hedge after p95, budget", 95, tenth),
        ("hedge after p50, budget", 50, tenth),
    ])
}

fn plan(load: u32, caller: CallerLayer, slow: u32) -> RunPlan {
    let tail = Service::Tail {
        usual: Span::from_millis(10),
        slow: Span::from_millis(300),
        share: Ratio::from_percent(2),
    };
    let times = Trouble::Slow(Ratio::from_percent(100 * slow));
    RunPlan {
        hop: Hop::Exponential(Span::from_millis(1)),
        backend: Backend {
            service: tail,
            workers: Some(Workers::new(60, None)),
            ..Backend::UNLIMITED
        },
        faults: vec![Fault::new(times, SLOW.0, SLOW.1)],
        watch: MeasurementPlan { edge: SLOW.1, ..MeasurementPlan::default() },
        ..RunPlan::new(ArrivalProcess::poisson(load, Instant::ORIGIN + LENGTH), caller)
    }
}

const LESSON: &str = "\
With a slow tail a copy after the p95 takes the p99 from the tail for 4 % more attempts. After \
the median it costs ten times that, and may tip the backend. When everything is slow, every call \
is worth a copy, and retries and copies together keep the queue full for ever; the budget is what \
ends it. A copy that loses stays paid for, so a budget of 10 % is 1.10 attempts a call at most; sent \
after the median, it is spent on calls that were about to end, and the tail stays as it was.";
