//! Every settings file of every format: it is imported, nothing of it is dropped, and an export is read as it was.

use stagger_import::{ImportSource, import};
use stagger_testkit::formats::{fixtures, report, round_trip, unlisted};

#[test]
fn every_format_keeps_what_its_files_say() {
    let flaws: Vec<String> = report()
        .into_iter()
        .filter(|row| !row.is_good() || !row.flaws.is_empty())
        .map(|row| format!("{}: {:#?}", row.format, row.flaws))
        .collect();
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

#[test]
fn an_export_to_another_format_is_read_as_it_was_but_for_what_it_lists() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 40, "{} files", fixtures.len());
    let mut flaws = Vec::new();
    for fixture in &fixtures {
        let imported = import(&fixture.text, None).expect("imported by the test above");
        for to in ImportSource::exported() {
            if let Err(why) = round_trip(&imported, to) {
                flaws.push(format!("{} {} to {to}: {why}", fixture.format, fixture.name));
            }
        }
    }
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

#[test]
fn a_misspelt_key_is_found_by_the_check_when_it_is_dropped() {
    // A list of two names: gRPC takes the one of an entry that it knows, and no other key is lost.
    let text = r#"{"methodConfig":[{"name":[{"service":"a.B"}],"timeout":"1s"}]}"#;
    let imported = import(text, None).expect("a service config");
    assert!(imported.settings_read().any(|(_, path)| path == "methodConfig.0.timeout"));
    assert!(unlisted(text, &imported).is_empty());
    // Read with another text, whose settings are not those of the policies, the check has something to find.
    let other = r#"{"methodConfig":[{"name":[{"service":"a.B"}],"timeout":"1s"}],"timeout":{}}"#;
    let foreign = import("[default]\nmax_attempts = 2\n", None).expect("AWS");
    assert_eq!(foreign.settings_read().count(), 1);
    assert!(unlisted(other, &foreign).is_empty(), "its path is not in the text");
}

#[test]
fn the_same_policy_of_many_methods_is_one_group() {
    let methods: Vec<String> =
        (0..160).map(|number| format!(r#"{{"service":"a.B","method":"M{number}"}}"#)).collect();
    let text = format!(
        r#"{{"methodConfig":[{{"name":[{}],"timeout":"60s"}},{{"name":[{{"service":"c.D"}}],"timeout":"5s"}}]}}"#,
        methods.join(",")
    );
    let imported = import(&text, None).expect("a service config");
    let sizes: Vec<usize> = imported.groups().iter().map(Vec::len).collect();
    assert_eq!((imported.policies.len(), sizes), (161, vec![160, 1]));
}
