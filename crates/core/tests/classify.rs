//! The tables of verdicts, pinned one by one.

use stagger_core::classify::{Code, CodeSet, HttpReply, HttpRules, classify_grpc, is_idempotent};
use stagger_core::{Cause, Hint, Outcome, Remedy, Span, Verdict};

const HINT: Hint = Hint::AtLeast(Span::from_secs(1));

fn http(status: u16) -> Outcome {
    HttpRules::default().classify(&HttpReply::new(status))
}

#[test]
fn every_status_has_its_verdict() {
    let transient = [408, 500, 502, 503, 504, 520, 521, 522, 523, 524];
    for status in 100..=599 {
        let expected = match status {
            100..=399 => Verdict::Ok,
            429 | 529 => Verdict::Throttled,
            _ if transient.contains(&status) => Verdict::Transient,
            _ => Verdict::Permanent,
        };
        let outcome = http(status);
        assert_eq!(outcome.verdict, expected, "{status}");
        assert_eq!((outcome.cause, outcome.hint), (Cause::Reply, None), "{status}");
        let remedy = match status {
            421 => Some(Remedy::FreshConnection),
            425 => Some(Remedy::WithoutEarlyData),
            _ => None,
        };
        assert_eq!(outcome.remedy, remedy, "{status}");
    }
}

#[test]
fn numbers_that_are_no_status_are_permanent() {
    for status in [0, 99, 600, 999, u16::MAX] {
        assert_eq!(http(status).verdict, Verdict::Permanent, "{status}");
    }
}

// square/okhttp PR 3500, apache/httpcomponents-client PR 708
#[test]
fn client_errors_are_not_retried() {
    for status in [
        400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 415, 422, 423, 431, 451, 499, 501, 505,
        507, 508, 511, 525, 526,
    ] {
        let reply = HttpReply { hint: Some(HINT), ..HttpReply::new(status) };
        let outcome = HttpRules::default().classify(&reply);
        assert!(!outcome.verdict.is_retryable() && outcome.remedy.is_none(), "{status}");
    }
}

#[test]
fn a_hint_makes_503_a_throttle_and_no_other_status_retryable() {
    for status in 100..=599 {
        let reply = HttpReply { hint: Some(HINT), ..HttpReply::new(status) };
        let outcome = HttpRules::default().classify(&reply);
        let expected = if status == 503 { Verdict::Throttled } else { http(status).verdict };
        assert_eq!((outcome.verdict, outcome.hint), (expected, Some(HINT)), "{status}");
    }
    let reply = HttpReply { hint: Some(Hint::Never), ..HttpReply::new(503) };
    assert_eq!(HttpRules::default().classify(&reply).verdict, Verdict::Transient);
}

#[test]
fn a_remedy_needs_its_fact() {
    let rules = HttpRules::default();
    let reply = HttpReply { can_refresh: true, ..HttpReply::new(401) };
    assert_eq!(rules.classify(&reply).remedy, Some(Remedy::RefreshAuth));
    let reply = HttpReply { early_data: false, ..HttpReply::new(425) };
    assert_eq!(rules.classify(&reply).remedy, None);
}

#[test]
fn the_header_decides_only_when_enabled() {
    let said = |rules: HttpRules, status, should_retry| {
        let reply = HttpReply { should_retry: Some(should_retry), ..HttpReply::new(status) };
        rules.classify(&reply).verdict
    };
    let plain = HttpRules::default();
    assert_eq!(said(plain, 400, true), Verdict::Permanent);
    assert_eq!(said(plain, 500, false), Verdict::Transient);
    let rules = plain.obey_should_retry();
    assert_eq!(said(rules, 400, true), Verdict::Transient);
    assert_eq!(said(rules, 429, true), Verdict::Throttled);
    assert_eq!(said(rules, 429, false), Verdict::Permanent);
    assert_eq!(said(rules, 200, true), Verdict::Ok);
    assert_eq!(said(rules, 200, false), Verdict::Ok);
    assert_eq!(said(rules.retry_conflict(), 409, false), Verdict::Permanent);
    let own = rules.with_status(429, Verdict::Permanent).expect("a status");
    assert_eq!(said(own, 429, true), Verdict::Permanent);
}

