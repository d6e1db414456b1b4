//! `stagger webhooks tail`: each change of a delivery, as it happens.

use std::collections::HashMap;

use serde_json::Value;
use stagger::{Clock, Sleep, Span, TokioTime};
use tokio::signal;

use super::api::{Api, Failure, encoded, items};
use super::page;
use crate::flags::{ListKind, WebhooksFormat};
use crate::streams;

/// The time between two looks.
const PAUSE: Span = Span::from_secs(1);
/// The deliveries that are followed at most; beyond them it begins anew with what comes next.
const MOST: usize = 50_000;

/// Prints changes until Ctrl-C, or for `time`.
pub(super) async fn tail(
    api: &Api,
    format: WebhooksFormat,
    time: Option<Span>,
) -> Result<(), Failure> {
    let path = api.in_app("/deliveries").await?;
    let mut followed = DeliveryFollower::from_now(api, &path).await?;
    streams::note(&format!("following deliveries of {}; Ctrl-C ends", api.place()));
    let began = TokioTime.now();
    loop {
        let left = time.map(|time| time - TokioTime.now().since(began));
        let pause = left.map_or(PAUSE, |left| left.min(PAUSE));
        tokio::select! {
            // Without a handler Ctrl-C ends the process anyway.
            _ = signal::ctrl_c() => return Ok(()),
            () = TokioTime.sleep(pause) => {}
        }
        let changed = followed.look(api, &path).await?;
        let shown = match format {
            WebhooksFormat::Json => page::json_lines(&changed),
            WebhooksFormat::Text => page::table(&changed, page::columns(ListKind::Deliveries)),
        };
        let is_read = streams::piece(shown.as_bytes()).map_err(|error| {
            Failure::Unavailable(format!("cannot write to standard output: {error}"))
        })?;
        if !is_read || left.is_some_and(|left| left <= PAUSE) {
            return Ok(());
        }
    }
}

/// The deliveries of the messages after one of them, as they were seen last.
struct DeliveryFollower {
    /// The newest message before them. Ids are in the order of acceptance.
    after: String,
    seen: HashMap<(String, String), (String, u64)>,
}

impl DeliveryFollower {
    async fn from_now(api: &Api, path: &str) -> Result<Self, Failure> {
        let newest = api.get(&format!("{path}?limit=1")).await?;
        let after = items(&newest).first().map(|it| member(it, "message")).unwrap_or_default();
        Ok(Self { after, seen: HashMap::new() })
    }

    /// The deliveries that have changed since the last look, oldest first.
    async fn look(&mut self, api: &Api, path: &str) -> Result<Vec<Value>, Failure> {
        let (mut changed, mut cursor) = (Vec::new(), String::new());
        'pages: loop {
            let answer = api.get(&format!("{path}?limit=250{cursor}")).await?;
            for delivery in items(&answer) {
                if member(delivery, "message") <= self.after {
                    break 'pages;
                }
                if self.note(delivery) {
                    changed.push(delivery.clone());
                }
            }
            let Some(next) = answer["next"].as_str() else { break };
            cursor = format!("&cursor={}", encoded(next));
        }
        if self.seen.len() > MOST {
            streams::note(
                "more than 50000 deliveries: following the messages that come from now on",
            );
            *self = Self::from_now(api, path).await?;
        }
        changed.reverse();
        Ok(changed)
    }

    /// Whether it is another than when it was seen last.
    fn note(&mut self, delivery: &Value) -> bool {
        let name = (member(delivery, "message"), member(delivery, "endpoint"));
        let now = (member(delivery, "state"), delivery["attempts"].as_u64().unwrap_or_default());
        self.seen.insert(name, now.clone()) != Some(now)
    }
}

fn member(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_delivery_that_did_not_change_was_told_again() {
        let mut followed = DeliveryFollower { after: String::new(), seen: HashMap::new() };
        let at = |state, attempts| json!({"message": "msg_1", "endpoint": "ep_1", "state": state, "attempts": attempts});
        let told = [("pending", 0), ("pending", 0), ("waiting", 1), ("waiting", 2), ("waiting", 2)]
            .map(|(state, attempts)| followed.note(&at(state, attempts)));
        assert_eq!(told, [true, false, true, true, false]);
    }
}
