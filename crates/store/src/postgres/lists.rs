//! Lists in pages: walks along an index, some rows at a time.

use deadpool_postgres::GenericClient;
use stagger::Instant;
use stagger_scheduler::model::{ApplicationId, Delivery, DeliveryState, Message, MessageId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::row::{from_size, get, instant};
use super::statement::DbError;
use super::{row, statement};
use crate::encoding::state_number;
use crate::walk::{Begin, Gathering, IdRange, Walk, WalkOrder};
use crate::{Cursor, DeliveryFilter, ListPage, MessageFilter, PageRequest};

/// Rows that are fetched in one read, once the first few have not been enough.
const FETCHED: usize = 2_000;
/// By how much more are fetched each time.
const GROWTH: usize = 4;

/// A page of an application's messages.
pub(super) async fn messages(
    db: &impl GenericClient,
    application: ApplicationId,
    filter: &MessageFilter,
    page: PageRequest,
) -> Result<ListPage<Message>, DbError> {
    let ids = ids(db, filter.since, filter.until).await?;
    let after = page.after.map(|cursor| MessageId::from_uuid(cursor.message));
    let mut begin = after.map_or(ids.to, |after| after.min(ids.to));
    let nothing = MessageId::from_uuid(Uuid::nil());
    let (mut except, mut limit) = (after.unwrap_or(nothing), page.limit + 1);
    let mut found = Gathering::new(page.limit);
    loop {
        let bound: [&(dyn ToSql + Sync); 5] = [
            application.as_uuid(),
            begin.as_uuid(),
            ids.from.as_uuid(),
            except.as_uuid(),
            &from_size(limit),
        ];
        let rows = statement::rows(db, &messages_sql(), &bound).await?;
        for row in &rows {
            let message = row::message(row)?;
            (begin, except) = (message.id, message.id);
            let (at, passes) = (Cursor::of_message(message.id), filter.passes(&message));
            found.see(at, passes.then_some(message));
            if found.is_over() {
                break;
            }
        }
        if found.is_over() || rows.len() < limit {
            return Ok(found.into_page());
        }
        limit = (limit * GROWTH).min(FETCHED);
    }
}

/// A page of deliveries.
pub(super) async fn deliveries(
    db: &impl GenericClient,
    application: Option<ApplicationId>,
    filter: &DeliveryFilter,
    page: PageRequest,
) -> Result<ListPage<Delivery>, DbError> {
    let along = Walk::of(application, filter);
    let mut found = Gathering::new(page.limit);
    let first = page.limit + 1;
    walk(db, along, filter, WalkOrder::NewestFirst, page.after, first, &mut |at, seen| {
        let passes = |(delivery, passes): &(Delivery, bool)| {
            *passes && application.is_none_or(|wanted| wanted == delivery.application)
        };
        found.see(at, seen.filter(passes).map(|(delivery, _)| delivery));
        !found.is_over()
    })
    .await?;
    Ok(found.into_page())
}

/// Shows each delivery, and whether it passes `filter`, to `see`, after `after`, until `see` says no. A message without deliveries is shown as a place only. `first` rows are fetched at first.
pub(super) async fn walk(
    db: &impl GenericClient,
    along: Walk,
    filter: &DeliveryFilter,
    order: WalkOrder,
    after: Option<Cursor>,
    first: usize,
    see: &mut (dyn FnMut(Cursor, Option<(Delivery, bool)>) -> bool + Send),
) -> Result<(), DbError> {
    let ids = ids(db, filter.since, filter.until).await?;
    let (sql, mut after, mut limit) = (walk_sql(along, order, filter), after, first.min(FETCHED));
    loop {
        let begin = Begin::of(order, after, ids);
        let rows = statement::rows(db, &sql, &bound(&along, &begin, &from_size(limit))).await?;
        let mut places = 0;
        for row in &rows {
            let at = place(row, order)?;
            places += usize::from(after.is_none_or(|after| after.message != at.message));
            after = Some(at);
            if !see(at, read(row, filter)?) {
                return Ok(());
            }
        }
        // Of an application's messages the limit counts messages, each with any number of rows.
        let counted = if matches!(along, Walk::OfApplication(_)) { places } else { rows.len() };
        if rows.is_empty() || counted + 1 < limit {
            return Ok(());
        }
        limit = (limit * GROWTH).min(FETCHED);
    }
}

/// The ids of messages accepted from `since` on and before `until`.
async fn ids(
    db: &impl GenericClient,
    since: Option<Instant>,
    until: Option<Instant>,
) -> Result<IdRange, DbError> {
    let slack = if since.or(until).is_some() { read_slack(db).await? } else { 0 };
    Ok(IdRange::of(slack, since, until))
}

/// The slack that is written down, in milliseconds.
pub(super) async fn read_slack(db: &impl GenericClient) -> Result<u64, DbError> {
    let row = statement::row(db, "SELECT value FROM mark WHERE name = 'slack'", &[]).await?;
    let slack = row.map(|row| get::<i64>(&row, 0)).transpose()?;
    Ok(slack.unwrap_or_default().cast_unsigned())
}

fn messages_sql() -> String {
    format!(
        "SELECT {} FROM message m WHERE m.application = $1 AND m.id <= $2 AND m.id >= $3 \
         AND m.id <> $4 ORDER BY m.id DESC LIMIT $5",
        row::MESSAGE
    )
}

/// The statement of a walk. `$1` and `$2` are its begin, `$3` is its end, `$4` the number of rows,
/// `$5` and `$6` its filter.
fn walk_sql(along: Walk, order: WalkOrder, filter: &DeliveryFilter) -> String {
    let (past, until, way) = match order {
        WalkOrder::NewestFirst => ("<", ">=", "DESC"),
        WalkOrder::OldestFirst => (">", "<=", "ASC"),
    };
    let status = if filter.status.is_some() { LAST_STATUS } else { "NULL::integer" };
    if let Walk::OfApplication(_) = along {
        // Spelt out, because statistics do not tell whether few of all deliveries are this
        // application's.
        return format!(
            "WITH m AS MATERIALIZED (SELECT id, created_at, event_type FROM message \
             WHERE application = $5 AND id {past}= $1 AND id {until} $3 ORDER BY id {way} LIMIT $4) \
             SELECT {}, m.created_at, m.id, m.event_type, {status} \
             FROM m LEFT JOIN delivery d ON d.message = m.id \
             AND (d.message, d.endpoint) {past} ($1, $2) ORDER BY m.id {way}, d.endpoint {way}",
            row::DELIVERY
        );
    }
    let of_message = |column, kind| match filter.asks_for_message() {
        true => format!("(SELECT {column} FROM message WHERE id = d.message)"),
        false => format!("NULL::{kind}"),
    };
    let columns = format!(
        "{}, {}, d.message, {}, {status}",
        row::DELIVERY,
        of_message("created_at", "bigint"),
        of_message("event_type", "text")
    );
    let range = format!(
        "d.message {past}= $1 AND d.message {until} $3 AND (d.message, d.endpoint) {past} ($1, $2)"
    );
    let narrowed = match along {
        Walk::All | Walk::OfApplication(_) => "".to_owned(),
        Walk::OpenOfEach(application, state) => {
            let of = if application.is_some() { "WHERE e.application = $5" } else { "" };
            return format!(
                "SELECT {columns} FROM endpoint e CROSS JOIN LATERAL (SELECT * FROM delivery d \
                 WHERE {} AND {range} ORDER BY d.message {way} LIMIT $4) d {of} \
                 ORDER BY d.message {way}, d.endpoint {way} LIMIT $4",
                open_of("e.id", state)
            );
        }
        Walk::OpenOfEndpoint(_, state) => format!("{} AND", open_of("$5", state)),
        Walk::Ended(_) => "d.ended >= 3 AND d.ended = $5 AND".to_owned(),
        Walk::EndedOfApplication(..) => {
            "d.application = $5 AND d.ended >= 3 AND d.ended = $6 AND".to_owned()
        }
        Walk::OfEndpoint(_) if filter.state == Some(DeliveryState::Delivered) => {
            "d.endpoint = $5 AND d.ended = 2 AND".to_owned()
        }
        Walk::OfEndpoint(_) => {
            return format!(
                "SELECT {columns} FROM ({}) d ORDER BY d.message {way}, d.endpoint {way} LIMIT $4",
                of_endpoint(&range, way)
            );
        }
        Walk::EndedOfEndpoint(..) => {
            "d.endpoint = $5 AND d.ended >= 3 AND d.ended = $6 AND".to_owned()
        }
    };
    format!(
        "SELECT {columns} FROM delivery d WHERE {narrowed} {range} \
         ORDER BY d.message {way}, d.endpoint {way} LIMIT $4"
    )
}

/// The deliveries of an endpoint in every state. Each part is in order along its own index, and only what may be on
/// the page is merged.
fn of_endpoint(range: &str, way: &str) -> String {
    let part = |of: String| {
        format!(
            "(SELECT * FROM delivery d WHERE {of} AND {range} ORDER BY d.message {way} LIMIT $4)"
        )
    };
    let parts = [
        format!("d.shard = {} AND d.endpoint = $5 AND d.ended = 0", shard_of("$5")),
        "d.endpoint = $5 AND d.ended = 2".to_owned(),
        "d.endpoint = $5 AND d.ended >= 3 AND d.ended = 3".to_owned(),
        "d.endpoint = $5 AND d.ended >= 3 AND d.ended = 4".to_owned(),
    ];
    parts.map(part).join(" UNION ALL ")
}

/// The condition for the open deliveries of an endpoint in one state. Those that wait have an index of their own; the
/// state is spelt out, so that a plan without values may use it.
fn open_of(endpoint: &str, state: DeliveryState) -> String {
    let number = state_number(state);
    if state == DeliveryState::Waiting {
        return format!("d.endpoint = {endpoint} AND d.state = {number}");
    }
    let shard = shard_of(endpoint);
    format!("d.shard = {shard} AND d.endpoint = {endpoint} AND d.ended = 0 AND d.state = {number}")
}

/// The shard of an endpoint, as [`ShardId::of`](crate::ShardId::of) has it.
fn shard_of(endpoint: &str) -> String {
    format!("get_byte(sha256(uuid_send({endpoint})), 0)::smallint")
}

/// The status of a delivery's last attempt, which is found in the partition of the message's day: the
/// first 48 bits of an id are its milliseconds (RFC 9562 section 5.7).
const LAST_STATUS: &str = "(SELECT a.status FROM attempt a WHERE a.day = (('x' || substr(replace(d.message::text, '-', ''), \
     1, 12))::bit(48)::bigint / 86400000)::integer AND a.message = d.message \
     AND a.endpoint = d.endpoint AND a.number = d.attempts)";

fn bound<'b>(along: &'b Walk, begin: &'b Begin, limit: &'b i64) -> Vec<&'b (dyn ToSql + Sync)> {
    let mut bound: Vec<&(dyn ToSql + Sync)> =
        vec![begin.message.as_uuid(), begin.endpoint.as_uuid(), begin.end.as_uuid(), limit];
    match along {
        Walk::All => {}
        Walk::OpenOfEach(application, _) => {
            bound.extend(application.as_ref().map(|of| of.as_uuid() as &(dyn ToSql + Sync)));
        }
        Walk::Ended(state) => bound.push(number(*state)),
        Walk::OfApplication(application) => bound.push(application.as_uuid()),
        Walk::OfEndpoint(endpoint) | Walk::OpenOfEndpoint(endpoint, _) => {
            bound.push(endpoint.as_uuid());
        }
        Walk::EndedOfApplication(application, state) => {
            bound.extend([application.as_uuid() as &(dyn ToSql + Sync), number(*state)]);
        }
        Walk::EndedOfEndpoint(endpoint, state) => {
            bound.extend([endpoint.as_uuid() as &(dyn ToSql + Sync), number(*state)]);
        }
    }
    bound
}

