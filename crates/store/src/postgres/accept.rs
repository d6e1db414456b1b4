//! Messages come in, with everything that becomes durable together.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Client;
use stagger_scheduler::model::{
    ApplicationId, Delivery, EndpointId, Message, MessageId, NewMessage,
};
use tokio_postgres::Row;

use super::row::{application_id, endpoint_id, from_instant, from_size, get, message_id, text};
use super::statement::DbError;
use super::writer::{Change, Changes, Memory};
use super::{lookups, statement};
use crate::{Accepted, ClusterAccept, Error, Fence, Lead, ShardId, Shards, document};

/// Calls of `accept` that share a transaction. Each is answered on its own: all of it, or refused.
pub(super) struct Accept<'n>(pub(super) &'n [AcceptCall<'n>]);

/// One call of `accept`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AcceptCall<'n> {
    pub(super) messages: &'n [NewMessage],
    /// None if neither settings nor a membership matter.
    pub(super) choice: Option<Choice>,
}

/// The settings version and leadership with which a node chose the endpoints of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) lead: Lead,
    pub(super) settings_version: u64,
}

/// A message, and the shards whose deliveries the accepting node makes.
pub(super) type Incoming<'n> = (&'n NewMessage, Shards);

impl Change for Accept<'_> {
    type Done = Vec<Result<ClusterAccept, Error>>;
    const AT_ONCE: bool = true;

    async fn make_at_once(
        &self,
        db: &Client,
        memory: &Memory,
        counter: i16,
    ) -> Result<Option<Self::Done>, DbError> {
        self.store_at_once(db, memory, counter, || ()).await
    }

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Self::Done, DbError> {
        let verdicts = self.judge(changes).await?;
        let mut wanted = Vec::new();
        for (call, _) in self.0.iter().zip(&verdicts).filter(|(_, verdict)| verdict.is_none()) {
            wanted.extend(call.messages.iter().map(|new| (new, call.led())));
        }
        let mut accepted = changes.accept(&wanted).await?.into_iter();
        let answer = |(call, verdict): (&AcceptCall<'_>, Option<_>)| {
            let mut stored = || accepted.by_ref().take(call.messages.len()).collect();
            verdict.unwrap_or_else(|| Ok(ClusterAccept::Stored(stored())))
        };
        Ok(self.0.iter().zip(verdicts).map(answer).collect())
    }
}

impl Accept<'_> {
    /// The refusal of each call, if it is refused.
    async fn judge(&self, changes: &mut Changes<'_>) -> Result<Vec<RefusedCall>, DbError> {
        let fences: BTreeSet<_> = self.0.iter().filter_map(AcceptCall::fence).collect();
        let fences: Vec<_> = fences.into_iter().collect();
        let messages = self.0.iter().flat_map(|call| call.messages);
        let applications = messages.map(|new| new.message.application).collect();
        let (members, there, settings_version) = tokio::try_join!(
            biased;
            changes.members(&fences),
            changes.applications(applications),
            changes.last_settings_version(),
        )?;
        let mut verdicts = Vec::new();
        for call in self.0 {
            let is_outdated =
                call.choice.is_some_and(|choice| choice.settings_version < settings_version);
            let leads = call.fence().is_none_or(|fence| members.contains(&fence));
            let is_refused = is_outdated || !leads;
            let all = |new: &NewMessage| there.contains(&new.message.application);
            // When it was tried before it may have been in time.
            let holds = is_refused && changes.again && changes.has_stored(call.messages).await?;
            verdicts.push(match (is_refused && !holds, call.messages.iter().all(all)) {
                (true, _) if leads => Some(Ok(ClusterAccept::Outdated)),
                (true, _) => Some(Ok(ClusterAccept::NotLeading)),
                (false, false) => Some(Err(Error::not_found("application"))),
                (false, true) => None,
            });
        }
        Ok(verdicts)
    }
}

type RefusedCall = Option<Result<ClusterAccept, Error>>;

impl AcceptCall<'_> {
    /// In which shards the caller makes the deliveries itself.
    fn led(&self) -> Shards {
        self.choice.map_or(Shards::NONE, |choice| choice.lead.shards)
    }

    /// Whether the caller makes the deliveries to this endpoint itself.
    pub(super) fn leads(&self, endpoint: EndpointId) -> bool {
        self.led().contains(ShardId::of(endpoint))
    }

    /// The membership that it depends on: none if all deliveries are made by others.
    pub(super) fn fence(&self) -> Option<Fence> {
        let led = self.led();
        let mut endpoints = self.messages.iter().flat_map(|new| &new.endpoints);
        let any = endpoints.any(|endpoint| led.contains(ShardId::of(*endpoint)));
        self.choice.filter(|_| any).map(|choice| choice.lead.fence)
    }
}

