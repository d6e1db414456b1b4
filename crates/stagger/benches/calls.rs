//! The cost of a clean first try over the bare call: `cargo bench -p stagger --bench calls`.
//!
//! Every round measures all rows, and a row keeps its best round: so a busy machine slows the run
//! and not the figures, and rows can be compared with each other and with the bare call.
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![expect(clippy::print_stdout, reason = "the report of a bench target is what it prints")]

use std::future::{Future, IntoFuture, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::{Clock, ConfigError, Policy, Retrier, Sleep, Span, StdTime};

/// Calls in one measured piece: some tens of microseconds, which fit between two interruptions.
const CALLS: u32 = 1_000;
/// Enough for each row to be alone on its core once.
const ROUNDS: u32 = 1_000;

struct Row<'r> {
    name: &'static str,
    call: Box<dyn FnMut(u32) + 'r>,
    best: Duration,
}

fn main() -> Result<(), ConfigError> {
    let alone = Policy::builder().budget(BudgetPlan::Unlimited);
    let breaker = BreakerPlan::builder().build()?;
    let policies = [
        ("retry alone", alone),
        ("deadline", alone.deadline(Span::from_secs(9))),
        ("token budget", alone.budget(TokenPlan::aws_2_0())),
        ("window budget", Policy::builder()),
        ("breaker", alone.breaker(breaker)),
        ("window budget and breaker", Policy::builder().breaker(breaker)),
    ];
    let mut rows = vec![
        row("bare call", || poll_once(operation())),
        row("bare call again", || poll_once(operation())),
        row("clock read", || StdTime.now()),
    ];
    for (name, policy) in policies {
        let retrier = Retrier::new(policy.build()?, timer);
        rows.push(row(name, move || first_try(&retrier)));
    }
    #[cfg(feature = "tokio")]
    {
        let policy = Policy::builder().breaker(breaker).build()?;
        let retrier = Retrier::new(policy, stagger::TokioTime);
        rows.push(row("the same by tokio's clock", move || first_try(&retrier)));
    }
    rows.push(row("one line", || {
        poll_once(stagger::retry(operation).when(|_| true).into_future())
    }));
    rows.push(row("one line, blocking", || {
        stagger::retry_blocking(|| Ok::<_, ()>(7)).when(|()| true).call()
    }));
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::measure);
    }
    print(&rows);
    Ok(())
}

fn row<'r, T>(name: &'static str, call: impl Fn() -> T + 'r) -> Row<'r> {
    let calls = move |times| (0..times).for_each(|_| drop(black_box(call())));
    Row { name, call: Box::new(calls), best: Duration::MAX }
}

impl Row<'_> {
    fn measure(&mut self) {
        let start = Instant::now();
        (self.call)(CALLS);
        self.best = self.best.min(start.elapsed());
    }

    fn nanos(&self) -> f64 {
        self.best.as_secs_f64() * 1e9 / f64::from(CALLS)
    }
}

fn print(rows: &[Row<'_>]) {
    let bare = rows[0].nanos();
    println!("| call | ns | over the bare call |\n| --- | --- | --- |");
    for row in rows {
        println!("| {} | {:.1} | {:.1} |", row.name, row.nanos(), row.nanos() - bare);
    }
}

fn first_try<Z: Sleep>(retrier: &Retrier<Z>) -> Result<u64, stagger::Error<u64>> {
    poll_once(retrier.retry(operation).when(|_| true).into_future())
}

/// Ready at once, which the compiler does not know.
fn operation() -> Ready<Result<u64, u64>> {
    ready(black_box(Ok(7)))
}

fn timer(_: Duration) -> Ready<()> {
    ready(())
}

/// Polls once, as a runtime does with a future that is ready immediately.
fn poll_once<T, E>(call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("the operation is ready at once"),
    }
}
