//! Reports of a call for people and programs: lines on standard error, and a log.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Write};

use rustix::io::Errno;
use rustix::process::Pid;
use serde::Serialize;
use stagger_core::Span;
use stagger_core::retry::Stop;

use crate::outcome::AttemptOutcome;
use crate::signals::signal_name;

/// The amount of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only what is wrong with this process itself.
    Quiet,
    /// Also each failed attempt, and what follows it.
    Normal,
    /// Also the begin of each attempt, with its process.
    Verbose,
}

/// The destination of the log.
#[derive(Debug)]
pub enum AttemptLog {
    /// Standard error.
    StandardError,
    /// A file, opened for appending.
    File(File),
}

/// Tells of one call.
#[derive(Debug)]
pub(crate) struct Reporter {
    verbosity: Verbosity,
    log: Option<AttemptLog>,
    most: Option<u32>,
    /// Whether this call retries nothing, because it is part of an attempt.
    single: bool,
    /// The attempt that has ended, until it is known what follows.
    last: RefCell<Option<AttemptRecord>>,
    /// The attempt before the wait under way. A breaker can end the call after the wait, so the log
    /// gets its line only then.
    waiting: RefCell<Option<AttemptRecord>>,
    elapsed: Cell<Span>,
}

/// One attempt in the log.
#[derive(Clone, Debug, Serialize)]
struct AttemptRecord {
    attempt: u32,
    outcome: &'static str,
    exit: Option<u8>,
    signal: Option<i32>,
    duration_ms: u128,
    /// The wait before the next attempt; none without one.
    delay_ms: Option<u128>,
    /// Why there was no next attempt.
    stop: Option<&'static str>,
    #[serde(skip)]
    words: String,
}

impl Reporter {
    pub(crate) fn new(
        verbosity: Verbosity,
        log: Option<AttemptLog>,
        most: Option<u32>,
        single: bool,
    ) -> Self {
        let (last, waiting) = (RefCell::new(None), RefCell::new(None));
        Self { verbosity, log, most, single, last, waiting, elapsed: Cell::new(Span::ZERO) }
    }

    /// An attempt begins, so the wait before it is over. A delay of nothing is not waited for, and
    /// so was not told.
    pub(crate) fn begins(&self) {
        self.follow(Some(Span::ZERO), None);
        if let Some(line) = self.waiting.borrow_mut().take() {
            self.write(&line);
        }
    }

    /// The command of an attempt runs.
    pub(crate) fn started(&self, number: u32, pid: Pid) {
        if self.verbosity >= Verbosity::Verbose {
            let of = self.of();
            say(&format!("attempt {number}{of} begins, process {}", pid.as_raw_nonzero()));
        }
    }

    /// An attempt has ended.
    pub(crate) fn ended(&self, attempt: u32, ended: &AttemptOutcome, duration: Span) {
        let exit = ended.exit();
        let signal = match ended {
            AttemptOutcome::Signalled(signal) => Some(*signal),
            _ => None,
        };
        self.elapsed.set(self.elapsed.get() + duration);
        *self.last.borrow_mut() = Some(AttemptRecord {
            attempt,
            outcome: ended.name(),
            exit,
            signal,
            duration_ms: millis(duration),
            delay_ms: None,
            stop: None,
            words: ended.words(),
        });
    }

    /// A wait begins.
    pub(crate) fn waits(&self, delay: Span) {
        self.elapsed.set(self.elapsed.get() + delay);
        self.follow(Some(delay), None);
    }

    /// No further attempt is made.
    pub(crate) fn stops(&self, stop: Stop) {
        self.follow(None, Some(stop));
        let Some(mut line) = self.waiting.borrow_mut().take() else { return };
        line.stop = Some(stop.name());
        self.write(&line);
        // A signal during the wait was told already.
        if stop != Stop::Cancelled {
            self.remark(&format!(
                "no attempt {}; {}",
                line.attempt.saturating_add(1),
                stop_words(stop)
            ));
        }
    }

