//! Plays a block and judges each of its commands: exit code, output, files that it writes, and requests.

use std::thread;

use crate::blocks::{Block, Example};
use crate::fixture::{Fixture, PAGES};
use crate::output::{compare, without_figures, without_times};
use crate::{processes, requests};

/// A command that is not played, by its source and its beginning, and the reason.
pub(crate) type Unplayed = (&'static str, &'static str, &'static str);

/// Plays all commands of the blocks that the list does not name.
///
/// # Panics
/// When a command does not do what is shown, or when an entry of the list names no command any more.
pub(crate) fn play_all(blocks: &[Block], unplayed: &[Unplayed]) {
    for (source, start, reason) in unplayed {
        let is_named = |block: &&Block| {
            let named = |example: &Example| example.command.starts_with(start);
            block.source == *source && block.examples.iter().any(named)
        };
        assert!(blocks.iter().any(|block| is_named(&block)), "{source} has no {start}: {reason}");
    }
    let (first, second) = blocks.split_at(blocks.len() / 2);
    let failed: Vec<String> = thread::scope(|scope| {
        let halves = [first, second].map(|blocks| {
            scope.spawn(|| blocks.iter().flat_map(|it| play(it, unplayed)).collect::<Vec<_>>())
        });
        halves.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Plays the commands of a block in one folder; returns what is wrong.
fn play(block: &Block, unplayed: &[Unplayed]) -> Vec<String> {
    let fixture = Fixture::new();
    let is_played = |example: &&Example| {
        let named = |(source, start, _): &Unplayed| {
            block.source == *source && example.command.starts_with(start)
        };
        !unplayed.iter().any(named)
    };
    let played = block.examples.iter().filter(is_played);
    let wrong = |example: &Example| {
        let error = judge(&fixture, example).err()?;
        Some(format!("{}: {}: {error}", block.source, example.command))
    };
    played.filter_map(wrong).collect()
}

fn judge(fixture: &Fixture, example: &Example) -> Result<(), String> {
    let command = example.command.replace("cargo run --release -- ", "stagger ");
    if command.starts_with("stagger webhooks") || command.starts_with("stagger listen") {
        processes::dispatcher_beside(fixture)?;
    }
    let command = fixture.on_own_ports(&command);
    if command == "stagger webhooks keys list --format json" {
        // Without a key there is no line of JSON.
        processes::api_key(fixture)?;
    }
    let command = match command.strip_prefix("stagger webhooks keys delete ") {
        // Only a key that is there can be deleted.
        Some(_) => format!("stagger webhooks keys delete {}", processes::api_key(fixture)?),
        None => command,
    };
    if command.starts_with("stagger webhooks event-types ") && !command.contains(" create ") {
        // Only an event type that is there can be listed, changed and deleted.
        fixture.play("stagger webhooks event-types create invoice.paid");
    }
    if command.starts_with("stagger demo") {
        let printed = processes::demo(fixture, &command)?;
        return match example.shown.is_empty() {
            true => Ok(()),
            false => compare(&example.shown, &printed, without_figures),
        };
    }
    if let Some(command) = command.strip_suffix(" &").filter(|it| it.starts_with("stagger proxy")) {
        return processes::proxy_beside(fixture, command);
    }
    if let Some(command) = command.strip_suffix(" &").filter(|it| it.starts_with("stagger serve")) {
        return processes::serve_beside(fixture, command);
    }
    if command.starts_with("stagger proxy") && !command.contains("--check") {
        return processes::proxy(fixture, &command);
    }
    if command.starts_with("stagger serve") && !command.contains("--check") {
        return processes::serve(fixture, &command);
    }
    if command.starts_with("stagger listen") {
        return processes::listen(fixture, &command);
    }
    if command.starts_with("stagger storm") && command.contains(" --serve ") {
        return processes::scenario_server(fixture, &command);
    }
    if command.starts_with("stagger store") {
        processes::fill_store(fixture, &command)?;
    }
    if command.starts_with("stagger operator ") && !command.contains(" add ") {
        // Only an operator who is there can be listed and removed.
        let add = "stagger operator add bob --role viewer";
        fixture.play(&format!("test -e stagger-data/operators.toml || {add}"));
    }
    if !example.shown.is_empty() {
        // A terminal shows both streams in the order of their lines.
        let output = fixture.play(&format!("exec 2>&1; {command}")).output;
        compare(&example.shown, &String::from_utf8_lossy(&output.stdout), without_times)?;
        return expect_code(example, output.status.code(), "");
    }
    let played = fixture.play(&command);
    let errors = String::from_utf8_lossy(&played.output.stderr);
    expect_code(example, played.output.status.code(), &errors)?;
    if command.starts_with("stagger exec ") || command.starts_with("stagger http ") {
        return requests::judge(fixture, &command, &played);
    }
    match file_of(&command) {
        Some(file) if fixture.read(&file).is_empty() => Err(format!("{file} is empty")),
        None if played.output.stdout.is_empty() && errors.is_empty() => {
            Err("prints nothing".to_owned())
        }
        _ => Ok(()),
    }
}

fn expect_code(example: &Example, code: Option<i32>, errors: &str) -> Result<(), String> {
    match code == Some(example.exit_code()) {
        true => Ok(()),
        false => Err(format!("ends with {code:?}: {errors}")),
    }
}

/// Returns the file that a command writes instead of standard output.
fn file_of(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut pairs = words.windows(2);
    let pair =
        pairs.find(|pair| matches!(pair[0], ">" | "--html" | "--report" | "backup" | "--dir"))?;
    match pair[0] {
        "--dir" => Some(format!("{PAGES}/stagger.1")),
        _ => Some(pair[1].replace("~/", "")),
    }
}

#[test]
fn the_file_of_a_command_is_named_behind_its_flag() {
    assert_eq!(file_of("stagger completions zsh > ~/.zfunc/_stagger").unwrap(), ".zfunc/_stagger");
    assert_eq!(file_of("stagger explain p.toml --html page.html").unwrap(), "page.html");
    assert_eq!(file_of("stagger storm"), None);
}

#[test]
#[should_panic(expected = "a.md has no stagger gone")]
fn an_entry_of_the_list_whose_command_is_gone_is_refused() {
    play_all(&[], &[("a.md", "stagger gone", "for a reason")]);
}
