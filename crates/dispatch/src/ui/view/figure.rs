//! Figures, moments, notes, states and rates as people read them.

use std::fmt;
use std::fmt::Write;

use askama::filters::HtmlSafe;
use stagger::breaker::StateKind;
use stagger::{Instant, Span, Verdict};
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{DeliveryState, Disabled, EndpointId};
use stagger_text::{NARROW_NO_BREAK, Timestamp, coarse, whole};

use crate::node::{AttemptRates, MinuteResults};

/// Groups of three digits, kept apart and together by narrow no-break spaces: `1 204 311`. The script of
/// the page writes its figures by the same rule.
pub(in crate::ui) fn figure(n: u64) -> String {
    whole(n, NARROW_NO_BREAK)
}

/// The number of deliveries in a state.
#[derive(Clone, Debug)]
pub(in crate::ui) struct Tile {
    pub(in crate::ui) name: &'static str,
    pub(in crate::ui) count: String,
    pub(in crate::ui) href: String,
}

const MILLI: u64 = 1_000_000;

/// A point in time, seen from another one. Writes itself as a `time` element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) struct Moment {
    at: Instant,
    now: Instant,
}

impl Moment {
    pub(in crate::ui) const fn new(at: Instant, now: Instant) -> Self {
        Self { at, now }
    }

    /// Milliseconds since the epoch, which is how scripts count.
    pub(in crate::ui) const fn millis(self) -> u64 {
        self.at.as_nanos() / MILLI
    }

    /// RFC 3339, UTC, to the millisecond.
    pub(in crate::ui) fn exact(self) -> String {
        Timestamp(self.at).to_string()
    }

    /// `in 5 min`, `3 h ago`; the script of the page says it in the same words.
    pub(in crate::ui) fn relative(self) -> String {
        let (ahead, behind) = (self.at.since(self.now), self.now.since(self.at));
        match (whole_secs(ahead), whole_secs(behind)) {
            (0, 0) => "now".into(),
            (0, _) => format!("{} ago", coarse(behind)),
            _ => format!("in {}", coarse(ahead)),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (exact, relative) = (self.exact(), self.relative());
        write!(f, "<time datetime=\"{exact}\" title=\"{exact}\">{relative}</time>")
    }
}

/// Digits and letters of our own making only.
impl HtmlSafe for Moment {}

const fn whole_secs(span: Span) -> u64 {
    span.as_nanos() / 1_000_000_000
}

/// The query parameter that carries it.
const SAID: &str = "said";

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Note {
    Enabled,
    Disabled,
    TestSent,
    Cancelled,
    /// Settings were changed.
    Changed,
    /// One delivery is attempted now.
    Retried,
    /// So many have become due.
    Due(u64),
    Replayed(u64),
    /// So many were made for messages that an endpoint had missed.
    Made(u64),
    /// An endpoint was deleted.
    Deleted,
    /// An API key was deleted.
    KeyDeleted,
    /// A new secret signs.
    SecretReplaced,
}

impl Note {
    /// The note of a query; a foreign one says nothing.
    pub(in crate::ui) fn parse(code: &str) -> Option<Self> {
        match code {
            "enabled" => Some(Self::Enabled),
            "disabled" => Some(Self::Disabled),
            "test" => Some(Self::TestSent),
            "cancelled" => Some(Self::Cancelled),
            "retried" => Some(Self::Retried),
            "changed" => Some(Self::Changed),
            "deleted" => Some(Self::Deleted),
            "secret" => Some(Self::SecretReplaced),
            "key-deleted" => Some(Self::KeyDeleted),
            _ => {
                let (name, count) = code.split_once('-')?;
                let count = count.parse().ok()?;
                match name {
                    "replayed" => Some(Self::Replayed(count)),
                    "due" => Some(Self::Due(count)),
                    "made" => Some(Self::Made(count)),
                    _ => None,
                }
            }
        }
    }

    /// `path` with this note in its query.
    pub(in crate::ui) fn onto(self, path: &str) -> String {
        let joint = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joint}{SAID}={self}")
    }

