//! The call and its reply. A body that breaks off on its way into a file is fetched again, as a further
//! attempt of the same call.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Method, Request};
use stagger::reqwest::{CallOptions, Client, ClientOptions};
use stagger::{CallReport, Clock, Sleep, TokioTime};
use stagger_core::Policy;

use super::again::Past;
use super::client::client;
use super::command::bad;
use super::download::Download;
use super::failure::Failure;
use super::order;
use super::policy::policy;
use super::teller::Teller;
use crate::flags::HttpFlags;
use crate::refusal::Refusal;

/// A request about to be made, with everything that was asked for.
#[derive(Debug)]
pub(super) struct Exchange {
    client: reqwest::Client,
    policy: Policy,
    request: Request,
    call: CallOptions,
    teller: Arc<Teller>,
    download: Download,
    /// Whether the same request may be sent after a reply.
    repeatable: bool,
    /// Whether no body is wanted at 400 and above.
    fail: bool,
}

impl Exchange {
    /// Reads everything that the flags name; nothing is sent and nothing is written.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn of(flags: &HttpFlags) -> Result<Self, Refusal> {
        let policy = policy(&flags.policy)?;
        if let Some(place) = &flags.output {
            writable(place)?;
        }
        let client = client(flags)?;
        let request = order::request(flags, &client)?;
        Ok(Self {
            repeatable: flags.idempotent || *request.method() == Method::GET,
            call: order::call(flags),
            teller: Arc::new(Teller::of(flags, policy)?),
            download: Download::new(flags.output.clone(), flags.include || flags.head),
            fail: flags.fail,
            client,
            policy,
            request,
        })
    }

    /// Makes the call, and hands its reply on.
    ///
    /// # Errors
    /// What became of it otherwise.
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let began = TokioTime.now();
        let mut past = Past::default();
        let mut call = std::mem::take(&mut self.call);
        loop {
            let request = self.request.try_clone();
            let ended = self.leg(request, call, &mut past).await;
            past.elapsed = TokioTime.now() - began;
            match self.again(&ended, past) {
                Some(wait) => TokioTime.sleep(wait).await,
                None => {
                    self.teller.end(past, ended.as_ref().err());
                    return ended;
                }
            }
            past.elapsed = TokioTime.now() - began;
            call = CallOptions::new().idempotent(true);
            self.download.resume(self.request.headers_mut());
        }
    }

    /// A call under what is left of the policy, and its body.
    async fn leg(
        &mut self,
        request: Option<Request>,
        call: CallOptions,
        past: &mut Past,
    ) -> Result<(), Failure> {
        let policy = past.left_of(&self.policy).unwrap_or(self.policy);
        let request = request.ok_or_else(|| Failure::Transport("the body is gone".to_owned()))?;
        let report = Arc::new(Mutex::new(CallReport::default()));
        self.teller.go_on(*past);
        let answer =
            self.caller(policy).execute_with(request, call.report(Arc::clone(&report))).await;
        let report = report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        past.attempts += report.attempts();
        self.teller.keep(report);
        let reply = answer.map_err(|error| Failure::of(&error))?;
        let failed = reply.status().as_u16() >= 400;
        if !(failed && self.fail) {
            self.download.take(reply).await?;
        }
        if failed { Err(Failure::Status) } else { Ok(()) }
    }

    fn caller(&self, policy: Policy) -> Client {
        let (begins, ends) = (Arc::clone(&self.teller), Arc::clone(&self.teller));
        let options = ClientOptions::new()
            .prepare(move |request, _| begins.begin(request))
            .on_attempt(move |attempt| ends.attempt(attempt));
        Client::with_options(self.client.clone(), policy, options)
    }

    /// The delay before a body that broke off is asked for again, where it can be.
    fn again(&self, ended: &Result<(), Failure>, past: Past) -> Option<stagger_core::Span> {
        let Err(Failure::BrokenOff(why)) = ended else { return None };
        let left = past.left_of(&self.policy);
        let wait = past.delay(&self.policy);
        let again = self.repeatable && self.download.is_repeatable() && left.is_some();
        let wait = Some(wait).filter(|_| again);
        self.teller.broken(past, why, self.download.received(), wait);
        wait
    }
}

/// Checks the place of a reply before there is one.
fn writable(place: &Path) -> Result<(), Refusal> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    if place.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let bound = "a file in a folder that exists";
        return Err(bad("--output", &place.display().to_string(), bound));
    }
    Ok(())
}
