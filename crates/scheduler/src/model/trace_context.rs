//! The place of a message in a trace: W3C Trace Context, as the producer of the message sent it.

use std::fmt::{self, Write};

/// Length of a `traceparent` of version 00, the only one that is written.
const PARENT_LEN: usize = 55;
/// The flags that have a meaning: `sampled` and, of level 2, `random-trace-id`. Others are not passed on.
const KNOWN_FLAGS: u8 = 0b11;
/// Most members of a `tracestate`, as the standard says; a longer list is dropped.
const MAX_MEMBERS: usize = 32;
/// Bytes of a `tracestate` that are kept: those that the standard asks to pass on at least.
const MAX_STATE: usize = 512;
/// Members above this length are left out first where a `tracestate` is too long.
const LONG_MEMBER: usize = 128;
/// Longest key and longest value of a member.
const MAX_WORD: usize = 256;

/// The trace of a message, and the span that produced it (W3C Trace Context, level 2).
///
/// ```
/// use stagger_scheduler::model::TraceContext;
/// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace = TraceContext::parse(parent, ["vendor=1"]).expect("it is valid");
/// assert_eq!((trace.traceparent(), trace.tracestate()), (parent.into(), Some("vendor=1")));
/// let child = trace.child([7; 8]);
/// assert_eq!(child.traceparent(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-01");
/// assert!(TraceContext::parse("00-00000000000000000000000000000000-00f067aa0ba902b7-01", []).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// The context of a `traceparent` and of all `tracestate` values beside it, in their order. `None` if
    /// the `traceparent` is malformed: the standard says to go on as if there were none.
    ///
    /// A `traceparent` of a later version is read as far as this version goes. A malformed `tracestate` is
    /// dropped alone; of one with more than 512 bytes, members of more than 128 bytes are dropped, then the
    /// last ones.
    #[must_use]
    pub fn parse<'s>(parent: &str, states: impl IntoIterator<Item = &'s str>) -> Option<Self> {
        let bytes = parent.trim_matches([' ', '\t']).as_bytes();
        let [version] = hex(bytes.get(..2)?)?;
        let fits = match version {
            0 => bytes.len() == PARENT_LEN,
            0xff => false,
            _ => bytes.get(PARENT_LEN).is_none_or(|byte| *byte == b'-'),
        };
        let dashes = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        if !fits || !dashes {
            return None;
        }
        let (trace_id, span_id) = (hex(bytes.get(3..35)?)?, hex(bytes.get(36..52)?)?);
        let [flags] = hex(bytes.get(53..55)?)?;
        if trace_id == [0; 16] || span_id == [0; 8] {
            return None;
        }
        Some(Self { trace_id, span_id, flags: flags & KNOWN_FLAGS, state: state_of(states) })
    }

    /// The id of the trace, never all zeros.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The id of the span that the receiver of this context continues, never all zeros.
    #[must_use]
    pub const fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// The flags: bit 0 is `sampled`, bit 1 `random-trace-id`.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
    }

    /// The same trace, with the same flags and state, under the span `span_id`.
    #[must_use]
    pub fn child(&self, span_id: [u8; 8]) -> Self {
        Self { span_id, ..self.clone() }
    }

    /// The header `traceparent`, in version 00.
    #[must_use]
    pub fn traceparent(&self) -> String {
        let mut text = String::with_capacity(PARENT_LEN);
        let hex = |text: &mut String, bytes: &[u8]| {
            // A string takes all that is written.
            bytes.iter().for_each(|byte| _ = write!(text, "{byte:02x}"));
        };
        text.push_str("00-");
        hex(&mut text, &self.trace_id);
        text.push('-');
        hex(&mut text, &self.span_id);
        text.push('-');
        hex(&mut text, &[self.flags]);
        text
    }

    /// The header `tracestate`, at most 512 bytes, if there is one.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent())
    }
}

