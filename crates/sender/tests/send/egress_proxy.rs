//! The egress proxy: real tunnels to checked addresses, and proxies that refuse, break off and hang.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Span;
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, ClientAuthStyle, Endpoint, EndpointAuth, OAuth2Client,
    SecretText,
};
use stagger_sender::{Resolve, SendOptions, Sender};
use stagger_testkit::server::{Identity, Reaction, RefusingPort, Script, TestServer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::authority::{Authority, acceptor, read_head};
use crate::endpoint::{endpoint, message, private};

/// The behaviour of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Relay,
    /// CONNECT, with this status.
    Answer(u16),
    Reset,
    Hang,
    /// A head without an end.
    Endless,
    Socks,
    /// SOCKS, where the target refuses connections.
    SocksRefused,
    /// SOCKS, which breaks off when it knows the target.
    SocksReset,
}

/// A proxy that notes what it is asked for.
struct TunnelServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TunnelServer {
    async fn start(manner: Manner) -> Self {
        Self::secured(manner, None).await
    }

    async fn secured(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, tls) = (Arc::clone(&noted), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, manner, &noted).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => serve(stream, manner, &noted).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self { port, asked }
    }

    fn sender(&self, scheme: &str, options: SendOptions) -> Sender {
        let proxy = format!("{scheme}://127.0.0.1:{}", self.port);
        self.sender_by(&proxy, options)
    }

    fn sender_by(&self, proxy: &str, options: SendOptions) -> Sender {
        let proxy = Some(proxy.parse().expect("a proxy"));
        let options = SendOptions { proxy, ..options };
        Sender::with_resolver(options, Arc::new(Here)).expect("good options")
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    manner: Manner,
    noted: &Mutex<Vec<String>>,
) -> Option<()> {
    let note = |text: String| noted.lock().expect("no panic").push(text);
    let target = match manner {
        Manner::Socks | Manner::SocksRefused | Manner::SocksReset => {
            socks_request(&mut stream, note).await?
        }
        _ => {
            let head = read_head(&mut stream).await?;
            note(head.clone());
            head.split(' ').nth(1)?.to_owned()
        }
    };
    match manner {
        Manner::Relay | Manner::Socks => {}
        Manner::Answer(status) => {
            let reply = format!("HTTP/1.1 {status} No\r\ncontent-length: 2\r\n\r\nno");
            return stream.write_all(reply.as_bytes()).await.ok();
        }
        Manner::SocksRefused => {
            return stream.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok();
        }
        Manner::Reset | Manner::SocksReset => return None,
        Manner::Hang => std::future::pending().await,
        Manner::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await.ok()?;
            while stream.write_all(b"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").await.is_ok() {}
            return None;
        }
    }
    let port = target.rsplit(':').next()?;
    let mut inner = TcpStream::connect(format!("127.0.0.1:{port}")).await.ok()?;
    let done: &[u8] = match manner {
        Manner::Socks => &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        _ => b"HTTP/1.1 200 Connection established\r\n\r\n",
    };
    stream.write_all(done).await.ok()?;
    copy_bidirectional(&mut stream, &mut inner).await.ok().map(drop)
}

/// RFC 1928 and RFC 1929: the address that is asked for, after the name and the password if there are some.
async fn socks_request<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    note: impl Fn(String),
) -> Option<String> {
    let text = async |stream: &mut S| -> Option<String> {
        let mut bytes = vec![0; stream.read_u8().await.ok()?.into()];
        stream.read_exact(&mut bytes).await.ok()?;
        String::from_utf8(bytes).ok()
    };
    let (_version, _count, method) =
        (stream.read_u8().await.ok()?, stream.read_u8().await.ok()?, stream.read_u8().await.ok()?);
    stream.write_all(&[5, method]).await.ok()?;
    if method == 2 {
        stream.read_u8().await.ok()?;
        let (name, password) = (text(stream).await?, text(stream).await?);
        let is_right = password == "hunter2";
        note(format!("{name}:{password}"));
        stream.write_all(&[1, u8::from(!is_right)]).await.ok()?;
        if !is_right {
            return None;
        }
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.ok()?;
    let host = match head[3] {
        1 => IpAddr::from(stream.read_u32().await.ok()?.to_be_bytes()).to_string(),
        3 => text(stream).await?,
        _ => IpAddr::from(stream.read_u128().await.ok()?.to_be_bytes()).to_string(),
    };
    let asked = format!("{host}:{}", stream.read_u16().await.ok()?);
    note(asked.clone());
    Some(asked)
}

/// Every name is this machine, except those of a cloud's metadata.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Resolve for Here {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let address = if name.starts_with("metadata") { "169.254.169.254" } else { "127.0.0.1" };
        Ok(vec![address.parse().expect("an address")])
    }
}

