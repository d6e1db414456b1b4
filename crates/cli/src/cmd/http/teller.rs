//! Who says what happens: on standard error, and into a log.

use std::fs::File;
use std::io::Write;
use std::sync::Mutex;

use reqwest::header::HeaderMap;
use reqwest::{Request, Response};
use serde::Serialize;
use stagger::reqwest::SendError;
use stagger::{AttemptEnd, Report};
use stagger_core::Policy;

use super::event::{Attempt, End};
use super::secrets::{shown, without_userinfo};
use crate::flags::{HttpFlags, HttpFormat};
use crate::refusal::Refusal;
use crate::stderr;

/// Tells attempts and their end.
#[derive(Debug)]
pub(super) struct Teller {
    policy: Policy,
    format: HttpFormat,
    quiet: bool,
    verbose: bool,
    log: Option<Mutex<File>>,
}

impl Teller {
    /// As the flags want it.
    ///
    /// # Errors
    /// A log that cannot be opened.
    pub(super) fn of(flags: &HttpFlags, policy: Policy) -> Result<Self, Refusal> {
        let open = |path| {
            let file = File::options().append(true).create(true).open(path);
            file.map(Mutex::new).map_err(|error| {
                let path = flags.log.clone().unwrap_or_default();
                Refusal::File(format!("error: {}: {error}", path.display()))
            })
        };
        let log = flags.log.as_ref().map(open).transpose()?;
        let HttpFlags { format, quiet, verbose, .. } = *flags;
        Ok(Self { policy, format, quiet, verbose, log })
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
        let attempt = Attempt::of(ended, &self.policy);
        self.tell(&attempt, &attempt.line(self.policy.limits().max_attempts()));
    }

    /// The call has ended. One clean attempt is its own end.
    pub(super) fn end(&self, report: &Report) {
        let end = End::of(report);
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
