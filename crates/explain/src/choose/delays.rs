//! Base, cap and jitter: how long is waited, and how far callers are spread.

use stagger_core::{Backoff, ConfigError, Jitter, Ratio, Span};

use super::Answers;
use super::choice::{Draft, longest, neat};

/// The short base: long enough for a stumble to pass, short enough for a person.
const BASE: Span = Span::from_millis(100);
/// The base of background work: a restart takes seconds.
const PATIENT_BASE: Span = Span::from_secs(1);
/// The base after a throttle, that of the AWS SDKs' 2.1 rules.
const THROTTLED_BASE: Span = Span::from_secs(1);
/// The usual cap, and that of background work, beyond which a recovery would go unnoticed.
const CAP: Span = Span::from_secs(10);
const PATIENT_CAP: Span = Span::from_secs(5 * 60);
/// The first retries of callers that fail together, in calls a second at most: with the usual base
/// the wave of 1000 of them. Used where nothing is known of the usual load.
const FIRST_WAVE: f64 = 10_000.0;
/// The largest wave where the usual load is known: as large as that. Below a hundred calls a second it is
/// none that a server would notice.
const SMALL_WAVE: f64 = 100.0;
/// A base that callers ask for is no longer than this: whoever waits longer has given up.
const MAX_SPREAD: Span = Span::from_secs(30);
/// The share of a ceiling that a minimum wait leaves for the spread: a quarter. With less, callers that
/// fail together come back together.
const LEAST_SPREAD: (u64, u64) = (4, 3);
/// The fewest attempts that are retries at all.
const FEWEST: u32 = 2;