/// The number of a state that outlives the call.
fn number(state: DeliveryState) -> &'static i16 {
    const NUMBERS: [i16; 5] = [0, 1, 2, 3, 4];
    &NUMBERS[usize::from(state_number(state))]
}

/// The column after those of a delivery.
const ACCEPTED_AT: usize = 10;

/// The position of a row. A message without deliveries is past the position of its deliveries.
fn place(row: &Row, order: WalkOrder) -> Result<Cursor, DbError> {
    let past = match order {
        WalkOrder::NewestFirst => Uuid::nil(),
        WalkOrder::OldestFirst => Uuid::max(),
    };
    let message = get(row, ACCEPTED_AT + 1)?;
    Ok(Cursor { message, endpoint: get::<Option<Uuid>>(row, 1)?.unwrap_or(past) })
}

fn read(row: &Row, filter: &DeliveryFilter) -> Result<Option<(Delivery, bool)>, DbError> {
    if get::<Option<Uuid>>(row, 1)?.is_none() {
        return Ok(None);
    }
    let accepted_at = get::<Option<i64>>(row, ACCEPTED_AT)?.map_or(Instant::ORIGIN, instant);
    let event_type = get::<Option<&str>>(row, ACCEPTED_AT + 2)?.unwrap_or_default();
    let status = get::<Option<i32>>(row, ACCEPTED_AT + 3)?;
    let delivery = row::delivery(row)?;
    let passes = filter.passes(&delivery)
        && filter.passes_message(event_type, accepted_at)
        && filter.passes_status(status.and_then(|status| u16::try_from(status).ok()));
    Ok(Some((delivery, passes)))
}

