//! The picture of the demo: bars that grow on a terminal, a line a second elsewhere, and the states of the
//! breaker.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::{fmt, io};

use stagger::breaker::StateKind;
use stagger::{Instant, Span};
use stagger_dispatch::scheduler::QueueView;

use super::dispatcher::{DemoEndpoint, EVENTS};
use super::receiver::{OUTAGE, Receiver, TENTH};
use crate::render::{merged, sparkline};

/// Columns of bars; with the names beside them a line stays within 100.
const BARS: usize = 70;

/// Columns of names.
const NAMES: usize = 18;

/// The picture at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoPicture<'a> {
    pub(super) receiver: &'a Receiver,
    pub(super) breaker: &'a BreakerHistory,
}

/// Standard output, and what is on it.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Lines of the picture that the next one is drawn over.
    drawn: usize,
    /// Seconds that have been told in lines.
    told: usize,
}

impl Screen {
    /// Says what is going to happen.
    pub(super) fn open(&self, page: SocketAddr) -> io::Result<()> {
        let mut text = format!(
            "{EVENTS} messages to three endpoints; the receiver answers 503 for {OUTAGE}.\n\
             The same delays for all: 1 s, 2 s, 4 s, 4 s, ...\n\
             The dispatcher's page: http://{page}\n\n"
        );
        if !io::stdout().is_terminal() {
            text += "arrivals a second at the receiver\n";
            let names = DemoEndpoint::ALL.map(|part| format!("{:>NAMES$}", part.name())).concat();
            let _ = writeln!(text, "{:>8}{names}  breaker", "second");
        }
        write(&text)
    }

    /// Shows a moment.
    pub(super) fn show(&mut self, picture: &DemoPicture<'_>) -> io::Result<()> {
        if io::stdout().is_terminal() {
            let picture = picture.picture();
            // Up to where the last picture began, and over it.
            let up = if self.drawn == 0 { String::new() } else { format!("\x1b[{}A", self.drawn) };
            self.drawn = picture.lines().count();
            return write(&(up + &picture.replace('\n', "\x1b[K\n")));
        }
        self.tell(picture)
    }

    /// Shows the end: the picture if there was none, and the figures.
    pub(super) fn close(&mut self, picture: &DemoPicture<'_>) -> io::Result<()> {
        self.show(picture)?;
        if io::stdout().is_terminal() {
            return write(&format!("\n{}\n", picture.figures()));
        }
        self.told_up_to(picture, seconds(picture.receiver.elapsed()) + 1)?;
        write(&format!("\n{}\n{}\n", picture.picture(), picture.figures()))
    }

    /// Says one line.
    pub(super) fn say(&self, line: &str) -> io::Result<()> {
        write(&format!("{line}\n"))
    }

    /// A line for every second that has passed.
    fn tell(&mut self, picture: &DemoPicture<'_>) -> io::Result<()> {
        self.told_up_to(picture, seconds(picture.receiver.elapsed()))
    }

    fn told_up_to(&mut self, picture: &DemoPicture<'_>, until: usize) -> io::Result<()> {
        while self.told < until {
            write(&picture.line(self.told))?;
            self.told += 1;
        }
        Ok(())
    }
}

impl DemoPicture<'_> {
    fn line(&self, second: usize) -> String {
        let counts = self.receiver.counts();
        let counts =
            DemoEndpoint::ALL.map(|part| format!("{:>NAMES$}", counts.at(part).second(second)));
        format!("{second:>8}{}  {}\n", counts.concat(), self.breaker.now())
    }

    /// Bars of a tenth of a second each, or of the fullest of some; all parts on one scale.
    fn picture(&self) -> String {
        let counts = self.receiver.counts();
        let tenths = DemoEndpoint::ALL.map(|part| counts.at(part).tenths());
        let longest = tenths.iter().map(Vec::len).max().unwrap_or(0);
        let per_bar = longest.div_ceil(BARS).max(1);
        let full = tenths.iter().flatten().copied().max().map_or(0.0, f64::from);
        let down = if self.receiver.is_down() { "503" } else { "200" };
        let mut text =
            format!("arrivals; a full bar is {full:.0} in 0.1 s; the receiver answers {down}\n");
        for (part, tenths) in DemoEndpoint::ALL.into_iter().zip(&tenths) {
            let values: Vec<f64> = tenths.iter().copied().map(f64::from).collect();
            let bars = sparkline(&merged(&values, per_bar), full);
            let _ = writeln!(
                text,
                "{:NAMES$}{bars:BARS$} {:>4}",
                part.name(),
                counts.at(part).delivered
            );
        }
        let back = tenth(OUTAGE) / per_bar;
        let _ = writeln!(text, "{:NAMES$}{:>back$}^ the receiver answers again", "", "");
        let _ = writeln!(text, "breaker: {}", self.breaker.now());
        text
    }

    fn figures(&self) -> String {
        let counts = self.receiver.counts();
        let at = |figure: &dyn Fn(DemoEndpoint) -> String| {
            DemoEndpoint::ALL.map(|part| format!("{:>NAMES$}", figure(part))).concat()
        };
        let peaks = |part| counts.at(part).peaks(tenth(OUTAGE));
        let rows = [
            ("", at(&|part| part.name().to_owned())),
            ("attempts", at(&|part| counts.at(part).attempts().to_string())),
            ("most retries in 0.1 s, while down", at(&|part| peaks(part)[0].to_string())),
            ("most retries in 0.1 s, when back", at(&|part| peaks(part)[1].to_string())),
            (
                "all delivered at second",
                at(&|part| format!("{:.1}", counts.at(part).last.as_secs_f64())),
            ),
        ];
        let mut text = String::new();
        for (name, figures) in rows {
            let _ = writeln!(text, "{name:34}{figures}");
        }
        let _ = writeln!(text, "\nbreaker: {}", self.breaker);
        let _ = writeln!(text, "duplicates: {}", counts.duplicates());
        text
    }
}

