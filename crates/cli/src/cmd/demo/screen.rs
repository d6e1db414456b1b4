//! The picture: bars that grow on a terminal, a line a second elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;

use stagger::Span;

use super::breaker_history::BreakerHistory;
use super::counts::TENTH;
use super::dispatcher::EVENTS;
use super::endpoint::DemoEndpoint;
use super::receiver::{OUTAGE, Receiver};
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
