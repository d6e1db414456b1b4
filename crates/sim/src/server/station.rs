//! The workers of one shard with their queue, and the rate limit before them.

use std::collections::VecDeque;

use stagger_core::{Instant, Ratio, Span};

use crate::plan::{Full, QueueDiscipline, ServerRateLimit, Workers};

/// An attempt that waits for a worker or has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedAttempt {
    /// The call.
    pub(crate) id: u32,
    /// The slot that keeps its caller.
    pub(crate) slot: u32,
    /// The attempt's number in its call.
    pub(crate) number: u32,
    /// The instant at which its caller gives up.
    pub(crate) give_up: Instant,
    /// Whether it waits for its refusal, which takes a worker's time.
    pub(crate) refused: bool,
}

/// The place of an attempt that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueAdmission {
    /// A worker is free: start it.
    Start,
    /// It waits.
    Wait,
    /// The queue is full, and it waits for a worker that refuses it.
    WaitForRefusal,
    /// The queue is full.
    Refuse,
    /// The queue is full, and the attempt is dropped without an answer.
    Drop,
}

/// One shard's workers and queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    queue: VecDeque<QueuedAttempt>,
    /// Retries, where first attempts go before them.
    retries: VecDeque<QueuedAttempt>,
    /// Attempts that found the queue full and wait for their refusal.
    refusals: VecDeque<QueuedAttempt>,
    busy: u32,
}

impl Station {
    pub(super) fn enter(
        &mut self,
        rules: &Workers,
        job: QueuedAttempt,
        stalled: bool,
    ) -> QueueAdmission {
        if !stalled && self.busy < rules.count {
            self.busy += 1;
            return QueueAdmission::Start;
        }
        let waiting = self.waiting();
        if rules.queue.is_some_and(|bound| waiting >= bound as usize) {
            return match rules.full {
                Full::Refuse if rules.refusal > Span::ZERO => {
                    self.refusals.push_back(QueuedAttempt { refused: true, ..job });
                    QueueAdmission::WaitForRefusal
                }
                Full::Refuse => QueueAdmission::Refuse,
                Full::Drop => QueueAdmission::Drop,
            };
        }
        let apart = rules.order == QueueDiscipline::FirstTriesFirst && job.number > 1;
        if apart {
            self.retries.push_back(job);
        } else {
            self.queue.push_back(job);
        }
        QueueAdmission::Wait
    }

    /// Whether an attempt that comes now is refused, and that costs nothing.
    #[inline]
    pub(super) fn refuses_at_once(&self, rules: &Workers, stalled: bool) -> bool {
        let busy = stalled || self.busy >= rules.count;
        let free = rules.full == Full::Refuse && rules.refusal == Span::ZERO;
        busy && free && rules.queue.is_some_and(|bound| self.waiting() >= bound as usize)
    }

    /// Attempts that wait for work; those that wait for a refusal are not among them.
    fn waiting(&self) -> usize {
        self.queue.len() + self.retries.len()
    }

    /// A worker is free again.
    pub(super) const fn leave(&mut self) {
        self.busy -= 1;
    }

    /// The next attempt, if a worker is free for it. The caller starts it or drops it.
    pub(super) fn next(&mut self, rules: &Workers) -> Option<QueuedAttempt> {
        if self.busy >= rules.count {
            return None;
        }
        if let Some(refused) = self.refusals.pop_front() {
            return Some(refused);
        }
        match rules.order {
            QueueDiscipline::FirstTriesFirst => {
                self.queue.pop_front().or_else(|| self.retries.pop_front())
            }
            QueueDiscipline::OldestFirst => self.queue.pop_front(),
            QueueDiscipline::NewestFirst => self.queue.pop_back(),
        }
    }

    /// The attempt that was taken is started.
    pub(super) const fn start(&mut self) {
        self.busy += 1;
    }

    /// The time that work of this length takes in the crowd of now.
    pub(super) fn crowded(&self, rules: &Workers, usual: Span) -> Span {
        if rules.collapse == Ratio::ZERO {
            return usual;
        }
        let extra = rules.collapse.of_span(usual);
        usual + extra.saturating_mul(self.waiting() as u64)
    }
}

