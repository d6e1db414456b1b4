//! The detector: attempts of a log in, storms out.

use stagger_core::Span;
use stagger_replay::{CallerIdentity, LoggedAttempt, LoggedNames};

use crate::alarm::{Alarm, to_the_second};
use crate::budget_advice::BudgetAdvice;
use crate::caller_table::{Before, CallerTable};
use crate::layers::LayerFactors;
use crate::log_clock::{LinePlace, LogClock};
use crate::retry_estimate::{RetryEstimate, UsualRate};
use crate::settings::WatchSettings;
use crate::synchrony::ArrivalBins;
use crate::top_sources::TopSources;
use crate::verdict::{StormVerdict, WatchEvent};
use crate::window_counts::{SecondCounts, WindowCounts};

/// Finds retry storms in the attempts of a log, in bounded memory: about 6 MB whatever the log holds.
///
/// Time is that of the log. Each time a second of it is over, the window that ends with it is judged.
///
/// ```
/// use stagger_replay::LineParser;
/// use stagger_watch::{StormDetector, WatchEvent, WatchSettings};
/// let mut detector = StormDetector::new(WatchSettings::default());
/// let (mut parser, mut events) = (LineParser::default(), Vec::new());
/// parser.push(b"time,status,attempt", |_, _| {})?;
/// // A call every 10 ms; from the tenth second on each fails and is made three times.
/// for call in 0..2_000_u64 {
///     let at = 1_700_000_000_000 + 10 * call;
///     let attempts = if call < 1_000 { 1 } else { 3 };
///     for attempt in 1..=attempts {
///         let line = format!("{at},{},{attempt}", if attempts == 1 { 200 } else { 503 });
///         parser.push(line.as_bytes(), |attempt, names| events.extend(detector.push(attempt, names)))?;
///     }
/// }
/// let [WatchEvent::Began(storm), ..] = &events[..] else { panic!("a storm") };
/// assert!(storm.estimate.attempts_a_call() > 1.4);
/// assert_eq!(storm.until.to_string(), "2023-11-14T22:13:32Z");
/// # Ok::<(), stagger_replay::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StormDetector {
    settings: WatchSettings,
    clock: LogClock,
    /// The end of the second that is under way.
    second_ends: Span,
    /// The time up to which the time of callers is added up.
    added_up: Span,
    callers: CallerTable,
    counts: WindowCounts,
    usual: UsualRate,
    bins: ArrivalBins,
    clients: TopSources,
    routes: TopSources,
    most_served: f64,
    alarm: Alarm,
    totals: WatchTotals,
}

/// Counts since the watch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchTotals {
    /// Lines that were attempts.
    pub attempts: u64,
    /// Lines among them that are out of time, and are not counted: more than 30 s late or 60 s ahead of
    /// the others.
    pub out_of_time: u64,
    /// Times at which the clock of the log jumped.
    pub jumps: u64,
    /// Storms that began.
    pub storms: u64,
}

/// One second, which is the step of all judgements.
const SECOND: Span = Span::from_secs(1);
/// The seconds without a line that are judged one by one: more than a window and the end of a storm take.
const LONGEST_GAP: Span = Span::from_secs(128);
/// The share of the most that was served that is left after a second: a half after four hours.
const KEPT: f64 = 0.999_951_865;
/// Sources that are named.
const NAMED: usize = 5;
/// Attempts behind one line that are believed.
const MOST_BEHIND: u32 = 64;

impl StormDetector {
    /// A detector that has seen nothing.
    #[must_use]
    pub fn new(settings: WatchSettings) -> Self {
        Self {
            settings,
            clock: LogClock::default(),
            second_ends: Span::ZERO,
            added_up: Span::ZERO,
            callers: CallerTable::default(),
            counts: WindowCounts::default(),
            usual: UsualRate::default(),
            bins: ArrivalBins::default(),
            clients: TopSources::default(),
            routes: TopSources::default(),
            most_served: 0.0,
            alarm: Alarm::default(),
            totals: WatchTotals::default(),
        }
    }

    /// Takes the next attempt of the log, and gives the events of the seconds that are over with it.
    pub fn push(&mut self, attempt: &LoggedAttempt, names: &LoggedNames<'_>) -> Vec<WatchEvent> {
        self.totals.attempts += 1;
        let place = self.clock.place(attempt.ended());
        let events = match place {
            LinePlace::OutOfTime => {
                self.totals.out_of_time += 1;
                return Vec::new();
            }
            LinePlace::OnTime => self.advance(),
            LinePlace::Jumped => self.restart(),
        };
        self.count(attempt, names);
        events
    }

    /// Time passes without a line, as it does in a log that is followed.
    pub fn pass(&mut self, by: Span) -> Vec<WatchEvent> {
        self.clock.pass(by);
        self.advance()
    }

    /// The log is over.
    pub fn finish(&mut self) -> Option<WatchEvent> {
        self.alarm.end()
    }

    /// The figures of the window that ends with the last whole second; `None` before the first line.
    #[must_use]
    pub fn now(&self) -> Option<StormVerdict> {
        self.clock.now()?;
        Some(self.verdict(self.second_ends - SECOND, &self.window(false)))
    }

    /// Whether a storm is on.
    #[must_use]
    pub const fn is_storm(&self) -> bool {
        self.alarm.is_on()
    }

