//! Lists in pages: the statements of the walks.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, ToSql, params};
use stagger_scheduler::model::{
    ApplicationId, Delivery, DeliveryState, EndpointId, Message, MessageId,
};

use super::row::instant;
use super::{row, writer};
use crate::encoding::state_number;
use crate::walk::{Begin, Gathering, Walk, WalkOrder};
use crate::{Cursor, DeliveryFilter, ListPage, MessageFilter, PageRequest};

/// A page of an application's messages.
pub(super) fn messages(
    db: &Connection,
    application: ApplicationId,
    filter: &MessageFilter,
    page: PageRequest,
) -> rusqlite::Result<ListPage<Message>> {
    let ids = writer::ids_between(db, filter.since, filter.until)?;
    let after = page.after.map(|cursor| MessageId::from_uuid(cursor.message));
    let begin = after.map_or(ids.to, |after| after.min(ids.to));
    let bound = params![
        application.as_bytes(),
        begin.as_bytes(),
        ids.from.as_bytes(),
        after.as_ref().map(MessageId::as_bytes),
    ];
    let mut walk = db.prepare_cached(&messages_sql())?;
    let mut rows = walk.query(bound)?;
    let mut found = Gathering::new(page.limit);
    while !found.is_over()
        && let Some(row) = rows.next()?
    {
        let message = row::message(row)?;
        let (at, passes) = (Cursor::of_message(message.id), filter.passes(&message));
        found.see(at, passes.then_some(message));
    }
    Ok(found.into_page())
}

/// A page of deliveries.
pub(super) fn deliveries(
    db: &Connection,
    application: Option<ApplicationId>,
    filter: &DeliveryFilter,
    page: PageRequest,
) -> rusqlite::Result<ListPage<Delivery>> {
    let walk = Walk::of(application, filter);
    let mut found = Gathering::new(page.limit);
    let range = (WalkOrder::NewestFirst, page.after);
    walk.run(db, filter, range, page.limit + 1, &mut |delivery, passes| {
        let passes = passes && application.is_none_or(|wanted| wanted == delivery.application);
        found.see(Cursor::of_delivery(&delivery), passes.then_some(delivery));
        !found.is_over()
    })?;
    Ok(found.into_page())
}

/// Called with a delivery, and whether it passes the filter of the walk; says whether to go on.
type See<'s> = dyn FnMut(Delivery, bool) -> bool + 's;

/// The most deliveries of each endpoint that are read in one round of a merge.
const MERGED: usize = 2_000;

impl Walk {
    /// Shows each delivery, and whether it passes `filter`, to `see`, until `see` says no: in the order
    /// of `range`, after its cursor. Some `likely` deliveries will be enough.
    pub(super) fn run(
        self,
        db: &Connection,
        filter: &DeliveryFilter,
        (order, after): (WalkOrder, Option<Cursor>),
        likely: usize,
        see: &mut See<'_>,
    ) -> rusqlite::Result<()> {
        let ids = writer::ids_between(db, filter.since, filter.until)?;
        let mut begin = Begin::of(order, after, ids);
        if let Self::OpenOfEach(application, state) = self {
            let endpoints = endpoints_of(db, application)?;
            let mut most = likely.clamp(1, MERGED);
            loop {
                let merged = merge(db, &endpoints, state, (order, begin), most)?;
                for delivery in &merged {
                    if !see(*delivery, passes(db, filter, delivery)?) {
                        return Ok(());
                    }
                }
                let Some(last) = merged.last().filter(|_| merged.len() == most) else {
                    return Ok(());
                };
                (begin.message, begin.endpoint) = (last.message, last.endpoint);
                most = (most * 4).min(MERGED);
            }
        }
        self.each(db, order, &begin, &mut |delivery| {
            let passes = passes(db, filter, &delivery)?;
            Ok(see(delivery, passes))
        })
    }

    /// Shows each delivery of a walk along one index.
    fn each(
        self,
        db: &Connection,
        order: WalkOrder,
        begin: &Begin,
        see: &mut dyn FnMut(Delivery) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let mut walk = db.prepare_cached(&self.sql(order))?;
        let mut rows = walk.query(&*self.bound(begin))?;
        while let Some(row) = rows.next()? {
            if !see(row::delivery(row)?)? {
                break;
            }
        }
        Ok(())
    }

