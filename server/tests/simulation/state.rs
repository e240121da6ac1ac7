//! What was there at a moment, replayed from the store's history.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use sandbox::{
    object::pointed,
    store::{Change, Event, Key},
};
use serde_json::Value;

type Place = (String, String, String);

/// All objects of a moment, as plain JSON by kind, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct State {
    objects: BTreeMap<Place, Arc<Value>>,
    /// Where each object is, by UID.
    places: HashMap<String, Place>,
    /// UIDs of what was there when the plan was made, and of all that came of it since. Everything else is new.
    known: BTreeSet<String>,
    /// Where each object is, and since which revision, by UID.
    born: BTreeMap<String, (Key, u64)>,
    /// No newcomers before this revision.
    planned: u64,
    reached: u64,
}

impl State {
    /// An empty cluster; what is added up to this revision is what a plan can know.
    pub(crate) fn before(planned: u64) -> Self {
        Self { planned, ..Self::default() }
    }

    /// A cluster of these objects, all known.
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

    /// Makes an object a newcomer.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, object: &Value) {
        self.known.remove(uid(object));
        self.come_late(object);
    }

    /// Lets an object have come when all was planned.
    #[cfg(test)]
    pub(crate) fn come_late(&mut self, object: &Value) {
        let key = Key::new("", "", namespace(object), name(object));
        self.born.insert(uid(object).to_owned(), (key, self.planned + 1));
    }

    /// Takes in one change.
    pub(crate) fn apply(&mut self, event: &Event) {
        let object = &event.object;
        self.reached = event.revision;
        match event.change {
            Change::Deleted => {
                self.places.remove(uid(object));
                self.objects.remove(&place(object));
            }
            Change::Added | Change::Modified => {
                if event.change == Change::Added
                    && (event.revision <= self.planned
                        || owners(object).any(|owner| self.known.contains(text(owner, "/uid"))))
                {
                    self.known.insert(uid(object).to_owned());
                }
                if event.change == Change::Added {
                    let born = (event.key.clone(), event.revision);
                    self.born.insert(uid(object).to_owned(), born);
                    self.places.insert(uid(object).to_owned(), place(object));
                }
                self.objects.insert(place(object), object.clone());
            }
        }
    }

    /// Whether the plan could know it, or it came of something that the plan could know.
    pub(crate) fn knows(&self, object: &Value) -> bool {
        self.known.contains(uid(object))
    }

    /// Whether it was not there yet when the plan was made.
    pub(crate) fn came_later(&self, object: &Value) -> bool {
        self.born(object).is_some_and(|(_, since)| *since > self.planned)
    }

    /// The revision of the last change.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    /// Where an object is, and since which revision.
    pub(crate) fn born(&self, object: &Value) -> Option<&(Key, u64)> {
        self.born.get(uid(object))
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

fn place(object: &Value) -> Place {
    let kind = kind(object);
    // Events come in two groups under one kind, and so may others: the API groups of one kind are kept apart.
    let kind = match kind {
        "Event" => {
            let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
            format!("Event.{group}")
        }
        kind => kind.to_owned(),
    };
    (kind, namespace(object).to_owned(), name(object).to_owned())
}

/// Text at a JSON pointer; empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    pointed(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty where there is none.
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

/// The unit that an object says it is part of.
pub(crate) fn unit(object: &Value) -> &str {
    object["metadata"]["labels"][crate::application::PART_OF].as_str().unwrap_or_default()
}

/// What a person calls it: `Pod shop/web-1`.
pub(crate) fn title(object: &Value) -> String {
    let slash = if namespace(object).is_empty() { "" } else { "/" };
    format!("{} {}{slash}{}", kind(object), namespace(object), name(object))
}
