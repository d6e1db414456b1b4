//! The call and its reply.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Request, Response};
use stagger::reqwest::{CallOptions, Client, Options};
use stagger::{Clock, Instant, Report, Sleep, Span, TokioTime};

use super::client::client;
use super::failure::{Failure, deepest};
use super::order;
use super::outlet::Outlet;
use super::policy::policy;
use super::teller::Teller;
use crate::flags::HttpFlags;
use crate::refusal::Refusal;

/// A request about to be made, with everything that was asked for.
#[derive(Debug)]
pub(super) struct Exchange {
    client: Client,
    request: Request,
    call: CallOptions,
    teller: Arc<Teller>,
    deadline: Option<Span>,
    output: Option<PathBuf>,
    /// Whether status and headers are printed, and whether a body is, at 400 and above.
    include: bool,
    fail: bool,
}

impl Exchange {
    /// Reads everything that the flags name; nothing is sent and nothing is written.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn of(flags: &HttpFlags) -> Result<Self, Refusal> {
        let policy = policy(&flags.policy)?;
        let inner = client(flags)?;
        let request = order::request(flags, &inner)?;
        let teller = Arc::new(Teller::of(flags, policy)?);
        let (begins, ends) = (Arc::clone(&teller), Arc::clone(&teller));
        let options = Options::new()
            .prepare(move |request, _| begins.begin(request))
            .hear(move |attempt| ends.attempt(attempt));
        Ok(Self {
            client: Client::with_options(inner, policy, options),
            request,
            call: order::call(flags),
            teller,
            deadline: policy.limits().deadline(),
            output: flags.output.clone(),
            include: flags.include || flags.head,
            fail: flags.fail,
        })
    }

    /// Makes the call, and hands its reply on.
    ///
    /// # Errors
    /// What became of it otherwise.
    pub(super) async fn run(self) -> Result<(), Failure> {
        let begun = TokioTime.now();
        let report = Arc::new(Mutex::new(Report::default()));
        let call = self.call.report(Arc::clone(&report));
        let answer = self.client.execute_with(self.request, call).await;
        self.teller.end(&report.lock().unwrap_or_else(PoisonError::into_inner));
        let mut reply = answer.map_err(|error| Failure::of(&error))?;
        let failed = reply.status().as_u16() >= 400;
        if !(failed && self.fail) {
            let name =
                self.output.as_ref().map_or("standard output".into(), |it| it.to_string_lossy());
            let unwritten =
                |error: io::Error| Failure::Unwritten(format!("cannot write {name}: {error}"));
            let mut outlet = Outlet::open(self.output.as_deref()).map_err(unwritten)?;
            let head = if self.include { head(&reply) } else { Vec::new() };
            let mut piece = outlet.write(&head).map_err(unwritten)?.then_some(true);
            while piece.is_some() {
                let Some(bytes) = next(&mut reply, begun, self.deadline).await? else { break };
                piece = outlet.write(&bytes).map_err(unwritten)?.then_some(true);
            }
            outlet.close().map_err(unwritten)?;
        }
        if failed { Err(Failure::Status) } else { Ok(()) }
    }
}

/// The next piece of the body, before the deadline.
async fn next(
    reply: &mut Response,
    begun: Instant,
    deadline: Option<Span>,
) -> Result<Option<bytes::Bytes>, Failure> {
    let broken = |error: reqwest::Error| {
        Failure::BrokenOff(format!("the reply broke off: {}", deepest(&error)))
    };
    let Some(deadline) = deadline else { return reply.chunk().await.map_err(broken) };
    tokio::select! {
        piece = reply.chunk() => piece.map_err(broken),
        () = TokioTime.sleep((begun + deadline) - TokioTime.now()) => {
            Err(Failure::Time(format!("the reply has no end within {deadline}")))
        }
    }
}

/// Status and headers as HTTP/1.1 writes them, whatever was spoken.
fn head(reply: &Response) -> Vec<u8> {
    let mut head = format!("{:?} {}\r\n", reply.version(), reply.status()).into_bytes();
    for (name, value) in reply.headers() {
        head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    head
}
