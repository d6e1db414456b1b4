//! `stagger webhooks`: makes, lists, shows and replays what a dispatcher has.

use std::io::Read;
use std::process::ExitCode;
use std::{fs, io};

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use stagger_dispatch::sender::os_bytes;
use tokio::runtime::Builder;

use super::api::{Api, Failure, encoded, items, wrong};
use super::{event_types, export, keys, page, tail};
use crate::flags::{
    CreateFlags, DeliveryFilterFlags, ListFlags, ListKind, NewKind, WebhooksCommand, WebhooksFlags,
    WebhooksFormat,
};
use crate::streams;

/// The largest page of the API.
const PAGE: u32 = 250;

/// Does what the flags ask for.
pub(crate) fn webhooks(flags: &WebhooksFlags) -> ExitCode {
    match on_runtime(act(flags)).and_then(|done| done) {
        Ok(page) => streams::write(&page),
        Err(failure) => failure.tell(),
    }
}

/// Runs to the end.
pub(super) fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::Unavailable(format!("no threads to run on: {error}")))?;
    Ok(runtime.block_on(work))
}

async fn act(flags: &WebhooksFlags) -> Result<String, Failure> {
    let (api, format) = (Api::new(&flags.api)?, flags.api.format);
    match &flags.command {
        WebhooksCommand::Create(new) => Ok(shown(&create(&api, new).await?, format)),
        WebhooksCommand::List(list) => {
            let entries = entries(&api, list).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines(&entries),
                WebhooksFormat::Text => {
                    if entries.is_empty() {
                        streams::note(&format!("no {}", kind_name(list.kind)));
                    }
                    page::table(&entries, page::columns(list.kind))
                }
            })
        }
        WebhooksCommand::Get { id } => get(&api, id, format).await,
        WebhooksCommand::Tail { time } => {
            tail::tail(&api, format, *time).await.map(|()| String::new())
        }
        WebhooksCommand::Export(flags) => export::export(&api, flags).await,
        WebhooksCommand::EventTypes { command } => {
            event_types::event_types(&api, command, format).await
        }
        WebhooksCommand::Keys { command } => keys::keys(&api, command, format).await,
        WebhooksCommand::Replay { ids, filter } => {
            let count = replay(&api, ids, filter).await?;
            Ok(match format {
                WebhooksFormat::Json => format!("{}\n", json!({ "replayed": count })),
                WebhooksFormat::Text => format!("replayed {count}\n"),
            })
        }
    }
}

const fn kind_name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Applications => "applications",
        ListKind::Endpoints => "endpoints",
        ListKind::Messages => "messages",
        ListKind::Deliveries => "deliveries",
    }
}

fn shown(thing: &Value, format: WebhooksFormat) -> String {
    match format {
        WebhooksFormat::Json => page::json_lines([thing]),
        WebhooksFormat::Text => page::members(thing),
    }
}

