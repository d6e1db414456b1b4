//! A queue consumer that stops in time.
//!
//! A queue lends a message: a worker that takes it has 30 s, and then the queue takes it for lost and lends
//! it again. A consumer that tries 4 times for 10 s each, and waits in between, needs 43 s and more:
//! from second 30 on two consumers work on one message (redpanda-data/connect #1948).
//!
//! The lease bounds the deadline, less a margin to hand the message back. No attempt is begun that
//! could not end in time, and the queue lends the message again as it should. Time is virtual here.
//!
//! `cargo run -p stagger --example queue --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use stagger::{
    Backoff, Clock, ConfigError, Instant, Jitter, Policy, Retrier, Sleep, Span, TokioTime,
};

/// The time for which the queue lends a message.
const LEASE: Span = Span::from_secs(30);
/// For the answer to the queue, and for clocks that differ.
const MARGIN: Span = Span::from_secs(3);
/// The duration of the work, failed or not.
const WORK: Span = Span::from_secs(10);

/// A queue with one message.
#[derive(Clone, Default)]
struct Queue {
    message: Arc<Mutex<Message>>,
}

#[derive(Default)]
struct Message {
    lent_until: Option<Instant>,
    deliveries: u32,
    done: bool,
    /// Consumers at work on it now, and the most there have been.
    workers: u32,
    most_workers: u32,
    attempts: u32,
}

impl Queue {
    fn change<T>(&self, change: impl FnOnce(&mut Message) -> T) -> T {
        change(&mut self.message.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lends the message, unless it is lent or done.
    fn receive(&self) -> bool {
        let now = TokioTime.now();
        self.change(|message| {
            let free = !message.done && message.lent_until.is_none_or(|until| until <= now);
            if free {
                message.lent_until = Some(now + LEASE);
                message.deliveries += 1;
            }
            free
        })
    }

    /// The work on the message. The service that it needs fails for a minute.
    async fn work(&self, started: Instant) -> Result<(), &'static str> {
        self.change(|message| {
            message.attempts += 1;
            message.workers += 1;
            message.most_workers = message.most_workers.max(message.workers);
        });
        TokioTime.sleep(WORK).await;
        self.change(|message| message.workers -= 1);
        if TokioTime.now() - started < Span::from_secs(60) { Err("unavailable") } else { Ok(()) }
    }
}

/// Takes the message whenever it is there, until it is done.
async fn consume(queue: Queue, retrier: Retrier<TokioTime>, started: Instant) {
    while !queue.change(|message| message.done) {
        if queue.receive() {
            match retrier.retry(|| queue.work(started)).when(|_: &&str| true).await {
                Ok(()) => queue.change(|message| message.done = true),
                // Not handed back early: the lease ends soon, and until then no worker storms the service.
                Err(failed) => println!("{failed}"),
            }
        }
        TokioTime.sleep(Span::from_secs(1)).await;
    }
}

/// One message and two consumers.
async fn run(policy: Policy) -> Result<Message, Box<dyn Error>> {
    let (queue, retrier) = (Queue::default(), Retrier::new(policy, TokioTime));
    let consumers =
        [(); 2].map(|()| tokio::spawn(consume(queue.clone(), retrier.clone(), TokioTime.now())));
    for consumer in consumers {
        consumer.await?;
    }
    Ok(queue.change(std::mem::take))
}

fn policies() -> Result<(Policy, Policy), ConfigError> {
    let backoff = Backoff::exponential(Span::from_secs(1), Span::from_secs(20))?;
    let naive = Policy::builder().backoff(backoff.with_jitter(Jitter::Equal)?).max_attempts(4);
    let bounded = naive.deadline(LEASE - MARGIN).min_attempt_time(WORK);
    Ok((naive.build()?, bounded.build()?))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let (naive, bounded) = policies()?;
    let overrun = run(naive).await?;
    assert_eq!(overrun.most_workers, 2, "the message was lent again under the first consumer");
    let message = run(bounded).await?;
    println!("done by delivery {}, attempt {}", message.deliveries, message.attempts);
    assert!(message.done && message.most_workers == 1);
    Ok(())
}
