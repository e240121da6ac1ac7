//! Obstacles in the API itself: a kind without the verb `delete`, an API that does not answer, a kind that is hidden.

use std::collections::BTreeSet;

use super::{
    admission::is_converter_down,
    note::{HiddenBy, NoteCode, Notes, Severity},
    read_failure::read_failure,
    subject::Subject,
};
use crate::{
    api_problem::ApiProblem,
    object::{ConditionStatus, Facts, Object},
    unknown_reason::{ATTACHMENTS, UnknownReason},
};

/// Kinds of which discovery lists no verb `delete` any more. A plan keeps the objects of a kind that had none when the plan was
/// made.
pub(super) fn kinds_without_delete(subject: &Subject<'_>, notes: &mut Notes) {
    for (step, object) in subject.deleted() {
        if subject.index().is_undeletable(&step.kind) {
            let resource = step.kind.resource();
            notes.add(Severity::Refusal, NoteCode::NoDeleteVerb { resource }, object.reference());
        }
    }
}

/// Aggregated APIs that do not answer. The namespace controller lists every kind before it lets a namespace go
/// (`pkg/controller/namespace/deletion/namespaced_resources_deleter.go`). An APIService that the plan deletes is gone by then.
pub(super) fn apis_down(subject: &Subject<'_>, notes: &mut Notes) {
    let down: BTreeSet<String> = subject
        .index()
        .of_resource("apiservices.apiregistration.k8s.io")
        .filter(|object| subject.step_of(&object.uid).is_none())
        .filter_map(|object| down_group_version(object))
        .collect();
    for group_version in down {
        for namespace in namespaces(subject) {
            let code = NoteCode::ApiDown { group_version: group_version.clone() };
            notes.add(Severity::Refusal, code, namespace.reference());
        }
    }
}

/// The group version of an APIService whose server does not answer. The name of an APIService is its version, a dot and its
/// group.
fn down_group_version(object: &Object) -> Option<String> {
    let Facts::ApiService(api) = &object.facts else { return None };
    let is_down = api.service.is_some()
        && api.available.as_ref().is_some_and(|it| it.status != ConditionStatus::True);
    let (version, group) = object.name.split_once('.')?;
    is_down.then(|| format!("{group}/{version}"))
}

/// Kinds that are hidden where the run has to prove that nothing is left: in a namespace, of a definition, or where a volume
/// may be attached.
pub(super) fn hidden_kinds(subject: &Subject<'_>, notes: &mut Notes) {
    let index = subject.index();
    let known: BTreeSet<String> = index
        .of_resource("apiservices.apiregistration.k8s.io")
        .filter_map(|object| down_group_version(object))
        .collect();
    let is_new = |why: &UnknownReason| match why {
        UnknownReason::Hidden { resource, .. } => !known.contains(resource),
        // The first list is on its way, or discovery has not settled yet.
        _ => false,
    };
    for (step, object) in subject.deleted() {
        let name = &*object.name;
        let unseen: Vec<UnknownReason> = match &object.facts {
            Facts::Namespace(_) => {
                let is_waived = |why: &UnknownReason| {
                    matches!(why, UnknownReason::Hidden { resource, .. }
                        if step.unproven.contains(resource) && index.may_not_list(resource))
                };
                index.unseen_in_namespace(name).filter(|why| !is_waived(why)).collect()
            }
            Facts::Definition(_) => index.check_kind_visible(name).err().into_iter().collect(),
            _ if step.holds_storage => {
                index.check_visible(ATTACHMENTS, None).err().into_iter().collect()
            }
            _ => continue,
        };
        for why in unseen.into_iter().filter(is_new) {
            let by = hidden_by(subject, &why);
            notes.add(Severity::Refusal, NoteCode::Hidden { why, by }, object.reference());
        }
    }
}

/// The reason that hides a kind: by the words of the API server, which are there only for a list that failed.
fn hidden_by(subject: &Subject<'_>, why: &UnknownReason) -> HiddenBy {
    let UnknownReason::Hidden { resource, message, .. } = why else { return HiddenBy::Other };
    let read = match message {
        ApiProblem::Quoted(said) => read_failure(said),
        ApiProblem::Code(_) => None,
    };
    match read {
        Some(by) => by,
        None if subject.index().may_not_list(resource) => HiddenBy::Rights,
        // The list that fails may only say that the cache of the API server is not ready.
        None if is_converter_down(subject, resource) => HiddenBy::Conversion,
        None => HiddenBy::Other,
    }
}

fn namespaces<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a Object> + use<'a> {
    let objects = subject.objects().map(|(_, object)| &**object);
    objects.filter(|object| matches!(object.facts, Facts::Namespace(_)))
}
