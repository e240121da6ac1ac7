//! Request bodies: from bytes to an object (`apiserver/pkg/endpoints/handlers`, `runtime/serializer/json`).

use data_encoding::HEXLOWER;

use serde_json::{Value, json};

use super::{protobuf, request::Request, strict};
use crate::{
    cluster::{Cluster, split_api_version},
    kind::Kind,
    object::{self, json_type},
    status::Status,
};

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The Go struct that the decoder reads first, as its errors print it.
const HEAD: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Decodes the object in the body, which must be of the kind that the path names.
pub(super) fn object(cluster: &Cluster, request: &Request, kind: &Kind) -> Result<Value, Status> {
    let unreadable = |why: String| {
        let summary = summary(&request.body);
        let said = &kind.kind;
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {said}): {why} ({summary})"
        ))
    };
    let no_head =
        |why: String| unreadable(format!("couldn't get version/kind; json parse error: {why}"));
    check_media(request)?;
    let object = if is_protobuf(request) {
        json(request)?
    } else {
        serde_json::from_slice(&request.body)
            .map_err(|error| no_head(in_go(&error, &request.body)))?
    };
    let mut object = if object.is_null() { json!({}) } else { object };
    if !object.is_object() {
        let sort = json_type(&object);
        return Err(no_head(format!("json: cannot unmarshal {sort} into Go value of type {HEAD}")));
    }
    for field in ["apiVersion", "kind"] {
        let value = &object[field];
        if !value.is_string() && !value.is_null() {
            return Err(no_head(format!(
                "json: cannot unmarshal {} into Go struct field .{field} of type string",
                json_type(value)
            )));
        }
    }
    let text = |field: &str| object::text(&object, &[field]).to_owned();
    let (version, said) = (text("apiVersion"), text("kind"));
    let (version, said) = (version.as_str(), said.as_str());
    if version.matches('/').count() > 1 {
        return Err(unreadable(format!("unexpected GroupVersion string: {version}")));
    }
    if kind.is_custom() {
        return of_definition(kind, version, said, &unreadable).map(|()| object);
    }
    let said = if said.is_empty() { &kind.kind } else { said };
    let own = kind.api_version();
    let version = if version.is_empty() { &own } else { version };
    if version == own && said == kind.kind {
        if request.query.get("fieldValidation") == "Strict" && !is_protobuf(request) {
            check_strictly(kind, request, &object)?;
        }
        strict::drop_unknown(kind, &mut object);
        return Ok(object);
    }
    let (group, short) = split_api_version(version);
    let known = cluster.kinds.iter_versions().any(|one| {
        one.group == group && one.version == short && one.kind == said && !one.is_custom()
    });
    let why = if known { kind.no_conversion(said) } else { unregistered(version, said) };
    Err(Status::bad_request(format!(
        "{said} in version {short:?} cannot be handled as a {}: {why}",
        kind.kind
    )))
}

fn check_strictly(kind: &Kind, request: &Request, object: &Value) -> Result<(), Status> {
    let problems = strict::problems(kind, &request.body, object);
    if problems.is_empty() {
        return Ok(());
    }
    let Kind { kind, version, .. } = kind;
    Err(Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
        problems.join(", ")
    )))
}

fn of_definition(
    kind: &Kind,
    version: &str,
    said: &str,
    unreadable: &dyn Fn(String) -> Status,
) -> Result<(), Status> {
    if said.is_empty() {
        return Err(unreadable("Object 'Kind' is missing".into()));
    }
    let own = kind.api_version();
    if !version.is_empty() && version != own {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({own})"
        )));
    }
    if said != kind.kind {
        let (own, version) = (&kind.kind, &kind.version);
        return Err(Status::bad_request(format!(
            "{said} in version {version:?} cannot be handled as a {own}: converting ({said}) to ({own}): unknown conversion"
        )));
    }
    Ok(())
}

/// The error of a Go scheme for a kind that is not registered.
pub(super) fn unregistered(version: &str, kind: &str) -> String {
    format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
    )
}

/// Decodes a body of any kind.
pub(super) fn json(request: &Request) -> Result<Value, Status> {
    check_media(request)?;
    if is_protobuf(request) {
        return protobuf::read(&request.body)
            .ok_or_else(|| Status::unsupported_media_type(&[JSON]));
    }
    serde_json::from_slice(&request.body).map_err(|error| {
        let why = in_go(&error, &request.body);
        Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
    })
}

fn media(request: &Request) -> &str {
    request.header("content-type").split(';').next().unwrap_or_default().trim()
}

fn is_protobuf(request: &Request) -> bool {
    media(request) == PROTOBUF
}

fn check_media(request: &Request) -> Result<(), Status> {
    if ["", JSON, "*/*", PROTOBUF].contains(&media(request)) {
        return Ok(());
    }
    Err(Status::unsupported_media_type(&[JSON, "application/yaml", PROTOBUF]))
}

/// `summarizeData`: the first thirty bytes of a body.
fn summary(body: &[u8]) -> String {
    let head = &body[..body.len().min(30)];
    let rest = if body.len() > head.len() { " ..." } else { "" };
    match head {
        [] => "<empty>".into(),
        [b'{', ..] => format!("{}{rest}", String::from_utf8_lossy(head)),
        _ => HEXLOWER.encode(head) + rest,
    }
}

/// The wording of a JSON syntax error in Go, for the errors that people commonly meet.
pub(super) fn in_go(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".into();
    }
    let said = error.to_string();
    let line = body.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1));
    let odd = line.and_then(|line| {
        // Go treats the byte as a character.
        line.get(error.column().saturating_sub(1)).map(|byte| match char::from(*byte) {
            odd if odd.is_ascii_control() => format!("'\\x{byte:02x}'"),
            odd if odd.is_control() => format!("'\\u{byte:04x}'"),
            odd => format!("{odd:?}"),
        })
    });
    match odd {
        Some(odd) if said.starts_with("expected value") => {
            format!("invalid character {odd} looking for beginning of value")
        }
        Some(odd) if said.starts_with("recursion limit") => {
            format!("invalid character {odd} exceeded max depth")
        }
        _ => said,
    }
}
