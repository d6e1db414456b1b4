//! The scenario's server by itself, under requests that no caller of ours sends.

use stagger_load::{AttemptTag, LoadRow, ScenarioServer, ServerCounts, TAG_HEADER};
use stagger_sim::Trouble;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{BOUNDS, at, block_on, herd, run, soon, with_trouble};

/// Sends each text on a connection of its own, and returns the first lines of the answers.
fn answers(rows: Vec<LoadRow>, requests: &[String]) -> (Vec<String>, ServerCounts) {
    block_on(async {
        let server = ScenarioServer::bind("127.0.0.1:0".parse().unwrap(), rows).await.unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let served = tokio::spawn(server.serve(async {
            stopped.await.unwrap_or_default();
        }));
        let mut lines = Vec::new();
        for request in requests {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // A server that refuses in the middle closes the connection, which may be an error here.
            let _ = stream.write_all(request.as_bytes()).await;
            let mut text = Vec::new();
            let _ = stream.read_to_end(&mut text).await;
            let text = String::from_utf8_lossy(&text).into_owned();
            lines.push(text.lines().next().unwrap_or_default().to_owned());
        }
        drop(stop);
        (lines, served.await.unwrap())
    })
}

fn get(headers: &str) -> String {
    format!("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n")
}

fn tagged(run: u64, row: &str, call: u32) -> String {
    let tag = AttemptTag {
        run,
        row: row.to_owned(),
        seed: 1,
        call,
        attempt: 1,
        at: at(0),
        timeout: None,
    };
    get(&format!("{TAG_HEADER}: {}\r\n", tag.to_text()))
}

const OK: &str = "HTTP/1.1 200 OK";
const UNKNOWN: &str = "HTTP/1.1 404 Not Found";

#[test]
fn a_caller_without_a_tag_was_turned_away() {
    let broken = get(&format!("{TAG_HEADER}: run=1, row=\r\n"));
    let posted = "POST /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    let requests = [get(""), broken, posted.to_owned()];
    let (lines, counts) = answers(vec![herd(1, soon(1))], &requests);
    assert_eq!(lines, [OK; 3]);
    assert_eq!((counts.runs, counts.attempts), (1, 3));
}

#[test]
fn a_row_that_is_unknown_was_played_as_another() {
    let other =
        LoadRow { name: "down".to_owned(), ..with_trouble(herd(1, soon(1)), Trouble::Refuse) };
    let rows = vec![herd(1, soon(1)), other];
    let requests = [tagged(1, "herd", 0), tagged(2, "down", 0), tagged(3, "up", 0)];
    let (lines, counts) = answers(rows, &requests);
    assert_eq!(lines, [OK, "HTTP/1.1 503 Service Unavailable", UNKNOWN]);
    assert_eq!((counts.runs, counts.refused), (2, 1));
    // Where every row has the same server, its name does not matter.
    let (lines, _) = answers(vec![herd(1, soon(1))], &[tagged(1, "another", 0)]);
    assert_eq!(lines, [OK]);
}

#[test]
fn a_late_attempt_of_a_run_began_it_again() {
    let requests =
        [tagged(1, "herd", 0), tagged(2, "herd", 0), tagged(1, "herd", 1), tagged(2, "herd", 1)];
    let (lines, counts) = answers(vec![herd(1, soon(1))], &requests);
    assert_eq!(lines, [OK, OK, UNKNOWN, OK]);
    assert_eq!((counts.runs, counts.refused), (2, 1));
}

#[test]
fn a_run_that_is_older_than_the_machine_stopped_the_server() {
    let old = AttemptTag {
        run: 1,
        row: "herd".to_owned(),
        seed: u64::MAX,
        call: u32::MAX,
        attempt: u32::MAX,
        at: stagger_core::Instant::FAR,
        timeout: Some(stagger_core::Span::MAX),
    };
    let requests = [get(&format!("{TAG_HEADER}: {}\r\n", old.to_text())), tagged(2, "herd", 0)];
    let (lines, _) = answers(vec![herd(1, soon(1))], &requests);
    assert_eq!(lines, [OK, OK]);
}

#[test]
fn a_head_beyond_its_bound_was_read() {
    let long = get(&format!("x-long: {}\r\n", "a".repeat(64 * 1_024)));
    let many = get(&"x-one: 1\r\n".repeat(200));
    let (lines, counts) = answers(vec![herd(1, soon(1))], &[long, many, get("")]);
    assert!(lines[..2].iter().all(|line| line != OK), "{lines:?}");
    assert_eq!((lines[2].as_str(), counts.attempts), (OK, 1));
}

#[test]
fn a_server_that_other_machines_reach_was_started() {
    block_on(async {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let bound = ScenarioServer::bind(address.parse().unwrap(), vec![herd(1, soon(1))]);
            assert!(bound.await.unwrap_err().is_host(), "{address}");
        }
        let none = ScenarioServer::bind("127.0.0.1:0".parse().unwrap(), Vec::new());
        assert!(none.await.unwrap_err().is_scenario());
        let first = ScenarioServer::bind("127.0.0.1:0".parse().unwrap(), vec![herd(1, soon(1))]);
        let first = first.await.unwrap();
        let second = ScenarioServer::bind(first.address(), vec![herd(1, soon(1))]);
        assert!(second.await.unwrap_err().is_system());
    });
}

#[test]
fn a_name_or_an_address_of_this_machine_did_not_reach_the_server() {
    let row = herd(3, soon(1));
    block_on(async {
        for (address, host) in
            [("127.0.0.1:0", "localhost"), ("[::1]:0", "localhost"), ("[::1]:0", "[::1]")]
        {
            let bound = ScenarioServer::bind(address.parse().unwrap(), vec![row.clone()]).await;
            let server = match bound {
                Ok(server) => server,
                // A machine without IPv6.
                Err(refused) => {
                    assert!(refused.is_system() && address.starts_with('['), "{refused}");
                    continue;
                }
            };
            let url = format!("http://{host}:{}/", server.address().port());
            let named = host == "localhost" && !address.starts_with("127");
            if named && !resolves_to_ipv6().await {
                continue;
            }
            let serving = tokio::spawn(server.serve(std::future::pending()));
            let measured = run(&row, &url, BOUNDS).await;
            assert_eq!(measured.played.succeeded, 3, "{address} as {host}");
            serving.abort();
        }
    });
}

async fn resolves_to_ipv6() -> bool {
    let found = tokio::net::lookup_host(("localhost", 80)).await;
    found.is_ok_and(|mut found| found.any(|address| address.is_ipv6()))
}
