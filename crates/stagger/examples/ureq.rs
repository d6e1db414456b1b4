//! Blocking calls with ureq, without a runtime.
//!
//! The server is busy, hangs up, and answers at last; then it is busy for longer than we care to
//! wait, and another thread ends the call in the middle of its wait. A blocking attempt cannot be
//! interrupted, so each is handed its time limit; the wait between attempts can.
//!
//! `cargo run -p stagger --example ureq`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use stagger::budget::WindowPlan;
use stagger::classify::{HttpReply, HttpRules};
use stagger::hint::HintReader;
use stagger::{
    CallReport, Cancel, Cause, Classify, Outcome, Pause, Policy, Retrier, Span, StdTime, Stop,
    Verdict,
};
use ureq::http::Response;
use ureq::{Agent, Body};

/// The server's replies to one request after the other; the last is for all that follow.
const SCRIPT: [&str; 4] = [
    "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "", // hangs up
    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n12 left",
    "HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
];

fn serve(listener: &TcpListener) -> io::Result<()> {
    for number in 0.. {
        let (mut client, _) = listener.accept()?;
        let _request = client.read(&mut [0; 4_096])?;
        client.write_all(SCRIPT[SCRIPT.len().min(number + 1) - 1].as_bytes())?;
    }
    Ok(())
}

/// Classifies a result of ureq: a reply by its status and headers, an error by its kind.
fn meaning(result: &Result<Response<Body>, ureq::Error>) -> Outcome {
    match result {
        Ok(response) => {
            let mut reply = HttpReply::new(response.status().as_u16());
            let lines = response.headers().iter();
            let lines: Vec<_> =
                lines.map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            reply.hint = HintReader::new().read(lines, Some(StdTime::wall().into()));
            HttpRules::default().classify(&reply)
        }
        Err(ureq::Error::Io(error)) => error.classify(),
        Err(ureq::Error::Timeout(_)) => Outcome::new(Verdict::Transient).with_cause(Cause::Timeout),
        Err(ureq::Error::ConnectionFailed) => {
            Outcome::new(Verdict::Unprocessed).with_cause(Cause::Transport)
        }
        Err(_) => Outcome::new(Verdict::Permanent).with_cause(Cause::Transport),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/stock/bolt", listener.local_addr()?);
    thread::spawn(move || serve(&listener));

    let policy = Policy::builder()
        .attempt_timeout(Span::from_secs(2))
        .deadline(Span::from_secs(60))
        // Two calls only: the second must not depend on what the first has left.
        .budget(WindowPlan::default().with_burst(10)?)
        .build()?;
    let retrier = Retrier::new(policy, StdTime);
    // A status is an answer, not an error: the retrier reads it, and its Retry-After.
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let get = |limit: Option<Span>| {
        let request = agent.get(&url).config().timeout_global(limit.map(Duration::from)).build();
        request.call()
    };

    let mut report = CallReport::default();
    let call = retrier.retry_blocking_with(|attempt, _| get(attempt.timeout));
    let mut answer = call.classify_result(meaning).report(&mut report).call()?;
    println!("{} after {} attempts", answer.body_mut().read_to_string()?, report.attempts());
    assert_eq!(report.attempts(), 3);
    assert!(report.elapsed() >= Span::from_secs(1), "the server asked for a second");

    let (cancel, mut report) = (Cancel::new(), CallReport::default());
    let elsewhere = cancel.clone();
    thread::spawn(move || {
        StdTime.pause(Span::from_millis(200), None);
        elsewhere.cancel();
    });
    let call = retrier.retry_blocking_with(|attempt, _| get(attempt.timeout));
    let answer = call.classify_result(meaning).report(&mut report).cancel(&cancel).call()?;
    println!("{} when cancelled after {}", answer.status(), report.elapsed());
    assert_eq!((report.stop(), report.attempts()), (Some(Stop::Cancelled), 1));
    assert!(report.elapsed() < Span::from_secs(10), "it did not wait for the 30 s");
    Ok(())
}
