//! The query parameters of requests, with instants and cursors as texts.

use axum::extract::{FromRequestParts, Query};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use stagger::Instant;
use stagger_scheduler::model::{ChannelName, DeliveryState, EventType};
use stagger_store::{Cursor, DeliveryFilter, MessageFilter, PageRequest};
use stagger_text::{NotRfc3339, Timestamp};
use utoipa::IntoParams;
use uuid::Uuid;

use super::problem::Problem;
use super::state::Api;
use super::wire::{EndpointIdText, EventTypeText, StateName, TimestampText};
use crate::Error;

/// Entries of a page by default: a screen or two.
const DEFAULT_LIMIT: usize = 50;
/// Most entries of a page: a store reads them in some milliseconds.
const MAX_LIMIT: usize = 250;

/// Deserialized parameters; unknown ones are refused, because a filter with a misspelt name would
/// match everything.
#[derive(Debug)]
pub(super) struct ValidQuery<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Api> for ValidQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, error.body_text())),
        }
    }
}

/// The page of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Entries of the page, from 1 to 250: default 50.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 250)]
    limit: Option<String>,
    /// The `next` of an earlier page.
    cursor: Option<String>,
}

impl PageQuery {
    pub(super) fn check(&self) -> Result<PageRequest, Error> {
        page(self.limit.as_deref(), self.cursor.as_deref())
    }
}

/// The page of the audit log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    /// Entries of the page, from 1 to 250: default 50.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 250)]
    limit: Option<String>,
    /// Only entries with lower numbers than this.
    #[param(value_type = Option<u64>)]
    before: Option<String>,
}

impl AuditQuery {
    pub(super) fn check(&self) -> Result<(Option<u64>, usize), Error> {
        let number = |text: &str| {
            text.parse().map_err(|_| Error::invalid("before", text, "the number of an entry"))
        };
        let before = self.before.as_deref().map(number).transpose()?;
        Ok((before, page(self.limit.as_deref(), None)?.limit))
    }
}

/// The page of the catalogue.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventTypeListQuery {
    /// Entries of the page, from 1 to 250: default 50.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 250)]
    limit: Option<String>,
    /// Only event types whose names come after this one: the `next` of an earlier page.
    #[param(value_type = Option<EventTypeText>)]
    after: Option<String>,
}

impl EventTypeListQuery {
    pub(super) fn check(&self) -> Result<(Option<EventType>, usize), Error> {
        let after = self.after.as_deref().map(str::parse::<EventType>).transpose();
        let after = after
            .map_err(|error| Error::invalid("after", error.value(), error.bound().to_owned()))?;
        Ok((after, page(self.limit.as_deref(), None)?.limit))
    }
}

/// The filter of a list of messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MessageQuery {
    /// Of this type only.
    #[param(value_type = Option<EventTypeText>)]
    event_type: Option<String>,
    /// Accepted at or after this.
    #[param(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Accepted before this.
    #[param(value_type = Option<TimestampText>)]
    until: Option<String>,
    /// Entries of the page, from 1 to 250: default 50.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 250)]
    limit: Option<String>,
    /// The `next` of an earlier page.
    cursor: Option<String>,
}

impl MessageQuery {
    pub(super) fn check(&self) -> Result<(MessageFilter, PageRequest), Error> {
        let filter = MessageFilter {
            event_type: self.event_type.as_deref().map(str::parse).transpose()?,
            since: bound("since", self.since.as_deref())?,
            until: bound("until", self.until.as_deref())?,
        };
        Ok((filter, page(self.limit.as_deref(), self.cursor.as_deref())?))
    }
}

/// The range of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportQuery {
    /// Messages accepted at or after this.
    #[param(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Messages accepted before this.
    #[param(value_type = Option<TimestampText>)]
    until: Option<String>,
    /// The most messages, from 1: default all.
    #[param(value_type = Option<u32>, minimum = 1)]
    limit: Option<String>,
    /// The `cursor` of the last checkpoint of an earlier export.
    cursor: Option<String>,
}

impl ExportQuery {
    /// The messages, the entry after which they begin, and their most.
    pub(super) fn check(&self) -> Result<(MessageFilter, Option<Cursor>, usize), Error> {
        let filter = MessageFilter {
            event_type: None,
            since: bound("since", self.since.as_deref())?,
            until: bound("until", self.until.as_deref())?,
        };
        let number = |text: &String| {
            let number = text.parse::<u32>().ok().filter(|number| *number > 0);
            let number = number.and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| Error::invalid("limit", text, "a number from 1"))
        };
        let limit = self.limit.as_ref().map(number).transpose()?;
        let after = self.cursor.as_deref().map(parse_cursor).transpose()?;
        Ok((filter, after, limit.unwrap_or(usize::MAX)))
    }
}

/// The filter of a list of deliveries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DeliveryQuery {
    /// In this state only.
    #[param(value_type = Option<StateName>)]
    state: Option<String>,
    /// To this endpoint only.
    #[param(value_type = Option<EndpointIdText>)]
    endpoint: Option<String>,
    /// Of messages of this type only.
    #[param(value_type = Option<EventTypeText>)]
    event_type: Option<String>,
    /// Only those whose last attempt was answered with this status.
    #[param(value_type = Option<u16>, minimum = 100, maximum = 999)]
    status: Option<String>,
    /// Of messages accepted at or after this.
    #[param(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Of messages accepted before this.
    #[param(value_type = Option<TimestampText>)]
    until: Option<String>,
    /// Entries of the page, from 1 to 250: default 50.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 250)]
    limit: Option<String>,
    /// The `next` of an earlier page.
    cursor: Option<String>,
}

