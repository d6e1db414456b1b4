//! Policies of every kind that can be built.

use proptest::option;
use proptest::prelude::*;
use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::{
    BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan,
};
use stagger_core::concurrency::ConcurrencyPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::rate_limit::RatePlan;
use stagger_core::{
    Backoff, Envelope, Factor, HintRule, HintScope, Jitter, LongHint, Policy, Rate, Ratio, Span,
};

/// A policy with anything in it.
pub(crate) fn any_policy() -> impl Strategy<Value = Policy> {
    let rules = (backoff(), option::of(backoff()), hints(), budget());
    let refusals = any::<(bool, bool)>();
    let plans = (option::of(breaker()), option::of(hedge()), refusals, option::of(adaptive()));
    let held = (option::of(concurrency()), option::of(rate()));
    (rules, plans, limits(), held).prop_filter_map("refused", |(rules, plans, limits, held)| {
        let mut builder = Policy::builder()
            .backoff(rules.0)
            .hints(rules.2)
            .budget(rules.3)
            .wait_for_breaker(plans.2.0)
            .pause_when_empty(plans.2.1)
            .min_attempt_time(limits.3);
        if let Some(rule) = rules.1 {
            builder = builder.throttled_backoff(rule);
        }
        if let Some(plan) = plans.0 {
            builder = builder.breaker(plan);
        }
        if let Some(plan) = plans.1 {
            builder = builder.hedge(plan);
        }
        if let Some(plan) = plans.3 {
            builder = builder.adaptive(plan);
        }
        if let Some(plan) = held.0 {
            builder = builder.concurrency_limit(plan);
        }
        if let Some(plan) = held.1 {
            builder = builder.rate_limit(plan);
        }
        builder = match limits.0 {
            Some(calls) => builder.max_attempts(calls),
            None => builder.unlimited_attempts(),
        };
        if let Some(deadline) = limits.1 {
            builder = builder.deadline(deadline);
        }
        if let Some(limit) = limits.2 {
            builder = builder.attempt_timeout(limit);
        }
        builder.build().ok()
    })
}

/// Spans of every size, whole and crooked.
fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        Just(Span::ZERO),
        Just(Span::MAX),
        (1_u64..100).prop_map(Span::from_secs),
        (1_u64..10_000).prop_map(Span::from_millis),
        any::<u64>().prop_map(Span::from_nanos),
        (1_u64..10_000_000_000).prop_map(Span::from_nanos),
    ]
}

fn concurrency() -> impl Strategy<Value = ConcurrencyPlan> {
    (1_u32..=1_000_000, 0_u32..=1_000_000, span())
        .prop_filter_map("refused", |(most, queue, wait)| {
            ConcurrencyPlan::new(most).ok()?.with_queue(queue, wait).ok()
        })
}

fn rate() -> impl Strategy<Value = RatePlan> {
    let rate = prop_oneof![
        (1_u32..=1_000_000).prop_map(Rate::per_second),
        (1e-6..=1e6).prop_map(|rate| Rate::try_from(rate).expect("in bounds")),
    ];
    (rate, 1_u32..=1_000_000, span()).prop_map(|(rate, burst, wait)| {
        RatePlan::new(rate, burst).expect("in bounds").with_max_wait(wait)
    })
}

fn share() -> impl Strategy<Value = Ratio> {
    prop_oneof![
        (0..=Ratio::SCALE).prop_map(Ratio::from_ppm),
        (0_u32..=100).prop_map(Ratio::from_percent)
    ]
}

fn limits() -> impl Strategy<Value = (Option<u32>, Option<Span>, Option<Span>, Span)> {
    let calls = option::of(prop_oneof![1_u32..20, 1..=u32::MAX]);
    let least = prop_oneof![Just(Span::ZERO), (0_u64..900).prop_map(Span::from_nanos)];
    (calls, option::of(span()), option::of(span()), least)
}

fn factor() -> impl Strategy<Value = Factor> {
    let ppm = prop_oneof![
        Just(2_000_000_u64),
        1_000_000_u64..5_000_000,
        1_000_000_u64..=1_000_000_000_000
    ];
    ppm.prop_map(|ppm| {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let value = ppm as f64 / 1e6;
        Factor::try_from(value).expect("in range")
    })
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::DecorrelatedClamped),
        share().prop_map(Jitter::Proportional),
        share().prop_map(Jitter::Symmetric),
    ]
}

fn backoff() -> impl Strategy<Value = Backoff> {
    let envelope = prop_oneof![
        Just(Envelope::Constant),
        Just(Envelope::Linear),
        factor().prop_map(Envelope::Exponential),
    ];
    let spans = prop_oneof![(span(), span()), span().prop_map(|base| (base, base))];
    (envelope, spans, jitter()).prop_filter_map("refused", |(envelope, (base, cap), law)| {
        Backoff::new(envelope, base, cap).and_then(|rule| rule.with_jitter(law)).ok()
    })
}

fn hints() -> impl Strategy<Value = HintRule> {
    let long = prop_oneof![
        Just(LongHint::Stop),
        Just(LongHint::Shorten),
        span().prop_map(LongHint::OwnDelayPlus),
    ];
    let scope = prop_oneof![Just(HintScope::Call), Just(HintScope::Destination)];
    (span(), share(), long, scope).prop_map(|(max, spread, long, scope)| {
        HintRule::new(max, spread, long).expect("a share").with_scope(scope)
    })
}