fn tenth(at: Span) -> usize {
    // OK because a demo takes seconds.
    usize::try_from(at.as_nanos() / TENTH.as_nanos()).unwrap_or(usize::MAX)
}

fn seconds(at: Span) -> usize {
    tenth(at) / 10
}

/// A reader that has gone away (`| head -1`) is no failure.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The states of the breaker, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct BreakerHistory {
    steps: Vec<(Span, BreakerChange)>,
    probe: Option<Instant>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BreakerChange {
    Opened,
    /// A probe failed; the next one is later.
    Probed,
    /// A probe was good: the backlog leaves slowly.
    Recovering,
    /// Nothing is left of it.
    Well,
}

impl BreakerHistory {
    /// Notes the state of the endpoint at `at`.
    pub(super) fn note(&mut self, at: Span, view: &QueueView) {
        let open = view.breaker != StateKind::Closed;
        let last = self.steps.last().map(|(_, step)| *step);
        let step = match last {
            None | Some(BreakerChange::Well) if open => Some(BreakerChange::Opened),
            Some(BreakerChange::Opened | BreakerChange::Probed) if open => {
                (view.next_probe.is_some() && view.next_probe != self.probe)
                    .then_some(BreakerChange::Probed)
            }
            Some(BreakerChange::Opened | BreakerChange::Probed) => Some(BreakerChange::Recovering),
            Some(BreakerChange::Recovering) if open => Some(BreakerChange::Opened),
            Some(BreakerChange::Recovering) => (view.endpoint_state.recovering_since.is_none()
                && is_empty(view))
            .then_some(BreakerChange::Well),
            _ => None,
        };
        self.probe = view.next_probe.or(self.probe);
        self.steps.extend(step.map(|step| (at, step)));
    }

    /// Whether it has opened and everything has been caught up with since.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.steps.last(), Some((_, BreakerChange::Well)))
    }

    /// The current state of the breaker.
    pub(super) fn now(&self) -> &'static str {
        match self.steps.last() {
            None => "closed",
            Some((_, step)) => step.name(),
        }
    }
}

impl BreakerChange {
    const fn name(self) -> &'static str {
        match self {
            Self::Opened => "open",
            Self::Probed => "open, a probe failed",
            Self::Recovering => "closed, on the ramp",
            Self::Well => "closed, all caught up",
        }
    }
}

impl fmt::Display for BreakerHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (at, step)) in self.steps.iter().enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            write!(f, "{comma}{} at {:.1} s", step.name(), at.as_secs_f64())?;
        }
        if self.steps.is_empty() { f.write_str("never opened") } else { Ok(()) }
    }
}

fn is_empty(view: &QueueView) -> bool {
    view.ready + view.waiting + view.in_flight == 0
}

#[cfg(test)]
mod tests {
    use stagger_dispatch::model::EndpointState;

    use super::*;

    fn view(breaker: StateKind, probe: Option<u64>, waiting: usize) -> QueueView {
        QueueView {
            endpoint_state: EndpointState::default(),
            breaker,
            next_probe: probe.map(|secs| Instant::ORIGIN + Span::from_secs(secs)),
            ready: 0,
            waiting,
            in_flight: 0,
            rate: None,
        }
    }

    #[test]
    fn looking_twice_at_the_same_state_is_no_step() {
        let mut path = BreakerHistory::default();
        let views = [
            view(StateKind::Closed, None, 9),
            view(StateKind::Open, Some(1), 9),
            view(StateKind::Open, Some(1), 9),
            view(StateKind::HalfOpen, None, 9),
            view(StateKind::Open, Some(3), 9),
            view(StateKind::Closed, None, 9),
            view(StateKind::Closed, None, 9),
            view(StateKind::Closed, None, 0),
        ];
        for (at, view) in (0..).zip(&views) {
            path.note(Span::from_secs(at), view);
        }
        assert_eq!(
            path.to_string(),
            "open at 1.0 s; open, a probe failed at 4.0 s; \
             closed, on the ramp at 5.0 s; closed, all caught up at 7.0 s"
        );
    }
}
