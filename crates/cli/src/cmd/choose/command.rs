//! The command: flags to answers, answers to a page.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use stagger_core::Policy;
use stagger_explain::{Answers, Choice, QUESTIONS};

use super::answers::{self, GivenAnswers, given_answers};
use super::rust;
use crate::command_error::CommandError;
use crate::flags::{ChooseFlags, ChooseFormat};
use crate::render::{hanging, wrapped};
use crate::streams::{self, USUAL_WIDTH, page_width};

/// Runs the command. Without a policy, for calls that should not be retried, it fails with the reason.
///
/// # Errors
/// A flag that is no answer, or answers that do not go together.
pub(crate) fn choose(flags: &ChooseFlags) -> Result<ExitCode, CommandError> {
    if flags.explain_only {
        return Ok(streams::write(&tree()));
    }
    let mut answers = given_answers(flags)?;
    let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if terminal
        && !flags.defaults
        && let Err(ended) = answers::ask(&mut answers)
    {
        return Ok(streams::refuse(&ended));
    }
    let choice = stagger_explain::choose(&answers.answers);
    let choice = choice.map_err(|error| CommandError::of_option(&error))?;
    Ok(print(flags, &answers, &choice))
}

fn print(flags: &ChooseFlags, answers: &GivenAnswers, choice: &Choice) -> ExitCode {
    let terminal = io::stdout().is_terminal();
    let usual = if terminal { ChooseFormat::Both } else { ChooseFormat::Toml };
    let format = flags.format.unwrap_or(usual);
    let Some(policy) = &choice.policy else {
        if format == ChooseFormat::Json {
            streams::write(&json(answers, choice));
        }
        for note in &choice.notes {
            streams::note(note);
        }
        return ExitCode::FAILURE;
    };
    streams::write(&page(format, answers, choice, policy))
}

fn page(format: ChooseFormat, answers: &GivenAnswers, choice: &Choice, policy: &Policy) -> String {
    match format {
        ChooseFormat::Toml => toml(answers, choice, policy),
        ChooseFormat::Rust => rust::page(answers, choice, policy),
        ChooseFormat::Json => json(answers, choice),
        ChooseFormat::Both => {
            format!("{}\n{}", toml(answers, choice, policy), rust::page(answers, choice, policy))
        }
    }
}

/// The column of an answer's consequence in the tree.
const LEADS: usize = 33;
const ALWAYS: &str =
    "Always: a budget (10 % of first attempts), jitter, a deadline, a limit for each attempt.";
/// Comments begin here at the latest, so that they stand below each other where lines are short.
const COLUMN: usize = 32;
/// Columns of a comment that has lines of its own.
const COMMENT: usize = USUAL_WIDTH - "# ".len();

/// The policy file. What has no reason is as usual, and left out.
pub(super) fn toml(answers: &GivenAnswers, choice: &Choice, policy: &Policy) -> String {
    let mut page = String::from("# Chosen by `stagger choose`.\n");
    for line in answers.lines().iter().chain(&choice.notes) {
        for part in wrapped(line, COMMENT) {
            let _ = writeln!(page, "# {part}");
        }
    }
    let text = toml::to_string(policy).expect("every policy can be written");
    let mut table = "";
    let mut shown = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name;
            continue;
        }
        let Some((key, _)) = line.split_once(" = ") else { continue };
        let Some(reason) = choice.reason(&format!("{table}.{key}")) else { continue };
        if table != shown {
            let _ = writeln!(page, "\n[{table}]");
            shown = table;
        }
        page += &reasoned(line, reason);
    }
    page
}

/// A setting with its reason beside it, or above it where both are too long for one line.
fn reasoned(setting: &str, reason: &str) -> String {
    let beside = format!("{setting:COLUMN$}  # {reason}\n");
    if beside.trim_end().chars().count() <= USUAL_WIDTH {
        return beside;
    }
    let above: String = wrapped(reason, COMMENT).iter().map(|part| format!("# {part}\n")).collect();
    format!("{above}{setting}\n")
}

/// The object: policy, lines, notes, answers, and the questions without an answer.
pub(super) fn json(answers: &GivenAnswers, choice: &Choice) -> String {
    let policy = serde_json::to_value(choice.policy).expect("every policy can be written");
    let line = |line: &stagger_explain::LineReason| {
        let value = policy.pointer(&format!("/{}", line.key.replace('.', "/")));
        json!({ "key": line.key, "value": value, "reason": line.reason })
    };
    let lines: Vec<Value> = choice.lines.iter().map(line).collect();
    let answer = |question: &stagger_explain::Question| {
        (question.key.name().to_owned(), answers.answers.text(question.key).into())
    };
    let by_name: Map<String, Value> = QUESTIONS.iter().map(answer).collect();
    let page = json!({
        "policy": policy,
        "lines": lines,
        "notes": choice.notes,
        "answers": by_name,
        "defaults": answers.taken(),
    });
    format!("{page:#}\n")
}

/// Every question with its reason, its usual answer, and what each answer leads to.
pub(super) fn tree() -> String {
    let mut page = String::new();
    let usual = Answers::default();
    let width = page_width();
    for (number, question) in (1..).zip(&QUESTIONS) {
        let (flag, answer) = (question.key.name(), usual.text(question.key));
        let asked = format!("{number}. {}  --{flag} [{answer}]", question.ask);
        let _ = writeln!(page, "{}", hanging(&asked, width, 3));
        let why = format!("Asked because {}.", question.why);
        let _ = writeln!(page, "   {}", hanging(&why, width, 3));
        for (answer, leads) in question.branches {
            let _ = writeln!(page, "     {answer:24} -> {}", hanging(leads, width, LEADS));
        }
        page.push('\n');
    }
    page + &hanging(ALWAYS, width, 0) + "\n"
}
