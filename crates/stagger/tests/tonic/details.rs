//! `google.rpc.RetryInfo` in the details of a status, and OTLP's rule of it.

use stagger::tonic::{CallError, Grpc, GrpcLayer};
use stagger::{CallReport, HintRule, LongHint, Ratio, Span, Stop};
use tonic::{Code, Status};
use tower::Layer;

use crate::Done;
use crate::client::{hello, quick, repeatable, retrier, unary};
use crate::server::{Reply, Scripted};

/// A status in protobuf's form, with a `RetryInfo` of so many milliseconds.
fn with_delay(code: Code, millis: u8) -> Status {
    let byte = |number: usize| u8::try_from(number).expect("a short message");
    let mut delay = vec![0x10];
    let mut rest = usize::from(millis) * 1_000_000;
    while rest > 0x7f {
        delay.push(byte(rest & 0x7f) | 0x80);
        rest >>= 7;
    }
    delay.push(byte(rest));
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, byte(bytes.len())], bytes].concat();
    let url = field(1, b"type.googleapis.com/google.rpc.RetryInfo");
    let any = [url, field(2, &field(1, &delay))].concat();
    Status::with_details(code, "quota", field(3, &any).into())
}

#[tokio::test]
async fn a_delay_in_the_details_was_not_kept_to() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(with_delay(Code::ResourceExhausted, 80)),
        _ => Reply::Message("done"),
    });
    let server = server.await?;
    let response = unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await?;
    let report = response.extensions().get::<CallReport>().ok_or("no report")?;
    assert!(report.elapsed() >= Span::from_millis(80), "{}", report.elapsed());
    // One that is too long ends the call, and the caller gets it.
    let short = HintRule::new(Span::from_millis(50), Ratio::ZERO, LongHint::Stop)?;
    let policy = retrier(quick()?.hints(short))?;
    let server = Scripted::start(|_| Reply::Status(with_delay(Code::Unavailable, 80))).await?;
    let failed = unary(repeatable(server.channel(), policy), hello()).await.unwrap_err();
    let end = CallError::of(&failed).ok_or("no end")?.report();
    assert_eq!(end.stop(), Some(Stop::HintTooLong));
    assert_eq!((end.hint(), server.calls()), (Some(Span::from_millis(80)), 1));
    assert_eq!(failed.details(), with_delay(Code::Unavailable, 80).details());
    Ok(())
}

/// The calls that an exporter makes of a server which answers with this status.
async fn exported(status: Status) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let server = Scripted::start(move |_| Reply::Status(status.clone())).await?;
    let layered = GrpcLayer::new(retrier(quick()?)?).otlp().layer(server.channel());
    assert!(unary(layered, hello()).await.is_err());
    let calls = server.calls();
    let own = Grpc::new(server.channel(), retrier(quick()?)?).otlp();
    assert!(unary(own, hello()).await.is_err());
    assert_eq!(server.calls(), 2 * calls);
    Ok(calls)
}

#[tokio::test]
async fn an_exporter_stormed_a_server_that_will_not_recover() -> Done {
    assert_eq!(exported(Status::resource_exhausted("full")).await?, 1);
    assert_eq!(exported(with_delay(Code::ResourceExhausted, 1)).await?, 3);
    let unknown = Status::with_details(Code::ResourceExhausted, "full", vec![0x1a, 0x7f].into());
    assert_eq!(exported(unknown).await?, 1);
    for code in [
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unavailable,
        Code::DataLoss,
    ] {
        assert_eq!(exported(Status::new(code, "")).await?, 3, "{code:?}");
    }
    for code in [
        Code::Unknown,
        Code::InvalidArgument,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::FailedPrecondition,
        Code::Unimplemented,
        Code::Internal,
        Code::Unauthenticated,
    ] {
        assert_eq!(exported(Status::new(code, "")).await?, 1, "{code:?}");
    }
    Ok(())
}

#[tokio::test]
async fn details_that_are_not_base64_took_the_caller_down() -> Done {
    let headers = &[("grpc-status", "14"), ("grpc-status-details-bin", "not base64!")];
    let server = Scripted::start(|_| Reply::Http(200, headers)).await?;
    let failed =
        unary(repeatable(server.channel(), retrier(quick()?)?), hello()).await.unwrap_err();
    assert_eq!((failed.code(), failed.details(), server.calls()), (Code::Unavailable, &b""[..], 3));
    Ok(())
}
