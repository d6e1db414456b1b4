//! The server behind the proxies: it answers by a script, and records every attempt with the number of its call.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The header with the number of a call, which proxies pass on.
pub(super) const CALL: &str = "x-call";

/// The body of every answer with 200, and its type.
const BODY: &[u8] = b"{\"ok\":true}\n";

/// The answers of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// 200.
    Healthy,
    /// 503 with this `Retry-After` in whole seconds until the time, then 200.
    Outage { until: Instant, hint: u64 },
    /// 503 without a hint.
    Down,
    /// 503 to the first attempt of each tenth call, else 200.
    TenthFailsOnce,
}

/// One attempt that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) call: u64,
    pub(super) at: Instant,
    /// Whether the answer was 503.
    pub(super) failed: bool,
}

/// A listening server; it stops when dropped.
#[derive(Debug)]
pub(super) struct ScriptedServer {
    pub(super) addr: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    script: Script,
    /// Attempts of a healthy server are not recorded: the measured load is large, and nothing is read from them.
    attempts: Vec<Attempt>,
}

impl ScriptedServer {
    /// Listens on a free port of loopback.
    pub(super) async fn start() -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let state = State { script: Script::Healthy, attempts: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Ok(Self { addr, state, listening })
    }

    /// Plays another script from now on, and forgets the attempts so far.
    pub(super) fn play(&self, script: Script) {
        *lock(&self.state) = State { script, attempts: Vec::new() };
    }

    /// The attempts since the script began.
    pub(super) fn attempts(&self) -> Vec<Attempt> {
        lock(&self.state).attempts.clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) {
    // Without it a small answer waits for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move {
            let call = request.headers().get(CALL).and_then(|it| it.to_str().ok()?.parse().ok());
            // A client that goes away ends its connection, and with it this service.
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(lock(&state).answer(call.unwrap_or(0)))
        }
    });
    // A connection that breaks is its client's choice.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl State {
    fn answer(&mut self, call: u64) -> Response<Full<Bytes>> {
        let now = Instant::now();
        let hint = match self.script {
            Script::Healthy => return Response::new(Full::new(Bytes::from_static(BODY))),
            Script::Outage { until, hint } => (now < until).then_some(Some(hint)),
            Script::Down => Some(None),
            Script::TenthFailsOnce => {
                let first = !self.attempts.iter().any(|attempt| attempt.call == call);
                (first && call.is_multiple_of(10)).then_some(None)
            }
        };
        self.attempts.push(Attempt { call, at: now, failed: hint.is_some() });
        let Some(hint) = hint else {
            return Response::new(Full::new(Bytes::from_static(BODY)));
        };
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        if let Some(seconds) = hint {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

/// The time since an instant, 0 if it is yet to come.
pub(super) fn since(at: Instant, earlier: Instant) -> Duration {
    at.saturating_duration_since(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_ends_at_its_time_and_each_attempt_is_recorded() {
        let until = Instant::now() + Duration::from_secs(1);
        let script = Script::Outage { until, hint: 2 };
        let mut state = State { script, attempts: Vec::new() };
        let answer = state.answer(1);
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()[RETRY_AFTER]),
            (503, &HeaderValue::from(2))
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(state.answer(1).status(), 200);
        let failed: Vec<bool> = state.attempts.iter().map(|attempt| attempt.failed).collect();
        assert_eq!(failed, [true, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenth_of_the_calls_fails_once() {
        let mut state = State { script: Script::TenthFailsOnce, attempts: Vec::new() };
        let statuses = [10, 10, 11].map(|call| state.answer(call).status().as_u16());
        assert_eq!(statuses, [503, 200, 200]);
    }
}
