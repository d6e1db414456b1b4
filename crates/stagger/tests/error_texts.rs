//! Errors that people act on: their texts, their sources, and their way through `?`.
#![cfg(feature = "tokio")]

use std::error::Error as StdError;
use std::future::pending;
use std::io;

use stagger::budget::{BudgetPlan, WindowPlan};
use stagger::{AttemptTimeout, Classify, Policy, Ratio, Retrier, Span};

#[derive(Debug, thiserror::Error)]
#[error("the shop is busy")]
struct Busy(#[source] io::Error);

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error("no stock")]
    Stock(#[from] stagger::Error<Busy>),
}

fn busy() -> Result<(), Busy> {
    Err(Busy(io::Error::other("socket closed")))
}

fn fails(policy: Policy) -> stagger::Error<Busy> {
    Retrier::of(policy).retry_blocking(busy).when(|_| true).call().expect_err("busy for ever")
}

fn in_anyhow() -> anyhow::Result<()> {
    stagger::retry_blocking(busy).when(|_| false).call()?;
    Ok(())
}

fn in_thiserror() -> Result<(), AppError> {
    stagger::retry_blocking(busy).when(|_| false).call()?;
    Ok(())
}

#[test]
fn a_chain_of_errors_printed_one_text_twice_or_left_the_real_error_out() {
    let chain = format!("{:#}", in_anyhow().unwrap_err());
    assert!(chain.starts_with("permanent failure after 1 attempt in "), "{chain}");
    assert!(chain.ends_with(": the shop is busy: socket closed"), "{chain}");
    assert_eq!(chain.matches("the shop is busy").count(), 1);
    let error = in_thiserror().unwrap_err();
    assert!(error.source().is_some_and(|source| source.to_string().contains("the shop is busy")));
    let AppError::Stock(failed) = error;
    assert!(failed.into_inner().is_some_and(|Busy(error)| error.kind() == io::ErrorKind::Other));
}

#[test]
fn an_empty_budget_says_what_it_grants_and_where_to_read_on() -> Result<(), stagger::ConfigError> {
    // In a phase of its own, so that the first call takes all that is in hand and the second finds none.
    let window = WindowPlan::default().with_phase(Ratio::ZERO);
    let server = Retrier::of(Policy::builder().budget(BudgetPlan::Window(window)).build()?);
    let fail = || server.retry_blocking(busy).when(|_| true).call().expect_err("busy for ever");
    let first = fail().to_string();
    assert!(first.starts_with("attempts exhausted after 3 attempts in "), "{first}");
    let failed = fail().to_string();
    assert!(failed.starts_with("retry budget empty after 1 attempt in "), "{failed}");
    assert!(
        failed.contains(": the shop is busy; 2 retries in 10s are all it grants now"),
        "{failed}"
    );
    let page = "; see https://github.com/stagger-rs/stagger/blob/main/docs/guides/budgets.md";
    assert!(failed.ends_with(page), "{failed}");
    let none = Policy::builder().budget(BudgetPlan::None).build()?;
    let failed = fails(none).to_string();
    assert!(failed.ends_with(&format!("; 0 of 0 left{page}")), "{failed}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_out_of_time_left_the_error_of_the_one_before_as_the_source()
-> Result<(), stagger::ConfigError> {
    let mut tries = 0;
    let policy = Policy::builder().attempt_timeout(Span::from_secs(1)).max_attempts(2).build()?;
    let server = Retrier::of(policy).with_seed(7);
    let failed = server.retry(|| {
        tries += 1;
        let first = tries == 1;
        async move { if first { busy() } else { pending().await } }
    });
    let failed = failed.when(|_| true).await.unwrap_err();
    assert!(failed.source().is_some_and(|source| source.is::<AttemptTimeout>()));
    let text = failed.to_string();
    assert!(text.starts_with("attempts exhausted after 2 attempts in 1."), "{text}");
    assert!(text.ends_with(", the last too slow, and before that: the shop is busy"), "{text}");
    Ok(())
}

#[test]
fn a_boxed_error_is_classified_by_the_io_error_in_its_chain() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let boxed: Box<dyn StdError + Send + Sync> = Box::new(Busy(refused));
    assert!(boxed.classify().verdict.is_retryable());
    let unknown: Box<dyn StdError + Send + Sync> = "gone".into();
    assert!(!unknown.classify().verdict.is_retryable());
}
