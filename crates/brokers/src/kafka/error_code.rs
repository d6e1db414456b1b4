//! The error codes of Kafka, and what each means for an attempt.
//!
//! <https://kafka.apache.org/protocol#protocol_error_codes>

use stagger_scheduler::model::AttemptFailure;
use stagger_sender::SendFailure;

use crate::refusal::BrokerRefusal;

/// An error of a broker, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ErrorCode(i16);

impl ErrorCode {
    pub(super) const OFFSET_OUT_OF_RANGE: Self = Self(1);
    pub(super) const LEADER_NOT_AVAILABLE: Self = Self(5);
    pub(super) const UNSUPPORTED_SASL_MECHANISM: Self = Self(33);

    /// The error with this number; 0 is none.
    ///
    /// # Errors
    /// The error.
    pub(super) const fn check(number: i16) -> Result<(), Self> {
        if number == 0 { Ok(()) } else { Err(Self(number)) }
    }

    /// Whether the leader of a partition is another one by now, or is being chosen: newer metadata names it.
    pub(super) const fn is_moved(self) -> bool {
        matches!(self.0, 3 | 5 | 6 | 8 | 9 | 56 | 72 | 74 | 75 | 100)
    }

    /// Whether the coordinator of a group is another one by now, or is being chosen.
    pub(super) const fn is_coordinator_moved(self) -> bool {
        matches!(self.0, 14..=16)
    }

    /// Whether the group goes on without this member: it has to join again. The second word is whether under its old id.
    pub(super) const fn rejoin(self) -> Option<bool> {
        match self.0 {
            22 | 27 => Some(true),
            25 | 82 => Some(false),
            _ => None,
        }
    }

    /// The status that the error has in HTTP: of those that a repetition may cure 429 and 5xx.
    const fn status(self) -> u16 {
        match self.0 {
            3 => 404,
            33 | 34 | 58 => 401,
            29..=31 | 44 | 53 | 65 => 403,
            89 => 429,
            7 => 504,
            17 | 24 | 26 | 35 | 42 | 43 | 76 | 87 => 400,
            _ => 503,
        }
    }

    /// The name of the error in the reference.
    const fn name(self) -> &'static str {
        match self.0 {
            -1 => "UNKNOWN_SERVER_ERROR",
            1 => "OFFSET_OUT_OF_RANGE",
            2 => "CORRUPT_MESSAGE",
            3 => "UNKNOWN_TOPIC_OR_PARTITION",
            5 => "LEADER_NOT_AVAILABLE",
            6 => "NOT_LEADER_OR_FOLLOWER",
            7 => "REQUEST_TIMED_OUT",
            8 => "BROKER_NOT_AVAILABLE",
            9 => "REPLICA_NOT_AVAILABLE",
            10 => "MESSAGE_TOO_LARGE",
            13 => "NETWORK_EXCEPTION",
            14 => "COORDINATOR_LOAD_IN_PROGRESS",
            15 => "COORDINATOR_NOT_AVAILABLE",
            16 => "NOT_COORDINATOR",
            17 => "INVALID_TOPIC_EXCEPTION",
            18 => "RECORD_LIST_TOO_LARGE",
            19 => "NOT_ENOUGH_REPLICAS",
            20 => "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
            22 => "ILLEGAL_GENERATION",
            23 => "INCONSISTENT_GROUP_PROTOCOL",
            24 => "INVALID_GROUP_ID",
            25 => "UNKNOWN_MEMBER_ID",
            26 => "INVALID_SESSION_TIMEOUT",
            27 => "REBALANCE_IN_PROGRESS",
            29 => "TOPIC_AUTHORIZATION_FAILED",
            30 => "GROUP_AUTHORIZATION_FAILED",
            31 => "CLUSTER_AUTHORIZATION_FAILED",
            33 => "UNSUPPORTED_SASL_MECHANISM",
            34 => "ILLEGAL_SASL_STATE",
            35 => "UNSUPPORTED_VERSION",
            42 => "INVALID_REQUEST",
            43 => "UNSUPPORTED_FOR_MESSAGE_FORMAT",
            44 => "POLICY_VIOLATION",
            56 => "KAFKA_STORAGE_ERROR",
            58 => "SASL_AUTHENTICATION_FAILED",
            72 => "LISTENER_NOT_FOUND",
            74 => "FENCED_LEADER_EPOCH",
            75 => "UNKNOWN_LEADER_EPOCH",
            76 => "UNSUPPORTED_COMPRESSION_TYPE",
            81 => "GROUP_MAX_SIZE_REACHED",
            82 => "FENCED_INSTANCE_ID",
            87 => "INVALID_RECORD",
            89 => "THROTTLING_QUOTA_EXCEEDED",
            _ => "an error of the broker",
        }
    }

    /// The refusal of an attempt: a message that is too large can never be published.
    pub(super) fn refusal(self, about: &str) -> BrokerRefusal {
        let detail = format!("{self:?} for {about}");
        match self.0 {
            10 | 18 => SendFailure::new(AttemptFailure::Unbuildable, detail).into(),
            _ => BrokerRefusal::new(self.status(), detail),
        }
    }
}

impl std::fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_passes_is_retried_and_one_that_stays_is_told() {
        for (number, status) in [
            (3, 404),
            (6, 503),
            (7, 504),
            (19, 503),
            (29, 403),
            (58, 401),
            (87, 400),
            (89, 429),
            (-1, 503),
            (999, 503),
        ] {
            let code = ErrorCode::check(number).expect_err("an error");
            let refusal = code.refusal("orders-0");
            let BrokerRefusal::Answered { status: found, detail } = refusal else {
                panic!("{number} is an answer")
            };
            assert_eq!(found, status, "{number}");
            assert!(detail.contains(&format!("({number}) for orders-0")), "{detail}");
        }
        for number in [10, 18] {
            let code = ErrorCode::check(number).expect_err("an error");
            let BrokerRefusal::Failed(failure) = code.refusal("orders-0") else {
                panic!("{number} is permanent")
            };
            assert_eq!(failure.failure(), AttemptFailure::Unbuildable);
        }
        assert_eq!(ErrorCode::check(0), Ok(()));
    }
}
