//! The catalogue of event types in memory, and the check of messages against it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use stagger::Instant;
use stagger_scheduler::model::{EventSchema, EventType, EventValidation, SchemaViolation};
use stagger_store::{DocumentKey, DocumentKind, RejectedEvent};
use tokio::sync::Semaphore;

use crate::Error;

/// Most event types.
const MAX_TYPES: usize = 1_000;
/// Most bytes of the schemas and examples of all event types: they are in memory.
const MAX_BYTES: usize = 8 << 20;
/// Longest description, in characters.
const MAX_DESCRIPTION: usize = 2_000;
/// Longest example as JSON, in bytes.
const MAX_EXAMPLE: usize = 64 << 10;
/// Most bytes of payloads that are validated between other work; more, and schemas that are not compiled yet, have a
/// thread of their own meanwhile.
const MAX_INLINE: usize = 16 << 10;

/// An event type of the catalogue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CatalogueType {
    pub(crate) name: EventType,
    pub(crate) description: String,
    /// The JSON Schema of its payloads, if it has one.
    pub(crate) schema: Option<Box<RawValue>>,
    /// A payload that matches the schema.
    pub(crate) example: Option<Box<RawValue>>,
    /// Whether it is offered no more. Its messages are accepted.
    pub(crate) archived: bool,
    /// The number of its schemas: one more at each change of the schema.
    pub(crate) version: u32,
    #[serde(with = "nanos")]
    pub(crate) created_at: Instant,
    #[serde(with = "nanos")]
    pub(crate) updated_at: Instant,
}

/// Instants as nanoseconds since the Unix epoch.
mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};
    use stagger::Instant;

    pub(super) fn serialize<S: Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.as_nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        u64::deserialize(from).map(Instant::from_nanos)
    }
}

/// The settings of an event type.
#[derive(Debug)]
pub(crate) struct EventTypeSettings {
    pub(crate) name: EventType,
    pub(crate) description: String,
    pub(crate) schema: Option<Value>,
    pub(crate) example: Option<Value>,
    pub(crate) archived: bool,
}

impl EventTypeSettings {
    /// Checks the settings. Compiling a schema takes milliseconds.
    ///
    /// # Errors
    /// A value is out of its bounds: the error names it.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.name.is_operational() {
            let bound = "none of the dispatcher's own, which begin with stagger.";
            return Err(Error::invalid("name", &self.name, bound));
        }
        let characters = self.description.chars().count();
        if characters > MAX_DESCRIPTION {
            let bound = format!("at most {MAX_DESCRIPTION} characters");
            return Err(Error::invalid("description", format!("{characters} characters"), bound));
        }
        let schema = self.schema.as_ref().map(EventSchema::parse).transpose()?;
        let Some(example) = self.example.as_ref().map(Value::to_string) else { return Ok(()) };
        if example.len() > MAX_EXAMPLE {
            let bound = format!("at most {MAX_EXAMPLE} bytes as JSON");
            return Err(Error::invalid("example", format!("{} bytes", example.len()), bound));
        }
        let checked = schema.map_or(Ok(()), |schema| schema.check(example.as_bytes()));
        checked.map_err(|violation| {
            let bound = format!("a payload that matches the schema: {violation}");
            Error::invalid("example", "(this one)", bound)
        })
    }

    /// The event type with these settings; `before` is the one that it replaces.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    fn over(self, before: Option<&CatalogueType>, now: Instant) -> Result<CatalogueType, Error> {
        let Self { name, description, schema, example, archived } = self;
        let (schema, example) = (schema.map(raw).transpose()?, example.map(raw).transpose()?);
        let text = |it: &Option<Box<RawValue>>| it.as_ref().map(|it| it.get().to_owned());
        let is_same = |before: &CatalogueType| text(&before.schema) == text(&schema);
        let version = before.map_or(1, |it| it.version.saturating_add((!is_same(it)).into()));
        let created_at = before.map_or(now, |before| before.created_at);
        let updated_at = now;
        Ok(CatalogueType {
            name,
            description,
            schema,
            example,
            archived,
            version,
            created_at,
            updated_at,
        })
    }
}

