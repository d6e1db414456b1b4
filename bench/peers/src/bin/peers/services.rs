//! The same through services.

use std::error::Error;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use layered::{Execute, Stack};
use stagger::budget::BudgetPlan;
use stagger::tower::StaggerLayer;
use stagger::{Policy, Retrier, TokioTime};
use tokio::runtime::Runtime;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::{Layer, Service, ServiceExt};

use crate::group::{Effort, Group, GroupRow};
use crate::operation::{Failed, FailingServer, asynch};
use crate::reasons;

/// Runs a service that is ready at once, one call after the other.
macro_rules! served {
    ($tokio:ident, $service:expr) => {{
        let service = Mutex::new($service);
        move |n| {
            let mut service = service.lock().expect("one thread measures");
            $tokio.block_on(async {
                for x in 0..n {
                    if let Ok(ready) = service.ready().await {
                        let _ = black_box(ready.call(x).await);
                    }
                }
            })
        }
    }};
}

pub(crate) fn rows(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let mut rows = plain(tokio, effort)?;
    rows.extend(budgeted(tokio, effort)?);
    Ok(rows)
}

fn plain(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let ours = ours(Policy::builder().budget(BudgetPlan::Unlimited).build()?);
    let resilience = tower_resilience_retry::RetryLayer::<u64, u64, Failed>::builder()
        .max_attempts(3)
        .exponential_backoff(Duration::from_millis(100))
        .build();
    let clock = tokio.block_on(async { tick::Clock::new_tokio() });
    let context = seatbelt::ResilienceContext::new(&clock);
    let belt = (
        seatbelt::retry::Retry::layer("retry", &context).clone_input().recovery_with(
            |answer: &Result<u64, Failed>, _| match answer {
                Ok(_) => seatbelt::RecoveryInfo::never(),
                Err(_) => seatbelt::RecoveryInfo::retry(),
            },
        ),
        Execute::new(asynch),
    )
        .into_service();
    Ok(Group::new("first try, service", served!(tokio, FailingServer))
        .case("stagger", "", served!(tokio, ours.layer(FailingServer)))
        .case(
            "tower",
            "",
            served!(tokio, tower::retry::Retry::new(TowerRule::new(None)?, FailingServer)),
        )
        .because(reasons::OWNED_SERVICE)
        .case("tower-resilience-retry", "", served!(tokio, resilience.layer(FailingServer)))
        .case("seatbelt", "", |n| {
            tokio.block_on(async {
                for x in 0..n {
                    let _ = black_box(layered::Service::execute(&belt, x).await);
                }
            })
        })
        .because(reasons::BORROWED_SERVICE)
        .rows(effort))
}

fn budgeted(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let ours = ours(Policy::default());
    // A timer of one's own reads the coarse clock.
    let always: fn(&Failed) -> bool = |_| true;
    let timer = |delay: Duration| tokio::time::sleep(delay);
    let coarse = StaggerLayer::new(Retrier::new(Policy::default(), timer)).when(always);
    let tower = TowerRule::new(Some(Arc::new(TpsBudget::default())))?;
    let resilience = tower_resilience_retry::RetryLayer::<u64, u64, Failed>::builder()
        .max_attempts(3)
        .exponential_backoff(Duration::from_millis(100))
        .budget(tower_resilience_retry::RetryBudgetBuilder::new().token_bucket().build()?)
        .build();
    Ok(Group::new("first try, service with budget", served!(tokio, FailingServer))
        .case("stagger", "", served!(tokio, ours.layer(FailingServer)))
        .case("stagger", "own timer", served!(tokio, coarse.layer(FailingServer)))
        .because(reasons::OURS)
        .case("tower", "", served!(tokio, tower::retry::Retry::new(tower, FailingServer)))
        .because(reasons::EXACT_CLOCK)
        .case("tower-resilience-retry", "", served!(tokio, resilience.layer(FailingServer)))
        .rows(effort))
}

type Ours =
    StaggerLayer<TokioTime, stagger::LocalLedger, stagger::call::RetryIf<fn(&Failed) -> bool>>;

fn ours(policy: Policy) -> Ours {
    let always: fn(&Failed) -> bool = |_| true;
    StaggerLayer::new(Retrier::new(policy, TokioTime)).when(always)
}

/// A policy as a user of tower has to write it.
#[derive(Clone)]
pub(crate) struct TowerRule {
    left: u32,
    backoff: ExponentialBackoff,
    budget: Option<Arc<TpsBudget>>,
}

impl TowerRule {
    pub(crate) fn new(budget: Option<Arc<TpsBudget>>) -> Result<Self, Box<dyn Error>> {
        Ok(Self { left: 3, backoff: maker()?.make_backoff(), budget })
    }
}

/// Tower's delays, with half of the ceiling jittered.
pub(crate) fn maker() -> Result<ExponentialBackoffMaker, Box<dyn Error>> {
    let (base, cap) = (Duration::from_millis(100), Duration::from_secs(10));
    Ok(ExponentialBackoffMaker::new(base, cap, 0.5, tower::util::rng::HasherRng::default())?)
}

impl tower::retry::Policy<u64, u64, Failed> for TowerRule {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, _: &mut u64, answer: &mut Result<u64, Failed>) -> Option<Self::Future> {
        if answer.is_ok() {
            if let Some(budget) = &self.budget {
                budget.deposit();
            }
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        let paid = self.budget.as_ref().is_none_or(|budget| budget.withdraw());
        paid.then(|| self.backoff.next_backoff())
    }

    fn clone_request(&mut self, request: &u64) -> Option<u64> {
        Some(*request)
    }
}
