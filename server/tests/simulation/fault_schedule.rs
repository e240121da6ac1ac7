//! The faults, operator commands and crashes of one simulation run, at random times, and the time at which all faults
//! are repaired.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    application::{
        Application, BYSTANDER, NFS, Neighbours, UNIT,
        late_object::NEW_PLURAL,
        neighbour::{METRICS, POLICY},
    },
    disk::{CrashPoint, WriteFailure},
    state::{kind, name, namespace, unit},
};

/// An action at a scheduled time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduledAction {
    Pause,
    Resume,
    Stop,
    /// The step, as a random number that is reduced modulo the number of steps.
    Skip(u64),
    /// Another run of the unit, or of one of its namespaces, is started.
    SecondRun {
        namespace: bool,
    },
    /// The process is killed.
    Kill,
    /// The process crashes at a later write of its journal: 0 is the next one.
    CrashAtWrite(u64, CrashPoint),
    /// The process crashes at a later DELETE, after its effect or before it: 0 is the next one.
    CrashAtDelete(usize, bool),
    /// The writes of the journal fail until the repair.
    FailDisk(WriteFailure),
    /// A Pod that is not part of the plan mounts a claim of the unit; by namespace and name of the claim.
    UnplannedMount(String, String),
    /// A ConfigMap that is not part of the plan is created in a namespace of the unit.
    LateObject(String),
    /// The same, of a kind that no watch shows: a LimitRange, a custom resource, or a kind that is younger than the plan.
    UnseenObject(String, &'static str),
    /// A kind is defined.
    NewKind,
    /// A Pod is created that is not part of the plan and needs an object of the unit: its ServiceAccount, its
    /// ConfigMap, or the Service that selects it.
    UnplannedPod(Value),
    /// A client without a session, or on another site, sends every request that changes something.
    UnauthenticatedRequests,
    /// The store forgets its old revisions.
    Compact,
    /// The Deployment behind a Service is scaled to zero; by namespace and name.
    BackendLost(String, String),
    /// A user deletes the terminating Pods that mount a claim by force.
    ForcedDeletion,
    /// A node gets a taint that evicts its Pods.
    Taint(&'static str),
    /// An annotation asks to keep the object of a step; the step and the annotation as random numbers.
    AskToKeep(u64, usize),
    /// The object of a step loses such annotations.
    TakeBack(u64),
}

/// A change of the cluster between the plan and the start of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Churn {
    /// The Pods of the unit are deleted, and their controllers replace them.
    PodsLost,
    /// Every Deployment and StatefulSet gets one replica more.
    ScaledUp,
}

/// A crash of the server, counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// At a write of its journal.
    AtWrite(u64, CrashPoint),
    /// At a DELETE, after its effect or before it.
    AtDelete(usize, bool),
    /// After this time.
    After(Duration),
}

/// Everything that is injected into one run. Times count from the start of the run or, with `is_early`, from the start
/// of the server.
#[derive(Clone, Debug)]
pub(crate) struct FaultSchedule {
    /// The faults, in the language of the sandbox's fault scripts.
    pub(crate) script: String,
    pub(crate) actions: Vec<(Duration, ScheduledAction)>,
    /// The time at which all faults are repaired.
    pub(crate) heal_after: Duration,
    /// The time for which the process stays down after each crash.
    pub(crate) downtime: Duration,
    /// The time for which the operator reads the plan before they confirm it.
    pub(crate) review_time: Duration,
    /// The change of the cluster while the operator reads the plan.
    pub(crate) churn: Option<Churn>,
    pub(crate) is_early: bool,
    /// The crash of the first server instance.
    pub(crate) crash: Option<Crash>,
    /// The crash of the second one, which recovers from the first crash.
    pub(crate) crash_in_recovery: Option<Crash>,
    /// The Service for which an Ingress is created just before the plan is made, by namespace and name.
    pub(crate) late_ingress: Option<(String, String)>,
}

/// The message of a webhook that denies. The page shows it to the operator, and the server's log must not repeat it.
pub(crate) const DENIAL: &str = "canary-0f-a-denial";

