//! The OpenAPI document as operations and shapes, as far as a client needs it.

use std::error::Error;

use serde_json::{Map, Value};

/// An API.
#[derive(Debug)]
pub(super) struct ApiDocument {
    pub(super) version: String,
    pub(super) operations: Vec<ApiOperation>,
    /// The named shapes with their descriptions.
    pub(super) schemas: Vec<(String, ApiShape, String)>,
}

/// A request of the API.
#[derive(Debug)]
pub(super) struct ApiOperation {
    /// The name, in snake case.
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) path_params: Vec<String>,
    pub(super) query: Vec<QueryParam>,
    pub(super) body: Option<RequestContent>,
    pub(super) reply: ReplyContent,
    /// Whether it takes an idempotency key.
    pub(super) takes_key: bool,
}

/// A parameter of the query.
#[derive(Debug)]
pub(super) struct QueryParam {
    pub(super) name: String,
    pub(super) shape: ApiShape,
    pub(super) required: bool,
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum RequestContent {
    Json { shape: ApiShape, required: bool },
    Bytes,
}

/// The body of a reply.
#[derive(Debug)]
pub(super) enum ReplyContent {
    Nothing,
    Json(ApiShape),
    Text,
    Bytes,
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiShape {
    Any,
    Text,
    Integer,
    Number,
    Boolean,
    Named(String),
    List(Box<Self>),
    /// Values under names.
    Table(Box<Self>),
    /// The value or null.
    Nullable(Box<Self>),
    /// One of these texts.
    Words(Vec<String>),
    OneOf(Vec<Self>),
    /// The members of all of them.
    All(Vec<Self>),
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) shape: ApiShape,
    pub(super) required: bool,
    pub(super) description: String,
}

impl ApiDocument {
    /// # Errors
    /// The text is no OpenAPI document, or has something that no client can call.
    pub(super) fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let document: Value = serde_json::from_str(text)?;
        let schemas = document["components"]["schemas"].as_object().ok_or("no schemas")?;
        let shapes = ApiShapeReader { schemas };
        let named = |(name, schema): (&String, &Value)| {
            (name.clone(), shapes.of_schema(schema), described(schema))
        };
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().ok_or("no paths")? {
            for (method, operation) in methods.as_object().ok_or("no methods")? {
                operations.push(shapes.operation(path, method, operation)?);
            }
        }
        operations.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Self {
            version: document["info"]["version"].as_str().unwrap_or_default().to_owned(),
            operations,
            schemas: schemas.iter().map(named).collect(),
        })
    }
}

/// Reads shapes; an object that stands in place of its name is found by its contents.
struct ApiShapeReader<'d> {
    schemas: &'d Map<String, Value>,
}