    /// The text of the note.
    pub(in crate::ui) fn text(self) -> String {
        match self {
            Self::Enabled => "Enabled. One probe is sent first; if it succeeds, the backlog \
                is sent slowly at first."
                .into(),
            Self::Disabled => "Disabled. Its deliveries wait until it is enabled again.".into(),
            Self::TestSent => "A test event is on its way.".into(),
            Self::Cancelled => "Cancelled. No further attempt will be made.".into(),
            Self::Changed => "Changed.".into(),
            Self::KeyDeleted => "The key is deleted. No node takes it any more.".into(),
            Self::Deleted => "The endpoint is deleted. Its open deliveries are cancelled.".into(),
            Self::SecretReplaced => "The new secret signs from now on, and the old one beside it \
                for a day, so that you can change your receiver."
                .into(),
            Self::Retried => "It is attempted now, before all others to its endpoint.".into(),
            Self::Due(0) => "No delivery was waiting. If its breaker was open, an attempt that is \
                due is sent now as a probe."
                .into(),
            Self::Due(1) => "One delivery is attempted now.".into(),
            Self::Due(count) => format!(
                "{} deliveries are due now. They are sent slowly at first, after a probe where a \
                 breaker was open.",
                figure(count)
            ),
            Self::Made(0) => "It has missed no message of that time.".into(),
            Self::Made(1) => "One message that it had missed is on its way.".into(),
            Self::Made(count) => format!(
                "{} messages that it had missed are on their way. They are sent slowly at first.",
                figure(count)
            ),
            Self::Replayed(0) => "There was nothing to replay.".into(),
            Self::Replayed(1) => "One delivery is pending again.".into(),
            Self::Replayed(count) => {
                format!(
                    "{} deliveries are pending again. They are sent slowly at first.",
                    figure(count)
                )
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enabled => f.write_str("enabled"),
            Self::Disabled => f.write_str("disabled"),
            Self::TestSent => f.write_str("test"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Changed => f.write_str("changed"),
            Self::Deleted => f.write_str("deleted"),
            Self::KeyDeleted => f.write_str("key-deleted"),
            Self::SecretReplaced => f.write_str("secret"),
            Self::Retried => f.write_str("retried"),
            Self::Due(count) => write!(f, "due-{count}"),
            Self::Made(count) => write!(f, "made-{count}"),
            Self::Replayed(count) => write!(f, "replayed-{count}"),
        }
    }
}

/// A state. Writes itself as an element; the word alone is enough to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) struct Badge {
    word: &'static str,
    tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Good,
    Plain,
    Warn,
    Bad,
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = match self.tone {
            Tone::Good => "good",
            Tone::Plain => "plain",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
        };
        write!(f, "<span class=\"badge {class}\">{}</span>", self.word)
    }
}

/// Words of our own making only.
impl HtmlSafe for Badge {}

impl From<DeliveryState> for Badge {
    fn from(state: DeliveryState) -> Self {
        let tone = match state {
            DeliveryState::Delivered => Tone::Good,
            DeliveryState::Pending | DeliveryState::Cancelled => Tone::Plain,
            DeliveryState::Waiting => Tone::Warn,
            DeliveryState::Dead => Tone::Bad,
        };
        Self { word: state.name(), tone }
    }
}

impl From<Verdict> for Badge {
    fn from(verdict: Verdict) -> Self {
        let tone = match verdict {
            Verdict::Ok => Tone::Good,
            Verdict::Transient | Verdict::Throttled | Verdict::Unprocessed => Tone::Warn,
            Verdict::Permanent => Tone::Bad,
            _ => Tone::Plain,
        };
        Self { word: verdict.name(), tone }
    }
}

/// The status of an endpoint, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum EndpointStatus {
    Active,
    /// Active, but its last attempts have failed.
    Failing,
    Recovering,
    HalfOpen,
    Open,
    Paused(Instant),
    Disabled(Disabled),
}

impl EndpointStatus {
    /// The status that a queue shows at `now`: the strongest reason that holds it back.
    pub(in crate::ui) fn of(view: &QueueView, now: Instant) -> Self {
        let endpoint_state = &view.endpoint_state;
        if let Some(reason) = endpoint_state.disabled {
            return Self::Disabled(reason);
        }
        match (endpoint_state.paused_until.filter(|until| *until > now), view.breaker) {
            (Some(until), _) => Self::Paused(until),
            (None, StateKind::Open) => Self::Open,
            (None, StateKind::HalfOpen) => Self::HalfOpen,
            (None, StateKind::Ramp) => Self::Recovering,
            (None, StateKind::Closed)
                if endpoint_state.recovering_since.is_some() && view.has_open() =>
            {
                Self::Recovering
            }
            (None, StateKind::Closed) if endpoint_state.failing_since.is_some() => Self::Failing,
            (None, StateKind::Closed) => Self::Active,
        }
    }

    pub(in crate::ui) const fn is_disabled(self) -> bool {
        matches!(self, Self::Disabled(_))
    }

