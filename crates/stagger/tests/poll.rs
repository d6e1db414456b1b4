//! Polling: looks again until ready, within its own limits.

mod support;

use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;
use std::task::Poll;

use stagger::{Backoff, Cancel, ConfigError, Jitter, PollStop, Poller, Progress, Span};
use support::{ManualTime, poll};

type Done = Result<(), ConfigError>;
type Look = Result<Progress<u8>, &'static str>;

const NOT_YET: Look = Ok(Progress::NOT_YET);

const fn secs(n: u64) -> Span {
    Span::from_secs(n)
}

fn not_before(n: u64) -> Look {
    Ok(Progress::NotYet { hint: Some(secs(n)) })
}

/// Delays of 1, 2, 4, 4, ... seconds for a minute.
fn minute(time: &ManualTime) -> Result<Poller<ManualTime>, ConfigError> {
    let backoff = Backoff::exponential(secs(1), secs(4))?.with_jitter(Jitter::None)?;
    Poller::new(backoff, secs(60), time.clone())
}

#[test]
fn it_looks_until_it_is_ready_after_growing_delays() -> Done {
    let time = ManualTime::default();
    let mut at = Vec::new();
    let answer = minute(&time)?.run_blocking(|| {
        at.push(time.elapsed());
        if at.len() < 5 { NOT_YET } else { Ok(Progress::Ready(7)) }
    });
    assert_eq!(answer, Ok(7));
    assert_eq!(at, [0, 1, 3, 7, 11].map(secs));
    Ok(())
}

#[test]
fn a_hint_on_success_is_never_undercut_and_one_past_the_deadline_is_handed_back() -> Done {
    let time = ManualTime::default();
    let mut looks = [not_before(20), not_before(3_600)].into_iter();
    let failed = minute(&time)?.with_seed(7).run_blocking(|| looks.next().expect("two looks"));
    let failed = failed.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (PollStop::DeadlineExceeded, 2));
    assert_eq!(failed.hint(), Some(secs(3_600)));
    assert!((secs(20)..=secs(30)).contains(&time.elapsed()), "{}", time.elapsed());
    Ok(())
}

#[test]
fn no_wait_is_begun_that_no_look_can_follow() -> Done {
    let time = ManualTime::default();
    let failed = minute(&time)?.run_blocking(|| NOT_YET).unwrap_err();
    // At 0, 1, 3, and then every 4 s.
    assert_eq!((failed.stop(), failed.elapsed()), (PollStop::DeadlineExceeded, secs(59)));
    assert_eq!(failed.attempts(), 17);
    let failed = minute(&time)?.max_attempts(3).run_blocking(|| NOT_YET).unwrap_err();
    assert_eq!((failed.stop(), failed.elapsed()), (PollStop::AttemptsExhausted, secs(3)));
    Ok(())
}

#[test]
fn a_hint_that_fits_is_not_refused_because_of_its_spread() -> Done {
    for seed in 0..20 {
        let time = ManualTime::default();
        let mut looks = [not_before(59), Ok(Progress::Ready(1))].into_iter();
        let poller = minute(&time)?.with_seed(seed);
        assert_eq!(poller.run_blocking(|| looks.next().expect("two looks")), Ok(1), "{seed}");
        assert!((secs(59)..secs(60)).contains(&time.elapsed()), "{}", time.elapsed());
    }
    Ok(())
}

#[test]
fn a_wait_that_slept_past_the_deadline_is_followed_by_no_look() -> Done {
    let time = ManualTime::default();
    let poller = minute(&time)?;
    let looks = Cell::new(0);
    let mut call = pin!(poller.run(|| {
        looks.set(looks.get() + 1);
        ready(NOT_YET)
    }));
    assert!(poll(call.as_mut()).is_pending());
    time.advance(secs(3_600));
    let Poll::Ready(Err(failed)) = poll(call.as_mut()) else { panic!("the deadline is over") };
    assert_eq!((failed.stop(), failed.attempts()), (PollStop::DeadlineExceeded, 1));
    assert_eq!(looks.get(), 1);
    Ok(())
}

#[test]
fn a_dropped_poll_looks_no_more() -> Done {
    let time = ManualTime::default();
    let poller = minute(&time)?;
    let mut looks = 0;
    {
        let mut call = pin!(poller.run(|| {
            looks += 1;
            ready(NOT_YET)
        }));
        assert!(poll(call.as_mut()).is_pending());
    }
    time.advance(secs(30));
    assert_eq!(looks, 1);
    Ok(())
}

#[test]
fn a_poll_cancelled_in_its_wait_ends_there() -> Done {
    let (time, cancel) = (ManualTime::default(), Cancel::new());
    let poller = minute(&time)?.cancel(&cancel);
    let failed = poller.run_blocking(|| {
        cancel.cancel(); // from another thread, as far as the wait can tell
        NOT_YET
    });
    let failed = failed.unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (PollStop::Cancelled, 1));
    assert_eq!(time.elapsed(), Span::ZERO);
    Ok(())
}

#[test]
fn an_error_ends_it_unchanged() -> Done {
    let failed = minute(&ManualTime::default())?.run_blocking(|| Look::Err("gone")).unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (PollStop::Failed, 1));
    assert_eq!(failed.into_inner(), Some("gone"));
    Ok(())
}

#[test]
fn a_cancelled_poll_does_not_look() -> Done {
    let cancel = Cancel::new();
    cancel.cancel();
    let poller = minute(&ManualTime::default())?.cancel(&cancel);
    let failed = poller.run_blocking(|| Look::Ok(Progress::Ready(1))).unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (PollStop::Cancelled, 0));
    Ok(())
}

#[test]
fn an_async_poll_waits_by_its_timer() -> Done {
    let time = ManualTime::default();
    let poller = minute(&time)?;
    let mut looks = 0;
    let mut call = pin!(poller.run(|| {
        looks += 1;
        ready(if looks < 3 { NOT_YET } else { Ok(Progress::Ready(looks)) })
    }));
    for wait in [1, 2] {
        assert!(poll(call.as_mut()).is_pending());
        time.advance(secs(wait));
    }
    assert_eq!(poll(call.as_mut()), Poll::Ready(Ok(3)));
    Ok(())
}

#[test]
fn an_async_look_that_hangs_ends_at_the_deadline() -> Done {
    let time = ManualTime::default();
    let poller = minute(&time)?;
    let mut call = pin!(poller.run(pending::<Look>));
    assert!(poll(call.as_mut()).is_pending());
    time.advance(secs(60));
    let Poll::Ready(Err(failed)) = poll(call.as_mut()) else { panic!("the deadline is over") };
    assert_eq!((failed.stop(), failed.elapsed()), (PollStop::DeadlineExceeded, secs(60)));
    Ok(())
}

#[test]
fn a_poll_without_delay_or_time_is_refused() {
    let (zero, time) = (Span::ZERO, ManualTime::default());
    let hot = Poller::new(Backoff::constant(zero), secs(1), time.clone()).unwrap_err();
    assert_eq!(hot.field(), "backoff.base");
    let none = Poller::new(Backoff::constant(secs(1)), zero, time).unwrap_err();
    assert_eq!(none.field(), "limits.deadline");
}
