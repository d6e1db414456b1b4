//! Redelivery: the policy of a queue consumer, whose attempts are the deliveries of a message.

use stagger_core::hint::WallTime;
use stagger_core::retry::{Action, Permit, Retry, Saved, Step, Stop, Wait};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span, Verdict};

/// SQS hides a message for at most this long, counted from the time that it was received.
const SQS_LONGEST: Span = Span::from_secs(12 * 60 * 60);

/// Decides what becomes of a message that was received: done with, hidden for a while, or dead.
///
/// A consumer that waits holds its message, and its lease runs out. So the wait is the queue's: each
/// delivery is one attempt of the policy, and nothing is kept between two of them but what the queue
/// counts itself. Backoff, jitter, `max_attempts`, hints and the `deadline`, from the first receipt on, are
/// the policy's. Budget and breaker are not asked: they guard what the handler calls, where a
/// [`Retrier`](crate::Retrier) asks them.
///
/// | queue | the number of the delivery | back with a delay | dead |
/// | --- | --- | --- | --- |
/// | SQS | `ApproximateReceiveCount` | `ChangeMessageVisibility` | `SendMessage` to the dead letter queue, then `DeleteMessage` |
/// | NATS `JetStream` | `num_delivered` | `Nak` with a delay | `Term` |
/// | Kafka | a header of the record on the retry topic | a record on the retry topic, with the time it is due | a record on the dead letter topic |
/// | RabbitMQ | `x-delivery-count`, and 1 | a queue with a TTL | reject without requeue |
///
/// ```
/// use stagger::hint::WallTime;
/// use stagger::{NextDelivery, OsEntropy, Outcome, Policy, Received, Redelivery, Span, Verdict};
/// let policy = Policy::builder().max_attempts(5).deadline(Span::from_secs(86_400)).build()?;
/// let queue = Redelivery::sqs(policy);
///
/// // Attributes of the message: ApproximateReceiveCount, ApproximateFirstReceiveTimestamp.
/// let now = WallTime::from_unix_secs(1_771_404_480);
/// let message = Received::sqs("2", "1771404420000", now).expect("two numbers");
/// let failed = Outcome::new(Verdict::Transient);
/// match queue.after(&message, &failed, &mut OsEntropy) {
///     NextDelivery::Done => println!("DeleteMessage"),
///     NextDelivery::After(delay) => println!("VisibilityTimeout={}", delay.as_secs_ceil()),
///     NextDelivery::Dead(stop) => println!("to the dead letters: {}", stop.name()),
///     _ => {}
/// }
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Redelivery {
    policy: Policy,
    longest: Span,
}

/// A message that was received: how often, since when, and for how long its consumer has held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a message is decided on by a Redelivery"]
pub struct Received {
    number: u32,
    age: Span,
    held: Span,
}

/// The end of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "the queue has to be told"]
pub enum NextDelivery {
    /// The message was processed: acknowledge it.
    Done,
    /// Give the message back, to be delivered again after this delay.
    After(Span),
    /// No delivery follows: keep the message where a person can see it.
    Dead(Stop),
}

