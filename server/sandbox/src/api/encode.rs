//! The forms in which clients request objects: in full, metadata alone, or as a table; in the requested version.

mod table;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use super::{page::Page, request::Request};
use crate::{kind::Kind, object, status::Status, store::Change};

/// The form in which a request gets objects of a kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    /// The kind in the requested version.
    pub(crate) kind: Arc<Kind>,
    pub(crate) form: Form,
    /// The time up to which ages are counted.
    pub(crate) now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    /// `PartialObjectMetadata`. With `list`, the client asked for a list of them.
    Metadata {
        list: bool,
    },
    Table {
        include: Include,
    },
}

/// The object in each row of a table (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

pub(super) const ACCEPTED: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

impl View {
    /// Reads the form from the `Accept` header.
    pub(super) fn negotiate(request: &Request, kind: &Arc<Kind>) -> Result<Self, Status> {
        let form = form(request)?;
        Ok(Self { kind: kind.clone(), form, now: request.time })
    }

    fn api_version(&self) -> String {
        self.kind.api_version()
    }

    pub(super) fn object(&self, object: &Value) -> Vec<u8> {
        match self.form {
            // A Status is never converted to another form.
            _ if object["kind"] == "Status" && object["apiVersion"] == "v1" => value(object),
            Form::Whole => value(&Whole { object, api_version: Some(&self.api_version()) }),
            Form::Metadata { .. } => value(&metadata_of(object)),
            Form::Table { include } => {
                value(&table::table(self, [object].into_iter(), include, &meta_of(object), true))
            }
        }
    }

