//! A plain client of reqwest in a call: its errors say themselves what heals.
#![cfg(feature = "reqwest")]

use std::error::Error as StdError;
use std::time::Duration;

use stagger::budget::BudgetPlan;
use stagger::{Backoff, Policy, Retrier, Stop, Verdict};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// Three attempts, a few milliseconds apart.
fn server() -> Result<Retrier, stagger::ConfigError> {
    let backoff = Backoff::exponential(Duration::from_millis(2), Duration::from_millis(8))?;
    let policy = Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited).build()?;
    Ok(Retrier::of(policy))
}

fn plain() -> reqwest::Result<reqwest::Client> {
    // rustls has no provider of its own here; whoever comes second finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().retry(reqwest::retry::never()).build()
}

#[tokio::test]
async fn a_call_of_a_plain_client_in_one_line_did_not_compile() -> Done {
    let server = TestServer::start(Script::always(Reaction::status(503))).await;
    let (client, url) = (plain()?, server.url("/"));
    let reply = stagger::retry(|| client.get(&url).send()).await?;
    assert_eq!((reply.status().as_u16(), server.seen().len()), (503, 1), "a reply is no error");
    Ok(())
}

#[tokio::test]
async fn a_status_that_was_made_an_error_heals_by_the_table_of_http() -> Done {
    for (status, attempts) in [(500, 3), (503, 3), (429, 3), (408, 3), (404, 1), (421, 1), (501, 1)]
    {
        let upstream = TestServer::start(Script::always(Reaction::status(status))).await;
        let (client, url, server) = (plain()?, upstream.url("/"), server()?);
        let get = || async { client.get(&url).send().await?.error_for_status() };
        let failed = server.retry(get).await.unwrap_err();
        assert_eq!((failed.attempts(), upstream.seen().len()), (attempts, attempts as usize));
        assert_eq!(failed.stop() == Stop::Permanent, attempts == 1, "{status}");
        let limited = failed.history().last().map(|last| last.verdict == Verdict::Throttled);
        assert_eq!(limited, Some(status == 429), "{status}");
    }
    Ok(())
}

#[tokio::test]
async fn a_broken_connection_and_one_that_never_came_to_be_were_not_tried_again() -> Done {
    let upstream =
        TestServer::start(Script::of([Reaction::reset()]).then(Reaction::ok("done"))).await;
    let (client, url) = (plain()?, upstream.url("/"));
    let reply = server()?.retry(|| client.get(&url).send()).await?;
    assert_eq!((reply.text().await?, upstream.seen().len()), ("done".to_owned(), 2));

    let refusal = RefusingPort::hold()?;
    let url = refusal.url("/");
    let post = server()?;
    let failed = post.retry(|| client.post(&url).send()).not_idempotent().await.unwrap_err();
    let last = failed.history().last().map(|last| last.verdict);
    assert_eq!((failed.attempts(), last), (3, Some(Verdict::Unprocessed)), "no server saw it");
    Ok(())
}

#[tokio::test]
async fn a_time_limit_of_the_client_was_permanent() -> Done {
    let upstream =
        TestServer::start(Script::of([Reaction::hang()]).then(Reaction::ok("done"))).await;
    let (client, url) = (plain()?, upstream.url("/"));
    let limit = Duration::from_millis(300);
    let reply = server()?.retry(|| client.get(&url).timeout(limit).send()).await?;
    assert_eq!(reply.status().as_u16(), 200);

    let post = || client.post("http://[::1").send();
    assert_eq!(
        server()?.retry(post).await.map_err(|error| error.stop()).err(),
        Some(Stop::Permanent)
    );
    Ok(())
}