    /// The statement of the walk. It names its index, because SQLite has no statistics of the rows,
    /// and would choose another one that looks as good. `?1` and `?2` are its begin, `?3` is its
    /// end, `?4` and `?5` are its filter.
    pub(super) fn sql(self, order: WalkOrder) -> String {
        let (from, narrowed) = match self {
            Self::All | Self::OpenOfEach(..) => ("delivery d", ""),
            Self::OpenOfEndpoint(..) => (
                "delivery d INDEXED BY delivery_open_by_endpoint",
                "d.endpoint = ?4 AND d.state < 2 AND d.state = ?5 AND",
            ),
            Self::Ended(_) => {
                ("delivery d INDEXED BY delivery_ended", "d.state >= 3 AND d.state = ?4 AND")
            }
            Self::OfApplication(_) => {
                ("message m CROSS JOIN delivery d ON d.message = m.id", "m.application = ?4 AND")
            }
            Self::EndedOfApplication(..) => (
                "delivery d INDEXED BY delivery_ended_by_application",
                "d.application = ?4 AND d.state >= 3 AND d.state = ?5 AND",
            ),
            Self::OfEndpoint(_) => {
                ("delivery d INDEXED BY delivery_by_endpoint", "d.endpoint = ?4 AND")
            }
            Self::EndedOfEndpoint(..) => (
                "delivery d INDEXED BY delivery_ended_by_endpoint",
                "d.endpoint = ?4 AND d.state >= 3 AND d.state = ?5 AND",
            ),
        };
        let message = if matches!(self, Self::OfApplication(_)) { "m.id" } else { "d.message" };
        let (past, until, way) = match order {
            WalkOrder::NewestFirst => ("<", ">=", "DESC"),
            WalkOrder::OldestFirst => (">", "<=", "ASC"),
        };
        format!(
            "SELECT {} FROM {from} WHERE {narrowed} {message} {past}= ?1 AND {message} {until} ?3 \
             AND ({message}, d.endpoint) {past} (?1, ?2) ORDER BY {message} {way}, d.endpoint {way}",
            row::DELIVERY
        )
    }

    fn bound<'b>(&'b self, begin: &'b Begin) -> Vec<&'b dyn ToSql> {
        let mut bound: Vec<&dyn ToSql> =
            vec![begin.message.as_bytes(), begin.endpoint.as_bytes(), begin.end.as_bytes()];
        match self {
            Self::All | Self::OpenOfEach(..) => {}
            Self::Ended(state) => bound.push(number(*state)),
            Self::OfApplication(application) => bound.push(application.as_bytes()),
            Self::OfEndpoint(endpoint) => bound.push(endpoint.as_bytes()),
            Self::EndedOfApplication(application, state) => {
                bound.extend([application.as_bytes() as &dyn ToSql, number(*state)]);
            }
            Self::EndedOfEndpoint(endpoint, state) | Self::OpenOfEndpoint(endpoint, state) => {
                bound.extend([endpoint.as_bytes() as &dyn ToSql, number(*state)]);
            }
        }
        bound
    }
}

pub(super) fn messages_sql() -> String {
    format!(
        "SELECT {} FROM message m WHERE m.application = ?1 AND m.id <= ?2 AND m.id >= ?3 \
         AND m.id IS NOT ?4 ORDER BY m.id DESC",
        row::MESSAGE
    )
}

fn number(state: DeliveryState) -> &'static i64 {
    const NUMBERS: [i64; DeliveryState::ALL.len()] = {
        let mut numbers = [0; DeliveryState::ALL.len()];
        let mut at = 0;
        while at < numbers.len() {
            numbers[at] = state_number(DeliveryState::ALL[at]) as i64;
            at += 1;
        }
        numbers
    };
    &NUMBERS[state as usize]
}

/// The first `most` open deliveries of all of `endpoints` in a state. Once so many are found, an
/// endpoint is read only as far as its deliveries belong among them.
fn merge(
    db: &Connection,
    endpoints: &[EndpointId],
    state: DeliveryState,
    (order, begin): (WalkOrder, Begin),
    most: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let mut merged = BTreeMap::new();
    let mut begin = begin;
    for endpoint in endpoints {
        let mut read = 0;
        Walk::OpenOfEndpoint(*endpoint, state).each(db, order, &begin, &mut |delivery| {
            merged.insert((delivery.message, delivery.endpoint), delivery);
            read += 1;
            Ok(read < most)
        })?;
        while merged.len() > most {
            match order {
                WalkOrder::NewestFirst => merged.pop_first(),
                WalkOrder::OldestFirst => merged.pop_last(),
            };
        }
        if merged.len() == most {
            let last = match order {
                WalkOrder::NewestFirst => merged.first_key_value(),
                WalkOrder::OldestFirst => merged.last_key_value(),
            };
            begin.end = last.map_or(begin.end, |((message, _), _)| *message);
        }
    }
    let mut merged: Vec<_> = merged.into_values().collect();
    if order == WalkOrder::NewestFirst {
        merged.reverse();
    }
    Ok(merged)
}

