//! Sources as they stand in a file of settings.

use crate::config::Config;

fn refused(text: &str) -> String {
    Config::default().apply_text("d.toml", text).expect_err(text).to_string()
}

#[test]
fn sources_are_read_from_their_tables_and_wrong_ones_are_named() {
    let mut config = Config::default();
    let text = "listen = '127.0.0.1:1'\n[[source]]\nname = 'orders'\ntype = 'nats'\nurl = 'nats://n:4222'\nstream = 'ORDERS'\n";
    config.apply_text("d.toml", text).expect("valid");
    assert_eq!((config.sources.len(), config.sources[0].name.as_str()), (1, "orders"));
    assert!(config.sources[0].json);
    let twice = refused(&format!("{text}{}", text.split_once('\n').expect("two lines").1));
    assert!(twice.contains("no other source"), "{twice}");
    for (more, named) in [("subjct = 'x'", "subject"), ("username = 'x'", "password_file")] {
        let flaw = refused(&format!("{text}{more}"));
        assert!(flaw.contains(named), "{flaw}");
    }
    assert!(refused("[[source]]\nname = 'a b'\ntype = 'nats'").contains("letters"));
    assert!(refused("[[source]]\nname = 'a'\ntype = 'amqp'").contains("nats"));
}

#[cfg(feature = "kafka")]
#[test]
fn a_source_of_kafka_is_read_and_its_settings_are_bounded() {
    let mut config = Config::default();
    let text = "[[source]]\nname = 'orders'\ntype = 'kafka'\nurl = 'kafka://k'\ntopic = 'orders'\n";
    config.apply_text("d.toml", text).expect("valid");
    assert_eq!(config.sources.len(), 1);
    for (more, named) in [
        ("grup = 'x'", "group"),
        ("username = 'x'", "password_file"),
        ("sasl = 'plain'", "password_file"),
        ("sasl = 'gssapi'", "scram-sha-256"),
        ("start = 'middle'", "earliest"),
        ("session_timeout = '0s'", "session_timeout"),
    ] {
        let flaw = refused(&format!("{text}{more}"));
        assert!(flaw.contains(named), "{flaw}");
    }
}
