//! Batches whose items have different fates.

mod support;

use stagger::budget::BudgetPlan;
use stagger::{
    Backoff, CallReport, Hint, Jitter, Outcome, Policy, PolicyBuilder, Retrier, Span, Stop, Verdict,
};
use support::ManualTime;

fn policy() -> PolicyBuilder {
    let rule = Backoff::exponential(Span::from_secs(1), Span::from_secs(60)).expect("in bounds");
    Policy::builder()
        .backoff(rule.with_jitter(Jitter::None).expect("a law without ratio"))
        .budget(BudgetPlan::Unlimited)
        .max_attempts(3)
}

fn retrier(policy: PolicyBuilder) -> (Retrier<ManualTime>, ManualTime) {
    let time = ManualTime::default();
    (Retrier::new(policy.build().expect("in bounds"), time.clone()), time)
}

/// The answer of a table that does the first `can` items only.
fn first(can: usize, items: &[u32]) -> Vec<Result<u32, &'static str>> {
    let answer = |(at, item): (usize, &u32)| if at < can { Ok(*item) } else { Err("unprocessed") };
    items.iter().enumerate().map(answer).collect()
}

// OpenCTI-Platform/opencti #17134, aws/aws-sdk-js #1262.
#[test]
fn twenty_four_unprocessed_items_were_lost_behind_a_200() {
    let (retrier, time) = retrier(policy());
    let mut sent = Vec::new();
    let batch = retrier
        .batch_blocking((0..25).collect(), |items| {
            sent.push(items.to_vec());
            Ok(first(if sent.len() == 1 { 1 } else { 24 }, items))
        })
        .when(|_: &&str| true)
        .call();
    assert!(batch.is_complete());
    assert_eq!(sent, [(0..25).collect::<Vec<_>>(), (1..25).collect()], "only those that are left");
    assert_eq!(batch.done, (0..25).map(|n| (n as usize, n)).collect::<Vec<_>>(), "ids are kept");
    assert_eq!(time.elapsed(), Span::from_secs(1), "after the policy's delay");
}

#[test]
fn a_batch_that_got_on_ran_out_of_attempts() {
    let (retrier, time) = retrier(policy());
    let mut report = CallReport::default();
    let batch = retrier
        .batch_blocking((0..10).collect(), |items| Ok(first(1, items)))
        .when(|_: &&str| true)
        .report(&mut report)
        .call();
    assert!(batch.is_complete());
    assert_eq!((batch.rounds, batch.stop), (10, Stop::Succeeded));
    assert_eq!(time.elapsed(), Span::from_secs(9), "and the delays began anew each time");
    assert_eq!(report.stop(), Some(Stop::Succeeded));
}

#[test]
fn rounds_that_did_nothing_went_on_for_ever() {
    let (retrier, time) = retrier(policy());
    let mut rounds = 0;
    let batch = retrier
        .batch_blocking(vec![1, 2, 3], |items| {
            rounds += 1;
            Ok(first(usize::from(rounds == 2), items))
        })
        .when(|_: &&str| true)
        .call();
    assert_eq!(
        (batch.rounds, batch.stop),
        (5, Stop::AttemptsExhausted),
        "3 after the one that did"
    );
    assert_eq!(batch.done, [(0, 1)]);
    assert_eq!(batch.left, [(1, 2), (2, 3)]);
    assert_eq!(batch.error, Some("unprocessed"));
    assert_eq!(time.elapsed(), Span::from_secs(1 + 1 + 2 + 4), "1 s, and anew 1, 2 and 4 s");
}

// olivere/elastic #445.
#[test]
fn an_item_that_will_not_heal_was_sent_again_with_the_others() {
    let (retrier, _) = retrier(policy());
    let mut sent = Vec::new();
    let batch = retrier
        .batch_blocking(vec![1_usize, 2, 3], |items| {
            sent.push(items.to_vec());
            Ok(items.iter().map(|n| [Ok(*n), Err("too large"), Err("busy")][*n - 1]).collect())
        })
        .when(|e| *e == "busy")
        .call();
    assert_eq!(sent[1..], [vec![3], vec![3], vec![3]], "only the busy one");
    assert_eq!(batch.refused, [(1, 2, "too large")], "handed back, with its error");
    assert_eq!(batch.left, [(2, 3)]);
}

