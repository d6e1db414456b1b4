//! The contention of 2015, over the number of clients.

use stagger_core::{ConfigError, Span};

use super::contention::Contention;
use super::{Peak, Play, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::CallerLayer;

/// N clients write to one row; time is until the last of them has, attempts are writes.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    // Its code has 5 ms doubled before the first delay, and draws decorrelated delays from 5 ms.
    let first = options.schedule(Schedule {
        base: Span::from_millis(10),
        cap: Span::from_secs(2),
        attempts: u32::MAX,
    });
    let half = Schedule { base: Span::from_nanos(first.base.as_nanos() / 2), ..first };
    let at_once = Schedule { base: Span::ZERO, cap: Span::ZERO, ..first };
    let mut compared = vec![("no-backoff".to_owned(), Law::Fixed.caller(&at_once)?)];
    for (name, caller) in options.callers(&[Law::None, Law::Full, Law::Equal], &first)? {
        if name != Law::NoRetry.name() {
            compared.push((name, caller));
        }
    }
    let decorrelated = StormOptions { policies: Vec::new(), ..options.clone() };
    for (name, caller) in decorrelated.callers(&[Law::DecorrelatedClamped], &half)? {
        if name != Law::NoRetry.name() {
            compared.push((name, caller));
        }
    }
    let numbers = options.callers.map_or_else(|| CLIENTS.to_vec(), |clients| vec![clients]);
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 100,
        varied: Some("clients".to_owned()),
        peak: Peak::Attempts,
        parameters: first.parameters(),
        cases: numbers.into_iter().map(|clients| case(clients, &compared)).collect(),
        ..Scenario::default()
    })
}

/// The numbers of the reference table.
const CLIENTS: [u32; 6] = [10, 20, 50, 100, 150, 200];

fn case(clients: u32, compared: &[(String, CallerLayer)]) -> ScenarioCase {
    let entry = |(name, caller): &(String, CallerLayer)| ScenarioEntry {
        name: name.clone(),
        play: Play::Contention(Box::new(Contention { clients, caller: caller.clone() })),
    };
    let case = ScenarioCase::new(format!("{clients} clients"), f64::from(clients));
    ScenarioCase { entries: compared.iter().map(entry).collect(), ..case }
}

const LESSON: &str = "\
Time grows with the number of clients and work with its square. Never to wait is always the \
fastest and always the most work, which surprises people. Full jitter halves the writes at 100 \
clients; decorrelated jitter is a little faster than full up to about 120 clients only, and writes \
more from about 20 on.";
