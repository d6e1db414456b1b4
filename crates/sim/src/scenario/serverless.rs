//! Processes that live for one call, each with a budget that has seen nothing.

use stagger_core::budget::{BudgetPlan, TokenPlan};
use stagger_core::{ConfigError, Instant, Ratio};

use super::fleet::{LOAD, SCHEDULE, STALL, plan, shared};
use super::story::{Case, Entry, Options, Peak, Scenario};
use crate::law::Law;
use crate::plan::{Book, Caller, Fault, Plan, Trouble};

/// The stall of the fleet, and a backend that fails one attempt in twenty and is well otherwise;
/// with a process for every call, beside twenty that stay.
pub(super) fn scenario(options: &Options) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let mut rows: Vec<(String, u32, Caller, Book)> = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        let own = options.policies.iter().any(|(own, _)| *own == name);
        if name == Law::NoRetry.name() || own {
            rows.push((name, SHORT_LIVED, caller, Book::Engine));
            continue;
        }
        rows.push(("no budget".to_owned(), SHORT_LIVED, caller.clone(), Book::Engine));
        let bucket = TokenPlan::aws_2_0();
        let tenth = BudgetPlan::default();
        for (name, processes, plan, book) in [
            ("bucket, 20 that stay", 20, bucket.into(), Book::Engine),
            ("bucket, one a call", SHORT_LIVED, bucket.into(), Book::Engine),
            ("empty bucket, one a call", SHORT_LIVED, bucket.with_initial(0)?.into(), Book::Engine),
            ("10 %, 20 that stay", 20, tenth, Book::Engine),
            ("10 %, one a call", SHORT_LIVED, tenth, Book::Engine),
            (
                "10 % shared, one a call",
                SHORT_LIVED,
                tenth,
                Book::Shared(shared(tenth, SHORT_LIVED)),
            ),
        ] {
            let policy = caller.policy.to_builder().budget(plan).build()?;
            rows.push((name.to_owned(), processes, Caller { policy, ..caller.clone() }, book));
        }
    }
    let case = |(label, trouble): (&str, Option<Trouble>)| {
        let entry = |(name, processes, caller, book): &(String, u32, Caller, Book)| {
            let plan = plan(*processes, caller.clone(), *book);
            Entry::new(
                name.as_str(),
                trouble.map_or(plan.clone(), |trouble| failing(plan, trouble)),
            )
        };
        Case {
            outages: if trouble.is_none() { vec![STALL] } else { Vec::new() },
            capacity: Some(1_000.0),
            entries: rows.iter().map(entry).collect(),
            ..Case::new(label.to_owned(), f64::from(u8::from(trouble.is_some())))
        }
    };
    let one_in_twenty = Trouble::Failing(Ratio::from_percent(5));
    let mut parameters = schedule.parameters();
    parameters.push(("calls a second".to_owned(), LOAD.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 5,
        varied: Some("trouble".to_owned()),
        peak: Peak::Attempts,
        parameters,
        cases: [("stall of 5 s", None), ("5 % fail", Some(one_in_twenty))].map(case).into(),
        ..Scenario::default()
    })
}

/// More processes than calls in 90 s of 700 a second: none has a second call.
const SHORT_LIVED: u32 = 70_000;

/// The same plan with another trouble, for all of the time.
fn failing(plan: Plan, trouble: Trouble) -> Plan {
    Plan { faults: vec![Fault::new(trouble, Instant::ORIGIN, Instant::FAR)], ..plan }
}

const LESSON: &str = "\
A budget remembers, and a process that lives for one call remembers nothing: a full bucket grants \
every retry, an empty one none, whatever the others see. A shared budget bounds the storm, but \
permits are leased before anybody knows who will need one, so few of the retries that would help \
get theirs. What helps both times is a budget in something that stays: a proxy, a pool, a gateway.";
