//! The command: everything that can be wrong is found before the first attempt.

use std::fs;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::RANGE;
use reqwest::{Method, Request};
use stagger::reqwest::{CallOptions, Client, ClientOptions};
use stagger::{CallReport, Clock, Sleep, TokioTime};
use stagger_core::Policy;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use super::classification::client_options;
use super::download::{Download, DownloadRules};
use super::policy::{AttemptsMade, HttpFailure, policy};
use super::reporter::HttpReporter;
use super::request::{self, Content, client};
use super::target::HttpTarget;
use crate::command_error::CommandError;
use crate::flags::{ContinueAt, HttpFlags};
use crate::streams;

/// The exit codes of a process that a signal ended, as shells have them: 128 and its number.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;
/// The time for an exchange that was told to end to put its files away.
const FAREWELL: Duration = Duration::from_millis(100);

/// Makes the request, and returns the exit code.
///
/// # Errors
/// A flag or a file that is wrong; nothing is sent then.
pub(crate) fn http(flags: &HttpFlags) -> Result<ExitCode, CommandError> {
    let exchanges = Exchange::all(flags)?;
    Ok(run(exchanges, flags.silent && !flags.show_error))
}

fn run(exchanges: Vec<Exchange>, silent: bool) -> ExitCode {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(until_signal(exchanges, silent));
            // A reader of standard output that does not read must not delay the end.
            runtime.shutdown_background();
            code
        }
        Err(error) => streams::refuse(&format!("no threads to run on: {error}")),
    }
}

async fn until_signal(exchanges: Vec<Exchange>, silent: bool) -> ExitCode {
    let handlers = signal(SignalKind::interrupt())
        .and_then(|interrupt| Ok((interrupt, signal(SignalKind::terminate())?)));
    let (mut interrupt, mut terminate): (Signal, Signal) = match handlers {
        Ok(handlers) => handlers,
        Err(error) => return streams::refuse(&format!("no signal handler: {error}")),
    };
    // On a thread of its own, because standard output may block.
    let mut task = tokio::spawn(one_by_one(exchanges, silent));
    let code = tokio::select! {
        ended = &mut task => return ended.map_or(ExitCode::FAILURE, ExitCode::from),
        _ = interrupt.recv() => INTERRUPTED,
        _ = terminate.recv() => TERMINATED,
    };
    task.abort();
    let _ = timeout(FAREWELL, task).await;
    ExitCode::from(code)
}

/// Makes the calls; returns the code of the last one that failed.
async fn one_by_one(exchanges: Vec<Exchange>, silent: bool) -> u8 {
    let mut code = 0;
    for exchange in exchanges {
        if let Err(failure) = exchange.run().await {
            code = failure.code(silent);
        }
    }
    code
}

/// A request about to be made, with everything that was asked for.
#[derive(Debug)]
pub(super) struct Exchange {
    client: reqwest::Client,
    options: ClientOptions,
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
    pub(super) fn all(flags: &HttpFlags) -> Result<Vec<Self>, CommandError> {
        let policy = policy(flags)?;
        let targets = HttpTarget::all(flags)?;
        let client = client(flags)?;
        let content = Content::of(flags)?;
        let exchange = |target: HttpTarget| {
            let mut request = request::request(flags, &client, &content, &target)?;
            let rules = rules(flags, &target, &request)?;
            let download = Download::new(target.place, rules);
            download.resume(request.headers_mut());
            Ok(Self {
                repeatable: flags.idempotent || *request.method() == Method::GET,
                call: request::call(flags),
                reporter: Arc::new(HttpReporter::of(flags, policy)?),
                download,
                fail: flags.fail,
                client: client.clone(),
                options: client_options(flags),
                policy,
                request,
            })
        };
        targets.into_iter().map(exchange).collect()
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
            call = CallOptions::new().idempotent();
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
        if self.download.is_complete(&reply) {
            return Ok(());
        }
        let failed = reply.status().as_u16() >= 400;
        if !(failed && self.fail) {
            self.download.take(reply).await?;
        }
        if failed { Err(HttpFailure::Status) } else { Ok(()) }
    }

    fn caller(&self, policy: Policy) -> Client {
        let (begins, ends) = (Arc::clone(&self.reporter), Arc::clone(&self.reporter));
        let options = self
            .options
            .clone()
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

/// The rules of the flags for the body of a target.
fn rules(
    flags: &HttpFlags,
    target: &HttpTarget,
    request: &Request,
) -> Result<DownloadRules, CommandError> {
    let length = || match target.place.as_deref().map(fs::metadata) {
        Some(Ok(found)) if found.is_file() => found.len(),
        _ => 0,
    };
    let kept = match flags.continue_at {
        None => 0,
        Some(ContinueAt::End) => length(),
        Some(ContinueAt::Byte(kept)) if kept <= length() => kept,
        Some(ContinueAt::Byte(kept)) => {
            let bound = format!("at most the length of the file ({})", length());
            return Err(CommandError::invalid("--continue-at", &kept.to_string(), &bound));
        }
    };
    let range = request.headers().get(RANGE).cloned();
    let include = flags.include || flags.head;
    Ok(DownloadRules { include, compressed: flags.compressed, kept, range })
}
