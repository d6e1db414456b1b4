//! A connection to a NATS server, which one attempt or one source owns: no task runs beside it.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use bytes::BytesMut;
use serde_json::json;
use stagger_scheduler::model::{ApplicationId, AttemptFailure};
use stagger_sender::{BrokerAddress, BrokerStream, GuardedNetwork, SendFailure, os_fill};
use tokio::io::{AsyncRead, ReadBuf};

use super::credentials::NatsCredentials;
use super::wire::{NatsMessage, ServerInfo, ServerOp, take};
use crate::refusal::BrokerRefusal;
use crate::stream::{read_more, write_whole};

/// The schemes of a server's address, each with whether it asks for TLS.
pub(super) const SCHEMES: &[(&str, bool)] = &[("nats", false), ("tls", true)];
/// The usual port of a server.
pub(super) const PORTS: &[u16] = &[4222];

/// The id of the one subscription of a connection.
const SUBSCRIPTION: &str = "1";

/// A connection that the server has authenticated.
pub(super) struct NatsConnection {
    stream: BrokerStream,
    buffer: BytesMut,
    info: ServerInfo,
    /// The subject below which replies come, and the number of the last one.
    inbox: String,
    asked: u64,
}

impl NatsConnection {
    /// Connects, shakes hands where the address asks for TLS, authenticates, and subscribes to replies.
    ///
    /// # Errors
    /// No connection; the server refuses the credentials; it is no NATS server.
    pub(super) async fn open(
        network: &GuardedNetwork,
        (to, of): (&BrokerAddress, ApplicationId),
        credentials: &NatsCredentials,
    ) -> Result<Self, BrokerRefusal> {
        let stream = network.connect_broker(to, of).await?;
        let (buffer, info, inbox) = (BytesMut::new(), ServerInfo::default(), inbox()?);
        let mut connection = Self { stream, buffer, info, inbox, asked: 0 };
        let ServerOp::Info(info) = connection.next_op().await? else {
            return Err(not_nats().into());
        };
        if info.tls_required && !to.is_tls() {
            return Err(BrokerRefusal::new(
                400,
                "the server asks for TLS: its url begins with tls://",
            ));
        }
        if !connection.buffer.is_empty() {
            return Err(not_nats().into());
        }
        connection.stream = network.secure_broker(to, connection.stream).await?;
        let options = credentials.connect_options(&info)?;
        connection.info = info;
        let text =
            format!("CONNECT {options}\r\nSUB {}.* {SUBSCRIPTION}\r\nPING\r\n", connection.inbox);
        connection.write(text.as_bytes()).await?;
        connection.until_pong().await?;
        Ok(connection)
    }

    /// The server about itself.
    pub(super) const fn info(&self) -> &ServerInfo {
        &self.info
    }

    /// Whether it can be used on: the other side has not closed it while it was idle.
    pub(super) async fn is_usable(&mut self) -> bool {
        loop {
            let (stream, buffer) = (&mut self.stream, &mut self.buffer);
            let read = poll_fn(|context| {
                let mut bytes = [0; 1024];
                let mut filled = ReadBuf::new(&mut bytes);
                Poll::Ready(match Pin::new(&mut *stream).poll_read(context, &mut filled) {
                    Poll::Pending => None,
                    Poll::Ready(Ok(())) => {
                        buffer.extend_from_slice(filled.filled());
                        Some(filled.filled().len())
                    }
                    Poll::Ready(Err(_)) => Some(0),
                })
            });
            match read.await {
                None => return true,
                Some(0) => return false,
                Some(_) => {}
            }
        }
    }

    /// A new subject for the reply to one request.
    pub(super) fn reply_subject(&mut self) -> String {
        self.asked += 1;
        format!("{}.{}", self.inbox, self.asked)
    }

    /// Publishes; `headers` are written if there are any.
    ///
    /// # Errors
    /// The connection fails.
    pub(super) async fn publish(
        &mut self,
        (subject, reply): (&str, Option<&str>),
        headers: &[(String, String)],
        payload: &[u8],
    ) -> Result<(), SendFailure> {
        let mut text = String::new();
        let reply = reply.map(|reply| format!(" {reply}")).unwrap_or_default();
        if headers.is_empty() {
            _ = write!(text, "PUB {subject}{reply} {}\r\n", payload.len());
        } else {
            let head = head(headers);
            let total = head.len() + payload.len();
            _ = write!(text, "HPUB {subject}{reply} {} {total}\r\n{head}", head.len());
        }
        let whole = [text.as_bytes(), payload, b"\r\n"].concat();
        self.write(&whole).await
    }

