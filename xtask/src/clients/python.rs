//! The Python client: methods, and the shapes as typed dictionaries.

use std::fmt::Write;

use super::document::{ApiDocument, ApiOperation, ApiShape, Member, ReplyContent, RequestContent};
use super::written::{NOTE, pascal, wrapped};

/// The columns of a docstring.
const WIDTH: usize = 92;

/// `api.py`.
pub(super) fn api(api: &ApiDocument) -> String {
    let mut text = format!(
        "\"\"\"The operations of the dispatcher's API, a method each.\n\n{NOTE}\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Any, Optional\n\n\
         from . import models\n\
         from ._transport import Transport, path_segment\n\n\
         API_VERSION = \"{}\"\n\n\n\
         class ApiMethods:\n    \"\"\"The methods of a client.\"\"\"\n\n    _transport: Transport\n",
        api.version
    );
    api.operations.iter().for_each(|operation| text += &method(operation));
    text
}

/// `models.py`.
pub(super) fn models(api: &ApiDocument) -> String {
    let mut text = format!(
        "\"\"\"The shapes of the API's JSON, for type checkers: at run time they are dictionaries.\n\n{NOTE}\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from typing import Any, Dict, List, Literal, Optional, TypedDict, Union\n\n"
    );
    // Names are used before they are defined only within quotes, so aliases may be in any order.
    for (name, shape, description) in &api.schemas {
        text += &model(&pascal(name), shape, description, &api.schemas);
    }
    text
}

fn model(
    name: &str,
    shape: &ApiShape,
    description: &str,
    all: &[(String, ApiShape, String)],
) -> String {
    let members = match shape {
        ApiShape::Object(members) => members.clone(),
        ApiShape::All(parts) => parts.iter().flat_map(|part| members_of(part, all)).collect(),
        _ => {
            let comment = comment(description);
            return format!("{comment}{name} = {}\n\n", type_of(shape, Quoting::Alias));
        }
    };
    if members.iter().any(|member| KEYWORDS.contains(&member.name.as_str())) {
        return functional(name, description, &members);
    }
    let (required, optional): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.required);
    if optional.is_empty() {
        return class(name, "TypedDict", description, &required);
    }
    if required.is_empty() {
        return class(name, "TypedDict, total=False", description, &optional);
    }
    let base = class(&format!("_{name}Required"), "TypedDict", "", &required);
    base + &class(name, &format!("_{name}Required, total=False"), description, &optional)
}

/// Words of Python that are names of members.
const KEYWORDS: [&str; 8] = ["from", "class", "in", "is", "not", "global", "import", "pass"];

/// A typed dictionary whose members have names that a class cannot have; each of them may be missing.
fn functional(name: &str, description: &str, members: &[Member]) -> String {
    let member = |member: &Member| {
        let comment: String = wrapped(&member.description, WIDTH - 6)
            .iter()
            .map(|line| format!("        # {line}\n"))
            .collect();
        format!(
            "{comment}        \"{}\": {},\n",
            member.name,
            type_of(&member.shape, Quoting::Alias)
        )
    };
    let members: String = members.iter().map(member).collect();
    let comment = comment(description);
    format!(
        "\n{comment}{name} = TypedDict(\n    \"{name}\",\n    {{\n{members}    }},\n    total=False,\n)\n\n"
    )
}

