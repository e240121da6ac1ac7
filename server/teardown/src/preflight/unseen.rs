//! Evidence of checks that cannot be seen. Without it a check finds nothing, and that must not read as if all was well.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    note::{NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::Serving,
    object::{Facts, Object, ObjectRef, Pod, PodReferenceKind, ServiceRef},
    plan::Disposition,
    refusal::WEBHOOK_CONFIGURATIONS,
    relation::is_guarded_by,
};

const NODES: &str = "nodes";
const CLAIMS: &str = "persistentvolumeclaims";
const CSI_NODES: &str = "csinodes.storage.k8s.io";
const CSI_DRIVERS: &str = "csidrivers.storage.k8s.io";

/// The resources that cannot be seen, with the objects that were not checked because of it.
type Unseen = BTreeMap<String, BTreeSet<ObjectRef>>;

/// One note about everything that could not be checked.
pub(super) fn evidence(subject: &Subject<'_>, notes: &mut Notes) {
    let mut unseen = Unseen::new();
    for (object, pod) in subject.running_pods() {
        of_pod(subject, object, pod, &mut unseen);
    }
    of_volumes(subject, &mut unseen);
    of_configurations(subject, &mut unseen);
    of_services(subject, &mut unseen);
    let resources: Vec<String> = unseen.keys().cloned().collect();
    let objects: BTreeSet<ObjectRef> = unseen.into_values().flatten().collect();
    for object in objects {
        let resources = resources.clone();
        notes.add(Severity::Info, NoteCode::Unchecked { resources }, object);
    }
}

/// Whether the kubelet of the Pod reports, whether it has the drivers of its volumes, and whether its claims exist.
fn of_pod(subject: &Subject<'_>, object: &Object, pod: &Pod, unseen: &mut Unseen) {
    if pod.node.is_none() {
        return;
    }
    let uses = |kind| pod.uses.iter().any(|used| used.what == kind);
    let claims = uses(PodReferenceKind::Claim);
    let needed = [
        (NODES, None, true),
        (CSI_NODES, None, claims || uses(PodReferenceKind::Driver)),
        (CLAIMS, object.namespace.as_deref(), claims),
    ];
    for (resource, namespace, is_needed) in needed {
        if is_needed && subject.index().check_visible(resource, namespace).is_err() {
            unseen.entry(resource.to_owned()).or_default().insert(object.reference());
        }
    }
}

/// Whether the drivers of volumes are installed.
fn of_volumes(subject: &Subject<'_>, unseen: &mut Unseen) {
    let has_driver =
        |it: &Object| matches!(&it.facts, Facts::Volume(volume) if volume.driver.is_some());
    let volumes = subject.objects().filter(|(_, object)| has_driver(object));
    let volumes: BTreeSet<ObjectRef> = volumes.map(|(_, object)| object.reference()).collect();
    for resource in [CSI_DRIVERS, CSI_NODES] {
        if !volumes.is_empty() && subject.index().check_visible(resource, None).is_err() {
            unseen.entry(resource.to_owned()).or_default().extend(volumes.iter().cloned());
        }
    }
}

/// Whether a webhook is asked that cannot answer. A dry run asks every webhook about the DELETE of the run itself, so this
/// concerns the requests of others: those that delete the object or the contents of a namespace, or clear a finalizer.
fn of_configurations(subject: &Subject<'_>, unseen: &mut Unseen) {
    let is_left_to_others = |disposition, object: &Object| {
        disposition != Disposition::Delete
            || !object.finalizers.is_empty()
            || matches!(object.facts, Facts::Namespace(_))
    };
    for resource in WEBHOOK_CONFIGURATIONS {
        if subject.index().check_visible(resource, None).is_ok() {
            continue;
        }
        let objects = subject.objects();
        let concerned =
            objects.filter(|(step, object)| is_left_to_others(step.disposition(), object));
        let concerned = concerned.map(|(_, object)| object.reference());
        unseen.entry(resource.to_owned()).or_default().extend(concerned);
    }
}

/// Whether the Service of a webhook has a Pod that answers.
fn of_services(subject: &Subject<'_>, unseen: &mut Unseen) {
    let configurations =
        WEBHOOK_CONFIGURATIONS.into_iter().flat_map(|it| subject.index().of_resource(it));
    for configuration in configurations {
        let Facts::Webhooks(webhooks) = &configuration.facts else { continue };
        for guard in &webhooks.guards {
            let Some(resource) = guard.service.as_ref().and_then(|it| hidden_part(subject, it))
            else {
                continue;
            };
            let asked =
                subject.objects().filter(|(_, it)| is_guarded_by(it, guard, subject.index()));
            let asked: Vec<ObjectRef> = asked.map(|(_, object)| object.reference()).collect();
            if !asked.is_empty() {
                unseen.entry(resource).or_default().extend(asked);
            }
        }
    }
}

/// The kind that is hidden so that it is not known whether a Service answers.
fn hidden_part(subject: &Subject<'_>, service: &ServiceRef) -> Option<String> {
    if subject.case.serving(service) != Serving::Unknown {
        return None;
    }
    let namespace = &service.namespace;
    let is_hidden = |it: &&str| subject.index().check_visible(it, Some(namespace)).is_err();
    let hidden = ["services", "pods"].into_iter().find(is_hidden)?;
    Some(format!("{hidden} in {namespace}"))
}
