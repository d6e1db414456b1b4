//! The breaker beside a slow and obvious one, under random calls, losses and jumps in time.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stagger_core::breaker::{
    Admission, Breaker, BreakerPlan, Report, StateKind, Ticket, Transition, WindowKind,
};
use stagger_core::{Instant, Ratio, Span};

const WINDOW: u64 = 10_000;
const MINIMUM: usize = 4;
const CONSECUTIVE: usize = 6;
const PROBES: usize = 2;
const LEASE: u64 = 3_000;

fn plan() -> BreakerPlan {
    BreakerPlan::builder()
        .window(WindowKind::Time(Span::from_millis(WINDOW)))
        .minimum_calls(u32::try_from(MINIMUM).expect("small"))
        .ratio(Ratio::from_percent(50))
        .consecutive(u32::try_from(CONSECUTIVE).expect("small"))
        .probes(u32::try_from(PROBES).expect("small"))
        .lease(Span::from_millis(LEASE))
        .build()
        .expect("within the bounds")
}

/// Remembers every call. Times are milliseconds; open times are not spread.
struct Model {
    results: Vec<(u64, bool)>,
    open_until: Option<u64>,
    half_open: bool,
    leases: BTreeMap<usize, u64>,
    good: usize,
    open_time: u64,
    era: usize,
    eras: Vec<usize>,
    unsettled: usize,
}

impl Model {
    fn new() -> Self {
        Self {
            results: Vec::new(),
            open_until: None,
            half_open: false,
            leases: BTreeMap::new(),
            good: 0,
            open_time: 5_000,
            era: 0,
            eras: Vec::new(),
            unsettled: 0,
        }
    }

    fn wake(&mut self, now: u64) {
        if self.open_until.is_some_and(|until| now >= until) {
            self.enter(None, true);
        }
    }

    fn enter(&mut self, open_until: Option<u64>, half_open: bool) {
        self.open_until = open_until;
        self.half_open = half_open;
        self.leases.clear();
        self.results.clear();
        (self.good, self.unsettled) = (0, 0);
        self.era += 1;
    }

    /// The number of the call, when admitted.
    fn admit(&mut self, now: u64) -> Option<usize> {
        self.wake(now);
        let number = self.eras.len();
        if self.open_until.is_some() {
            return None;
        }
        if self.half_open {
            self.leases.retain(|_, ends| now < *ends);
            if self.leases.len() + self.good >= PROBES {
                return None;
            }
            self.leases.insert(number, now + LEASE);
        }
        self.unsettled += 1;
        self.eras.push(self.era);
        Some(number)
    }

    fn report(&mut self, now: u64, number: usize, report: Report) {
        self.wake(now);
        if self.eras[number] != self.era {
            return;
        }
        let failed = match report {
            Report::Success => Some(false),
            Report::Failure => Some(true),
            Report::Throttled | Report::Neutral => None,
        };
        if self.half_open {
            self.report_probe(now, number, failed);
        } else if self.unsettled > 0 {
            self.unsettled -= 1;
            if let Some(failed) = failed {
                self.count(now, failed);
            }
        }
    }

    fn report_probe(&mut self, now: u64, number: usize, failed: Option<bool>) {
        self.leases.retain(|_, ends| now < *ends);
        let in_time = self.leases.remove(&number).is_some();
        match failed {
            Some(true) if in_time => {
                self.open_time = (self.open_time * 2).min(60_000);
                self.enter(Some(now + self.open_time), false);
            }
            Some(false) if in_time => {
                self.good += 1;
                if self.good == PROBES {
                    self.open_time = 5_000;
                    self.enter(None, false);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, now: u64, failed: bool) {
        // A clock set back counts into the slot that runs already.
        let slot = |at: u64| at / (WINDOW / 10);
        let running =
            self.results.iter().map(|(at, _)| slot(*at)).max().unwrap_or(0).max(slot(now));
        self.results.push((running * (WINDOW / 10), failed));
        let seen: Vec<bool> =
            self.results.iter().filter(|r| slot(r.0) + 10 > running).map(|r| r.1).collect();
        let failures = seen.iter().filter(|failed| **failed).count();
        let in_a_row = self.results.iter().rev().take_while(|(_, failed)| *failed).count();
        if in_a_row >= CONSECUTIVE || seen.len() >= MINIMUM && failures * 2 >= seen.len() {
            self.enter(Some(now + self.open_time), false);
        }
    }

    fn state(&mut self, now: u64) -> StateKind {
        match self.open_until {
            Some(until) if now < until => StateKind::Open,
            Some(_) => StateKind::HalfOpen,
            None if self.half_open => StateKind::HalfOpen,
            None => StateKind::Closed,
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Admit,
    /// Reports one of the tickets so far, the same one again and again if so drawn.
    Report(usize, Report),
    Forward(u64),
    Back(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let report = prop_oneof![
        3 => Just(Report::Success),
        4 => Just(Report::Failure),
        1 => Just(Report::Throttled),
        1 => Just(Report::Neutral),
    ];
    prop_oneof![
        5 => Just(Op::Admit),
        5 => (0_usize..6, report).prop_map(|(back, report)| Op::Report(back, report)),
        3 => (0_u64..8_000).prop_map(Op::Forward),
        1 => (0_u64..200_000).prop_map(Op::Forward),
        1 => (0_u64..20_000).prop_map(Op::Back),
    ]
}

fn instant(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn it_decides_like_the_obvious_one_and_is_never_stuck(ops in prop::collection::vec(op(), 1..300)) {
        let (mut breaker, mut model) = (Breaker::new(plan()), Model::new());
        let mut tickets: Vec<Ticket> = Vec::new();
        let mut now = 1_000_000;
        for op in ops {
            match op {
                Op::Forward(ms) => now += ms,
                Op::Back(ms) => now -= ms.min(now),
                Op::Admit => {
                    let ticket = breaker.admit(instant(now)).ticket();
                    prop_assert_eq!(ticket.is_some(), model.admit(now).is_some());
                    tickets.extend(ticket);
                }
                Op::Report(back, report) => {
                    let Some(number) = tickets.len().checked_sub(back + 1) else { continue };
                    let ticket = tickets[number];
                    let moved = breaker.report(instant(now), ticket, report, &mut || 0);
                    if let Some(Transition::Opened { until, .. }) = moved {
                        prop_assert!(until > instant(now));
                    }
                    model.report(now, number, report);
                }
            }
            prop_assert_eq!(breaker.state(instant(now)), model.state(now));
            let counts = breaker.counts(instant(now));
            prop_assert!(counts.failures <= counts.calls && counts.slow <= counts.calls);
        }
        // Whatever happened, waiting as told leads to an admission, and good calls to closed.
        for _ in 0..4 * PROBES {
            match breaker.admit(instant(now)) {
                Admission::Refused { until } => {
                    prop_assert!(until > instant(now), "a refusal that says to ask at once");
                    now = until.as_nanos().div_ceil(1_000_000);
                }
                Admission::Admitted(ticket) => {
                    breaker.report(instant(now), ticket, Report::Success, &mut || 0);
                }
            }
        }
        prop_assert!(breaker.admit(instant(now)).ticket().is_some());
    }
}