    pub(super) fn list(&self, list: &Page) -> Vec<u8> {
        let mut meta = json!({"resourceVersion": list.revision.to_string()});
        if !list.token.is_empty() {
            meta["continue"] = json!(list.token);
        }
        if let Some(remaining) = list.remaining {
            meta["remainingItemCount"] = json!(remaining);
        }
        let kind = match self.form {
            Form::Whole => format!("{}List", self.kind.kind),
            Form::Metadata { .. } => "PartialObjectMetadataList".into(),
            Form::Table { include } => {
                let objects = list.items.iter().map(|one| &**one);
                return value(&table::table(self, objects, include, &meta, true));
            }
        };
        let api_version = self.api_version();
        let of_list =
            if self.form == Form::Whole { api_version.as_str() } else { "meta.k8s.io/v1" };
        let mut bytes = Vec::with_capacity(256 + list.items.len() * 512);
        bytes.extend_from_slice(b"{\"kind\":");
        append(&mut bytes, &kind);
        bytes.extend_from_slice(b",\"apiVersion\":");
        append(&mut bytes, of_list);
        bytes.extend_from_slice(b",\"metadata\":");
        append(&mut bytes, &meta);
        bytes.extend_from_slice(b",\"items\":[");
        for (index, object) in list.items.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            match self.form {
                Form::Metadata { .. } => append(&mut bytes, &metadata_of(object)),
                // The items of a typed list have no apiVersion and kind; those of a list of custom objects have both.
                _ if self.kind.is_custom() => {
                    append(&mut bytes, &Whole { object, api_version: Some(&api_version) });
                }
                _ => append(&mut bytes, &Whole { object, api_version: None }),
            }
        }
        bytes.extend_from_slice(b"]}\n");
        bytes
    }

    /// One line of a watch. Only the first table of a watch has column definitions.
    pub(super) fn event(
        &self,
        change: Change,
        object: &Value,
        revision: u64,
        first: bool,
    ) -> Vec<u8> {
        let word = match change {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        };
        self.line(word, object, revision, first)
    }

    /// A bookmark: an object of the kind with nothing but a resource version.
    pub(super) fn bookmark(&self, revision: u64, end_of_initial: bool) -> Vec<u8> {
        let mut object = json!({
            "kind": self.kind.kind, "apiVersion": self.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if end_of_initial {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.line("BOOKMARK", &object, revision, false)
    }

    fn line(&self, word: &str, object: &Value, revision: u64, first: bool) -> Vec<u8> {
        let mut bytes = format!("{{\"type\":\"{word}\",\"object\":").into_bytes();
        match self.form {
            Form::Whole => {
                append(&mut bytes, &Whole { object, api_version: Some(&self.api_version()) })
            }
            Form::Metadata { .. } => append(&mut bytes, &metadata_of(object)),
            Form::Table { include } => {
                let meta = json!({"resourceVersion": revision.to_string()});
                append(
                    &mut bytes,
                    &table::table(self, [object].into_iter(), include, &meta, first),
                );
            }
        }
        bytes.extend_from_slice(b"}\n");
        bytes
    }
}

/// The line of a watch that ends in an error.
pub(super) fn error_line(status: &Status) -> Vec<u8> {
    let mut bytes = value(&json!({"type": "ERROR", "object": status.to_value()}));
    bytes.push(b'\n');
    bytes
}

fn form(request: &Request) -> Result<Form, Status> {
    let accept = request.header("accept");
    if accept.is_empty() {
        return Ok(Form::Whole);
    }
    for one in accept.split(',') {
        let mut parts = one.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if !["application/json", "application/*", "*/*"].contains(&media) {
            continue;
        }
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let parameter = |name: &str| {
            parameters.iter().find(|(one, _)| *one == name).map_or("", |(_, value)| *value)
        };
        let of_meta = parameter("g") == "meta.k8s.io" && parameter("v") == "v1";
        match parameter("as") {
            "" => return Ok(Form::Whole),
            "Table" if of_meta => {
                let include = match request.query.get("includeObject") {
                    "None" => Include::None,
                    "Object" => Include::Object,
                    "" | "Metadata" => Include::Metadata,
                    odd => {
                        return Err(Status::bad_request(format!(
                            "Unable to convert to Table as requested: includeObject: Invalid value: {odd:?}: must be \
                             'Metadata', 'Object', 'None', or empty"
                        )));
                    }
                };
                return Ok(Form::Table { include });
            }
            "PartialObjectMetadata" if of_meta => return Ok(Form::Metadata { list: false }),
            "PartialObjectMetadataList" if of_meta => return Ok(Form::Metadata { list: true }),
            _ => {}
        }
    }
    // Without `as=`, the filters before the handlers refuse the request, with another message.
    if !accept.contains("as=") {
        return Err(Status::not_representable(&ACCEPTED));
    }
    Err(Status::not_acceptable(&ACCEPTED))
}

fn meta_of(object: &Value) -> Value {
    json!({"resourceVersion": object::resource_version(object)})
}

/// An object's metadata as `PartialObjectMetadata`.
pub(super) fn metadata_of(object: &Value) -> impl Serialize + '_ {
    Partial { metadata: &object["metadata"] }
}

struct Partial<'a> {
    metadata: &'a Value,
}

impl Serialize for Partial<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("kind", "PartialObjectMetadata")?;
        map.serialize_entry("apiVersion", "meta.k8s.io/v1")?;
        map.serialize_entry("metadata", self.metadata)?;
        map.end()
    }
}

/// An object with another apiVersion, or without apiVersion and kind.
struct Whole<'a> {
    object: &'a Value,
    api_version: Option<&'a str>,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(object) = self.object.as_object() else {
            return self.object.serialize(serializer);
        };
        let mut map = serializer.serialize_map(None)?;
        if let Some(api_version) = self.api_version {
            map.serialize_entry("kind", object.get("kind").unwrap_or(&Value::Null))?;
            map.serialize_entry("apiVersion", api_version)?;
        }
        for (field, value) in
            object.iter().filter(|(field, _)| *field != "kind" && *field != "apiVersion")
        {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

/// Serializes to JSON. This cannot fail, because all maps have string keys.
pub(super) fn value(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn append(bytes: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Writing to a Vec cannot fail, and neither can serializing, as above.
    _ = serde_json::to_writer(bytes, value);
}
