//! The picture: bars that grow on a terminal, a line a second elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;

use stagger::Span;

use super::part::Part;
use super::path::Path;
use super::receiver::{OUTAGE, Receiver};
use super::stage::EVENTS;
use super::tally::TENTH;
use crate::render::{merged, sparkline};

/// Columns of bars; with the names beside them a line stays within 100.
const BARS: usize = 70;
/// Columns of names.
const NAMES: usize = 18;

/// The picture at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) receiver: &'a Receiver,
    pub(super) path: &'a Path,
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
            let names = Part::ALL.map(|part| format!("{:>NAMES$}", part.name())).concat();
            let _ = writeln!(text, "{:>8}{names}  breaker", "second");
        }
        write(&text)
    }

    /// Shows a moment.
    pub(super) fn show(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        if io::stdout().is_terminal() {
            let picture = scene.picture();
            // Up to where the last picture began, and over it.
            let up = if self.drawn == 0 { String::new() } else { format!("\x1b[{}A", self.drawn) };
            self.drawn = picture.lines().count();
            return write(&(up + &picture.replace('\n', "\x1b[K\n")));
        }
        self.tell(scene)
    }

    /// Shows the end: the picture if there was none, and the figures.
    pub(super) fn close(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        self.show(scene)?;
        if io::stdout().is_terminal() {
            return write(&format!("\n{}\n", scene.figures()));
        }
        self.told_up_to(scene, seconds(scene.receiver.elapsed()) + 1)?;
        write(&format!("\n{}\n{}\n", scene.picture(), scene.figures()))
    }

    /// Says one line.
    pub(super) fn say(&self, line: &str) -> io::Result<()> {
        write(&format!("{line}\n"))
    }

    /// A line for every second that has passed.
    fn tell(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        self.told_up_to(scene, seconds(scene.receiver.elapsed()))
    }

    fn told_up_to(&mut self, scene: &Scene<'_>, until: usize) -> io::Result<()> {
        while self.told < until {
            write(&scene.line(self.told))?;
            self.told += 1;
        }
        Ok(())
    }
}

impl Scene<'_> {
    fn line(&self, second: usize) -> String {
        let tally = self.receiver.tally();
        let counts = Part::ALL.map(|part| format!("{:>NAMES$}", tally.at(part).second(second)));
        format!("{second:>8}{}  {}\n", counts.concat(), self.path.now())
    }

    /// Bars of a tenth of a second each, or of the fullest of some; all parts on one scale.
    fn picture(&self) -> String {
        let tally = self.receiver.tally();
        let tenths = Part::ALL.map(|part| tally.at(part).tenths());
        let longest = tenths.iter().map(Vec::len).max().unwrap_or(0);
        let per_bar = longest.div_ceil(BARS).max(1);
        let full = tenths.iter().flatten().copied().max().map_or(0.0, f64::from);
        let down = if self.receiver.is_down() { "503" } else { "200" };
        let mut text =
            format!("arrivals; a full bar is {full:.0} in 0.1 s; the receiver answers {down}\n");
        for (part, tenths) in Part::ALL.into_iter().zip(&tenths) {
            let values: Vec<f64> = tenths.iter().copied().map(f64::from).collect();
            let bars = sparkline(&merged(&values, per_bar), full);
            let _ = writeln!(
                text,
                "{:NAMES$}{bars:BARS$} {:>4}",
                part.name(),
                tally.at(part).delivered
            );
        }
        let back = tenth(OUTAGE) / per_bar;
        let _ = writeln!(text, "{:NAMES$}{:>back$}^ it is well again", "", "");
        let _ = writeln!(text, "breaker: {}", self.path.now());
        text
    }

    fn figures(&self) -> String {
        let tally = self.receiver.tally();
        let at = |figure: &dyn Fn(Part) -> String| {
            Part::ALL.map(|part| format!("{:>NAMES$}", figure(part))).concat()
        };
        let peaks = |part| tally.at(part).peaks(tenth(OUTAGE));
        let rows = [
            ("", at(&|part| part.name().to_owned())),
            ("attempts", at(&|part| tally.at(part).attempts().to_string())),
            ("most retries in 0.1 s, while down", at(&|part| peaks(part)[0].to_string())),
            ("most retries in 0.1 s, when back", at(&|part| peaks(part)[1].to_string())),
            (
                "all delivered at second",
                at(&|part| format!("{:.1}", tally.at(part).last.as_secs_f64())),
            ),
        ];
        let mut text = String::new();
        for (name, figures) in rows {
            let _ = writeln!(text, "{name:34}{figures}");
        }
        let _ = writeln!(text, "\nbreaker: {}", self.path);
        let _ = writeln!(text, "duplicates: {}", tally.duplicates());
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