async fn send(sender: &Sender, endpoint: &Endpoint) -> AttemptAnswer {
    sender.send(endpoint, &message(), Bytes::from_static(b"{}"), 1).await
}

fn named(server: &TestServer, scheme: &str) -> String {
    format!("{scheme}://hook.example:{}/", server.address().port())
}

#[tokio::test]
async fn the_proxy_is_asked_for_the_checked_address_and_the_receiver_for_its_name() {
    let server = TestServer::start(Script::always(Reaction::ok("thanks"))).await;
    let port = server.address().port();
    for (manner, scheme) in [(Manner::Relay, "http"), (Manner::Socks, "socks5")] {
        let proxy = TunnelServer::start(manner).await;
        let sender = proxy.sender(scheme, private());
        let before = server.seen().len();
        for _ in 0..2 {
            let answer = send(&sender, &endpoint(&named(&server, "http"))).await;
            assert_eq!((answer.result, &answer.reply[..]), (Ok(200), &b"thanks"[..]), "{answer:?}");
        }
        // One tunnel for both: connections wait for the next attempt as they do without a proxy.
        let asked = proxy.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(asked[0].contains(&format!("127.0.0.1:{port}")), "{asked:?}");
        assert!(!asked[0].contains("hook.example"), "the address was checked, and not the name");
        let host = &server.seen()[before].headers["host"];
        assert_eq!(host, &format!("hook.example:{port}"));
    }
}

#[tokio::test]
async fn a_proxy_with_remote_names_gets_the_name_once_its_addresses_are_checked() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let proxy = TunnelServer::start(Manner::Socks).await;
    let sender = proxy.sender("socks5h", private());
    assert_eq!(send(&sender, &endpoint(&named(&server, "http"))).await.result, Ok(200));
    assert_eq!(proxy.asked(), [format!("hook.example:{}", server.address().port())]);
    assert_eq!(send(&sender, &endpoint(&server.url("/"))).await.result, Ok(200));
    assert_eq!(proxy.asked()[1], server.address().to_string());
    let inside = send(&sender, &endpoint("http://metadata.example/")).await;
    assert_eq!((inside.result, proxy.asked().len()), (Err(AttemptFailure::Egress), 2));
}

