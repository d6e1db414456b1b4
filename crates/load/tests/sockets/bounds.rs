//! The bounds of rate, connections and time while a run is under way, and its early end.

use std::sync::atomic::{AtomicUsize, Ordering};

use stagger_core::Span;
use stagger_load::{LoadBounds, LoadRun, LoadUrl, RunEnd};
use stagger_sim::Trouble;
use tokio::io::AsyncReadExt;

use crate::fixture::{BOUNDS, block_on, herd, run, run_both, served_by, soon, with_trouble};

/// Keeps a connection open, and never answers.
async fn silent(mut stream: tokio::net::TcpStream) {
    let mut bytes = [0; 1_024];
    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

#[test]
fn an_attempt_beyond_the_rate_was_sent() {
    let (sent, end) = block_on(async {
        let (url, connections) = served_by(silent).await;
        let row = herd(50, soon(1));
        let measured = run(&row, &url, LoadBounds { rate: 10, ..BOUNDS }).await;
        // One that was not accepted yet at the end is not counted.
        assert!(connections.load(Ordering::Relaxed) <= 10);
        (measured.played.attempts.total, measured.end)
    });
    assert_eq!((sent, end), (10, RunEnd::RateBound));
}

#[test]
fn a_connection_beyond_the_bound_was_opened() {
    let (count, end) = block_on(async {
        let (url, connections) = served_by(silent).await;
        let measured = run(&herd(9, soon(1)), &url, LoadBounds { connections: 4, ..BOUNDS }).await;
        (connections.load(Ordering::Relaxed), measured.end)
    });
    assert_eq!(end, RunEnd::ConnectionBound);
    assert!(count <= 4, "{count} connections");
}

#[test]
fn a_run_outlived_its_time() {
    let bounds = LoadBounds { time: Span::from_millis(1_500), ..BOUNDS };
    let measured = block_on(async {
        let (url, _) = served_by(silent).await;
        run(&herd(3, soon(1)), &url, bounds).await
    });
    assert_eq!((measured.end, measured.unfinished), (RunEnd::TimeBound, 3));
    assert_eq!((measured.played.calls, measured.answers.unanswered), (3, 3));
}

#[test]
fn an_interrupted_run_was_lost_or_went_on() {
    let measured = block_on(async {
        let (url, _) = served_by(silent).await;
        let destination = LoadUrl::parse(&url, None).unwrap().resolve().await.unwrap();
        let looks = AtomicUsize::new(0);
        // By the tenth look, 200 ms after the first, all calls have begun.
        let interrupted = || looks.fetch_add(1, Ordering::Relaxed) >= 10;
        LoadRun::new(&herd(2, soon(1)), 1, BOUNDS).play(&destination, interrupted).await
    });
    assert_eq!((measured.end, measured.unfinished), (RunEnd::Interrupted, 2));
    assert_eq!(measured.played.attempts.total, 2);
}

#[test]
fn connections_were_opened_for_each_attempt() {
    // One caller at a time: each of its attempts finds the connection of the one before.
    let row = with_trouble(herd(1, soon(20)), Trouble::Refuse);
    let bounds = LoadBounds { connections: 1, ..BOUNDS };
    let measured = block_on(async {
        let server =
            stagger_load::ScenarioServer::bind("127.0.0.1:0".parse().unwrap(), vec![row.clone()]);
        let server = server.await.unwrap();
        let url = format!("http://{}/", server.address());
        tokio::spawn(server.serve(std::future::pending()));
        run(&row, &url, bounds).await
    });
    assert_eq!((measured.end, measured.played.attempts.total), (RunEnd::Complete, 20));
}

#[test]
fn a_call_that_begins_late_was_on_time() {
    let (measured, _) = block_on(run_both(&herd(3, soon(1))));
    assert!(measured.latest_start < BOUNDS.time);
    assert_eq!(measured.answers.statuses.get(&200), Some(&3));
}
