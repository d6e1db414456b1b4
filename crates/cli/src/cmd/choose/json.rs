//! The choice as one object.

use serde_json::{Map, Value, json};
use stagger_explain::{Choice, QUESTIONS};

use super::answers::Said;

/// The object: policy, lines, notes, answers, and which answers nobody gave.
pub(super) fn page(said: &Said, choice: &Choice) -> String {
    let policy = serde_json::to_value(choice.policy).expect("every policy can be written");
    let line = |line: &stagger_explain::LineReason| {
        let value = policy.pointer(&format!("/{}", line.key.replace('.', "/")));
        json!({ "key": line.key, "value": value, "reason": line.reason })
    };
    let lines: Vec<Value> = choice.lines.iter().map(line).collect();
    let answer = |question: &stagger_explain::Question| {
        (question.key.name().to_owned(), said.answers.text(question.key).into())
    };
    let answers: Map<String, Value> = QUESTIONS.iter().map(answer).collect();
    let page = json!({
        "policy": policy,
        "lines": lines,
        "notes": choice.notes,
        "answers": answers,
        "defaults": said.taken(),
    });
    format!("{page:#}\n")
}
