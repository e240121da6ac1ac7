//! The order rules of extensions of the API and of what finishes a deletion: definitions, operators, drivers, webhooks and
//! aggregated APIs.

use serde_json::Value;

use super::Case;
use crate::{
    application::{CLASS, FINALIZER, OPERATOR, driver::PLUGIN},
    state::{kind, list, name, namespace, text, title, uid, unit},
};

/// A webhook decides whether objects may be deleted, so that it has to outlive them, except for those that its own Pods
/// may use.
pub(super) fn guarded(case: &Case<'_>) -> Option<String> {
    let mut guarded = guarded_objects(case).into_iter().filter(|it| !(case.is_waived)(it));
    let guarded = guarded.find(|it| !is_used(case, it))?;
    Some(format!("it guards {}", title(guarded)))
}

/// The objects whose DELETE a webhook configuration decides; none for any other object.
pub(crate) fn guarded_objects<'a>(case: &Case<'a>) -> Vec<&'a Value> {
    if !kind(case.object).ends_with("WebhookConfiguration") {
        return Vec::new();
    }
    let kinds = |resource: &Value| match resource.as_str() {
        Some("configmaps") => Some("ConfigMap"),
        Some("secrets") => Some("Secret"),
        _ => None,
    };
    let mut found = Vec::new();
    for webhook in list(case.object, "/webhooks") {
        let selected = &webhook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"];
        let Some(within) = selected.as_str() else { continue };
        for rule in list(webhook, "/rules") {
            if !list(rule, "/operations").iter().any(|it| it == "DELETE") {
                continue;
            }
            let kinds = list(rule, "/resources").iter().filter_map(kinds);
            let objects = kinds.flat_map(|kind| case.state.within(kind, within));
            let is_seen = |it: &Value| case.state.is_known_to_plan(it) || (case.seen)(it);
            found.extend(objects.filter(|it| is_seen(it) && name(it) != "kube-root-ca.crt"));
        }
    }
    found
}

/// Whether another object of its namespace names an object, so that it may have to go after the webhook's own Pods.
fn is_used(case: &Case<'_>, used: &Value) -> bool {
    fn names(value: &Value, wanted: &str) -> bool {
        match value {
            Value::String(text) => text == wanted,
            Value::Array(list) => list.iter().any(|it| names(it, wanted)),
            Value::Object(fields) => fields.values().any(|it| names(it, wanted)),
            _ => false,
        }
    }
    let mut others = case.state.all().filter(|it| {
        namespace(it) == namespace(used) && uid(it) != uid(used) && kind(it) != "Event"
    });
    others.any(|it| names(it, name(used)))
}

/// An operator clears the finalizers of its objects, so that it has to outlive those that go with it.
pub(super) fn finisher(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Deployment" || case.object["metadata"]["labels"][OPERATOR].is_null() {
        return None;
    }
    let goes = |widget: &Value| match case.unit.strip_prefix("ns:") {
        Some(within) => namespace(widget) == within,
        None => unit(widget) == case.unit,
    };
    let widget = case.state.of_kind("Widget").find(|it| {
        goes(it)
            && case.state.is_known_to_plan(it)
            && list(it, "/metadata/finalizers").iter().any(|finalizer| finalizer == FINALIZER)
    })?;
    Some(format!("it clears the finalizer of {}", title(widget)))
}

