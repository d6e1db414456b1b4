//! A plain client of tonic in a call: its statuses say themselves what heals.

use stagger::{Span, Stop, Verdict};
use stagger_testkit::server::RefusingPort;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::Endpoint;
use tonic::{Code, Status};

use crate::Done;
use crate::client::{hello, quick, retrier, unary};
use crate::server::{Reply, Scripted};

#[tokio::test]
async fn a_call_of_a_plain_client_in_one_line_did_not_compile() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Status(Status::unavailable("away")),
        _ => Reply::Message("done"),
    });
    let channel = server.await?.channel();
    let response = stagger::retry(|| unary(channel.clone(), hello())).await?;
    assert_eq!(response.into_inner(), "done");
    Ok(())
}

#[tokio::test]
async fn a_status_heals_by_the_table_of_the_layer() -> Done {
    for (code, attempts) in [
        (Code::Unavailable, 3),
        (Code::ResourceExhausted, 3),
        (Code::Internal, 1),
        (Code::NotFound, 1),
        (Code::Cancelled, 1),
    ] {
        let server = Scripted::start(move |_| Reply::Status(Status::new(code, "no"))).await?;
        let (channel, retrier) = (server.channel(), retrier(quick()?)?);
        let failed = retrier.retry(|| unary(channel.clone(), hello())).await.unwrap_err();
        assert_eq!(
            (failed.attempts(), server.seen().len()),
            (attempts, attempts as usize),
            "{code}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_forbids_a_retry_was_asked_again() -> Done {
    for (pushback, stop) in [("-1", Stop::HintForbids), ("90000", Stop::HintTooLong)] {
        let server = Scripted::start(move |_| {
            let mut metadata = MetadataMap::new();
            metadata.insert("grpc-retry-pushback-ms", MetadataValue::from_static(pushback));
            Reply::Status(Status::with_metadata(Code::Unavailable, "away", metadata))
        });
        let (channel, retrier) = (server.await?.channel(), retrier(quick()?)?);
        let failed = retrier.retry(|| unary(channel.clone(), hello())).await.unwrap_err();
        assert_eq!((failed.stop(), failed.attempts()), (stop, 1));
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_never_came_to_be_says_that_no_server_saw_the_call() -> Done {
    let refusal = RefusingPort::hold()?;
    let channel = Endpoint::from_shared(refusal.url(""))?.connect_lazy();
    let retrier = retrier(quick()?)?;
    let call = retrier.retry(|| unary(channel.clone(), hello())).not_idempotent();
    let failed = call.await.unwrap_err();
    let last = failed.history().last().map(|last| last.verdict);
    assert_eq!((failed.attempts(), last), (3, Some(Verdict::Unprocessed)));
    Ok(())
}

#[tokio::test]
async fn a_time_limit_of_the_channel_was_a_cancelled_call() -> Done {
    let server = Scripted::start(|seen| match seen.call {
        0 => Reply::Never,
        _ => Reply::Message("done"),
    });
    let (server, retrier) = (server.await?, retrier(quick()?.deadline(Span::from_secs(30)))?);
    let channel = server.endpoint().timeout(std::time::Duration::from_millis(300)).connect_lazy();
    let response = retrier.retry(|| unary(channel.clone(), hello())).await?;
    assert_eq!((response.into_inner(), server.seen().len()), ("done".into(), 2));
    Ok(())
}
