//! The validation of all kinds: `ValidateObjectMeta`, `ValidateObjectMetaUpdate`, and a few rules for single kinds that
//! other code relies on.

mod budget;
mod config;
mod definition;
mod name;
mod resources;
mod schema;

use std::collections::BTreeSet;

use name::wrong_name;
pub(crate) use name::{LABEL, is_label, wrong_qualified_name};
use serde_json::{Value, json};

use super::rules;
use crate::{
    kind::Kind,
    object::{self, FOREGROUND, ORPHAN},
    status::{Cause, Status},
};

pub(super) const NAMESPACE_DIFFERS: &str =
    "the namespace of the provided object does not match the namespace sent on the request";

/// The depth to which an object may nest. It is below the limit with which `serde_json` reads by default, so that
/// everything stored can be read again.
const DEPTH: usize = 110;
/// etcd's `--max-request-bytes`.
const SIZE: usize = 1_572_864;
/// `TotalAnnotationSizeLimitB`, in bytes of names and values.
const ANNOTATIONS: usize = 256 * 1024;

/// Checks what all later code relies on, before anything else is read.
pub(super) fn shape(kind: &Kind, object: &Value) -> Result<(), Status> {
    misfit(kind, object).map_err(|why| {
        let Kind { kind, version, .. } = kind;
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}

/// The error of Go's decoder for a value that is not an object of this kind.
pub(super) fn misfit(kind: &Kind, object: &Value) -> Result<(), String> {
    let metadata = &object["metadata"];
    let wrong = |at: &str, is: &Value, expected: &str| {
        let sort = object::json_type(is);
        Err(format!("json: cannot unmarshal {sort} into Go struct field {at} of type {expected}"))
    };
    if !object.is_object() || !metadata.is_object() && !metadata.is_null() {
        return wrong(&format!("{}.metadata", kind.kind), metadata, "v1.ObjectMeta");
    }
    if object::is_deeper_than(object, DEPTH) {
        return Err("the object nests too deeply".into());
    }
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
            return wrong(&format!("ObjectMeta.metadata.{field}"), &metadata[field], "string");
        }
    }
    let texts = |at: &str, value: &Value| match value {
        Value::Null => Ok(()),
        Value::Object(map) => match map.values().find(|one| !one.is_string() && !one.is_null()) {
            Some(odd) => wrong(at, odd, "string"),
            None => Ok(()),
        },
        odd => wrong(at, odd, "map[string]string"),
    };
    for field in ["labels", "annotations"] {
        texts(&format!("ObjectMeta.metadata.{field}"), &metadata[field])?;
    }
    let finalizers = &metadata["finalizers"];
    if !finalizers.is_null()
        && !finalizers.as_array().is_some_and(|all| all.iter().all(Value::is_string))
    {
        return wrong("ObjectMeta.metadata.finalizers", finalizers, "[]string");
    }
    let owners = &metadata["ownerReferences"];
    if !owners.is_null() && !owners.as_array().is_some_and(|all| all.iter().all(Value::is_object)) {
        return wrong("ObjectMeta.metadata.ownerReferences", owners, "[]v1.OwnerReference");
    }
    if kind.group.is_empty() && ["configmaps", "secrets"].contains(&kind.plural.as_str()) {
        for field in ["data", "binaryData", "stringData"] {
            texts(&format!("{}.{field}", kind.kind), &object[field])?;
        }
        let bytes = if kind.plural == "secrets" { "data" } else { "binaryData" };
        config::decodable(&object[bytes])?;
    }
    if kind.is_custom() {
        return Ok(());
    }
    for field in ["spec", "status"] {
        if !object[field].is_object() && !object[field].is_null() {
            return wrong(&format!("{}.{field}", kind.kind), &object[field], "struct");
        }
    }
    if let Some(why) = resources::unreadable(kind, object) {
        return Err(why);
    }
    let replicas = &object["spec"]["replicas"];
    if kind.subresource("scale").is_some() && !replicas.is_null() && !replicas.is_i64() {
        return wrong(&format!("{}Spec.spec.replicas", kind.kind), replicas, "int32");
    }
    Ok(())
}

/// Converts an object from its form in a request to the stored form.
pub(super) fn convert(kind: &Kind, object: &mut Value) {
    if kind.group.is_empty() && kind.plural == "secrets" {
        config::encode_text(object);
    }
    resources::canonicalize(kind, object);
    let schema = &kind.declared["schema"]["openAPIV3Schema"];
    if schema.is_object() {
        schema::prune(schema, object);
    }
}

/// Checks the size of an object.
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
    finalizers(kind, object, &mut causes);
    common(object, &mut causes);
    rules::spec(kind, object, &mut causes);
    spec(kind, object, &mut causes);
    if kind.is_custom() {
        causes.extend(schema::check(&kind.declared["schema"]["openAPIV3Schema"], object));
    }
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
    if !kind.is_custom() {
        finalizers(kind, new, &mut causes);
    }
    if subresource == "finalize" {
        for (index, one) in object::texts(new, &["spec", "finalizers"]).enumerate() {
            let field = format!("spec.finalizers[{index}]");
            for why in wrong_qualified_name(one) {
                causes.push(Cause::invalid(&field, &json!(one), &why));
            }
            standard_or_qualified(&field, one, &mut causes);
        }
    }
    if kind.is_custom() {
        // Ratcheting: an error that the stored object already has is allowed.
        let of_kind = &kind.declared["schema"]["openAPIV3Schema"];
        let before = schema::check(of_kind, old);
        causes.extend(schema::check(of_kind, new).into_iter().filter(|one| !before.contains(one)));
    }
    if subresource.is_empty() {
        rules::spec(kind, new, &mut causes);
        spec(kind, new, &mut causes);
        rules::change(kind, old, new, &mut causes);
        immutable(kind, old, new, &mut causes);
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&kind.group, &kind.kind, object::name(old), causes))
    }
}