#[cfg(test)]
mod tests {
    use stagger_scheduler::model::DeliveryState::{Dead, Delivered, Pending, Waiting};

    use super::super::test_schema::TestSchema;
    use super::*;
    use crate::testing::fixture::{app, ep};

    #[tokio::test]
    async fn no_list_is_sorted_or_scanned() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let everything = DeliveryFilter::default();
        let delivered = DeliveryFilter { state: Some(Delivered), ..everything.clone() };
        let (to, of) = (ep(1), app(1));
        let walks = [
            (Walk::All, &everything, "delivery_pkey", 4),
            (Walk::OpenOfEndpoint(to, Pending), &everything, "delivery_open_by_leader", 5),
            (Walk::OpenOfEndpoint(to, Waiting), &everything, "delivery_waiting_by_endpoint", 5),
            (Walk::OfEndpoint(to), &delivered, "delivery_delivered_by_endpoint", 5),
            (Walk::Ended(Dead), &everything, "delivery_ended", 5),
            (Walk::EndedOfApplication(of, Dead), &everything, "delivery_ended_by_application", 6),
            (Walk::EndedOfEndpoint(to, Dead), &everything, "delivery_ended_by_endpoint", 6),
        ];
        for (walk, filter, index, parameters) in walks {
            for order in [WalkOrder::NewestFirst, WalkOrder::OldestFirst] {
                let plan = schema.plan(&walk_sql(walk, order, filter), parameters).await;
                assert!(plan.contains(&format!("{index} on delivery d")), "{plan}");
                assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
            }
        }
        let plan = schema.plan(&messages_sql(), 5).await;
        assert!(plan.contains("message_by_application") && !plan.contains("Sort"), "{plan}");
        // An application's deliveries are found through its messages, a bounded number at a time.
        let of = walk_sql(Walk::OfApplication(of), WalkOrder::NewestFirst, &everything);
        let plan = schema.plan(&of, 5).await;
        assert!(plan.contains("message_by_application") && !plan.contains("Seq Scan"), "{plan}");
    }

    /// Each part is read along its index, and only the beginnings of the parts are sorted.
    #[tokio::test]
    async fn what_is_merged_is_read_in_order() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let everything = DeliveryFilter::default();
        let each = |state| Walk::OpenOfEach(Some(app(1)), state);
        let all = ["open_by_leader", "delivered_by_endpoint", "ended_by_endpoint"];
        let walks = [
            (each(Waiting), &["waiting_by_endpoint"][..]),
            (each(Pending), &["open_by_leader"]),
            (Walk::OfEndpoint(ep(1)), &all),
        ];
        for (walk, indexes) in walks {
            for order in [WalkOrder::NewestFirst, WalkOrder::OldestFirst] {
                let plan = schema.plan(&walk_sql(walk, order, &everything), 5).await;
                for index in indexes {
                    assert!(plan.contains(&format!("delivery_{index} on delivery d")), "{plan}");
                }
                let sorts = plan.matches("Sort  (").count();
                assert!(sorts <= 1 && !plan.contains("Seq Scan"), "{plan}");
            }
        }
    }
}