    /// A signal asks for an end, which is why no further attempt is made.
    pub(crate) fn interrupted(&self, signal: i32) {
        self.remark(&format!("{} came; no further attempt", signal_name(signal)));
    }

    /// Something that people may want to know.
    pub(crate) fn remark(&self, what: &str) {
        if self.verbosity >= Verbosity::Normal {
            say(what);
        }
    }

    /// A signal could not be sent to the processes of an attempt.
    pub(crate) fn unsent(&self, signal: i32, error: Errno) {
        say(&format!(
            "cannot send {} to all of the command's processes: {error}",
            signal_name(signal)
        ));
    }

    /// Something that people must hear of, however quiet it should be.
    pub(crate) fn trouble(&self, what: &str) {
        say(what);
    }

    /// Reports once what follows the attempt that ended last.
    fn follow(&self, delay: Option<Span>, stop: Option<Stop>) {
        let Some(mut line) = self.last.borrow_mut().take() else { return };
        line.delay_ms = delay.map(millis);
        line.stop = stop.map(Stop::name);
        if self.verbosity > Verbosity::Quiet && !self.is_plain(&line, stop) {
            self.tell(&line, delay, stop);
        }
        if delay.is_some() {
            *self.waiting.borrow_mut() = Some(line);
        } else {
            self.write(&line);
        }
    }

    /// One line for people.
    fn tell(&self, line: &AttemptRecord, delay: Option<Span>, stop: Option<Stop>) {
        let (number, of, words) = (line.attempt, self.of(), &line.words);
        let what = match (delay, stop) {
            (Some(delay), _) => format!("next in {}", short(delay)),
            (None, Some(Stop::Succeeded)) => format!("{} in all", short(self.elapsed.get())),
            (None, Some(_)) if self.single => {
                "no retries inside another stagger exec; --nested allows them".to_owned()
            }
            (None, Some(Stop::Cancelled) | None) => "no further attempt".to_owned(),
            (None, Some(stop)) => stop_words(stop),
        };
        say(&format!("attempt {number}{of} {words}; {what}"));
    }

    /// Whether this is a first attempt that succeeded, which needs no line.
    fn is_plain(&self, line: &AttemptRecord, stop: Option<Stop>) -> bool {
        self.verbosity < Verbosity::Verbose && line.attempt == 1 && stop == Some(Stop::Succeeded)
    }

    fn of(&self) -> String {
        self.most.map_or_else(String::new, |most| format!(" of {most}"))
    }

    fn write(&self, line: &AttemptRecord) {
        let Some(log) = &self.log else { return };
        let text = serde_json::to_string(line).expect("numbers and words are JSON");
        match log {
            AttemptLog::StandardError => note(&text),
            AttemptLog::File(file) => {
                let mut file = file;
                // One write, so that lines of several processes do not mix.
                if let Err(error) = file.write_all(format!("{text}\n").as_bytes()) {
                    say(&format!("cannot write the log: {error}"));
                }
            }
        }
    }
}

/// Writes a line for people.
pub(crate) fn say(what: &str) {
    note(&format!("stagger: {what}"));
}

/// Writes a line. A failed write is ignored, because there is no other place for it.
fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn millis(span: Span) -> u128 {
    span.to_duration().as_millis()
}

/// To the millisecond: nanoseconds say nothing about a command.
pub(crate) fn short(span: Span) -> Span {
    let milli = Span::from_millis(1).as_nanos();
    Span::from_nanos(span.as_nanos() / milli * milli)
}

/// Why there is no further attempt. A deadline ends a call before it has come, when the next wait would
/// pass it.
fn stop_words(stop: Stop) -> String {
    match stop {
        Stop::DeadlineExceeded => format!("{stop}: the next wait would pass it"),
        _ => stop.to_string(),
    }
}
