//! The JavaScript client: a class of methods, and its types in a declaration file.

use std::fmt::Write;

use super::document::{ApiDocument, ApiOperation, ApiShape, ReplyContent, RequestContent};
use super::written::{NOTE, camel, pascal, wrapped};

/// The columns of a comment.
const WIDTH: usize = 100;

/// `api.js`.
pub(super) fn api(api: &ApiDocument) -> String {
    let mut text = format!(
        "// The operations of the dispatcher's API, a method each.\n//\n// {NOTE}\n\n\
         import {{ pathSegment }} from './transport.js';\n\n\
         export const API_VERSION = '{}';\n\n\
         export class ApiMethods {{\n  constructor(transport) {{\n    this.transport = transport;\n  }}\n",
        api.version
    );
    api.operations.iter().for_each(|operation| text += &method(operation));
    text + "}\n"
}

/// `api.d.ts`.
pub(super) fn declarations(api: &ApiDocument) -> String {
    let mut text = format!("// The types of the dispatcher's API.\n//\n// {NOTE}\n\n");
    for (name, shape, description) in &api.schemas {
        text += &comment(description, "");
        let name = pascal(name);
        text += &match shape {
            ApiShape::Object(_) => format!("export interface {name} {}\n\n", type_of(shape, "")),
            _ => format!("export type {name} = {};\n\n", type_of(shape, "")),
        };
    }
    text += "export declare const API_VERSION: string;\n\n/** The methods of a client. */\nexport declare class ApiMethods {\n";
    for operation in &api.operations {
        text += &comment(&operation.summary, "  ");
        let (arguments, options) = arguments(operation);
        let mut all: Vec<_> = arguments.iter().map(|(name, of)| format!("{name}: {of}")).collect();
        if !options.is_empty() {
            let is_needed = options.iter().any(|(name, _)| !name.ends_with('?'));
            let members: Vec<_> =
                options.iter().map(|(name, of)| format!("{name}: {of}")).collect();
            let mark = if is_needed { "" } else { "?" };
            all.push(format!("options{mark}: {{ {} }}", members.join("; ")));
        }
        let returned = match &operation.reply {
            ReplyContent::Nothing => "void".to_owned(),
            ReplyContent::Json(shape) => type_of(shape, "  "),
            ReplyContent::Text => "string".to_owned(),
            ReplyContent::Bytes => "Uint8Array".to_owned(),
        };
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "  {}({}): Promise<{returned}>;", camel(&operation.id), all.join(", "));
    }
    text + "}\n"
}

/// Names with their types.
type Typed = Vec<(String, String)>;

/// The arguments of a method, and the members of its options.
fn arguments(operation: &ApiOperation) -> (Typed, Typed) {
    let mut arguments: Typed =
        operation.path_params.iter().map(|name| (camel(name), "string".to_owned())).collect();
    let mut options = Typed::new();
    match &operation.body {
        Some(RequestContent::Json { shape, required }) => {
            let mark = if *required { "" } else { "?" };
            arguments.push((format!("body{mark}"), type_of(shape, "  ")));
        }
        Some(RequestContent::Bytes) => {
            arguments.push(("body".to_owned(), "Uint8Array | string".to_owned()));
            options.push(("contentType?".to_owned(), "string".to_owned()));
        }
        None => {}
    }
    for param in &operation.query {
        let mark = if param.required { "" } else { "?" };
        options.push((format!("{}{mark}", camel(&param.name)), type_of(&param.shape, "  ")));
    }
    if operation.takes_key {
        options.push(("idempotencyKey?".to_owned(), "string".to_owned()));
    }
    (arguments, options)
}