#[test]
fn overrides_are_bounded_and_the_last_word_counts() {
    let mut rules = HttpRules::default();
    for status in 400..408 {
        rules = rules.with_status(status, Verdict::Transient).expect("eight fit");
    }
    assert_eq!(rules.with_status(410, Verdict::Transient).expect_err("a ninth").value(), "410");
    let rules = rules.with_status(400, Verdict::Throttled).expect("named before");
    assert_eq!(rules.classify(&HttpReply::new(400)).verdict, Verdict::Throttled);
    assert_eq!(rules.classify(&HttpReply::new(401)).verdict, Verdict::Transient);
    assert!(HttpRules::default().with_status(600, Verdict::Ok).is_err());
}

// istio/istio #50506
#[test]
fn a_payment_is_not_an_idempotent_method() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        assert!(is_idempotent(method), "{method}");
        assert!(!is_idempotent(method.to_lowercase()), "{method}");
    }
    for method in ["POST", "PATCH", "CONNECT", "", "GET ", "PURGE"] {
        assert!(!is_idempotent(method), "{method}");
    }
}

#[test]
fn every_grpc_code_has_its_verdict_and_both_names() {
    for number in 0..=16_u8 {
        let code = Code::from_number(number.into()).expect("a code");
        let expected = match number {
            0 => Verdict::Ok,
            1 => Verdict::Cancelled,
            8 => Verdict::Throttled,
            14 => Verdict::Transient,
            _ => Verdict::Permanent,
        };
        assert_eq!(classify_grpc(code, None).verdict, expected, "{code}");
        assert_eq!(code.number(), number);
        assert_eq!(Code::from_wire(number.into()), code);
        assert_eq!(code.name().parse(), Ok(code));
        assert_eq!(code.name().to_lowercase().parse(), Ok(code));
    }
    assert_eq!(Code::from_number(17), None);
    for number in [-1, 17, i64::MAX, i64::MIN] {
        assert_eq!(Code::from_wire(number), Code::Unknown);
    }
    assert!("UNAVAILBLE".parse::<Code>().is_err());
}

#[test]
fn a_method_list_replaces_the_default_codes() {
    let all: CodeSet = (0..=16).filter_map(Code::from_number).collect();
    assert_eq!(all.iter().count(), 17);
    for code in all.iter() {
        let only = classify_grpc(code, Some(CodeSet::EMPTY.with(code))).verdict;
        let none = classify_grpc(code, Some(CodeSet::EMPTY)).verdict;
        let (listed, unlisted) = match code {
            Code::Ok => (Verdict::Ok, Verdict::Ok),
            Code::Cancelled => (Verdict::Transient, Verdict::Cancelled),
            Code::ResourceExhausted => (Verdict::Throttled, Verdict::Permanent),
            _ => (Verdict::Transient, Verdict::Permanent),
        };
        assert_eq!((only, none), (listed, unlisted), "{code}");
    }
}

#[cfg(feature = "std")]
mod io {
    use super::{Cause, Outcome, Verdict};
    use stagger_core::classify::{MAX_SOURCE_DEPTH, TransportRules, classify_error, classify_io};
    use std::error::Error;
    use std::fmt;
    use std::io::ErrorKind;

    fn kind(kind: ErrorKind) -> Option<Outcome> {
        classify_io(kind, &TransportRules::default())
    }

