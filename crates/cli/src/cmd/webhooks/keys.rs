//! `stagger webhooks keys`: API keys with scopes, made, listed and deleted.

use serde_json::{Value, json};

use super::api::{Api, Failure, encoded, items};
use super::page;
use crate::flags::{KeysCommand, NewKeyFlags, WebhooksFormat};
use crate::streams;

const PATH: &str = "/v1/api-keys";

/// The columns of the list.
const COLUMNS: &[&str] = &["/id", "/name", "/scopes", "/application", "/last_used_on"];

/// Does what the flags ask for.
pub(super) async fn keys(
    api: &Api,
    command: &KeysCommand,
    format: WebhooksFormat,
) -> Result<String, Failure> {
    match command {
        KeysCommand::Create(new) => {
            let made = api.post(PATH, body(new).to_string()).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines([&made]),
                WebhooksFormat::Text => page::members(&made),
            })
        }
        KeysCommand::List => {
            let list = api.get(PATH).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines(items(&list)),
                WebhooksFormat::Text => table(items(&list)),
            })
        }
        KeysCommand::Delete { id } => {
            api.delete(&format!("{PATH}/{}", encoded(id))).await?;
            Ok(match format {
                WebhooksFormat::Json => page::json_lines([&json!({ "deleted": id })]),
                WebhooksFormat::Text => format!("deleted {id}\n"),
            })
        }
    }
}

fn body(new: &NewKeyFlags) -> Value {
    json!({
        "name": new.name,
        "scopes": new.scopes,
        "application": new.only_app,
        "expires_at": new.expires,
    })
}

/// The keys, a line each, with their scopes as the flags take them.
fn table(keys: &[Value]) -> String {
    if keys.is_empty() {
        streams::note("no API keys");
    }
    let line = |key: &Value| {
        let mut key = key.clone();
        let scopes = key["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        key["scopes"] = scopes.collect::<Vec<_>>().join(",").into();
        key
    };
    page::table(&keys.iter().map(line).collect::<Vec<_>>(), COLUMNS)
}
