//! The call and its reply.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use reqwest::{Request, Response};
use stagger::Report;
use stagger::reqwest::{CallOptions, Client, Options};

use super::client::client;
use super::command::bad;
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
    wanted: Wanted,
}

/// What is wanted of the reply.
#[derive(Debug)]
struct Wanted {
    output: Option<PathBuf>,
    /// Whether status and headers are printed.
    include: bool,
    /// Whether no body is, at 400 and above.
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
            wanted: Wanted {
                output: flags.output.clone(),
                include: flags.include || flags.head,
                fail: flags.fail,
            },
        })
    }

    /// Makes the call, and hands its reply on.
    ///
    /// # Errors
    /// What became of it otherwise.
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { client, request, call, teller, wanted } = self;
        let report = Arc::new(Mutex::new(Report::default()));
        let answer = client.execute_with(request, call.report(Arc::clone(&report))).await;
        teller.end(&report.lock().unwrap_or_else(PoisonError::into_inner));
        let reply = answer.map_err(|error| Failure::of(&error))?;
        let failed = reply.status().as_u16() >= 400;
        if !(failed && wanted.fail) {
            wanted.hand_on(reply).await?;
        }
        if failed { Err(Failure::Status) } else { Ok(()) }
    }
}

impl Wanted {
    async fn hand_on(&self, mut reply: Response) -> Result<(), Failure> {
        let unwritten = |error: io::Error| {
            let name =
                self.output.as_deref().map_or(Cow::from("standard output"), Path::to_string_lossy);
            Failure::Unwritten(format!("cannot write {name}: {error}"))
        };
        let mut outlet = Outlet::open(self.output.as_deref()).map_err(unwritten)?;
        let head = if self.include { head(&reply) } else { Vec::new() };
        let mut read_on = outlet.write(&head).map_err(unwritten)?;
        while read_on {
            let Some(piece) = next(&mut reply).await? else { break };
            read_on = outlet.write(&piece).map_err(unwritten)?;
        }
        outlet.close().map_err(unwritten)
    }
}

/// What can be known of the place of a reply before there is one.
fn writable(place: &Path) -> Result<(), Refusal> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    if place.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        let bound = "a file in a folder that exists";
        return Err(bad("--output", &place.display().to_string(), bound));
    }
    Ok(())
}

/// The next piece of the body. The deadline of the policy is the client's to keep.
async fn next(reply: &mut Response) -> Result<Option<Bytes>, Failure> {
    reply.chunk().await.map_err(|error| match error.is_timeout() {
        true => Failure::Time("the deadline has come before the end of the reply".to_owned()),
        false => Failure::BrokenOff(format!("the reply broke off: {}", deepest(&error))),
    })
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