    /// Sends a request of the JetStream API, and waits for its reply.
    ///
    /// # Errors
    /// The connection fails.
    pub(super) async fn request(
        &mut self,
        subject: &str,
        body: &str,
    ) -> Result<NatsMessage, BrokerRefusal> {
        let reply = self.reply_subject();
        self.publish((subject, Some(&reply)), &[], body.as_bytes()).await?;
        self.reply_to(&reply).await
    }

    /// The reply on this subject; others are dropped, because nobody waits for them any more.
    ///
    /// # Errors
    /// The connection fails; the server reports an error.
    pub(super) async fn reply_to(&mut self, subject: &str) -> Result<NatsMessage, BrokerRefusal> {
        loop {
            let message = self.next_message().await?;
            if message.subject == subject {
                return Ok(message);
            }
        }
    }

    /// The next message of any subject.
    ///
    /// # Errors
    /// The connection fails; the server reports an error.
    pub(super) async fn next_message(&mut self) -> Result<NatsMessage, BrokerRefusal> {
        loop {
            if let ServerOp::Message(message) = self.next_alive().await? {
                return Ok(message);
            }
        }
    }

    /// Waits until the server has read all that was written.
    ///
    /// # Errors
    /// The connection fails; the server reports an error.
    pub(super) async fn flush(&mut self) -> Result<(), BrokerRefusal> {
        self.write(b"PING\r\n").await?;
        self.until_pong().await
    }

    async fn until_pong(&mut self) -> Result<(), BrokerRefusal> {
        while self.next_alive().await? != ServerOp::Pong {}
        Ok(())
    }

    /// The next operation; a ping is answered, an error is one.
    async fn next_alive(&mut self) -> Result<ServerOp, BrokerRefusal> {
        match self.next_op().await? {
            ServerOp::Ping => self.write(b"PONG\r\n").await?,
            ServerOp::Error(why) => return Err(BrokerRefusal::new(status_of(&why), why)),
            op => return Ok(op),
        }
        Ok(ServerOp::Ok)
    }

    async fn next_op(&mut self) -> Result<ServerOp, SendFailure> {
        loop {
            if let Some(op) = take(&mut self.buffer).map_err(|_| not_nats())? {
                return Ok(op);
            }
            read_more(&mut self.stream, &mut self.buffer, "server").await?;
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SendFailure> {
        write_whole(&mut self.stream, bytes).await
    }
}

impl std::fmt::Debug for NatsConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsConnection")
            .field("info", &self.info.max_payload)
            .finish_non_exhaustive()
    }
}

/// The bytes of headers, with the line before and the empty line after them.
pub(super) fn head(headers: &[(String, String)]) -> String {
    let mut head = String::from("NATS/1.0\r\n");
    for (name, value) in headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    head
}

/// The status that an error of the server would have in HTTP.
fn status_of(error: &str) -> u16 {
    let error = error.to_ascii_lowercase();
    if error.contains("permissions violation") {
        403
    } else if error.contains("auth") {
        401
    } else if error.contains("maximum payload") {
        413
    } else if error.contains("maximum connections") || error.contains("slow consumer") {
        503
    } else {
        400
    }
}

fn not_nats() -> SendFailure {
    SendFailure::new(AttemptFailure::Transport, "the other side is no NATS server")
}

/// A subject that no other connection has.
fn inbox() -> Result<String, SendFailure> {
    let mut bytes = [0; 16];
    os_fill(&mut bytes).map_err(|_| SendFailure::new(AttemptFailure::Local, "no randomness"))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("_INBOX.{digits}"))
}

impl NatsCredentials {
    /// The options of `CONNECT`.
    fn connect_options(&self, info: &ServerInfo) -> Result<String, BrokerRefusal> {
        let mut options = json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "name": "stagger", "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "protocol": 1,
        });
        let nonce = || {
            let asked = info.nonce.as_deref();
            asked.ok_or_else(|| BrokerRefusal::new(401, "the server does not ask for a key"))
        };
        let given = match self {
            Self::None => json!({}),
            Self::Password { username, password } => {
                json!({ "user": username, "pass": password.reveal() })
            }
            Self::Token(token) => json!({ "auth_token": token.reveal() }),
            Self::Key { key, jwt: None } => {
                json!({ "nkey": key.public(), "sig": key.sign(nonce()?) })
            }
            Self::Key { key, jwt: Some(jwt) } => {
                json!({ "jwt": jwt.reveal(), "sig": key.sign(nonce()?) })
            }
        };
        if let (Some(options), Some(given)) = (options.as_object_mut(), given.as_object()) {
            options.extend(given.clone());
        }
        Ok(options.to_string())
    }
}
