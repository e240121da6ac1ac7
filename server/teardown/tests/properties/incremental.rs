//! Whatever is observed, and however often somebody looks in between, the edges, the units, their cards and their pages that follow
//! the changes equal those that are computed from the whole index.

use proptest::prelude::*;
use teardown::{
    derived::Derived,
    fixture::{self, kind, now, object},
    graph::Graph,
    index::Index,
    object::Object,
    observation::{HiddenCause, Observation},
    relation::Edge,
    unit::{UnitId, units},
    world::{OverviewCards, World},
};

/// Every object with its possible states, which differ in all that edges and units depend on, and in status.
const OBJECTS: &[&[&str]] = &[
    &["ns a", "ns a of=shop", "ns a release=tools/shop"],
    &["ns b of=shop", "ns b", "ns b deleted=5"],
    &["node n1", "node n1 ready=no"],
    &[
        "deploy a/web of=shop selector=app:web template=app:web uses=claim:data,account:web",
        "deploy a/web selector=app:web template=app:other uses=account:web ready=1",
        "deploy a/web of=bank uid=web-2",
    ],
    &[
        "rs a/web-1 owner=deploy/web selector=app:web template=app:web uses=claim:data",
        "rs a/web-1 selector=app:web template=app:web",
        "rs a/web-1 owner=deploy/web owner-uid=web-2",
    ],
    &[
        "pod a/web-1-a owner=rs/web-1 labels=app:web uses=claim:data,config:settings,account:web node=n1",
        "pod a/web-1-a owner=rs/web-1 labels=app:web uses=claim:data,account:web node=n1 ready=no",
        "pod a/web-1-a owner=rs/web-1 labels=app:other uses=secret:key",
        "pod a/web-1-a labels=app:web of=bank deleted=3 uid=again",
    ],
    &["pod a/lone uses=claim:data,claim:lone,secret:key", "pod a/lone uses=claim:lone of=bank"],
    &[
        "pod b/lone uses=claim:data,claim:lone",
        "pod b/lone labels=app:web owner=Topic.example.com/t",
    ],
    &[
        "sts b/db of=shop selector=app:db template=app:db templates=data uses=account:db",
        "sts b/db templates=other release=b/db",
        "sts b/db of=shop templates=data uses=class:fast",
        "sts b/db of=shop templates=data uses=defaultclass,attributes:gold",
    ],
    &["pvc b/data-db-0 volume=pv-2", "pvc b/data-db-0 of=bank", "pvc b/other-db-0 volume=pv-2"],
    &["pvc a/data volume=pv-1", "pvc a/data of=bank volume=pv-1", "pvc a/data volume=pv-2"],
    &["pvc a/lone", "pvc a/lone class=fast", "pvc a/lone volume=pv-1 uid=claim-2"],
    &["pvc b/lone volume=pv-2", "pvc b/lone owner=pod/lone"],
    &["pv pv-1 claim=a/data", "pv pv-1", "pv pv-1 claim=a/lone claim-uid=claim-2"],
    &["pv pv-2 claim=b/data-db-0 reclaim=Delete", "pv pv-2"],
    &["cm a/settings of=shop", "cm a/settings release=a/shop", "cm a/settings argocd=shop"],
    &["cm b/settings", "cm b/settings owner=deploy/db labels=app.kubernetes.io/instance:db"],
    &["secret a/key owner=Topic.example.com/t", "secret a/key"],
    &["sa a/web uses=secret:key", "sa a/web of=shop"],
    &["sa a/operator"],
    &["svc a/web selector=app:web", "svc a/web selector=app:other of=shop", "svc a/web"],
    &["svc a/gate selector=app:operator", "svc a/gate selector=app:web type=LoadBalancer"],
    &["ing a/web routes=web,gate class=nginx uses=secret:key", "ing a/web routes=gate"],
    &["ingclass nginx", "ingclass nginx controller=k8s.io/ingress-nginx"],
    &["hpa a/web target=deploy/web", "hpa a/web target=rs/web-1"],
    &["pdb a/web selector=app:web", "pdb a/web selector=app:other"],
    &["netpol a/web selector=app:web", "netpol a/web"],
    &["role a/web updates=topics.example.com", "role a/web updates=configmaps"],
    &[
        "clusterrole all updates=*.*",
        "clusterrole all updates=topics/finalizers.example.com aggregates=part:yes",
        "clusterrole all updates=*.example.com",
        "clusterrole all updates=persistentvolumes,ingresses/status.networking.k8s.io deletes=persistentvolumes",
    ],
    &[
        "clusterrole part labels=part:yes of=shop",
        "clusterrole part labels=part:no",
        "clusterrole part labels=part:yes updates=topics.example.com",
    ],
    &["rb a/web role=role/web accounts=web,operator", "rb a/web role=role/web people=yes"],
    &[
        "crb all role=clusterrole/all accounts=a/operator,b/db",
        "crb all role=clusterrole/all accounts=a/*",
        "crb all role=clusterrole/all accounts=* of=shop",
        "crb all role=clusterrole/all",
    ],
    &[
        "deploy a/operator of=shop labels=app:operator template=app:operator uses=account:operator",
        "deploy a/operator template=app:operator uses=account:web",
    ],
    &[
        "pod a/operator-1 owner=deploy/operator labels=app:operator uses=account:operator",
        "pod a/operator-1 labels=app:operator uses=account:operator",
    ],
    &[
        "crd topics.example.com defines=Topic.example.com of=shop",
        "crd topics.example.com defines=Topic.example.com service=a/gate",
    ],
    &[
        "Topic.example.com a/t finalizers=example.com/topic",
        "Topic.example.com a/t of=bank owner=deploy/web",
    ],
    &["Topic.example.com b/t finalizers=example.com/topic owner=sts/db", "Topic.example.com b/t"],
    &["apiservice v1.example.com service=a/gate", "apiservice v1.example.com"],
    &[
        "webhook gate service=a/gate guards=topics.example.com",
        "webhook gate service=a/web of=shop",
    ],
    &[
        "class fast driver=disk.example",
        "class fast of=shop",
        "class fast driver=other.example default=yes",
    ],
    &["class slow driver=disk.example default=yes age=60", "class slow driver=disk.example"],
    &["csidriver disk.example", "csidriver disk.example labels=app.kubernetes.io/instance:disk"],
    &[
        "pv pv-3 class=fast driver=disk.example",
        "pv pv-3 class=fast driver=disk.example phase=Released",
        "pv pv-3 driver=disk.example claim=a/data reclaim=Delete",
        "pv pv-3 provisioner=example.com/nfs claim=a/data reclaim=Delete",
    ],
    &[
        "ds b/disk-csi-node drivers=disk.example",
        "ds b/disk-csi-node drivers=other.example owner=sts/db",
        "ds b/disk-csi-node drivers=other.example,disk.example labels=app.kubernetes.io/instance:disk",
    ],
    &[
        "deploy b/disk-csi-controller uses=account:db",
        "deploy b/disk-controller uses=account:db labels=app.kubernetes.io/instance:disk",
        "deploy b/disk-controller uses=account:db provisions=example.com/nfs",
        "deploy b/disk-controller uses=account:db provisions=example.com/other",
    ],
    &["vac gold driver=disk.example", "vac gold of=shop"],
    &[
        "snapshot b/s claim=lone content=c age=60",
        "snapshot b/s claim=lone ready=no of=bank age=60",
    ],
    &["content c of-snapshot=b/s driver=disk.example", "content c of-snapshot=b/t policy=Delete"],
    &[
        "pvc b/copy from=snapshot/s phase=Pending",
        "pvc b/copy from=snapshot/s",
        "pvc b/copy from=pvc/lone class=fast",
    ],
    &["attachment a volume=pv-3 node=n1 attacher=disk.example", "attachment a volume=pv-1"],
    &["gateway a/g refs=spec.gatewayClassName:gwclass/gc"],
    &[
        "Gateway.networking.istio.io b/i refs=secret/key selector=app:web",
        "Gateway.networking.istio.io b/i refs=secret/key selector=app:other",
    ],
    &["gwclass gc controller=istio.io/gateway-controller", "gwclass gc"],
    &["route a/r refs=gateway/g,svc/web", "route a/r refs=svc/b/gate,secret/key of=bank"],
    &[
        "ScaledObject.keda.sh a/s refs=spec.scaleTargetRef:deploy/web",
        "ScaledObject.keda.sh a/s refs=spec.scaleTargetRef:rs/web-1",
    ],
    &[
        "pod b/inline uses=driver:disk.example,devices:gpu",
        "pod b/inline uses=driver:other.example owner=ds/disk-csi-node",
        "pod b/inline uses=template:gpus of=shop",
    ],
    &[
        "deploy a/inline of=shop uses=driver:disk.example",
        "deploy a/inline uses=driver:other.example",
    ],
    &[
        "devices b/gpu driver=disk.example",
        "devices b/gpu driver=other.example owner=pod/inline",
        "devices b/gpu of=bank",
    ],
    &["template b/gpus", "template b/gpus of=shop"],
    &[
        "cm b/ordered config.kubernetes.io/depends-on=apps/namespaces/a/Deployment/web,/Namespace/a",
        "cm b/ordered of=shop config.kubernetes.io/depends-on=/namespaces/a/ConfigMap/settings",
        "cm b/ordered argocd=shop argocd.argoproj.io/sync-wave=1",
        "cm b/ordered owner=sts/db config.kubernetes.io/depends-on=/Namespace/a",
    ],
];

