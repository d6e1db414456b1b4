//! Calls whose attempts change a context, each in its turn.
#![cfg(feature = "tokio")]

use std::error::Error;
use std::future::pending;

use stagger::budget::BudgetPlan;
use stagger::{Clock, ConfigError, ContextGuard, Policy, Retrier, Span, Stop, TokioTime};

type Done = Result<(), Box<dyn Error>>;

fn retrier() -> Result<Retrier<TokioTime>, ConfigError> {
    let policy = Policy::builder().max_attempts(3).attempt_timeout(Span::from_secs(1));
    Ok(Retrier::new(policy.budget(BudgetPlan::Unlimited).build()?, TokioTime))
}

/// A link that is broken until it has been dialled often enough.
struct Link {
    retrier: Retrier<TokioTime>,
    dials: u32,
}

impl Link {
    async fn dial(&mut self, until: u32) -> Result<u32, &'static str> {
        self.dials += 1;
        tokio::task::yield_now().await;
        if self.dials < until { Err("reset") } else { Ok(self.dials) }
    }

    async fn call(&mut self, until: u32) -> Option<u32> {
        let retrier = self.retrier.clone();
        let call = retrier.context(self).retry(|mut link| async move { link.dial(until).await });
        call.when(|_| true).await.ok()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_through_a_mutable_borrow_could_not_be_spawned() -> Done {
    let mut link = Link { retrier: retrier()?, dials: 0 };
    let task = tokio::spawn(async move { (link.call(3).await, link.call(9).await, link.dials) });
    assert_eq!(task.await?, (Some(3), None, 6));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_hands_the_context_to_the_next_attempt() -> Done {
    let mut seen = Vec::new();
    let retrier = retrier()?;
    let call = retrier.context(&mut seen).retry(|mut seen| async move {
        let attempt = ContextGuard::info(&seen);
        seen.push(attempt.number);
        if attempt.number < 3 { pending().await } else { Ok::<_, ()>(seen.len()) }
    });
    assert_eq!(call.when(|_| true).await.ok(), Some(3));
    assert_eq!(seen, [1, 2, 3]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_keeps_its_context_ends_the_call_and_pays_for_no_other() -> Done {
    let retrier = Retrier::new(Policy::default(), TokioTime);
    let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let call = retrier.context(7).retry(|context| {
        let sent = keep.send(context);
        async { sent.map_err(|_| "nobody keeps it").and(Err::<(), _>("busy")) }
    });
    let failed = call.when(|_| true).await.expect_err("no attempt succeeds");
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Cancelled, 1));
    assert_eq!(failed.into_inner(), Some("busy"));
    let stats = retrier.ledger().stats(TokioTime.now());
    assert_eq!((stats.grants, stats.refunds), (1, 1));
    assert_eq!(kept.recv().await.as_deref(), Some(&7));
    Ok(())
}