fn budget() -> impl Strategy<Value = BudgetPlan> {
    prop_oneof![
        Just(BudgetPlan::Unlimited),
        Just(BudgetPlan::None),
        window().prop_map(BudgetPlan::Window),
        tokens().prop_map(BudgetPlan::Tokens),
        throttle().prop_map(BudgetPlan::Throttle),
        interval().prop_map(BudgetPlan::Interval),
    ]
}

fn window() -> impl Strategy<Value = WindowPlan> {
    let rate = || (0.0..=1e6).prop_map(|rate| Rate::try_from(rate).expect("in bounds"));
    let floor = prop_oneof![rate().prop_map(FloorRate::Add), rate().prop_map(FloorRate::AtLeast)];
    let burst = option::of(0_u32..=1_000_000);
    let ratio = (0..=10 * Ratio::SCALE).prop_map(Ratio::from_ppm);
    let span = (1_000_000_000_u64..=60_000_000_000).prop_map(Span::from_nanos);
    (ratio, span, floor, burst).prop_filter_map("refused", |(ratio, span, floor, burst)| {
        let plan = WindowPlan::new(ratio).ok()?.with_window(span).ok()?.with_floor(floor);
        burst.map_or(Some(plan), |burst| plan.with_burst(burst).ok())
    })
}

fn tokens() -> impl Strategy<Value = TokenPlan> {
    let costs = || (1_u32..=500, 1_u32..=500, 1_u32..=500, 1_u32..=500);
    (500_u32..=1_000_000, costs(), 0_u32..=500, 0_u32..=500).prop_filter_map(
        "refused",
        |(capacity, costs, first_try, initial)| {
            TokenPlan::new(capacity, costs.0)
                .and_then(|plan| plan.with_timeout(costs.1))
                .and_then(|plan| plan.with_throttled(costs.2))
                .and_then(|plan| plan.with_hedge(costs.3))
                .and_then(|plan| plan.with_first_try(first_try))
                .and_then(|plan| plan.with_initial(initial))
                .ok()
        },
    )
}

fn throttle() -> impl Strategy<Value = ThrottlePlan> {
    let ratio = (1_000..=u32::MAX).prop_map(Ratio::from_ppm);
    (1_u32..=1_000, ratio)
        .prop_map(|(tokens, ratio)| ThrottlePlan::new(tokens, ratio).expect("in range"))
}

fn interval() -> impl Strategy<Value = IntervalPlan> {
    (1_u8..=16, span())
        .prop_filter_map("refused", |(retries, span)| IntervalPlan::new(retries, span).ok())
}

fn breaker() -> impl Strategy<Value = BreakerPlan> {
    let window =
        prop_oneof![(1_u32..=1_000).prop_map(WindowKind::Calls), span().prop_map(WindowKind::Time)];
    let trip = (window, option::of(share()), 1_u32..30, option::of(1_u32..9));
    let slow = option::of((span(), share()));
    let open = (span(), 1_000_000_u32..=u32::MAX, span(), 1_u32..=100, option::of(span()));
    let ramp = option::of((share(), span()));
    (trip, slow, open, ramp, any::<bool>()).prop_filter_map(
        "refused",
        |(trip, slow, open, ramp, throttled)| {
            let mut builder = BreakerPlan::builder()
                .window(trip.0)
                .ratio(trip.1)
                .minimum_calls(trip.2)
                .consecutive(trip.3)
                .throttled_fails(throttled)
                .open_time(open.0)
                .open_factor(Ratio::from_ppm(open.1))
                .open_cap(open.2)
                .probes(open.3);
            if let Some(lease) = open.4 {
                builder = builder.lease(lease);
            }
            if let Some((after, ratio)) = slow {
                builder = builder.slow_calls(after, ratio);
            }
            if let Some((from, over)) = ramp {
                builder = builder.ramp(from, over);
            }
            builder.build().ok()
        },
    )
}

fn hedge() -> impl Strategy<Value = HedgePlan> {
    let delay = (0_u64..=3_600_000_000_000).prop_map(Span::from_nanos);
    let plan = |(delay, quantile, copies)| match quantile {
        Some(quantile) => HedgePlan::quantile(quantile, delay, copies).ok(),
        None => HedgePlan::fixed(delay, copies).ok(),
    };
    (delay, option::of(share()), 2_u32..=5).prop_filter_map("refused", plan)
}

fn adaptive() -> impl Strategy<Value = AdaptivePlan> {
    let ratio = (Ratio::SCALE..=100 * Ratio::SCALE).prop_map(Ratio::from_ppm);
    let window = (10_000_000_u64..=3_600_000_000_000).prop_map(Span::from_nanos);
    let throttle = (ratio, window).prop_map(|(ratio, window)| {
        AdaptivePlan::Throttle(ClientThrottlePlan::new(ratio, window).expect("in bounds"))
    });
    prop_oneof![throttle, Just(AdaptivePlan::Cubic)]
}