    #[test]
    fn kinds_have_their_verdicts() {
        use ErrorKind as K;
        let rows = [
            (Verdict::Unprocessed, Cause::Transport, vec![K::ConnectionRefused]),
            (Verdict::Transient, Cause::Timeout, vec![K::TimedOut, K::WouldBlock]),
            (
                Verdict::Transient,
                Cause::Transport,
                vec![
                    K::ConnectionReset,
                    K::ConnectionAborted,
                    K::BrokenPipe,
                    K::UnexpectedEof,
                    K::HostUnreachable,
                    K::NetworkUnreachable,
                    K::NetworkDown,
                    K::Interrupted,
                ],
            ),
            (
                Verdict::Permanent,
                Cause::Transport,
                vec![
                    K::NotFound,
                    K::PermissionDenied,
                    K::InvalidInput,
                    K::InvalidData,
                    K::AlreadyExists,
                    K::AddrInUse,
                    K::AddrNotAvailable,
                    K::NotConnected,
                    K::Unsupported,
                    K::OutOfMemory,
                    K::StorageFull,
                    K::WriteZero,
                ],
            ),
        ];
        for (verdict, cause, kinds) in rows {
            for k in kinds {
                assert_eq!(kind(k), Some(Outcome::new(verdict).with_cause(cause)), "{k:?}");
            }
        }
        assert_eq!(kind(K::Other), None);
    }

    #[test]
    fn refused_connections_are_a_switch() {
        let verdict = |rules: TransportRules| {
            classify_io(ErrorKind::ConnectionRefused, &rules).map(|outcome| outcome.verdict)
        };
        let rules = TransportRules::default();
        assert_eq!(verdict(rules.connect_is_transient()), Some(Verdict::Transient));
        assert_eq!(verdict(rules.connect_is_permanent()), Some(Verdict::Permanent));
        assert_eq!(rules.retry_certificates().bad_certificate().verdict, Verdict::Unprocessed);
        assert_eq!(rules.unknown_name().verdict, Verdict::Permanent);
        assert_eq!(rules.retry_unknown_names().unknown_name().verdict, Verdict::Unprocessed);
    }

    #[derive(Debug)]
    struct Layer(Box<dyn Error + Send + Sync>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("layer")
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    fn wrapped(layers: usize) -> Option<Verdict> {
        let mut error: Box<dyn Error + Send + Sync> =
            Box::new(std::io::Error::from(ErrorKind::ConnectionReset));
        for layer in 0..layers {
            error = match layer % 2 {
                0 => Box::new(Layer(error)),
                _ => Box::new(std::io::Error::other(error)),
            };
        }
        classify_error(&*error, &TransportRules::default()).map(|outcome| outcome.verdict)
    }

    #[test]
    fn an_io_error_is_found_through_every_layer_down_to_the_bound() {
        for layers in 0..MAX_SOURCE_DEPTH {
            assert_eq!(wrapped(layers), Some(Verdict::Transient), "{layers}");
        }
        assert_eq!(wrapped(MAX_SOURCE_DEPTH), None);
    }

    #[derive(Debug)]
    struct Circle;

    impl fmt::Display for Circle {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("circle")
        }
    }

    impl Error for Circle {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&Circle)
        }
    }

    #[test]
    fn a_chain_that_leads_into_itself_ends() {
        assert_eq!(classify_error(&Circle, &TransportRules::default()), None);
    }
}

#[test]
fn a_sick_server_was_healthy_to_its_breaker() {
    use stagger_core::breaker::Report;
    let http = |status| Report::of(&HttpRules::default().classify(&HttpReply::new(status)));
    for status in [500, 501, 502, 503, 504, 505, 507, 511, 520, 526, 599] {
        assert_eq!(http(status), Report::Failure, "{status}");
    }
    for status in [200, 304, 400, 404, 409, 410, 421, 499] {
        assert_eq!(http(status), Report::Success, "{status}");
    }
    assert_eq!(http(429), Report::Throttled);
    let grpc = |code, codes| Report::of(&classify_grpc(code, codes));
    for codes in [None, Some(CodeSet::EMPTY)] {
        let sick = [Code::DeadlineExceeded, Code::Internal, Code::Unknown, Code::DataLoss];
        for code in sick.into_iter().chain([Code::Unavailable]) {
            assert_eq!(grpc(code, codes), Report::Failure, "{code}");
        }
        for code in [Code::Ok, Code::NotFound, Code::InvalidArgument, Code::Unimplemented] {
            assert_eq!(grpc(code, codes), Report::Success, "{code}");
        }
        assert_eq!(grpc(Code::Cancelled, codes), Report::Neutral);
    }
}
