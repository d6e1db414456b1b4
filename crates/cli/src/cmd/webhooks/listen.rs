//! `stagger listen`: deliveries of a dispatcher on this machine, forwarded to a server under development.

use std::io::BufRead;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use stagger_dispatch::model::SecretKind;
use stagger_dispatch::sender::{Signer, Verifier, generate_secret, secret_text};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::api::{Api, Failure, encoded};
use super::command::on_runtime;
use super::forward::{EVENT_TYPE, ForwardedDelivery, LocalServer, now};
use crate::flags::{ListenFlags, WebhooksFormat};
use crate::streams;

/// The time for removing the endpoint at the end.
const CLEANUP: Duration = Duration::from_secs(10);

/// Looks at whether the dispatcher has settled an attempt whose answer it got, and the interval between them.
const LOOKS: u32 = 250;
const LOOK: Duration = Duration::from_millis(20);

/// Forwards until Ctrl-C.
pub(crate) fn listen(flags: &ListenFlags) -> ExitCode {
    match on_runtime(run(flags)).and_then(|done| done) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

async fn run(flags: &ListenFlags) -> Result<(), Failure> {
    let (api, server) = (Api::new(&flags.api)?, LocalServer::new(&flags.target)?);
    if let Some(id) = &flags.replay {
        let told = send_once(&api, &server, id).await?;
        return print(&told, flags.api.format);
    }
    let mut stop = StopSignals::new()?;
    let (receiver, mut forwarded) = ForwardingServer::bind(&server).await?;
    let endpoint = TemporaryEndpoint::make(&api, &receiver.url, &flags.events).await?;
    let secret = endpoint.secret.clone();
    receiver.serve(&secret)?;
    streams::note(&format!(
        "deliveries of {} go to {}, by the endpoint {} with the secret {secret}; Ctrl-C removes it",
        api.place(),
        server.place(),
        endpoint.id,
    ));
    let listening = ListenSession { api: &api, server: &server, endpoint: &endpoint, flags };
    let ended = tokio::select! {
        () = stop.came() => Ok(()),
        ended = listening.go_on(&mut forwarded) => ended,
    };
    endpoint.remove(&api).await?;
    ended
}

/// The work that goes on until Ctrl-C.
struct ListenSession<'l> {
    api: &'l Api,
    server: &'l LocalServer,
    endpoint: &'l TemporaryEndpoint,
    flags: &'l ListenFlags,
}

impl ListenSession<'_> {
    /// Tells of each delivery, and sends again what is asked for on standard input.
    async fn go_on(
        &self,
        forwarded: &mut mpsc::UnboundedReceiver<ForwardedDelivery>,
    ) -> Result<(), Failure> {
        let (mut asked, mut left) = (lines(), self.flags.count);
        let mut last: Option<(String, u64)> = None;
        loop {
            tokio::select! {
                Some(told) = forwarded.recv() => {
                    print(&told, self.flags.api.format)?;
                    last = Some((told.id, told.attempt.parse().unwrap_or(0)));
                    left = left.map(|left| left.saturating_sub(1));
                    if left == Some(0) {
                        return Ok(());
                    }
                }
                Some(line) = asked.recv() => {
                    let line = line.trim();
                    let shown = last.as_ref().filter(|(id, _)| line.is_empty() || line == id);
                    let (id, attempt) = match shown {
                        Some((id, attempt)) => (id.as_str(), *attempt),
                        None if line.is_empty() => {
                            streams::note("nothing came yet; type the id of a message, msg_...");
                            continue;
                        }
                        None => (line, 0),
                    };
                    if let Err(failure) = self.again(id, attempt).await {
                        streams::note(&format!("error: {failure}"));
                    }
                }
                else => std::future::pending().await,
            }
        }
    }

    /// Has a message sent again, of which this attempt was the last one here: by the dispatcher if it came by it, else
    /// directly.
    async fn again(&self, id: &str, attempt: u64) -> Result<(), Failure> {
        let path = format!("/messages/{}/deliveries/{}", encoded(id), self.endpoint.id);
        let path = self.api.in_app(&path).await?;
        match self.state_after(&path, attempt).await.as_deref() {
            Some("pending" | "waiting") => {
                self.api.post(&format!("{path}/retry"), String::new()).await.map(drop)
            }
            Some(_) => self.api.post(&format!("{path}/replay"), String::new()).await.map(drop),
            None => print(&send_once(self.api, self.server, id).await?, self.flags.api.format),
        }
    }

    /// The state of a delivery once this attempt of it is settled: a moment after its answer was shown here. Until then the
    /// dispatcher has it under way, and would not retry it. `None` if there is no such delivery.
    async fn state_after(&self, path: &str, attempt: u64) -> Option<String> {
        let mut state = None;
        for _ in 0..LOOKS {
            let delivery = self.api.get(path).await.ok()?;
            state = delivery["state"].as_str().map(str::to_owned);
            if delivery["attempts"].as_u64().unwrap_or(0) >= attempt {
                break;
            }
            sleep(LOOK).await;
        }
        state
    }
}

fn print(told: &ForwardedDelivery, format: WebhooksFormat) -> Result<(), Failure> {
    let printed = streams::piece(told.line(format).as_bytes());
    printed
        .map(drop)
        .map_err(|error| Failure::Unavailable(format!("cannot write to standard output: {error}")))
}

/// The lines of standard input. They end with it; the thread that reads them ends with the process.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (line, lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for read in io::stdin().lock().lines().map_while(Result::ok) {
            if line.send(read).is_err() {
                return;
            }
        }
    });
    lines
}

