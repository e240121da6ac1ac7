//! The namespace controller: deletes the contents of a namespace that is being deleted, Pods first, and reports in five
//! conditions. Follows pkg/controller/namespace/deletion: the conditions about remaining content are computed only once
//! no Pod is left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, Deletion};
use super::queue::Queue;
use super::read::{
    ended, finalizers, is_deleting, list, name, number, phase, set, set_condition, time,
};
use super::resource::{NAMESPACES, PODS};
use super::timing::{FINALIZER_ESTIMATE, NAMESPACE_GRACE, NAMESPACE_RETRY, Timing};
use super::{Next, Reconcile};
use crate::cluster::Propagation;
use crate::kind::Kind;
use crate::status::Status;
use crate::store::{Change, Event, Key};

/// This controller's finalizer in `spec.finalizers`.
const TOKEN: &str = "kubernetes";

pub(super) struct Namespaces;

impl Reconcile for Namespaces {
    type Work = Key;
    const NAME: &'static str = "namespace-controller";
    const USER: &'static str = "namespace-controller";
    const LAST_RETRY: Duration = NAMESPACE_RETRY;

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
        if NAMESPACES.has(&event.key)
            && event.change != Change::Deleted
            && is_deleting(&event.object)
        {
            queue.add_after(event.key.clone(), NAMESPACE_GRACE);
        }
    }

    fn reconcile(
        &mut self,
        key: &Key,
        client: &mut Client<'_>,
        _: &mut Queue<Key>,
    ) -> Result<Next, Status> {
        let Some(namespace) = client.get(key).filter(|it| is_deleting(it)) else {
            return Ok(Next::Rest);
        };
        let mut namespace = Value::clone(&namespace);
        if phase(&namespace) != "Terminating" {
            set(&mut namespace, &["status", "phase"], json!("Terminating"));
            namespace = Value::clone(&*client.update_status(NAMESPACES, &namespace)?);
        }
        if list(&namespace, "/spec/finalizers").is_empty() {
            return Ok(Next::Rest);
        }
        let mut sweep = Sweep::new(&namespace);
        sweep.run(client);
        sweep.publish(&mut namespace, client);
        if let Some(error) = sweep.errors.first() {
            return Err(Status::internal(error));
        }
        if sweep.estimate > 0 {
            let wait = u64::try_from(sweep.estimate / 2 + 1).unwrap_or(1);
            return Ok(Next::After(Duration::from_secs(wait)));
        }
        if sweep.pods_remain {
            return Ok(Next::After(NAMESPACE_RETRY));
        }
        let tokens = list(&namespace, "/spec/finalizers");
        let kept: Vec<&Value> = tokens.iter().filter(|it| *it != TOKEN).collect();
        let mut finalized = namespace.clone();
        set(&mut finalized, &["spec", "finalizers"], json!(kept));
        match client.finalize(&finalized) {
            Err(status) if !status.is_not_found() => Err(status),
            _ => Ok(Next::Rest),
        }
    }
}

/// One pass over everything in a namespace.
struct Sweep {
    namespace: String,
    deleted: Option<jiff::Timestamp>,
    /// Seconds until the remaining objects may be gone.
    estimate: i64,
    pods_remain: bool,
    errors: Vec<String>,
    discovery_failure: Option<String>,
    content_errors: Vec<String>,
    /// The number of remaining objects, by `plural.group`.
    remaining: BTreeMap<String, usize>,
    by_finalizer: BTreeMap<String, usize>,
    /// Whether every kind was listed, so that the totals are complete.
    complete: bool,
}

/// The remaining objects of one resource.
struct Left {
    count: usize,
    by_finalizer: BTreeMap<String, usize>,
    estimate: i64,
    error: Option<String>,
}

impl Sweep {
    fn new(namespace: &Value) -> Self {
        Self {
            namespace: name(namespace).to_owned(),
            deleted: time(namespace, "/metadata/deletionTimestamp"),
            estimate: 0,
            pods_remain: false,
            errors: Vec::new(),
            discovery_failure: None,
            content_errors: Vec::new(),
            remaining: BTreeMap::new(),
            by_finalizer: BTreeMap::new(),
            complete: false,
        }
    }

    fn run(&mut self, client: &mut Client<'_>) {
        let discovered = client.discover();
        if !discovered.stale.is_empty() {
            let groups: Vec<String> = discovered
                .stale
                .iter()
                .map(|it| format!("{it}: stale GroupVersion discovery: {it}"))
                .collect();
            let error = format!(
                "unable to retrieve the complete list of server APIs: {}",
                groups.join(", ")
            );
            self.discovery_failure = Some(format!(
                "Discovery failed for some groups, {} failing: {error}",
                groups.len()
            ));
            self.errors.push(error);
        }
        let mut resources = discovered.namespaced;
        if let Some(at) =
            resources.iter().position(|it| *it.plural == *PODS.plural && it.group.is_empty())
        {
            let pods = resources.remove(at);
            let left = self.clear(&pods, client);
            self.pods_remain = left.count > 0;
            let error = left.error.as_ref().map(|it| {
                format!("failed to delete pods for namespace: {}, err: {it}", self.namespace)
            });
            self.add(&pods.group, &pods.plural, left, error);
            if self.pods_remain {
                return;
            }
        }
        client.random().shuffle(&mut resources);
        for it in resources {
            let left = self.clear(&it, client);
            let error = left.error.clone();
            self.add(&it.group, &it.plural, left, error);
        }
        self.complete = true;
    }

