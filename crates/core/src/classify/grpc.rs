//! gRPC: the status codes, sets of them, and what each means.

use core::fmt;
use core::str::FromStr;

use crate::outcome::{Cause, Outcome, Verdict};

/// A gRPC status code.
///
/// ```
/// use stagger_core::classify::Code;
/// assert_eq!("UNAVAILABLE".parse(), Ok(Code::Unavailable));
/// assert_eq!(Code::Unavailable.number(), 14);
/// assert_eq!(Code::from_wire(99), Code::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Code {
    /// 0: success.
    Ok = 0,
    /// 1: the caller gave up.
    Cancelled = 1,
    /// 2: an error of unknown kind.
    Unknown = 2,
    /// 3: the request is malformed, whatever the state of the system.
    InvalidArgument = 3,
    /// 4: the deadline passed first.
    DeadlineExceeded = 4,
    /// 5: no such entity.
    NotFound = 5,
    /// 6: the entity is there already.
    AlreadyExists = 6,
    /// 7: the caller may not do this.
    PermissionDenied = 7,
    /// 8: a quota or a resource is used up.
    ResourceExhausted = 8,
    /// 9: the system is not in the state that the call needs.
    FailedPrecondition = 9,
    /// 10: a conflict between callers.
    Aborted = 10,
    /// 11: past the valid range.
    OutOfRange = 11,
    /// 12: no such method.
    Unimplemented = 12,
    /// 13: an invariant of the server is broken.
    Internal = 13,
    /// 14: the service is away for now.
    Unavailable = 14,
    /// 15: data is lost for good.
    DataLoss = 15,
    /// 16: no valid credentials.
    Unauthenticated = 16,
}

/// Every code with its name, in the order of the numbers.
const NAMES: [(Code, &str); 17] = [
    (Code::Ok, "OK"),
    (Code::Cancelled, "CANCELLED"),
    (Code::Unknown, "UNKNOWN"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::AlreadyExists, "ALREADY_EXISTS"),
    (Code::PermissionDenied, "PERMISSION_DENIED"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::FailedPrecondition, "FAILED_PRECONDITION"),
    (Code::Aborted, "ABORTED"),
    (Code::OutOfRange, "OUT_OF_RANGE"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Internal, "INTERNAL"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::DataLoss, "DATA_LOSS"),
    (Code::Unauthenticated, "UNAUTHENTICATED"),
];

impl Code {
    /// The code of a number in a configuration, if there is one.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        NAMES.get(usize::try_from(number).ok()?).map(|(code, _)| *code)
    }

    /// The code of a number in a reply; numbers that are no code read as [`Code::Unknown`].
    #[must_use]
    pub fn from_wire(number: i64) -> Self {
        u64::try_from(number).ok().and_then(Self::from_number).unwrap_or(Self::Unknown)
    }

    /// The number, 0 to 16.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name as in service configs: `UNAVAILABLE`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    /// Reads a name in any case, as gRFC A6 reads service configs.
    fn from_str(name: &str) -> Result<Self, UnknownCode> {
        let row = NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        row.map(|(code, _)| *code).ok_or(UnknownCode)
    }
}

/// A name that is no gRPC status code; the message completes "must be ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a gRPC status code such as UNAVAILABLE, or its number from 0 to 16")
    }
}

impl core::error::Error for UnknownCode {}

/// A set of gRPC status codes, such as a method's `retryableStatusCodes`.
///
/// ```
/// use stagger_core::classify::{Code, CodeSet};
/// let set = CodeSet::EMPTY.with(Code::Unavailable);
/// assert!(set.contains(Code::Unavailable) && !set.contains(Code::Internal));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CodeSet(u32);

impl CodeSet {
    /// No code at all.
    pub const EMPTY: Self = Self(0);

    /// The set with `code` in it.
    #[must_use]
    pub const fn with(self, code: Code) -> Self {
        Self(self.0 | 1 << code.number())
    }

    /// Whether `code` is in the set.
    #[must_use]
    pub const fn contains(self, code: Code) -> bool {
        self.0 & (1 << code.number()) != 0
    }

    /// Whether no code is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The codes in the set, by number.
    pub fn iter(self) -> impl Iterator<Item = Code> {
        NAMES.iter().map(|(code, _)| *code).filter(move |code| self.contains(*code))
    }
}

impl FromIterator<Code> for CodeSet {
    fn from_iter<I: IntoIterator<Item = Code>>(codes: I) -> Self {
        codes.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for CodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Returns the meaning of a gRPC status, by the method's own list if it has one.
///
/// Without a list: UNAVAILABLE is transient, RESOURCE_EXHAUSTED throttled, CANCELLED cancelled,
/// everything else permanent. A list replaces these: a code in it is retried (throttled for
/// RESOURCE_EXHAUSTED, else transient), one that is not is permanent. A CANCELLED that the *server*
/// sent may be listed (gRFC A6); whoever cancels locally must not ask here.
///
/// ```
/// use stagger_core::Verdict;
/// use stagger_core::classify::{Code, CodeSet, classify_grpc};
/// assert_eq!(classify_grpc(Code::Aborted, None).verdict, Verdict::Permanent);
/// let listed = CodeSet::EMPTY.with(Code::Aborted);
/// assert_eq!(classify_grpc(Code::Aborted, Some(listed)).verdict, Verdict::Transient);
/// ```
#[must_use]
pub fn classify_grpc(code: Code, retryable: Option<CodeSet>) -> Outcome {
    let retried = match retryable {
        Some(set) => set.contains(code),
        None => matches!(code, Code::Unavailable | Code::ResourceExhausted),
    };
    let verdict = match code {
        Code::Ok => Verdict::Ok,
        Code::ResourceExhausted if retried => Verdict::Throttled,
        _ if retried => Verdict::Transient,
        Code::Cancelled => Verdict::Cancelled,
        _ => Verdict::Permanent,
    };
    let cause = if code == Code::DeadlineExceeded { Cause::Timeout } else { Cause::Reply };
    let outcome = Outcome::new(verdict).with_cause(cause);
    if verdict == Verdict::Permanent && is_server_fault(code) {
        outcome.with_server_fault()
    } else {
        outcome
    }
}

/// Whether the server went wrong, whatever the retry makes of it.
const fn is_server_fault(code: Code) -> bool {
    matches!(
        code,
        Code::DeadlineExceeded
            | Code::Internal
            | Code::Unknown
            | Code::DataLoss
            | Code::Unavailable
    )
}