impl Redelivery {
    /// Deliveries under `policy`.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { policy, longest: Span::MAX }
    }

    /// Deliveries under `policy` by SQS, which hides a message for at most 12 h from its receipt on.
    #[must_use]
    pub const fn sqs(policy: Policy) -> Self {
        Self { policy, longest: SQS_LONGEST }
    }

    /// The queue delays a message by at most this, counted from its receipt. A longer delay is cut to it, so
    /// a hint that is longer costs a delivery; the `max_hint` of the policy ends it instead. Default: any.
    #[must_use]
    pub fn longest_delay(mut self, longest: impl Into<Span>) -> Self {
        self.longest = longest.into();
        self
    }

    /// Why this delivery should not be processed at all, if there is a reason: it is beyond the last one, or
    /// the deadline has passed. A message that takes its consumer down never reports a failure, so ask this
    /// first.
    ///
    /// ```
    /// use stagger::{Policy, Received, Redelivery, Stop};
    /// let queue = Redelivery::new(Policy::default()); // three attempts
    /// assert_eq!(queue.refuses(&Received::new(3)), None);
    /// assert_eq!(queue.refuses(&Received::new(4)), Some(Stop::AttemptsExhausted));
    /// ```
    #[must_use]
    pub fn refuses(&self, message: &Received) -> Option<Stop> {
        self.begin(message).err()
    }

    /// The next step of the message after this delivery of it. A handler that was cancelled, as by the end of
    /// its process, gives the message back at once.
    pub fn after(
        &self,
        message: &Received,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> NextDelivery {
        match outcome.verdict {
            Verdict::Ok => return NextDelivery::Done,
            Verdict::Cancelled => return NextDelivery::After(Span::ZERO),
            _ => {}
        }
        match self.next(message, outcome, entropy) {
            Ok(delay) => NextDelivery::After(delay.min(self.longest - message.held)),
            Err(stop) => NextDelivery::Dead(stop),
        }
    }

    /// The call of the message, in the attempt that is this delivery.
    fn begin(&self, message: &Received) -> Result<Retry, Stop> {
        let (before, backoff) = (message.number - 1, self.policy.backoff());
        let saved = Saved {
            attempts: before,
            retries: before,
            elapsed: message.age,
            wait: Span::ZERO,
            // No queue keeps the last delay. A law that grows from it draws from all that it may have reached.
            prev: if before == 0 { backoff.base() } else { backoff.range(before).1 },
            spent: 0,
            under_way: false,
            // A queue delivers at least once, so the handler has to bear it.
            idempotent: true,
        };
        let (mut call, mut step) = saved.resume(&self.policy, Instant::ORIGIN);
        loop {
            step = match step {
                Step::Ask(_) => call.on_permit(&self.policy, Instant::ORIGIN, Permit::Granted),
                Step::Act(Action::Done(done)) => return Err(done.stop),
                Step::Act(_) => return Ok(call),
            }
        }
    }

    fn next(
        &self,
        message: &Received,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Result<Span, Stop> {
        let mut call = self.begin(message)?;
        // What would heal the next attempt is of no use to another consumer.
        let mut outcome = *outcome;
        outcome.remedy = None;
        let now = Instant::ORIGIN;
        let mut step = call.on_outcome(&self.policy, now, &outcome, entropy);
        loop {
            step = match step {
                Step::Ask(_) => call.on_permit(&self.policy, now, Permit::Granted),
                Step::Act(Action::Wait(Wait::Until(at))) => return Ok(at - now),
                Step::Act(Action::Done(done)) => return Err(done.stop),
                Step::Act(_) => return Ok(Span::ZERO),
            }
        }
    }
}

impl Received {
    /// The delivery of this number, from 1, of a message whose age nobody knows: the deadline of the policy
    /// then counts from now.
    pub const fn new(number: u32) -> Self {
        let number = if number == 0 { 1 } else { number };
        Self { number, age: Span::ZERO, held: Span::ZERO }
    }

    /// The same delivery, of a message that was first received this long ago.
    pub fn first_received(mut self, ago: impl Into<Span>) -> Self {
        self.age = ago.into();
        self
    }

    /// The same delivery, which was received this long ago: for queues that count their longest delay from
    /// there.
    pub fn held(mut self, held: impl Into<Span>) -> Self {
        self.held = held.into();
        self
    }

    /// The delivery that these attributes of an SQS message tell of: `ApproximateReceiveCount`, and
    /// `ApproximateFirstReceiveTimestamp` in milliseconds since the epoch. `None` unless both are numbers.
    #[must_use]
    pub fn sqs(receive_count: &str, first_receive_timestamp: &str, now: WallTime) -> Option<Self> {
        let first = Span::from_millis(digits(first_receive_timestamp)?);
        Some(Self::of_count(receive_count)?.first_received(WallTime::from_unix(first).until(now)))
    }

    /// The delivery after as many as a header says in digits, as the consumer of a retry topic writes it:
    /// the [`number`](Self::number) of the delivery that failed. `None` for what is no number.
    ///
    /// ```
    /// use stagger::Received;
    /// let first = Received::new(1);
    /// let header = first.number().to_string(); // on the record for the retry topic
    /// assert_eq!(Received::after_failed(&header).map(|next| next.number()), Some(2));
    /// ```
    #[must_use]
    pub fn after_failed(number: &str) -> Option<Self> {
        let failed = Self::of_count(number)?;
        Some(Self::new(failed.number.saturating_add(1)))
    }

    /// The number of the delivery, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    fn of_count(text: &str) -> Option<Self> {
        Some(Self::new(u32::try_from(digits(text)?).unwrap_or(u32::MAX)))
    }
}

/// Digits alone: no sign, which the standard library's parser would take. More than an integer holds are the
/// highest there is.
fn digits(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}
