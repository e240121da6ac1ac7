//! A verdict may weaken where a fact is missing, and never turns to another root: each fact is removed in turn, names are
//! changed, clocks are skewed, a kind is hidden.

use jiff::SignedDuration;

use super::{
    situations::{ALL, Situation},
    *,
};
use crate::{
    object::Facts,
    observation::{HiddenCause, Observation},
};

fn found(index: &Index, now: Timestamp) -> Vec<Diagnosis> {
    diagnose(index, &Graph::of(index), now)
}

/// The verdicts of a situation as it stands.
fn whole(situation: &Situation) -> Vec<Diagnosis> {
    found(&situation.whole(), fixture::now())
}

/// The verdicts at another root than those before. A verdict that says that it knows nothing, or that no program was found,
/// is a weaker one; so is one that knows the cause and not the object by its name.
fn turned<'a>(before: &[Diagnosis], after: &'a [Diagnosis]) -> Vec<&'a Diagnosis> {
    let is_weaker = |it: &Diagnosis| {
        it.confidence == Confidence::Unknown
            || matches!(&it.cause, Cause::FinisherGone { deleted, .. } if deleted.is_empty())
    };
    let is_known = |it: &Diagnosis| before.iter().any(|known| known.root == it.root);
    after.iter().filter(|it| !is_weaker(it) && !is_known(it)).collect()
}

/// The changes after which a verdict at another root is the true one: the situation, the object or its field that is left out,
/// and the verdict then. A list is complete, so an object that is not in it does not exist.
const TRUE_THEN: [(&str, &str, &str); 51] = [
    ("withinGrace", "node n1", NODE_MISSING),
    ("containersRunning", "node n1", NODE_MISSING),
    ("kubeletUnaware", "node n1", NODE_MISSING),
    ("staticPod", "node n1", NODE_MISSING),
    ("neverStarted", "node n1", NODE_MISSING),
    ("sandboxLeft", "node n1", NODE_MISSING),
    ("devicesLeft", "node n1", NODE_MISSING),
    ("volumesMounted", "node n1", NODE_MISSING),
    ("claimGone", "node n1", NODE_MISSING),
    ("driverMissing", "node n1", NODE_MISSING),
    ("podDirectoryLeft", "node n1", NODE_MISSING),
    ("updateRejected", "node n1", NODE_MISSING),
    ("namespaceGone", "node n1", NODE_MISSING),
    // Without a driver that is known to be missing, each Pod waits for its own volumes.
    ("driverMissing", "csinode n1", VOLUMES_MOUNTED),
    ("driverMissing", "pvc shop/data volume=", VOLUMES_MOUNTED),
    ("driverMissing", "pv disk-1", "claimGone at Pod shop/web"),
    ("driverMissing", "pv disk-1 driver=", VOLUMES_MOUNTED),
    ("driverMissing", "pvc shop/data", "claimGone at Pod shop/web"),
    ("driverMissing", "pod shop/web phase=", "sandboxLeft at Pod shop/web"),
    ("driverMissing", "pod shop/web uses=", "podDirectoryLeft at Pod shop/web"),
    // No Pod that has a node uses the claim any more, and it is late. A Pod without a node does not count (`podUsesPVC` in
    // `pkg/controller/volume/pvcprotection/pvc_protection_controller.go`).
    ("withinGrace", "pod shop/web", CLAIM_UNUSED),
    ("withinGrace", "pod shop/web node=", CLAIM_UNUSED),
    ("withinGrace", "pod shop/web uses=", CLAIM_UNUSED),
    ("nodeSilent", "pod shop/web", CLAIM_UNUSED),
    ("nodeSilent", "pod shop/web node=", CLAIM_UNUSED),
    ("nodeSilent", "pod shop/web uses=", CLAIM_UNUSED),
    // A namespace without conditions has not been looked at.
    ("apiDown", "ns shop conditions=", NOT_LOOKED_AT),
    ("looksAgain", "ns shop conditions=", NOT_LOOKED_AT),
    ("webhookDown", "ns shop conditions=", NOT_LOOKED_AT),
    ("webhookDenies", "ns shop conditions=", NOT_LOOKED_AT),
    ("policyDenies", "ns shop conditions=", NOT_LOOKED_AT),
    ("conversionDown", "ns shop conditions=", NOT_LOOKED_AT),
    ("unreadable", "ns shop conditions=", NOT_LOOKED_AT),
    // The API server names the webhook and the kind, not the objects that configure them: without those the root is the object
    // that was refused, or the kind by the name that it uses.
    ("webhookDown", "webhook gate", "webhookDown at Namespace shop"),
    ("webhookDown", "webhook gate guards=", "webhookDown at Namespace shop"),
    ("webhookDenies", "webhook gate", "webhookDenies at Namespace shop"),
    ("webhookDenies", "webhook gate guards=", "webhookDenies at Namespace shop"),
    ("policyDenies", "policy keep", "policyDenies at Namespace shop"),
    ("conversionDown", "crd widgets.example.com", "conversionDown at Namespace shop"),
    ("conversionDown", "crd widgets.example.com defines=", "conversionDown at Namespace shop"),
    // Only the condition says that the program keeps the object by design, and one that is not ready would not notice the end of it.
    ("keptForDependents", "CephCluster.ceph.rook.io rook/ceph conditions=", OPERATOR_BUSY),
    ("keptForDependents", "deploy rook/operator ready=", OPERATOR_NOT_READY),
    // Nothing that it owns is left, so the garbage collector has to act.
    ("ownersCircle", "cm shop/a", "controllerSilent at ConfigMap shop/b"),
    ("ownersCircle", "cm shop/a owner=", "controllerSilent at ConfigMap shop/b"),
    // One of two programs is left that may clear the finalizer.
    ("finisherUnknown", "deploy ops/runner", "finisherBusy at Deployment ops/other"),
    ("finisherUnknown", "deploy ops/runner uses=", "finisherBusy at Deployment ops/other"),
    ("finisherUnknown", "deploy ops/other", "finisherBusy at Deployment ops/runner"),
    ("finisherUnknown", "deploy ops/other uses=", "finisherBusy at Deployment ops/runner"),
    // The controller of the control plane counts the Pods of every other Job, and of one that is gone.
    ("managedElsewhere", "job shop/train", "controllerSilent at Pod shop/web"),
    ("managedElsewhere", "job shop/train managedBy=", "controllerSilent at Pod shop/web"),
    ("managedElsewhere", "pod shop/web owner=", "controllerSilent at Pod shop/web"),
];
const NODE_MISSING: &str = "nodeMissing at Node n1";
const VOLUMES_MOUNTED: &str = "volumesMounted at Pod shop/web";
const CLAIM_UNUSED: &str = "controllerSilent at PersistentVolumeClaim shop/data";
const OPERATOR_BUSY: &str = "finisherBusy at Deployment rook/operator";
const OPERATOR_NOT_READY: &str = "finisherNotReady at Deployment rook/operator";
const NOT_LOOKED_AT: &str = "controllerSilent at Namespace shop";