    fn add(&mut self, group: &str, plural: &str, left: Left, error: Option<String>) {
        self.errors.extend(error);
        self.content_errors.extend(left.error);
        self.estimate = self.estimate.max(left.estimate);
        if left.count > 0 {
            self.remaining.insert(format!("{plural}.{group}"), left.count);
            for (finalizer, count) in left.by_finalizer {
                *self.by_finalizer.entry(finalizer).or_default() += count;
            }
        }
    }

    /// Deletes all objects of one resource and counts those that remain.
    fn clear(&self, kind: &Kind, client: &mut Client<'_>) -> Left {
        let (group, version, plural) = (&*kind.group, &*kind.version, &*kind.plural);
        let key = |object: &Value| Key::new(group, plural, &self.namespace, name(object));
        let mut left = Left { count: 0, by_finalizer: BTreeMap::new(), estimate: 0, error: None };
        if let Err(status) = client.check_all_readable(kind, Some(&self.namespace)) {
            left.error = Some(status.message);
            return left;
        }
        let objects = client.list_of(kind, &self.namespace);
        if (group, plural) == (PODS.group, PODS.plural) {
            left.estimate = self.grace(&objects, client);
        }
        for object in &objects {
            // A refusal ends the collection, as with the API server's single worker.
            if let Err(status) = client.delete_of_many(
                &key(object),
                &Deletion::default().propagation(Propagation::Background),
            ) && !status.is_not_found()
            {
                left.error = Some(status.message);
                return left;
            }
        }
        let rest = client.list_of(kind, &self.namespace);
        left.count = rest.len();
        for finalizer in rest.iter().flat_map(|it| finalizers(it)) {
            *left.by_finalizer.entry(finalizer.to_owned()).or_default() += 1;
        }
        if left.count == 0 {
            left.estimate = 0;
        } else if left.estimate == 0 {
            if left.by_finalizer.is_empty() {
                left.error = Some(format!(
                    "unexpected items still remain in namespace: {} for gvr: {group}/{version}, Resource={plural}",
                    self.namespace
                ));
            } else {
                left.estimate = FINALIZER_ESTIMATE;
            }
        }
        left
    }

    /// The longest grace period of a running Pod, unless it has passed since the namespace was deleted.
    fn grace(&self, pods: &[std::sync::Arc<Value>], client: &Client<'_>) -> i64 {
        let grace =
            |it: &Value| number(it, "/spec/terminationGracePeriodSeconds").unwrap_or_default();
        let longest =
            pods.iter().filter(|it| !ended(it)).map(|it| grace(it)).max().unwrap_or_default();
        let passed = self.deleted.map_or(0, |at| client.now().duration_since(at).as_secs());
        if passed >= longest { 0 } else { longest }
    }

    fn publish(&mut self, namespace: &mut Value, client: &mut Client<'_>) {
        let joined = |all: BTreeSet<String>| all.into_iter().collect::<Vec<_>>().join(", ");
        self.content_errors.sort();
        let content = (!self.content_errors.is_empty()).then(|| {
            let errors = &self.content_errors;
            format!(
                "Failed to delete all resource types, {} remaining: {}",
                errors.len(),
                errors.join(", ")
            )
        });
        let remaining = (self.complete && !self.remaining.is_empty()).then(|| {
            let all = self
                .remaining
                .iter()
                .map(|(it, count)| format!("{it} has {count} resource instances"))
                .collect();
            format!("Some resources are remaining: {}", joined(all))
        });
        let held = (self.complete && !self.by_finalizer.is_empty()).then(|| {
            let all = self
                .by_finalizer
                .iter()
                .map(|(it, count)| format!("{it} in {count} resource instances"))
                .collect();
            format!("Some content in the namespace has finalizers remaining: {}", joined(all))
        });
        let found = [
            (
                "NamespaceDeletionDiscoveryFailure",
                self.discovery_failure.take(),
                "DiscoveryFailed",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                None,
                "GroupVersionParsingFailed",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                content,
                "ContentDeletionFailed",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            (
                "NamespaceContentRemaining",
                remaining,
                "SomeResourcesRemain",
                "ContentRemoved",
                "All content successfully removed",
            ),
            (
                "NamespaceFinalizersRemaining",
                held,
                "SomeFinalizersRemain",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            ),
        ];
        let mut changed = false;
        for (kind, problem, reason, fine, all_is_well) in found {
            let (status, reason, message) = match &problem {
                Some(message) => ("True", reason, message.as_str()),
                None => ("False", fine, all_is_well),
            };
            changed |= set_condition(namespace, kind, status, reason, message, client.now());
        }
        // The objects are deleted even if the status cannot be written; the finalizer's removal needs the new version
        // if it was.
        if changed && let Ok(written) = client.update_status(NAMESPACES, namespace) {
            *namespace = Value::clone(&written);
        }
    }
}
