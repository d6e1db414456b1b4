//! Ready policies and their names: vendors' published rules, and the three situations of most calls.

use super::{HintRule, LongHint, Policy};
use crate::backoff::Backoff;
use crate::budget::{BudgetPlan, ThrottlePlan, TokenPlan};
use crate::error::ConfigError;
use crate::jitter::Jitter;
use crate::ratio::Ratio;
use crate::time::Span;

/// The cap of every AWS delay.
const AWS_CAP: Span = Span::from_secs(20);

const MINUTE: Span = Span::from_secs(60);
const DAY: Span = Span::from_secs(24 * 60 * 60);

impl Policy {
    /// The AWS SDKs' standard mode as it was until 2026 ("2.0"): 3 attempts, base 1 s, cap 20 s,
    /// full jitter, a bucket of 500 tokens from which a retry takes 5 and one after a timeout 10.
    #[must_use]
    pub fn aws_standard_2_0() -> Self {
        preset(|| {
            Self::builder()
                .backoff(Backoff::exponential(Span::from_secs(1), AWS_CAP)?)
                .hints(HintRule::AWS)
                .budget(TokenPlan::aws_2_0())
                .build()
        })
    }

    /// The AWS SDKs' standard mode since 2026 ("2.1"): 3 attempts, base 50 ms, or 1 s after a
    /// throttle, cap 20 s, full jitter, a bucket of 500 tokens from which a retry takes 14 and one
    /// after a throttle 5.
    #[must_use]
    pub fn aws_standard_2_1() -> Self {
        preset(|| {
            Self::builder()
                .backoff(Backoff::exponential(Span::from_millis(50), AWS_CAP)?)
                .throttled_backoff(Backoff::exponential(Span::from_secs(1), AWS_CAP)?)
                .hints(HintRule::AWS)
                .budget(TokenPlan::aws_2_1())
                .build()
        })
    }

    /// The AWS SDKs' standard mode since 2026 ("2.1") as their clients of DynamoDB and DynamoDB Streams have it: 4
    /// attempts and a base of 25 ms, because its answers are fast; all else as [`aws_standard_2_1`](Self::aws_standard_2_1).
    ///
    /// Source: the announcement of the updated retry behaviour, May 2026, which aws-sdk-go-v2 #3416 and
    /// aws-sdk-java-v2 #6917 carry out.
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::aws_dynamodb();
    /// assert_eq!(policy.limits().max_attempts(), Some(4));
    /// assert_eq!(policy.backoff().ceiling(3), Span::from_millis(100)); // as the last one of other services
    /// assert_eq!(policy.throttled_backoff().base(), Span::from_secs(1));
    /// ```
    #[must_use]
    pub fn aws_dynamodb() -> Self {
        preset(|| {
            Self::aws_standard_2_1()
                .to_builder()
                .backoff(Backoff::exponential(Span::from_millis(25), AWS_CAP)?)
                .max_attempts(4)
                .build()
        })
    }

    /// gRPC's retries, as the examples of gRFC A6 set them.
    ///
    /// | setting | value | source |
    /// | --- | --- | --- |
    /// | attempts | 4 | `maxAttempts` of the example `retryPolicy` |
    /// | backoff | 100 ms, times 2, cap 1 s | `initialBackoff`, `backoffMultiplier` and `maxBackoff` of the same |
    /// | jitter | 20 % up and down | A6 as amended in 2024 |
    /// | budget | throttle of 10 tokens, 0.1 for a success | the example `retryThrottling` |
    /// | deadline, time for an attempt | none | a gRPC call brings its own deadline |
    ///
    /// The values of a service of your own come from its service config, with the feature `serde`.
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::grpc();
    /// assert_eq!(policy.limits().max_attempts(), Some(4));
    /// let (shortest, longest) = policy.backoff().range(3);
    /// assert_eq!((shortest, longest), (Span::from_millis(320), Span::from_millis(480)));
    /// ```
    #[must_use]
    pub fn grpc() -> Self {
        preset(|| {
            let backoff = Backoff::exponential(Span::from_millis(100), Span::from_secs(1))?;
            Self::builder()
                .backoff(backoff.with_jitter(Jitter::Symmetric(Ratio::from_percent(20)))?)
                .max_attempts(4)
                .budget(ThrottlePlan::new(10, Ratio::from_percent(10))?)
                .build()
        })
    }