fn raw(value: Value) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(&value).map_err(|error| Error::store(error.to_string()))
}

impl CatalogueType {
    fn bytes(&self) -> usize {
        let length = |it: &Option<Box<RawValue>>| it.as_ref().map_or(0, |it| it.get().len());
        length(&self.schema) + length(&self.example)
    }

    /// The name of its document.
    pub(super) fn key(name: &EventType) -> DocumentKey {
        DocumentKey::new(DocumentKind::EventType, name.as_str())
    }
}

/// An event type with its compiled schema, which goes with it.
#[derive(Debug)]
struct CompiledType {
    event_type: Arc<CatalogueType>,
    /// Compiled for the first message. The error of a schema that an earlier release has accepted is kept too.
    schema: OnceLock<Result<EventSchema, String>>,
}

impl CompiledType {
    fn check(&self, payload: &[u8]) -> Result<(), SchemaFault> {
        let Some(schema) = &self.event_type.schema else { return Ok(()) };
        let compiled = self.schema.get_or_init(|| {
            let document: Value = serde_json::from_str(schema.get()).map_err(|e| e.to_string())?;
            EventSchema::parse(&document).map_err(|error| error.to_string())
        });
        match compiled {
            Ok(schema) => schema.check(payload).map_err(SchemaFault::Violation),
            Err(why) => Err(SchemaFault::Unusable(why.clone())),
        }
    }

    fn is_ready(&self) -> bool {
        self.event_type.schema.is_none() || self.schema.get().is_some()
    }
}

enum SchemaFault {
    Violation(SchemaViolation),
    Unusable(String),
}

/// The event types, as the store has them.
#[derive(Debug)]
pub(super) struct Catalogue {
    /// The checks of messages of applications that have no setting of their own.
    validation: EventValidation,
    types: RwLock<BTreeMap<EventType, Arc<CompiledType>>>,
    /// The turns of validations on threads of their own: as many as there are processors, so that other work on such
    /// threads is not held up.
    turns: Semaphore,
}