async fn create(api: &Api, new: &CreateFlags) -> Result<Value, Failure> {
    let (events, payload) = (!new.events.is_empty(), new.payload.is_some());
    let odd = [
        (events && new.kind != NewKind::Endpoint, "--events", "an endpoint"),
        (payload && new.kind != NewKind::Message, "--payload", "a message"),
        (
            new.idempotency_key.is_some() && new.kind != NewKind::Message,
            "--idempotency-key",
            "a message",
        ),
        (
            new.settings.is_some() && new.kind == NewKind::Message,
            "--settings",
            "an application or an endpoint",
        ),
    ];
    if let Some((_, flag, of)) = odd.into_iter().find(|(is_odd, ..)| *is_odd) {
        return Err(Failure::Refused(format!("{flag} is a setting of {of}: leave it out")));
    }
    match new.kind {
        NewKind::Application => {
            let body = settings(new, "name")?;
            api.post("/v1/applications", Value::Object(body).to_string()).await
        }
        NewKind::Endpoint => {
            let mut body = settings(new, "url")?;
            if events {
                body.insert("events".to_owned(), json!(new.events));
            }
            let path = api.in_app("/endpoints").await?;
            api.post(&path, Value::Object(body).to_string()).await
        }
        NewKind::Message => {
            let payload = payload_of(new.payload.as_deref().unwrap_or("{}"))?;
            // The bytes of the payload go out as they were given.
            let body = format!(r#"{{"event_type":{},"payload":{payload}}}"#, json!(new.value));
            let path = api.in_app("/messages").await?;
            let key = new.idempotency_key.clone().map_or_else(made_key, Ok)?;
            api.post_once(&path, body, &key).await
        }
    }
}

/// The settings of a new thing: those of `--settings`, and its value under `name`.
fn settings(new: &CreateFlags, name: &str) -> Result<Map<String, Value>, Failure> {
    let text = new.settings.as_deref().unwrap_or("{}");
    let mut body: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| wrong("--settings", text, &format!("a JSON object ({error})")))?;
    body.insert(name.to_owned(), json!(new.value));
    Ok(body)
}

/// The payload that a text names or is, checked.
fn payload_of(text: &str) -> Result<String, Failure> {
    let unreadable = |error: io::Error| wrong("--payload", text, &format!("readable: {error}"));
    let payload = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some("-") => {
            let mut payload = String::new();
            io::stdin().read_to_string(&mut payload).map_err(unreadable)?;
            payload
        }
        Some(file) => fs::read_to_string(file).map_err(unreadable)?,
    };
    serde_json::from_str::<IgnoredAny>(&payload)
        .map_err(|error| wrong("--payload", text, &format!("JSON ({error})")))?;
    Ok(payload)
}