    /// Google Cloud's client libraries for calls that may be repeated.
    ///
    /// | setting | value | source |
    /// | --- | --- | --- |
    /// | backoff | 1 s, times 2, cap 60 s, full jitter | the defaults of `google-cloud-gax` and `google-cloud-storage` (Rust) and of `google-api-core` (Python) |
    /// | deadline | 120 s, attempts not counted | the default of `google-api-core` |
    /// | time for an attempt | 60 s | the default timeout of the Python Cloud Storage client |
    /// | hints, budget | our defaults | the vendor names none; hints up to the cap of 60 s are obeyed |
    ///
    /// Libraries for other languages differ in cap and total. When every attempt fails at once, the
    /// longest delays make 7 attempts in 63 s.
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::google_cloud();
    /// assert_eq!(policy.backoff().ceiling(3), Span::from_secs(4));
    /// assert_eq!(policy.limits().deadline(), Some(Span::from_secs(120)));
    /// ```
    #[must_use]
    pub fn google_cloud() -> Self {
        preset(|| {
            Self::builder()
                .backoff(Backoff::exponential(Span::from_secs(1), MINUTE)?)
                .unlimited_attempts()
                .deadline(Span::from_secs(120))
                .attempt_timeout(MINUTE)
                .build()
        })
    }

    /// Webhook deliveries: ten attempts over three days, as the example schedule of Standard
    /// Webhooks 1.0.0 has them.
    ///
    /// | setting | value | reason |
    /// | --- | --- | --- |
    /// | backoff | 5 s, times 5, cap 24 h, full jitter | see below |
    /// | attempts | 10 | as many as the schedule has |
    /// | time for an attempt | 30 s | the upper end of the 15 to 30 s that the specification advises: nobody waits |
    /// | hints | up to 24 h, longer ones shortened | a delivery should not be lost to an endpoint that asks for patience |
    /// | budget | unlimited | a refusal would end the delivery for good; pace the endpoint instead |
    ///
    /// The schedule's nine delays (5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: 75.6 h in
    /// all) are no exponential series. This one has the same first and last delay, the same number of
    /// attempts and, at its longest, 75.1 h; its early delays are shorter (25 s, 125 s, 10 min,
    /// 52 min) and its late ones longer. Full jitter halves the mean, and keeps the backlog of an
    /// outage from coming back all at once.
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::webhook();
    /// let longest = (1..10).fold(Span::ZERO, |sum, k| sum + policy.backoff().ceiling(k));
    /// assert_eq!(longest.as_secs_ceil() / 3_600, 75);
    /// ```
    #[must_use]
    pub fn webhook() -> Self {
        preset(|| {
            Self::builder()
                .backoff(Backoff::exponential(Span::from_secs(5), DAY)?.with_factor(5.0)?)
                .max_attempts(10)
                .attempt_timeout(Span::from_secs(30))
                .hints(HintRule::new(DAY, Ratio::from_percent(50), LongHint::Shorten)?)
                .budget(BudgetPlan::Unlimited)
                .build()
        })
    }

    /// Calls that a person waits for: an answer or an error within 3 s.
    ///
    /// | setting | value | reason |
    /// | --- | --- | --- |
    /// | deadline | 3 s | delays above 1 s break a person's flow of thought, above 10 s their attention (Nielsen 1993, Usability Engineering, chapter 5), and one page makes several calls |
    /// | time for an attempt | 1 s | so that the deadline holds three |
    /// | least time for an attempt | 100 ms | with less the answer comes too late, and the server works for nobody |
    /// | attempts | 3 | what the deadline holds |
    /// | backoff | 50 ms, times 2, cap 500 ms, full jitter | the short base of the AWS SDKs' 2.1 rules: a person cannot wait for a server to recover, only for a stumble to pass |
    /// | hints | up to 1 s, longer ones end the call | a person who is told at once can decide |
    /// | budget | the default | many people wait at once when a server is slow |
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::interactive();
    /// assert_eq!(policy.limits().deadline(), Some(Span::from_secs(3)));
    /// ```
    #[must_use]
    pub fn interactive() -> Self {
        preset(|| {
            let second = Span::from_secs(1);
            Self::builder()
                .backoff(Backoff::exponential(Span::from_millis(50), Span::from_millis(500))?)
                .max_attempts(3)
                .deadline(Span::from_secs(3))
                .attempt_timeout(second)
                .min_attempt_time(Span::from_millis(100))
                .hints(HintRule::new(second, Ratio::from_percent(50), LongHint::Stop)?)
                .build()
        })
    }

