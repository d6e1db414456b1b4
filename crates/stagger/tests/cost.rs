//! The cost of a clean first try: bytes, allocations, clock reads and draws.
#![expect(unsafe_code, reason = "only an allocator sees allocations")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, TokenPlan};
use stagger::{ConfigError, Policy, PolicyBuilder, Ratio, Retrier, Sleep, Span};
use support::{ManualTime, poll};

/// The system's allocator, counting for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the contract;
// the counter is plain thread-local data that never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u32 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Policies, with how often an attempt that is ready at once reads the clock, and how often one that
/// takes time.
fn policies() -> Result<[(PolicyBuilder, u64, u64); 7], ConfigError> {
    let retry_alone = Policy::builder().budget(BudgetPlan::Unlimited);
    let breaker = BreakerPlan::builder().build()?;
    let minds_time = BreakerPlan::builder().slow_calls(Span::from_secs(1), Ratio::from_percent(50));
    Ok([
        (retry_alone, 0, 1),
        (retry_alone.attempt_timeout(Span::from_secs(9)), 0, 1),
        (retry_alone.deadline(Span::from_secs(9)), 1, 1),
        (Policy::builder(), 1, 1),
        (Policy::builder().breaker(breaker), 1, 2),
        (Policy::builder().breaker(minds_time.build()?), 2, 2),
        (Policy::builder().budget(TokenPlan::aws_2_0()), 1, 1),
    ])
}

/// An operation as large as a small request, of which 512 bytes live across its await.
async fn operation() -> Result<u8, ()> {
    let body = [7_u8; 512];
    ready(()).await;
    Ok(body[usize::from(body[0])])
}

#[test]
fn a_clean_first_try_allocates_nothing_and_asks_for_the_time_only_where_somebody_needs_it()
-> Result<(), ConfigError> {
    for (policy, reads, _) in policies()? {
        let (time, draws) = (ManualTime::default(), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&draws);
        let entropy = move || u64::from(counted.fetch_add(1, Ordering::Relaxed));
        let retrier = Retrier::new(policy.build()?, time.clone()).with_entropy(entropy);
        let first_try = || {
            let mut call = pin!(retrier.retry(operation).when(|_: &()| true).into_future());
            assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(7)));
        };
        assert_eq!(allocations(first_try), 0);
        assert_eq!((time.reads(), draws.load(Ordering::Relaxed)), (reads, 0), "{policy:?}");
        assert_eq!(time.timers(), 0);
    }
    Ok(())
}

#[test]
fn a_retry_does_allocate_so_that_the_count_can_be_trusted() -> Result<(), ConfigError> {
    let retrier = Retrier::new(Policy::builder().build()?, ManualTime::default());
    let failing = || {
        let mut call = pin!(retrier.retry(async || Err::<(), _>(())).when(|_| true).into_future());
        assert!(poll(call.as_mut()).is_pending());
    };
    assert!(allocations(failing) > 0);
    Ok(())
}

#[test]
fn a_blocking_first_try_allocates_nothing_and_reads_the_clock_once_more_at_most()
-> Result<(), ConfigError> {
    for (policy, _, reads) in policies()? {
        let time = ManualTime::default();
        let retrier = Retrier::new(policy.build()?, time.clone());
        let first_try = || {
            let answer = retrier.retry_blocking(|| Ok(7)).when(|_: &()| true).call();
            assert_eq!(answer, Ok(7));
        };
        assert_eq!(allocations(first_try), 0);
        assert_eq!(time.reads(), reads);
    }
    Ok(())
}

/// The allocations of a request through a service, whose reply is ready at once.
#[cfg(all(feature = "http", feature = "tower"))]
fn request_allocations<S, B>(service: &S) -> u32
where
    S: tower::Service<http::Request<String>, Response = http::Response<B>> + Clone,
{
    let request = http::Request::get("http://inventory.test/bolts").body(String::new());
    let mut request = request.ok();
    let mut service = service.clone();
    allocations(|| {
        let call = request.take().map(|request| service.call(request));
        let mut call = pin!(call.expect("the request is a constant"));
        assert!(matches!(poll(call.as_mut()), Poll::Ready(Ok(_))));
    })
}

#[cfg(all(feature = "http", feature = "tower"))]
#[test]
fn a_request_to_a_known_server_allocates_nothing() -> Result<(), ConfigError> {
    use stagger::http::Replay;
    use stagger::tower::StaggerLayer;
    use tower::{Layer, service_fn};

    let reply = || ready(Ok::<_, std::fmt::Error>(http::Response::new(String::new())));
    let bare = request_allocations(&service_fn(move |_: http::Request<String>| reply()));
    let retrier = Retrier::new(Policy::builder().build()?, ManualTime::default());
    let server = service_fn(move |_: http::Request<Replay<String>>| reply());
    let service = StaggerLayer::http(retrier).layer(server);
    let first = request_allocations(&service);
    let next = request_allocations(&service);
    // The first request makes the ledger.
    assert_eq!((bare, next), (0, 0));
    assert!(first > next, "{first}");
    Ok(())
}

#[test]
fn a_call_adds_at_most_150_bytes_to_its_operation_and_its_timer() -> Result<(), ConfigError> {
    let retrier = Retrier::new(Policy::builder().build()?, ManualTime::default());
    let own = size_of_val(&operation()) + size_of::<Option<<ManualTime as Sleep>::Timer>>();
    let call = retrier.retry(operation).when(|_: &()| true).into_future();
    assert!(size_of_val(&call) - own <= 150, "{} over {own}", size_of_val(&call));

    let operation_of = |_: stagger::AttemptInfo| operation();
    let call = retrier.retry_with(operation_of).when(|_: &()| true).into_future();
    assert!(size_of_val(&call) - own <= 150, "{} over {own}", size_of_val(&call));
    Ok(())
}

#[test]
fn a_call_in_one_line_makes_its_budget_once_and_then_allocates_nothing() {
    let here = || stagger::retry_blocking(|| Ok::<_, ()>(7)).when(|()| true).call();
    let first = allocations(|| assert_eq!(here(), Ok(7)));
    let next = allocations(|| assert_eq!(here(), Ok(7)));
    assert!(first > 0 && next == 0, "{first}, {next}");
    let policy = Policy::interactive();
    let here = || stagger::retry_blocking(|| Ok::<_, ()>(7)).policy(policy).when(|()| true).call();
    let (_, next) = (here(), allocations(|| assert_eq!(here(), Ok(7))));
    assert_eq!(next, 0);
}
