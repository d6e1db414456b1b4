//! Reports of a call on standard error and in a log.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use reqwest::header::HeaderMap;
use reqwest::{Request, Response};
use serde::Serialize;
use stagger::reqwest::SendError;
use stagger::{AttemptEnd, CallReport};
use stagger_core::{Policy, Span};

use super::event::{AttemptEvent, BodyEvent, EndEvent};
use super::failure::HttpFailure;
use super::policy::AttemptsMade;
use super::secrets::{shown, without_userinfo};
use crate::command_error::CommandError;
use crate::flags::{HttpFlags, HttpFormat};
use crate::stderr;

/// Tells attempts and their end.
#[derive(Debug)]
pub(super) struct HttpReporter {
    policy: Policy,
    format: HttpFormat,
    quiet: bool,
    verbose: bool,
    log: Option<Mutex<File>>,
    /// The attempts and time before the call under way.
    made: Mutex<AttemptsMade>,
    /// The end of the last call.
    report: Mutex<CallReport>,
}

impl HttpReporter {
    /// As the flags want it.
    ///
    /// # Errors
    /// A log that cannot be opened.
    pub(super) fn of(flags: &HttpFlags, policy: Policy) -> Result<Self, CommandError> {
        let open = |path| {
            let file = File::options().append(true).create(true).open(path);
            file.map(Mutex::new).map_err(|error| {
                let path = flags.log.clone().unwrap_or_default();
                CommandError::File(format!("error: {}: {error}", path.display()))
            })
        };
        let log = flags.log.as_ref().map(open).transpose()?;
        let HttpFlags { format, quiet, verbose, .. } = *flags;
        let (made, report) = (Mutex::default(), Mutex::default());
        Ok(Self { policy, format, quiet, verbose, log, made, report })
    }

    /// An attempt is about to be made.
    pub(super) fn begin(&self, request: &Request) {
        if self.verbose {
            let url = without_userinfo(request.url().as_str());
            stderr::note(&format!("> {} {url}", request.method()));
            show('>', request.headers());
        }
    }

    /// An attempt has settled.
    pub(super) fn attempt(&self, ended: &AttemptEnd<'_, Response, SendError>) {
        if let (true, Some(Ok(reply))) = (self.verbose, ended.result) {
            stderr::note(&format!("< {:?} {}", reply.version(), reply.status()));
            show('<', reply.headers());
        }
        let made = *self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = AttemptEvent::of(ended, &self.policy, made);
        self.tell(&attempt, &attempt.line(self.policy.limits().max_attempts()));
    }

    /// A body broke off after this many bytes; `wait` is the delay before it is asked for again.
    pub(super) fn broken(&self, made: AttemptsMade, why: &str, received: u64, wait: Option<Span>) {
        let broken = BodyEvent::of(made, why, received, wait);
        self.tell(&broken, &broken.line());
    }

    /// Further attempts come after these.
    pub(super) fn go_on(&self, made: AttemptsMade) {
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = made;
    }

    /// Keeps how a call ended, for the end of all.
    pub(super) fn keep(&self, report: CallReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// All has ended, the body included. One clean attempt is its own end.
    pub(super) fn end(&self, made: AttemptsMade, failure: Option<&HttpFailure>) {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        let end = EndEvent::of(&report, made, failure);
        self.tell(&end, end.line());
    }

    fn tell(&self, event: &impl Serialize, line: &str) {
        let json = || serde_json::to_string(event).expect("numbers and words have a form in JSON");
        if let Some(log) = &self.log {
            let line = json() + "\n";
            // What becomes of the request is worth more than a line about it.
            let _ = log.lock().map(|mut log| log.write_all(line.as_bytes()));
        }
        match self.format {
            _ if self.quiet => {}
            HttpFormat::Text => stderr::note(line),
            HttpFormat::Json => stderr::note(&json()),
        }
    }
}

fn show(mark: char, headers: &HeaderMap) {
    for (name, value) in headers {
        stderr::note(&format!("{mark} {name}: {}", shown(name, value)));
    }
}
