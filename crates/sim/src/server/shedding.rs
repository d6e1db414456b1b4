//! Shedding at work: small machines that are told the time and what attempts had to wait.

use stagger_core::{Instant, Ratio, Span};

use super::waiting::QueuedAttempt;
use crate::plan::Shedding;

/// The state of a shedding rule in one shard.
#[derive(Clone, Debug, Default)]
pub(super) enum SheddingState {
    /// The rule of this shard remembers nothing, or nothing has happened yet.
    #[default]
    Fresh,
    CoDel(CoDel),
    Limit(ConcurrencyLimit),
}

impl SheddingState {
    /// Whether an attempt that comes to so many others is refused.
    pub(super) fn is_full(&self, rule: &Shedding, workers: u32, others: usize) -> bool {
        let limit = match self {
            Self::Limit(limit) => limit.limit,
            _ if rule.limits() => f64::from(workers),
            _ => return false,
        };
        number(others) + 1.0 > limit.max(1.0)
    }

    /// Whether this attempt is shed at its turn; `last` if none waits behind it.
    pub(super) fn sheds(
        &mut self,
        rule: &Shedding,
        now: Instant,
        job: &QueuedAttempt,
        last: bool,
    ) -> bool {
        match *rule {
            Shedding::CoDel { target, interval } => {
                if !matches!(self, Self::CoDel(_)) {
                    *self = Self::CoDel(CoDel::default());
                }
                let Self::CoDel(codel) = self else { return false };
                codel.drops(now, now - job.since >= target && !last, interval)
            }
            Shedding::FailFast { .. } => now > job.shed_at,
            Shedding::None | Shedding::Aimd { .. } | Shedding::Gradient { .. } => false,
        }
    }

    /// Work on an attempt that came at `since` is over.
    pub(super) fn over(&mut self, rule: &Shedding, workers: u32, now: Instant, since: Instant) {
        if !rule.limits() {
            return;
        }
        if !matches!(self, Self::Limit(_)) {
            *self = Self::Limit(ConcurrencyLimit::new(workers));
        }
        let Self::Limit(limit) = self else { return };
        match *rule {
            Shedding::Aimd { latency, decrease } => limit.aimd(now, since, latency, decrease),
            Shedding::Gradient { buffer, every } => limit.gradient(now, since, buffer, every),
            Shedding::None | Shedding::CoDel { .. } | Shedding::FailFast { .. } => {}
        }
    }
}

/// The dropping state of RFC 8289, section 5.
#[derive(Clone, Debug, Default)]
pub(super) struct CoDel {
    /// The instant at which waiting has been too long for an interval.
    first_above: Option<Instant>,
    dropping: bool,
    /// The last attempt was dropped in this state, so that the next time is still to be set.
    has_dropped: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
}

impl CoDel {
    /// Whether an attempt at its turn is dropped; `above` if it has waited too long.
    fn drops(&mut self, now: Instant, above: bool, interval: Span) -> bool {
        let may_drop = self.is_above(now, above, interval);
        if !may_drop {
            (self.dropping, self.has_dropped) = (false, false);
            return false;
        }
        if !self.dropping {
            self.begin(now, interval);
            return true;
        }
        if std::mem::take(&mut self.has_dropped) {
            self.drop_next = self.drop_next + step(interval, self.count);
        }
        if now < self.drop_next {
            return false;
        }
        self.count += 1;
        self.has_dropped = true;
        true
    }

    fn is_above(&mut self, now: Instant, above: bool, interval: Span) -> bool {
        if !above {
            self.first_above = None;
            return false;
        }
        let first = *self.first_above.get_or_insert(now + interval);
        now >= first
    }

    /// The first drop; a state that was left a short time ago goes on at its pace.
    fn begin(&mut self, now: Instant, interval: Span) {
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now - self.drop_next < interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + step(interval, self.count);
        self.dropping = true;
    }
}

/// The control law: the interval over the root of the drops.
fn step(interval: Span, count: u32) -> Span {
    whole(nanos(interval) / libm::sqrt(f64::from(count.max(1))))
}

/// The highest limit. Without load a gradient limit grows for as long as nothing waits, and one that has passed all
/// numbers would never come down again; 24 halvings are enough from here.
const MOST: f64 = 10_000_000.0;

/// A limit of the attempts in a server that learns from their latency.
#[derive(Clone, Debug)]
pub(super) struct ConcurrencyLimit {
    limit: f64,
    /// AIMD: the last decrease. Gradient: the start of the stretch.
    since: Instant,
    /// Latencies of this stretch, in nanoseconds, and their number.
    latency: (f64, f64),
    /// The shortest mean latency of a stretch.
    shortest: f64,
}

impl ConcurrencyLimit {
    fn new(workers: u32) -> Self {
        let (since, shortest) = (Instant::ORIGIN, f64::INFINITY);
        Self { limit: f64::from(workers), since, latency: (0.0, 0.0), shortest }
    }

    /// One more for every limit of good attempts; and less, once for all that came before that.
    fn aimd(&mut self, now: Instant, came: Instant, latency: Span, decrease: Ratio) {
        if now - came <= latency {
            self.limit = (self.limit + 1.0 / self.limit).min(MOST);
        } else if came >= self.since {
            self.limit = (self.limit * decrease.as_f64()).max(1.0);
            self.since = now;
        }
    }

    fn gradient(&mut self, now: Instant, came: Instant, buffer: Ratio, every: Span) {
        let (sum, count) = self.latency;
        self.latency = (sum + nanos(now - came), count + 1.0);
        if now - self.since < every {
            return;
        }
        let mean = self.latency.0 / self.latency.1;
        self.shortest = self.shortest.min(mean);
        let gradient = (1.0 + buffer.as_f64()) * self.shortest / mean.max(1.0);
        self.limit = gradient.clamp(0.5, 2.0) * self.limit + libm::sqrt(self.limit);
        self.limit = self.limit.min(MOST);
        (self.latency, self.since) = ((0.0, 0.0), now);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a model's parameter; 53 bits are 104 days of ns")]
fn nanos(span: Span) -> f64 {
    // OK because the loss is one part in 2^53.
    span.as_nanos() as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(nanos: f64) -> Span {
    // OK because a cast from float to integer saturates, and no step is negative.
    Span::from_nanos((nanos + 0.5) as u64)
}

#[expect(clippy::cast_precision_loss, reason = "fewer attempts than 2^53")]
fn number(attempts: usize) -> f64 {
    // OK because a server holds fewer attempts than 2^53.
    attempts as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    #[test]
    fn a_limit_that_grew_in_a_calm_day_never_came_down() {
        let rule =
            Shedding::Gradient { buffer: Ratio::from_percent(25), every: Span::from_millis(100) };
        let mut state = SheddingState::default();
        // A day in which every attempt takes 10 ms, and 5 s in which each takes a second.
        for now in (1..864_000).map(|stretch| stretch * 100) {
            state.over(&rule, 10, at(now), at(now - 10));
        }
        assert!(!state.is_full(&rule, 10, 1_000));
        for now in (864_010..864_060).map(|stretch| stretch * 100) {
            state.over(&rule, 10, at(now), at(now - 1_000));
        }
        assert!(state.is_full(&rule, 10, 1_000));
    }
}