fn made_key() -> Result<String, Failure> {
    let bytes = os_bytes::<16>()
        .map_err(|error| Failure::Unavailable(format!("the system has no randomness: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// All entries of a list, over as many pages as it takes.
async fn entries(api: &Api, list: &ListFlags) -> Result<Vec<Value>, Failure> {
    let path = match list.kind {
        ListKind::Applications => "/v1/applications".to_owned(),
        ListKind::Endpoints => api.in_app("/endpoints").await?,
        ListKind::Messages => api.in_app("/messages").await?,
        ListKind::Deliveries => api.in_app("/deliveries").await?,
    };
    let filter = query(list.kind, &list.filter)?;
    let limit = usize::try_from(list.limit).unwrap_or(usize::MAX);
    let (mut found, mut cursor) = (Vec::new(), String::new());
    while found.len() < limit {
        let page = list.limit.min(PAGE);
        let answer = api.get(&format!("{path}?limit={page}{filter}{cursor}")).await?;
        found.extend_from_slice(items(&answer));
        let Some(next) = answer["next"].as_str() else { break };
        cursor = format!("&cursor={}", encoded(next));
    }
    found.truncate(limit);
    Ok(found)
}

/// The filter of a list as a part of its query.
fn query(kind: ListKind, filter: &DeliveryFilterFlags) -> Result<String, Failure> {
    let DeliveryFilterFlags { state, endpoint, event_type, since, until } = filter;
    let (deliveries, messages) = (kind == ListKind::Deliveries, kind == ListKind::Messages);
    let all = [
        ("state", state, deliveries),
        ("endpoint", endpoint, deliveries),
        ("event_type", event_type, deliveries || messages),
        ("since", since, deliveries || messages),
        ("until", until, deliveries || messages),
    ];
    let mut query = String::new();
    for (name, value, fits) in all {
        let Some(value) = value else { continue };
        if !fits {
            let flag = name.replace('_', "-");
            return Err(Failure::Refused(format!(
                "--{flag} is no filter of this list: leave it out"
            )));
        }
        query += &format!("&{name}={}", encoded(value));
    }
    Ok(query)
}

async fn get(api: &Api, id: &str, format: WebhooksFormat) -> Result<String, Failure> {
    match id.split_once('_') {
        Some(("app", _)) => {
            let thing = api.get(&format!("/v1/applications/{}", encoded(id))).await?;
            Ok(shown(&thing, format))
        }
        Some(("ep", _)) => {
            let path = api.in_app(&format!("/endpoints/{}", encoded(id))).await?;
            Ok(shown(&api.get(&path).await?, format))
        }
        Some(("msg", _)) => {
            let path = api.in_app(&format!("/messages/{}", encoded(id))).await?;
            let mut message = api.get(&path).await?;
            let deliveries = api.get(&format!("{path}/deliveries")).await?;
            if format == WebhooksFormat::Json {
                message["deliveries"] = deliveries["items"].clone();
                return Ok(shown(&message, format));
            }
            let columns = ["/endpoint", "/state", "/attempts", "/updated_at"];
            Ok(shown(&message, format) + &page::table(items(&deliveries), &columns))
        }
        _ => Err(wrong(
            "ID",
            id,
            "the id of an application (app_...), an endpoint (ep_...) or a message (msg_...)",
        )),
    }
}

async fn replay(api: &Api, ids: &[String], filter: &DeliveryFilterFlags) -> Result<u64, Failure> {
    let of_kind = |kind: &str| ids.iter().find(|id| id.starts_with(kind));
    let (message, endpoint) = (of_kind("msg_"), of_kind("ep_"));
    let named = usize::from(message.is_some()) + usize::from(endpoint.is_some());
    if named != ids.len() {
        return Err(wrong(
            "ID",
            &ids.join(" "),
            "the id of a message (msg_...), of an endpoint (ep_...), or one of each",
        ));
    }
    match (message, endpoint) {
        (Some(message), Some(endpoint)) => {
            let rest = format!("/messages/{}/deliveries/{}/replay", encoded(message), encoded(endpoint));
            api.post(&api.in_app(&rest).await?, String::new()).await?;
            Ok(1)
        }
        (Some(message), None) => replay_message(api, message, filter).await,
        (None, Some(endpoint)) => {
            let path = api.in_app(&format!("/endpoints/{}/replay", encoded(endpoint))).await?;
            replay_many(api, &path, filter).await
        }
        (None, None) if filter.state.is_none() => Err(Failure::Refused(
            "nothing is named: give the id of a message or an endpoint, or --state dead for all dead deliveries".to_owned(),
        )),
        (None, None) => replay_many(api, &api.in_app("/replay").await?, filter).await,
    }
}

/// Replays the finished deliveries of a message: the dead ones, or those in the state that is asked for.
async fn replay_message(
    api: &Api,
    message: &str,
    filter: &DeliveryFilterFlags,
) -> Result<u64, Failure> {
    let wanted = filter.state.as_deref().unwrap_or("dead");
    let path = api.in_app(&format!("/messages/{}/deliveries", encoded(message))).await?;
    let deliveries = api.get(&path).await?;
    let mut count = 0;
    for delivery in items(&deliveries).iter().filter(|it| it["state"] == wanted) {
        let endpoint = delivery["endpoint"].as_str().unwrap_or_default();
        api.post(&format!("{path}/{}/replay", encoded(endpoint)), String::new()).await?;
        count += 1;
    }
    Ok(count)
}

async fn replay_many(api: &Api, path: &str, filter: &DeliveryFilterFlags) -> Result<u64, Failure> {
    let DeliveryFilterFlags { state, endpoint, event_type, since, until } = filter;
    let all = [
        ("state", state),
        ("endpoint", endpoint),
        ("event_type", event_type),
        ("since", since),
        ("until", until),
    ];
    let given =
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?))));
    let body = Value::Object(given.collect());
    let answer = api.post(path, body.to_string()).await?;
    Ok(answer["replayed"].as_u64().unwrap_or_default())
}