/// Units whose pages are read.
const READ: [&str; 3] = ["shop", "bank", "ns:a"];

/// An operation on the index: a change or a query.
#[derive(Clone, Debug)]
enum Operation {
    /// An object comes or changes.
    Apply(usize, usize),
    /// An object goes.
    Delete(usize, usize),
    /// The kind of an object is listed: some of the objects of that kind, each in one state.
    List(usize, Vec<(usize, usize)>),
    /// The kind of an object is hidden, or visible again.
    Hide(usize, bool),
    /// The kind of an object is no longer served.
    Withdraw(usize),
    /// The derived state is queried.
    Query,
}

fn operation() -> impl Strategy<Value = Operation> {
    let state = || (0..OBJECTS.len(), 0usize..4);
    prop_oneof![
        8 => state().prop_map(|(object, state)| Operation::Apply(object, state)),
        3 => state().prop_map(|(object, state)| Operation::Delete(object, state)),
        1 => (0..OBJECTS.len(), prop::collection::vec(state(), 0..30))
            .prop_map(|(object, states)| Operation::List(object, states)),
        1 => (0..OBJECTS.len(), any::<bool>()).prop_map(|(object, hide)| Operation::Hide(object, hide)),
        1 => (0..OBJECTS.len()).prop_map(Operation::Withdraw),
        4 => Just(Operation::Query),
    ]
}

