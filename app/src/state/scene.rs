//! The reactive mirror of one topic. It folds messages with [`View::apply`] and wakes only the readers of the records that
//! changed: one signal for each object, step, unit and run, one for "records came or went", and one for "something
//! changed". It knows no network and draws nothing.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    time::Duration,
};

use leptos::prelude::*;
use teardown::{
    fold::{Gap, View},
    message::{
        ClusterCard, Counts, DiagnosisCard, EdgeCard, FeedEntry, HiddenKindCard, Key, Message,
        ObjectCard, Record, Revision, RunCard, StepCard, UnitCard,
    },
    object::Uid,
    plan::StepId,
    run::RunId,
    unit::UnitId,
};

use super::subscription::{self, Lasting};
use crate::sort::sort;

/// For how long objects that changed unseen are marked.
const MARKED: Duration = Duration::from_secs(5);

/// The records of a topic by key.
pub type Records = BTreeMap<Key, Record>;

/// A topic's records, as signals.
#[derive(Clone, Copy)]
pub struct Scene {
    view: StoredValue<View>,
    objects: Signals<Uid, ObjectCard>,
    steps: Signals<StepId, StepCard>,
    units: Signals<UnitId, UnitCard>,
    runs: Signals<RunId, RunCard>,
    members: Trigger,
    changes: Trigger,
    known: RwSignal<bool>,
    fresh: RwSignal<Vec<Uid>>,
}

impl Scene {
    /// A scene that shows this snapshot, or knows nothing yet.
    pub fn new(message: Option<Message>) -> Self {
        let scene = Self {
            view: StoredValue::new(nothing()),
            objects: StoredValue::new(HashMap::new()),
            steps: StoredValue::new(HashMap::new()),
            units: StoredValue::new(HashMap::new()),
            runs: StoredValue::new(HashMap::new()),
            members: Trigger::new(),
            changes: Trigger::new(),
            known: RwSignal::new(false),
            fresh: RwSignal::new(Vec::new()),
        };
        if let Some(message) = message {
            // A snapshot follows whatever was there, so this cannot be a gap; a delta here shows as "not known yet".
            let _ = scene.apply(message);
        }
        scene
    }

    /// Takes a message in.
    ///
    /// # Errors
    /// [`Gap`] where something was lost and a snapshot is needed.
    pub fn apply(self, message: Message) -> Result<(), Gap> {
        let changed =
            self.view.try_update_value(|view| view.apply(message)).unwrap_or(Ok(Vec::new()))?;
        let mut membership = false;
        self.view.with_value(|view| {
            for key in &changed {
                membership |= self.mirror(key, view.records().get(key));
            }
        });
        if !self.known.get_untracked() {
            self.known.set(true);
        }
        if membership {
            self.members.notify();
        }
        if !changed.is_empty() {
            self.changes.notify();
        }
        Ok(())
    }

    /// Forgets everything, for another topic.
    pub fn clear(self) {
        self.view.set_value(nothing());
        self.objects.update_value(HashMap::clear);
        self.steps.update_value(HashMap::clear);
        self.units.update_value(HashMap::clear);
        self.runs.update_value(HashMap::clear);
        self.known.set(false);
        self.members.notify();
        self.changes.notify();
    }

    /// Knows that there is nothing.
    pub fn empty(self) {
        let message = Message::Snapshot { revision: NOWHERE, records: Vec::new() };
        // A snapshot follows whatever was there.
        let _ = self.apply(message);
    }

    /// All objects as they are now, by UID.
    pub fn snapshot(self) -> Vec<ObjectCard> {
        let mut cards = Vec::new();
        self.view.with_value(|view| {
            for card in objects(view.records()) {
                cards.push(card.clone());
            }
        });
        cards
    }

    /// The objects that came, went or are not as they were in a [`Scene::snapshot`]. None can be named as long as the
    /// server itself is still reading the cluster.
    pub fn changed_since(self, before: &[ObjectCard]) -> Option<Vec<Uid>> {
        self.view.with_value(|view| {
            let records = view.records();
            cluster(records).filter(|cluster| cluster.synced)?;
            let mut changed = Vec::new();
            for card in before {
                if !records.contains_key(&Key::Object(card.uid.clone())) {
                    changed.push(card.uid.clone());
                }
            }
            for card in objects(records) {
                let at = before.binary_search_by(|old| old.uid.cmp(&card.uid));
                if at.ok().and_then(|at| before.get(at)) != Some(card) {
                    changed.push(card.uid.clone());
                }
            }
            Some(changed)
        })
    }

    /// Marks objects for a moment: they changed while nobody could look.
    pub fn mark(self, changed: Vec<Uid>) {
        self.fresh.set(changed);
        set_timeout(move || drop(self.fresh.try_set(Vec::new())), MARKED);
    }

