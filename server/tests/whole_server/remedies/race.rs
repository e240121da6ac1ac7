//! One remedy in one situation, and its races: against each change that makes its decision false, once before its premises are
//! read and once in the last moment before the request arrives.
//!
//! The remedy is done undisturbed first. Each object and each list that the server reads for it is a premise, and each condition
//! that the page shows as met is one: a premise that no change of the races falsifies fails the test.
//!
//! A change says which condition it makes false, and the page is asked whether that is so: each named condition is met before the
//! change, and after it is the only one that is not. The refusal names an object that the change was about.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sandbox::{control_plane::ControlPlane, log::Entry, store::Key};
use serde::Serialize;
use serde_json::Value;
use teardown::{
    diagnosis::Diagnosis,
    object::ObjectRef,
    remedy::{AttemptOutcome, Holds, Remedy, RemedyAct, SwitchedOff},
};

use super::{Server, li};

/// The acts that no request does: a person waits, looks, or repairs something.
pub(super) const BY_HAND: [&str; 28] = [
    "wait",
    "look",
    "deleteDependents",
    "startNode",
    "freeMount",
    "restoreExport",
    "emptyDirectory",
    "endProcess",
    "findHang",
    "repairNetwork",
    "repairDevices",
    "repairDriver",
    "restartDriver",
    "restartKubelet",
    "restartNode",
    "restoreFinisher",
    "repairFinisher",
    "repairApi",
    "repairWebhook",
    "repairConverter",
    "removeManifest",
    "repairStorage",
    "exemptPods",
    "exemptNamespaces",
    "repairController",
    "repairLoadBalancer",
    "satisfyPolicy",
    "makeVisible",
];

/// The acts of runs, which no remedy has.
pub(super) const BY_A_RUN: [&str; 1] = ["suspendParent"];

/// The conditions that the API does not show. A person answers for them, and no change in the cluster can make them false.
pub(super) const BY_A_PERSON: [&str; 6] = [
    "poweredOff",
    "mountsUnused",
    "causeRemoved",
    "finisherCannotFinish",
    "cleanedUpByHand",
    "detachChecked",
];

/// The conditions that follow from a name, so that nothing makes them false.
pub(super) const BY_NAME: [&str; 1] = ["groupStoresNothing"];

/// The things that an act leaves off until somebody puts them back.
pub(super) const LEFT_OFF: [(&str, SwitchedOff); 7] = [
    ("outOfServiceTaint", SwitchedOff::Node),
    ("ignoreWebhook", SwitchedOff::Webhook),
    ("deleteWebhookConfiguration", SwitchedOff::Configuration),
    ("deleteApiService", SwitchedOff::Api),
    ("scaleDown", SwitchedOff::Workload),
    ("retainVolume", SwitchedOff::Reclaim),
    ("stopConversion", SwitchedOff::Conversion),
];

/// The conditions that say the same as a cause. Once one of them is false, another cause is found, whose ways out have conditions of
/// their own.
const OF_A_CAUSE: [&str; 1] = ["nodeSilent"];

/// The time within which the page shows that a condition is false. The leases of nodes are listed every 20 s, and a kind is hidden
/// once its lists have failed for a while.
const SHOWN: Duration = Duration::from_secs(120);
/// The time within which a change that makes no condition false must not make one false. The controllers that follow it up take longer.
const CALM: Duration = Duration::from_secs(2);
/// The time between two looks at the page.
const LOOK: Duration = Duration::from_millis(100);

/// The answer to a change in the last moment, by the API server or by the look after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTheLastMoment {
    /// The request carries the premise, so it is refused, and the change is shown.
    Refused,
    /// No request can carry it: the change is reported.
    Reported,
    /// No request can carry it, and the request is meant to change it too.
    Unseen,
    /// The API server lets nobody make this change, so that it can only have happened long before.
    Impossible,
}

impl InTheLastMoment {
    /// Whether a request has this outcome where a change comes in the last moment before it.
    pub(super) fn is_answered_by(self, outcome: &AttemptOutcome) -> bool {
        match outcome {
            AttemptOutcome::Changed { .. } => self == Self::Refused,
            AttemptOutcome::Accepted { meanwhile: Some(_) } => self == Self::Reported,
            AttemptOutcome::Accepted { meanwhile: None } => self == Self::Unseen,
            _ => false,
        }
    }
}

/// A change that makes the decision false.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) change: fn(&mut ControlPlane),
    pub(super) then: InTheLastMoment,
    /// The conditions on the page that it makes false, by their codes.
    pub(super) falsifies: &'static [&'static str],
    /// Whether the page has it within two minutes. A watch that is open goes on while its kind cannot be listed, and the node controller
    /// writes again what it knows of a node.
    pub(super) is_shown: bool,
}