fn state_of(object: usize, state: usize) -> Object {
    let states = OBJECTS[object];
    fixture::object(states[state % states.len()])
}

fn observation(operation: &Operation) -> Option<Observation> {
    Some(match operation {
        Operation::Apply(object, state) => {
            Observation::Applied(Box::new(state_of(*object, *state)))
        }
        Operation::Delete(object, state) => {
            let Object { kind, uid, .. } = state_of(*object, *state);
            Observation::Deleted { kind, uid }
        }
        Operation::List(object, states) => {
            let kind = state_of(*object, 0).kind;
            let mut objects: Vec<Object> = Vec::new();
            for listed in states.iter().map(|(object, state)| state_of(*object, *state)) {
                let is_other = |it: &Object| it.uid != listed.uid && it.name != listed.name;
                if listed.kind == kind && objects.iter().all(is_other) {
                    objects.push(listed);
                }
            }
            Observation::Listed { kind, objects }
        }
        Operation::Hide(object, hide) => {
            let resource = state_of(*object, 0).kind.resource();
            let (cause, message) = (HiddenCause::Forbidden, "forbidden".into());
            if *hide {
                Observation::Hidden { resource, cause, message }
            } else {
                Observation::Visible { resource }
            }
        }
        Operation::Withdraw(object) => Observation::Withdrawn(state_of(*object, 0).kind),
        Operation::Query => return None,
    })
}

fn edges(graph: &Graph) -> Vec<String> {
    let mut edges: Vec<String> = graph.edges().map(|edge| format!("{edge:?}")).collect();
    edges.sort();
    edges
}

/// The edges at both ends of every object, as the queries return them.
fn around(graph: &Graph, index: &Index) -> Vec<String> {
    let ends = |object: &Object| {
        let edges = |kind: &str, edges: Vec<Edge<'_>>| {
            let mut edges: Vec<String> =
                edges.into_iter().map(|edge| format!("{kind} {} {edge:?}", object.uid)).collect();
            edges.sort();
            edges
        };
        let from = edges("from", graph.from(&object.uid).collect());
        from.into_iter().chain(edges("to", graph.to(&object.uid).collect()))
    };
    let mut all: Vec<String> = index.objects().flat_map(|object| ends(object)).collect();
    all.sort();
    all
}

fn world<'a>(index: &'a Index, derived: &'a Derived) -> World<'a> {
    World {
        cluster: "test",
        demo: None,
        index,
        graph: derived.graph(),
        units: derived.units(),
        runs: &[],
        attempts: &[],
        diagnoses: derived.diagnoses(),
        now: now(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::with_cases(600) })]
    #[test]
    fn followed_state_equals_state_computed_from_scratch(
        operations in prop::collection::vec(operation(), 1..120),
    ) {
        let (mut index, mut derived) = (Index::default(), Derived::default());
        let mut cards = OverviewCards::default();
        let (mut shown, mut pages) = (Vec::new(), [(); 3].map(|()| None));
        index.apply(fixture::listing(&[]), now());
        for custom in ["Topic.example.com", "ScaledObject.keda.sh"] {
            index.apply([Observation::Watching(kind(custom))], now());
        }
        // Half of the objects are there from the start.
        let first = OBJECTS.iter().step_by(2).map(|states| object(states[0]));
        index.apply(first.map(|it| Observation::Applied(Box::new(it))), now());
        for operation in operations.iter().chain([&Operation::Query]) {
            match observation(operation) {
                Some(observation) => index.apply([observation], now()),
                None => {
                    derived.follow(&mut index, now());
                    let stale = derived.take_stale();
                    shown = world(&index, &derived).overview_with(&mut cards, &stale);
                    pages = READ.map(|unit| {
                        let unit = UnitId::new(unit);
                        let memberships = derived.memberships(&index, &unit, now());
                        world(&index, &derived).unit_with(&unit, &memberships.unwrap_or_default())
                    });
                }
            }
        }
        let scratch = Graph::of(&index);
        prop_assert_eq!(edges(derived.graph()), edges(&scratch));
        prop_assert_eq!(around(derived.graph(), &index), around(&scratch, &index));
        prop_assert_eq!(derived.units(), &units(&index, &scratch));
        prop_assert_eq!(shown, world(&index, &derived).overview());
        let unit = |unit| world(&index, &derived).unit(&UnitId::new(unit));
        prop_assert_eq!(pages, READ.map(unit));
    }
}