pub(crate) const NODES: [&str; 2] = ["node-1", "node-2"];

/// Controllers that may be stopped or slowed in every run.
const CONTROLLERS: [&str; 10] = [
    "garbage-collector-controller",
    "namespace-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-binder-controller",
    "job-controller",
    "endpointslice-controller",
    "external-provisioner",
];

/// Controllers that may be stopped or slowed in runs with rare faults.
const MORE_CONTROLLERS: [&str; 14] = [
    "default-scheduler",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "persistentvolume-attach-detach-controller",
    "external-attacher",
    "persistentvolume-protection-controller",
    "disruption-controller",
    "cronjob-controller",
    "daemonset-controller",
    "crd-finalizer",
    "ephemeral-volume-controller",
    "replicationcontroller-controller",
    "endpoints-controller",
];

impl FaultSchedule {
    /// A schedule without any fault except a crash, and perhaps one of the recovery from it.
    pub(crate) fn without_faults([crash, crash_in_recovery]: [Option<Crash>; 2]) -> Self {
        Self {
            script: String::new(),
            actions: vec![],
            heal_after: Duration::ZERO,
            downtime: Duration::from_millis(500),
            review_time: Duration::ZERO,
            churn: None,
            is_early: false,
            crash,
            crash_in_recovery,
            late_ingress: None,
        }
    }

    pub(crate) fn generate(rng: &mut Rng, application: &Application) -> Self {
        let length = [5, 20, 60, 150][rng.usize(..4)];
        let heal_after = Duration::from_secs(length);
        let mut script = String::new();
        let count = [0, 1, 2, 4, 8][rng.usize(..5)];
        for _ in 0..count {
            let line = request_fault(rng, length);
            script.push_str(&line);
            script.push('\n');
        }
        for _ in 0..[0, 0, 1, 2][rng.usize(..4)] {
            script.push_str(&component_outage(rng, length));
        }
        if let Some((kind, namespace, name)) = application.recreated.first()
            && rng.bool()
        {
            let plural = format!("{}s.apps", kind.to_lowercase());
            script.push_str(&format!("at 0s recreate {plural} {namespace}/{name}\n"));
        }
        let mut actions = vec![];
        let at = |rng: &mut Rng| Duration::from_millis(early_time(rng, length * 1_000));
        for _ in 0..[0, 0, 1, 2, 4][rng.usize(..5)] {
            let when = at(rng);
            match rng.u32(..20) {
                0..8 => {
                    actions.push((when, ScheduledAction::Pause));
                    let pause = Duration::from_secs(rng.u64(1..20));
                    actions.push((when + pause, ScheduledAction::Resume));
                }
                8..12 => actions.push((when, ScheduledAction::Skip(rng.u64(..)))),
                12 => actions.push((when, ScheduledAction::Stop)),
                _ => {
                    let namespace = rng.bool();
                    actions.push((when, ScheduledAction::SecondRun { namespace }));
                }
            }
        }
        for _ in 0..[0, 0, 1, 1, 3][rng.usize(..5)] {
            let action = match rng.u32(..6) {
                0 => ScheduledAction::Kill,
                1 => ScheduledAction::CrashAtDelete(rng.usize(..4), rng.bool()),
                _ => {
                    let crash_point =
                        [CrashPoint::Before, CrashPoint::Written, CrashPoint::Acknowledged]
                            [rng.usize(..3)];
                    ScheduledAction::CrashAtWrite(rng.u64(..6), crash_point)
                }
            };
            actions.push((at(rng), action));
        }
        if let Some((namespace, name)) = application.claims.first()
            && rng.u32(..10) < 4
        {
            let mount = ScheduledAction::UnplannedMount(namespace.clone(), name.clone());
            actions.push((Duration::from_millis(rng.u64(..2_000)), mount));
        }
        if rng.u32(..10) == 0 {
            // Immediately and into the first namespace, because most namespaces that have content still exist by then.
            actions.push((
                Duration::from_millis(rng.u64(..500)),
                ScheduledAction::LateObject("alpha-1".to_owned()),
            ));
        }
        if rng.u32(..10) == 0 {
            actions.push((at(rng), ScheduledAction::Compact));
        }
        actions.sort_by_key(|(at, _)| *at);
        let downtime = Duration::from_millis([0, 500, 5_000, 30_000][rng.usize(..4)]);
        // These are generated from a forked generator, so that older seeds keep the values that were generated for them
        // before these existed.
        let mut rng = rng.fork();
        for _ in 0..[0, 0, 1, 2][rng.usize(..4)] {
            script.push_str(&infrastructure_fault(&mut rng, length, application));
        }
        if let Some((namespace, name)) = application.backends.first()
            && rng.u32(..3) == 0
        {
            let when = Duration::from_millis(early_time(&mut rng, length * 1_000));
            actions.push((when, ScheduledAction::BackendLost(namespace.clone(), name.clone())));
        }
        actions.sort_by_key(|(at, _)| *at);
        let review_time = Duration::from_secs([0, 0, 2, 15, 70][rng.usize(..5)]);
        let churn = [None, Some(Churn::PodsLost), Some(Churn::ScaledUp)][rng.usize(..3)];
        Self {
            script,
            actions,
            heal_after,
            downtime,
            review_time,
            churn,
            is_early: false,
            crash: None,
            crash_in_recovery: None,
            late_ingress: None,
        }
    }
}

