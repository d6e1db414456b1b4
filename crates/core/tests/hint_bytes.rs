//! Any bytes in any header: nothing panics, and what is read is never shorter than what was written.

use proptest::prelude::*;
use stagger_core::hint::structured::{Dictionary, Item, List};
use stagger_core::hint::{
    HintReader, RateLimitPolicy, ResetMeaning, WallTime, pushback, rate_limit_reset, retry_after,
    retry_after_ms,
};
use stagger_core::{Hint, Span};

/// Bytes that look like headers more often than chance would have it.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let signs = prop::sample::select(&b"0123456789.,-+;=:?@%*\"\\() \tGMTSunJaz\xc3\x00"[..]);
    let anything = prop::collection::vec(any::<u8>(), 0..64);
    prop_oneof![prop::collection::vec(signs, 0..48), anything]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in value(), secs in any::<i64>()) {
        let now = Some(WallTime::from_unix_secs(secs));
        let _any = retry_after(&bytes, now);
        let _any = retry_after_ms(&bytes);
        let _any = rate_limit_reset(&bytes, ResetMeaning::Auto, now);
        let _any = RateLimitPolicy::parse(&bytes);
        #[cfg(feature = "http-date")]
        let _any = stagger_core::hint::http_date(&bytes, now);
        prop_assert!(pushback([&bytes[..]]).is_some());
        let names = ["date", "retry-after", "ratelimit", "x-ratelimit-reset", "ratelimit-policy"];
        let hint = HintReader::new().read(names.map(|name| (name, &bytes[..])), now);
        if !bytes.iter().any(u8::is_ascii_digit) {
            prop_assert_eq!(hint, None);
        }
    }

    #[test]
    fn what_is_parsed_is_written_and_parsed_the_same(bytes in value()) {
        if let Ok(item) = Item::parse(&bytes) {
            prop_assert_eq!(Item::parse(item.serialize().unwrap().as_bytes()), Ok(item));
        }
        if let Ok(list) = List::parse(&bytes) {
            prop_assert_eq!(List::parse(list.serialize().unwrap().as_bytes()), Ok(list));
        }
        if let Ok(dictionary) = Dictionary::parse(&bytes) {
            let text = dictionary.serialize().unwrap();
            prop_assert_eq!(Dictionary::parse(text.as_bytes()), Ok(dictionary));
        }
    }

    #[test]
    fn digits_are_the_number_that_they_write(n in any::<u64>(), zeros in 0..4_usize) {
        let text = format!("{}{n}", "0".repeat(zeros));
        prop_assert_eq!(retry_after(text.as_bytes(), None), Some(Span::from_secs(n)));
        prop_assert_eq!(retry_after_ms(text.as_bytes()), Some(Span::from_millis(n)));
        let exact = i32::try_from(n).map_or(Hint::Never, |_| Hint::Exactly(Span::from_millis(n)));
        prop_assert_eq!(pushback([text.as_bytes()]), Some(exact));
    }

    #[test]
    fn rounding_never_shortens(whole in 0..1_000_000_u64, fraction in "[0-9]{1,18}") {
        let nanos = retry_after(format!("{whole}.{fraction}").as_bytes(), None).unwrap().as_nanos();
        // In units of 10^-18 s both sides are exact.
        let written: u128 = format!("{whole}{fraction:0<18}").parse().unwrap();
        let read = u128::from(nanos) * 1_000_000_000;
        prop_assert!(read >= written && read - written < 1_000_000_000);
    }

    #[test]
    fn longest_of_a_joined_line_wins(waits in prop::collection::vec(0..100_000_u64, 1..6)) {
        let line = waits.iter().map(u64::to_string).collect::<Vec<_>>().join(" ,");
        let longest = waits.iter().max().map(|&secs| Span::from_secs(secs));
        prop_assert_eq!(retry_after(line.as_bytes(), None), longest);
    }
}