impl Changes<'_> {
    /// Whether one of these messages is stored. If a transaction with a broken connection is just
    /// storing them, this waits for it with an insertion, which is rolled back.
    async fn has_stored(&mut self, new: &[NewMessage]) -> Result<bool, DbError> {
        let ids: Vec<_> = new.iter().map(|new| *new.message.id.as_uuid()).collect();
        let slack = self.slack;
        self.db.batch_execute("SAVEPOINT doubt").await?;
        let new: Vec<_> = new.iter().collect();
        self.announce(&new).await?;
        self.insert_messages(&new).await?;
        self.db.batch_execute("ROLLBACK TO SAVEPOINT doubt").await?;
        self.slack = slack;
        let sql = "SELECT 1 FROM message WHERE id = ANY($1) LIMIT 1";
        Ok(statement::row(&self.db, sql, &[&ids]).await?.is_some())
    }

    /// The applications of these that exist. They stay until the transaction ends.
    pub(super) async fn applications(
        &self,
        ids: BTreeSet<ApplicationId>,
    ) -> Result<BTreeSet<ApplicationId>, DbError> {
        let ids: Vec<_> = ids.iter().map(|id| *id.as_uuid()).collect();
        let sql = "SELECT id FROM application WHERE id = ANY($1) AND NOT gone ORDER BY id \
                   FOR KEY SHARE";
        let found = statement::rows(&self.db, sql, &[&ids]).await?;
        found.iter().map(|row| application_id(row, 0)).collect()
    }

    /// The endpoints of these that exist. They stay until the transaction ends.
    pub(super) async fn endpoints(
        &self,
        ids: BTreeSet<EndpointId>,
    ) -> Result<BTreeSet<EndpointId>, DbError> {
        let ids: Vec<_> = ids.iter().map(|id| *id.as_uuid()).collect();
        let sql = "SELECT id FROM endpoint WHERE id = ANY($1) AND gone_at IS NULL ORDER BY id \
                   FOR KEY SHARE";
        let found = statement::rows(&self.db, sql, &[&ids]).await?;
        found.iter().map(|row| endpoint_id(row, 0)).collect()
    }

    /// Stores messages whose applications exist.
    pub(super) async fn accept(&mut self, new: &[Incoming<'_>]) -> Result<Vec<Accepted>, DbError> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let messages: Vec<_> = new.iter().map(|(new, _)| *new).collect();
        let wanted = new.iter().flat_map(|(new, _)| new.endpoints.iter().copied()).collect();
        self.announce(&messages).await?;
        let (fresh, there) = tokio::try_join!(
            biased;
            self.insert_messages(&messages),
            self.endpoints(wanted),
        )?;
        let mut first = BTreeSet::new();
        let (mut stored, mut repeated) = (Vec::new(), Vec::new());
        for (one, led) in new {
            let is_new = fresh.is(&one.message) && first.insert(one.message.id);
            if is_new { stored.push((*one, *led)) } else { repeated.push(&one.message) }
        }
        self.store(&stored, &there).await?;
        let earlier = self.find_earlier(&repeated).await?;
        let mut first = BTreeSet::new();
        let answer = |(one, _): &Incoming<'_>| {
            let id = one.message.id;
            if fresh.is(&one.message) && first.insert(id) {
                return Ok(Accepted { id, repeated: false });
            }
            // Later messages of this batch are not repeated by this one.
            let is_earlier = |id: MessageId| first.contains(&id) || !fresh.holds(id);
            let id = earlier.of(&one.message, is_earlier).ok_or_else(|| {
                // It was pruned between the two statements.
                Error::busy("a message with the same idempotency key was just deleted")
            })?;
            // Rows that an earlier try of this transaction wrote are no repetition.
            let own = self.again && id == one.message.id && first.insert(id);
            Ok(Accepted { id, repeated: !own })
        };
        new.iter().map(answer).collect()
    }

    /// Prepares the facts about the store as a whole for messages that are to be inserted.
    async fn announce(&mut self, new: &[&NewMessage]) -> Result<(), DbError> {
        let messages = || new.iter().map(|new| &new.message);
        self.widen_slack(messages()).await?;
        messages().for_each(|message| self.memory.lower_floor(message.id));
        Ok(())
    }

    /// Inserts messages; those that exist, by id or key, are left out.
    async fn insert_messages(&self, new: &[&NewMessage]) -> Result<InsertedMessages, DbError> {
        let messages = || new.iter().map(|new| &new.message);
        let ids: Vec<_> = messages().map(|m| *m.id.as_uuid()).collect();
        let applications: Vec<_> = messages().map(|m| *m.application.as_uuid()).collect();
        let types: Vec<_> = messages().map(|m| m.event_type.as_str()).collect();
        let keys: Vec<_> = messages().map(|m| m.key.as_ref().map(|key| key.as_str())).collect();
        let content_types: Vec<_> = messages().map(|m| text(&m.content_type)).collect();
        let sizes: Vec<_> = messages().map(|m| from_size(m.size)).collect();
        let times: Vec<_> = messages().map(|m| from_instant(m.created_at)).collect();
        let documents = messages().map(document::of_message).collect::<Result<Vec<_>, _>>()?;
        let sql = "INSERT INTO message (id, application, event_type, key, content_type, size, \
                   created_at, document) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], \
                   $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[]) \
                   ON CONFLICT DO NOTHING \
                   RETURNING id, application, key";
        let inserted = statement::rows(
            &self.db,
            sql,
            &[&ids, &applications, &types, &keys, &content_types, &sizes, &times, &documents],
        )
        .await?;
        let named = |row: &Row| Ok((message_id(row, 0)?, (application_id(row, 1)?, get(row, 2)?)));
        Ok(InsertedMessages(inserted.iter().map(named).collect::<Result<_, DbError>>()?))
    }

    /// Stores the payloads and deliveries of new messages. `there` are those of their endpoints that exist.
    async fn store(
        &mut self,
        new: &[Incoming<'_>],
        there: &BTreeSet<EndpointId>,
    ) -> Result<(), DbError> {
        if new.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = new.iter().map(|(new, _)| *new.message.id.as_uuid()).collect();
        let payloads: Vec<_> = new.iter().map(|(new, _)| &new.payload[..]).collect();
        // A new message has no payload yet: none is there without its message.
        let sql =
            "INSERT INTO payload (message, bytes) SELECT * FROM unnest($1::uuid[], $2::bytea[])";
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&ids, &payloads];
        let delivery = |of: &Message, to: &EndpointId| {
            let delivery = Delivery::new(of.id, *to, of.application, of.created_at);
            if there.contains(to) { delivery } else { delivery.endpoint_deleted(of.created_at) }
        };
        let (mut deliveries, mut arrivals) = (BTreeMap::new(), BTreeSet::new());
        for (one, led) in new {
            for to in &one.endpoints {
                let delivery = delivery(&one.message, to);
                if delivery.state.is_open() && !led.contains(ShardId::of(*to)) {
                    arrivals.insert((one.message.id, *to));
                }
                deliveries.insert((one.message.id, *to), delivery);
            }
        }
        let deliveries: Vec<_> = deliveries.into_values().collect();
        self.count_new(&deliveries);
        let counts = self.tally.take();
        // In one round trip.
        tokio::try_join!(
            biased;
            statement::run(&self.db, sql, &bound),
            self.write_new(&deliveries),
            self.insert_arrivals(&arrivals),
            lookups::write_counts(&self.db, &counts, self.counter),
        )
        .map(drop)
    }

    async fn find_earlier(&self, repeated: &[&Message]) -> Result<Earlier, DbError> {
        let mut earlier = Earlier::default();
        if repeated.is_empty() {
            return Ok(earlier);
        }
        let ids: Vec<_> = repeated.iter().map(|message| *message.id.as_uuid()).collect();
        let applications: Vec<_> = repeated.iter().map(|m| *m.application.as_uuid()).collect();
        let keys: Vec<_> =
            repeated.iter().map(|m| m.key.as_ref().map(|key| key.as_str())).collect();
        let by_id = "SELECT id FROM message WHERE id = ANY($1)";
        let by_key = "SELECT m.id, m.application, m.key FROM unnest($1::uuid[], $2::text[]) \
                      AS n (application, key) JOIN message m \
                      ON m.application = n.application AND m.key = n.key";
        for row in statement::rows(&self.db, by_id, &[&ids]).await? {
            earlier.ids.insert(message_id(&row, 0)?);
        }
        for row in statement::rows(&self.db, by_key, &[&applications, &keys]).await? {
            let key = (application_id(&row, 1)?, get(&row, 2)?);
            earlier.keys.insert(key, message_id(&row, 0)?);
        }
        Ok(earlier)
    }
}

