//! Lists in pages: the statements of the walks.

use rusqlite::{Connection, OptionalExtension, ToSql, params};
use stagger::Instant;

use super::column::instant;
use super::{row, slack};
use crate::model::{ApplicationId, Delivery, DeliveryState, Message, MessageId};
use crate::store::encoding::state_number;
use crate::store::walk::{Begin, Gathering, Walk, WalkOrder};
use crate::store::{Cursor, DeliveryFilter, ListPage, MessageFilter, PageRequest};

/// A page of an application's messages.
pub(super) fn messages(
    db: &Connection,
    application: ApplicationId,
    filter: &MessageFilter,
    page: PageRequest,
) -> rusqlite::Result<ListPage<Message>> {
    let ids = slack::ids(db, filter.since, filter.until)?;
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
    walk.run(db, filter, WalkOrder::NewestFirst, page.after, &mut |delivery, accepted_at| {
        let passes = application.is_none_or(|wanted| wanted == delivery.application)
            && filter.passes(&delivery, accepted_at);
        found.see(Cursor::of_delivery(&delivery), passes.then_some(delivery));
        !found.is_over()
    })?;
    Ok(found.into_page())
}

impl Walk {
    /// Shows each delivery with the time of its message's acceptance to `see`, after `after`, until
    /// `see` says no. The time is read only if `filter` asks for it.
    pub(super) fn run(
        self,
        db: &Connection,
        filter: &DeliveryFilter,
        order: WalkOrder,
        after: Option<Cursor>,
        see: &mut dyn FnMut(Delivery, Instant) -> bool,
    ) -> rusqlite::Result<()> {
        let ids = slack::ids(db, filter.since, filter.until)?;
        let timed = filter.since.or(filter.until).is_some();
        let begin = Begin::of(order, after, ids);
        let mut walk = db.prepare_cached(&self.sql(order))?;
        let mut rows = walk.query(&*self.bound(&begin))?;
        while let Some(row) = rows.next()? {
            let delivery = row::delivery(row)?;
            let accepted_at =
                if timed { accepted_at(db, delivery.message)? } else { Instant::ORIGIN };
            if !see(delivery, accepted_at) {
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
            Self::All => ("delivery d", ""),
            Self::Open => ("delivery d INDEXED BY delivery_open", "d.state < 2 AND"),
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
            Self::All | Self::Open => {}
            Self::Ended(state) => bound.push(number(*state)),
            Self::OfApplication(application) => bound.push(application.as_bytes()),
            Self::OfEndpoint(endpoint) => bound.push(endpoint.as_bytes()),
            Self::EndedOfApplication(application, state) => {
                bound.extend([application.as_bytes() as &dyn ToSql, number(*state)]);
            }
            Self::EndedOfEndpoint(endpoint, state) => {
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

fn accepted_at(db: &Connection, message: MessageId) -> rusqlite::Result<Instant> {
    let mut find = db.prepare_cached("SELECT created_at FROM message WHERE id = ?1")?;
    let found = find.query_row([message.as_bytes()], |row| Ok(instant(row.get(0)?))).optional()?;
    Ok(found.unwrap_or(Instant::ORIGIN))
}

#[cfg(test)]
mod tests {
    use super::super::test_folder::TestFolder;
    use super::super::{file, lookups};
    use super::*;
    use crate::store::testing::fixture::{app, ep};

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
            (Walk::Open, "delivery_open (message"),
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
