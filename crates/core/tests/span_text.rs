//! The text of a span, there and back.

use proptest::prelude::*;
use stagger_core::{ParseSpanError, Span};

proptest! {
    #[test]
    fn a_shown_span_reads_back_as_itself(nanos: u64) {
        let span = Span::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn small_spans_read_back_too(nanos in 0_u64..10_000_000_000) {
        let span = Span::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = text.parse::<Span>();
    }

    #[test]
    fn no_text_of_the_alphabet_panics(text in "[0-9. nuµmshd-]{0,40}") {
        let _ = text.parse::<Span>();
    }

    /// A naive reading in whole nanoseconds: pad the decimals to the unit's width.
    #[test]
    fn decimals_of_a_second_are_exact(whole in 0_u64..1_000_000, decimals in "[0-9]{1,12}") {
        let text = format!("{whole}.{decimals}s");
        let (kept, finer) = decimals.split_at(decimals.len().min(9));
        let expected = if finer.bytes().all(|digit| digit == b'0') {
            let nanos: u64 = format!("{kept:0<9}").parse().expect("nine digits");
            Ok(Span::from_nanos(whole * 1_000_000_000 + nanos))
        } else {
            Err(ParseSpanError::TooFine)
        };
        prop_assert_eq!(text.parse(), expected);
    }
}

#[cfg(feature = "serde")]
mod serde_form {
    use proptest::prelude::*;
    use stagger_core::{Ratio, Span};
    use std::collections::BTreeMap;

    fn toml_span(text: &str) -> Result<Span, String> {
        let table = toml::from_str::<BTreeMap<String, Span>>(text);
        table.map(|mut table| table.remove("wait").expect("wait")).map_err(|e| e.to_string())
    }

    #[test]
    fn spans_are_text_in_json_and_toml() {
        let span = Span::from_millis(1_500);
        assert_eq!(serde_json::to_string(&span).expect("json"), "\"1.5s\"");
        assert_eq!(serde_json::from_str::<Span>("\"1h 30m\"").expect("json").as_secs_ceil(), 5_400);
        assert_eq!(toml_span("wait = \"1.5s\""), Ok(span));
        assert_eq!(toml_span("wait = 0"), Ok(Span::ZERO));
    }

    #[test]
    fn a_number_without_unit_is_told_how_to_be_a_span() {
        let message = toml_span("wait = 5").expect_err("no unit");
        assert!(
            message.contains("integer `5`, expected a span as text, such as \"250ms\""),
            "{message}"
        );
        let message = toml_span("wait = 1.5").expect_err("no unit");
        assert!(message.contains("expected a span as text"), "{message}");
        let message = toml_span("wait = \"5\"").expect_err("no unit");
        assert!(message.contains("\"5\": must be a span with its unit"), "{message}");
    }

    #[test]
    fn ratios_are_numbers() {
        assert_eq!(serde_json::to_string(&Ratio::from_percent(10)).expect("json"), "0.1");
        assert_eq!(serde_json::from_str::<Ratio>("0.1").expect("json"), Ratio::from_percent(10));
        assert_eq!(serde_json::from_str::<Ratio>("1").expect("json"), Ratio::ONE);
        for refused in ["-0.1", "-1", "4295", "5000.5", "1e300", "\"0.1\"", "null"] {
            let message = serde_json::from_str::<Ratio>(refused).expect_err(refused).to_string();
            assert!(message.contains("from 0 to 4294.967295"), "{refused}: {message}");
        }
        let table = toml::from_str::<BTreeMap<String, Ratio>>("a = 0.2\nb = 2\n").expect("toml");
        assert_eq!(table["a"], Ratio::from_percent(20));
        assert_eq!(table["b"], Ratio::from_percent(200));
    }

    proptest! {
        #[test]
        fn a_ratio_reads_back_to_the_same_part(ppm: u32) {
            let ratio = Ratio::from_ppm(ppm);
            let json = serde_json::to_string(&ratio).expect("json");
            prop_assert_eq!(serde_json::from_str::<Ratio>(&json).expect("json"), ratio);
            let text = toml::to_string(&BTreeMap::from([("r", ratio)])).expect("toml");
            let back = toml::from_str::<BTreeMap<String, Ratio>>(&text).expect("toml");
            prop_assert_eq!(back["r"], ratio);
        }
    }
}
