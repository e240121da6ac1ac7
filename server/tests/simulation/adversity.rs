//! What goes wrong, and what people do, at random times; and when all of it heals.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    application::{
        Application, BYSTANDER, NFS, Neighbours, UNIT,
        neighbour::{METRICS, POLICY},
    },
    ledger::Cut,
    state::{kind, name, namespace, unit},
};

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Pause,
    Resume,
    Stop,
    /// The step, as a number that is cut to size.
    Skip(u64),
    /// Somebody starts another run of the unit, or of one of its namespaces.
    SecondRun {
        namespace: bool,
    },
    /// The process is killed.
    Kill,
    /// It dies at a write from here.
    CutWrite(u64, Cut),
    /// It dies at a DELETE from here; after its effect or before.
    CutDelete(usize, bool),
    /// A stranger's Pod mounts a claim of the unit.
    Stranger(String, String),
    /// Somebody puts something of their own into a namespace of the unit.
    Newcomer(String),
    /// Somebody's Pod comes to live off something of the unit: its account, its configuration, what selects it.
    Lodger(Value),
    /// Somebody who must not tries all that changes anything.
    Intrusion,
    /// Old revisions are forgotten.
    Compact,
    /// Nothing answers any more behind a Service, as its Deployment is scaled to nothing; by namespace and name.
    Unanswered(String, String),
    /// Somebody wants no Pods on a machine any more.
    Taint(&'static str),
}

/// What happens between a person's look at a plan and their word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stir {
    /// Pods are lost, and made anew by who controls them.
    PodsLost,
    /// Deployments and StatefulSets get a Pod more each.
    ScaledUp,
}

/// How the server dies first, counted from its first start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// At a write of its journal.
    AtWrite(u64, Cut),
    /// At a DELETE; after its effect or before.
    AtDelete(usize, bool),
}

/// All that goes wrong and all that people do, once the run has started or, where it is early, once the server does.
#[derive(Clone, Debug)]
pub(crate) struct Adversity {
    /// As the sandbox reads it.
    pub(crate) script: String,
    /// Sorted by time.
    pub(crate) happenings: Vec<(Duration, Happening)>,
    /// When everything is well again.
    pub(crate) heals: Duration,
    /// How long the process is away after each death.
    pub(crate) away: Duration,
    /// How long a person reads the plan before they confirm it.
    pub(crate) reading: Duration,
    /// What stirs while they read.
    pub(crate) stir: Option<Stir>,
    /// Whether what goes wrong counts its time from before the server starts.
    pub(crate) is_early: bool,
    pub(crate) death: Option<Death>,
}

/// What a webhook says when it denies: a page shows it to who has to act on it, the log does not repeat it.
pub(crate) const DENIAL: &str = "canary-0f-a-denial";

/// The machines.
pub(crate) const NODES: [&str; 2] = ["node-1", "node-2"];

/// Controllers that may be away for a while.
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