#[test]
fn a_reply_lost_on_the_way_back_doubled_the_whole_batch() {
    let (retrier, _) = retrier(policy());
    let lost = retrier.batch_blocking(vec![1, 2], |_| Err::<Vec<Result<u32, _>>, _>("504"));
    let batch = lost.when(|_| true).not_idempotent().call();
    assert_eq!((batch.rounds, batch.stop), (1, Stop::NotIdempotent));
    assert_eq!((batch.left.len(), batch.error), (2, Some("504")));
}

#[test]
fn an_item_that_may_have_been_done_was_done_twice() {
    let (retrier, _) = retrier(policy());
    let classifier = |error: &Verdict| Outcome::new(*error);
    let mut sent = Vec::new();
    let batch = retrier
        .batch_blocking(vec![0, 1], |items| {
            sent.push(items.to_vec());
            let left = |n: &u32| Err([Verdict::Transient, Verdict::Unprocessed][*n as usize]);
            Ok(items.iter().map(|n| if sent.len() > 1 { Ok(*n) } else { left(n) }).collect())
        })
        .classify(classifier)
        .not_idempotent()
        .call();
    assert_eq!(sent, [vec![0, 1], vec![1]], "what the server cannot have acted on goes again");
    assert_eq!(batch.refused, [(0, 0, Verdict::Transient)]);
    assert_eq!(batch.done, [(1, 1)]);
}

#[test]
fn an_item_that_the_reply_forgot_was_taken_for_done() {
    let (retrier, _) = retrier(policy());
    let batch = retrier
        .batch_blocking(vec![1, 2, 3], |items| Ok(first(1, items).into_iter().take(1).collect()))
        .when(|_: &&str| true)
        .call();
    assert_eq!((batch.rounds, batch.done.len()), (3, 3));
}

#[test]
fn the_longest_hint_of_the_items_was_shortened_by_another() {
    let (retrier, time) = retrier(policy());
    let classifier = |secs: &u64| {
        Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(*secs)))
    };
    let mut rounds = 0;
    let batch = retrier
        .batch_blocking(vec![2, 9, 4], |items| {
            rounds += 1;
            Ok(items.iter().map(|secs| if rounds == 1 { Err(*secs) } else { Ok(*secs) }).collect())
        })
        .classify(classifier)
        .call();
    assert!(batch.is_complete());
    assert!(time.elapsed() >= Span::from_secs(9), "waited {}", time.elapsed());
}

#[test]
fn a_batch_without_items_made_a_call() {
    let (retrier, _) = retrier(policy());
    let batch = retrier
        .batch_blocking(Vec::<u32>::new(), |_| Err::<Vec<Result<u32, _>>, _>("nothing to send"))
        .when(|_| true)
        .call();
    assert_eq!((batch.rounds, batch.stop, batch.is_complete()), (0, Stop::Succeeded, true));
}

#[test]
fn the_budget_did_not_hold_for_rounds_that_got_on() {
    let (retrier, _) = retrier(policy().budget(BudgetPlan::None));
    let batch = retrier
        .batch_blocking((0..10).collect(), |items| Ok(first(1, items)))
        .when(|_: &&str| true)
        .call();
    assert_eq!((batch.rounds, batch.stop), (1, Stop::BudgetEmpty));
    assert_eq!(batch.left.len(), 9);
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_batch_could_not_be_spawned() {
    let retrier = Retrier::new(policy().build().expect("in bounds"), stagger::TokioTime);
    let task = tokio::spawn(async move {
        let op = async |items: Vec<u32>| Ok(first(3, &items));
        retrier.batch((0..4).collect(), op).when(|_| true).await
    });
    let batch = task.await.expect("does not panic");
    assert_eq!((batch.rounds, batch.done.len()), (2, 4));
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_round_that_hung_took_the_items_with_it() {
    let limited = policy().attempt_timeout(Span::from_secs(5));
    let retrier = Retrier::new(limited.build().expect("in bounds"), stagger::TokioTime);
    let mut rounds = 0;
    let batch = retrier
        .batch(vec![7, 8], |items: Vec<u32>| {
            rounds += 1;
            let hangs = rounds == 1;
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok(first(2, &items))
            }
        })
        .when(|_: &&str| true);
    assert_eq!(batch.await.done, [(0, 7), (1, 8)]);
}
