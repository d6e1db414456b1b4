//! Servers that do what no server should: every run ends, within its bounds, with figures.

use std::sync::atomic::Ordering;

use stagger_core::Span;
use stagger_load::{LoadBounds, LoadMeasurement, LoadRow, RunEnd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{BOUNDS, block_on, herd, run, served_by, soon};

/// Two callers with two attempts each, every one given up after this time.
fn with_timeout(timeout: Span) -> LoadRow {
    let mut row = herd(2, soon(2));
    row.plan.callers[0] = row.plan.callers[0].clone().with_timeout(timeout);
    row
}

/// Callers of a server whose answer never ends: nothing is lost by giving up soon.
fn hasty() -> LoadRow {
    with_timeout(Span::from_millis(150))
}

/// Callers of a server that answers at once, however busy the machine is.
fn patient() -> LoadRow {
    with_timeout(Span::from_secs(4))
}

/// Reads a request, and sends these bytes over and over until the caller leaves.
async fn endlessly(mut stream: TcpStream, head: &'static [u8], more: &'static [u8]) {
    let mut bytes = [0; 4_096];
    let asked = stream.read(&mut bytes).await.is_ok_and(|read| read > 0);
    if !asked || stream.write_all(head).await.is_err() {
        return;
    }
    while !more.is_empty() && stream.write_all(more).await.is_ok() {}
    // An open end: nothing more comes, and the connection stays.
    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

fn played(row: &LoadRow, head: &'static [u8], more: &'static [u8]) -> LoadMeasurement {
    block_on(async {
        let (url, _) = served_by(move |stream| endlessly(stream, head, more)).await;
        run(row, &url, BOUNDS).await
    })
}

#[test]
fn a_server_that_never_answers_held_the_run() {
    let measured = played(&hasty(), b"", b"");
    assert_eq!((measured.end, measured.played.attempts.total), (RunEnd::Complete, 4));
    assert_eq!((measured.answers.unanswered, measured.played.succeeded), (4, 0));
}

#[test]
fn half_an_answer_was_a_success() {
    for head in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"[..],
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let measured = played(&hasty(), head, b"");
        assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 0), "{head:?}");
        assert_eq!(measured.answers.unanswered, 4);
    }
}

#[test]
fn endless_headers_filled_the_memory() {
    let head = b"HTTP/1.1 200 OK\r\n";
    let measured = played(&hasty(), head, b"x-more: and more and more and more and more\r\n");
    assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 0));
    assert_eq!(measured.answers.statuses.len(), 0);
    // One line that never ends.
    let measured = played(&hasty(), b"HTTP/1.1 200 OK\r\nx-long: ", b"aaaaaaaaaaaaaaaaaaaaaaaa");
    assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 0));
    // Answers before the answer.
    let measured = played(&hasty(), b"", b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 0));
}

#[test]
fn an_endless_body_was_read_to_its_end() {
    // Long enough for a megabyte on a busy machine.
    let row = with_timeout(Span::from_secs(8));
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = b"10\r\n0123456789abcdef\r\n10\r\n0123456789abcdef\r\n10\r\n0123456789abcdef\r\n";
    let measured = played(&row, head, chunk);
    assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 2), "{measured:?}");
    assert_eq!(measured.answers.statuses.get(&200), Some(&2));
}

#[test]
fn an_answer_that_is_no_http_was_an_answer() {
    for head in
        [&b"SSH-2.0-OpenSSH_9.9\r\n"[..], b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", b"200 OK\r\n\r\n"]
    {
        let measured = played(&patient(), head, b"");
        assert_eq!((measured.end, measured.played.succeeded), (RunEnd::Complete, 0));
        assert_eq!(measured.answers.statuses.len(), 0, "{measured:?}");
        assert!(measured.answers.errors >= 2, "{measured:?}");
    }
}

#[test]
fn a_server_that_closes_at_once_ended_the_run() {
    let measured = block_on(async {
        let (url, _) = served_by(|stream| async move { drop(stream) }).await;
        run(&patient(), &url, BOUNDS).await
    });
    assert_eq!((measured.end, measured.unfinished), (RunEnd::Complete, 0));
    assert_eq!((measured.answers.errors, measured.played.succeeded), (4, 0));
}

#[test]
fn a_port_without_a_server_ended_the_run() {
    let measured = block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        run(&patient(), &url, BOUNDS).await
    });
    assert_eq!((measured.answers.errors, measured.played.attempts.total), (4, 4));
}

#[test]
fn a_redirect_was_followed() {
    let (measured, elsewhere) = block_on(async {
        let (other, count) = served_by(|stream| endlessly(stream, b"", b"")).await;
        let answer =
            format!("HTTP/1.1 302 Found\r\nlocation: {other}\r\ncontent-length: 0\r\n\r\n");
        let answer: &'static [u8] = Box::leak(answer.into_boxed_str()).as_bytes();
        let (url, _) = served_by(move |stream| endlessly(stream, answer, b"")).await;
        let measured = run(&patient(), &url, BOUNDS).await;
        (measured, count.load(Ordering::Relaxed))
    });
    assert_eq!((measured.answers.redirects(), elsewhere), (2, 0));
}

#[test]
fn an_endless_retry_after_held_a_call() {
    let head = b"HTTP/1.1 503 Slow Down\r\nretry-after: 4000000000\r\ncontent-length: 0\r\n\r\n";
    let measured = played(&herd(3, soon(5)), head, b"");
    assert_eq!((measured.end, measured.played.attempts.total), (RunEnd::Complete, 3));
}

#[test]
fn a_storm_that_a_server_provokes_passed_the_bound() {
    let policy = soon(1_000);
    let head = b"HTTP/1.1 503 Down\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let measured = block_on(async {
        let (url, _) = served_by(move |stream| endlessly(stream, head, b"")).await;
        run(&herd(20, policy), &url, LoadBounds { rate: 100, ..BOUNDS }).await
    });
    assert_eq!((measured.end, measured.played.attempts.total), (RunEnd::RateBound, 100));
}
