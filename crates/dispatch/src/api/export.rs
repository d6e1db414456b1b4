//! The export of an application's messages, with all that belongs to them, as lines of JSON.
//!
//! Nothing is held but one page of messages without payloads, one payload or the attempts of one delivery, and the lines
//! that the client has not read yet.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use stagger_scheduler::model::{ApplicationId, Message};
use stagger_store::{Cursor, MessageFilter, PageRequest};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::auth::Tenant;
use super::openapi;
use super::problem::Problem;
use super::query::{ExportQuery, ValidQuery, cursor_text};
use super::state::Api;
use super::wire::{AttemptView, DeliveryView, MessageView};
use crate::Error;
use crate::edge::ChannelBody;
use crate::node::Node;

/// Messages from one checkpoint to the next.
const PAGE: usize = 50;
/// The size of a chunk of lines, in bytes.
const CHUNK: usize = 64 << 10;
/// Lines of JSON.
const NDJSON: &str = "application/x-ndjson";

/// A line of an export.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ExportLine {
    /// A message. The lines of its deliveries follow.
    Message {
        message: MessageView,
        /// Its bytes, as `payload_encoding` says; nothing if the payload was deleted.
        payload: Option<String>,
        payload_encoding: Option<PayloadEncoding>,
    },
    /// A delivery of the message above, with its attempts.
    Delivery { delivery: DeliveryView, attempts: Vec<AttemptView> },
    /// All messages up to here are complete: an export that is interrupted later continues with this `cursor`.
    Checkpoint { cursor: String },
    /// There are no more messages.
    End,
}

/// The form of a payload in JSON.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PayloadEncoding {
    /// The text itself.
    Utf8,
    /// Base64 (RFC 4648 section 4) of bytes that are no UTF-8.
    Base64,
}

/// The messages of an application with payloads, deliveries and attempts, the newest first, as lines of JSON.
///
/// After every 50 messages a line has the cursor with which an interrupted export continues. Messages that are accepted
/// after the beginning are not in it; those that are pruned or deleted meanwhile may be missing. Secrets are in no line.
#[utoipa::path(
    get, path = "/v1/applications/{app}/export", tag = "messages",
    params(openapi::ApplicationPath, ExportQuery),
    responses(
        (status = 200, description = "A line for each thing.", body = ExportLine, content_type = "application/x-ndjson"),
        (status = 429, description = "An export of the application is running already.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn export_messages(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<ExportQuery>,
) -> Result<Response, Problem> {
    let (filter, after, limit) = query.check()?;
    let guard = api.exports().begin(tenant.id())?;
    let (lines, body) = mpsc::channel(1);
    let mut export =
        Export { node: api.node().clone(), lines, chunk: Vec::new(), of: tenant.id(), left: limit };
    tokio::spawn(async move {
        let _guard = guard;
        if let Err(Stopped::Failed(error)) = export.run(filter, after).await {
            tracing::warn!(%error, "export ended before its last line");
            // A client that counts on the last line sees that it is missing.
            export.lines.send(Err(error)).await.ok();
        }
    });
    let body = Body::new(ChannelBody::new(body));
    Ok(([(CONTENT_TYPE, NDJSON)], body).into_response())
}

/// Writes one export.
struct Export {
    node: Node,
    lines: mpsc::Sender<Result<Bytes, Error>>,
    chunk: Vec<u8>,
    of: ApplicationId,
    /// Messages that are still to be written.
    left: usize,
}

/// Why an export has ended early.
enum Stopped {
    Failed(Error),
    /// The client reads no longer.
    Left,
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Export {
    async fn run(
        &mut self,
        filter: MessageFilter,
        mut after: Option<Cursor>,
    ) -> Result<(), Stopped> {
        while self.left > 0 {
            let request = PageRequest { after, limit: PAGE.min(self.left) };
            let page = self.node.store().messages(self.of, filter.clone(), request).await?;
            self.left -= page.items.len();
            for message in &page.items {
                self.message(message).await?;
            }
            after = page.next;
            let last = after.map(|cursor| ExportLine::Checkpoint { cursor: cursor_text(cursor) });
            self.line(&last.unwrap_or(ExportLine::End)).await?;
            if after.is_none() {
                break;
            }
        }
        self.flush().await
    }

    async fn message(&mut self, message: &Message) -> Result<(), Stopped> {
        let (payload, payload_encoding) = match self.node.store().payload(message.id).await? {
            None => (None, None),
            Some(bytes) => {
                let (text, encoding) = text(&bytes);
                (Some(text), Some(encoding))
            }
        };
        let message_view = MessageView::from(message);
        let line = ExportLine::Message { message: message_view, payload, payload_encoding };
        self.line(&line).await?;
        for delivery in self.node.store().deliveries_of(message.id).await? {
            let attempts = match delivery.attempts {
                0 => Vec::new(),
                _ => self.node.store().attempts(delivery.message, delivery.endpoint).await?,
            };
            let attempts = attempts.iter().map(AttemptView::from).collect();
            let delivery = DeliveryView::from(&delivery);
            self.line(&ExportLine::Delivery { delivery, attempts }).await?;
        }
        Ok(())
    }

    async fn line(&mut self, line: &ExportLine) -> Result<(), Stopped> {
        let written = serde_json::to_writer(&mut self.chunk, line);
        written.map_err(|error| Error::store(format!("a line is no JSON: {error}")))?;
        self.chunk.push(b'\n');
        if self.chunk.len() < CHUNK { Ok(()) } else { self.flush().await }
    }

    async fn flush(&mut self) -> Result<(), Stopped> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::take(&mut self.chunk));
        self.lines.send(Ok(chunk)).await.map_err(|_| Stopped::Left)
    }
}

/// A payload as a text of JSON.
fn text(bytes: &Bytes) -> (String, PayloadEncoding) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), PayloadEncoding::Utf8),
        Err(_) => (STANDARD.encode(bytes), PayloadEncoding::Base64),
    }
}
