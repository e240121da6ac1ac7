use std::sync::Arc;

use super::*;
use crate::{
    fixture,
    observation::{AwayCause, Observation},
    plan::{self, Choices, Fate, StepId},
    run::{Call, RunEvent, RunId},
    unit::units,
    unknown_reason::UnknownReason,
};

/// Two applications; one uses what the other declares.
const SHOPS: &str = "
    ns shop of=shop
    cm shop/prices of=shop
    pvc shop/photos of=shop volume=pv-photos
    pv pv-photos of=shop claim=shop/photos
    deploy shop/web of=shop selector=app:web template=app:web uses=config:prices
    pod shop/report of=audit uses=config:prices,claim:photos
";

/// A world without runs.
fn world<'a>(
    index: &'a Index,
    graph: &'a Graph,
    units: &'a BTreeMap<UnitId, Unit>,
    diagnoses: &'a [Diagnosis],
) -> World<'a> {
    World {
        cluster: "test",
        demo: None,
        index,
        graph,
        units,
        runs: &[],
        diagnoses,
        attempts: &[],
        now: fixture::now(),
    }
}

#[test]
fn unit_card_is_the_same_in_overview_and_unit_page() {
    let index = fixture::index(SHOPS);
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let world = world(&index, &graph, &units, &[]);
    let cards = |records: Vec<Record>| -> Vec<UnitCard> {
        let units = records.into_iter().filter_map(|record| match record {
            Record::Unit(card) => Some(card),
            _ => None,
        });
        units.collect()
    };
    let together = cards(world.overview());
    let alone: Vec<UnitCard> =
        units.keys().filter_map(|id| world.unit(id)).flat_map(cards).collect();
    assert_eq!(together, alone);
    let shop = together.iter().find(|card| *card.id.as_str() == *"shop").unwrap();
    // The prices, the photos and the namespace of the report's Pod are shared. The volume only follows its claim.
    assert_eq!(shop.shared, 3);
}

/// The run page of the unit `shop` in the current cluster.
fn run_page(run: &Run, index: &Index) -> Vec<Record> {
    let graph = Graph::of(index);
    let units = units(index, &graph);
    let world = World {
        cluster: "test",
        demo: None,
        index,
        graph: &graph,
        units: &units,
        runs: &[run],
        diagnoses: &[],
        attempts: &[],
        now: fixture::now(),
    };
    [world.run(run), edges_of_plan(&run.plan)].concat()
}

fn run_of(index: &Index) -> Run {
    let graph = Graph::of(index);
    let units = units(index, &graph);
    let plan = plan::plan(
        index,
        &graph,
        &units[&UnitId::new("shop")],
        &Choices::default(),
        fixture::now(),
    )
    .unwrap();
    let mut run = Run::new(RunId::new("r"), Arc::new(plan));
    run.apply(fixture::now(), &RunEvent::Started { by: "Li".into() }).unwrap();
    run
}

fn happen(run: &mut Run, event: &RunEvent) {
    run.apply(fixture::now(), event).unwrap();
}

fn states(records: &[Record]) -> Vec<String> {
    let steps = records.iter().filter_map(|record| match record {
        Record::Step(card) => Some(format!("{} {:?}", card.object, card.state)),
        _ => None,
    });
    steps.collect()
}

