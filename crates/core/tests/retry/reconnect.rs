//! Redialling: what counts as a connection.

use stagger_core::retry::{Reconnect, Stop};
use stagger_core::{Backoff, Instant, Jitter, Policy, Span};
use stagger_testkit::highest;

use crate::script::{doubling, secs};

const STABLE: Span = Span::from_secs(30);

fn for_five_minutes() -> Policy {
    doubling().unlimited_attempts().deadline(secs(300)).build().expect("within bounds")
}

/// Dials until the loop gives up; every connection lives for `life`. The delays, and the time.
fn flap(link: &mut Reconnect, policy: &Policy, now: &mut Instant, life: Span) -> (Vec<Span>, Stop) {
    let mut delays = Vec::new();
    loop {
        assert!(delays.len() < 100, "redialled for ever");
        link.on_up(*now);
        *now = *now + life;
        match link.on_down(policy, *now, &mut highest()) {
            Ok(delay) => delays.push(delay),
            Err(stop) => return (delays, stop),
        }
        *now = *now + delays[delays.len() - 1];
    }
}

// moq-dev/moq PR 1806, jitsi/jitsi-videobridge PR 2415, awslabs/aws-c-mqtt PR 212.
#[test]
fn a_peer_that_accepts_and_hangs_up_was_redialled_for_hours() {
    let policy = for_five_minutes();
    let mut link = Reconnect::new(STABLE);
    let mut now = Instant::ORIGIN;
    let (delays, stop) = flap(&mut link, &policy, &mut now, Span::from_millis(5));
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128].map(secs));
    assert_eq!((stop, link.retries()), (Stop::DeadlineExceeded, 8));
    assert!(now < Instant::ORIGIN + secs(300), "given up within five minutes");
    // Asked again, the answer stays: a handshake does not bring the loop back.
    link.on_up(now);
    let again = link.on_down(&policy, now + Span::from_millis(5), &mut highest());
    assert_eq!(again, Err(Stop::DeadlineExceeded));
}

// vitorpamplona/amethyst PR 3219.
#[test]
fn a_drop_after_an_hour_of_health_waited_for_minutes() {
    let policy = for_five_minutes();
    let mut link = Reconnect::new(STABLE);
    let mut now = Instant::ORIGIN;
    let _ = flap(&mut link, &policy, &mut now, Span::from_millis(5));
    link.on_up(now);
    link.on_up(now + secs(3_599)); // told twice: the first time counts
    now = now + secs(3_600);
    assert_eq!(link.on_down(&policy, now, &mut highest()), Ok(secs(1)));
    let (delays, _) = flap(&mut link, &policy, &mut now, Span::from_millis(5));
    assert_eq!(delays[..2], [secs(2), secs(4)], "the give-up clock began anew, too");
}

#[test]
fn a_connection_lasts_from_the_end_of_the_window_on() {
    let policy = for_five_minutes();
    for (life, delay) in [(STABLE - Span::from_nanos(1), secs(2)), (STABLE, secs(1))] {
        let mut link = Reconnect::new(STABLE);
        assert_eq!(
            link.on_down(&policy, Instant::ORIGIN, &mut highest()),
            Ok(secs(1)),
            "a dial failed"
        );
        link.on_up(Instant::ORIGIN + secs(1));
        let down = Instant::ORIGIN + secs(1) + life;
        assert_eq!(link.on_down(&policy, down, &mut highest()), Ok(delay));
    }
}

#[test]
fn a_clock_set_back_makes_no_connection_last() {
    let policy = for_five_minutes();
    let mut link = Reconnect::new(STABLE);
    link.on_up(Instant::ORIGIN + secs(7_200));
    assert_eq!(link.on_down(&policy, Instant::ORIGIN + secs(3_600), &mut highest()), Ok(secs(1)));
    link.on_up(Instant::ORIGIN + secs(10));
    assert_eq!(link.on_down(&policy, Instant::ORIGIN + secs(11), &mut highest()), Ok(secs(2)));
}

#[test]
fn a_decorrelated_loop_began_below_its_base() {
    let rule = Backoff::exponential(secs(1), secs(60)).expect("within bounds");
    let rule = rule.with_jitter(Jitter::Decorrelated).expect("a law without ratio");
    let policy = doubling().backoff(rule).max_attempts(4).build().expect("within bounds");
    let mut now = Instant::ORIGIN;
    let (delays, stop) = flap(&mut Reconnect::new(STABLE), &policy, &mut now, Span::ZERO);
    assert_eq!((delays, stop), ([3, 9, 27].map(secs).to_vec(), Stop::AttemptsExhausted));
}