    /// Whether its last attempts have failed.
    pub(in crate::ui) const fn is_trouble(self) -> bool {
        !matches!(self, Self::Active | Self::Recovering | Self::Disabled(Disabled::ByHand))
    }

    /// The effect of the status on deliveries.
    pub(in crate::ui) const fn meaning(self) -> &'static str {
        match self {
            Self::Active => "Deliveries are attempted immediately.",
            Self::Failing => "All its last attempts failed.",
            Self::Recovering => {
                "It has recovered. Its backlog is sent slowly at first, then faster."
            }
            Self::HalfOpen => "The next attempt is a probe to check whether it has recovered.",
            Self::Open => "It failed too often. No attempts are made until the next probe.",
            Self::Paused(_) => "It asked for a pause with Retry-After.",
            Self::Disabled(Disabled::ByHand) => "An operator disabled it. Its deliveries wait.",
            Self::Disabled(Disabled::Gone) => "It answered 410 Gone. Its deliveries wait.",
            Self::Disabled(Disabled::Failing) => "It failed for too long. Its deliveries wait.",
        }
    }
}

impl From<EndpointStatus> for Badge {
    fn from(state: EndpointStatus) -> Self {
        let (word, tone) = match state {
            EndpointStatus::Active => ("active", Tone::Good),
            EndpointStatus::Failing => ("failing", Tone::Bad),
            EndpointStatus::Recovering => ("recovering", Tone::Warn),
            EndpointStatus::HalfOpen => ("probing", Tone::Warn),
            EndpointStatus::Open => ("breaker open", Tone::Bad),
            EndpointStatus::Paused(_) => ("paused", Tone::Warn),
            EndpointStatus::Disabled(Disabled::ByHand) => ("disabled", Tone::Plain),
            EndpointStatus::Disabled(_) => ("disabled", Tone::Bad),
        };
        Self { word, tone }
    }
}

/// Height of the picture, whatever the numbers are.
const HEIGHT: u64 = 1_000;

/// The picture that is there without scripts, and where scripts get the numbers.
#[derive(Clone, Debug)]
pub(in crate::ui) struct Chart {
    /// The URL of the numbers.
    pub(in crate::ui) source: String,
    /// Seconds shown: the width of the picture.
    pub(in crate::ui) width: usize,
    /// The outline of the first attempts, as SVG says it.
    pub(in crate::ui) first_path: String,
    /// The outline of the retries on top of them.
    pub(in crate::ui) retries_path: String,
    pub(in crate::ui) first: String,
    pub(in crate::ui) retries: String,
    /// The most in one second.
    pub(in crate::ui) peak: String,
}

impl Chart {
    pub(in crate::ui) fn new(arrivals: &AttemptRates, endpoint: Option<EndpointId>) -> Self {
        let source = match endpoint {
            Some(id) => format!("/ui/attempt-rates?endpoint={id}"),
            None => "/ui/attempt-rates".into(),
        };
        let bars: Vec<_> =
            arrivals.seconds.iter().map(|s| (u64::from(s.first), u64::from(s.retries))).collect();
        let peak = bars.iter().map(|(first, retries)| first + retries).max().unwrap_or(0);
        let level = |n: u64| HEIGHT - HEIGHT * n / peak.max(1);
        let outline = |bar: fn(&(u64, u64)) -> (u64, u64)| {
            outline(bars.iter().map(bar).map(|(from, to)| (level(from), level(to))))
        };
        Self {
            source,
            width: bars.len().max(1),
            first_path: outline(|(first, _)| (0, *first)),
            retries_path: outline(|(first, retries)| (*first, first + retries)),
            first: figure(bars.iter().map(|(first, _)| first).sum()),
            retries: figure(bars.iter().map(|(_, retries)| retries).sum()),
            peak: figure(peak),
        }
    }
}

/// The results of an hour as bars, one a minute: the failed part on top of the other.
#[derive(Clone, Debug)]
pub(in crate::ui) struct ErrorBars {
    pub(in crate::ui) width: usize,
    pub(in crate::ui) succeeded_path: String,
    pub(in crate::ui) failed_path: String,
    pub(in crate::ui) ended: String,
    pub(in crate::ui) failed: String,
    /// The failed share, in percent.
    pub(in crate::ui) share: u64,
}