impl Draft<'_> {
    /// The delay rules, and the attempts as far as the time holds their waits.
    ///
    /// # Errors
    /// None for answers within their bounds.
    pub(super) fn settle_delays(&mut self) -> Result<(), ConfigError> {
        let asked = self.attempts;
        if self.attempts > 1 {
            match self.answers.slo {
                None => self.backoff = self.wished()?,
                Some(slo) => self.fit(room(slo))?,
            }
        }
        if self.attempts > 1 {
            self.reason_backoff();
            self.settle_throttled()?;
        }
        self.reason_attempts(asked);
        Ok(())
    }

    /// The rule that callers, minimum wait and patience ask for.
    fn wished(&self) -> Result<Backoff, ConfigError> {
        let base = match self.answers.minimum_wait {
            Some(least) => spread_base(self.answers).max(least.saturating_mul(2)),
            None => spread_base(self.answers),
        };
        let cap = if self.answers.background { PATIENT_CAP } else { CAP };
        let law = if self.least().is_some() { Jitter::Equal } else { Jitter::Full };
        // A base that is long already still has two doublings to grow by.
        Backoff::exponential(base, cap.max(base.saturating_mul(4)))?.with_jitter(law)
    }

    /// The shortest wait, where there is one.
    fn least(&self) -> Option<Span> {
        self.answers.minimum_wait.filter(|least| !least.is_zero())
    }

    /// The same within so much time for all waits: first fewer attempts, then shorter waits.
    fn fit(&mut self, room: Span) -> Result<(), ConfigError> {
        let wished = self.wished()?;
        let usual = self.attempts.min(3);
        let whole = (usual..=self.attempts).rev().find(|n| longest(&wished, *n) <= room);
        if let Some(attempts) = whole {
            self.attempts = attempts;
            self.backoff = wished;
            return Ok(());
        }
        for attempts in (FEWEST..=usual).rev() {
            // Ceilings that double add up to 2^retries - 1 times the first.
            let base = neat(Span::from_nanos(room.as_nanos() / ((1 << (attempts - 1)) - 1)));
            if let Some(rule) = self.within(base, base.saturating_mul(1 << (attempts - 2)))? {
                self.attempts = attempts;
                self.backoff = rule;
                return Ok(());
            }
        }
        self.attempts = 1;
        Ok(())
    }

    /// A rule of this base, unless it cannot keep the minimum wait and spread callers too.
    fn within(&self, base: Span, cap: Span) -> Result<Option<Backoff>, ConfigError> {
        let rule = Backoff::exponential(base, cap)?;
        let Some(least) = self.least() else { return Ok(Some(rule)) };
        if least.saturating_mul(2) <= base {
            return rule.with_jitter(Jitter::Equal).map(Some);
        }
        let (part, whole) = (LEAST_SPREAD.0, LEAST_SPREAD.1);
        if least.saturating_mul(part) > base.saturating_mul(whole) {
            return Ok(None);
        }
        #[expect(clippy::cast_precision_loss, reason = "spans of an answer are below 2^53 ns")]
        let kept = least.as_nanos() as f64 / base.as_nanos() as f64;
        // Rounded to the percent, downward, so that the minimum is kept.
        let spread = Ratio::try_from(((1.0 - kept) * 100.0).floor() / 100.0)?;
        rule.with_jitter(Jitter::Proportional(spread)).map(Some)
    }

    fn reason_backoff(&mut self) {
        self.because(
            "backoff.envelope",
            "doubling: a server that is still away is asked ever less often",
        );
        let reason = self.base_reason();
        self.because("backoff.base", reason);
        let cap = match (self.answers.slo, self.answers.background) {
            _ if self.backoff.cap() == self.backoff.ceiling(self.attempts - 1)
                && self.answers.slo.is_some() =>
            {
                "the last wait; a sixth of the SLO holds all of them"
            }
            (_, true) => "beyond it a recovery would go unnoticed for too long",
            (_, false) => "above every wait of these attempts; it holds when somebody raises them",
        };
        self.because("backoff.cap", cap);
        let law = if self.backoff.jitter() == Jitter::Full {
            "no minimum is needed, and nothing spreads callers better"
        } else if self.backoff.jitter() == Jitter::Equal {
            "keeps half of each ceiling as its minimum, and spreads over the other half"
        } else {
            "downward only and no further than the minimum wait; there is no room for equal jitter"
        };
        self.because("backoff.jitter", law);
    }

    fn base_reason(&self) -> String {
        let (base, callers) = (self.backoff.base(), self.answers.callers);
        let wave = wave(callers, base);
        let wished = self.wished().map_or(base, |rule| rule.base());
        if base < wished {
            return format!(
                "as long as a sixth of the SLO allows ({wished} without it): {callers} callers come back at {wave}/s"
            );
        }
        match (self.least(), self.answers.rps) {
            (Some(least), _) if base == least.saturating_mul(2) => {
                format!("twice the minimum wait, so that equal jitter keeps {least}")
            }
            (_, Some(rps)) if base > usual_base(self.answers) => {
                format!(
                    "1/rps: {callers} callers at {rps}/s come back at {wave}/s, no more than their usual load"
                )
            }
            _ if base > usual_base(self.answers) => {
                format!(
                    "{callers} callers that fail together come back spread over it: {wave} calls/s at first"
                )
            }
            _ if self.answers.background => "a restart takes seconds, and nobody waits".to_owned(),
            _ => format!("a stumble passes in this time; {callers} callers come back at {wave}/s"),
        }
    }

    /// A rule of its own after a throttle, for a limit heals when its window ends.
    fn settle_throttled(&mut self) -> Result<(), ConfigError> {
        if !self.answers.rate_limited {
            return Ok(());
        }
        let law = self.backoff.jitter();
        let base = THROTTLED_BASE.max(self.backoff.base());
        let cap = self.backoff.cap().max(base.saturating_mul(4));
        let rule = Backoff::exponential(base, cap)?.with_jitter(law)?;
        let room = self.answers.slo.map_or(Span::MAX, room);
        if longest(&rule, self.attempts) <= room {
            let reason = "a limit needs longer than a stumble: the base of the AWS SDKs' 2.1 rules";
            self.add_throttled(rule, reason, "doubling, as above");
            return Ok(());
        }
        // A flat rule that is never below the general one, so that no mixture of both is longer.
        let each = neat(Span::from_nanos(room.as_nanos() / u64::from(self.attempts - 1)));
        if each > self.backoff.ceiling(self.attempts - 1) {
            let rule = Backoff::constant(each).with_jitter(law)?;
            let reason =
                "a limit needs about 1s; this is what a sixth of the SLO has for each wait";
            self.add_throttled(rule, reason, "there is no time to grow in");
        } else {
            self.note(
                "A limit needs about 1s to pass, and a sixth of the SLO does not hold that: a \
                 throttled call mostly ends with its hint, for the caller to come back later.",
            );
        }
        Ok(())
    }

    fn add_throttled(&mut self, rule: Backoff, base: &str, envelope: &str) {
        if rule == self.backoff {
            return;
        }
        self.throttled = Some(rule);
        self.because("throttled_backoff.envelope", envelope);
        self.because("throttled_backoff.base", base);
        if rule.cap() > rule.base() {
            self.because("throttled_backoff.cap", "no wait is longer, unless a hint asks for it");
        }
        self.because("throttled_backoff.jitter", "as above");
    }
}

/// The share of an SLO that a call takes at its worst, attempts and waits together: the rest is for hints
/// and for those above.
pub(super) const fn third(slo: Span) -> Span {
    Span::from_nanos(slo.as_nanos() / 3)
}

/// The share of an SLO for waits: half of that, and the attempts have the other half.
const fn room(slo: Span) -> Span {
    Span::from_nanos(slo.as_nanos() / 6)
}

const fn usual_base(answers: &Answers) -> Span {
    if answers.background { PATIENT_BASE } else { BASE }
}

/// The base that spreads the first retries of all callers far enough.
fn spread_base(answers: &Answers) -> Span {
    let callers = f64::from(answers.callers);
    let wave = answers.rps.map_or(FIRST_WAVE, |rps| (callers * rps).max(SMALL_WAVE));
    // OK because a thousand million callers and a wave of a hundred make 10^7 s.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    let spread = Span::from_nanos((callers / wave * 1e9) as u64);
    neat(spread).clamp(usual_base(answers), MAX_SPREAD)
}

/// Calls a second when so many callers come back spread over a base.
fn wave(callers: u32, base: Span) -> u64 {
    u64::from(callers).saturating_mul(1_000_000_000) / base.as_nanos().max(1)
}
