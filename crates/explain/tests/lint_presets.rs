//! What is said of the ready policies, so that a change of a rule or of a preset is seen.

use stagger_core::Policy;
use stagger_explain::{Setting, lint};

#[test]
fn presets_have_the_findings_that_they_are_known_for() {
    let mut page = String::new();
    for name in Policy::PRESETS {
        let policy = Policy::preset(name).expect("a preset is valid");
        let found = lint(&policy, &Setting::default());
        for finding in found {
            page += &format!(
                "{name}: {} {} at {}: {}\n",
                finding.severity, finding.code, finding.key, finding.message
            );
        }
    }
    insta::assert_snapshot!("presets", page);
}
