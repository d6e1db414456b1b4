//! Properties of every delay of every law: bounds, shapes, and one word of chance.

use proptest::prelude::*;
use stagger_core::{Backoff, Entropy, Envelope, Factor, Jitter, Ratio, Span};
use stagger_testkit::{Mix, highest, lowest};

const SECOND: Span = Span::from_secs(1);
const MINUTE: Span = Span::from_secs(60);

/// The retry numbers at which somebody's integer or float has overflowed.
const EDGES: [u32; 11] = [0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, u32::MAX];

fn any_retry() -> impl Strategy<Value = u32> {
    prop_oneof![proptest::sample::select(EDGES.to_vec()), any::<u32>(), 1..200_u32]
}

fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![0..100_u64, 0..1_u64 << 40, any::<u64>()].prop_map(Span::from_nanos)
}

fn any_ratio() -> impl Strategy<Value = Ratio> {
    (0..=100_u32).prop_map(Ratio::from_percent)
}

fn any_law() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::DecorrelatedClamped),
        any_ratio().prop_map(Jitter::Proportional),
        any_ratio().prop_map(Jitter::Symmetric),
    ]
}

fn any_envelope() -> impl Strategy<Value = Envelope> {
    let factor = (1.0..100.0_f64).prop_map(|f| Factor::try_from(f).expect("a factor in range"));
    prop_oneof![
        Just(Envelope::Constant),
        Just(Envelope::Linear),
        Just(Envelope::Exponential(Factor::TWO)),
        factor.prop_map(Envelope::Exponential),
    ]
}

/// Any rule that can be built.
fn any_rule() -> impl Strategy<Value = Backoff> {
    (any_envelope(), any_span(), any_span(), any_law()).prop_filter_map(
        "a rule that can be built",
        |(envelope, a, b, law)| {
            Backoff::new(envelope, a.min(b), a.max(b)).ok()?.with_jitter(law).ok()
        },
    )
}

/// Counts the words that are drawn.
struct Counted(Mix, u32);