/// An endpoint for the time of this run.
struct TemporaryEndpoint {
    id: String,
    secret: String,
    path: String,
}

impl TemporaryEndpoint {
    async fn make(api: &Api, url: &str, events: &[String]) -> Result<Self, Failure> {
        let mut settings = json!({
            "url": url,
            "description": "stagger listen",
            "headers": { EVENT_TYPE: "{event.type}" },
        });
        if !events.is_empty() {
            settings["events"] = json!(events);
        }
        let path = api.in_app("/endpoints").await?;
        let made = api.post(&path, settings.to_string()).await.map_err(|failure| match failure {
            Failure::Refused(why) if why.contains("url") => Failure::Refused(format!(
                "{why}; stagger listen needs a dispatcher on this machine that may reach it: stagger serve --allow-private"
            )),
            other => other,
        })?;
        let member = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        let (id, secret) = (member("id"), member("secret"));
        let path = format!("{path}/{id}");
        Ok(Self { id, secret, path })
    }

    async fn remove(&self, api: &Api) -> Result<(), Failure> {
        let left = |why: String| {
            Failure::Unavailable(format!("the endpoint {} is left behind: {why}", self.id))
        };
        match timeout(CLEANUP, api.delete(&self.path)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) => Err(left(failure.to_string())),
            Err(_) => Err(left("the dispatcher did not answer within 10 s".to_owned())),
        }
    }
}

/// Sends a message to the server directly, signed with a new key.
async fn send_once(
    api: &Api,
    server: &LocalServer,
    id: &str,
) -> Result<ForwardedDelivery, Failure> {
    let path = api.in_app(&format!("/messages/{}", encoded(id))).await?;
    let message = api.get(&path).await?;
    let body = Bytes::from(api.bytes(&format!("{path}/payload")).await?);
    let failed = |error: &dyn ToString| Failure::Unavailable(error.to_string());
    let secret = generate_secret(SecretKind::Symmetric).map_err(|error| failed(&error))?;
    let text = secret_text(&secret);
    let signer = Signer::new(&[secret]).map_err(|error| failed(&error))?;
    let seconds = now().as_nanos() / 1_000_000_000;
    let headers = once_headers(&message, seconds, &signer.sign(id, seconds, &body));
    streams::note(&format!("signed with {text}"));
    let verifier = Verifier::parse([text.as_str()]).map_err(|error| failed(&error))?;
    let answer = server.send(&headers, body.clone()).await;
    Ok(ForwardedDelivery::new(&verifier, &headers, &body, answer))
}

fn once_headers(message: &Value, seconds: u64, signature: &str) -> HeaderMap {
    let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let all = [
        ("webhook-id", text("id")),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signature.to_owned()),
        ("content-type", text("content_type")),
        ("stagger-attempt", "1".to_owned()),
        (EVENT_TYPE, text("event_type")),
    ];
    let value =
        |(name, value): (&'static str, String)| Some((name, HeaderValue::try_from(value).ok()?));
    let mut headers = HeaderMap::new();
    for (name, value) in all.into_iter().filter_map(value) {
        headers.insert(name, value);
    }
    headers
}

/// The receiver of the dispatcher's requests, on a free port of this machine.
struct ForwardingServer {
    listener: TcpListener,
    url: String,
    server: LocalServer,
    told: mpsc::UnboundedSender<ForwardedDelivery>,
}

/// The state of its handler.
struct Forwarding {
    server: LocalServer,
    verifier: Verifier,
    told: mpsc::UnboundedSender<ForwardedDelivery>,
}

impl ForwardingServer {
    async fn bind(
        server: &LocalServer,
    ) -> Result<(Self, mpsc::UnboundedReceiver<ForwardedDelivery>), Failure> {
        let failed = |error| Failure::Unavailable(format!("no port on 127.0.0.1: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}/", listener.local_addr().map_err(failed)?);
        let (told, forwarded) = mpsc::unbounded_channel();
        Ok((Self { listener, url, server: server.clone(), told }, forwarded))
    }

    fn serve(self, secret: &str) -> Result<(), Failure> {
        let verifier = Verifier::parse([secret])
            .map_err(|error| Failure::Refused(format!("the dispatcher's secret: {error}")))?;
        let state = Arc::new(Forwarding { server: self.server, verifier, told: self.told });
        let routes = Router::new().route("/", post(forward)).with_state(state);
        // It ends with the process.
        tokio::spawn(async move { axum::serve(self.listener, routes).await });
        Ok(())
    }
}

/// Passes a delivery on, and the server's answer back, so that retries are those of the real endpoint.
async fn forward(
    State(forwarding): State<Arc<Forwarding>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = forwarding.server.send(&headers, body.clone()).await;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, answer.body.clone()).into_response();
    if let Some(hint) = &answer.retry_after {
        response.headers_mut().insert("retry-after", hint.clone());
    }
    let told = ForwardedDelivery::new(&forwarding.verifier, &headers, &body, answer);
    // Nothing reads it once the command ends.
    _ = forwarding.told.send(told);
    response
}

/// Ctrl-C and SIGTERM.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    fn new() -> Result<Self, Failure> {
        let handler = |kind| {
            signal(kind)
                .map_err(|error| Failure::Unavailable(format!("no signal handler: {error}")))
        };
        let (interrupt, terminate) =
            (handler(SignalKind::interrupt())?, handler(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate })
    }

    async fn came(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
