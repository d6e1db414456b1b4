//! The query parameters of requests.

use axum::extract::{FromRequestParts, Query};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::cursor;
use super::problem::Problem;
use super::state::Api;
use super::wire::{EndpointIdText, StateName, TimestampText};

use crate::Error;
use crate::api::instant::bound;
use crate::model::{DeliveryState, EventType};
use crate::store::{Cursor, DeliveryFilter, MessageFilter, PageRequest};

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

/// The filter of a list of messages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MessageQuery {
    /// Of this type only.
    #[param(value_type = Option<EventType>)]
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
    #[param(value_type = EventType)]
    pub(super) event_type: String,
}

fn state(name: &str) -> Result<DeliveryState, Error> {
    DeliveryState::by_name(name).ok_or_else(|| {
        Error::invalid("state", name, DeliveryState::ALL.map(DeliveryState::name).join(", "))
    })
}

fn page(limit: Option<&str>, after: Option<&str>) -> Result<PageRequest, Error> {
    let limit = limit.map_or(Ok(DEFAULT_LIMIT), |text| {
        let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| Error::invalid("limit", text, "from 1 to 250"))
    })?;
    Ok(PageRequest { after: after.map(cursor::parse).transpose()?, limit })
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
