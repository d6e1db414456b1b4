//! Addresses that no attempt may reach, whoever names them.

use stagger_scheduler::model::{AttemptFailure, EndpointDestination, NatsDestination};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::destination::{endpoint, send};
use crate::shared::sender;

#[tokio::test]
async fn addresses_of_this_machine_and_of_clouds_are_refused_when_saved_and_when_dialled() {
    for (host, allow_private) in [
        ("127.0.0.1", false),
        ("[::1]", false),
        ("0x7f.1", false),
        ("2130706433", false),
        ("169.254.169.254", true),
        ("[::ffff:169.254.169.254]", true),
    ] {
        let (sender, to) =
            (sender(allow_private), endpoint(&format!("nats://{host}:4222"), "a", |_| {}));
        let refused = sender.check(&to).expect_err(host).to_string();
        assert!(
            refused.starts_with("endpoint.url = ") && refused.contains("globally routable"),
            "{refused}"
        );
        let answer = send(&sender, &to, "x").await;
        assert_eq!(
            (answer.result, answer.written),
            (Err(AttemptFailure::Egress), false),
            "{host}: {answer:?}"
        );
    }
    let named = send(&sender(false), &endpoint("nats://localhost:4222", "a", |_| {}), "x").await;
    assert_eq!(named.result, Err(AttemptFailure::Egress), "{named:?}");
}

#[tokio::test]
async fn only_the_usual_port_and_those_of_the_web_are_open() {
    let sender = sender(false);
    for (url, is_open) in [
        ("nats://nats.example", true),
        ("tls://nats.example:443", true),
        ("nats://nats.example:6379", false),
        ("http://nats.example", false),
        ("nats://me:secret@nats.example", false),
        ("nats://nats.example/path", false),
    ] {
        let checked = sender.check(&endpoint(url, "a", |_| {}));
        assert_eq!(checked.is_ok(), is_open, "{url}: {checked:?}");
        assert!(!format!("{checked:?}").contains("secret"));
    }
}

#[tokio::test]
async fn a_subject_that_commands_the_server_cannot_be_saved() {
    for subject in ["$JS.API.STREAM.DELETE.A", "a b", "a.*", ""] {
        let flaw = sender(true)
            .check(&endpoint("nats://nats.example", subject, |_| {}))
            .expect_err(subject);
        assert!(flaw.to_string().starts_with("destination.subject = "), "{flaw}");
    }
    let to = endpoint("nats://nats.example", "a", |it| {
        let (subject, stream) = ("a".to_owned(), Some("a.b".to_owned()));
        it.destination =
            Some(EndpointDestination::Nats(NatsDestination { subject, jetstream: true, stream }));
    });
    assert!(sender(true).check(&to).is_err());
}

/// A server that sends its clients elsewhere: the list is not read, and nobody connects there.
#[tokio::test]
async fn a_server_that_is_advertised_was_dialled() {
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    elsewhere.set_nonblocking(true).expect("a socket can be");
    let advertised = elsewhere.local_addr().expect("it is bound");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("nats://{}", listener.local_addr().expect("it is bound"));
    let info = format!(
        "INFO {{\"headers\":true,\"max_payload\":1000,\"connect_urls\":[\"{advertised}\"],\"ldm\":true}}\r\n"
    );
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.expect("a client");
            stream.write_all(info.as_bytes()).await.expect("it reads");
            let mut byte = [0; 1];
            _ = stream.read(&mut byte).await;
        }
    });
    let (sender, to) = (sender(true), endpoint(&url, "a", |_| {}));
    for _ in 0..2 {
        let answer = send(&sender, &to, "x").await;
        assert_eq!(answer.result, Err(AttemptFailure::Transport), "{answer:?}");
    }
    server.await.expect("both attempts came to it");
    let error = elsewhere.accept().expect_err("nobody may come");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}
