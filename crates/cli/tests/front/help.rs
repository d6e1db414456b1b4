//! Help, by snapshots, and what a slip of the finger gets.

use crate::tool::{COMMANDS, printed, stagger};

#[test]
fn the_help_is_what_was_reviewed() {
    insta::assert_snapshot!("stagger", printed(&["--help"]));
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').chain(["-h"]).collect();
        insta::assert_snapshot!(command.replace(' ', "-"), printed(&words));
    }
}

#[test]
fn no_command_is_left_out_here() {
    let help = printed(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed: Vec<&str> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    let known: Vec<&str> = COMMANDS.into_iter().filter(|name| !name.contains(' ')).collect();
    assert_eq!(listed, known);
}

#[test]
fn a_line_of_help_fits_a_terminal() {
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').chain(["-h"]).collect();
        for line in printed(&words).lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    for (slip, meant) in [
        (&["htpt"][..], "a similar subcommand exists: 'http'"),
        (&["store", "bakcup"], "a similar subcommand exists: 'backup'"),
        (&["storm", "--cllers", "3"], "a similar argument exists: '--callers'"),
        (&["completions", "bsh"], "a similar value exists: 'bash'"),
    ] {
        let output = stagger(slip).output().expect("the binary was built for this test");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains(meant), "{said}");
    }
}