impl ApiShapeReader<'_> {
    fn operation(
        &self,
        path: &str,
        method: &str,
        operation: &Value,
    ) -> Result<ApiOperation, Box<dyn Error>> {
        let id = operation["operationId"].as_str().ok_or_else(|| format!("{path} has no name"))?;
        let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let of = |place: &'static str| parameters.iter().filter(move |it| it["in"] == place);
        let name = |parameter: &Value| parameter["name"].as_str().unwrap_or_default().to_owned();
        let query = |parameter: &Value| QueryParam {
            name: name(parameter),
            shape: self.of(&parameter["schema"]),
            required: parameter["required"] == true,
        };
        let mut path_params: Vec<_> = of("path").map(name).collect();
        path_params.sort_by_key(|name| path.find(&format!("{{{name}}}")));
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let summary = format!("{}\n\n{}", text("summary"), text("description"));
        Ok(ApiOperation {
            id: id.to_owned(),
            method: method.to_ascii_uppercase(),
            path: path.to_owned(),
            summary: summary.trim().to_owned(),
            path_params,
            query: of("query").map(query).collect(),
            body: self.request(&operation["requestBody"]),
            reply: self.reply(&operation["responses"]),
            takes_key: of("header").any(|it| it["name"] == "Idempotency-Key"),
        })
    }

    fn request(&self, body: &Value) -> Option<RequestContent> {
        let content = body["content"].as_object()?;
        let Some(json) = content.get("application/json") else {
            return Some(RequestContent::Bytes);
        };
        let (shape, required) = match self.of(&json["schema"]) {
            ApiShape::Nullable(shape) => (*shape, false),
            shape => (shape, body["required"] == true),
        };
        Some(RequestContent::Json { shape, required })
    }

    fn reply(&self, responses: &Value) -> ReplyContent {
        let none = Map::new();
        let mut good = responses.as_object().unwrap_or(&none).iter();
        let Some((_, reply)) = good.find(|(status, _)| status.starts_with('2')) else {
            return ReplyContent::Nothing;
        };
        let content = reply["content"].as_object().unwrap_or(&none);
        match content.iter().next() {
            None => ReplyContent::Nothing,
            Some((kind, content)) if kind == "application/json" => {
                ReplyContent::Json(self.of(&content["schema"]))
            }
            Some((kind, _)) if kind.starts_with("text/") => ReplyContent::Text,
            Some(_) => ReplyContent::Bytes,
        }
    }

    /// The shape of a value: a name where it has one.
    fn of(&self, schema: &Value) -> ApiShape {
        if let Some(name) = schema["$ref"].as_str() {
            return ApiShape::Named(name.rsplit('/').next().unwrap_or_default().to_owned());
        }
        let is_object = schema["properties"].is_object();
        match self.schemas.iter().find(|(_, known)| is_object && *known == schema) {
            Some((name, _)) => ApiShape::Named(name.clone()),
            None => self.of_schema(schema),
        }
    }

    /// The shape itself.
    fn of_schema(&self, schema: &Value) -> ApiShape {
        if let Some(parts) = schema["allOf"].as_array() {
            return ApiShape::All(parts.iter().map(|part| self.of(part)).collect());
        }
        let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        if let Some(parts) = choices {
            return self.one_of(parts);
        }
        if let Some(words) = schema["enum"].as_array() {
            let word = |word: &Value| word.as_str().map(str::to_owned);
            return ApiShape::Words(words.iter().filter_map(word).collect());
        }
        if let Some(word) = schema["const"].as_str() {
            return ApiShape::Words(vec![word.to_owned()]);
        }
        match &schema["type"] {
            Value::Array(kinds) => {
                let of_kind =
                    |kind: &Value| self.of_kind(kind.as_str().unwrap_or_default(), schema);
                let mut shapes: Vec<_> =
                    kinds.iter().filter(|kind| *kind != "null").map(of_kind).collect();
                let shape =
                    if shapes.len() == 1 { shapes.remove(0) } else { ApiShape::OneOf(shapes) };
                match kinds.iter().any(|kind| kind == "null") {
                    true => ApiShape::Nullable(Box::new(shape)),
                    false => shape,
                }
            }
            kind => self.of_kind(kind.as_str().unwrap_or_default(), schema),
        }
    }

    fn one_of(&self, parts: &[Value]) -> ApiShape {
        let is_null = |part: &&Value| part["type"] == "null";
        let mut shapes: Vec<_> =
            parts.iter().filter(|part| !is_null(part)).map(|part| self.of(part)).collect();
        let has_null = shapes.len() < parts.len();
        let shape = if shapes.len() == 1 { shapes.remove(0) } else { ApiShape::OneOf(shapes) };
        if has_null { ApiShape::Nullable(Box::new(shape)) } else { shape }
    }

    fn of_kind(&self, kind: &str, schema: &Value) -> ApiShape {
        match kind {
            "string" => ApiShape::Text,
            "integer" => ApiShape::Integer,
            "number" => ApiShape::Number,
            "boolean" => ApiShape::Boolean,
            "array" => ApiShape::List(Box::new(self.of(&schema["items"]))),
            "object" if schema["properties"].is_object() => ApiShape::Object(self.members(schema)),
            "object" if schema["additionalProperties"].is_object() => {
                ApiShape::Table(Box::new(self.of(&schema["additionalProperties"])))
            }
            _ => ApiShape::Any,
        }
    }

    fn members(&self, schema: &Value) -> Vec<Member> {
        let none = Map::new();
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let member = |(name, of): (&String, &Value)| Member {
            name: name.clone(),
            shape: self.of(of),
            required: required.iter().any(|it| it == name),
            description: described(of),
        };
        schema["properties"].as_object().unwrap_or(&none).iter().map(member).collect()
    }
}

/// The description of a schema, also where it stands at one of its choices, in one line.
fn described(schema: &Value) -> String {
    let choices = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut all = std::iter::once(schema).chain(choices);
    let found = all.find_map(|it| it["description"].as_str()).unwrap_or_default();
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sends_and_gets_is_in_the_document() {
        let text = include_str!("../../../crates/dispatch/openapi.json");
        let api = ApiDocument::parse(text).expect("it is a document");
        let of = |id: &str| api.operations.iter().find(|it| it.id == id).expect("it is there");
        let send = of("send_message");
        assert!(send.takes_key && send.path_params == ["app"]);
        let accepted = ApiShape::Named("AcceptedMessage".to_owned());
        assert!(matches!(&send.reply, ReplyContent::Json(shape) if *shape == accepted));
        assert!(matches!(&send.body, Some(RequestContent::Json { required: true, .. })));
        assert!(matches!(of("send_raw_message").body, Some(RequestContent::Bytes)));
        assert!(matches!(of("get_payload").reply, ReplyContent::Bytes));
        assert!(matches!(of("delete_endpoint").reply, ReplyContent::Nothing));
        assert_eq!(of("get_delivery").path_params, ["app", "msg", "ep"]);
        let page = api.schemas.iter().find(|(name, ..)| name == "PageOf_Message").expect("a page");
        let ApiShape::Object(members) = &page.1 else { panic!("{page:?}") };
        let items = ApiShape::List(Box::new(ApiShape::Named("Message".to_owned())));
        assert!(members.iter().any(|it| it.name == "items" && it.shape == items && it.required));
    }
}
