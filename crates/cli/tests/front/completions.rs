//! The scripts are the shells' own, so the shells judge them.

use crate::tool::{COMMANDS, folder, printed, system};

/// Asks bash what it would offer after these words, the last of which is not finished.
fn offered(words: &[&str]) -> Vec<String> {
    let folder = folder(&format!("bash-{}", words.len()));
    let script = folder.join("stagger.bash");
    std::fs::write(&script, printed(&["completions", "bash"])).expect("writable");
    let typed = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let last = words.len() - 1;
    let (current, previous) = (words[last], words[last - 1]);
    let ask = format!(
        "source '{}'; complete -p stagger >&2; COMP_WORDS=({typed}); COMP_CWORD={last}; \
         _stagger stagger '{current}' '{previous}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let (done, said) = system("bash", &["--norc", "-c", &ask], "").expect("bash is everywhere");
    assert!(done, "{said}");
    assert!(said.contains("-F _stagger stagger"), "{said}");
    std::fs::remove_dir_all(folder).expect("ours");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn bash_offers_commands_flags_and_values() {
    let offers = |words: &[&str], wanted: &str| {
        let offered = offered(words);
        assert!(offered.iter().any(|offer| offer == wanted), "{words:?}: {offered:?}");
    };
    offers(&["stagger", "st"], "storm");
    offers(&["stagger", "st"], "store");
    offers(&["stagger", "http", "--idem"], "--idempotency-key");
    offers(&["stagger", "storm", "--format", "c"], "csv");
    offers(&["stagger", "store", "check", "--d"], "--data");
    assert!(!offered(&["stagger", "st"]).iter().any(|offer| offer == "demo"));
}

#[test]
fn file_names_were_offered_where_words_are_wanted() {
    let offers = |words: &[&str], wanted: &str| {
        let offered = offered(words);
        assert!(offered.iter().any(|offer| offer == wanted), "{words:?}: {offered:?}");
    };
    for command in ["exec", "http", "explain"] {
        offers(&["stagger", command, "--preset", "goo"], "google-cloud");
    }
    offers(&["stagger", "exec", "--jitter", "dec"], "decorrelated-clamped");
    offers(&["stagger", "http", "--jitter", "eq"], "equal");
    offers(&["stagger", "exec", "--retry-on-timeout", "n"], "no");
    offers(&["stagger", "storm", "lock"], "lockstep");
    // Behind `--` it is a command of its own.
    offers(&["stagger", "exec", "--attempts", "3", "--", "bas"], "bash");
}

#[test]
fn each_shell_accepts_its_script_where_it_is_installed() {
    let mut judged = 0;
    for (shell, args) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let script = printed(&["completions", shell]);
        let Some((accepted, said)) = system(shell, args, &script) else { continue };
        assert!(accepted && said.is_empty(), "{shell}: {said}");
        judged += 1;
    }
    assert!(judged > 0, "at least bash is there");
}

#[test]
fn every_command_and_flag_is_in_every_script() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        for command in COMMANDS {
            let words: Vec<&str> = command.split(' ').collect();
            let name = words.last().copied().unwrap_or_default();
            // The generator for fish ends at the second level (clap-rs/clap#5975).
            if shell == "fish" && words.len() > 2 {
                continue;
            }
            assert!(script.contains(name), "{shell}: {command}");
            for flag in flags(&words) {
                // fish has them without their hyphens.
                let flag = if shell == "fish" { format!("-l {}", &flag[2..]) } else { flag };
                assert!(script.contains(&flag), "{shell}: {command} {flag}");
            }
        }
    }
}

/// The long flags in the help of a command.
pub(crate) fn flags(command: &[&str]) -> Vec<String> {
    let help = printed(&[command, &["-h"]].concat());
    let options = help.lines().skip_while(|line| *line != "Options:");
    let lines = options.map(str::trim_start).filter(|line| line.starts_with('-'));
    let long = |line: &str| {
        let from = &line[line.find("--")?..];
        let end = from.find(|c: char| c != '-' && !c.is_ascii_alphanumeric());
        Some(from[..end.unwrap_or(from.len())].to_owned())
    };
    lines.filter_map(long).collect()
}
