//! What an object must be to be stored, as far as it is about the object alone: `ValidateObjectMeta`, its counterpart
//! for updates, and the few rules of kinds that others rely on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules;
use crate::{
    kind::Kind,
    object::{self, FOREGROUND, ORPHAN},
    status::{Cause, Status},
};

pub(super) const NAMESPACE_DIFFERS: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// As deep as an object may nest: what `serde_json` reads by default, so that whatever is stored can be read again.
const DEPTH: usize = 110;
/// etcd's `--max-request-bytes`.
const SIZE: usize = 1_572_864;

/// What must hold before anything else is read.
pub(super) fn shape(kind: &Kind, object: &Value) -> Result<(), Status> {
    if !object.is_object() || !object["metadata"].is_object() && !object["metadata"].is_null() {
        let why = format!(
            "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal",
            kind.kind, kind.version, kind.kind
        );
        return Err(Status::bad_request(why));
    }
    if object::is_deeper_than(object, DEPTH) {
        return Err(Status::bad_request("the object nests too deeply"));
    }
    let metadata = &object["metadata"];
    let wrong = |field: &str, expected: &str| {
        Err(Status::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal into Go struct field \
             ObjectMeta.metadata.{field} of type {expected}",
            kind.kind, kind.version, kind.kind
        )))
    };
    for field in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
    ] {
        if !metadata[field].is_string() && !metadata[field].is_null() {
            return wrong(field, "string");
        }
    }
    for field in ["labels", "annotations"] {
        let texts =
            metadata[field].as_object().is_some_and(|map| map.values().all(Value::is_string));
        if !texts && !metadata[field].is_null() {
            return wrong(field, "map[string]string");
        }
    }
    let finalizers = &metadata["finalizers"];
    if !finalizers.is_null()
        && !finalizers.as_array().is_some_and(|all| all.iter().all(Value::is_string))
    {
        return wrong("finalizers", "[]string");
    }
    let owners = &metadata["ownerReferences"];
    if !owners.is_null() && !owners.as_array().is_some_and(|all| all.iter().all(Value::is_object)) {
        return wrong("ownerReferences", "[]v1.OwnerReference");
    }
    if kind.group.is_empty() && ["configmaps", "secrets"].contains(&kind.plural.as_str()) {
        for field in ["data", "binaryData", "stringData"] {
            let texts =
                object[field].as_object().is_some_and(|map| map.values().all(Value::is_string));
            if !texts && !object[field].is_null() {
                return wrong(field, "map[string]string");
            }
        }
    }
    for field in ["spec", "status"] {
        if !kind.is_custom() && !object[field].is_object() && !object[field].is_null() {
            return wrong(field, "struct");
        }
    }
    Ok(())
}

/// Whether the store takes an object of this size.
pub(super) fn size(object: &Value) -> Result<(), Status> {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    let written = serde_json::to_writer(&mut counter, object);
    if written.is_err() || counter.0 > SIZE {
        return Err(Status::plain(500, "etcdserver: request is too large"));
    }
    Ok(())
}

pub(super) fn create(kind: &Kind, object: &Value) -> Result<(), Status> {
    let mut causes = vec![];
    let metadata = &object["metadata"];
    let base = object::text(object, &["metadata", "generateName"]);
    if !base.is_empty()
        && let Some(why) = wrong_name(kind, base.trim_end_matches('-'))
    {
        causes.push(Cause::invalid("metadata.generateName", &json!(base), why));
    }
    match object::name(object) {
        "" => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        name => {
            if let Some(why) = wrong_name(kind, name) {
                causes.push(Cause::invalid("metadata.name", &json!(name), why));
            }
        }
    }
    let finalizers: Vec<&str> = object::finalizers(object).collect();
    for one in &finalizers {
        if names_finalizers_strictly(kind) {
            finalizer_name(one, &mut causes);
        } else if !is_qualified(one) {
            causes.push(Cause::invalid("metadata.finalizers", &json!(one), QUALIFIED));
        }
    }
    if finalizers.contains(&ORPHAN) && finalizers.contains(&FOREGROUND) {
        let why = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        causes.push(Cause::invalid("metadata.finalizers", &metadata["finalizers"], &why));
    }
    common(object, &mut causes);
    rules::spec(kind, object, &mut causes);
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&kind.group, &kind.kind, object::name(object), causes))
    }
}

pub(super) fn update(
    kind: &Kind,
    old: &Value,
    new: &Value,
    subresource: &str,
) -> Result<(), Status> {
    let mut causes = vec![];
    if object::is_deleting(old) {
        let had: BTreeSet<&str> = object::finalizers(old).collect();
        let extra: BTreeSet<&str> =
            object::finalizers(new).filter(|one| !had.contains(one)).collect();
        if !extra.is_empty() {
            let extra: Vec<String> = extra.iter().map(|one| format!("{one:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                extra.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let (is, was) = (&new["metadata"][field], &old["metadata"][field]);
        if is != was {
            causes.push(Cause::invalid(&format!("metadata.{field}"), is, "field is immutable"));
        }
    }
    common(new, &mut causes);
    // The strategy looks at the metadata once more, and at the names of finalizers.
    causes.extend(causes.clone());
    if names_finalizers_strictly(kind) {
        for one in object::finalizers(new) {
            finalizer_name(one, &mut causes);
        }
    }
    if subresource.is_empty() {
        rules::spec(kind, new, &mut causes);
        rules::change(kind, old, new, &mut causes);
        immutable(kind, old, new, &mut causes);
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&kind.group, &kind.kind, object::name(old), causes))
    }
}

/// Whether finalizers are checked as those of the core API server's kinds: definitions have a server, and a finalizer
/// without a domain, of their own.
fn names_finalizers_strictly(kind: &Kind) -> bool {
    !kind.is_custom() && kind.group != "apiextensions.k8s.io"
}

/// A finalizer of a built-in kind is a qualified name, and one without a domain is one of three.
fn finalizer_name(name: &str, causes: &mut Vec<Cause>) {
    if !is_qualified(name) {
        causes.push(Cause::invalid("metadata.finalizers", &json!(name), QUALIFIED));
    }
    if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&name) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        causes.push(Cause::invalid("metadata.finalizers", &json!(name), why));
    }
}