impl FaultSchedule {
    /// Adds faults that are rare, or that only some runs have.
    pub(crate) fn add_rare_faults(&mut self, rng: &mut Rng, application: &Application) {
        for _ in 0..rng.u32(1..4) {
            let line = rare_fault(rng, self.heal_after.as_secs(), application);
            self.script.push_str(&line);
        }
        if rng.u32(..3) == 0 {
            self.add_hold_back(rng);
        }
    }

    /// Lets DELETEs pile up: the API server answers 429 with Retry-After, and meanwhile the operator pauses or stops
    /// the run.
    fn add_hold_back(&mut self, rng: &mut Rng) {
        let length = self.heal_after.as_secs();
        self.script
            .push_str(&format!("on delete * as=unwind until={length}s p=0.5 -> 429 retry=2\n"));
        let when = Duration::from_millis(rng.u64(..4_000));
        if rng.u32(..4) == 0 {
            self.actions.push((when, ScheduledAction::Stop));
        } else {
            let pause = Duration::from_secs(rng.u64(3..20));
            self.actions.push((when, ScheduledAction::Pause));
            self.actions.push((when + pause, ScheduledAction::Resume));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Starts the faults before the server. The server may crash of them before a run has started.
    pub(crate) fn start_before_server(&mut self, rng: &mut Rng) {
        self.is_early = true;
        if rng.bool() {
            let crash_point =
                [CrashPoint::Before, CrashPoint::Written, CrashPoint::Acknowledged][rng.usize(..3)];
            self.crash = Some(Crash::AtWrite(rng.u64(..4), crash_point));
        }
    }

    /// Adds a Pod that is not part of the plan and needs an object of the unit.
    pub(crate) fn add_unplanned_pod(&mut self, rng: &mut Rng, application: &Application) {
        let objects = application.objects.iter().filter(|it| unit(it) == UNIT);
        let pods: Vec<Value> = objects.filter_map(pod_using).collect();
        if !pods.is_empty() && rng.u32(..6) == 0 {
            let when = Duration::from_millis(rng.u64(..3_000));
            self.actions
                .push((when, ScheduledAction::UnplannedPod(pods[rng.usize(..pods.len())].clone())));
            self.actions.sort_by_key(|(at, _)| *at);
        }
    }

    /// Adds a user who deletes Pods by force while the run goes on.
    pub(crate) fn add_forced_deletions(&mut self, rng: &mut Rng) {
        for _ in 0..4 {
            let when = Duration::from_millis(rng.u64(500..8_000));
            self.actions.push((when, ScheduledAction::ForcedDeletion));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Lets the journal's disk fail while the run goes on.
    pub(crate) fn add_disk_failure(&mut self, rng: &mut Rng) {
        let failure = [WriteFailure::Lost, WriteFailure::FirstKept][rng.usize(..2)];
        let when = Duration::from_millis(rng.u64(..3_000));
        self.actions.push((when, ScheduledAction::FailDisk(failure)));
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Makes the kubelet of one node or of all nodes, or the autoscaler, slow, failing or silent.
    pub(crate) fn slow_a_component(&mut self, rng: &mut Rng) {
        if rng.u32(..8) > 0 {
            return;
        }
        let from = early_time(rng, self.heal_after.as_secs());
        let who = [
            "node node-1",
            "node node-2",
            "controller kubelet",
            "controller horizontal-pod-autoscaler-controller",
        ][rng.usize(..4)];
        let off = if who.starts_with("node") { "silent" } else { "off" };
        let how = ["slow 3s", "slow 15s", "slow 70s", "failing", off][rng.usize(..5)];
        self.script.push_str(&format!("at {from}s {who} {how}\n"));
    }

    /// Adds faults of the neighbours: their aggregated API loses its backend, their webhook denies or times out, or a
    /// node evicts its Pods.
    pub(crate) fn add_neighbour_faults(&mut self, rng: &mut Rng, neighbours: Neighbours) {
        let length = self.heal_after.as_secs();
        if neighbours.metrics && rng.u32(..4) > 0 {
            let when = Duration::from_millis(rng.u64(..3_000));
            let who = (BYSTANDER.to_owned(), METRICS.to_owned());
            self.actions.push((when, ScheduledAction::BackendLost(who.0, who.1)));
        }
        if neighbours.policy && rng.u32(..4) > 0 {
            let how = ["fail context deadline exceeded", "deny not today"][rng.usize(..2)];
            let from = rng.u64(..4).min(length);
            self.script.push_str(&format!("at {from}s webhook {POLICY} {how}\n"));
        }
        if rng.u32(..8) == 0 {
            let when = Duration::from_millis(early_time(rng, length * 1_000));
            self.actions.push((when, ScheduledAction::Taint(NODES[rng.usize(..2)])));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Lets objects appear in the namespaces of the unit, of a kind whose watch is dead or of one that is new.
    pub(crate) fn add_unseen_content(&mut self, rng: &mut Rng, application: &Application) {
        let is_new = rng.bool();
        let watch =
            if is_new { "customresourcedefinitions.apiextensions.k8s.io" } else { "limitranges" };
        self.script.push_str(&format!("on watch {watch} as=unwind -> stall\n"));
        if is_new {
            self.actions.push((Duration::ZERO, ScheduledAction::NewKind));
        }
        for namespace in application.namespaces() {
            let plural = if is_new { NEW_PLURAL } else { "limitranges" };
            let earliest = if is_new { 1_000 } else { 100 };
            let when = Duration::from_millis(rng.u64(earliest..2_500));
            self.actions.push((when, ScheduledAction::UnseenObject(namespace.to_owned(), plural)));
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Hides the custom resources from the start of the run to the repair. Meanwhile somebody creates one.
    pub(crate) fn hide_custom_resources(&mut self, rng: &mut Rng, application: &Application) {
        let widget = application.objects.iter().find(|it| kind(it) == "Widget" && unit(it) == UNIT);
        if let Some(within) = widget.map(|it| namespace(it).to_owned()) {
            let when = Duration::from_millis(rng.u64(..500));
            self.actions.push((when, ScheduledAction::UnseenObject(within, "widgets")));
            self.actions.sort_by_key(|(at, _)| *at);
        }
        // The watch ends with the first event, which it does not deliver.
        self.script.push_str("on watch widgets.example.com as=unwind 1x -> reset\n");
        self.script.push_str("on list,watch widgets.example.com as=unwind -> 403\n");
        self.is_early = false;
        self.heal_after = self.heal_after.max(Duration::from_secs(20));
    }

    /// Lets an Ingress appear just before the plan while its watch is dead. The operator reads the plan until the server has
    /// noticed that.
    pub(crate) fn add_late_ingress(&mut self, rng: &mut Rng, application: &Application) {
        let services =
            application.objects.iter().filter(|it| kind(it) == "Service" && unit(it) == UNIT);
        let services: Vec<&Value> = services.collect();
        if services.is_empty() {
            return;
        }
        let service = services[rng.usize(..services.len())];
        self.late_ingress = Some((namespace(service).to_owned(), name(service).to_owned()));
        self.script.push_str("on watch ingresses.networking.k8s.io as=unwind from=5s -> stall\n");
        self.is_early = true;
        self.heal_after = self.heal_after.max(Duration::from_secs(100));
        self.review_time = Duration::from_secs(65);
    }

    /// Lets somebody ask to keep objects of the plan while the run is young, and take some of that back.
    pub(crate) fn add_keep_marks(&mut self, rng: &mut Rng) {
        for _ in 0..rng.u32(4..10) {
            let (step, mark) = (rng.u64(..), rng.usize(..));
            let when = Duration::from_millis(rng.u64(..6_000));
            self.actions.push((when, ScheduledAction::AskToKeep(step, mark)));
            if rng.bool() {
                let later = when + Duration::from_secs(rng.u64(2..20));
                self.actions.push((later, ScheduledAction::TakeBack(step)));
            }
        }
        self.actions.sort_by_key(|(at, _)| *at);
    }

    /// Adds requests of unauthenticated clients while the run is young.
    pub(crate) fn add_unauthenticated_requests(&mut self) {
        self.actions.push((Duration::from_millis(300), ScheduledAction::UnauthenticatedRequests));
        self.actions.sort_by_key(|(at, _)| *at);
    }
}

/// A Pod that needs this object, where Pods can need an object of this kind.
fn pod_using(object: &Value) -> Option<Value> {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace(object), "name": "unplanned-pod"},
        "spec": {"containers": [{"name": "main", "image": "example.com/main"}]},
    });
    let labels = match kind(object) {
        "ServiceAccount" => {
            pod["spec"]["serviceAccountName"] = json!(name(object));
            return Some(pod);
        }
        "ConfigMap" => {
            pod["spec"]["volumes"] = json!([{"name": "it", "configMap": {"name": name(object)}}]);
            return Some(pod);
        }
        "Service" => &object["spec"]["selector"],
        "PodDisruptionBudget" => &object["spec"]["selector"]["matchLabels"],
        "NetworkPolicy" => &object["spec"]["podSelector"]["matchLabels"],
        _ => return None,
    };
    pod["metadata"]["labels"] = labels.clone();
    labels.is_object().then_some(pod)
}

/// A fault below the API: the clock, a node, a volume, a webhook, or the rights of the server. It lasts until all
/// faults are repaired.
fn infrastructure_fault(rng: &mut Rng, length: u64, application: &Application) -> String {
    let from = early_time(rng, length);
    let node = NODES[rng.usize(..2)];
    let webhooks = &application.webhooks;
    let volumes = &application.volumes;
    match rng.u32(..12) {
        0..4 => {
            let by = ["-10m", "-40s", "-3s", "5s", "90s", "10m", "26h"][rng.usize(..7)];
            format!("at {from}s clock {by}\n")
        }
        4 => format!("at {from}s node {node} busy\n"),
        5 => format!("at {from}s node {node} stale-nfs\n"),
        6 => format!("at {from}s nfs {NFS} stale\n"),
        7 if !volumes.is_empty() => {
            format!("at {from}s volume {} busy\n", volumes[rng.usize(..volumes.len())])
        }
        8 | 9 if !webhooks.is_empty() => {
            let name = &webhooks[rng.usize(..webhooks.len())];
            let how = ["fail context deadline exceeded", "deny not today"][rng.usize(..2)];
            format!("at {from}s webhook {name} {how}\n")
        }
        _ => {
            let verbs = ["list,watch", "delete", "get", "*"][rng.usize(..4)];
            let resource = ["*", "pods", "configmaps", "namespaces"][rng.usize(..4)];
            let code = ["401", "403"][rng.usize(..2)];
            format!("on {verbs} {resource} as=unwind from={from}s -> {code}\n")
        }
    }
}

/// A time below a limit. Half of the times are in the first eighth, because most of a run happens in its first seconds.
fn early_time(rng: &mut Rng, limit: u64) -> u64 {
    if rng.bool() { rng.u64(..limit) } else { rng.u64(..limit.div_ceil(8)) }
}

fn request_fault(rng: &mut Rng, length: u64) -> String {
    let from = early_time(rng, length);
    let until = rng.u64(from + 1..=length);
    let resource = [
        "*",
        "*",
        "pods",
        "persistentvolumeclaims",
        "deployments.apps",
        "configmaps",
        "namespaces",
        "statefulsets.apps",
    ][rng.usize(..8)];
    let (verbs, action) = match rng.u32(..16) {
        0 | 1 => ("delete", "reset after"),
        2 => ("delete", ["504 after", "408 after", "502 after"][rng.usize(..3)]),
        3 => ("delete", "500 after"),
        4 => ("delete", "reset"),
        5 => ("delete,get,list", "429 retry=2"),
        6 => ("delete,list", "429"),
        7 => ("delete,get,list,watch", "503"),
        8 => ("watch", "truncate"),
        9 => ("watch", "stall"),
        10 => ("watch", "410"),
        11 => ("watch", "no-bookmarks"),
        12 => ("list,watch", "403"),
        13 => ("delete", "403"),
        14 => ("list", "stale 20"),
        _ => (
            "delete,get,list,watch",
            ["401", "408", "502", "reset", "latency 900ms", "latency 6s"][rng.usize(..6)],
        ),
    };
    let times = ["", "1x ", "3x "][rng.usize(..3)];
    let chance = ["1.0", "0.5", "0.2"][rng.usize(..3)];
    format!(
        "on {verbs} {resource} as=unwind from={from}s until={until}s {times}p={chance} -> {action}"
    )
}

/// A fault that only few runs have.
fn rare_fault(rng: &mut Rng, length: u64, application: &Application) -> String {
    let from = early_time(rng, length);
    let until = rng.u64(from + 1..=length);
    let resource = ["*", "pods", "deployments.apps", "persistentvolumeclaims"][rng.usize(..4)];
    let while_it_lasts = format!("as=unwind from={from}s until={until}s");
    match rng.u32(..8) {
        0 => format!("on delete {resource} {while_it_lasts} p=0.5 -> 503 after\n"),
        1 => {
            let action = ["429", "429 retry=2", "500"][rng.usize(..3)];
            format!("on watch {resource} {while_it_lasts} p=0.5 -> {action}\n")
        }
        2 => {
            let latency = ["200ms", "2s", "7s"][rng.usize(..3)];
            format!("on * * {while_it_lasts} -> latency {latency}\n")
        }
        3 if !application.webhooks.is_empty() => {
            let name = &application.webhooks[rng.usize(..application.webhooks.len())];
            format!("at {from}s webhook {name} deny {DENIAL}\n")
        }
        _ => {
            let name = MORE_CONTROLLERS[rng.usize(..MORE_CONTROLLERS.len())];
            let how = ["off", "slow 5s", "slow 20s", "failing"][rng.usize(..4)];
            format!("at {from}s controller {name} {how}\n")
        }
    }
}

fn component_outage(rng: &mut Rng, length: u64) -> String {
    let from = early_time(rng, length);
    if rng.u32(..3) == 0 {
        let node = NODES[rng.usize(..2)];
        return format!("at {from}s node {node} silent\n");
    }
    let name = CONTROLLERS[rng.usize(..CONTROLLERS.len())];
    let how = ["off", "slow 5s", "slow 20s", "failing"][rng.usize(..4)];
    format!("at {from}s controller {name} {how}\n")
}