fn method(operation: &ApiOperation) -> String {
    let (arguments, options) = arguments(operation);
    let mut names: Vec<_> =
        arguments.iter().map(|(name, _)| name.trim_end_matches('?').to_owned()).collect();
    if !options.is_empty() {
        names.push("options = {}".to_owned());
    }
    let mut target = operation.path.clone();
    for name in &operation.path_params {
        let value = format!("${{pathSegment({})}}", camel(name));
        target = target.replace(&format!("{{{name}}}"), &value);
    }
    let quote = if operation.path_params.is_empty() { '\'' } else { '`' };
    let mut passed = vec![format!("reply: '{}'", reply_name(&operation.reply))];
    if !operation.query.is_empty() {
        let pair = |name: &str| format!("{name}: options.{}", camel(name));
        let pairs: Vec<_> = operation.query.iter().map(|it| pair(&it.name)).collect();
        passed.push(format!("query: {{ {} }}", pairs.join(", ")));
    }
    match &operation.body {
        Some(RequestContent::Json { .. }) => passed.push("json: body".to_owned()),
        Some(RequestContent::Bytes) => {
            passed.push("bytes: body".to_owned());
            passed
                .push("contentType: options.contentType ?? 'application/octet-stream'".to_owned());
        }
        None => {}
    }
    if operation.takes_key {
        passed.push("takesKey: true".to_owned());
        passed.push("idempotencyKey: options.idempotencyKey".to_owned());
    }
    let passed: String = passed.iter().map(|it| format!("      {it},\n")).collect();
    format!(
        "\n{}  {}({}) {{\n    return this.transport.call('{}', {quote}{target}{quote}, {{\n{passed}    }});\n  }}\n",
        comment(&operation.summary, "  "),
        camel(&operation.id),
        names.join(", "),
        operation.method,
    )
}

const fn reply_name(reply: &ReplyContent) -> &'static str {
    match reply {
        ReplyContent::Nothing => "nothing",
        ReplyContent::Json(_) => "json",
        ReplyContent::Text => "text",
        ReplyContent::Bytes => "bytes",
    }
}

fn type_of(shape: &ApiShape, indent: &str) -> String {
    let inner = |shape: &ApiShape| type_of(shape, indent);
    match shape {
        ApiShape::Any => "unknown".to_owned(),
        ApiShape::Text => "string".to_owned(),
        ApiShape::Integer | ApiShape::Number => "number".to_owned(),
        ApiShape::Boolean => "boolean".to_owned(),
        ApiShape::Named(name) => pascal(name),
        ApiShape::List(of) => format!("Array<{}>", inner(of)),
        ApiShape::Table(of) => format!("Record<string, {}>", inner(of)),
        ApiShape::Nullable(of) => format!("{} | null", inner(of)),
        ApiShape::Words(words) => {
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" | ")
        }
        ApiShape::OneOf(shapes) => shapes.iter().map(inner).collect::<Vec<_>>().join(" | "),
        ApiShape::All(shapes) => shapes.iter().map(inner).collect::<Vec<_>>().join(" & "),
        ApiShape::Object(members) => {
            let below = format!("{indent}  ");
            let mut text = "{\n".to_owned();
            for member in members {
                text += &comment(&member.description, &below);
                let mark = if member.required { "" } else { "?" };
                let of = type_of(&member.shape, &below);
                let name = match member.name.contains(['-', '.']) {
                    true => format!("'{}'", member.name),
                    false => member.name.clone(),
                };
                // Writing to a string does not fail.
                let _ = writeln!(text, "{below}{name}{mark}: {of};");
            }
            text + indent + "}"
        }
    }
}

fn comment(text: &str, indent: &str) -> String {
    let lines = wrapped(&text.replace("*/", "* /"), WIDTH - indent.len() - 3);
    match &lines[..] {
        [] => String::new(),
        [only] => format!("{indent}/** {only} */\n"),
        lines => {
            let lines: String = lines
                .iter()
                .map(|line| format!("{indent} * {line}").trim_end().to_owned() + "\n")
                .collect();
            format!("{indent}/**\n{lines}{indent} */\n")
        }
    }
}
