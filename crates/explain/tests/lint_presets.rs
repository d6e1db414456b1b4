//! What is said of the ready policies, so that a change of a rule or of a preset is seen.

use stagger_core::{ConfigError, Policy};
use stagger_explain::{Setting, lint};

#[test]
fn presets_have_the_findings_that_they_are_known_for() {
    let presets: [(&str, Result<Policy, ConfigError>); 7] = [
        ("default", Ok(Policy::default())),
        ("aws-standard-2-0", Policy::aws_standard_2_0()),
        ("aws-standard-2-1", Policy::aws_standard_2_1()),
        ("google-cloud", Policy::google_cloud()),
        ("webhook", Policy::webhook()),
        ("interactive", Policy::interactive()),
        ("batch", Policy::batch()),
    ];
    let mut page = String::new();
    for (name, policy) in presets {
        let found = lint(&policy.expect("a preset is valid"), &Setting::default());
        for finding in found {
            page += &format!(
                "{name}: {} {} at {}: {}\n",
                finding.severity, finding.code, finding.key, finding.message
            );
        }
    }
    insta::assert_snapshot!("presets", page);
}
