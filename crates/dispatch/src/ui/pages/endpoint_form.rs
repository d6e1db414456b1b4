//! The settings of an endpoint as a form has them, and as the API takes them.

use serde_json::{Map, Value, json};
use stagger_scheduler::model::Endpoint;

use crate::api::manage;
use crate::ui::view::{AuthForm, EndpointForm};

/// The text that stands for a secret value.
const HIDDEN: &str = "********";

impl EndpointForm {
    /// The settings of an endpoint, as the API shows them.
    pub(in crate::ui) fn of(endpoint: &Endpoint) -> Self {
        let shown = manage::shown(endpoint, endpoint.updated_at);
        let text = |name: &str| match &shown[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let list = |name: &str| {
            let items = shown[name].as_array().into_iter().flatten();
            let item = |item: &Value| item.as_str().map_or(item.to_string(), str::to_owned);
            items.map(item).collect::<Vec<_>>().join(", ")
        };
        let lines = |sensitive| {
            let headers = endpoint.headers.iter().filter(|header| header.sensitive == sensitive);
            let line = |name: &str, value: &str| format!("{name}: {value}");
            let lines =
                headers.map(|it| line(&it.name, if sensitive { HIDDEN } else { &it.value }));
            lines.collect::<Vec<_>>().join("\n")
        };
        Self {
            url: text("url"),
            description: text("description"),
            events: list("events"),
            timeout: text("timeout"),
            concurrency: text("concurrency"),
            rate: text("rate"),
            ordered: if endpoint.ordered { "on" } else { "" }.into(),
            permanent: list("permanent"),
            disable_after: text("disable_after"),
            headers: lines(false),
            secret_headers: lines(true),
            channels: list("channels"),
            filter: match &shown["filter"] {
                Value::Null => String::new(),
                filter => serde_json::to_string_pretty(filter).unwrap_or_default(),
            },
            format: text("format"),
            signatures: text("signatures"),
            handshake: if endpoint.handshake { "on" } else { "" }.into(),
            auth: AuthForm::of(&shown["auth"]),
        }
    }

    /// The settings as the API takes them: as a patch over those of `old`.
    ///
    /// # Errors
    /// A text that is no value of its setting, in words.
    pub(in crate::ui) fn settings(&self, old: Option<&Endpoint>) -> Result<Value, String> {
        let words = |text: &str| {
            let words = text.split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect::<Vec<String>>()
        };
        let number = |name: &str, text: &str| match text.trim() {
            "" => Ok(Value::Null),
            text => text
                .parse::<i64>()
                .map(Value::from)
                .map_err(|_| format!("{name} = {text}: must be a number")),
        };
        let optional = |text: &str| match text.trim() {
            "" => Value::Null,
            text => Value::from(text),
        };
        let permanent = words(&self.permanent)
            .iter()
            .map(|text| number("permanent", text))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(json!({
            "url": self.url.trim(),
            "description": self.description.trim(),
            "events": words(&self.events),
            "timeout": optional(&self.timeout),
            "concurrency": number("concurrency", &self.concurrency)?,
            "rate": number("rate", &self.rate)?,
            "ordered": !self.ordered.is_empty(),
            "permanent": permanent,
            "disable_after": optional(&self.disable_after),
            "headers": self.header_patch(old)?,
            "channels": words(&self.channels),
            "filter": self.filter_settings()?,
            "format": optional(&self.format),
            "signatures": optional(&self.signatures),
            "handshake": !self.handshake.is_empty(),
            "auth": self.auth.settings(),
        }))
    }

    /// The form as a page shows it again after an error: all that was typed except secrets. The name of a secret header stays, without
    /// a colon, so that it is not saved without its value.
    pub(in crate::ui) fn without_secrets(mut self) -> Self {
        let line = |line: &str| match line.split_once(':') {
            Some((name, value)) if value.trim() != HIDDEN => name.trim().to_owned(),
            _ => line.to_owned(),
        };
        self.secret_headers = self.secret_headers.lines().map(line).collect::<Vec<_>>().join("\n");
        self
    }

    /// The filter that was typed; null for none.
    fn filter_settings(&self) -> Result<Value, String> {
        match self.filter.trim() {
            "" => Ok(Value::Null),
            text => serde_json::from_str(text)
                .map_err(|error| format!("filter: must be a filter in JSON: {error}")),
        }
    }

    /// The headers that were typed; null for those that were there and are not any more.
    fn header_patch(&self, old: Option<&Endpoint>) -> Result<Value, String> {
        let mut patch = Map::new();
        for (text, sensitive) in [(&self.headers, false), (&self.secret_headers, true)] {
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let wrong = || format!("headers: {line} must be a name, a colon and a value");
                let (name, value) = line.split_once(':').ok_or_else(wrong)?;
                let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
                let is_kept = sensitive && value == HIDDEN;
                let value = if is_kept {
                    json!({ "sensitive": true })
                } else {
                    json!({ "value": value, "sensitive": sensitive })
                };
                if patch.insert(name.clone(), value).is_some() {
                    return Err(format!("headers: {name} must be named once"));
                }
            }
        }
        for header in old.into_iter().flat_map(|old| &old.headers) {
            patch.entry(header.name.clone()).or_insert(Value::Null);
        }
        Ok(Value::Object(patch))
    }
}

impl AuthForm {
    /// The credentials that the API shows: all but their secrets.
    fn of(shown: &Value) -> Self {
        let text = |name: &str| shown[name].as_str().unwrap_or_default().to_owned();
        Self {
            kind: text("type"),
            username: text("username"),
            token_url: text("token_url"),
            client_id: text("client_id"),
            scope: text("scope"),
            audience: text("audience"),
            client_auth: text("client_auth"),
            certificate: text("certificate"),
            ca: text("ca"),
            ..Self::default()
        }
    }

    /// The credentials as the API takes them; a secret that was left empty is not touched.
    fn settings(&self) -> Value {
        let text = |text: &str| Value::from(text.trim());
        let optional = |given: &str| match given.trim() {
            "" => Value::Null,
            given => Value::from(given),
        };
        let (mut settings, secret) = match self.kind.as_str() {
            "" => return Value::Null,
            "basic" => (json!({"username": text(&self.username)}), ("password", &self.password)),
            "bearer" => (json!({}), ("token", &self.token)),
            "oauth2" => {
                let settings = json!({
                    "token_url": text(&self.token_url),
                    "client_id": text(&self.client_id),
                    "scope": optional(&self.scope),
                    "audience": optional(&self.audience),
                    "client_auth": optional(&self.client_auth),
                });
                (settings, ("client_secret", &self.client_secret))
            }
            "mtls" => {
                let settings =
                    json!({"certificate": text(&self.certificate), "ca": optional(&self.ca)});
                (settings, ("key", &self.key))
            }
            // The API says which kinds there are.
            _ => (json!({}), ("", &self.token)),
        };
        settings["type"] = Value::from(self.kind.as_str());
        if let (name, Some(secret)) = (secret.0, secret.1.given())
            && !name.is_empty()
        {
            settings[name] = Value::from(secret);
        }
        settings
    }
}