impl ErrorBars {
    /// The bars; `None` when nothing has ended.
    pub(in crate::ui) fn new(results: &[MinuteResults]) -> Option<Self> {
        let sum = |count: fn(&MinuteResults) -> u32| results.iter().map(count).map(u64::from).sum();
        let (ended, failed): (u64, u64) = (sum(|it| it.ended), sum(|it| it.failed));
        let peak = results.iter().map(|it| u64::from(it.ended)).max().filter(|peak| *peak > 0)?;
        let level = |n: u64| HEIGHT - HEIGHT * n / peak;
        let good = |it: &MinuteResults| u64::from(it.ended - it.failed.min(it.ended));
        let bars = results.iter();
        Some(Self {
            width: results.len(),
            succeeded_path: outline(bars.clone().map(|it| (level(0), level(good(it))))),
            failed_path: outline(bars.map(|it| (level(good(it)), level(u64::from(it.ended))))),
            ended: figure(ended),
            failed: figure(failed),
            share: failed * 100 / ended.max(1),
        })
    }
}

/// One rectangle a second, none where there is nothing.
fn outline(bars: impl Iterator<Item = (u64, u64)>) -> String {
    let mut path = String::new();
    for (x, (bottom, top)) in bars.enumerate().filter(|(_, (bottom, top))| bottom != top) {
        // Writing into a string cannot fail.
        let _ = write!(path, "M{x} {bottom}V{top}h1V{bottom}z");
    }
    path
}

#[cfg(test)]
mod tests {
    use stagger::Span;
    use stagger_scheduler::model::EndpointState;

    use super::*;
    use crate::node::Second;

    #[test]
    fn a_figure_breaks_no_line() {
        assert_eq!([0, 1_000, 12_345_678].map(figure), ["0", "1000", "12\u{202f}345\u{202f}678"]);
    }

    fn at(secs: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(secs)
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let exact = |secs| Moment::new(at(secs), at(0)).exact();
        assert_eq!(exact(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(exact(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(exact(1_709_251_199), "2024-02-29T23:59:59.000Z");
        assert_eq!(exact(1_795_846_657), "2026-11-28T06:17:37.000Z");
        assert_eq!(exact(4_107_542_400), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn distances_are_said_in_one_unit() {
        let relative = |to: u64| Moment::new(at(to), at(100_000)).relative();
        assert_eq!(relative(100_000), "now");
        assert_eq!(relative(100_059), "in 59 s");
        assert_eq!(relative(100_060), "in 1 min");
        assert_eq!(relative(99_999), "1 s ago");
        assert_eq!(relative(92_800), "2 h ago");
        assert_eq!(relative(100_000 + 3 * 86_400), "in 3 d");
    }

    #[test]
    fn notes_survive_the_redirect() {
        for note in [
            Note::Enabled,
            Note::Disabled,
            Note::TestSent,
            Note::Changed,
            Note::KeyDeleted,
            Note::Retried,
            Note::Due(3),
            Note::Made(4),
            Note::Replayed(12),
        ] {
            let path = note.onto("/ui/dead");
            let code = path.strip_prefix("/ui/dead?said=").unwrap();
            assert_eq!(Note::parse(code), Some(note));
        }
        assert_eq!(Note::parse("replayed-<b>"), None);
    }

    #[test]
    fn the_strongest_reason_is_shown() {
        let now = Instant::ORIGIN + Span::from_secs(100);
        let mut view = QueueView {
            endpoint_state: EndpointState::default(),
            breaker: StateKind::Closed,
            next_probe: None,
            ready: 0,
            waiting: 0,
            in_flight: 0,
            rate: None,
        };
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Active);
        view.endpoint_state.failing_since = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Failing);
        view.endpoint_state.recovering_since = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Failing, "nothing is left");
        view.ready = 1;
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Recovering);
        view.breaker = StateKind::Open;
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Open);
        view.endpoint_state.paused_until = Some(now);
        assert_eq!(EndpointStatus::of(&view, now), EndpointStatus::Open, "the pause is over");
        view.endpoint_state.disabled = Some(Disabled::Gone);
        assert!(EndpointStatus::of(&view, now).is_disabled());
    }

    #[test]
    fn retries_stand_on_first_attempts() {
        let second = |first, retries| Second { first, retries, ..Second::default() };
        let seconds = vec![second(0, 0), second(1_000, 0), second(500, 1_500)];
        let chart = Chart::new(&AttemptRates { seconds }, None);
        assert_eq!(chart.first_path, "M1 1000V500h1V1000zM2 1000V750h1V1000z");
        assert_eq!(chart.retries_path, "M2 750V0h1V750z");
        assert_eq!((chart.width, chart.peak.as_str()), (3, "2000"));
    }

    #[test]
    fn nothing_at_all_is_an_empty_picture() {
        let chart = Chart::new(&AttemptRates::default(), None);
        assert_eq!((chart.width, chart.first_path.as_str()), (1, ""));
    }
}
