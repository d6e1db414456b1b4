//! One backoff delay.

use std::error::Error;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use stagger::{Backoff, Span};
use tokio::runtime::Runtime;
use tower::retry::backoff::{Backoff as _, MakeBackoff};
use tower_resilience_retry::IntervalFunction;

use crate::group::{Effort, Group, GroupRow};
use crate::services;

const BASE: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(60);

/// Draws from one generator or iterator, one delay after the other.
macro_rules! drawn {
    ($state:expr, |$s:ident| $draw:expr) => {{
        let state = Mutex::new($state);
        move |n| {
            let mut guard = state.lock().expect("one thread measures");
            let $s = &mut *guard;
            for _ in 0..n {
                let _ = black_box($draw);
            }
        }
    }};
}

pub(crate) fn rows(tokio: &Runtime, effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let _inside = tokio.enter();
    let rule = Backoff::exponential(Span::from_millis(100), Span::from_secs(60))?;
    let group = Group::new("one delay", drawn!(0_u64, |x| *x += 1)).case(
        "stagger",
        "",
        drawn!(fastrand::Rng::with_seed(1), |rng| {
            let mut words = || rng.u64(..);
            black_box(&rule).delay(black_box(4), Span::ZERO, &mut words)
        }),
    );
    Ok(computed(drawn_in_turn(group))?.rows(effort))
}

/// Delays that come out of an iterator or its like.
fn drawn_in_turn(group: Group<'_>) -> Group<'_> {
    group
        .case("backon", "", {
            use backon::BackoffBuilder;
            let all =
                backon::ExponentialBuilder::default().with_jitter().without_max_times().build();
            drawn!(all, |delays| delays.next())
        })
        .case("tokio-retry", "", {
            use tokio_retry::strategy::{ExponentialBackoff, jitter};
            let all = ExponentialBackoff::from_millis(2).factor(50).max_delay(CAP).map(jitter);
            drawn!(all, |delays| delays.next())
        })
        .case("tokio-retry2", "", {
            use tokio_retry2::strategy::{ExponentialBackoff, jitter};
            let all = ExponentialBackoff::from_millis(2).factor(50).max_delay(CAP).map(jitter);
            drawn!(all, |delays| delays.next())
        })
        .case("backoff", "", {
            use backoff::backoff::Backoff;
            let all = backoff::ExponentialBackoff { max_elapsed_time: None, ..Default::default() };
            drawn!(all, |delays| delays.next_backoff())
        })
        .case("retry", "", {
            use retry::delay::{Exponential, jitter};
            drawn!(Exponential::from_millis_with_factor(100, 1.0).map(jitter), |delays| delays
                .next())
        })
}

/// Delays that are computed from the number of the attempt, and timers.
fn computed(group: Group<'_>) -> Result<Group<'_>, Box<dyn Error>> {
    let gax = google_cloud_gax::exponential_backoff::ExponentialBackoff::default();
    let failed = google_cloud_gax::retry_state::RetryState::new(true).set_attempt_count(4_u32);
    let resilience =
        tower_resilience_retry::ExponentialRandomBackoff::new(BASE, 0.5)?.max_interval(CAP);
    let policies = retry_policies::policies::ExponentialBackoff::builder()
        .jitter(retry_policies::Jitter::Full)
        .build_with_max_retries(10);
    Ok(group
        .case(
            "retry-policies",
            "",
            drawn!(policies, |rule| {
                retry_policies::RetryPolicy::should_retry(rule, SystemTime::UNIX_EPOCH, 4)
            }),
        )
        .case(
            "tower",
            "makes the timer",
            drawn!(services::maker()?.make_backoff(), |delays| {
                drop(black_box(delays.next_backoff()))
            }),
        )
        .case(
            "failsafe",
            "",
            drawn!(failsafe::backoff::equal_jittered(Duration::from_secs(1), CAP), |delays| delays
                .next()),
        )
        .case(
            "google-cloud-gax",
            "",
            drawn!((gax, failed), |pair| {
                google_cloud_gax::backoff_policy::BackoffPolicy::on_failure(&pair.0, &pair.1)
            }),
        )
        .case("tower-resilience-retry", "", drawn!(resilience, |rule| rule.next_interval(4))))
}
