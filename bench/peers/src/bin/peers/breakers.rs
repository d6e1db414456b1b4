//! Breakers: a call that succeeds through a closed one, by several threads at once.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use failsafe::CircuitBreaker;
use layered::{Execute, Stack};
use stagger::breaker::{BreakerPlan, Report};
use stagger::budget::BudgetPlan;
use stagger::engine::Ledger;
use stagger::{Clock, LocalLedger, Policy, Retrier, StdTime};
use tokio::runtime::Runtime;
use tower::{Layer, Service};

use crate::budgets::THREADS;
use crate::calls::loops;
use crate::group::{Effort, Group, GroupRow};
use crate::operation::{Failed, FailingServer, asynch, blocking, now};
use crate::reasons;

const OPEN: Duration = Duration::from_secs(30);

pub(crate) fn rows(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let _inside = tokio.enter();
    let mut rows = Vec::new();
    for threads in THREADS {
        rows.extend(of(threads, effort)?);
    }
    Ok(rows)
}

fn of(threads: u64, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let policy =
        Policy::builder().budget(BudgetPlan::Unlimited).breaker(BreakerPlan::default()).build()?;
    let (ledger, retrier) = (LocalLedger::new(&policy), Retrier::new(policy, StdTime));
    let opens = || failsafe::backoff::constant(OPEN);
    let consecutive = failsafe::Config::new()
        .failure_policy(failsafe::failure_policy::consecutive_failures(5, opens()))
        .build();
    let window = failsafe::Config::new()
        .failure_policy(failsafe::failure_policy::success_rate_over_time_window(
            0.5,
            5,
            OPEN,
            opens(),
        ))
        .build();
    let ring = recloser::Recloser::custom().closed_len(100).build();
    let resilience = tower_resilience_circuitbreaker::CircuitBreakerLayer::builder()
        .build()?
        .layer(FailingServer);
    let clock = tick::Clock::new_tokio();
    let context = seatbelt::ResilienceContext::new(&clock);
    let belt = (
        seatbelt::breaker::Breaker::layer("breaker", &context)
            .recovery_with(|answer: &Result<u64, Failed>, _| match answer {
                Ok(_) => seatbelt::RecoveryInfo::never(),
                Err(_) => seatbelt::RecoveryInfo::retry(),
            })
            .rejected_input_error(|_, _| Failed),
        Execute::new(asynch),
    )
        .into_service();
    Ok(Group::new(format!("breaker call, {threads} threads"), loops!(|x| blocking(x)))
        .threads(threads)
        // A whole call, as the peers make one: it reads the clock as exactly as its policy needs.
        .case("stagger", "", move |n| {
            for x in 0..n {
                let _ = black_box(
                    retrier.retry_blocking(|| blocking(x)).when(|_: &Failed| true).call(),
                );
            }
        })
        .case(
            "stagger",
            "its ledger, by the exact clock",
            loops!(|x| {
                let mut ledger = &ledger;
                let ticket = ledger.admit(StdTime.now()).ticket();
                let answer = blocking(x);
                if let Some(ticket) = ticket {
                    ledger.report(StdTime.now(), ticket, Report::Success, &mut || 0);
                }
                answer
            }),
        )
        .because(reasons::OURS)
        .case("failsafe", "consecutive", loops!(|x| consecutive.call(|| blocking(x))))
        .because(reasons::IN_A_ROW)
        .case("failsafe", "window", loops!(|x| window.call(|| blocking(x))))
        .case("recloser", "", loops!(|x| ring.call(|| blocking(x))))
        .because(reasons::RING)
        .case("tower-resilience-circuitbreaker", "", |n| {
            let mut service = resilience.clone();
            for x in 0..n {
                let _ = black_box(now(service.call(x)));
            }
        })
        .case("seatbelt", "", loops!(|x| now(layered::Service::execute(&belt, x))))
        .rows(effort))
}
