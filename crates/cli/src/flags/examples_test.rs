//! Examples in the help of commands cannot rot: each is parsed as it would be typed.

use clap::{Command, CommandFactory, Parser};

use super::Flags;

/// Blanks in a row that end what is typed; what comes after them is said about it.
const GAP: &str = "  ";

/// All commands that do something, with the words that lead to them.
fn leaves(command: &Command, path: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    let below: Vec<&Command> =
        command.get_subcommands().filter(|below| below.get_name() != "help").collect();
    if !path.is_empty() {
        found.push((path.to_vec(), command.clone()));
    }
    for command in below {
        let path = [path, &[command.get_name().to_owned()]].concat();
        leaves(command, &path, found);
    }
}

fn all() -> Vec<(Vec<String>, Command)> {
    let mut root = Flags::command();
    root.build();
    let mut found = Vec::new();
    leaves(&root, &[], &mut found);
    found
}

/// The calls of stagger in one line of a help, as a shell would split them.
fn calls(line: &str) -> Vec<Vec<String>> {
    let (mut calls, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut quote, mut quoted) = (None, false);
    let typed = line.trim_start();
    for (at, letter) in typed.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.push(letter),
            (None, '\'' | '"') => (quote, quoted) = (Some(letter), true),
            (None, ' ') if typed[at..].starts_with(GAP) => break,
            (None, ' ' | '|' | ';' | '&' | '<' | '>') => {
                if !word.is_empty() || quoted {
                    words.push(std::mem::take(&mut word));
                }
                quoted = false;
                if matches!(letter, '|' | ';' | '&') {
                    calls.push(std::mem::take(&mut words));
                } else if letter == '<' || letter == '>' {
                    // Files beside it are the shell's business.
                    break;
                }
            }
            (None, _) => word.push(letter),
        }
    }
    if !word.is_empty() || quoted {
        words.push(word);
    }
    calls.push(words);
    calls.retain(|words| words.first().is_some_and(|first| first == "stagger"));
    calls
}

fn examples(command: &Command) -> Vec<Vec<String>> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("  ")).flat_map(calls).collect()
}

#[test]
fn a_help_without_an_example_left_people_guessing() {
    for (path, command) in all() {
        let own = |call: &Vec<String>| {
            let words = call.iter().skip(1);
            path.iter().zip(words).filter(|(name, word)| name == word).count() == path.len()
        };
        assert!(examples(&command).iter().any(own), "{path:?} shows no example of itself");
    }
}

#[test]
fn an_example_used_a_flag_that_was_gone() {
    let mut wrong = Vec::new();
    let root = Flags::command();
    for call in all().iter().flat_map(|(_, command)| examples(command)).chain(examples(&root)) {
        if let Err(error) = Flags::try_parse_from(&call) {
            wrong.push(format!("{}: {}", call.join(" "), error.kind()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_are_split_as_a_shell_does() {
    let of = |line| calls(line).iter().map(|words| words.join("/")).collect::<Vec<_>>();
    assert_eq!(of("  stagger http 'a b' \"\"   not this"), ["stagger/http/a b/"]);
    assert_eq!(
        of("  stagger choose --slo 2s | stagger lint -"),
        ["stagger/choose/--slo/2s", "stagger/lint/-"]
    );
    assert_eq!(of("  stagger exec --until x && ./serve"), ["stagger/exec/--until/x"]);
    assert_eq!(of("  curl x | jq ."), Vec::<String>::new());
    assert_eq!(of("  stagger completions zsh > _stagger"), ["stagger/completions/zsh"]);
    assert!(Flags::try_parse_from(["stagger", "storm", "--cllers", "3"]).is_err());
}