/// `ValidateFinalizers`, and for the kinds of the core groups `validateKubeFinalizerName`.
fn finalizers(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    let field = "metadata.finalizers";
    let finalizers: Vec<&str> = object::finalizers(object).collect();
    for one in &finalizers {
        for why in wrong_qualified_name(one) {
            causes.push(Cause::invalid(field, &json!(one), &why));
        }
    }
    if finalizers.contains(&ORPHAN) && finalizers.contains(&FOREGROUND) {
        let why = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        causes.push(Cause::invalid(field, &object["metadata"]["finalizers"], &why));
    }
    // Definitions and APIServices are validated by separate servers, which check less.
    if kind.is_custom()
        || ["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&kind.group.as_str())
    {
        return;
    }
    for (index, one) in finalizers.iter().enumerate() {
        standard_or_qualified(&format!("{field}[{index}]"), one, causes);
    }
}

/// A finalizer without a domain must be one of the three standard ones.
fn standard_or_qualified(field: &str, name: &str, causes: &mut Vec<Cause>) {
    if !name.contains('/') && !["kubernetes", ORPHAN, FOREGROUND].contains(&name) {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        causes.push(Cause::invalid(field, &json!(name), why));
    }
}

/// The owner references with their members in the order of Go's struct.
fn references(object: &Value) -> String {
    let one = |reference: &Value| {
        let members = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
        let set = members.into_iter().filter(|name| !reference[*name].is_null());
        let members: Vec<_> = set.map(|name| format!("{name:?}:{}", reference[name])).collect();
        format!("{{{}}}", members.join(","))
    };
    let all: Vec<_> = object::owner_references(object).map(one).collect();
    format!("[{}]", all.join(","))
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
                let value = references(object);
                causes.push(Cause {
                    reason: "FieldValueInvalid".into(),
                    message: format!("Invalid value: {value}: {why}"),
                    field: field.into(),
                });
            }
            controller.get_or_insert(this);
        }
    }
    name::labels("metadata.labels", &object["metadata"]["labels"], causes);
    let annotations = object["metadata"]["annotations"].as_object();
    for (name, _) in annotations.into_iter().flatten() {
        for why in wrong_qualified_name(&name.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &json!(name), &why));
        }
    }
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.into_iter().flatten().map(size).sum::<usize>() > ANNOTATIONS {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS));
    }
}

/// Checks the few fields of specs on which the rest of the sandbox relies.
fn spec(kind: &Kind, object: &Value, causes: &mut Vec<Cause>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps") => config::map(object, causes),
        ("", "secrets") => config::secret(object, causes),
        ("", "services") => name::labels("spec.selector", &object["spec"]["selector"], causes),
        ("policy", "poddisruptionbudgets") => budget::spec(object, causes),
        ("apiextensions.k8s.io", _) => definition::spec(object, causes),
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => side_effects(object, causes),
        _ => {}
    }
}

/// A webhook must declare its side effects.
fn side_effects(object: &Value, causes: &mut Vec<Cause>) {
    for (index, webhook) in object["webhooks"].as_array().into_iter().flatten().enumerate() {
        let field = format!("webhooks[{index}].sideEffects");
        let words = ["None", "NoneOnDryRun"];
        match webhook["sideEffects"].as_str() {
            None => causes.push(Cause::required(&field, "must specify one of None, NoneOnDryRun")),
            Some(word) if !words.contains(&word) => {
                causes.push(Cause::not_supported(&field, &json!(word), &words));
            }
            Some(_) => {}
        }
    }
}

/// Checks fields that must not change and that matter for a deletion.
fn immutable(kind: &Kind, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("rbac.authorization.k8s.io", _) if old["roleRef"] != new["roleRef"] => {
            // Go encodes a struct without JSON tags by its field names.
            let text = |field: &str| json!(object::text(new, &["roleRef", field]));
            let is =
                json!({"APIGroup": text("apiGroup"), "Kind": text("kind"), "Name": text("name")});
            causes.push(Cause::invalid("roleRef", &is, "cannot change roleRef"));
        }
        ("", "configmaps" | "secrets") => config::immutable(old, new, causes),
        ("", "services") => {
            let address = |one: &Value| object::text(one, &["spec", "clusterIP"]).to_owned();
            let (was, is) = (address(old), address(new));
            if !was.is_empty() && !is.is_empty() && was != is {
                let why = "may not change once set";
                causes.push(Cause::invalid("spec.clusterIPs[0]", &json!([is]), why));
            }
        }
        ("storage.k8s.io", "storageclasses") => {
            fixed(old, new, &["provisioner"], causes);
            fixed(old, new, &["reclaimPolicy"], causes);
        }
        ("storage.k8s.io", "volumeattachments") => fixed(old, new, &["spec"], causes),
        _ => {}
    }
}

/// Refuses a change of a field that is set.
fn fixed(old: &Value, new: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    let (was, is) = (object::at(old, path), object::at(new, path));
    if was != is && !was.is_null() {
        causes.push(Cause::invalid(&path.join("."), is, "field is immutable"));
    }
}
