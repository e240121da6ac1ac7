//! A simulated cluster: it is slow, loses answers, delays events, collects garbage, replaces Pods as long as their
//! owner lives, and records every DELETE that came too early.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use teardown::{
    action::{Action, ActionTarget, ContentSight, Outcome, PodSight},
    fixture,
    graph::Graph,
    object::{Deletion, Facts, Object, PodReferenceKind, Uid},
    observation::Observation,
    relation::Edge,
};

/// Random numbers from a seed (splitmix64), the same on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// The true state of the cluster, and the events that were not delivered yet.
pub(crate) struct Cluster {
    objects: BTreeMap<Uid, Object>,
    planned: BTreeMap<Uid, BTreeSet<Uid>>,
    calls: Vec<Action>,
    replies: Vec<(Action, Outcome)>,
    pending: BTreeMap<String, VecDeque<Observation>>,
    created: u32,
    violations: Vec<String>,
}

impl Cluster {
    pub(crate) fn new(objects: Vec<Object>) -> Self {
        Self {
            objects: objects.into_iter().map(|object| (object.uid.clone(), object)).collect(),
            planned: BTreeMap::new(),
            calls: Vec::new(),
            replies: Vec::new(),
            pending: BTreeMap::new(),
            created: 0,
            violations: Vec::new(),
        }
    }

    /// Remembers the order of deletion, by the edges at the start.
    pub(crate) fn watch_order(&mut self, graph: &Graph) {
        for (first, then, _) in graph.edges().filter_map(Edge::ordered) {
            if !self.objects[first].is_made_by_cluster() {
                self.planned.entry(then.clone()).or_default().insert(first.clone());
            }
        }
    }

    /// Complete lists, which include the changes of pending events.
    pub(crate) fn listing(&mut self) -> Vec<Observation> {
        self.pending.clear();
        let objects: Vec<Object> = self.objects.values().cloned().collect();
        fixture::listing(&objects)
    }