impl Catalogue {
    pub(super) fn new(validation: EventValidation) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { validation, types: RwLock::default(), turns: Semaphore::new(processors) }
    }

    pub(super) fn all(&self) -> Vec<Arc<CatalogueType>> {
        self.read().values().map(|entry| Arc::clone(&entry.event_type)).collect()
    }

    pub(super) fn get(&self, name: &EventType) -> Option<Arc<CatalogueType>> {
        self.read().get(name).map(|entry| Arc::clone(&entry.event_type))
    }

    /// The event type with new settings, which have been checked.
    ///
    /// # Errors
    /// A conflict if it exists and has to be new, or if there is no room for it.
    pub(super) fn replaced(
        &self,
        settings: EventTypeSettings,
        only_new: bool,
        now: Instant,
    ) -> Result<(CatalogueType, bool), Error> {
        let types = self.read();
        let before = types.get(&settings.name).map(|entry| &*entry.event_type);
        if only_new && before.is_some() {
            return Err(Error::conflict(format!("the event type {} exists", settings.name)));
        }
        if before.is_none() && types.len() >= MAX_TYPES {
            return Err(Error::conflict(format!("there are {MAX_TYPES} event types already")));
        }
        let replaced = settings.over(before, now)?;
        let others: usize = types.values().map(|entry| entry.event_type.bytes()).sum();
        let others = others - before.map_or(0, CatalogueType::bytes);
        if others + replaced.bytes() > MAX_BYTES {
            return Err(Error::conflict(format!(
                "the schemas and examples of all event types may have {MAX_BYTES} bytes; the others have {others}"
            )));
        }
        Ok((replaced, before.is_none()))
    }

    /// Follows a changed document; `None` if it was deleted. One that cannot be read is as if it were deleted.
    pub(super) fn follow(&self, id: &str, document: Option<&str>) {
        let Ok(name) = id.parse::<EventType>() else { return };
        let read = document.and_then(|text| match serde_json::from_str::<CatalogueType>(text) {
            Ok(event_type) => Some(event_type),
            Err(error) => {
                tracing::warn!(%error, event_type = id, "event type not readable");
                None
            }
        });
        match read {
            Some(event_type) => {
                let event_type = Arc::new(event_type);
                let entry = CompiledType { event_type, schema: OnceLock::new() };
                self.write().insert(name, Arc::new(entry));
            }
            None => drop(self.write().remove(&name)),
        }
    }

    /// The ids of all documents.
    pub(super) fn ids(&self) -> Vec<String> {
        self.read().keys().map(ToString::to_string).collect()
    }

    /// Checks messages, each by its type and its payload, as the setting of their application, `own`, or that of the dispatcher asks for.
    ///
    /// # Errors
    /// The first message that is refused; a conflict if a schema cannot be used.
    pub(super) async fn check<'m>(
        &self,
        own: Option<EventValidation>,
        messages: impl Iterator<Item = (&'m EventType, &'m Bytes)>,
    ) -> Result<(), Error> {
        let validation = own.unwrap_or(self.validation);
        if validation == EventValidation::Off {
            return Ok(());
        }
        let mut jobs = self.jobs(messages)?;
        if validation == EventValidation::Known {
            return Ok(());
        }
        jobs.retain(|job| job.entry.event_type.schema.is_some());
        let bytes: usize = jobs.iter().map(|job| job.payload.len()).sum();
        if bytes <= MAX_INLINE && jobs.iter().all(|job| job.entry.is_ready()) {
            return jobs.iter().try_for_each(ValidationJob::run);
        }
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let checked =
            tokio::task::spawn_blocking(move || jobs.iter().try_for_each(ValidationJob::run));
        checked.await.unwrap_or_else(|_| Err(Error::busy("the dispatcher stopped meanwhile")))
    }

    /// The messages with their event types.
    ///
    /// # Errors
    /// The first message whose event type is not in the catalogue.
    fn jobs<'m>(
        &self,
        messages: impl Iterator<Item = (&'m EventType, &'m Bytes)>,
    ) -> Result<Vec<ValidationJob>, Error> {
        let types = self.read();
        let job = |(message, (name, payload)): (usize, (&EventType, &Bytes))| match types.get(name)
        {
            Some(entry) => {
                let (entry, payload) = (Arc::clone(entry), payload.clone());
                Ok(ValidationJob { message, entry, payload })
            }
            None => Err(unknown(message, name)),
        };
        messages.enumerate().map(job).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<EventType, Arc<CompiledType>>> {
        self.types.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<EventType, Arc<CompiledType>>> {
        self.types.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(message: usize, event_type: &EventType) -> Error {
    Error::rejected(RejectedEvent {
        message,
        field: "event_type",
        why: format!("the event type {event_type} is not in the catalogue"),
        pointer: None,
        keyword: None,
    })
}

/// A payload to validate.
struct ValidationJob {
    message: usize,
    entry: Arc<CompiledType>,
    payload: Bytes,
}

impl ValidationJob {
    fn run(&self) -> Result<(), Error> {
        let name = &self.entry.event_type.name;
        match self.entry.check(&self.payload) {
            Ok(()) => Ok(()),
            Err(SchemaFault::Unusable(why)) => Err(Error::conflict(format!(
                "the schema of the event type {name} cannot be used; replace it: {why}"
            ))),
            Err(SchemaFault::Violation(violation)) => {
                let why = format!("the payload does not match the event type {name}: {violation}");
                let (pointer, keyword) = match violation {
                    SchemaViolation::Keyword { pointer, keyword } => (pointer, Some(keyword)),
                    SchemaViolation::NotJson | SchemaViolation::TooLarge(..) => (None, None),
                };
                let (message, field) = (self.message, "payload");
                Err(Error::rejected(RejectedEvent { message, field, why, pointer, keyword }))
            }
        }
    }
}