#[test]
fn open_steps_of_a_stopped_run_show_their_current_state() {
    let text = "
        ns shop of=shop
        pod shop/gone of=shop uses=config:prices
        pod shop/going of=shop uses=config:prices
        cm shop/prices of=shop
    ";
    let index = fixture::index(text);
    let mut run = run_of(&index);
    let ids: Vec<StepId> = run.plan.steps.iter().map(|step| step.id).collect();
    for id in &ids[..2] {
        happen(&mut run, &RunEvent::CallStarted { step: *id, call: Call::Delete });
        happen(&mut run, &RunEvent::Accepted { step: *id });
    }
    let names = |run: &Run, index: &Index| states(&run_page(run, index));
    assert_eq!(
        names(&run, &index),
        [
            "Pod shop/going Requested",
            "Pod shop/gone Requested",
            "ConfigMap shop/prices Waiting",
            "Namespace shop Waiting"
        ]
    );
    happen(&mut run, &RunEvent::Stopping { by: "Li".into() });
    happen(&mut run, &RunEvent::Stopped);
    let later = text
        .replace("pod shop/gone of=shop uses=config:prices", "")
        .replace("pod shop/going", "pod shop/going deleted=0");
    let later = fixture::index(&later);
    assert_eq!(
        names(&run, &later),
        [
            "Pod shop/going Terminating",
            "Pod shop/gone Gone",
            "ConfigMap shop/prices Present",
            "Namespace shop Present"
        ]
    );
    // The counts in the head match the rows.
    let counts = run_page(&run, &later).into_iter().find_map(|record| match record {
        Record::Run(card) => Some(card.counts),
        _ => None,
    });
    let expected = [(State::Terminating, 1), (State::Gone, 1), (State::Present, 2)];
    assert_eq!(counts, Some(expected.into_iter().collect()));
}

#[test]
fn object_with_finalizers_counts_as_finalizing() {
    let index = fixture::index("ns shop of=shop\n cm shop/a of=shop finalizers=x");
    let mut run = run_of(&index);
    let id = run.plan.steps[0].id;
    happen(&mut run, &RunEvent::CallStarted { step: id, call: Call::Delete });
    happen(&mut run, &RunEvent::Accepted { step: id });
    happen(&mut run, &RunEvent::Terminating { step: id, since: fixture::now(), grace: 0 });
    let page = run_page(&run, &index);
    assert_eq!(states(&page), ["ConfigMap shop/a Finalizing", "Namespace shop Waiting"]);
    let counted = page.iter().find_map(|record| match record {
        Record::Run(card) => card.counts.get(&State::Finalizing).copied(),
        _ => None,
    });
    assert_eq!(counted, Some(1));
}

#[test]
fn kept_object_is_shown_even_if_it_is_hidden() {
    let index = fixture::index(SHOPS);
    let run = run_of(&index);
    let kept = |index: &Index| {
        let mut kept: Vec<String> = run_page(&run, index)
            .into_iter()
            .filter_map(|record| match record {
                Record::Object(card) if matches!(card.membership, Membership::Kept(_)) => {
                    Some(format!("{} {:?}", card.object, card.state))
                }
                _ => None,
            })
            .collect();
        kept.sort();
        kept
    };
    assert_eq!(
        kept(&index),
        [
            "ConfigMap shop/prices Kept",
            "Namespace shop Kept",
            "PersistentVolume pv-photos Kept",
            "PersistentVolumeClaim shop/photos Kept",
        ]
    );
    let mut fewer = fixture::index(&SHOPS.replace("cm shop/prices of=shop", ""));
    assert_eq!(kept(&fewer)[0], "ConfigMap shop/prices Gone");
    let message = "refused".into();
    fewer.apply([Observation::Unreachable { cause: AwayCause::Silent, message }], fixture::now());
    assert_eq!(kept(&fewer)[0], "ConfigMap shop/prices Unknown");
}

fn world_of<'a>(
    index: &'a Index,
    graph: &'a Graph,
    units: &'a BTreeMap<UnitId, Unit>,
    runs: &'a [&'a Run],
) -> World<'a> {
    World {
        cluster: "test",
        demo: None,
        index,
        graph,
        units,
        runs,
        attempts: &[],
        diagnoses: &[],
        now: fixture::now(),
    }
}