/// Controllers that may be away as well, where more goes wrong.
const OTHERS: [&str; 14] = [
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

impl Adversity {
    /// Nothing goes wrong, but for how the server dies.
    pub(crate) fn quiet(death: Option<Death>) -> Self {
        Self {
            script: String::new(),
            happenings: vec![],
            heals: Duration::ZERO,
            away: Duration::from_millis(500),
            reading: Duration::ZERO,
            stir: None,
            is_early: false,
            death,
        }
    }

    pub(crate) fn draw(rng: &mut Rng, application: &Application) -> Self {
        let length = [5, 20, 60, 150][rng.usize(..4)];
        let heals = Duration::from_secs(length);
        let mut script = String::new();
        let count = [0, 1, 2, 4, 8][rng.usize(..5)];
        for _ in 0..count {
            let line = rule(rng, length);
            script.push_str(&line);
            script.push('\n');
        }
        for _ in 0..[0, 0, 1, 2][rng.usize(..4)] {
            script.push_str(&misfortune(rng, length));
        }
        if let Some((kind, namespace, name)) = application.recreated.first()
            && rng.bool()
        {
            let plural = format!("{}s.apps", kind.to_lowercase());
            script.push_str(&format!("at 0s recreate {plural} {namespace}/{name}\n"));
        }
        let mut happenings = vec![];
        let at = |rng: &mut Rng| Duration::from_millis(early(rng, length * 1_000));
        for _ in 0..[0, 0, 1, 2, 4][rng.usize(..5)] {
            let when = at(rng);
            match rng.u32(..20) {
                0..8 => {
                    happenings.push((when, Happening::Pause));
                    let pause = Duration::from_secs(rng.u64(1..20));
                    happenings.push((when + pause, Happening::Resume));
                }
                8..12 => happenings.push((when, Happening::Skip(rng.u64(..)))),
                12 => happenings.push((when, Happening::Stop)),
                _ => {
                    let namespace = rng.bool();
                    happenings.push((when, Happening::SecondRun { namespace }));
                }
            }
        }
        for _ in 0..[0, 0, 1, 1, 3][rng.usize(..5)] {
            let crash = match rng.u32(..6) {
                0 => Happening::Kill,
                1 => Happening::CutDelete(rng.usize(..4), rng.bool()),
                _ => {
                    let cut = [Cut::Before, Cut::Written, Cut::Acknowledged][rng.usize(..3)];
                    Happening::CutWrite(rng.u64(..6), cut)
                }
            };
            happenings.push((at(rng), crash));
        }
        if let Some((namespace, name)) = application.claims.first()
            && rng.u32(..10) < 4
        {
            let stranger = Happening::Stranger(namespace.clone(), name.clone());
            happenings.push((Duration::from_millis(rng.u64(..2_000)), stranger));
        }
        if rng.u32(..10) == 0 {
            // Into the first namespace, right away: most that have content are not gone by then.
            happenings.push((
                Duration::from_millis(rng.u64(..500)),
                Happening::Newcomer("alpha-1".to_owned()),
            ));
        }
        if rng.u32(..10) == 0 {
            happenings.push((at(rng), Happening::Compact));
        }
        happenings.sort_by_key(|(at, _)| *at);
        let away = Duration::from_millis([0, 500, 5_000, 30_000][rng.usize(..4)]);
        // Drawn apart from the rest, so that what was drawn for a seed before there was this stays as it was.
        let mut rng = rng.fork();
        for _ in 0..[0, 0, 1, 2][rng.usize(..4)] {
            script.push_str(&mishap(&mut rng, length, application));
        }
        if let Some((namespace, name)) = application.answering.first()
            && rng.u32(..3) == 0
        {
            let when = Duration::from_millis(early(&mut rng, length * 1_000));
            happenings.push((when, Happening::Unanswered(namespace.clone(), name.clone())));
        }
        happenings.sort_by_key(|(at, _)| *at);
        let reading = Duration::from_secs([0, 0, 2, 15, 70][rng.usize(..5)]);
        let stir = [None, Some(Stir::PodsLost), Some(Stir::ScaledUp)][rng.usize(..3)];
        Self { script, happenings, heals, away, reading, stir, is_early: false, death: None }
    }
}

impl Adversity {
    /// Lets more go wrong.
    pub(crate) fn worsen(&mut self, rng: &mut Rng, application: &Application) {
        for _ in 0..rng.u32(1..4) {
            let line = rarity(rng, self.heals.as_secs(), application);
            self.script.push_str(&line);
        }
        if rng.u32(..3) == 0 {
            self.hold(rng);
        }
    }

    /// DELETEs pile up, as the API server asks for patience, and a person says meanwhile that none is to leave.
    fn hold(&mut self, rng: &mut Rng) {
        let length = self.heals.as_secs();
        self.script
            .push_str(&format!("on delete * as=unwind until={length}s p=0.5 -> 429 retry=2\n"));
        let said = Duration::from_millis(rng.u64(..4_000));
        if rng.u32(..4) == 0 {
            self.happenings.push((said, Happening::Stop));
        } else {
            let pause = Duration::from_secs(rng.u64(3..20));
            self.happenings.push((said, Happening::Pause));
            self.happenings.push((said + pause, Happening::Resume));
        }
        self.happenings.sort_by_key(|(at, _)| *at);
    }

    /// Lets what goes wrong do so before the server starts. It may die of it before a run is on its way.
    pub(crate) fn come_early(&mut self, rng: &mut Rng) {
        self.is_early = true;
        if rng.bool() {
            let cut = [Cut::Before, Cut::Written, Cut::Acknowledged][rng.usize(..3)];
            self.death = Some(Death::AtWrite(rng.u64(..4), cut));
        }
    }

    /// Lets a Pod come that lives off something of the unit.
    pub(crate) fn lodge(&mut self, rng: &mut Rng, application: &Application) {
        let objects = application.objects.iter().filter(|it| unit(it) == UNIT);
        let pods: Vec<Value> = objects.filter_map(lodger).collect();
        if !pods.is_empty() && rng.u32(..6) == 0 {
            let when = Duration::from_millis(rng.u64(..3_000));
            self.happenings.push((when, Happening::Lodger(pods[rng.usize(..pods.len())].clone())));
            self.happenings.sort_by_key(|(at, _)| *at);
        }
    }

    /// Lets the kubelet of one machine, or of all, or who scales, be slow, refused by the API server, or away.
    pub(crate) fn tire(&mut self, rng: &mut Rng) {
        if rng.u32(..8) > 0 {
            return;
        }
        let from = early(rng, self.heals.as_secs());
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

    /// Lets what is others' reach into the run: an API of theirs that nobody serves any more, a webhook of theirs that denies
    /// or does not answer, Pods that are sent away from a machine.
    pub(crate) fn reach(&mut self, rng: &mut Rng, neighbours: Neighbours) {
        let length = self.heals.as_secs();
        if neighbours.metrics && rng.u32(..4) > 0 {
            let when = Duration::from_millis(rng.u64(..3_000));
            let who = (BYSTANDER.to_owned(), METRICS.to_owned());
            self.happenings.push((when, Happening::Unanswered(who.0, who.1)));
        }
        if neighbours.policy && rng.u32(..4) > 0 {
            let how = ["fail context deadline exceeded", "deny not today"][rng.usize(..2)];
            let from = rng.u64(..4).min(length);
            self.script.push_str(&format!("at {from}s webhook {POLICY} {how}\n"));
        }
        if rng.u32(..8) == 0 {
            let when = Duration::from_millis(early(rng, length * 1_000));
            self.happenings.push((when, Happening::Taint(NODES[rng.usize(..2)])));
        }
        self.happenings.sort_by_key(|(at, _)| *at);
    }

    /// Lets somebody try the door, while the run is young.
    pub(crate) fn intrude(&mut self) {
        self.happenings.push((Duration::from_millis(300), Happening::Intrusion));
        self.happenings.sort_by_key(|(at, _)| *at);
    }
}

/// A Pod that needs this object, if Pods can need one of its kind.
fn lodger(object: &Value) -> Option<Value> {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace(object), "name": "stranger-lodger"},
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

/// What goes wrong below the API, with its clock, its admission, or with the rights of the server, until all heals.
fn mishap(rng: &mut Rng, length: u64, application: &Application) -> String {
    let from = early(rng, length);
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

/// A time below a limit, rather early: most of a run happens in its first seconds.
fn early(rng: &mut Rng, limit: u64) -> u64 {
    if rng.bool() { rng.u64(..limit) } else { rng.u64(..limit.div_ceil(8)) }
}

fn rule(rng: &mut Rng, length: u64) -> String {
    let from = early(rng, length);
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
        2 => ("delete", "504 after"),
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
            ["401", "reset", "latency 900ms", "latency 6s"][rng.usize(..4)],
        ),
    };
    let times = ["", "1x ", "3x "][rng.usize(..3)];
    let chance = ["1.0", "0.5", "0.2"][rng.usize(..3)];
    format!(
        "on {verbs} {resource} as=unwind from={from}s until={until}s {times}p={chance} -> {action}"
    )
}

/// What goes wrong rarely.
fn rarity(rng: &mut Rng, length: u64, application: &Application) -> String {
    let from = early(rng, length);
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
            let name = OTHERS[rng.usize(..OTHERS.len())];
            let how = ["off", "slow 5s", "slow 20s", "failing"][rng.usize(..4)];
            format!("at {from}s controller {name} {how}\n")
        }
    }
}

fn misfortune(rng: &mut Rng, length: u64) -> String {
    let from = early(rng, length);
    if rng.u32(..3) == 0 {
        let node = NODES[rng.usize(..2)];
        return format!("at {from}s node {node} silent\n");
    }
    let name = CONTROLLERS[rng.usize(..CONTROLLERS.len())];
    let how = ["off", "slow 5s", "slow 20s", "failing"][rng.usize(..4)];
    format!("at {from}s controller {name} {how}\n")
}
