//! Applications in JSON, and pages of any list.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use stagger::Span;
use stagger_scheduler::model::{
    Application, ApplicationId, AttributeValue, EventAttributes, EventValidation, ExternalId,
    Labels,
};
use stagger_store::{Cursor, ListPage};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::super::query;
use super::schema::{ApplicationIdText, EventValidationName, ExternalIdText};
use super::span;
use crate::Error;

/// Longest name, in characters: it fits on one line of a page.
const MAX_NAME: usize = 200;
/// Most attempts in flight for one application: more connections than one machine has ports to
/// spare for one tenant.
const MAX_SLOTS: u32 = 10_000;
/// Slots of an application that asks for none: 16 endpoints with 16 each.
const DEFAULT_SLOTS: NonZeroU32 = NonZeroU32::new(256).expect("above zero");
/// The shortest retention: below it no failure could be inspected.
const MIN_RETENTION: Span = Span::from_secs(60);

/// The settings of an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ApplicationSettings {
    /// A name for people.
    #[schema(min_length = 1, max_length = 200, example = "Shop")]
    name: String,
    /// The most attempts in flight for all its endpoints together: default 256.
    #[schema(minimum = 1, maximum = 10_000)]
    slots: Option<i64>,
    /// Your own id for it, unique among applications: a path may name it as `uid:ID`. Default none.
    #[schema(value_type = Option<ExternalIdText>)]
    uid: Option<ExternalId>,
    /// Texts by name, for your own use: at most 20, of 512 bytes each.
    metadata: Option<BTreeMap<String, String>>,
    /// The time for which its finished messages are kept: from `60s` to the node's `retention`. Default that of the
    /// node.
    #[schema(example = "7d")]
    retention: Option<String>,
    /// The `source` of its events where they are sent as CloudEvents: a URI reference of at most 512 bytes. Default
    /// `/v1/applications/` and the id of the application.
    #[schema(min_length = 1, max_length = 512, example = "https://shop.example/orders")]
    source: Option<String>,
    /// The checks of its messages against the catalogue of event types: default those of the dispatcher.
    #[schema(value_type = Option<EventValidationName>)]
    event_validation: Option<EventValidation>,
}

impl ApplicationSettings {
    /// A name, and the defaults.
    pub(in super::super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            slots: None,
            uid: None,
            metadata: None,
            retention: None,
            source: None,
            event_validation: None,
        }
    }

    /// The settings that `application` has.
    pub(in super::super) fn of(application: &Application) -> Self {
        let Labels { uid, metadata } = application.labels.clone();
        let slots = Some(application.slots.get().into());
        let retention = application.retention.map(span::text);
        let (name, source) = (application.name.clone(), application.source.clone());
        let event_validation = application.event_validation;
        let metadata = Some(metadata);
        Self { name, slots, uid, metadata, retention, source, event_validation }
    }

    /// Sets them. `most` is the retention of the node.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn apply(
        self,
        application: &mut Application,
        most: Span,
    ) -> Result<(), Error> {
        if !(1..=MAX_NAME).contains(&self.name.chars().count()) {
            return Err(Error::invalid("name", self.name, "1 to 200 characters"));
        }
        application.slots = match self.slots {
            Some(slots) => slots_within(slots)?,
            None => DEFAULT_SLOTS,
        };
        let labels = Labels { uid: self.uid, metadata: self.metadata.unwrap_or_default() };
        labels.check()?;
        let given = self.retention.as_deref();
        // One that was set before the node's was shortened stays, and the node's counts.
        if given != application.retention.map(span::text).as_deref() {
            application.retention = given.map(|text| retention_within(text, most)).transpose()?;
        }
        let source = self.source.clone().map(|it| ("source".to_owned(), AttributeValue::Text(it)));
        EventAttributes::new(source)?;
        application.source = self.source;
        application.labels = labels;
        application.name = self.name;
        application.event_validation = self.event_validation;
        Ok(())
    }
}

fn retention_within(text: &str, most: Span) -> Result<Span, Error> {
    let within = |span: &Span| (MIN_RETENTION..=most).contains(span);
    text.parse().ok().filter(within).ok_or_else(|| {
        Error::invalid("retention", text, format!("a span from 60s to {}", span::text(most)))
    })
}

fn slots_within(slots: i64) -> Result<NonZeroU32, Error> {
    let given = u32::try_from(slots).ok().filter(|slots| *slots <= MAX_SLOTS);
    given.and_then(NonZeroU32::new).ok_or_else(|| Error::invalid("slots", slots, "from 1 to 10000"))
}

/// An application.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Application)]
pub(in super::super) struct ApplicationView {
    #[schema(value_type = ApplicationIdText)]
    id: ApplicationId,
    /// A name for people.
    name: String,
    /// The most attempts in flight for all its endpoints together.
    #[schema(value_type = u32)]
    slots: NonZeroU32,
    /// The caller's own id for it.
    #[schema(value_type = Option<ExternalIdText>)]
    uid: Option<ExternalId>,
    /// Texts by name, for the caller's own use.
    metadata: BTreeMap<String, String>,
    /// The time for which its finished messages are kept, if that is not the node's.
    retention: Option<String>,
    /// The `source` of its events, if it has a setting for it.
    source: Option<String>,
    /// The checks of its messages against the catalogue of event types; null are those of the dispatcher.
    #[schema(value_type = Option<EventValidationName>)]
    event_validation: Option<EventValidation>,
    #[schema(value_type = super::schema::TimestampText)]
    created_at: Timestamp,
}

impl From<&Application> for ApplicationView {
    fn from(application: &Application) -> Self {
        Self {
            id: application.id,
            name: application.name.clone(),
            slots: application.slots,
            uid: application.labels.uid.clone(),
            metadata: application.labels.metadata.clone(),
            retention: application.retention.map(span::text),
            source: application.source.clone(),
            event_validation: application.event_validation,
            created_at: Timestamp(application.created_at),
        }
    }
}

/// An application that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct ApplicationCreated {
    #[serde(flatten)]
    pub(in super::super) application: ApplicationView,
    /// Its first key. It is shown only here.
    #[schema(example = "sk_1Yz3UNBFSeuVhI5mcyN8EJ2XoSGDbrPOKs1M0Wc9dqA")]
    pub(in super::super) key: String,
}

/// A key that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct KeyCreated {
    /// The key. It is shown only here.
    #[schema(example = "sk_1Yz3UNBFSeuVhI5mcyN8EJ2XoSGDbrPOKs1M0Wc9dqA")]
    pub(in super::super) key: String,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct PageOf<T> {
    items: Vec<T>,
    /// The `cursor` of the next page, if there is one.
    next: Option<String>,
}

impl<T> PageOf<T> {
    pub(in super::super) fn new(items: Vec<T>, next: Option<Cursor>) -> Self {
        Self { items, next: next.map(query::cursor_text) }
    }
}

impl<T, U: for<'i> From<&'i T>> From<ListPage<T>> for PageOf<U> {
    fn from(page: ListPage<T>) -> Self {
        Self::new(page.items.iter().map(U::from).collect(), page.next)
    }
}
