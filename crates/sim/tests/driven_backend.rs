//! A backend that is driven from outside, against the same backend in a run: each attempt has the same answer at
//! the same instant.
#![expect(clippy::unwrap_used, reason = "what is unexpected in a test is a failure")]

use std::collections::BTreeMap;

use stagger_core::{Instant, Ratio, Span, Verdict};
use stagger_sim::{
    ArrivalProcess, AttemptEnd, AttemptTicket, Autoscaling, Backend, BackendMachine, Balancer,
    Cache, CacheFill, Cancel, Crash, Ejection, Fault, Full, Law, OfferedAttempt, PlayedAttempt,
    QueueDiscipline, Routing, RunPlan, Schedule, ServerRateLimit, Service, Shedding, Trouble,
    Workers,
};

const SEED: u64 = 5;

fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

fn plan(backend: Backend, faults: Vec<Fault>) -> RunPlan {
    let schedule = Schedule { base: Span::from_millis(50), attempts: 4, ..Schedule::default() };
    let caller = Law::Full.caller(&schedule).unwrap().with_timeout(Span::from_millis(300));
    let plan = RunPlan::new(ArrivalProcess::poisson(700, at(6_000)), caller);
    RunPlan { backend, faults, ..plan }
}

/// What happens to attempts from outside: they come, and their callers leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outside {
    Comes(usize),
    Leaves(usize),
}

/// Drives the machine with the attempts of a run, and returns their answers by the place of the attempt.
fn driven(plan: &RunPlan, attempts: &[PlayedAttempt]) -> BTreeMap<usize, (Instant, Verdict)> {
    let mut machine = BackendMachine::new(plan, SEED);
    let mut outside: Vec<(Instant, Outside)> = Vec::new();
    for (place, attempt) in attempts.iter().enumerate() {
        outside.push((attempt.began, Outside::Comes(place)));
        if attempt.end == AttemptEnd::GaveUp {
            outside.push((attempt.ended, Outside::Leaves(place)));
        }
    }
    outside.sort_unstable();
    let mut tickets: BTreeMap<AttemptTicket, usize> = BTreeMap::new();
    let mut answers = BTreeMap::new();
    let mut outside = outside.into_iter().peekable();
    loop {
        let due = outside.peek().map(|(at, _)| *at);
        match machine.next() {
            Some(next) if due.is_none_or(|due| next <= due) => {
                for (ticket, outcome) in machine.answers(next) {
                    answers.insert(tickets[&ticket], (next, outcome.verdict));
                }
            }
            _ => match outside.next() {
                Some((at, Outside::Comes(place))) => {
                    let PlayedAttempt { call, number, .. } = attempts[place];
                    let give_up = at + Span::from_millis(300);
                    let offered = OfferedAttempt { call, number, give_up };
                    tickets.insert(machine.arrive(at, offered), place);
                }
                Some((at, Outside::Leaves(place))) => {
                    let ticket = tickets.iter().find(|(_, it)| **it == place).unwrap().0;
                    machine.leave(at, *ticket);
                }
                None => return answers,
            },
        }
    }
}

/// Three servers behind a balancer that ejects, and sends retries elsewhere.
fn balanced(routing: Routing, backend: Backend) -> Backend {
    let most = Ratio::from_percent(50);
    let ejection = Ejection { failures: 5, lasts: Span::from_millis(700), most };
    let balancer =
        Balancer { retry_elsewhere: true, ejection: Some(ejection), ..Balancer::new(routing) };
    Backend { shards: 3, balancer: Some(balancer), ..backend }
}

#[test]
fn a_driven_backend_answered_another_way_or_at_another_time_than_in_a_run() {
    let of_workers = |change: &dyn Fn(&mut Workers)| {
        let mut workers = Workers::new(10, None);
        change(&mut workers);
        let service = Service::Exponential(Span::from_millis(10));
        Backend { workers: Some(workers), service, ..Backend::UNLIMITED }
    };
    let stall = Fault::new(Trouble::Stall, at(1_000), at(2_000));
    let failing = Fault::new(Trouble::Failing(Ratio::from_percent(40)), at(2_500), at(4_000));
    let slow = Fault::new(Trouble::Slow(Ratio::from_percent(300)), at(4_000), at(5_000));
    let down = Fault::new(Trouble::Refuse, at(5_000), at(5_500));
    let troubles = vec![stall, failing, slow, down];
    let limit = ServerRateLimit::Tokens { burst: 20, every: Span::from_millis(2) };
    let backends = [
        of_workers(&|_| {}),
        of_workers(&|workers| workers.cancel = Cancel::Expired),
        of_workers(&|workers| workers.cancel = Cancel::Hopeless),
        of_workers(&|workers| workers.order = QueueDiscipline::NewestFirst),
        of_workers(&|workers| {
            (workers.queue, workers.refusal) = (Some(30), Span::from_millis(2));
        }),
        of_workers(&|workers| (workers.queue, workers.full) = (Some(30), Full::Drop)),
        of_workers(&|workers| {
            workers.shedding =
                Shedding::CoDel { target: Span::from_millis(5), interval: Span::from_millis(100) };
        }),
        of_workers(&|workers| {
            workers.shedding = Shedding::FailFast {
                target: Span::from_millis(5),
                interval: Span::from_millis(100),
            };
            workers.refusal = Span::from_millis(1);
        }),
        of_workers(&|workers| {
            let (buffer, every) = (Ratio::from_percent(150), Span::from_millis(200));
            workers.shedding = Shedding::Gradient { buffer, every };
        }),
        of_workers(&|workers| {
            workers.crash = Some(Crash { at: 200, restart: Span::from_millis(400) });
        }),
        of_workers(&|workers| {
            workers.count = 6;
            workers.scaling = Some(Autoscaling {
                most: 20,
                step: 4,
                every: Span::from_millis(500),
                delay: Span::from_millis(300),
                above: Ratio::from_percent(80),
                below: Ratio::from_percent(30),
            });
        }),
        of_workers(&|workers| {
            let (miss, fill) = (Span::from_millis(8), CacheFill::Answered);
            workers.cache = Some(Cache { keys: 500, miss, lifetime: None, fill });
        }),
        balanced(Routing::RoundRobin, of_workers(&|workers| workers.count = 4)),
        balanced(Routing::TwoChoices, of_workers(&|workers| workers.count = 4)),
        Backend { shards: 3, limit: Some(limit), ..of_workers(&|workers| workers.count = 4) },
    ];
    for backend in backends {
        let plan = plan(backend, troubles.clone());
        let (played, attempts) = PlayedAttempt::of_run(&plan, SEED);
        let answers = driven(&plan, &attempts);
        let (mut served, mut failed) = (0, 0);
        for (place, attempt) in attempts.iter().enumerate() {
            let answer = answers.get(&place).map(|(at, verdict)| (*at, *verdict == Verdict::Ok));
            // The way of a nanosecond, which the run has and the machine has not.
            let back = Instant::from_nanos(attempt.ended.as_nanos() - 1);
            let expected = match attempt.end {
                AttemptEnd::Served => Some((back, true)),
                AttemptEnd::Failed => Some((back, false)),
                AttemptEnd::GaveUp => None,
            };
            assert_eq!(answer, expected, "{attempt:?} {backend:?}");
            served += u64::from(attempt.end == AttemptEnd::Served);
            failed += u64::from(attempt.end == AttemptEnd::Failed);
        }
        assert!(served > 500 && failed > 100, "{served} {failed} {}", played.attempts.total);
    }
}
