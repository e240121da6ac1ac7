//! Webhooks that would be asked and cannot answer.

use std::collections::{BTreeMap, HashMap};

use super::{
    note::{Asked, NoteCode, Notes, Severity},
    subject::Subject,
};
use crate::{
    diagnosis::Serving,
    object::{Facts, Guard, Object, ObjectRef, ServiceRef},
    plan::Step,
    relation::{is_guarded_by, unevaluated},
};

/// Webhooks that are asked when an object of the plan goes, and whose Service has no ready Pod. A controller deletes some of
/// these objects: a provisioner its volumes, the garbage collector the Pods of a ReplicaSet, the namespace controller what has no
/// step. A webhook is asked about those requests as well
/// (`staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go`, `DeleteCollection`).
/// Those that are called by URL are outside the cluster; only a dry run shows whether they answer.
pub(super) fn webhooks_down(subject: &Subject<'_>, notes: &mut Notes) {
    let mut serving = HashMap::new();
    let mut configurations: Vec<_> = subject
        .index()
        .objects()
        .filter(|object| matches!(object.facts, Facts::Webhooks(_)))
        .collect();
    configurations.sort_by(|a, b| (&a.kind, &a.name).cmp(&(&b.kind, &b.name)));
    for configuration in configurations {
        let Facts::Webhooks(webhooks) = &configuration.facts else { continue };
        for guard in &webhooks.guards {
            let Some(service) = &guard.service else { continue };
            let named = (service.namespace.clone(), service.name.clone());
            let state = *serving.entry(named).or_insert_with(|| subject.case.serving(service));
            if let Some(exists) = is_down(state) {
                asked(subject, configuration, guard, service, exists, notes);
            }
        }
    }
}

fn asked(
    subject: &Subject<'_>,
    configuration: &Object,
    guard: &Guard,
    service: &ServiceRef,
    exists: bool,
    notes: &mut Notes,
) {
    // The steps behind the configuration start when it is gone; the order of the plan has guarded objects before it.
    let own_step = subject.step_of(&configuration.uid);
    let is_before = |step: &Step| own_step.is_none_or(|own| step.id < own.id);
    let severity = |certain: bool| match (guard.fails_closed, certain) {
        (true, true) => Severity::Refusal,
        (true, false) => Severity::Warning,
        (false, _) => Severity::Info,
    };
    let is_certain = |object: &Object| unevaluated(object, guard, subject.index()).is_none();
    let is_asked = |step: &Step, object: &Object| {
        is_before(step) && is_guarded_by(object, guard, subject.index())
    };
    let code = |asked, certain| NoteCode::WebhookDown {
        webhook: guard.webhook.clone(),
        configuration: configuration.reference(),
        service: reference(service),
        exists,
        asked,
        refuses: guard.fails_closed,
        certain,
    };
    let own = if guard.deletes { Asked::Deletion } else { Asked::Finalizers };
    for (_, object) in subject.objects().filter(|(step, object)| is_asked(step, object)) {
        let certain = is_certain(object);
        notes.add(severity(certain), code(own, certain), object.reference());
    }
    let holding = subject.contents().filter(|(step, _, object)| is_asked(step, object));
    // One object that is certain to be asked about is enough.
    let mut held: BTreeMap<ObjectRef, bool> = BTreeMap::new();
    for (_, namespace, object) in holding {
        *held.entry(namespace.reference()).or_default() |= is_certain(object);
    }
    for (namespace, certain) in held {
        notes.add(severity(certain), code(Asked::Contents, certain), namespace);
    }
}

/// Conversion webhooks that have nobody to answer. The API server needs them for objects that are stored in another version
/// than the one that is asked for, and then for every list of the kind, so also for the end of every namespace.
pub(super) fn converters_down(subject: &Subject<'_>, notes: &mut Notes) {
    let definitions = subject.index().of_resource("customresourcedefinitions.apiextensions.k8s.io");
    let mut down: Vec<_> = definitions
        .filter_map(|object| match &object.facts {
            Facts::Definition(definition) => {
                let converter = definition.converter.as_deref()?;
                let exists = is_down(subject.case.serving(converter))?;
                Some((object, definition, converter, exists))
            }
            _ => None,
        })
        .collect();
    down.sort_by(|(a, ..), (b, ..)| a.name.cmp(&b.name));
    for (object, definition, converter, exists) in down {
        let instances =
            subject.objects().filter(|(step, _)| step.kind.is(&definition.group, &definition.kind));
        for (_, instance) in instances {
            let code = NoteCode::ConverterDown {
                definition: object.reference(),
                service: reference(converter),
                exists,
            };
            notes.add(Severity::Warning, code, instance.reference());
        }
    }
}

/// Whether nobody can answer for the conversion webhook of a resource.
pub(super) fn is_converter_down(subject: &Subject<'_>, resource: &str) -> bool {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    // The name of a definition is the name of its resource.
    let definition = subject.index().find(group, kind, None, resource);
    definition.is_some_and(|object| match &object.facts {
        Facts::Definition(definition) => {
            let converter = definition.converter.as_deref();
            converter.is_some_and(|it| is_down(subject.case.serving(it)).is_some())
        }
        _ => false,
    })
}

/// Whether a Service that does not answer exists; `None` if it answers, or cannot be seen.
fn is_down(serving: Serving) -> Option<bool> {
    match serving {
        Serving::NoService => Some(false),
        Serving::NoReadyPod | Serving::NoEndpoints => Some(true),
        Serving::Yes | Serving::Unknown => None,
    }
}

fn reference(service: &ServiceRef) -> ObjectRef {
    ObjectRef {
        group: "".into(),
        kind: "Service".into(),
        namespace: Some(service.namespace.clone()),
        name: service.name.clone(),
    }
}
