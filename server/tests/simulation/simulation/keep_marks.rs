//! A person who asks to keep objects of the plan while the run goes on, with the annotations of tools, and takes that back.

use sandbox::{
    cluster::{Actor, Cluster},
    object::is_deleting,
    store::Key,
};
use serde_json::{Value, json};
use teardown::plan::Step;

use super::Simulation;
use crate::state::uid;

/// Annotations that ask a tool not to delete an object.
const MARKS: [(&str, &str); 5] = [
    ("helm.sh/resource-policy", "keep"),
    ("argocd.argoproj.io/sync-options", "Delete=false"),
    ("argocd.argoproj.io/sync-options", "ServerSideApply=true,Prune=false"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("kapp.k14s.io/delete-strategy", "orphan"),
];

impl Simulation {
    /// Asks to keep the object of a step. Step and mark are reduced modulo their numbers.
    pub(super) fn ask_to_keep(&self, step: u64, mark: usize) {
        let (key, value) = MARKS[mark % MARKS.len()];
        let Some(step) = self.step(step) else { return };
        self.log(format!("  {key}: {value} at {}", step.object));
        self.change(step, |object| object["metadata"]["annotations"][key] = json!(value));
    }

    /// Takes back what was asked for the object of a step.
    pub(super) fn take_back(&self, step: u64) {
        if let Some(step) = self.step(step) {
            self.log(format!("  nobody asks to keep {}", step.object));
            self.change(step, without_marks);
        }
    }

    /// Takes back what was asked for any object, so that the run can end.
    pub(super) fn take_all_back(&self) {
        for step in self.plan.iter().flat_map(|plan| &plan.steps) {
            self.change(step, without_marks);
        }
    }

    fn step(&self, number: u64) -> Option<&Step> {
        let steps = &self.plan.as_ref()?.steps;
        steps.get(usize::try_from(number.checked_rem(steps.len() as u64)?).ok()?)
    }

    /// Changes the object of a step, unless it is gone or being deleted.
    fn change(&self, step: &Step, change: impl FnOnce(&mut Value)) {
        let namespace = step.object.namespace.as_deref().unwrap_or_default();
        let key = Key::new(&step.kind.group, &step.kind.plural, namespace, &step.object.name);
        self.environment.sandbox.with(|world| {
            if is_left(&world.cluster, &key, step) {
                _ = world.cluster.modify(&Actor::admin(), &key, "", change);
            }
        });
    }
}

fn is_left(cluster: &Cluster, key: &Key, step: &Step) -> bool {
    let object = cluster.get(key);
    object.is_some_and(|object| uid(object) == step.uid.to_string() && !is_deleting(object))
}

fn without_marks(object: &mut Value) {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.retain(|key, _| MARKS.iter().all(|(mark, _)| mark != key));
    }
}