/// A driver makes its volumes, removes them and unmounts them, so that it has to outlive the volumes that it deletes, the claims of
/// the others, the Pods with inline volumes, and whatever may need another volume at any time.
pub(super) fn driver(case: &Case<'_>) -> Option<String> {
    if kind(case.object) == "CSIDriver" {
        return driver_object(case);
    }
    if case.object["metadata"]["labels"][PLUGIN].is_null() {
        return None;
    }
    let is_known = |it: &&Value| {
        (!case.state.is_newer_than_plan(it) || (case.seen)(it)) && !(case.is_waived)(it)
    };
    let of_kind = |kind: &'static str| case.state.of_kind(kind).filter(is_known);
    let is_ours = |volume: &Value| !volume["csi"].is_null();
    let volumes: Vec<&Value> =
        of_kind("PersistentVolume").filter(|it| is_ours(&it["spec"])).collect();
    let is_deleted = |it: &&&Value| text(it, "/spec/persistentVolumeReclaimPolicy") == "Delete";
    if let Some(volume) = volumes.iter().find(is_deleted) {
        return Some(format!("it removes {}", title(volume)));
    }
    let is_claim_of = |volume: &Value, claim: &Value| {
        let bound = &volume["spec"]["claimRef"]["uid"];
        bound.as_str().is_some_and(|bound| bound == uid(claim))
    };
    let claim = volumes.into_iter().find_map(|volume| {
        of_kind("PersistentVolumeClaim").find(|claim| is_claim_of(volume, claim))
    });
    let has_inline = |pod: &&Value| list(pod, "/spec/volumes").iter().any(is_ours);
    if let Some(user) = claim.or_else(|| of_kind("Pod").find(has_inline)) {
        return Some(format!("it unmounts a volume of {}", title(user)));
    }
    let kinds = ["PersistentVolumeClaim", "StatefulSet", "Deployment", "ReplicaSet"];
    let user = kinds.into_iter().find_map(|kind| of_kind(kind).find(|it| needs_volume(it)))?;
    Some(format!("it makes a volume for {}", title(user)))
}

/// A CSIDriver says how volumes are attached and mounted, so that it has to outlive those that are deleted through it.
fn driver_object(case: &Case<'_>) -> Option<String> {
    let mut volumes = case.state.of_kind("PersistentVolume").filter(|volume| {
        text(volume, "/spec/csi/driver") == name(case.object)
            && text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete"
            && (!case.state.is_newer_than_plan(volume) || (case.seen)(volume))
    });
    let volume = volumes.find(|volume| !(case.is_waived)(volume))?;
    Some(format!("its driver removes {}", title(volume)))
}

/// Whether an object is a claim without a volume, or a workload whose Pods get claims from a template: of the class that the driver
/// makes volumes for.
fn needs_volume(object: &Value) -> bool {
    let is_of_class = |claim: &Value| text(claim, "/spec/storageClassName") == CLASS;
    let volumes = list(object, "/spec/template/spec/volumes").iter();
    let mut templates = list(object, "/spec/volumeClaimTemplates")
        .iter()
        .chain(volumes.filter_map(|it| it.pointer("/ephemeral/volumeClaimTemplate")));
    templates.any(is_of_class)
        || kind(object) == "PersistentVolumeClaim"
            && is_of_class(object)
            && text(object, "/spec/volumeName").is_empty()
}

/// The deletion of a definition deletes all its objects. Nobody can win the race with an object that comes after the last list.
pub(super) fn definition(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "CustomResourceDefinition" {
        return None;
    }
    let group = text(case.object, "/spec/group");
    let mut objects = case.state.of_kind(text(case.object, "/spec/names/kind"));
    let left = objects.find(|it| {
        text(it, "/apiVersion").starts_with(&format!("{group}/"))
            && ((case.seen)(it) || !(case.came_after_list)(it))
    })?;
    Some(format!("{} is of its kind", title(left)))
}

/// A webhook without a backend refuses every request, and an APIService without one breaks discovery.
pub(super) fn webhook_backend(case: &Case<'_>) -> Option<String> {
    if kind(case.object) != "Service" {
        return None;
    }
    Some(format!("{} is answered by it", title(caller_of(case, case.object)?)))
}

/// The webhook configuration or APIService that a Service is the backend of.
pub(super) fn caller_of<'a>(case: &'a Case<'_>, service: &Value) -> Option<&'a Value> {
    let is_it = |reference: &Value| {
        text(reference, "/namespace") == namespace(service)
            && text(reference, "/name") == name(service)
    };
    let configurations = case
        .state
        .of_kind("ValidatingWebhookConfiguration")
        .chain(case.state.of_kind("MutatingWebhookConfiguration"));
    let asks = |it: &&Value| {
        list(it, "/webhooks").iter().any(|hook| is_it(&hook["clientConfig"]["service"]))
    };
    let mut registrations = case.state.of_kind("APIService");
    configurations
        .into_iter()
        .find(asks)
        .or_else(|| registrations.find(|it| is_it(&it["spec"]["service"])))
}
