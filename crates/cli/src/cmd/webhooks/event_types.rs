//! `stagger webhooks event-types`: the catalogue of event types, made, listed, changed and deleted.

use std::io::Read;
use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::api::{Api, Failure, encoded, items, wrong};
use super::page;
use crate::flags::{
    EventTypeFlags, EventTypeUpdateFlags, EventTypesCommand, NewEventTypeFlags, WebhooksFormat,
};
use crate::streams;

const PATH: &str = "/v1/event-types";
/// The largest page of the API.
const PAGE: u32 = 250;
/// The columns of the list.
const COLUMNS: &[&str] = &["/name", "/version", "/state", "/description"];

/// The settings that the API takes as a whole. Schema and example keep the bytes that they were written with, so that
/// a change of something else is no new schema, and no number loses digits.
#[derive(Debug, Default, Serialize, Deserialize)]
struct EventTypeBody {
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    description: String,
    schema: Option<Box<RawValue>>,
    example: Option<Box<RawValue>>,
    archived: bool,
}

/// Does what the flags ask for.
pub(super) async fn event_types(
    api: &Api,
    command: &EventTypesCommand,
    format: WebhooksFormat,
) -> Result<String, Failure> {
    let shown = |event_type: &Value| match format {
        WebhooksFormat::Json => page::json_lines([event_type]),
        WebhooksFormat::Text => page::members(event_type),
    };
    match command {
        EventTypesCommand::Create(new) => create(api, new).await.map(|made| shown(&made)),
        EventTypesCommand::List => {
            let all = all(api).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines(&all),
                WebhooksFormat::Text => table(&all),
            })
        }
        EventTypesCommand::Get { name } => api.get(&path(name)).await.map(|it| shown(&it)),
        EventTypesCommand::Update(update) => change(api, update).await.map(|it| shown(&it)),
        EventTypesCommand::Archive { name } => archive(api, name, true).await.map(|it| shown(&it)),
        EventTypesCommand::Unarchive { name } => {
            archive(api, name, false).await.map(|it| shown(&it))
        }
        EventTypesCommand::Delete { name } => {
            api.delete(&path(name)).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines([&json!({ "deleted": name })]),
                WebhooksFormat::Text => format!("deleted {name}\n"),
            })
        }
    }
}

fn path(name: &str) -> String {
    format!("{PATH}/{}", encoded(name))
}

async fn create(api: &Api, new: &NewEventTypeFlags) -> Result<Value, Failure> {
    let mut body = EventTypeBody { name: Some(new.name.clone()), ..EventTypeBody::default() };
    body.take(&new.given)?;
    let made = api.post(PATH, body.to_json()?).await;
    made.map_err(|failure| with_file(failure, &new.given))
}

async fn change(api: &Api, update: &EventTypeUpdateFlags) -> Result<Value, Failure> {
    let EventTypeFlags { description, schema, example } = &update.given;
    let is_given = description.is_some() || schema.is_some() || example.is_some();
    if !is_given && !update.no_schema && !update.no_example {
        let name = &update.name;
        return Err(Failure::Refused(format!(
            "nothing is to change in {name}: give --description, --schema, --no-schema, --example or --no-example"
        )));
    }
    let mut body = EventTypeBody::of(api, &update.name).await?;
    if update.no_schema {
        body.schema = None;
    }
    if update.no_example {
        body.example = None;
    }
    body.take(&update.given)?;
    let changed = api.put(&path(&update.name), body.to_json()?).await;
    changed.map_err(|failure| with_file(failure, &update.given))
}

async fn archive(api: &Api, name: &str, archived: bool) -> Result<Value, Failure> {
    let body = EventTypeBody { archived, ..EventTypeBody::of(api, name).await? };
    api.put(&path(name), body.to_json()?).await
}

impl EventTypeBody {
    /// The settings as the dispatcher has them: it replaces an event type as a whole.
    async fn of(api: &Api, name: &str) -> Result<Self, Failure> {
        let bytes = api.bytes(&path(name)).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let place = api.place();
            Failure::Refused(format!("{place} answers no event type: {error}; is it a dispatcher?"))
        })
    }

    /// Takes the settings that are given.
    fn take(&mut self, given: &EventTypeFlags) -> Result<(), Failure> {
        let EventTypeFlags { description, schema, example } = given;
        let is_input = |file: &Option<_>| file.as_deref() == Some(Path::new("-"));
        if is_input(schema) && is_input(example) {
            return Err(wrong("--example", "-", "a file where --schema is standard input"));
        }
        if let Some(description) = description {
            self.description.clone_from(description);
        }
        if let Some(file) = schema {
            self.schema = Some(json_of("--schema", file)?);
        }
        if let Some(file) = example {
            self.example = Some(json_of("--example", file)?);
        }
        Ok(())
    }

    fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::Refused(error.to_string()))
    }
}

/// The JSON in a file, or on standard input.
fn json_of(flag: &str, file: &Path) -> Result<Box<RawValue>, Failure> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let shown = file.display().to_string();
    let text = read.map_err(|error| wrong(flag, &shown, &format!("readable: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(flag, &shown, &format!("a file with JSON ({error})")))
}

/// A refusal, with the file that the refused setting is from.
fn with_file(failure: Failure, given: &EventTypeFlags) -> Failure {
    let Failure::Refused(why) = failure else { return failure };
    let files = [("schema", &given.schema), ("example", &given.example)];
    let refused = files.into_iter().find(|(field, _)| why.contains(&format!(": {field} = ")));
    match refused {
        Some((field, Some(file))) => {
            Failure::Refused(format!("{why} (--{field} {})", file.display()))
        }
        _ => Failure::Refused(why),
    }
}

/// All event types, over as many pages as it takes: the dispatcher bounds their number.
async fn all(api: &Api) -> Result<Vec<Value>, Failure> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let answer = api.get(&format!("{PATH}?limit={PAGE}{after}")).await?;
        found.extend_from_slice(items(&answer));
        let Some(next) = answer["next"].as_str() else { return Ok(found) };
        after = format!("&after={}", encoded(next));
    }
}

/// The event types, a line each, without their schemas.
fn table(event_types: &[Value]) -> String {
    if event_types.is_empty() {
        streams::note("no event types");
    }
    let line = |event_type: &Value| {
        let mut line = event_type.clone();
        line["state"] = if event_type["archived"] == true { "archived" } else { "offered" }.into();
        line["version"] = format!("v{}", event_type["version"]).into();
        line
    };
    page::table(&event_types.iter().map(line).collect::<Vec<_>>(), COLUMNS)
}