#[test]
fn namespace_with_the_objects_of_one_application_names_it() {
    let index = fixture::index(
        "ns shop of=shop\n cm shop/prices of=shop\n cm shop/kube-root-ca.crt
         ns tools\n cm tools/a of=tool\n cm tools/b",
    );
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let same: Vec<(String, Option<String>)> = world_of(&index, &graph, &units, &[])
        .overview()
        .into_iter()
        .filter_map(|record| match record {
            Record::Unit(card) => {
                Some((card.id.to_string(), card.same_as.map(|id| id.to_string())))
            }
            _ => None,
        })
        .collect();
    let expected = [("ns:shop", Some("shop")), ("ns:tools", None), ("shop", None), ("tool", None)];
    let expected = expected.map(|(id, same)| (id.to_owned(), same.map(str::to_owned)));
    assert_eq!(same, expected);
}

#[test]
fn unit_that_is_gone_shows_its_runs_and_the_cluster() {
    let index = fixture::index("ns shop of=shop\n cm shop/prices of=shop");
    let run = run_of(&index);
    let empty = fixture::index("ns other");
    let graph = Graph::of(&empty);
    let units = units(&empty, &graph);
    let runs = [&run];
    let world = world_of(&empty, &graph, &units, &runs);
    let records = world.unit(&UnitId::new("shop")).unwrap();
    assert!(matches!(records[..], [Record::Cluster(_), Record::Run(_)]), "{records:?}");
    assert_eq!(world.unit(&UnitId::new("never")), None);
}

#[test]
fn object_of_a_unit_is_deleted_or_kept_or_left_to_the_cluster() {
    let text = format!("{SHOPS}\n cm shop/kube-root-ca.crt\n endpoints shop/web");
    let index = fixture::index(&text);
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let run = run_of(&index);
    let plan = &run.plan;
    let left: Vec<String> =
        plan.left_to_cluster.iter().map(|left| left.object.to_string()).collect();
    assert_eq!(left, ["ConfigMap shop/kube-root-ca.crt", "EndpointSlice shop/web"]);
    let members = units[&UnitId::new("shop")].members.len();
    assert_eq!(members, plan.steps.len() + plan.kept.len() + plan.left_to_cluster.len());
    // The page of the run lists all of them.
    let page = run_page(&run, &index);
    let objects = page.iter().filter(|record| matches!(record, Record::Object(_))).count();
    assert_eq!(objects, members);
    let card = page.iter().find_map(|record| match record {
        Record::Run(card) => Some((card.total, card.kept, card.left_to_cluster)),
        _ => None,
    });
    assert_eq!(card, Some((plan.steps.len(), plan.kept.len(), 2)));
    // The page of the unit shows each with that membership.
    let memberships = world_of(&index, &graph, &units, &[]).unit(&UnitId::new("shop")).unwrap();
    let count = |is: fn(&Membership) -> bool| {
        let cards = memberships.iter().filter_map(|record| match record {
            Record::Object(card) => Some(&card.membership),
            _ => None,
        });
        cards.filter(|membership| is(membership)).count()
    };
    assert_eq!(count(|membership| *membership == Membership::Member), plan.steps.len());
    assert_eq!(count(|membership| *membership == Membership::Kept(KeptReason::MadeByCluster)), 2);
}

/// A page reads the advice again when the stamp of a card changes.
#[test]
fn stamp_of_a_card_changes_with_what_its_ways_out_hang_on() {
    let stamps = |text: &str| -> Vec<u32> {
        let index = fixture::index(text);
        let graph = Graph::of(&index);
        let found = crate::diagnosis::diagnose(&index, &graph, fixture::now());
        let card = |it| {
            diagnosis_card(&mut Stamps::new(&index, &graph), it, fixture::now(), &[], []).stamp
        };
        found.iter().map(card).collect()
    };
    let node = "
        node n1 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        pod shop/a node=n1 deleted=400 grace=30 containers=web:running";
    let one = stamps(node);
    assert_eq!(one, stamps(node));
    assert_ne!(one, stamps(&format!("{node}\npod shop/b node=n1")), "it reaches one more Pod");
    let other = "node n2 ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.";
    assert_ne!(one, stamps(&format!("{node}\n{other}")), "two nodes are silent");
    let serves = format!("{node} labels=app:a");
    let front = format!("{serves}\nsvc shop/front selector=app:a");
    assert_ne!(stamps(&serves), stamps(&front), "a Service has lost its Pod");
    let namespace = "
        ns shop deleted=400 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server available=Available:False:MissingEndpoints:500:no_endpoints";
    assert_ne!(
        stamps(namespace),
        stamps(&format!("{namespace}\npod shop/late")),
        "a Pod is inside"
    );
}