    /// Whether an object is marked.
    pub fn is_marked(self, uid: &Uid) -> bool {
        subscription::end_with_owner();
        self.fresh.with(|fresh| fresh.contains(uid))
    }

    /// The revision the scene is at, once it is at one.
    pub fn revision(self) -> Option<Revision> {
        self.known.get_untracked().then(|| self.view.with_value(View::revision))
    }

    /// Whether a snapshot has been taken in.
    pub fn is_known(self) -> bool {
        subscription::end_with_owner();
        self.known.get()
    }

    /// Reads the records and is woken by every change.
    pub fn read<T>(self, read: impl FnOnce(&Records) -> T) -> T {
        subscription::end_with_owner();
        self.changes.track();
        self.view.with_value(|view| read(view.records()))
    }

    /// Reads the records and is woken when some come, go, or belong somewhere else.
    pub fn read_members<T>(self, read: impl FnOnce(&Records) -> T) -> T {
        subscription::end_with_owner();
        self.members.track();
        self.view.with_value(|view| read(view.records()))
    }

    /// The signal of one object.
    pub fn object(self, uid: &Uid) -> Option<Lasting<RwSignal<ObjectCard>>> {
        lasting(self.objects, uid)
    }

    /// The signal of one step.
    pub fn step(self, id: StepId) -> Option<Lasting<RwSignal<StepCard>>> {
        lasting(self.steps, &id)
    }

    /// The signal of one unit.
    pub fn unit(self, id: &UnitId) -> Option<Lasting<RwSignal<UnitCard>>> {
        lasting(self.units, id)
    }

    /// The signal of one run.
    pub fn run(self, id: &RunId) -> Option<Lasting<RwSignal<RunCard>>> {
        lasting(self.runs, id)
    }

    /// Brings the signals of one key in line with its record; true where it came, went, or belongs somewhere else.
    fn mirror(self, key: &Key, record: Option<&Record>) -> bool {
        match (key, record) {
            (Key::Object(uid), Some(Record::Object(card))) => {
                put(self.objects, uid, card, |old, new| {
                    // Both decide where it is drawn and listed.
                    old.wave != new.wave || old.membership != new.membership
                })
            }
            (Key::Object(uid), _) => remove(self.objects, uid),
            (Key::Step(id), Some(Record::Step(card))) => {
                put(self.steps, id, card, |old, new| old.wave != new.wave)
            }
            (Key::Step(id), _) => remove(self.steps, id),
            (Key::Unit(id), Some(Record::Unit(card))) => put(self.units, id, card, |_, _| false),
            (Key::Unit(id), _) => remove(self.units, id),
            (Key::Run(id), Some(Record::Run(card))) => put(self.runs, id, card, |_, _| false),
            (Key::Run(id), _) => remove(self.runs, id),
            // An edge has all that is drawn of it in its key, so it hardly ever changes without coming or going.
            (Key::Edge(..) | Key::HiddenKind(_), _) => true,
            (Key::Cluster | Key::Event(_) | Key::Diagnosis(_), _) => false,
        }
    }
}

type Signals<K, T> = StoredValue<HashMap<K, ArcRwSignal<T>>>;

/// The signal of a key, owned by the caller's owner.
fn lasting<K: Eq + Hash + Send + Sync + 'static, T: Send + Sync + 'static>(
    signals: Signals<K, T>,
    key: &K,
) -> Option<Lasting<RwSignal<T>>> {
    signals.with_value(|signals| signals.get(key).cloned()).map(|it| Lasting::new(it.into()))
}

fn put<
    K: Eq + Hash + Clone + Send + Sync + 'static,
    T: Clone + PartialEq + Send + Sync + 'static,
>(
    signals: Signals<K, T>,
    key: &K,
    card: &T,
    moved: fn(&T, &T) -> bool,
) -> bool {
    if let Some(signal) = signals.with_value(|signals| signals.get(key).cloned()) {
        let (changed, moved) = signal.with_untracked(|old| (old != card, moved(old, card)));
        if changed {
            signal.set(card.clone());
        }
        return moved;
    }
    signals
        .update_value(|signals| drop(signals.insert(key.clone(), ArcRwSignal::new(card.clone()))));
    true
}

fn remove<K: Eq + Hash + Send + Sync + 'static, T: Send + Sync + 'static>(
    signals: Signals<K, T>,
    key: &K,
) -> bool {
    signals.try_update_value(|signals| signals.remove(key).is_some()).unwrap_or_default()
}

/// A revision that no server is ever at.
const NOWHERE: Revision = Revision { boot: 0, count: 0 };

fn nothing() -> View {
    View::new(NOWHERE, [])
}

/// The cluster's card.
pub fn cluster(records: &Records) -> Option<&ClusterCard> {
    match records.get(&Key::Cluster) {
        Some(Record::Cluster(card)) => Some(card),
        _ => None,
    }
}