/// A change that the API server refuses the request for.
pub(super) const fn refused(name: &'static str, change: fn(&mut ControlPlane)) -> Case {
    Case { name, change, then: InTheLastMoment::Refused, falsifies: &[], is_shown: true }
}

impl Case {
    pub(super) const fn then(self, then: InTheLastMoment) -> Self {
        Self { then, ..self }
    }

    pub(super) const fn falsifying(self, falsifies: &'static [&'static str]) -> Self {
        Self { falsifies, ..self }
    }

    /// The change is seen by the reads around the request, and not on the page.
    pub(super) const fn not_shown(self) -> Self {
        Self { is_shown: false, ..self }
    }
}

/// A change that is reported after the request.
pub(super) const fn reported(name: &'static str, change: fn(&mut ControlPlane)) -> Case {
    refused(name, change).then(InTheLastMoment::Reported)
}

/// A remedy in one situation, and the changes that make its decision false.
#[derive(Clone, Copy)]
pub(super) struct Race {
    /// The code of the act.
    pub(super) act: &'static str,
    /// Whether it is the one, where several remedies have that act.
    pub(super) is_it: fn(&RemedyAct) -> bool,
    pub(super) set_up: fn(&mut ControlPlane),
    pub(super) cases: &'static [Case],
}

/// Every remedy with the act of the race is the one.
pub(super) const ANY: fn(&RemedyAct) -> bool = |_| true;

