//! The call and its reply. A body that breaks off on its way into a file is fetched again, as a further
//! attempt of the same call.

use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Method, Request};
use stagger::reqwest::{CallOptions, Client, ClientOptions};
use stagger::{CallReport, Clock, Sleep, TokioTime};
use stagger_core::Policy;

use super::client::client;
use super::download::Download;
use super::failure::HttpFailure;
use super::policy::AttemptsMade;
use super::policy::policy;
use super::reporter::HttpReporter;
use super::request;
use crate::command_error::CommandError;
use crate::flags::HttpFlags;
use crate::output_file::check;

/// A request about to be made, with everything that was asked for.
#[derive(Debug)]
pub(super) struct Exchange {
    client: reqwest::Client,
    policy: Policy,
    request: Request,
    call: CallOptions,
    reporter: Arc<HttpReporter>,
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
    /// A flag or a file that is wrong.
    pub(super) fn of(flags: &HttpFlags) -> Result<Self, CommandError> {
        let policy = policy(&flags.policy)?;
        if let Some(place) = &flags.output {
            check("--output", place)?;
        }
        let client = client(flags)?;
        let request = request::request(flags, &client)?;
        Ok(Self {
            repeatable: flags.idempotent || *request.method() == Method::GET,
            call: request::call(flags),
            reporter: Arc::new(HttpReporter::of(flags, policy)?),
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
    /// The failure that ended the call.
    pub(super) async fn run(mut self) -> Result<(), HttpFailure> {
        let began = TokioTime.now();
        let mut made = AttemptsMade::default();
        let mut call = std::mem::take(&mut self.call);
        loop {
            let request = self.request.try_clone();
            let ended = self.call_once(request, call, &mut made).await;
            made.elapsed = TokioTime.now() - began;
            match self.again(&ended, made) {
                Some(wait) => TokioTime.sleep(wait).await,
                None => {
                    self.reporter.end(made, ended.as_ref().err());
                    return ended;
                }
            }
            made.elapsed = TokioTime.now() - began;
            call = CallOptions::new().idempotent(true);
            self.download.resume(self.request.headers_mut());
        }
    }

    /// A call under what is left of the policy, and its body.
    async fn call_once(
        &mut self,
        request: Option<Request>,
        call: CallOptions,
        made: &mut AttemptsMade,
    ) -> Result<(), HttpFailure> {
        let policy = made.left_of(&self.policy).unwrap_or(self.policy);
        let request =
            request.ok_or_else(|| HttpFailure::Transport("the body is gone".to_owned()))?;
        let report = Arc::new(Mutex::new(CallReport::default()));
        self.reporter.go_on(*made);
        let answer =
            self.caller(policy).execute_with(request, call.report(Arc::clone(&report))).await;
        let report = report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        made.attempts += report.attempts();
        self.reporter.keep(report);
        let reply = answer.map_err(|error| HttpFailure::of(&error))?;
        let failed = reply.status().as_u16() >= 400;
        if !(failed && self.fail) {
            self.download.take(reply).await?;
        }
        if failed { Err(HttpFailure::Status) } else { Ok(()) }
    }

    fn caller(&self, policy: Policy) -> Client {
        let (begins, ends) = (Arc::clone(&self.reporter), Arc::clone(&self.reporter));
        let options = ClientOptions::new()
            .prepare(move |request, _| begins.begin(request))
            .on_attempt(move |attempt| ends.attempt(attempt));
        Client::with_options(self.client.clone(), policy, options)
    }

    /// The delay before a body that broke off is asked for again, where it can be.
    fn again(
        &self,
        ended: &Result<(), HttpFailure>,
        made: AttemptsMade,
    ) -> Option<stagger_core::Span> {
        let Err(HttpFailure::BrokenOff(why)) = ended else { return None };
        let left = made.left_of(&self.policy);
        let wait = made.delay(&self.policy);
        let again = self.repeatable && self.download.is_repeatable() && left.is_some();
        let wait = Some(wait).filter(|_| again);
        self.reporter.broken(made, why, self.download.received(), wait);
        wait
    }
}