fn common(object: &Value, causes: &mut Vec<Cause>) {
    let mut controller: Option<String> = None;
    for reference in object::owner_references(object) {
        let field = "metadata.ownerReferences";
        if object::text(reference, &["apiVersion"]).is_empty() {
            let value = json!(object::text(reference, &["apiVersion"]));
            causes.push(Cause::invalid(
                &format!("{field}.apiVersion"),
                &value,
                "version must not be empty",
            ));
        }
        for name in ["kind", "name", "uid"] {
            if object::text(reference, &[name]).is_empty() {
                causes.push(Cause::invalid(
                    &format!("{field}.{name}"),
                    &json!(""),
                    "must not be empty",
                ));
            }
        }
        if reference["apiVersion"] == "v1" && reference["kind"] == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid(field, reference, why));
        }
        if reference["controller"] == true {
            let this = format!(
                "{}/{}",
                object::text(reference, &["kind"]),
                object::text(reference, &["name"])
            );
            if let Some(first) = &controller {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                );
                causes.push(Cause::invalid(field, &object["metadata"]["ownerReferences"], &why));
            }
            controller.get_or_insert(this);
        }
    }
    let labels = object["metadata"]["labels"].as_object();
    for (name, value) in labels.into_iter().flatten() {
        if !is_qualified(name) {
            causes.push(Cause::invalid("metadata.labels", &json!(name), QUALIFIED));
        }
        let value = value.as_str().unwrap_or_default();
        if !value.is_empty() && !is_qualified_end(value) {
            causes.push(Cause::invalid("metadata.labels", &json!(value), LABEL_VALUE));
        }
    }
    let annotations = object["metadata"]["annotations"].as_object();
    for (name, _) in annotations.into_iter().flatten() {
        if !is_qualified(&name.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &json!(name), QUALIFIED));
        }
    }
}

/// Fields that cannot be changed where a teardown might trip over it.
fn immutable(kind: &Kind, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("rbac.authorization.k8s.io", _) => fixed(old, new, &["roleRef"], causes),
        ("storage.k8s.io", "storageclasses") => {
            fixed(old, new, &["provisioner"], causes);
            fixed(old, new, &["reclaimPolicy"], causes);
        }
        ("storage.k8s.io", "volumeattachments") => fixed(old, new, &["spec"], causes),
        _ => {}
    }
}

/// Refuses a change of what is at a path, once something is.
fn fixed(old: &Value, new: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    let (was, is) = (object::at(old, path), object::at(new, path));
    if was != is && !was.is_null() {
        causes.push(Cause::invalid(&path.join("."), is, "field is immutable"));
    }
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
pub(super) const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
    character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
    '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Why a name is none for this kind.
fn wrong_name(kind: &Kind, name: &str) -> Option<&'static str> {
    if name == "." || name == ".." {
        return Some("may not be '.' or '..'");
    }
    if name.contains('/') {
        return Some("may not contain '/'");
    }
    if name.contains('%') {
        return Some("may not contain '%'");
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        // Any path segment will do.
        ("rbac.authorization.k8s.io", _) | ("apiregistration.k8s.io", _) => None,
        ("", "namespaces") if name.len() > 63 => Some("must be no more than 63 characters"),
        ("", "namespaces") => (!is_label(name)).then_some(LABEL),
        ("", "services") if name.len() > 63 => Some("must be no more than 63 characters"),
        ("", "services") => (!is_label(name) || name.starts_with(|one: char| one.is_ascii_digit()))
            .then_some(DNS_1035),
        _ if name.len() > 253 => Some("must be no more than 253 characters"),
        _ => (!name.split('.').all(is_label)).then_some(SUBDOMAIN),
    }
}

pub(super) fn is_label(name: &str) -> bool {
    let inside = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'-';
    !name.is_empty() && name.bytes().all(inside) && !name.starts_with('-') && !name.ends_with('-')
}

/// `IsQualifiedName`: an optional DNS subdomain, a slash, a name of at most 63 characters.
fn is_qualified(name: &str) -> bool {
    match name.split_once('/') {
        Some((prefix, end)) => {
            prefix.len() <= 253 && prefix.split('.').all(is_label) && is_qualified_end(end)
        }
        None => is_qualified_end(name),
    }
}

fn is_qualified_end(name: &str) -> bool {
    let inside = |one: u8| one.is_ascii_alphanumeric() || b"-_.".contains(&one);
    let edge = |one: Option<&u8>| one.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.iter().all(|one| inside(*one))
        && edge(bytes.first())
        && edge(bytes.last())
}