#[test]
fn page_of_a_unit_shows_the_causes_for_which_its_objects_wait_and_no_others() {
    let index = fixture::index("
        node n1 labels=topology.kubernetes.io/zone:eu-1a ready=Ready:Unknown:NodeStatusUnknown:600:Kubelet_stopped.
        ns shop of=shop
        ns other of=other
        pod shop/a of=shop node=n1 deleted=400 grace=30 containers=web:running
        cm other/b of=other deleted=400 finalizers=x.example/y
    ");
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let diagnoses = crate::diagnosis::diagnose(&index, &graph, fixture::now());
    let world = World { diagnoses: &diagnoses, ..world_of(&index, &graph, &units, &[]) };
    let shown = |records: Vec<Record>| -> Vec<String> {
        let cards = records.into_iter().filter_map(|record| match record {
            Record::Diagnosis(card) => {
                Some(format!("{} {:?}", card.diagnosis.id, card.incident.contact))
            }
            _ => None,
        });
        cards.collect()
    };
    let all = shown(world.trouble());
    assert_eq!(all.len(), 2, "{all:?}");
    let of_shop = shown(world.unit(&UnitId::new("shop")).unwrap());
    insta::assert_snapshot!(of_shop.join("\n"), @r#"nodeSilent//Node//n1/ [("topology.kubernetes.io/zone", "eu-1a")]"#);
}

#[test]
fn page_of_trouble_has_every_object_that_is_being_deleted_and_its_numbers_add_up() {
    let index = fixture::index(
        "
        ns shop
        ns web deleted=700
        pvc shop/a deleted=600 finalizers=kubernetes.io/pvc-protection
        pvc web/b deleted=900 finalizers=kubernetes.io/pvc-protection
        pod shop/user node=n1 uses=claim:a
        pod web/user node=n1 uses=claim:b
        node n1
        cm shop/c deleted=5
        pod shop/slow deleted=2 grace=600
        ",
    );
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let diagnoses = crate::diagnosis::diagnose(&index, &graph, fixture::now());
    let world = world(&index, &graph, &units, &diagnoses);
    let (mut waiting, mut in_time, mut card) = (Vec::new(), Vec::new(), None);
    for record in world.trouble() {
        match record {
            Record::Cluster(it) => card = Some(it),
            Record::Diagnosis(it) => waiting.push((it.namespaces, it.diagnosis.total)),
            Record::Object(it) => {
                let left = it.due.unwrap().duration_since(fixture::now()).as_secs();
                in_time.push((it.object.to_string(), left));
            }
            _ => {}
        }
    }
    // The ConfigMap may take 30 s, the Pod 15 s after its grace period.
    let expected = [("ConfigMap shop/c", 25), ("Pod shop/slow", 613)];
    assert_eq!(in_time, expected.map(|(name, left)| (name.to_owned(), left)));
    waiting.sort();
    let card = card.unwrap();
    assert_eq!((card.diagnoses, card.in_time), (waiting.len(), 2));
    let tally = world.tally().complete.unwrap();
    let metric: usize = tally.waiting.values().map(|it| it.objects).sum();
    assert_eq!(metric, waiting.iter().map(|(_, total)| total).sum::<usize>());
    assert_eq!(tally.in_time, in_time.len());
    let of_web = waiting.iter().filter(|(names, _)| *names == ["web"]).count();
    let of_shop = waiting.iter().filter(|(names, _)| *names == ["shop"]).count();
    assert_eq!((of_web, of_shop, of_web + of_shop), (waiting.len() - 1, 1, waiting.len()));
}

#[test]
fn edge_whose_order_a_plan_gives_up_says_so() {
    // The autoscaler is owned by the Deployment that it scales: one of the two orders is given up.
    let index = fixture::index(
        "
        deploy shop/web of=shop
        hpa shop/web of=shop owner=deploy/web target=deploy/web
        ",
    );
    let graph = Graph::of(&index);
    let units = units(&index, &graph);
    let world = world(&index, &graph, &units, &[]);
    let given_up =
        world.unit(&UnitId::new("shop")).unwrap().into_iter().filter_map(|it| match it {
            Record::Edge(card) if card.given_up => Some(format!("{:?}", card.kind)),
            _ => None,
        });
    assert_eq!(given_up.collect::<Vec<_>>(), ["Owns"]);
}

#[test]
fn right_that_is_asked_for_changes_the_card_whose_way_out_needs_it_and_no_other() {
    let mut index = fixture::index(
        "
        ns s4
        Topic.queue.example s4/orders deleted=400 finalizers=queue.example/topic
        Bucket.store.example s4/logs deleted=400 finalizers=store.example/bucket
        ",
    );
    let graph = Graph::of(&index);
    let diagnoses = crate::diagnosis::diagnose(&index, &graph, fixture::now());
    let stamps = |index: &Index| -> Vec<u32> {
        let card =
            |it| diagnosis_card(&mut Stamps::new(index, &graph), it, fixture::now(), &[], []).stamp;
        diagnoses.iter().map(card).collect()
    };
    let before = stamps(&index);
    let right = diagnoses
        .iter()
        .flat_map(|it| crate::remedy::remedies(it, &index, &graph, fixture::now()))
        .flat_map(|remedy| remedy.permissions())
        .find(|right| &*right.name == "orders")
        .unwrap();
    let review = crate::fetched::Review { allowed: false, said: "".into() };
    let answer = Ok(crate::fetched::Answer::Review(review));
    let question = crate::fetched::Question::Permission(right);
    index.apply([Observation::Fetched { question, answer }], fixture::now());
    let changed = before.iter().zip(stamps(&index)).map(|(before, after)| *before != after);
    let named = diagnoses.iter().map(|it| it.waiting[0].object.name.to_string());
    let changed: Vec<(String, bool)> = named.zip(changed).collect();
    assert!(changed.contains(&("orders".to_owned(), true)), "{changed:?}");
    assert!(changed.contains(&("logs".to_owned(), false)), "{changed:?}");
}

#[test]
fn step_that_a_person_may_take_on_says_what_becomes_of_the_data() {
    let fates = |volume: &str| {
        let claim = "ns shop of=shop\n pvc shop/data of=shop volume=pv";
        let index = fixture::index(&format!("{claim}\n pv pv claim=shop/data {volume}"));
        let mut run = run_of(&index);
        let claim = run.plan.steps.iter().find(|step| step.kind.is("", "PersistentVolumeClaim"));
        let step = claim.unwrap().id;
        let fate = |run: &Run| {
            run_page(run, &index).into_iter().find_map(|record| match record {
                Record::Step(card) if card.id == step => Some(card.fate),
                _ => None,
            })
        };
        let before = fate(&run).unwrap();
        let reason = UnknownReason::Unconfirmed { objects: vec![] };
        happen(&mut run, &RunEvent::BecameUnknown { step, reason });
        (before, fate(&run).unwrap())
    };
    assert_eq!(
        fates("reclaim=Delete"),
        (None, Some(Fate::Destroyed)),
        "it is said once it is asked"
    );
    assert_eq!(fates("of=storage"), (None, Some(Fate::LeftBehind)));
}
