//! The state of the cluster at a moment, replayed from the history of the store.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use sandbox::{
    object::pointed,
    store::{Change, Event, Key},
};
use serde_json::Value;

/// The label with the unit of an object.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of";

type Place = (String, String, String);

/// All objects, as JSON by kind, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct State {
    objects: BTreeMap<Place, Arc<Value>>,
    /// The place of each object, by UID.
    places: HashMap<String, Place>,
    /// UIDs of the objects that existed when the plan was made, and of all objects that these own since. Every other
    /// object is late.
    known: BTreeSet<String>,
    /// The key of each object and the revision of its creation, by UID.
    creations: BTreeMap<String, (Key, u64)>,
    /// Namespaces in which an object carried the label of a unit when the plan was made.
    declared_in: BTreeSet<String>,
    /// UIDs of the objects that had an owner once, and of the claims that were made from the template of a StatefulSet.
    made_for_another: BTreeSet<String>,
    /// Pods that went from a node before a kubelet reported the end of their containers.
    ended_by_force: Vec<Arc<Value>>,
    /// Names of the volumes that were attached to a node.
    attached: BTreeSet<String>,
    /// The revision of the plan. Objects are late only after it.
    planned: u64,
    reached: u64,
}

impl State {
    /// An empty cluster. Objects that are created up to this revision can be in a plan.
    pub(crate) fn before(planned: u64) -> Self {
        Self { planned, ..Self::default() }
    }

    /// A cluster of these objects, all known to the plan.
    #[cfg(test)]
    pub(crate) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut state = Self::default();
        for object in objects {
            state.known.insert(uid(&object).to_owned());
            state.places.insert(uid(&object).to_owned(), place(&object));
            state.objects.insert(place(&object), Arc::new(object));
        }
        state
    }

    /// Makes an object late: newer than the plan, and owned by no planned object.
    #[cfg(test)]
    pub(crate) fn make_late(&mut self, object: &Value) {
        self.known.remove(uid(object));
        self.make_newer_than_plan(object);
    }

    /// Makes an object newer than the plan.
    #[cfg(test)]
    pub(crate) fn make_newer_than_plan(&mut self, object: &Value) {
        let key = Key::new("", "", namespace(object), name(object));
        self.creations.insert(uid(object).to_owned(), (key, self.planned + 1));
    }

    /// Applies one change.
    pub(crate) fn apply(&mut self, event: &Event) {
        let object = &event.object;
        self.reached = event.revision;
        match event.change {
            Change::Deleted => {
                if kind(object) == "Pod" && !has_ended(object) {
                    self.ended_by_force.push(object.clone());
                }
                self.places.remove(uid(object));
                self.objects.remove(&place(object));
            }
            Change::Added | Change::Modified => {
                if kind(object) == "VolumeAttachment" {
                    let volume = text(object, "/spec/source/persistentVolumeName");
                    self.attached.insert(volume.to_owned());
                }
                if event.change == Change::Added
                    && (event.revision <= self.planned
                        || owners(object).any(|owner| self.known.contains(text(owner, "/uid"))))
                {
                    self.known.insert(uid(object).to_owned());
                }
                if event.change == Change::Added {
                    let creation = (event.key.clone(), event.revision);
                    self.creations.insert(uid(object).to_owned(), creation);
                    self.places.insert(uid(object).to_owned(), place(object));
                    if event.revision <= self.planned && !unit(object).is_empty() {
                        self.declared_in.insert(namespace(object).to_owned());
                    }
                    if owners(object).next().is_some()
                        || kind(object) == "PersistentVolumeClaim" && self.has_template_of(object)
                    {
                        self.made_for_another.insert(uid(object).to_owned());
                    }
                }
                self.objects.insert(place(object), object.clone());
            }
        }
    }

    /// Whether the plan could know an object, or an object that the plan could know created it.
    pub(crate) fn is_known_to_plan(&self, object: &Value) -> bool {
        self.known.contains(uid(object))
    }

    /// Whether an object was created after the plan.
    pub(crate) fn is_newer_than_plan(&self, object: &Value) -> bool {
        self.creation(object).is_some_and(|(_, since)| *since > self.planned)
    }

    /// Whether an object has the name of another one that the plan could know.
    pub(crate) fn has_name_of_planned(&self, object: &Value) -> bool {
        let Some((key, _)) = self.creation(object) else { return false };
        let mut others = self.creations.iter().filter(|(other, _)| **other != uid(object));
        others.any(|(other, (name, _))| name == key && self.known.contains(other))
    }

    /// Whether an object in a namespace carried the label of a unit when the plan was made.
    pub(crate) fn was_declared_in(&self, namespace: &str) -> bool {
        self.declared_in.contains(namespace)
    }

    /// Whether an object was made for another one, which may be gone or may have orphaned it.
    pub(crate) fn is_made_for_another(&self, object: &Value) -> bool {
        self.made_for_another.contains(uid(object))
    }

    fn has_template_of(&self, claim: &Value) -> bool {
        self.within("StatefulSet", namespace(claim)).any(|set| {
            let mut templates = list(set, "/spec/volumeClaimTemplates").iter();
            templates.any(|it| {
                let prefix = format!("{}-{}-", name(it), name(set));
                let ordinal = name(claim).strip_prefix(&prefix);
                ordinal.is_some_and(|it| it.parse::<u32>().is_ok())
            })
        })
    }

    /// The Pods of a namespace that went from a node before a kubelet reported the end of their containers.
    pub(crate) fn ended_by_force<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        let pods = self.ended_by_force.iter().map(|pod| &**pod);
        pods.filter(move |pod| self::namespace(pod) == namespace)
    }

    /// Whether a volume was attached to a node at some time.
    pub(crate) fn was_attached(&self, volume: &str) -> bool {
        self.attached.contains(volume)
    }

    /// The revision of the last change.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    /// The key of an object and the revision of its creation.
    pub(crate) fn creation(&self, object: &Value) -> Option<&(Key, u64)> {
        self.creations.get(uid(object))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().map(|object| &**object)
    }

    pub(crate) fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let from = (kind.to_owned(), String::new(), String::new());
        let objects = self.objects.range(from..).take_while(move |((its, ..), _)| its == kind);
        objects.map(|(_, object)| &**object)
    }

    /// The objects of a kind in a namespace.
    pub(crate) fn within<'a>(
        &'a self,
        kind: &'a str,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.of_kind(kind).filter(move |object| self::namespace(object) == namespace)
    }

    pub(crate) fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let place = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.objects.get(&place).map(|object| &**object)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<&Value> {
        let object = self.objects.get(self.places.get(uid)?)?;
        (self::uid(object) == uid).then_some(object)
    }
}

