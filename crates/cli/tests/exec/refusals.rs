//! Refusals before anything runs: exit code 2, one error, nothing written.

use super::scratch::Scratch;
use super::tool::run;

#[track_caller]
fn refusal(flags: &[&str]) -> String {
    let end = run(&[flags, &["--", "echo", "ran"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""), "{}", end.stderr);
    end.stderr
}

#[test]
fn a_wrong_flag_was_not_named_with_its_bound() {
    for (flags, expected) in [
        (&["--attempts", "0"][..], "from 1 to 10000, or unlimited"),
        (&["--attempts", "-1"], "from 1 to 10000, or unlimited"),
        (&["--attempts", "unlimited"], "'--attempts': must be limited unless --deadline is set"),
        (&["--base", "5"], "'5' for '--base <TIME>'"),
        (&["--base", "2s", "--cap", "1s"], "'1s' for '--cap': must be at least --base (2s)"),
        (&["--factor", "0.5"], "'--factor'"),
        (&["--factor", "3", "--jitter", "decorrelated"], "'3' for '--factor': must be left out"),
        (&["--until", "tcp://db"], "must be tcp://HOST:PORT"),
        (&["--until", "true", "--retry-on-exit", "1"], "cannot be used with"),
        (&["--hook-timeout", "0s"], "'--hook-timeout': must be above zero"),
        (&["--hint-on-exit", "75"], "as in 75=5m"),
        (&["--cool-off-file", "/nonesuch/file"], "--cool-off-file: /nonesuch/file"),
        (&["--jitter", "gauss"], "must be none, full"),
        (&["--jitter", "proportional:1.5"], "with R from 0 to 1"),
        (&["--deadline", "0s"], "'0s' for '--deadline': must be above zero"),
        (&["--attempt-timeout", "1s", "--min-attempt-time", "2s"], "below --attempt-timeout (1s)"),
        (&["--retry-on-exit", "0"], "from 1 to 255"),
        (&["--retry-on-exit", "1", "--no-retry-on-exit"], "cannot be used with"),
        (&["--retry-on-signal=NONE"], "must be one of HUP"),
        (&["--retry-on-timeout", "maybe"], "must be yes or no"),
        (&["--stdin", "tty"], "must be inherit, null, buffer"),
        (&["--stdin", "buffer:lots"], "must be a size"),
        (&["--preset", "nonesuch"], "--preset"),
        (&["--policy", "-"], "must be a file"),
        (&["--log", "/nonesuch/log"], "--log: /nonesuch/log"),
    ] {
        let text = refusal(flags);
        assert!(text.contains(expected), "{flags:?}: {text}");
    }
    let end = run(&["--attempts", "2", "true"]);
    assert!(
        end.code == Some(2) && end.stderr.contains("as in 'stagger exec -- true'"),
        "{}",
        end.stderr
    );
    assert_eq!(run(&[]).code, Some(2));
}

#[test]
fn a_wrong_policy_file_ran_the_command_all_the_same() {
    let scratch = Scratch::new("policy");
    let file = scratch.write("p.toml", "[policy.good.limits]\nmax_attempts = 2\n[policy.other]\n");
    let named = |name: &str| format!("{file}#{name}");
    let end =
        run(&["--policy", &named("good"), "--base", "1ms", "--", "sh", "-c", "echo x; exit 1"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), "x\nx\n"));
    assert!(refusal(&["--policy", &named("goof")]).contains("did you mean good?"));
    assert!(refusal(&["--policy", &file]).contains("there are good, other"));
    let wrong = scratch.write("wrong.toml", "[limits]\nmax_attempts = 0\n");
    assert!(refusal(&["--policy", &wrong]).contains("wrong.toml:2:16"));
    let end = run(&["--preset", "interactive", "--attempts", "1", "--", "false"]);
    assert!(end.stderr.contains("attempt 1 of 1"), "{}", end.stderr);
}