macro_rules! of_kind {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $card:ty) => {
        $(#[$doc])*
        pub fn $name(records: &Records) -> impl Iterator<Item = &$card> {
            records.values().filter_map(|record| if let Record::$variant(card) = record { Some(card) } else { None })
        }
    };
}

of_kind!(
    /// All objects, by UID.
    objects, Object, ObjectCard
);
of_kind!(
    /// All edges, by source and target.
    edges, Edge, EdgeCard
);
of_kind!(
    /// All units, by name.
    units, Unit, UnitCard
);
of_kind!(
    /// All runs, by id.
    runs, Run, RunCard
);
of_kind!(
    /// All kinds that cannot be seen.
    hidden_kinds, HiddenKind, HiddenKindCard
);
of_kind!(
    /// All steps, in the plan's order.
    steps, Step, StepCard
);
of_kind!(
    /// The event log, oldest first.
    events, Event, FeedEntry
);

of_kind!(
    /// All diagnoses, by cause and root.
    diagnoses, Diagnosis, DiagnosisCard
);

/// The runs, open ones first, then the latest.
pub fn latest_runs(records: &Records) -> Vec<&RunCard> {
    let mut latest: Vec<&RunCard> = runs(records).collect();
    sort(&mut latest, |a, b| {
        (a.state.is_ended(), b.started, &b.id).cmp(&(b.state.is_ended(), a.started, &a.id))
    });
    latest
}

/// The reason why an object's deletion waits.
pub fn diagnosis_of<'a>(records: &'a Records, uid: &Uid) -> Option<&'a DiagnosisCard> {
    diagnoses(records).find(|card| card.diagnosis.waiting.iter().any(|held| held.uid == *uid))
}

/// The number of these in each state.
pub fn count<'a>(states: impl Iterator<Item = &'a teardown::message::State>) -> Counts {
    let mut counts = Counts::new();
    for state in states {
        *counts.entry(*state).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use teardown::{
        fold::Publication,
        message::{Membership, State},
        object::ObjectRef,
        relation::DeletionPhase,
        selector::Labels,
    };

    use super::*;

    fn object(name: &str, state: State, wave: u32) -> Record {
        Record::Object(ObjectCard {
            uid: Uid::new(name),
            object: ObjectRef {
                group: "".into(),
                kind: "Pod".into(),
                namespace: Some("shop".into()),
                name: name.into(),
            },
            version: "v1".to_owned(),
            state,
            since: None,
            membership: Membership::Member,
            created: None,
            deletion: None,
            due: None,
            finalizers: Vec::new(),
            labels: Labels::new(),
            node: None,
            details: Vec::new(),
            phase: DeletionPhase::Present,
            final_phase: DeletionPhase::Gone,
            step: None,
            wave: Some(wave),
        })
    }

    /// A reader in the page; the answer says how often it has read so far.
    fn counted(read: impl Fn() + Send + Sync + 'static) -> impl Fn() -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        let reader = Memo::new(move |_| {
            read();
            counter.fetch_add(1, Ordering::Relaxed)
        });
        move || {
            reader.get_untracked();
            count.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn delta_wakes_the_readers_of_what_it_changes_alone() {
        Owner::new().with(|| {
            let mut records =
                vec![object("web", State::Present, 1), object("db", State::Present, 2)];
            let mut server = Publication::new(Revision { boot: 1, count: 0 });
            server.advance(records.clone());
            let scene = Scene::new(Some(server.snapshot()));
            let mut send = |records: &[Record]| {
                scene.apply(server.advance(records.to_vec()).unwrap()).unwrap();
            };
            let row = |name: &str| {
                let uid = Uid::new(name);
                counted(move || drop(scene.object(&uid).map(|card| card.get())))
            };
            let (web, db) = (row("web"), row("db"));
            let members = counted(move || scene.read_members(|_| ()));
            let all = counted(move || scene.read(|_| ()));
            let read = || [web(), db(), members(), all()];
            assert_eq!(read(), [1, 1, 1, 1]);
            assert_eq!(read(), [1, 1, 1, 1], "nobody reads again without a change");

            records[0] = object("web", State::Terminating, 1);
            send(&records);
            assert_eq!(read(), [2, 1, 1, 2], "a state: its row, and who reads all");
            records.push(object("cache", State::Present, 1));
            send(&records);
            assert_eq!(read(), [2, 1, 2, 3], "one more object: the list, and no row");
            records[1] = object("db", State::Present, 3);
            send(&records);
            assert_eq!(read(), [2, 2, 3, 4], "another step: its row, and the list, which moves it");
            records.remove(2);
            send(&records);
            assert_eq!(read(), [2, 2, 4, 5], "one object less: the list, and no other row");
        });
    }
}