    /// Counts since the watch began.
    #[must_use]
    pub const fn totals(&self) -> WatchTotals {
        self.totals
    }

    /// Judges all seconds that are over.
    fn advance(&mut self) -> Vec<WatchEvent> {
        let mut events = Vec::new();
        let Some(now) = self.clock.now() else { return events };
        if self.second_ends.is_zero() {
            self.begin(now);
        }
        // Nothing is left of any count after the longest gap.
        let latest = Span::from_secs(now.as_nanos() / SECOND.as_nanos()) - LONGEST_GAP;
        self.second_ends = self.second_ends.max(latest);
        while self.second_ends <= now {
            self.add_up(self.second_ends);
            events.extend(self.judge());
            self.second_ends = self.second_ends.saturating_add(SECOND);
            self.counts.turn();
        }
        self.add_up(now);
        self.callers.advance(now);
        events
    }

    fn begin(&mut self, now: Span) {
        self.added_up = now;
        self.second_ends = Span::from_secs(now.as_nanos() / SECOND.as_nanos() + 1);
    }

    /// The clock has jumped: what was counted is of another time.
    fn restart(&mut self) -> Vec<WatchEvent> {
        let ended = self.alarm.end();
        let Self { settings, clock, totals, most_served, .. } = *self;
        let totals = WatchTotals { jumps: totals.jumps + 1, ..totals };
        *self = Self { clock, totals, most_served, ..Self::new(settings) };
        self.advance();
        ended.into_iter().collect()
    }

    /// Adds up the time of callers until `now`.
    fn add_up(&mut self, now: Span) {
        let passed = (now - self.added_up).as_secs_f64();
        let (failing, served) = self.callers.counts();
        let second = self.counts.current();
        second.failing_time += failing * passed;
        second.served_time += served * passed;
        self.added_up = now.max(self.added_up);
    }

    fn judge(&mut self) -> Option<WatchEvent> {
        let second = *self.counts.current();
        self.usual.note(&second);
        self.most_served = (self.most_served * KEPT).max(second.served());
        let window = self.window(true);
        let estimate = RetryEstimate::new(&window, &self.usual);
        let (until, mut alarm) = (self.second_ends, std::mem::take(&mut self.alarm));
        let event = alarm
            .note(&self.settings, to_the_second(until), &estimate, || self.verdict(until, &window));
        self.alarm = alarm;
        self.totals.storms += u64::from(matches!(event, Some(WatchEvent::Began(_))));
        self.clients.fade();
        self.routes.fade();
        self.bins.fade();
        event
    }

    fn window(&self, over: bool) -> SecondCounts {
        self.counts.sum(self.settings.window_seconds(), over)
    }

    fn verdict(&self, until: Span, window: &SecondCounts) -> StormVerdict {
        let estimate = RetryEstimate::new(window, &self.usual);
        let seconds = self.settings.window_seconds();
        StormVerdict {
            until: to_the_second(until),
            seconds,
            failing: Some(window.failed / window.lines.max(1.0)),
            one_in: self.callers.one_in(),
            layers: LayerFactors::new(window),
            synchrony: self.bins.measure(until, seconds),
            clients: self.clients.top(NAMED),
            routes: self.routes.top(NAMED),
            budget: Some(BudgetAdvice::new(&estimate, f64::from(seconds), self.most_served)),
            estimate,
        }
    }

    fn count(&mut self, attempt: &LoggedAttempt, names: &LoggedNames<'_>) {
        let (failed, times) = (attempt.answer.is_failure(), (attempt.began(), attempt.ended()));
        let (key, by_id) = match attempt.caller {
            CallerIdentity::Id(key) => (Some(key), true),
            CallerIdentity::Request(key) => (Some(key), false),
            CallerIdentity::Unknown => (None, false),
        };
        let grain = attempt.stamp.grain;
        let note = |key| self.callers.note(key, times, failed, grain, !by_id);
        let before = key.map_or(Before::NotFollowed, note);
        let is_again = before == Before::Failed;
        let one_in = self.callers.one_in();
        let behind = attempt.behind.clamp(1, MOST_BEHIND) - 1;
        let number = attempt.number;
        let second = self.counts.current();
        second.lines += 1.0;
        second.behind += f64::from(behind);
        second.failed += f64::from(u8::from(failed));
        if let Some(number) = number {
            let is_first = number <= 1;
            let is_followed = is_first && by_id && before != Before::NotFollowed;
            second.numbered += 1.0;
            second.first += f64::from(u8::from(is_first));
            second.first_followed += f64::from(u8::from(is_followed));
            second.first_again += f64::from(u8::from(is_followed && is_again));
        }
        if before != Before::NotFollowed {
            second.followed += 1.0;
            second.by_id += f64::from(u8::from(by_id));
            second.after_failure += f64::from(u8::from(is_again));
            second.after_success += f64::from(u8::from(before == Before::Served));
        }
        self.bins.note(times.0, grain);
        let is_written = number.is_some_and(|number| number > 1);
        // Those that are followed stand for all.
        let guessed =
            if is_again { f64::from(u32::try_from(one_in).unwrap_or(u32::MAX)) } else { 0.0 };
        let retries = f64::from(behind) + if is_written { 1.0 } else { guessed };
        if retries > 0.0 {
            names.client.iter().for_each(|name| self.clients.note(name, retries));
            names.route.iter().for_each(|name| self.routes.note(name, retries));
        }
    }
}