impl DeliveryQuery {
    pub(super) fn check(&self) -> Result<(DeliveryFilter, PageRequest), Error> {
        let filter = DeliveryFilter {
            endpoint: self.endpoint.as_deref().map(str::parse).transpose()?,
            state: self.state.as_deref().map(state).transpose()?,
            event_type: self.event_type.as_deref().map(str::parse).transpose()?,
            status: self.status.as_deref().map(status).transpose()?,
            since: bound("since", self.since.as_deref())?,
            until: bound("until", self.until.as_deref())?,
        };
        Ok((filter, page(self.limit.as_deref(), self.cursor.as_deref())?))
    }
}

/// The event type of a payload of any kind.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventTypeQuery {
    /// The event type.
    #[param(value_type = EventTypeText)]
    pub(super) event_type: String,
    /// The channels that it is in, joined by commas: at most 10.
    #[param(example = "project:17,beta")]
    channels: Option<String>,
}

impl EventTypeQuery {
    /// # Errors
    /// `channels`: a name is none, or there are too many.
    pub(super) fn channels(&self) -> Result<Vec<ChannelName>, Error> {
        let names = self.channels.as_deref().into_iter().flat_map(|text| text.split(','));
        let names = names.map(str::parse::<ChannelName>);
        Ok(ChannelName::set(names.collect::<Result<Vec<_>, _>>()?)?)
    }
}

fn state(name: &str) -> Result<DeliveryState, Error> {
    DeliveryState::by_name(name).ok_or_else(|| {
        Error::invalid("state", name, DeliveryState::ALL.map(DeliveryState::name).join(", "))
    })
}

/// The status of a reply in `text`.
///
/// # Errors
/// `status`: it is none.
pub(in crate::api) fn status(text: &str) -> Result<u16, Error> {
    let status = text.parse().ok().filter(|status| (100..=999).contains(status));
    status.ok_or_else(|| Error::invalid("status", text, "from 100 to 999"))
}

fn page(limit: Option<&str>, after: Option<&str>) -> Result<PageRequest, Error> {
    let limit = limit.map_or(Ok(DEFAULT_LIMIT), |text| {
        let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| Error::invalid("limit", text, "from 1 to 250"))
    })?;
    Ok(PageRequest { after: after.map(parse_cursor).transpose()?, limit })
}

/// The page of a list that is kept in memory in rising order of ids.
pub(super) fn paged<T>(
    items: Vec<T>,
    page: PageRequest,
    place: impl Fn(&T) -> Cursor,
) -> (Vec<T>, Option<Cursor>) {
    let later = |item: &T| page.after.is_none_or(|after| place(item) > after);
    let mut rest = items.into_iter().filter(later).peekable();
    let taken: Vec<T> = rest.by_ref().take(page.limit).collect();
    let next = rest.peek().and_then(|_| taken.last().map(&place));
    (taken, next)
}

/// The instant in `text`, if there is one.
///
/// # Errors
/// `field`: it is no time.
pub(in crate::api) fn bound(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<Instant>, Error> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.parse::<Timestamp>();
    parsed
        .map(|Timestamp(at)| Some(at))
        .map_err(|NotRfc3339| Error::invalid(field, text, NotRfc3339.to_string()))
}

/// Bytes of one id.
const ID: usize = 16;

/// The cursor as base64url: the two ids in a row.
pub(super) fn cursor_text(cursor: Cursor) -> String {
    let mut bytes = [0; 2 * ID];
    bytes[..ID].copy_from_slice(cursor.message.as_bytes());
    bytes[ID..].copy_from_slice(cursor.endpoint.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The cursor of a text that an earlier page gave.
///
/// # Errors
/// `cursor`: it is none of ours.
pub(super) fn parse_cursor(text: &str) -> Result<Cursor, Error> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let ids = bytes.as_ref().and_then(|bytes| bytes.split_at_checked(ID));
    ids.and_then(|(message, endpoint)| {
        Some(Cursor {
            message: Uuid::from_slice(message).ok()?,
            endpoint: Uuid::from_slice(endpoint).ok()?,
        })
    })
    .ok_or_else(|| Error::invalid("cursor", text, "the `next` of an earlier page, unchanged"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_as_it_went(message: u128, endpoint: u128) {
            let (message, endpoint) = (Uuid::from_u128(message), Uuid::from_u128(endpoint));
            let cursor = Cursor { message, endpoint };
            prop_assert_eq!(parse_cursor(&cursor_text(cursor)), Ok(cursor));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = parse_cursor(&text);
        }
    }

    #[test]
    fn a_cursor_that_was_cut_or_padded_began_somewhere_else() {
        let whole = cursor_text(Cursor { message: Uuid::nil(), endpoint: Uuid::max() });
        for text in ["", &whole[1..], &format!("{whole}="), &format!("{whole}AAAA")] {
            let error = parse_cursor(text).expect_err("no cursor");
            assert_eq!(error.as_invalid().map(|invalid| invalid.field()), Some("cursor"));
        }
    }
}