    /// Calls that nobody waits for: patient for an hour, and gentle with the server.
    ///
    /// | setting | value | reason |
    /// | --- | --- | --- |
    /// | deadline | 1 h | what has failed for an hour wants a person, or the next run of the job |
    /// | backoff | 1 s, times 2, cap 5 min, full jitter | outages last minutes; beyond the cap a recovery would go unnoticed for too long |
    /// | attempts | 20 | their longest delays add up to 58.5 min, so they fill the hour |
    /// | time for an attempt | 60 s | a minute of silence is a dead connection; raise it for calls that work longer |
    /// | hints | up to 15 min, longer ones end the call | the window of many rate limits; a job can be rescheduled for the rest |
    /// | budget | the default, and a refused call pauses | a job that goes on with its next item at once would turn an empty budget into a hot loop |
    /// | breaker | waited for, where one is added | there is time for it to half-open |
    ///
    /// ```
    /// use stagger_core::{Policy, Span};
    /// let policy = Policy::batch();
    /// let longest = (1..20).fold(Span::ZERO, |sum, k| sum + policy.backoff().ceiling(k));
    /// assert!(longest <= Span::from_secs(3_600));
    /// ```
    #[must_use]
    pub fn batch() -> Self {
        preset(|| {
            let longest_hint = Span::from_secs(15 * 60);
            Self::builder()
                .backoff(Backoff::exponential(Span::from_secs(1), Span::from_secs(5 * 60))?)
                .max_attempts(20)
                .deadline(Span::from_secs(60 * 60))
                .attempt_timeout(MINUTE)
                .hints(HintRule::new(longest_hint, Ratio::from_percent(50), LongHint::Stop)?)
                .pause_when_empty(true)
                .wait_for_breaker(true)
                .build()
        })
    }
}

impl Policy {
    /// The names of the ready policies. `aws_standard` is the one that the SDKs follow today.
    pub const PRESETS: [&'static str; 9] = [
        "aws_standard",
        "aws_standard_2_0",
        "aws_standard_2_1",
        "aws_dynamodb",
        "grpc",
        "google_cloud",
        "webhook",
        "interactive",
        "batch",
    ];

    /// The ready policy of this name, written with underscores or hyphens.
    ///
    /// # Errors
    /// `preset`: a name that is none of [`PRESETS`](Self::PRESETS).
    ///
    /// ```
    /// use stagger_core::Policy;
    /// assert_eq!(Policy::preset("google-cloud")?, Policy::google_cloud());
    /// assert_eq!(Policy::preset("aws_standard")?, Policy::aws_standard_2_1());
    /// assert_eq!(Policy::preset("azure").unwrap_err().field(), "preset");
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        match name.replace('-', "_").as_str() {
            "aws_standard" | "aws_standard_2_1" => Ok(Self::aws_standard_2_1()),
            "aws_standard_2_0" => Ok(Self::aws_standard_2_0()),
            "aws_dynamodb" => Ok(Self::aws_dynamodb()),
            "grpc" => Ok(Self::grpc()),
            "google_cloud" => Ok(Self::google_cloud()),
            "webhook" => Ok(Self::webhook()),
            "interactive" => Ok(Self::interactive()),
            "batch" => Ok(Self::batch()),
            _ => {
                let bound = alloc::format!("one of {}", Self::PRESETS.join(", "));
                Err(ConfigError::new("preset", name, bound))
            }
        }
    }
}

/// Builds a ready policy. All of them are built by the tests of this file.
fn preset(settings: impl FnOnce() -> Result<Policy, ConfigError>) -> Policy {
    settings().expect("its settings are constants within their bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_policy_was_out_of_its_bounds() {
        for name in Policy::PRESETS {
            let policy = Policy::preset(name).expect("a name of the list");
            assert_eq!(policy.to_builder().build(), Ok(policy), "{name}");
        }
    }
}