impl Entropy for Counted {
    fn next_u64(&mut self) -> u64 {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// The least and the greatest delay that the law's own formula allows, in wide arithmetic.
fn formula(rule: &Backoff, k: u32, prev: Span) -> (u128, u128) {
    let c = u128::from(rule.ceiling(k).as_nanos());
    let (base, cap) = (u128::from(rule.base().as_nanos()), u128::from(rule.cap().as_nanos()));
    let part = |r: Ratio| c * u128::from(r.ppm()) / 1_000_000;
    match rule.jitter() {
        Jitter::None => (c, c),
        Jitter::Full => (0, c),
        Jitter::Equal => (c / 2, c),
        Jitter::Decorrelated | Jitter::DecorrelatedClamped => {
            (base, cap.min(3 * u128::from(prev.as_nanos()).max(base)))
        }
        Jitter::Proportional(r) => ((c - part(r)).saturating_sub(1), c),
        Jitter::Symmetric(r) => ((c - part(r)).saturating_sub(1), c + part(r) + 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn delays_keep_to_their_formula(rule in any_rule(), k in any_retry(), prev in any_span(), seed: u64) {
        let (least, most) = formula(&rule, k, prev);
        let mut entropy = Counted(Mix::new(seed), 0);
        let delays = [
            rule.delay(k, prev, &mut lowest()),
            rule.delay(k, prev, &mut entropy),
            rule.delay(k, prev, &mut highest()),
        ];
        prop_assert!(delays.is_sorted(), "{delays:?}");
        for delay in delays.map(|delay| u128::from(delay.as_nanos())) {
            prop_assert!(least <= delay && delay <= most, "{least} <= {delay} <= {most}");
        }
        if !matches!(rule.jitter(), Jitter::Symmetric(_)) {
            prop_assert!(delays[2] <= rule.cap());
        }
        prop_assert_eq!(entropy.1, u32::from(rule.jitter() != Jitter::None), "words drawn");
    }

    #[test]
    fn the_range_that_is_told_is_the_range_that_is_drawn(rule in any_rule(), k in 1..300_u32) {
        let (least, most) = rule.range(k);
        let reach = |entropy: &mut dyn FnMut() -> u64| {
            (1..=k).fold(rule.base(), |prev, k| rule.delay(k, prev, &mut || entropy()))
        };
        prop_assert_eq!(reach(&mut || 0), least);
        prop_assert_eq!(reach(&mut || u64::MAX), most);
    }

    #[test]
    fn ceilings_never_shrink_nor_pass_the_cap(rule in any_rule(), k in any_retry(), step in 0..100_u32) {
        let (near, far) = (rule.ceiling(k), rule.ceiling(k.saturating_add(step)));
        prop_assert!(rule.base() <= near && near <= far && far <= rule.cap());
    }
}

/// Draws for the distribution tests: 20 000 put the test's resolution at 1.4 %.
const DRAWS: u32 = 20_000;

/// The largest distance between the drawn shares and those of `U[lo, hi]` (Kolmogorov-Smirnov).
fn distance(mut delays: Vec<Span>, lo: Span, hi: Span) -> f64 {
    delays.sort_unstable();
    let width = (hi - lo).as_secs_f64();
    let n = f64::from(DRAWS);
    let steps = (0..DRAWS).zip(&delays).map(|(i, delay)| {
        let uniform = (*delay - lo).as_secs_f64() / width;
        (uniform - f64::from(i) / n).abs().max((f64::from(i + 1) / n - uniform).abs())
    });
    steps.fold(0.0, f64::max)
}

#[test]
fn delays_are_uniform_over_their_formula() {
    let fifth = Ratio::from_percent(20);
    let millis = Span::from_millis;
    // Retry 4 of base 1 s: the ceiling is 8 s; the decorrelated law's first step is U[1, 3].
    let laws = [
        (Jitter::Full, 4, millis(0), millis(8_000)),
        (Jitter::Equal, 4, millis(4_000), millis(8_000)),
        (Jitter::Proportional(fifth), 4, millis(6_400), millis(8_000)),
        (Jitter::Symmetric(fifth), 4, millis(6_400), millis(9_600)),
        (Jitter::Decorrelated, 1, millis(1_000), millis(3_000)),
    ];
    let critical = 1.95 / f64::from(DRAWS).sqrt(); // alpha = 0.001
    for (n, (law, k, lo, hi)) in (0..).zip(laws) {
        let rule = doubling(law);
        let mut entropy = Mix::new(n);
        let draw = |_| rule.delay(k, rule.base(), &mut entropy);
        let got = distance((0..DRAWS).map(draw).collect(), lo, hi);
        assert!(got < critical, "{law:?}: {got} of {critical}");
    }
}

#[test]
fn the_test_above_sees_a_law_that_is_not_uniform() {
    let rule = doubling(Jitter::DecorrelatedClamped);
    let mut entropy = Mix::new(0);
    let draw = |_| rule.delay(1, MINUTE, &mut entropy); // 2/3 of these draws sit on the cap
    assert!(distance((0..DRAWS).map(draw).collect(), SECOND, MINUTE) > 0.5);
}

fn doubling(law: Jitter) -> Backoff {
    let rule = Backoff::exponential(SECOND, MINUTE).expect("within bounds");
    rule.with_jitter(law).expect("a valid law")
}

/// Counts the callers of `DRAWS` whose delay is exactly the cap at retry 12.
fn on_the_cap(law: Jitter) -> u32 {
    let rule = doubling(law);
    let mut entropy = Mix::new(2015);
    let twelfth = |_| (1..=12).fold(SECOND, |prev, k| rule.delay(k, prev, &mut entropy));
    (0..DRAWS).map(twelfth).map(|delay| u32::from(delay == MINUTE)).sum()
}

// Brooker's 2015 formula clamps after the draw, so that a herd gathers on the cap.
#[test]
fn a_third_of_the_callers_sat_exactly_on_the_cap() {
    let got = f64::from(on_the_cap(Jitter::DecorrelatedClamped));
    let (n, share) = (f64::from(DRAWS), 0.29);
    let deviation = (n * share * (1.0 - share)).sqrt();
    assert!((got - n * share).abs() < 3.0 * deviation, "{got} of {n}");
    assert_eq!(on_the_cap(Jitter::Decorrelated), 0);
}

/// FNV-1a over the delays: one constant for debug and release, so that neither may wrap.
#[test]
fn debug_and_release_drew_different_delays() {
    const DELAYS: u32 = 10_000;
    const DIGEST: u64 = 0x6BB2_C35F_86A6_B15D;
    let laws = [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedClamped,
        Jitter::Proportional(Ratio::from_percent(30)),
        Jitter::Symmetric(Ratio::from_percent(20)),
    ];
    let mut entropy = Mix::new(1);
    let (mut digest, mut prev) = (0xcbf2_9ce4_8422_2325_u64, SECOND);
    for n in 0..DELAYS {
        let law = laws[n as usize % laws.len()];
        let rule = doubling(law);
        let gentle = rule.with_factor(1.3).unwrap_or(rule); // the decorrelated laws take no factor
        let rule = if n % 2 == 0 { rule } else { gentle };
        let k = if n % 7 == 0 { EDGES[n as usize % EDGES.len()] } else { n };
        prev = rule.delay(k, prev, &mut entropy);
        for byte in prev.as_nanos().to_le_bytes() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    assert_eq!(digest, DIGEST, "{digest:#018x}");
}
