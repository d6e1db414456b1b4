//! A queue consumer whose waits are the queue's.
//!
//! A service is away for a while. Its messages fail, and a queue that delivers them again after a fixed
//! time brings all of them back at once, again and again. Here each delivery is an attempt of a policy: the
//! delay grows and is spread, so fewer requests find the service away. One message cannot be processed at
//! all; it goes to the dead letters after its last delivery. Time is virtual here.
//!
//! `cargo run -p stagger --example redelivery --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;

use stagger::{
    Backoff, Clock, Instant, Jitter, NextDelivery, Outcome, Policy, Received, Redelivery, Rng,
    Sleep, Span, TokioTime, Verdict,
};

const MESSAGES: usize = 200;
/// The message that no consumer can process.
const POISON: usize = 7;
/// The outage.
const AWAY: Span = Span::from_secs(600);

/// A message in the queue: hidden until an instant, and received so often.
#[derive(Clone, Copy)]
struct Message {
    id: usize,
    visible: Instant,
    received: u32,
    first: Option<Instant>,
}

/// The consumer's work. `Unprocessed` is for a service that is away, `Transient` for one that fails.
fn work(message: &Message, started: Instant) -> Outcome {
    let verdict = match TokioTime.now() - started {
        _ if message.id == POISON => Verdict::Transient,
        age if age < AWAY => Verdict::Unprocessed,
        _ => Verdict::Ok,
    };
    Outcome::new(verdict)
}

/// Runs the queue until it is empty. Returns the deliveries during the outage, the most in one second of
/// it, and the dead letters.
async fn run(queue: Redelivery) -> (usize, usize, Vec<usize>) {
    let (started, mut chance) = (TokioTime.now(), Rng::with_seed(1));
    let new = |id| Message { id, visible: started, received: 0, first: None };
    let mut hidden: Vec<_> = (0..MESSAGES).map(new).collect();
    let (mut failed, mut most, mut dead) = (0, 0, Vec::new());
    while !hidden.is_empty() {
        let now = TokioTime.now();
        let (due, rest): (Vec<_>, _) = hidden.into_iter().partition(|m| m.visible <= now);
        hidden = rest;
        if now - started < AWAY && now > started {
            failed += due.len();
            most = most.max(due.len());
        }
        for mut message in due {
            message.received += 1;
            let first = *message.first.get_or_insert(now);
            let received = Received::new(message.received).first_received(now - first);
            match queue.after(&received, &work(&message, started), &mut chance) {
                NextDelivery::After(delay) => {
                    message.visible = now + delay;
                    hidden.push(message);
                }
                NextDelivery::Dead(_) => dead.push(message.id),
                _ => {}
            }
        }
        TokioTime.sleep(Span::from_secs(1)).await;
    }
    (failed, most, dead)
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let backoff = Backoff::exponential(Span::from_secs(30), Span::from_secs(3_600))?;
    let policy = Policy::builder().backoff(backoff.with_jitter(Jitter::Equal)?).max_attempts(12);
    let (failed, most, dead) = run(Redelivery::sqs(policy.build()?)).await;
    println!("by the policy: {failed} in vain, at most {most} in a second; dead: {dead:?}");

    // The queue's own visibility timeout, as consumers without a policy leave it.
    let fixed = Backoff::constant(Span::from_secs(30)).with_jitter(Jitter::None)?;
    let fixed = Policy::builder().backoff(fixed).max_attempts(100).build()?;
    let (fixed_failed, fixed_most, _) = run(Redelivery::sqs(fixed)).await;
    println!("every 30 s: {fixed_failed} in vain, at most {fixed_most} in a second");

    assert_eq!(dead, [POISON]);
    assert_eq!(fixed_most, MESSAGES, "all of them together");
    assert!(failed * 4 < fixed_failed && most * 8 < fixed_most);
    Ok(())
}