/// The inserted messages. Of several with one id, the first whose key was free: the id alone does
/// not identify it.
struct InsertedMessages(BTreeMap<MessageId, (ApplicationId, Option<String>)>);

impl InsertedMessages {
    fn holds(&self, id: MessageId) -> bool {
        self.0.contains_key(&id)
    }

    /// Whether `message`, or another with the same id and the same key, was inserted.
    fn is(&self, message: &Message) -> bool {
        self.0.get(&message.id).is_some_and(|(application, key)| {
            *application == message.application
                && key.as_deref() == message.key.as_ref().map(|key| key.as_str())
        })
    }
}

/// The messages that exist already.
#[derive(Default)]
struct Earlier {
    ids: BTreeSet<MessageId>,
    keys: BTreeMap<(ApplicationId, String), MessageId>,
}

impl Earlier {
    /// The message that `message` repeats, by its key or by its id.
    fn of(&self, message: &Message, is_earlier: impl Fn(MessageId) -> bool) -> Option<MessageId> {
        let key = message.key.as_ref().map(|key| (message.application, key.as_str().to_owned()));
        let by_key = key.and_then(|key| self.keys.get(&key)).copied();
        let by_key = by_key.filter(|id| is_earlier(*id));
        by_key.or_else(|| self.ids.contains(&message.id).then_some(message.id))
    }
}
