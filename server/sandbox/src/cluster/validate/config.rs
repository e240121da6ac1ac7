//! ConfigMaps and Secrets.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::status::Cause;

/// `MaxSecretSize`, which limits ConfigMaps too, in bytes of names and values.
const SIZE: usize = 1024 * 1024;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
    'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// The keys that a Secret of a type must have.
const TYPES: [(&str, &[&str]); 4] = [
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

pub(super) fn map(object: &Value, causes: &mut Vec<Cause>) {
    for field in ["data", "binaryData"] {
        keys(object, field, causes);
    }
    if length(&object["data"]) + decoded_length(&object["binaryData"]) > SIZE {
        causes.push(Cause::too_long("[]", SIZE));
    }
}

pub(super) fn secret(object: &Value, causes: &mut Vec<Cause>) {
    keys(object, "data", causes);
    if decoded_length(&object["data"]) > SIZE {
        causes.push(Cause::too_long("data", SIZE));
    }
    let sort = object["type"].as_str().unwrap_or_default();
    for key in TYPES.iter().filter(|(one, _)| *one == sort).flat_map(|(_, keys)| *keys) {
        if object["data"].get(key).is_none() {
            causes.push(Cause::required(&format!("data[{key}]"), ""));
        }
    }
}

/// An immutable object must stay immutable and unchanged.
pub(super) fn immutable(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if old["immutable"] != true {
        return;
    }
    let why = "field is immutable when `immutable` is set";
    if new["immutable"] != true {
        causes.push(Cause::forbidden("immutable", why));
    }
    for field in ["data", "binaryData"] {
        let is_empty = |value: &Value| value.as_object().is_none_or(Map::is_empty);
        if old[field] != new[field] && !(is_empty(&old[field]) && is_empty(&new[field])) {
            causes.push(Cause::forbidden(field, why));
        }
    }
}

/// Checks that all values are valid base64.
///
/// # Errors
///
/// The message of Go's decoder for the first value that is not.
pub(super) fn decodable(bytes: &Value) -> Result<(), String> {
    for text in bytes.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
        if let Err(error) = STANDARD.decode(text) {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _)
                | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                // Go counts up to the last complete group of four.
                base64::DecodeError::InvalidLength(length) => length / 4 * 4,
                base64::DecodeError::InvalidPadding => text.trim_end_matches('=').len(),
            };
            return Err(format!("illegal base64 data at input byte {at}"));
        }
    }
    Ok(())
}

/// `Convert_v1_Secret_To_core_Secret`: moves `stringData` into `data`, encoded as base64.
pub(super) fn encode_text(secret: &mut Value) {
    let Some(secret) = secret.as_object_mut() else { return };
    let Some(Value::Object(text)) = secret.remove("stringData") else { return };
    if text.is_empty() {
        return;
    }
    let data = secret.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = json!({});
    }
    for (key, value) in text {
        data[key] = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
    }
}

fn keys(object: &Value, field: &str, causes: &mut Vec<Cause>) {
    let letter = |one: char| one.is_ascii_alphanumeric() || "-._".contains(one);
    for (key, _) in object[field].as_object().into_iter().flatten() {
        let field = format!("{field}[{key}]");
        if key.is_empty() || !key.chars().all(letter) {
            causes.push(Cause::invalid(&field, &json!(key), KEY));
        } else if key == "." || key.starts_with("..") {
            let why = if key == "." || key == ".." {
                format!("must not be '{key}'")
            } else {
                "must not start with '..'".into()
            };
            causes.push(Cause::invalid(&field, &json!(key), &why));
        }
        if key.len() > 253 {
            let why = "must be no more than 253 characters";
            causes.push(Cause::invalid(&field, &json!(key), why));
        }
    }
}

fn length(texts: &Value) -> usize {
    texts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(_, value)| value.as_str().map_or(0, str::len))
        .sum()
}

fn decoded_length(texts: &Value) -> usize {
    length(texts) / 4 * 3
}