/// Bytes from lower-case hexadecimal digits: upper-case ones are malformed here.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// One list of all members; `None` if there are none, or one is malformed.
fn state_of<'s>(states: impl IntoIterator<Item = &'s str>) -> Option<Box<str>> {
    let mut members: Vec<&str> = Vec::new();
    for state in states {
        for member in state.split(',').map(|member| member.trim_matches([' ', '\t'])) {
            if member.is_empty() {
                continue;
            }
            let key = key_of(member)?;
            // The first of a key counts: it is the newest.
            if members.iter().any(|known| key_of(known) == Some(key)) {
                continue;
            }
            if members.len() == MAX_MEMBERS {
                return None;
            }
            members.push(member);
        }
    }
    let length = |members: &[&str]| members.iter().map(|member| member.len() + 1).sum::<usize>();
    if length(&members) > MAX_STATE + 1 {
        members.retain(|member| member.len() <= LONG_MEMBER);
    }
    while length(&members) > MAX_STATE + 1 {
        members.pop();
    }
    (!members.is_empty()).then(|| members.join(",").into())
}

/// The key of a member that is well formed.
fn key_of(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let begins = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let in_key = |byte: u8| begins(&byte) || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@');
    let in_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    let sized = |word: &str| (1..=MAX_WORD).contains(&word.len());
    let good = key.as_bytes().first().is_some_and(begins)
        && key.bytes().all(in_key)
        && value.bytes().all(in_value)
        && sized(key)
        && sized(value);
    good.then_some(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parse(parent: &str) -> Option<TraceContext> {
        TraceContext::parse(parent, [])
    }

    fn state(states: &[&str]) -> Option<String> {
        let trace = TraceContext::parse(PARENT, states.iter().copied()).unwrap();
        trace.tracestate().map(Into::into)
    }

    /// The cases of the validation suite of the W3C.
    #[test]
    fn a_malformed_parent_is_none() {
        for wrong in [
            "",
            "00",
            "00-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.x",
            ".0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47é6-00f067aa0ba902b7-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_later_version_is_read_as_far_as_this_one_goes_and_unknown_flags_are_dropped() {
        for later in [
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fd",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\t",
        ] {
            assert_eq!(parse(later).map(|trace| trace.traceparent()), Some(PARENT.into()));
        }
        let random = parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02").unwrap();
        assert_eq!(random.flags(), 2);
    }

    #[test]
    fn states_of_several_lines_are_one_list() {
        assert_eq!(state(&["a=1, b=2", "", "c@d= 3"]).as_deref(), Some("a=1,b=2,c@d= 3"));
        assert_eq!(state(&["a=1,,\t,b=2"]).as_deref(), Some("a=1,b=2"));
        assert_eq!(state(&["a=1,b=2,a=3"]).as_deref(), Some("a=1,b=2"));
        assert_eq!(state(&[]), None);
    }

    #[test]
    fn a_malformed_state_is_dropped_and_its_parent_stays() {
        for wrong in ["a", "=1", "a=", "A=1", "a=1=2", "a b=1", "a=é", "a=1,b\r\nhost: x=1", "_a=1"]
        {
            assert_eq!(state(&[wrong]), None, "{wrong}");
        }
        let many: Vec<_> = (0..33).map(|n| format!("k{n}=1")).collect();
        assert_eq!(state(&[&many.join(",")]), None);
        assert!(state(&[&many[..32].join(",")]).is_some());
    }

    #[test]
    fn a_state_that_is_too_long_loses_its_longest_members_first() {
        let (long, short) = (format!("long={}", "x".repeat(200)), "y".repeat(100));
        let members = ["a", "b", "c", "d", "e"].map(|key| format!("{key}={short}"));
        let kept = state(&[&long, &members.join(",")]).unwrap();
        assert_eq!(kept, members[..4].join(","), "a fifth would be above 512 bytes");
        let all = state(&[&long, &members[..2].join(",")]).unwrap();
        assert!(all.starts_with("long="), "there is room for it");
    }

    proptest! {
        #[test]
        fn any_context_comes_back_as_it_was_and_any_text_is_safe(
            ids in any::<([u8; 16], [u8; 8])>(), flags in 0..4_u8, text in any::<String>(),
        ) {
            let trace = TraceContext { trace_id: ids.0, span_id: ids.1, flags, state: None };
            let is_valid = ids.0 != [0; 16] && ids.1 != [0; 8];
            prop_assert_eq!(parse(&trace.traceparent()), is_valid.then_some(trace));
            if let Some(state) = TraceContext::parse(PARENT, [&text[..]]).and_then(|it| it.state) {
                prop_assert!(state.len() <= MAX_STATE && state.bytes().all(|b| matches!(b, b' '..=b'~')));
            }
        }
    }
}