/// The members of a part of a shape.
fn members_of(part: &ApiShape, all: &[(String, ApiShape, String)]) -> Vec<Member> {
    match part {
        ApiShape::Object(members) => members.clone(),
        ApiShape::Named(name) => {
            let found = all.iter().find(|(known, ..)| known == name);
            found.map(|(_, shape, _)| members_of(shape, all)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn class(name: &str, base: &str, description: &str, members: &[&Member]) -> String {
    let mut text = format!("\nclass {name}({base}):\n");
    if !description.is_empty() {
        text += &docstring(description, "    ");
        text.push('\n');
    }
    for member in members {
        for line in wrapped(&member.description, WIDTH - 2) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "    # {line}");
        }
        let _ = writeln!(text, "    {}: {}", member.name, type_of(&member.shape, Quoting::None));
    }
    text.push('\n');
    text
}

fn comment(description: &str) -> String {
    wrapped(description, WIDTH).iter().map(|line| format!("# {line}\n")).collect()
}

/// Whether names stand in quotes: an alias is computed, and an annotation is not.
#[derive(Clone, Copy)]
enum Quoting {
    None,
    Alias,
}

fn type_of(shape: &ApiShape, quoting: Quoting) -> String {
    let inner = |shape: &ApiShape| type_of(shape, quoting);
    match shape {
        ApiShape::Any => "Any".to_owned(),
        ApiShape::Text => "str".to_owned(),
        ApiShape::Integer => "int".to_owned(),
        ApiShape::Number => "float".to_owned(),
        ApiShape::Boolean => "bool".to_owned(),
        ApiShape::Named(name) => match quoting {
            Quoting::None => pascal(name),
            Quoting::Alias => format!("\"{}\"", pascal(name)),
        },
        ApiShape::List(of) => format!("List[{}]", inner(of)),
        ApiShape::Table(of) => format!("Dict[str, {}]", inner(of)),
        ApiShape::Nullable(of) => format!("Optional[{}]", inner(of)),
        ApiShape::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("Literal[{}]", words.join(", "))
        }
        ApiShape::OneOf(shapes) => {
            let mut all: Vec<_> = shapes.iter().map(inner).collect();
            all.dedup();
            if all.len() == 1 { all.remove(0) } else { format!("Union[{}]", all.join(", ")) }
        }
        ApiShape::All(_) | ApiShape::Object(_) => "Dict[str, Any]".to_owned(),
    }
}

/// The type in the file of the methods.
fn of_models(shape: &ApiShape) -> String {
    match shape {
        ApiShape::Named(name) => format!("models.{}", pascal(name)),
        ApiShape::Nullable(of) => format!("Optional[{}]", of_models(of)),
        ApiShape::Text | ApiShape::Integer | ApiShape::Number | ApiShape::Boolean => {
            type_of(shape, Quoting::None)
        }
        _ => "Any".to_owned(),
    }
}

fn method(operation: &ApiOperation) -> String {
    let returned = match &operation.reply {
        ReplyContent::Nothing => "None".to_owned(),
        ReplyContent::Json(shape) => of_models(shape),
        ReplyContent::Text => "str".to_owned(),
        ReplyContent::Bytes => "bytes".to_owned(),
    };
    let lines = |all: &[String], by: usize| {
        let blanks = " ".repeat(by);
        all.iter().map(|it| format!("{blanks}{it},\n")).collect::<String>()
    };
    format!(
        "\n    def {}(\n{}    ) -> {returned}:\n{}        return self._transport.call(  # type: ignore[no-any-return]\n{}        )\n",
        operation.id,
        lines(&arguments(operation), 8),
        docstring(&operation.summary, "        "),
        lines(&passed(operation), 12),
    )
}

/// The arguments of a method with their types.
fn arguments(operation: &ApiOperation) -> Vec<String> {
    let ApiOperation { path_params, query, body, takes_key, .. } = operation;
    let mut arguments = vec!["self".to_owned()];
    arguments.extend(path_params.iter().map(|name| format!("{name}: str")));
    match body {
        Some(RequestContent::Json { shape, required: true }) => {
            arguments.push(format!("body: {}", of_models(shape)));
        }
        Some(RequestContent::Json { shape, required: false }) => {
            arguments.push(format!("body: Optional[{}] = None", of_models(shape)));
        }
        Some(RequestContent::Bytes) => arguments.push("body: bytes".to_owned()),
        None => {}
    }
    if !query.is_empty() || *takes_key || matches!(body, Some(RequestContent::Bytes)) {
        arguments.push("*".to_owned());
    }
    for param in query {
        let shape = of_models(&param.shape);
        arguments.push(match param.required {
            true => format!("{}: {shape}", param.name),
            false => format!("{}: Optional[{shape}] = None", param.name),
        });
    }
    if matches!(body, Some(RequestContent::Bytes)) {
        arguments.push("content_type: str = \"application/octet-stream\"".to_owned());
    }
    if *takes_key {
        arguments.push("idempotency_key: Optional[str] = None".to_owned());
    }
    arguments
}

/// The values that a method passes to the transport.
fn passed(operation: &ApiOperation) -> Vec<String> {
    let ApiOperation { method, path, path_params, query, body, reply, takes_key, .. } = operation;
    let mut target = path.clone();
    for name in path_params {
        target = target.replace(&format!("{{{name}}}"), &format!("{{path_segment({name})}}"));
    }
    let prefix = if path_params.is_empty() { "" } else { "f" };
    let mut passed = vec![format!("\"{method}\""), format!("{prefix}\"{target}\"")];
    if !query.is_empty() {
        let pairs: Vec<_> = query.iter().map(|it| format!("\"{0}\": {0}", it.name)).collect();
        passed.push(format!("query={{{}}}", pairs.join(", ")));
    }
    match body {
        Some(RequestContent::Json { .. }) => passed.push("json_body=body".to_owned()),
        Some(RequestContent::Bytes) => {
            passed.push("bytes_body=body".to_owned());
            passed.push("content_type=content_type".to_owned());
        }
        None => {}
    }
    if *takes_key {
        passed.push("takes_key=True".to_owned());
        passed.push("idempotency_key=idempotency_key".to_owned());
    }
    passed.push(format!("reply=\"{}\"", reply_name(reply)));
    passed
}

const fn reply_name(reply: &ReplyContent) -> &'static str {
    match reply {
        ReplyContent::Nothing => "nothing",
        ReplyContent::Json(_) => "json",
        ReplyContent::Text => "text",
        ReplyContent::Bytes => "bytes",
    }
}

fn docstring(text: &str, indent: &str) -> String {
    let lines = wrapped(&text.replace('\\', "\\\\"), WIDTH - indent.len());
    if let [only] = &lines[..] {
        return format!("{indent}\"\"\"{only}\"\"\"\n");
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let open = if at == 0 { "\"\"\"" } else { "" };
        let line = format!("{indent}{open}{line}");
        text += line.trim_end();
        text.push('\n');
    }
    text + indent + "\"\"\"\n"
}
