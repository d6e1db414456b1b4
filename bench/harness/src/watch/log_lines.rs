//! The lines that a server writes of the attempts of a run.

use std::io::Write as _;

use stagger_core::{Instant, Span};
use stagger_sim::{AttemptEnd, PlayedAttempt};

/// The form of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogForm {
    /// The combined format with the time of the request behind it.
    CombinedTimed,
    /// JSON lines with an id.
    JsonId,
    /// JSON lines with an id and the number of the attempt.
    JsonNumber,
    /// CSV with client and path.
    Csv,
    /// The combined format alone, whose stamps are whole seconds.
    Combined,
}

impl LogForm {
    pub(super) const ALL: [Self; 5] =
        [Self::CombinedTimed, Self::JsonId, Self::JsonNumber, Self::Csv, Self::Combined];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CombinedTimed => "combined with times",
            Self::JsonId => "JSON with ids",
            Self::JsonNumber => "JSON with numbers",
            Self::Csv => "CSV with clients",
            Self::Combined => "combined",
        }
    }

    /// Whether retries can only be guessed, by the client and what it asks for.
    const fn is_guessed(self) -> bool {
        matches!(self, Self::CombinedTimed | Self::Csv | Self::Combined)
    }
}

/// Writes lines.
#[derive(Debug)]
pub(super) struct LogWriter {
    form: LogForm,
    clients: u32,
    line: Vec<u8>,
}

/// The time between two calls of one client for one thing, in seconds: people, devices, cron jobs. Where
/// clients call faster, retries cannot be told by a guess, and the documentation says so.
const GAP: u32 = 10;
/// Midnight of 14 November 2023, in seconds since the epoch.
const MIDNIGHT: u64 = 1_699_920_000;
/// Routes of the service.
const ROUTES: [&str; 3] = ["/orders", "/users", "/search"];

impl LogWriter {
    /// A writer for a service of so many calls a second, without retries.
    pub(super) fn new(form: LogForm, calls_a_second: u32) -> Self {
        // Clients that send ids are other services, of which there are few.
        let clients = if form.is_guessed() { calls_a_second * GAP } else { 20 };
        Self { form, clients, line: Vec::new() }
    }

    /// The lines before the first attempt.
    pub(super) const fn header(&self) -> &'static [u8] {
        if matches!(self.form, LogForm::Csv) { b"end,status,duration,client,path" } else { b"" }
    }

    /// The line of an attempt, without its end.
    pub(super) fn line(&mut self, attempt: &PlayedAttempt) -> &[u8] {
        let PlayedAttempt { call, number, .. } = *attempt;
        let client = attempt.client.wrapping_mul(2_654_435_761) % self.clients.max(1);
        let address =
            format_args!("10.{}.{}.{}", client >> 16, client >> 8 & 255, client & 255).to_string();
        let route = ROUTES[(client % 3) as usize];
        let status = match attempt.end {
            AttemptEnd::Served => 200,
            AttemptEnd::Failed => 503,
            AttemptEnd::GaveUp => 499,
        };
        let took = (attempt.ended - attempt.began).as_nanos() / 1_000_000;
        let began = MIDNIGHT * 1_000 + millis(attempt.began);
        let ended = MIDNIGHT * 1_000 + millis(attempt.ended);
        self.line.clear();
        let line = &mut self.line;
        let written = match self.form {
            LogForm::CombinedTimed | LogForm::Combined => {
                let second = millis(attempt.ended) / 1_000;
                let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
                let at = format!("14/Nov/2023:{hour:02}:{minute:02}:{second:02} +0000");
                let request = format!("GET {route} HTTP/1.1");
                let plain =
                    write!(line, "{address} - - [{at}] \"{request}\" {status} 5 \"-\" \"-\"");
                match self.form {
                    LogForm::Combined => plain,
                    _ => plain
                        .and_then(|()| write!(line, " rt={}.{:03}", took / 1_000, took % 1_000)),
                }
            }
            LogForm::JsonId => write!(
                line,
                r#"{{"time":{began},"status":{status},"duration":{took},"client":"{address}","path":"{route}","id":"{call}"}}"#
            ),
            LogForm::JsonNumber => write!(
                line,
                r#"{{"time":{began},"status":{status},"duration":{took},"client":"{address}","path":"{route}","id":"{call}","attempt":{number}}}"#
            ),
            LogForm::Csv => write!(line, "{ended},{status},{took},{address},{route}"),
        };
        // Writing to memory does not fail.
        written.unwrap_or_default();
        &self.line
    }
}

fn millis(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000
}

/// The time of the lab for a time of the log.
pub(super) fn of_log(since_epoch: Span) -> Span {
    since_epoch - Span::from_secs(MIDNIGHT)
}
