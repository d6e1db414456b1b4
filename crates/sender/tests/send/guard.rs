//! The egress guard over real sockets: refused addresses get no connection.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure};
use stagger_sender::{Resolve, SendOptions, Sender};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::endpoint::{endpoint, message, private};

/// Answers in order, and repeats the last one for ever.
#[derive(Debug)]
struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

impl Scripted {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().expect(text)).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(parse).collect())))
    }
}

#[async_trait]
impl Resolve for Scripted {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().expect("no test panics inside");
        let next = answers.pop_front().ok_or_else(|| io::Error::other("no such name"))?;
        if answers.is_empty() {
            answers.push_back(next.clone());
        }
        Ok(next)
    }
}

fn guarded(server: &TestServer) -> SendOptions {
    SendOptions { ports: vec![server.address().port()], ..SendOptions::default() }
}

async fn send(sender: &Sender, url: &str) -> AttemptAnswer {
    sender.send(&endpoint(url), &message(), Bytes::from_static(b"{}"), 1).await
}

#[tokio::test]
async fn no_notation_of_an_address_reaches_this_machine() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let sender = Sender::new(guarded(&server)).expect("no certificates to read");
    let port = server.address().port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.０.０.１",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
    ];
    for host in hosts {
        let url = format!("http://{host}:{port}/");
        let answer = send(&sender, &url).await;
        assert_eq!(answer.result, Err(AttemptFailure::Egress), "{url}: {:?}", answer.detail);
        assert!(host == "localhost" || sender.check_url(&url).is_err(), "{url}");
    }
    assert_eq!(server.connections(), 0);
}

/// OneUptime/oneuptime #2578 and others: a name with a good answer and a bad one.
#[tokio::test]
async fn one_bad_answer_among_good_ones_refuses_the_name() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let url = format!("http://hook.example:{}/", server.address().port());
    let mixed: [&[&str]; 7] = [
        &["93.184.215.14", "::1"],
        &["127.0.0.1", "93.184.215.14"],
        &["93.184.215.14", "::ffff:127.0.0.1"],
        &["::ffff:a9fe:a9fe"],
        &["93.184.215.14", "169.254.169.254"],
        &["93.184.215.14", "fe80::1"],
        &["10.0.0.1"],
    ];
    for answers in mixed {
        let sender = Sender::with_resolver(guarded(&server), Scripted::of(&[answers]));
        let answer = send(&sender.expect("no certificates"), &url).await;
        assert_eq!(answer.result, Err(AttemptFailure::Egress), "{answers:?}");
        assert!(answer.detail.is_some_and(|text| text.contains("not globally routable")));
    }
    assert_eq!(server.connections(), 0);
}

/// A name that answers well when it is checked, and otherwise when it is dialled.
#[tokio::test]
async fn a_name_that_changes_its_answer_is_not_asked_twice() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let url = format!("http://hook.example:{}/", server.address().port());
    // With private addresses allowed, so that the good answer is one that can be reached here.
    let answers = Scripted::of(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let sender = Sender::with_resolver(private(), answers).expect("no certificates to read");
    assert_eq!(send(&sender, &url).await.result, Ok(200));
    // The connection waits: its address was judged. A new one has to ask again, and is refused.
    assert_eq!(send(&sender, &url).await.result, Ok(200));
    let other = url.replace("hook", "other");
    assert_eq!(send(&sender, &other).await.result, Err(AttemptFailure::Egress));
    assert_eq!(server.connections(), 1);
}

/// synapticcybersecurity/hekate #56: the guard saw only the first hop.
#[tokio::test]
async fn a_redirect_is_a_failure_and_leads_nowhere() {
    let inside = TestServer::start(Script::always(Reaction::ok("keys"))).await;
    let statuses = [301, 302, 303, 307, 308];
    let reaction = |status| Reaction::status(status).header("location", &inside.url("/latest"));
    let outside = TestServer::start(Script::of(statuses.map(reaction))).await;
    let sender = Sender::new(private()).expect("no certificates to read");
    for status in statuses {
        let answer = send(&sender, &outside.url("/")).await;
        assert_eq!(answer.result, Ok(status));
        assert!(answer.detail.is_some_and(|text| text.contains(&inside.url("/latest"))));
    }
    assert_eq!((outside.seen().len(), inside.connections()), (5, 0));
}

#[tokio::test]
async fn metadata_is_refused_on_a_private_network_too() {
    let sender = Sender::new(private()).expect("no certificates to read");
    let urls = ["http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://[::ffff:a9fe:a9fe]/"];
    let urls = urls.into_iter().chain(["http://168.63.129.16/"]);
    for url in urls {
        assert!(sender.check_url(url).is_err(), "{url}");
        assert_eq!(send(&sender, url).await.result, Err(AttemptFailure::Egress), "{url}");
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_no_refusal() {
    let sender = Sender::with_resolver(private(), Scripted::of(&[&[]])).expect("no certificates");
    assert_eq!(send(&sender, "http://hook.example/").await.result, Err(AttemptFailure::Resolve));
    let sender = Sender::with_resolver(private(), Scripted::of(&[])).expect("no certificates");
    assert_eq!(send(&sender, "http://hook.example/").await.result, Err(AttemptFailure::Resolve));
}

#[tokio::test]
async fn the_second_address_is_dialled_when_the_first_is_dead() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let url = format!("http://hook.example:{}/", server.address().port());
    // No server listens on the loopback of IPv6.
    let sender = Sender::with_resolver(private(), Scripted::of(&[&["::1", "127.0.0.1"]]));
    assert_eq!(send(&sender.expect("no certificates"), &url).await.result, Ok(200));
}
