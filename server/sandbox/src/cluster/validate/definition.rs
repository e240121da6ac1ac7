//! CustomResourceDefinitions (`apiextensions-apiserver/pkg/apis/apiextensions/validation`).

use serde_json::{Value, json};

use crate::{object, status::Cause};

pub(super) fn spec(object: &Value, causes: &mut Vec<Cause>) {
    let spec = &object["spec"];
    let (plural, group) =
        (object::text(spec, &["names", "plural"]), object::text(spec, &["group"]));
    if object::name(object) != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &json!(object::name(object)), why));
    }
    approval(object, group, causes);
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, version) in versions.iter().enumerate() {
        if version["schema"]["openAPIV3Schema"].is_null() {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema");
            causes.push(Cause::required(&field, ""));
        }
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], why));
        if object["status"]["storedVersions"].is_null() {
            let why = "must have at least one stored version";
            causes.push(Cause::invalid("status.storedVersions", &Value::Null, why));
        }
    }
}

/// Requires an approval annotation for kinds in the groups of Kubernetes (`ValidateCustomResourceDefinition`).
fn approval(object: &Value, group: &str, causes: &mut Vec<Cause>) {
    const NAME: &str = "api-approved.kubernetes.io";
    let is_protected = [".k8s.io", ".kubernetes.io"].iter().any(|it| group.ends_with(it));
    let said = object::text(object, &["metadata", "annotations", NAME]);
    let is_there = ["https://", "http://", "unapproved"].iter().any(|it| said.starts_with(it));
    if !is_protected || is_there {
        return;
    }
    let field = format!("metadata.annotations[{NAME}]");
    let why = format!("protected groups must have approval annotation {NAME:?}");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    causes.push(if said.is_empty() {
        Cause::required(&field, &format!("{why}, {see}"))
    } else {
        let either = "with either a URL or a reason starting with \"unapproved\"";
        Cause::invalid(&field, &json!(said), &format!("{why} {either}, {see}"))
    });
}