/// Whether a Pod never had a node, or its kubelet reported its end. The Pod garbage collector reports one too, for the Pods
/// of a node that is away.
fn has_ended(pod: &Value) -> bool {
    let is_over = matches!(text(pod, "/status/phase"), "Failed" | "Succeeded");
    let mut containers = list(pod, "/status/containerStatuses").iter();
    let runs = containers.any(|it| !it["state"]["running"].is_null());
    let mut conditions = list(pod, "/status/conditions").iter();
    let is_collected = conditions.any(|it| text(it, "/reason") == "DeletionByPodGC");
    text(pod, "/spec/nodeName").is_empty() || is_over && !runs && !is_collected
}

fn place(object: &Value) -> Place {
    let kind = kind(object);
    // Events exist in two API groups under one kind, so the group is part of their place.
    let kind = match kind {
        "Event" => {
            let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
            format!("Event.{group}")
        }
        kind => kind.to_owned(),
    };
    (kind, namespace(object).to_owned(), name(object).to_owned())
}

/// The text at a JSON pointer; empty without one.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    pointed(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty without one.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    pointed(object, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

pub(crate) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

pub(crate) fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// The unit in the labels of an object.
pub(crate) fn unit(object: &Value) -> &str {
    object["metadata"]["labels"][PART_OF].as_str().unwrap_or_default()
}

/// The title of an object for people: `Pod shop/web-1`.
pub(crate) fn title(object: &Value) -> String {
    let slash = if namespace(object).is_empty() { "" } else { "/" };
    format!("{} {}{slash}{}", kind(object), namespace(object), name(object))
}