/// A proxy inside a network reaches what the dispatcher must not.
#[tokio::test]
async fn the_guard_holds_and_the_proxy_is_not_even_asked() {
    let proxy = TunnelServer::start(Manner::Relay).await;
    for scheme in ["http", "socks5", "socks5h"] {
        let sender = proxy.sender(scheme, SendOptions::default());
        for url in ["http://hook.example/", "http://127.0.0.1/", "http://metadata.example/"] {
            let answer = send(&sender, &endpoint(url)).await;
            assert_eq!(answer.result, Err(AttemptFailure::Egress), "{url}");
        }
    }
    assert_eq!(proxy.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn tls_to_the_receiver_goes_through_the_tunnel_and_checks_the_name() {
    let identity = Identity::valid();
    let server = TestServer::start_tls(Script::always(Reaction::ok("")), &identity).await;
    let roots = identity.authority_pem().into_bytes();
    let proxy = TunnelServer::start(Manner::Relay).await;
    let sender = proxy.sender("http", SendOptions { roots, ..private() });
    assert_eq!(send(&sender, &endpoint(&server.url("/"))).await.result, Ok(200));
    // The certificate is for 127.0.0.1, which is where this name leads.
    let answer = send(&sender, &endpoint(&named(&server, "https"))).await;
    assert_eq!(answer.result, Err(AttemptFailure::Tls), "{:?}", answer.detail);
    assert_eq!(proxy.asked().len(), 2);
}

#[tokio::test]
async fn a_proxy_under_tls_must_have_a_certificate_for_its_name() {
    let authority = Authority::new();
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let tls = acceptor(&authority.certify("127.0.0.1"), None);
    let proxy = TunnelServer::secured(Manner::Relay, Some(tls)).await;
    let roots = authority.pem.clone().into_bytes();
    let trusting = proxy.sender("https", SendOptions { roots, ..private() });
    assert_eq!(send(&trusting, &endpoint(&server.url("/"))).await.result, Ok(200));
    let doubting = proxy.sender("https", private());
    let answer = send(&doubting, &endpoint(&server.url("/"))).await;
    assert_eq!(answer.result, Err(AttemptFailure::Transport));
    assert!(
        answer.detail.is_some_and(|it| it.contains("the egress proxy fails the TLS handshake"))
    );
}

#[tokio::test]
async fn credentials_are_for_the_proxy_alone_and_shown_nowhere() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let http = TunnelServer::start(Manner::Relay).await;
    let sender = http.sender_by(&format!("http://me:hunter2@127.0.0.1:{}", http.port), private());
    assert!(!format!("{sender:?}").contains("hunter2"));
    assert_eq!(send(&sender, &endpoint(&server.url("/"))).await.result, Ok(200));
    let asked = http.asked().remove(0).to_ascii_lowercase();
    assert!(asked.contains("proxy-authorization: basic bwu6ahvudgvymg=="), "{asked}");
    assert!(!server.seen()[0].headers.contains_key("proxy-authorization"));

    let socks = TunnelServer::start(Manner::Socks).await;
    for (password, result) in [("hunter2", Ok(200)), ("wrong", Err(AttemptFailure::Transport))] {
        let proxy = format!("socks5://me:{password}@127.0.0.1:{}", socks.port);
        let answer = send(&socks.sender_by(&proxy, private()), &endpoint(&server.url("/"))).await;
        assert_eq!(answer.result, result);
        assert!(!answer.detail.unwrap_or_default().contains(password));
    }
    assert!(socks.asked().contains(&"me:wrong".to_owned()));
}

#[tokio::test]
async fn a_proxy_that_fails_is_named_as_the_reason_and_charged_as_transport() {
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    for (manner, scheme, told) in [
        (Manner::Answer(407), "http", "answers 407: its credentials are missing or wrong"),
        (Manner::Answer(502), "http", "answers 502 to CONNECT"),
        (Manner::Answer(403), "http", "answers 403 to CONNECT"),
        (Manner::Reset, "http", "breaks off"),
        (Manner::Endless, "http", "breaks off"),
        (Manner::Hang, "http", "no tunnel of the egress proxy within"),
        (Manner::SocksRefused, "socks5", "refuses"),
        (Manner::Hang, "socks5", "no tunnel of the egress proxy within"),
        (Manner::SocksReset, "socks5", "refuses"),
    ] {
        let proxy = TunnelServer::start(manner).await;
        let timeout =
            if manner == Manner::Hang { Span::from_millis(50) } else { Span::from_secs(10) };
        let endpoint = Endpoint { timeout, ..endpoint(&server.url("/")) };
        let answer = send(&proxy.sender(scheme, private()), &endpoint).await;
        assert_eq!(
            answer.result,
            Err(AttemptFailure::Transport),
            "{manner:?}: {:?}",
            answer.detail
        );
        assert!(!answer.written, "nothing of the request was sent");
        let detail = answer.detail.expect("a reason");
        assert!(detail.contains(told) && detail.contains("egress proxy"), "{manner:?}: {detail}");
        assert!(
            !detail.contains(&proxy.port.to_string()),
            "tenants do not learn where it is: {detail}"
        );
    }
    let refusing = RefusingPort::hold().expect("a port");
    let proxy = Some(format!("http://{}", refusing.address()).parse().expect("a proxy"));
    let sender = Sender::new(SendOptions { proxy, ..private() }).expect("good options");
    let answer = send(&sender, &endpoint(&server.url("/"))).await;
    assert_eq!(answer.result, Err(AttemptFailure::Transport));
    assert_eq!(answer.detail.as_deref(), Some("the egress proxy cannot be connected to"));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn tokens_are_fetched_through_the_proxy_too() {
    let body = r#"{"access_token":"one","token_type":"Bearer"}"#;
    let tokens = TestServer::start(Script::always(Reaction::ok(body))).await;
    let server = TestServer::start(Script::always(Reaction::ok(""))).await;
    let client = OAuth2Client {
        token_url: tokens.url("/"),
        client_id: "me".into(),
        client_secret: SecretText::new("hunter2"),
        scope: None,
        audience: None,
        style: ClientAuthStyle::Header,
    };
    let endpoint =
        Endpoint { auth: Some(EndpointAuth::OAuth2(client)), ..endpoint(&server.url("/")) };
    let proxy = TunnelServer::start(Manner::Relay).await;
    assert_eq!(send(&proxy.sender("http", private()), &endpoint).await.result, Ok(200));
    let asked = proxy.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].contains(&tokens.address().to_string()), "{asked:?}");
    let broken = TunnelServer::start(Manner::Answer(502)).await;
    let answer = send(&broken.sender("http", private()), &endpoint).await;
    assert_eq!(answer.result, Err(AttemptFailure::Token));
    assert!(answer.detail.is_some_and(|it| it.contains("the egress proxy answers 502")));
}