/// Checks that verdicts turn where they are expected to and nowhere else. A turn is a situation, the fact that is missing, and the
/// verdict.
fn assert_turns(turns: &[(&str, String, String)], expected: &[(&str, &str, &str)]) {
    let turns: BTreeSet<(&str, &str, &str)> =
        turns.iter().map(|(cause, what, head)| (*cause, &**what, &**head)).collect();
    let expected: BTreeSet<_> = expected.iter().copied().collect();
    let difference: Vec<_> = turns.symmetric_difference(&expected).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}

/// The objects without one line, or without one word of a line; what makes an object late stays.
pub(super) fn shortened(objects: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = objects.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let with = |replaced: Option<String>| {
            let line = |(number, line): (usize, &&str)| match &replaced {
                _ if number != at => Some((*line).to_owned()),
                replaced => replaced.clone(),
            };
            lines.iter().enumerate().filter_map(line).collect::<Vec<_>>().join("\n")
        };
        let words: Vec<&str> = line.split(' ').collect();
        let object = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        found.push((object.clone(), with(None)));
        for (place, word) in words.iter().enumerate().skip(2) {
            // A fixture's node without the word is ready: see the test of a node without a condition.
            if ["deleted=", "grace=", "ready=Ready:"].iter().any(|it| word.starts_with(it)) {
                continue;
            }
            let rest = words.iter().enumerate().filter(|(number, _)| *number != place);
            let rest: Vec<&str> = rest.map(|(_, word)| *word).collect();
            let field = word.split_inclusive('=').next().unwrap_or(word);
            found.push((format!("{object} {field}"), with(Some(rest.join(" ")))));
        }
    }
    found
}