fn endpoints_of(
    db: &Connection,
    application: Option<ApplicationId>,
) -> rusqlite::Result<Vec<EndpointId>> {
    let sql = "SELECT id FROM endpoint WHERE ?1 IS NULL OR application = ?1";
    let bound = params![application.as_ref().map(ApplicationId::as_bytes)];
    db.prepare_cached(sql)?.query_map(bound, |row| row::endpoint_id(row, 0))?.collect()
}

/// Whether a delivery, its message and its last attempt pass a filter; reads what the filter asks for.
fn passes(db: &Connection, filter: &DeliveryFilter, delivery: &Delivery) -> rusqlite::Result<bool> {
    Ok(filter.passes(delivery)
        && (!filter.asks_for_message() || message_passes(db, filter, delivery.message)?)
        && (filter.status.is_none() || filter.passes_status(last_status(db, delivery)?)))
}

fn message_passes(
    db: &Connection,
    filter: &DeliveryFilter,
    message: MessageId,
) -> rusqlite::Result<bool> {
    let sql = "SELECT event_type, created_at FROM message WHERE id = ?1";
    let mut find = db.prepare_cached(sql)?;
    let found = find
        .query_row([message.as_bytes()], |row| {
            let event_type = row.get_ref(0)?.as_str()?;
            Ok(filter.passes_message(event_type, instant(row.get(1)?)))
        })
        .optional()?;
    Ok(found.unwrap_or(false))
}

fn last_status(db: &Connection, delivery: &Delivery) -> rusqlite::Result<Option<u16>> {
    let sql = "SELECT status FROM attempt WHERE message = ?1 AND endpoint = ?2 AND number = ?3";
    let bound =
        params![delivery.message.as_bytes(), delivery.endpoint.as_bytes(), delivery.attempts];
    let found = db.prepare_cached(sql)?.query_row(bound, |row| row.get(0)).optional()?;
    Ok(found.flatten())
}

#[cfg(test)]
mod tests {
    use super::super::test_folder::TestFolder;
    use super::super::{file, lookups};
    use super::*;
    use crate::testing::fixture::{app, ep};

    /// The plan of SQLite for a statement, with every parameter unknown.
    fn plan(db: &Connection, sql: &str) -> String {
        let mut explain = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explain.raw_query().mapped(|row| row.get::<_, String>(3));
        steps.collect::<Result<Vec<_>, _>>().unwrap().join("\n")
    }

    fn assert_seeks(db: &Connection, sql: &str, index: &str) {
        let plan = plan(db, sql);
        assert!(plan.contains(index), "{plan}\nfor {sql}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN"), "{plan}\nfor {sql}");
    }

    #[test]
    fn no_list_is_sorted_or_scanned() {
        let folder = TestFolder::new();
        drop(folder.open());
        let db = file::open_read_only(&file::path_in(&folder), Default::default()).unwrap();
        let (dead, of, to) = (DeliveryState::Dead, app(1), ep(1));
        let walks = [
            (Walk::All, "PRIMARY KEY (message"),
            (
                Walk::OpenOfEndpoint(to, DeliveryState::Waiting),
                "delivery_open_by_endpoint (endpoint=? AND state=? AND message",
            ),
            (Walk::Ended(dead), "delivery_ended (state=? AND message"),
            (Walk::OfApplication(of), "message_by_application (application=? AND id"),
            (
                Walk::EndedOfApplication(of, dead),
                "delivery_ended_by_application (application=? AND state=? AND message",
            ),
            (Walk::OfEndpoint(to), "delivery_by_endpoint (endpoint=? AND message"),
            (
                Walk::EndedOfEndpoint(to, dead),
                "delivery_ended_by_endpoint (endpoint=? AND state=? AND message",
            ),
        ];
        for (walk, index) in walks {
            for order in [WalkOrder::NewestFirst, WalkOrder::OldestFirst] {
                assert_seeks(&db, &walk.sql(order), index);
            }
        }
        let by_application = "message_by_application (application=? AND id";
        assert_seeks(&db, &messages_sql(), by_application);
        assert_seeks(&db, &lookups::open_deliveries_sql(), "delivery_open ((message,endpoint)>");
    }
}
