//! Policies as profiles of the AWS SDKs' configuration file.

use std::fmt::Write;

use stagger_core::Policy;

use super::times::retries;

/// A profile for each policy: the mode, and the number of attempts.
pub(crate) fn aws_text(policies: &[(&str, &Policy)]) -> String {
    let mut text = String::new();
    for (name, policy) in policies {
        let section =
            if *name == "default" { "default".to_owned() } else { format!("profile {name}") };
        let mode = if policy.adaptive().is_some() { "adaptive" } else { "standard" };
        let attempts = u64::from(retries(policy)) + 1;
        let _ = writeln!(text, "[{section}]\nretry_mode = {mode}\nmax_attempts = {attempts}");
    }
    text
}
