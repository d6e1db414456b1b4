//! The server with faults under TLS: who accepts which certificate, and who speaks what.
#![cfg(feature = "server")]

use std::io;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use stagger_testkit::server::{Identity, Reaction, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const LAST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

async fn dial(
    server: &TestServer,
    identity: &Identity,
    protocol: &[u8],
    name: &'static str,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from(identity.authority_der().to_vec());
    roots.add(authority).expect("the authority is a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let socket = TcpStream::connect(server.address()).await.expect("it listens");
    let name = ServerName::try_from(name).expect("a valid name");
    TlsConnector::from(Arc::new(config)).connect(name, socket).await
}

async fn serve(identity: &Identity) -> TestServer {
    TestServer::start_tls(Script::always(Reaction::ok("fine")), identity).await
}

#[tokio::test]
async fn a_valid_certificate_is_accepted_under_both_names() {
    let identity = Identity::valid();
    let server = serve(&identity).await;
    for name in ["127.0.0.1", "localhost"] {
        let mut socket = dial(&server, &identity, b"http/1.1", name).await.expect("it is valid");
        socket.write_all(LAST).await.expect("it reads");
        let mut reply = Vec::new();
        // The server leaves without the farewell of TLS.
        let end = socket.read_to_end(&mut reply).await.expect_err("no farewell");
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        assert!(reply.ends_with(b"\r\n\r\nfine"));
    }
    assert!(server.url("/").starts_with("https://"));
}

#[tokio::test]
async fn bad_certificates_are_refused_each_for_its_reason() {
    let bad = [
        (Identity::expired(), "expired"),
        (Identity::self_signed(), "UnknownIssuer"),
        (Identity::wrong_name(), "not valid for name"),
    ];
    for (identity, reason) in bad {
        let server = serve(&identity).await;
        let error = dial(&server, &identity, b"h2", "127.0.0.1").await.expect_err("not valid");
        assert!(error.to_string().contains(reason), "{error}");
        server.until_open(0).await;
        assert_eq!((server.connections(), server.taken()), (1, 0));
    }
}

#[tokio::test]
async fn http2_is_spoken_to_who_offers_it() {
    let identity = Identity::valid();
    let server = serve(&identity).await;
    let socket = dial(&server, &identity, b"h2", "localhost").await.expect("it is valid");
    let (send, connection) = h2::client::handshake(socket).await.expect("it speaks HTTP/2");
    let connection = tokio::spawn(connection);
    let request = http::Request::get("https://localhost/").body(()).expect("a valid address");
    let mut send = send.ready().await.expect("the connection is open");
    let (reply, _) = send.send_request(request, true).expect("the connection is open");
    assert_eq!(reply.await.expect("an answer").status(), 200);
    connection.abort();
}

#[tokio::test]
async fn http1_only_refuses_who_wants_nothing_else_than_http2() {
    let identity = Identity::valid().http1_only();
    let server = serve(&identity).await;
    dial(&server, &identity, b"h2", "localhost").await.expect_err("no protocol in common");
    dial(&server, &identity, b"http/1.1", "localhost").await.expect("one in common");
}

#[tokio::test]
async fn reset_unread_comes_before_the_handshake() {
    let identity = Identity::valid();
    let server = TestServer::start_tls(Script::of([Reaction::reset_unread()]), &identity).await;
    let error = dial(&server, &identity, b"h2", "localhost").await.expect_err("reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!((server.taken(), server.seen().len()), (1, 0));
}