/// One shard's limit at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    rule: ServerRateLimit,
    /// Fixed window: its number. Tokens: when the bucket would be full again.
    mark: u64,
    used: u32,
}

impl Limiter {
    pub(super) const fn new(rule: ServerRateLimit) -> Self {
        Self { rule, mark: 0, used: 0 }
    }

    /// Admits an attempt, or says after what time to come back.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Span> {
        match self.rule {
            ServerRateLimit::Window { attempts, window } => self.in_window(now, attempts, window),
            ServerRateLimit::Tokens { burst, every } => self.by_token(now, burst, every),
        }
    }

    fn in_window(&mut self, now: Instant, attempts: u32, window: Span) -> Result<(), Span> {
        let width = window.as_nanos().max(1);
        let number = now.as_nanos() / width;
        if number != self.mark {
            (self.mark, self.used) = (number, 0);
        }
        if self.used >= attempts {
            return Err(Span::from_nanos(width - now.as_nanos() % width));
        }
        self.used += 1;
        Ok(())
    }

    /// The bucket as one instant, the time at which it would be full again (a "generic cell rate
    /// algorithm", ITU-T I.371): a token moves it on by `every`.
    fn by_token(&mut self, now: Instant, burst: u32, every: Span) -> Result<(), Span> {
        let (now, every) = (now.as_nanos(), every.as_nanos().max(1));
        let full_at = self.mark.max(now).saturating_add(every);
        let room = every.saturating_mul(u64::from(burst.max(1)));
        let wait = full_at.saturating_sub(now.saturating_add(room));
        if wait > 0 {
            return Err(Span::from_nanos(wait));
        }
        self.mark = full_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    #[test]
    fn first_attempts_go_before_retries_and_refusals_before_both() {
        let mut rules = Workers::new(1, Some(4));
        (rules.order, rules.refusal) = (QueueDiscipline::FirstTriesFirst, Span::from_millis(1));
        let mut station = Station::default();
        let job = |id, number| QueuedAttempt {
            id,
            slot: 0,
            number,
            give_up: Instant::FAR,
            refused: false,
        };
        assert_eq!(station.enter(&rules, job(0, 1), false), QueueAdmission::Start);
        for (id, number) in [(1, 2), (2, 1), (3, 3), (4, 1)] {
            assert_eq!(station.enter(&rules, job(id, number), false), QueueAdmission::Wait);
        }
        assert_eq!(station.enter(&rules, job(5, 1), false), QueueAdmission::WaitForRefusal);
        station.leave();
        let order = std::iter::from_fn(|| station.next(&rules)).map(|job| job.id);
        assert_eq!(order.collect::<Vec<_>>(), [5, 2, 4, 1, 3]);
    }

    #[test]
    fn a_window_says_when_the_next_one_begins() {
        let mut limit =
            Limiter::new(ServerRateLimit::Window { attempts: 2, window: Span::from_millis(100) });
        assert_eq!([limit.admit(at(10)), limit.admit(at(20))], [Ok(()), Ok(())]);
        assert_eq!(limit.admit(at(30)), Err(Span::from_millis(70)));
        assert_eq!(limit.admit(at(100)), Ok(()));
    }

    #[test]
    fn a_bucket_says_when_its_next_token_is_there() {
        let mut limit =
            Limiter::new(ServerRateLimit::Tokens { burst: 2, every: Span::from_millis(10) });
        assert_eq!([limit.admit(at(0)), limit.admit(at(0))], [Ok(()), Ok(())]);
        assert_eq!(limit.admit(at(4)), Err(Span::from_millis(6)));
        assert_eq!([limit.admit(at(10)), limit.admit(at(1_000))], [Ok(()), Ok(())]);
        assert_eq!([limit.admit(at(1_000)).is_ok(), limit.admit(at(1_000)).is_ok()], [true, false]);
    }
}