    pub(crate) fn has(&self, uid: &Uid) -> bool {
        self.objects.contains_key(uid)
    }

    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }

    pub(crate) fn receive(&mut self, actions: Vec<Action>) {
        self.calls.extend(actions);
    }

    /// Drops calls that the process had not sent when it was killed.
    pub(crate) fn drop_unsent(&mut self, actions: Vec<Action>) {
        let lost = |action| {
            (
                action,
                Outcome::Unanswered { message: "the connection was reset".into(), after: None },
            )
        };
        self.replies.extend(actions.into_iter().map(lost));
    }

    /// Ends the connections of a process that was killed: nobody gets an answer, and of the calls that were in flight half
    /// still arrive. If all of them did, the calls of many dead processes would delay those of the one that lives.
    pub(crate) fn close_connections(&mut self, rng: &mut Rng) {
        self.replies.clear();
        self.calls.retain(|_| rng.one_in(2));
    }

    pub(crate) fn reply(&mut self, rng: &mut Rng) -> Option<(Action, Outcome)> {
        let at = rng.below(self.replies.len().max(1) as u64) as usize;
        (at < self.replies.len()).then(|| self.replies.swap_remove(at))
    }

    /// Some of the pending events, each kind in its order.
    pub(crate) fn deliver_events(&mut self, rng: &mut Rng) -> Vec<Observation> {
        let mut delivered = Vec::new();
        for queue in self.pending.values_mut() {
            let count = rng.below(queue.len() as u64 + 1) as usize;
            delivered.extend(queue.drain(..count));
        }
        delivered
    }

    fn note(&mut self, observation: Observation) {
        let kind = match &observation {
            Observation::Applied(object) => object.kind.resource(),
            Observation::Deleted { kind, .. } => kind.resource(),
            _ => return,
        };
        self.pending.entry(kind).or_default().push_back(observation);
    }

    /// Advances the cluster: a call arrives, a deleted object goes, garbage is collected, or a Pod is replaced.
    pub(crate) fn advance(&mut self, rng: &mut Rng, now: Timestamp) {
        match rng.below(3) {
            0 => self.call(rng, now),
            1 => self.finish_a_deletion(rng),
            _ => self.replace_a_pod(rng, now),
        }
    }

    fn call(&mut self, rng: &mut Rng, now: Timestamp) {
        if self.calls.is_empty() {
            return;
        }
        let at = rng.below(self.calls.len() as u64) as usize;
        let action = self.calls.swap_remove(at);
        let lost = Outcome::Unanswered { message: "timed out".into(), after: None };
        let outcome = match rng.below(12) {
            0 => Outcome::Throttled { after: None },
            1 => lost,
            2 => {
                self.answer(&action, now);
                lost
            }
            _ => self.answer(&action, now),
        };
        self.replies.push((action, outcome));
    }

    fn answer(&mut self, action: &Action, now: Timestamp) -> Outcome {
        match action {
            Action::Delete { target: ActionTarget { uid, object, .. }, .. } => {
                if !self.objects.contains_key(uid) {
                    let other = self.objects.values().find(|other| other.reference() == *object);
                    return other.map_or(Outcome::NotFound, |other| Outcome::OtherUid {
                        uid: Some(other.uid.clone()),
                    });
                }
                self.check_order(uid);
                self.delete(uid, now);
                Outcome::Accepted
            }
            // No generated object declares others.
            Action::Suspend { .. } => Outcome::Suspended,
            Action::Read { target, .. } => {
                match self.objects.values().find(|other| other.reference() == target.object) {
                    None => Outcome::NotFound,
                    Some(found) => Outcome::Present {
                        terminating: found.deletion.is_some(),
                        version: "1".into(),
                        named: teardown::unit::named_unit(found),
                        keep: found.annotations.as_ref().and_then(|it| it.keep.clone()),
                    },
                }
            }
            Action::ReadClaim { target } => match self.objects.get(&target.uid) {
                Some(found) => Outcome::Claim {
                    phase: Some("Bound".into()),
                    terminating: found.deletion.is_some(),
                },
                None => Outcome::NotFound,
            },
            Action::ReadPods { target, .. } => {
                let pods = self
                    .objects
                    .values()
                    .filter(|object| object.namespace == target.object.namespace);
                Outcome::Pods(pods.filter_map(pod_sight).collect())
            }
            Action::ReadContent { target, .. } => {
                let name = &target.object.name;
                let is_inside = |object: &&Object| match &*target.kind.kind {
                    "Namespace" => object.namespace.as_ref() == Some(name),
                    _ => object.kind.resource() == **name,
                };
                let inside = self.objects.values().filter(is_inside);
                let sight = |object: &Object| ContentSight {
                    uid: object.uid.clone(),
                    object: object.reference(),
                };
                Outcome::Content { objects: inside.map(sight).collect(), unlisted: vec![] }
            }
        }
    }

    /// Checks at the arrival of a DELETE that everything in front of it is gone, including unplanned Pods.
    fn check_order(&mut self, uid: &Uid) {
        let early: Vec<String> = self
            .planned
            .get(uid)
            .into_iter()
            .flatten()
            .filter(|first| self.has(first))
            .map(Uid::to_string)
            .collect();
        if !early.is_empty() && self.objects[uid].deletion.is_none() {
            self.violations.push(format!("{uid} before {early:?}"));
        }
        let object = &self.objects[uid];
        if matches!(object.facts, Facts::Claim(_)) {
            let mounting = self
                .objects
                .values()
                .filter(|pod| pod.namespace == object.namespace)
                .filter_map(pod_sight);
            let using: Vec<Uid> = mounting
                .filter(|pod| pod.claims.iter().any(|claim| **claim == *object.name))
                .map(|pod| pod.uid)
                .collect();
            if !using.is_empty() {
                self.violations.push(format!("{uid} while {using:?} mount it"));
            }
        }
    }

    fn delete(&mut self, uid: &Uid, now: Timestamp) {
        let Some(object) = self.objects.get_mut(uid) else { return };
        let lingers = matches!(object.facts, Facts::Pod(_) | Facts::Namespace(_))
            || !object.finalizers.is_empty();
        if !lingers {
            return self.remove(&uid.clone());
        }
        if object.deletion.is_none() {
            object.deletion = Some(Box::new(Deletion { at: now, grace: 0 }.into()));
            let observation = Observation::Applied(Box::new(object.clone()));
            self.note(observation);
        }
    }

    fn remove(&mut self, uid: &Uid) {
        if let Some(object) = self.objects.remove(uid) {
            self.note(Observation::Deleted { kind: object.kind, uid: uid.clone() });
        }
    }

    /// One of the deleted objects goes.
    fn finish_a_deletion(&mut self, rng: &mut Rng) {
        let going: Vec<Uid> = self
            .objects
            .values()
            .filter(|object| object.deletion.is_some())
            .map(|object| object.uid.clone())
            .collect();
        if !going.is_empty() {
            let uid = going[rng.below(going.len() as u64) as usize].clone();
            self.remove(&uid);
        }
    }

    fn replace_a_pod(&mut self, rng: &mut Rng, now: Timestamp) {
        let all: Vec<Arc<Object>> = self.objects.values().cloned().map(Arc::new).collect();
        let object = &all[rng.below(all.len() as u64) as usize];
        let owner_is_gone = object.owners.first().is_some_and(|owner| !self.has(&owner.uid));
        let released = matches!(&object.facts, Facts::Volume(volume)
        if volume.reclaim == teardown::object::Reclaim::Delete
            && volume.claim.as_ref().is_some_and(|claim| {
                !all.iter().any(|other| matches!(other.facts, Facts::Claim(_))
                    && *other.name == *claim.name && other.namespace.as_ref() == Some(&claim.namespace))
            }));
        if owner_is_gone || released {
            self.delete(&object.uid, now);
        } else if matches!(object.facts, Facts::Pod(_))
            && !object.owners.is_empty()
            && self.created < 6
            && rng.one_in(4)
        {
            // A Pod dies, and its owner, which lives, replaces it.
            self.remove(&object.uid);
            let mut created = Object::clone(object);
            self.created += 1;
            created.uid = Uid::new(format!("{}-created-{}", object.uid, self.created));
            created.name = format!("{}-{}", object.name, self.created).into();
            created.deletion = None;
            self.note(Observation::Applied(Box::new(created.clone())));
            self.objects.insert(created.uid.clone(), created);
        }
    }
}

fn pod_sight(object: &Object) -> Option<PodSight> {
    let Facts::Pod(pod) = &object.facts else { return None };
    Some(PodSight {
        uid: object.uid.clone(),
        object: object.reference(),
        labels: object.labels.clone(),
        owners: object.owners.clone(),
        claims: pod
            .uses
            .iter()
            .filter(|used| used.what == PodReferenceKind::Claim)
            .map(|used| used.name.clone())
            .collect(),
    })
}
