//! The file that `stagger explain` reads is the policy that the library enforces.

#![cfg(feature = "serde")]

use stagger::{Policy, Span};

#[test]
fn a_policy_file_could_not_be_read_by_the_library() -> Result<(), Box<dyn std::error::Error>> {
    let text = "[backoff]\nbase = \"200ms\"\ncap = \"5s\"\n\n[limits]\nmax_attempts = 3\n";
    let policy: Policy = toml::from_str(text)?;
    assert_eq!(policy.backoff().base(), Span::from_millis(200));
    assert!(toml::from_str::<Policy>("[backoff]\nbase = \"fast\"\n").is_err());
    Ok(())
}
