//! Attempts as columns, and their insertion.

use stagger_scheduler::model::DeliveryAttempt;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::days::day_of;
use super::row::{from_instant, from_span, text};
use super::statement;
use super::statement::DbError;
use super::writer::Changes;

/// The number of columns.
pub(super) const COLUMNS: usize = 13;

/// The columns in the order of [`AttemptColumns::bound`].
pub(super) const NAMES: &str = "day, message, endpoint, number, started_at, latency, status, failure, detail, reply, \
                                verdict, hint, next";

/// The types of these columns.
const TYPES: [&str; COLUMNS] = [
    "integer", "uuid", "uuid", "bigint", "bigint", "bigint", "integer", "text", "text", "bytea",
    "text", "bigint", "bigint",
];

/// Attempts as columns.
#[derive(Default)]
pub(super) struct AttemptColumns<'a> {
    days: Vec<i32>,
    messages: Vec<Uuid>,
    endpoints: Vec<Uuid>,
    numbers: Vec<i64>,
    started_at: Vec<i64>,
    latencies: Vec<i64>,
    statuses: Vec<Option<i32>>,
    failures: Vec<Option<&'static str>>,
    details: Vec<Option<String>>,
    replies: Vec<Option<&'a [u8]>>,
    verdicts: Vec<&'static str>,
    hints: Vec<Option<i64>>,
    nexts: Vec<Option<i64>>,
}

impl<'a> AttemptColumns<'a> {
    pub(super) fn of(made: &[&'a DeliveryAttempt]) -> Self {
        let mut columns = Self::default();
        made.iter().for_each(|attempt| columns.add(attempt));
        columns
    }

    fn add(&mut self, attempt: &'a DeliveryAttempt) {
        self.days.push(day_of(attempt.message));
        self.messages.push(*attempt.message.as_uuid());
        self.endpoints.push(*attempt.endpoint.as_uuid());
        self.numbers.push(i64::from(attempt.number));
        self.started_at.push(from_instant(attempt.started_at));
        self.latencies.push(from_span(attempt.latency));
        self.statuses.push(attempt.status.map(i32::from));
        self.failures.push(attempt.failure.map(|it| it.name()));
        self.details.push(attempt.detail.as_deref().map(text));
        self.replies.push((!attempt.reply.is_empty()).then_some(&attempt.reply[..]));
        self.verdicts.push(attempt.verdict.name());
        self.hints.push(attempt.hint.map(from_span));
        self.nexts.push(attempt.next.map(from_instant));
    }

    /// The columns as parameters of a statement.
    pub(super) fn bound(&self) -> [&(dyn ToSql + Sync); COLUMNS] {
        [
            &self.days,
            &self.messages,
            &self.endpoints,
            &self.numbers,
            &self.started_at,
            &self.latencies,
            &self.statuses,
            &self.failures,
            &self.details,
            &self.replies,
            &self.verdicts,
            &self.hints,
            &self.nexts,
        ]
    }

    /// The rows in a statement whose parameters have the columns from this one on.
    pub(super) fn rows(first: usize) -> String {
        let column = |(at, kind): (usize, &&str)| format!("${}::{kind}[]", first + at);
        let columns: Vec<_> = TYPES.iter().enumerate().map(column).collect();
        format!("unnest({})", columns.join(", "))
    }
}

impl Changes<'_> {
    /// Writes attempts, no two of the same number at the same delivery.
    pub(super) async fn insert_attempts(&self, made: &[&DeliveryAttempt]) -> Result<(), DbError> {
        if made.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "INSERT INTO attempt ({NAMES}) SELECT * FROM {} \
             ON CONFLICT (day, message, endpoint, number) DO UPDATE SET \
             started_at = excluded.started_at, latency = excluded.latency, \
             status = excluded.status, failure = excluded.failure, detail = excluded.detail, \
             reply = excluded.reply, verdict = excluded.verdict, hint = excluded.hint, \
             next = excluded.next",
            AttemptColumns::rows(1)
        );
        statement::run(&self.db, &sql, &AttemptColumns::of(made).bound()).await?;
        Ok(())
    }
}