/// Runs races one after the other, and fails with everything that went wrong in any of them.
pub(super) async fn run(races: &[Race]) {
    let mut wrong = Vec::new();
    for race in races {
        let found = race.run().await;
        wrong.extend(found.into_iter().map(|it| format!("{}: {it}", race.act)));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// The code under which a variant travels.
pub(super) fn code(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant).unwrap() {
        Value::Object(fields) => {
            fields.into_iter().next().map(|(name, _)| name).unwrap_or_default()
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

type Offer = (Diagnosis, Remedy);

/// The objects that have changed since this revision of the cluster.
pub(super) fn changed_since(world: &ControlPlane, revision: u64) -> Vec<Key> {
    world.cluster.store.changes_since(Some(revision)).map(|event| event.key.clone()).collect()
}

/// The fault, if an outcome names an object that has not changed since this revision, with the change or because of it.
pub(super) fn misnamed(
    server: &Server,
    case: &Case,
    (outcome, target): (&AttemptOutcome, &ObjectRef),
    since: u64,
) -> Option<String> {
    let object = outcome.changed()?;
    // A change that no read shows is known by another hash of the remedy, and the target stands for all that is hashed.
    if case.then == InTheLastMoment::Unseen && object == target {
        return None;
    }
    let changed = server.sandbox.with(|world| changed_since(world, since));
    // A Service is named for its endpoints, and a Node for its lease.
    let is_of = |key: &Key| match &*key.plural {
        "endpointslices" => key.name.starts_with(&format!("{}-", object.name)),
        _ => *key.name == *object.name,
    };
    (!changed.iter().any(is_of))
        .then(|| format!("{object} is named, and this changed: {changed:?}"))
}

/// Has a change come in the last moment before the next request. Returns the place for the revision of the cluster before it.
pub(super) fn arm(server: &Server, change: fn(&mut ControlPlane)) -> Arc<AtomicU64> {
    let revision = Arc::new(AtomicU64::new(0));
    let before = revision.clone();
    server.interruption.arm(move |world| {
        before.store(world.cluster.store.revision(), Ordering::SeqCst);
        change(world);
    });
    revision
}

impl Race {
    /// Everything that is not as it should be.
    async fn run(&self) -> Vec<String> {
        let (mut wrong, mut read) = match self.undisturbed().await {
            Ok(done) => done,
            Err(wrong) => return vec![wrong],
        };
        for case in self.cases {
            let (mut found, changed) = self.before_the_reads(case).await;
            if case.then != InTheLastMoment::Impossible {
                found.extend(self.in_the_last_moment(case).await);
            }
            let found = found.into_iter();
            wrong.extend(found.map(|it| format!("{}, expected {:?}: {it}", case.name, case.then)));
            read.retain(|premise| !changed.iter().any(|it| concerns(it, premise)));
        }
        let read = read.into_iter().map(|it| format!("no change falsifies the read of {it:?}"));
        wrong.into_iter().chain(read).collect()
    }

    async fn offer(&self, server: &Server) -> Result<Offer, String> {
        let is_it = |act: &RemedyAct| code(act) == self.act && (self.is_it)(act);
        match server.offered(is_it).await {
            Some(offer) => Ok(offer),
            None => {
                let shown = server.shown().await;
                let shown = shown.iter().map(|it| (code(&it.act), &it.needs, &it.withheld));
                Err(format!("never offered, but {:?}", shown.collect::<Vec<_>>()))
            }
        }
    }

    /// The conditions of a remedy that was offered and that do not hold now, and whether its diagnosis is still there; `None` once no
    /// diagnosis shows it.
    async fn failing(
        &self,
        server: &Server,
        (diagnosis, offered): &Offer,
    ) -> (bool, Option<Vec<String>>) {
        let found = server.hub.remedies(diagnosis.id.clone()).await.unwrap();
        let is_there = found.is_ok();
        let shown = match found {
            Ok(found) => found.remedies,
            Err(_) => server.shown().await,
        };
        let remedy = shown.iter().find(|it| self.is_same(it, offered));
        let failing = remedy.map(|remedy| {
            let failing = remedy.needs.iter().filter(|need| need.holds == Holds::No);
            failing.map(|need| code(&need.code)).collect()
        });
        (is_there, failing)
    }

    fn is_same(&self, remedy: &Remedy, offered: &Remedy) -> bool {
        code(&remedy.act) == self.act
            && (self.is_it)(&remedy.act)
            && remedy.target == offered.target
    }

    /// The fault, if a change that was just made does not make the conditions of the case false, or another one as well.
    async fn misdeclared(&self, server: &Server, case: &Case, offer: &Offer) -> Option<String> {
        let is_met = |named: &str| {
            offer.1.needs.iter().any(|it| code(&it.code) == named && it.holds == Holds::Yes)
        };
        if let Some(unmet) = case.falsifies.iter().find(|need| !is_met(need)) {
            return Some(format!("{unmet} is not met before the change"));
        }
        let is_none = case.falsifies.is_empty();
        let limit = if is_none { CALM } else { SHOWN };
        let mut waited = Duration::ZERO;
        while waited < limit {
            tokio::time::sleep(LOOK).await;
            waited += LOOK;
            match self.failing(server, offer).await {
                (true, Some(failing)) if failing.is_empty() => continue,
                (_, None) if is_none => {}
                (false, _) if case.falsifies.iter().all(|it| OF_A_CAUSE.contains(it)) => {}
                (_, Some(failing)) if failing == case.falsifies => {}
                (_, failing) => {
                    return Some(format!("it makes {failing:?} false, not {:?}", case.falsifies));
                }
            }
            let mut shown = server.shown().await.into_iter();
            let is_offered = |it: Remedy| self.is_same(&it, &offer.1) && it.check_offered().is_ok();
            let is_offered = !is_none && shown.any(is_offered);
            return is_offered.then(|| "it is offered all the same".to_owned());
        }
        (!is_none && case.is_shown).then(|| format!("it does not make {:?} false", case.falsifies))
    }

    /// The remedy is done where nothing changes. Returns the faults, and what was read for it.
    async fn undisturbed(&self) -> Result<(Vec<String>, BTreeSet<Key>), String> {
        let server = Server::start(li(), self.set_up);
        let offer = self.offer(&server).await?;
        let mut wrong = self.conditions(&offer.1);
        for remedy in server.shown().await {
            let act = code(&remedy.act);
            if remedy.request().is_some() && BY_HAND.contains(&&*act) {
                wrong.push(format!("{act} is shown beside it, and a request does it"));
            }
        }
        let before = server.sandbox.with(|world| world.cluster.log.entries().len());
        let id = server.try_confirm(&offer).await?;
        let outcome = server.outcome(&id).await;
        if outcome != (AttemptOutcome::Accepted { meanwhile: None }) {
            wrong.push(format!("undisturbed: {outcome:?}"));
        }
        let target = &offer.1.request().unwrap().object;
        let read = server
            .sandbox
            .with(|world| premises(&world.cluster.log.entries()[before..], self.act, target));
        if read.is_empty() {
            wrong.push("it reads nothing".to_owned());
        }
        tokio::time::sleep(CALM).await;
        for off in server.hub.switched_off().await.unwrap() {
            if !LEFT_OFF.contains(&(self.act, off.what)) {
                wrong.push(format!("{:?} is left off", off.what));
            }
        }
        Ok((wrong, read))
    }

    /// The conditions of the remedy that nothing in its races falsifies, and those that the races name in vain.
    fn conditions(&self, remedy: &Remedy) -> Vec<String> {
        let is_falsified =
            |need: &str| self.cases.iter().any(|case| case.falsifies.contains(&need));
        let mut wrong = Vec::new();
        for need in &remedy.needs {
            let named = code(&need.code);
            let is_known = match need.holds {
                Holds::Yes => is_falsified(&named) || BY_NAME.contains(&&*named),
                Holds::Unknown => BY_A_PERSON.contains(&&*named),
                Holds::No => false,
            };
            if !is_known {
                wrong.push(format!("no change falsifies the condition {need:?}"));
            }
        }
        let all = self.cases.iter().flat_map(|case| case.falsifies);
        let in_vain = all.filter(|it| remedy.needs.iter().all(|need| code(&need.code) != **it));
        wrong.extend(in_vain.map(|it| format!("it has no condition {it}")));
        wrong
    }

    /// The change happens before the premises are read. Returns the faults, and the objects that the change was about.
    async fn before_the_reads(&self, case: &Case) -> (Vec<String>, Vec<Key>) {
        let server = Server::start(li(), self.set_up);
        let offer = match self.offer(&server).await {
            Ok(offer) => offer,
            Err(wrong) => return (vec![wrong], Vec::new()),
        };
        // The confirmation is in the hub's mailbox before any watch shows the change.
        let (before, changed) = server.sandbox.with(|world| {
            let before = world.cluster.store.revision();
            (case.change)(world);
            (before, changed_since(world, before))
        });
        let id = match server.try_confirm(&offer).await {
            Ok(id) => id,
            Err(wrong) => return (vec![wrong], changed),
        };
        let outcome = server.outcome(&id).await;
        let is_held = match &outcome {
            AttemptOutcome::Changed { .. } => true,
            // Something cannot be read any more.
            AttemptOutcome::NotSent { .. } => case.then != InTheLastMoment::Refused,
            _ => false,
        };
        let is_as_expected = is_held && server.effects().is_empty();
        let wrong = format!("before the reads: {outcome:?}, {:?}", server.effects());
        let mut wrong: Vec<String> = (!is_as_expected).then_some(wrong).into_iter().collect();
        let target = &offer.1.request().unwrap().object;
        wrong.extend(misnamed(&server, case, (&outcome, target), before));
        wrong.extend(self.misdeclared(&server, case, &offer).await);
        (wrong, changed)
    }

    /// The change happens in the last moment before the request. Returns the fault, if any.
    async fn in_the_last_moment(&self, case: &Case) -> Option<String> {
        let server = Server::start(li(), self.set_up);
        let offer = match self.offer(&server).await {
            Ok(offer) => offer,
            Err(wrong) => return Some(wrong),
        };
        let before = arm(&server, case.change);
        let id = match server.try_confirm(&offer).await {
            Ok(id) => id,
            Err(wrong) => return Some(wrong),
        };
        let outcome = server.outcome(&id).await;
        let is_without_effect = server.effects().is_empty();
        let wrong = format!("in the last moment: {outcome:?}, {:?}", server.effects());
        let is_well = !server.interruption.is_armed()
            && case.then.is_answered_by(&outcome)
            && is_without_effect == (case.then == InTheLastMoment::Refused);
        if !is_well {
            return Some(wrong);
        }
        let target = &offer.1.request().unwrap().object;
        misnamed(&server, case, (&outcome, target), before.load(Ordering::SeqCst))
    }
}

impl Server {
    async fn try_confirm(&self, offer: &Offer) -> Result<String, String> {
        self.confirmed(offer)
            .await
            .map_err(|refusal| format!("it cannot be confirmed: {refusal:?}"))
    }
}

/// The objects and lists that the server read for a remedy, or to put something back. What it asks for the diagnoses meanwhile is not
/// among them. The content of a namespace that is finished counts as one list.
pub(super) fn premises(entries: &[Entry], act: &str, target: &ObjectRef) -> BTreeSet<Key> {
    let reads = |verb: &'static str| {
        let is_it = move |entry: &&Entry| entry.actor == "li" && entry.verb == verb;
        entries.iter().filter(is_it).filter_map(|entry| Some((entry.key.clone()?, entry.code)))
    };
    let is_service = |key: &Key| key.is_of("", "services");
    let served: Vec<Key> =
        reads("get").filter(|(key, code)| is_service(key) && *code == 200).map(|it| it.0).collect();
    let is_premise = |key: &Key| match &*key.plural {
        "events" => false,
        "leases" => !key.name.is_empty() && &*key.namespace == "kube-node-lease",
        // Of a Service that exists.
        "endpointslices" => served.iter().any(|service| service.namespace == key.namespace),
        _ => true,
    };
    let finished = ["finalizeNamespace", "removeSpecFinalizer"].contains(&act);
    let in_content = |key: Key| {
        let is_content = finished && key.name.is_empty() && *key.namespace == *target.name;
        if is_content { Key::new("", "", &target.name, "") } else { key }
    };
    let lists = reads("list").map(|(key, _)| in_content(key));
    reads("get").map(|(key, _)| key).chain(lists).filter(is_premise).collect()
}

/// Whether a change of one object may be a change of what was read.
pub(super) fn concerns(changed: &Key, read: &Key) -> bool {
    if !read.name.is_empty() {
        return changed == read;
    }
    let is_of_kind = read.plural.is_empty() || changed.is_of(&read.group, &read.plural);
    is_of_kind && (read.namespace.is_empty() || read.namespace == changed.namespace)
}