#[test]
fn each_situation_has_the_verdict_of_its_cause_and_no_other() {
    assert_eq!(ALL.map(|it| it.cause), Cause::NAMES);
    let line = |it: &Situation| format!("{}: {}", it.cause, verdicts(&whole(it)));
    insta::assert_snapshot!(ALL.iter().map(line).collect::<Vec<_>>().join("\n"), @"
    withinGrace: withinGrace at Pod shop/web (Inferred)
    nodeSilent: nodeSilent at Node n1 (Inferred)
    nodeMissing: nodeMissing at Node n9 (Confirmed)
    containersRunning: containersRunning at Pod shop/web (Inferred)
    kubeletUnaware: kubeletUnaware at Pod shop/web (Inferred)
    staticPod: staticPod at Pod shop/web (Inferred)
    neverStarted: neverStarted at Pod shop/web (Inferred)
    sandboxLeft: sandboxLeft at Pod shop/web (Inferred)
    devicesLeft: devicesLeft at Pod shop/web (Inferred)
    volumesMounted: volumesMounted at Pod shop/web (Inferred)
    claimGone: claimGone at Pod shop/web (Inferred)
    driverMissing: driverMissing at CSINode n1 (Inferred)
    podDirectoryLeft: podDirectoryLeft at Pod shop/web (Inferred)
    claimInUse: claimInUse at PersistentVolumeClaim shop/data (Confirmed)
    claimHeldByCompletedPods: claimHeldByCompletedPods at PersistentVolumeClaim shop/data (Confirmed)
    inUse: inUse at VolumeAttributesClass fast (Confirmed)
    keptForDependents: keptForDependents at CephCluster rook/ceph (Confirmed)
    copied: copied at PersistentVolumeClaim shop/data (Confirmed)
    volumeBound: volumeBound at PersistentVolume disk-1 (Confirmed)
    detachFailed: detachFailed at VolumeAttachment a1 (Confirmed)
    volumeAttached: volumeAttached at VolumeAttachment a1 (Inferred)
    backendLeft: backendLeft at PersistentVolume disk-1 (Confirmed)
    apiDown: apiDown at APIService v1beta1.metrics.k8s.io (Confirmed)
    looksAgain: looksAgain at APIService v1beta1.metrics.k8s.io (Inferred)
    webhookDown: webhookDown at ValidatingWebhookConfiguration gate (Confirmed)
    webhookDenies: webhookDenies at ValidatingWebhookConfiguration gate (Confirmed)
    policyDenies: policyDenies at ValidatingAdmissionPolicy keep (Confirmed)
    conversionDown: conversionDown at CustomResourceDefinition widgets.example.com (Confirmed)
    unreadable: unreadable at secrets  (Confirmed)
    updateRejected: containersRunning at Pod shop/web (Inferred); updateRejected at MutatingWebhookConfiguration sidecar (Confirmed)
    contentRefused: contentRefused at Namespace shop (Confirmed)
    discoveryFailed: discoveryFailed at Namespace shop (Confirmed)
    namespaceFinalizer: namespaceFinalizer at Namespace shop (Confirmed)
    contentUnseen: contentUnseen at Namespace shop (Confirmed)
    namespaceGone: namespaceGone at Namespace shop (Inferred); containersRunning at Pod shop/web (Inferred)
    managerSilent: managerSilent at Lease kube-system/kube-controller-manager (Confirmed); controllerSilent at Namespace shop (Inferred)
    controllerSilent: controllerSilent at ConfigMap shop/alone (Inferred)
    ownersCircle: ownersCircle at ConfigMap shop/a (Confirmed)
    finisherGone: finisherGone at Topic  (Inferred)
    finisherNotReady: finisherNotReady at Deployment ops/cert-manager (Inferred)
    finisherBusy: finisherBusy at Deployment ops/cert-manager (Inferred)
    finisherUnknown: finisherUnknown at Topic  (Inferred)
    managedElsewhere: managedElsewhere at Job shop/train (Inferred)
    loadBalancerLeft: loadBalancerLeft at Service shop/front (Inferred)
    cannotSee: cannotSee at PersistentVolumeClaim shop/data (Unknown)
    unknown: unknown at ConfigMap shop/c (Unknown)
    ");
}

#[test]
fn missing_fact_never_turns_a_verdict_to_another_root() {
    let mut turns = Vec::new();
    for situation in &ALL {
        let before = whole(situation);
        let objects = shortened(situation.objects)
            .into_iter()
            .map(|(what, objects)| (what, situation.index(&objects, situation.gone, None)));
        let others = (0..situation.others()).map(|left_out| {
            let index = situation.index(situation.objects, situation.gone, Some(left_out));
            (format!("fact {left_out}"), index)
        });
        for (what, index) in objects.chain(others) {
            let after = found(&index, fixture::now());
            let turned = turned(&before, &after);
            turns.extend(turned.into_iter().map(|it| (situation.cause, what.clone(), head(it))));
        }
    }
    assert_turns(&turns, &TRUE_THEN);
}

#[test]
fn node_without_a_condition_turns_no_verdict_to_the_pod() {
    for situation in ALL.iter().filter(|it| it.objects.contains("node n1")) {
        let before = whole(situation);
        let mut index = situation.whole();
        let node = index.find("", "Node", None, "n1").unwrap();
        let mut node = Object::clone(node);
        if let Facts::Node(facts) = &mut node.facts {
            facts.ready = None;
        }
        index.apply([Observation::Applied(Box::new(node))], fixture::now());
        let after = found(&index, fixture::now());
        let turned: Vec<String> = turned(&before, &after).into_iter().map(head).collect();
        assert!(turned.is_empty(), "{}: {turned:?}", situation.cause);
    }
}

#[test]
fn hidden_kind_never_turns_a_verdict_to_another_root() {
    let mut failed = Vec::new();
    for situation in &ALL {
        let before = whole(situation);
        let listed = fixture::listing(&fixture::objects(situation.objects));
        let resources = listed.into_iter().filter_map(|observation| match observation {
            Observation::Listed { kind, .. } => Some(kind.resource()),
            _ => None,
        });
        for resource in resources {
            let mut index = situation.whole();
            let (cause, message) = (HiddenCause::Forbidden, "forbidden".into());
            index.apply(
                [Observation::Hidden { resource: resource.clone(), cause, message }],
                fixture::now(),
            );
            let after = found(&index, fixture::now());
            // That there is no cause is known only of what can be seen.
            let is_own = |it: &Diagnosis| {
                index.named(&it.root).is_some_and(|root| root.kind.resource() == resource)
            };
            let is_new = |it: &Diagnosis| !before.iter().any(|known| known.id == it.id);
            let causeless =
                after.iter().filter(|it| it.cause == Cause::Unknown && (is_own(it) || is_new(it)));
            let wrong = turned(&before, &after).into_iter().chain(causeless);
            failed.extend(
                wrong.map(|it| format!("{}: {resource} hidden: {}", situation.cause, it.id)),
            );
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The verdicts at a root that is known by the name that the API server uses, and those of each Pod where nothing shows that a driver
/// is missing: the situation, the kind that would have the object, and the verdict.
const TRUE_UNSEEN: [(&str, &str, &str); 6] = [
    ("driverMissing", "csinodes.storage.k8s.io", VOLUMES_MOUNTED),
    ("driverMissing", "persistentvolumes", VOLUMES_MOUNTED),
    ("driverMissing", "persistentvolumeclaims", VOLUMES_MOUNTED),
    (
        "webhookDown",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhookDown at Webhook gate.example.com",
    ),
    (
        "webhookDenies",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhookDenies at Namespace shop",
    ),
    (
        "conversionDown",
        "customresourcedefinitions.apiextensions.k8s.io",
        "conversionDown at Widget ",
    ),
];

/// As with a right that was never given: no object of the kind was ever seen.
#[test]
fn kind_that_was_never_seen_turns_no_verdict_to_another_root() {
    let mut turns = Vec::new();
    for situation in &ALL {
        let before = whole(situation);
        let resource_of = |line: &str| fixture::object(line.trim()).kind.resource();
        let resources: BTreeSet<String> = situation.objects.lines().map(resource_of).collect();
        for resource in resources {
            let seen = situation.objects.lines().filter(|line| resource_of(line) != resource);
            let seen = seen.collect::<Vec<_>>().join("\n");
            let mut index = situation.index(&seen, situation.gone, None);
            let (cause, message) = (HiddenCause::Forbidden, "forbidden".into());
            let hidden = Observation::Hidden { resource: resource.clone(), cause, message };
            index.apply([hidden], fixture::now());
            let after = found(&index, fixture::now());
            let turned = turned(&before, &after);
            let turn = |it: &Diagnosis| (situation.cause, resource.clone(), head(it));
            turns.extend(turned.into_iter().map(turn));
        }
    }
    assert_turns(&turns, &TRUE_UNSEEN);
}

/// The names in the situations that a person has chosen, each with another one.
const NAMES: [(&str, &str); 22] = [
    ("shop", "zoo"),
    ("ops", "a"),
    ("n1", "ip-10-0-0-7.internal"),
    ("n2", "worker"),
    ("n9", "shop"),
    ("data", "web"),
    ("web", "data"),
    ("c1", "sidecar"),
    ("disk-1", "pvc-7"),
    ("a1", "csi-77"),
    ("front", "pods"),
    ("alone", "n1"),
    ("kept", "alone"),
    ("c", "kube-root"),
    ("w", "widget"),
    ("orders", "operator"),
    ("runner", "r"),
    ("other", "o"),
    ("keep", "policy-1"),
    ("fast", "shop"),
    ("train", "import"),
    ("sidecar", "c1"),
];

/// The text with other names. A name is a whole word of it, in the first or second part of an object's name or in a field.
fn renamed(objects: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut text = String::new();
    let mut rest = objects;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end.max(1));
        // A domain, a word in front of `=` and one of a kind's name are no names.
        let is_name = !text.ends_with('.')
            && !behind.starts_with(['.', '='])
            && !text.ends_with(['_', '"'])
            && text.chars().rev().find(|c| *c != ' ').is_some_and(|c| c != '\n');
        let other = NAMES.iter().find(|(name, _)| *name == word).filter(|_| is_name);
        text.push_str(other.map_or(word, |(_, other)| other));
        rest = behind;
    }
    text
}

/// The object by its other name.
fn renamed_object(object: &ObjectRef) -> ObjectRef {
    let other = |name: &Arc<str>| {
        let found = NAMES.iter().find(|(known, _)| **known == **name);
        found.map_or_else(|| name.clone(), |(_, other)| Arc::from(*other))
    };
    let (namespace, name) = (object.namespace.as_ref().map(other), other(&object.name));
    ObjectRef { namespace, name, ..object.clone() }
}

#[test]
fn names_do_not_matter() {
    for situation in &ALL {
        let summary = |index: &Index, name: fn(&ObjectRef) -> ObjectRef| {
            let found = found(index, fixture::now());
            let mut all: Vec<_> = found
                .iter()
                .map(|it| {
                    let (cause, confidence, root) =
                        (it.cause.name(), it.confidence, name(&it.root));
                    let mut held: Vec<_> = it.waiting.iter().map(|it| name(&it.object)).collect();
                    held.sort();
                    (cause, confidence, root, held, it.evidence.len(), it.stuck)
                })
                .collect();
            all.sort();
            all
        };
        let other = renamed(situation.objects);
        let index = situation.index(&other, &renamed(situation.gone), None);
        let expected = summary(&situation.whole(), renamed_object);
        assert_eq!(summary(&index, ObjectRef::clone), expected, "{}\n{other}", situation.cause);
    }
}

/// The text with the ages of conditions moved, as by a component whose clock is off.
fn skewed(objects: &str, seconds: i64) -> String {
    let part = |word: &str| {
        let mut parts: Vec<String> = word.split(':').map(str::to_owned).collect();
        let is_condition = parts.len() >= 5
            && parts.get(1).is_some_and(|it| matches!(&**it, "True" | "False" | "Unknown"));
        if let Some(age) = parts.get_mut(3).filter(|_| is_condition)
            && let Ok(known) = age.parse::<i64>()
        {
            *age = (known + seconds).to_string();
        }
        parts.join(":")
    };
    objects.split(' ').map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn skewed_clocks_never_turn_a_verdict_to_another_root() {
    for situation in &ALL {
        let before = whole(situation);
        for seconds in [-3_000, -150, 150, 3_000] {
            // The clock of those who write conditions.
            let index = situation.index(&skewed(situation.objects, seconds), situation.gone, None);
            let after = found(&index, fixture::now());
            let names = |found: &[Diagnosis]| -> Vec<(String, Confidence)> {
                found.iter().map(|it| (it.id.clone(), it.confidence)).collect()
            };
            assert_eq!(names(&after), names(&before), "{} {seconds}", situation.cause);
            // Our own clock.
            let index = situation.whole();
            let now = fixture::now() + SignedDuration::from_secs(seconds);
            let after = found(&index, now);
            let turned = turned(&before, &after);
            assert!(turned.is_empty(), "{} {seconds}: {turned:?}", situation.cause);
        }
    }
}
