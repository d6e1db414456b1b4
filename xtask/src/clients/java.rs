//! The Java client: a class of methods. JSON objects are maps, because Java's library has no JSON.

use super::document::{ApiDocument, ApiOperation, ReplyContent, RequestContent};
use super::written::{NOTE, camel, wrapped};

/// The columns of a comment.
const WIDTH: usize = 100;

/// `StaggerApi.java`.
pub(super) fn api(api: &ApiDocument) -> String {
    let mut text = format!(
        "// {NOTE}\npackage dev.stagger.webhooks;\n\nimport java.util.Map;\n\n\
         /** The operations of the dispatcher's API, a method each. JSON objects are maps, lists are lists. */\n\
         public class StaggerApi {{\n    /** The version of the API's document. */\n    public static final String API_VERSION = \"{}\";\n\n    \
         private final Transport transport;\n\n    StaggerApi(Transport transport) {{\n        this.transport = transport;\n    }}\n",
        api.version
    );
    for operation in &api.operations {
        if operation.takes_key {
            text += &method(operation, false);
        }
        text += &method(operation, operation.takes_key);
    }
    text + "}\n"
}

fn method(operation: &ApiOperation, keyed: bool) -> String {
    let mut arguments: Vec<String> =
        operation.path_params.iter().map(|name| format!("String {}", camel(name))).collect();
    let mut names: Vec<String> = operation.path_params.iter().map(|name| camel(name)).collect();
    let mut passed = vec![format!("\"{}\"", operation.method), target(operation)];
    let query: Vec<_> = operation.query.iter().map(|param| param.name.as_str()).collect();
    if query.is_empty() {
        passed.push("Map.of()".to_owned());
    } else {
        arguments.push("Map<String, ?> query".to_owned());
        names.push("query".to_owned());
        passed.push("query".to_owned());
    }
    match &operation.body {
        Some(RequestContent::Json { .. }) => {
            arguments.push("Map<String, ?> body".to_owned());
            names.push("body".to_owned());
            passed.push("Content.json(body)".to_owned());
        }
        Some(RequestContent::Bytes) => {
            arguments.push("byte[] body, String contentType".to_owned());
            names.extend(["body".to_owned(), "contentType".to_owned()]);
            passed.push("Content.bytes(body, contentType)".to_owned());
        }
        None => passed.push("Content.none()".to_owned()),
    }
    let (returned, reader) = match &operation.reply {
        ReplyContent::Nothing => ("void", "nothing"),
        ReplyContent::Json(_) => ("Map<String, Object>", "object"),
        ReplyContent::Text => ("String", "text"),
        ReplyContent::Bytes => ("byte[]", "bytes"),
    };
    let name = camel(&operation.id);
    let give = if returned == "void" { "" } else { "return " };
    let mut comment = operation.summary.clone();
    if !query.is_empty() {
        comment += &format!("\n\nNames of the query: {}.", query.join(", "));
    }
    if keyed {
        arguments.push("String idempotencyKey".to_owned());
        passed.push("idempotencyKey".to_owned());
        comment += "\n\nThe same idempotency key again is the same message.";
    } else if operation.takes_key {
        names.push("Transport.newKey()".to_owned());
        return format!(
            "\n{}    public {returned} {name}({}) {{\n        {give}{name}({});\n    }}\n",
            javadoc(&(comment + "\n\nAn idempotency key is made for the call.")),
            arguments.join(", "),
            names.join(", "),
        );
    } else {
        passed.push("null".to_owned());
    }
    format!(
        "\n{}    public {returned} {name}({}) {{\n        {give}transport.call({}).{reader}();\n    }}\n",
        javadoc(&comment),
        arguments.join(", "),
        passed.join(", "),
    )
}

/// The path as a Java expression.
fn target(operation: &ApiOperation) -> String {
    let mut target = format!("\"{}\"", operation.path);
    for name in &operation.path_params {
        let value = format!("\" + Transport.segment({}) + \"", camel(name));
        target = target.replace(&format!("{{{name}}}"), &value);
    }
    target.trim_end_matches(" + \"\"").to_owned()
}

fn javadoc(text: &str) -> String {
    let plain =
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "&#64;");
    let mut comment = String::from("    /**\n");
    for line in wrapped(&plain, WIDTH) {
        let line = if line.is_empty() { "<p>".to_owned() } else { line };
        comment += &format!("     * {line}\n");
    }
    comment + "     */\n"
}
