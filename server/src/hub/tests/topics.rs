//! Tests of the topics: what their readers receive, and how often.

use teardown::{
    fetched::Question,
    fold::View,
    message::{Key, Revision},
    observation::AwayCause,
    right::Right,
};

use super::*;

/// The range of the time between two deltas of a topic, in milliseconds.
const APART: std::ops::RangeInclusive<u128> = 50..=51;

fn objects(frame: &Frame) -> usize {
    let Ok(Message::Delta { put, .. }) = serde_json::from_str(&frame.json) else {
        panic!("no delta: {}", frame.json)
    };
    put.iter().filter(|record| matches!(record, Record::Object(_))).count()
}

#[tokio::test(start_paused = true)]
async fn burst_is_published_once_and_not_before_50_ms() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let topic = Topic::Unit(UnitId::new("shop"));
    let mut reader = process.hub.subscribe(topic, None).await.unwrap().unwrap();
    let add = async |number: u32| {
        let added = fixture::object(&format!("cm shop/c{number} of=shop"));
        process.see(vec![Observation::Applied(Box::new(added))]).await;
        // A query for another topic is answered only after the observations before it were processed.
        process.records(Topic::Units).await;
    };
    tokio::time::sleep(Duration::from_millis(200)).await;
    let quiet = Instant::now();
    add(0).await;
    let alone = reader.rest.recv().await.unwrap();
    assert_eq!(objects(&alone), 1, "a change after a quiet time is published at once");
    assert!(quiet.elapsed().as_millis() <= 1, "{:?}", quiet.elapsed());

    for burst in 0..3 {
        let published = Instant::now();
        for number in 0..20 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            add(1 + burst * 20 + number).await;
            assert!(reader.rest.is_empty(), "{:?} after the last", published.elapsed());
        }
        let frame = reader.rest.recv().await.unwrap();
        assert!(APART.contains(&published.elapsed().as_millis()), "{:?}", published.elapsed());
        assert_eq!(objects(&frame), 20, "one delta for the whole burst");
        assert!(reader.rest.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn frame_is_serialised_once_for_all_readers() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let topic = || Topic::Unit(UnitId::new("shop"));
    let mut readers = vec![];
    for _ in 0..2 {
        readers.push(process.hub.subscribe(topic(), None).await.unwrap().unwrap());
    }
    let [one, two] = readers.as_mut_slice() else { panic!("two") };
    assert!(Arc::ptr_eq(&one.first[0].json, &two.first[0].json));
    let added = fixture::object("cm shop/late of=shop");
    process.see(vec![Observation::Applied(Box::new(added))]).await;
    let (one, two) = (one.rest.recv().await.unwrap(), two.rest.recv().await.unwrap());
    assert!(Arc::ptr_eq(&one.json, &two.json));
}

/// A reader who had the topic open sees its end; a new reader is refused, even while others still read it.
#[tokio::test(start_paused = true)]
async fn gone_unit_is_unknown_to_new_readers_even_while_its_topic_has_one() {
    let process = Process::start(&Disk::default());
    let line = "cm shop/only of=shop";
    process.list(line).await;
    let unit = UnitId::new("shop");
    let topic = || Topic::Unit(unit.clone());
    let mut reader = process.hub.subscribe(topic(), None).await.unwrap().unwrap();
    process.gone(line).await;
    let delta = reader.rest.recv().await.unwrap();
    let Ok(Message::Delta { remove, .. }) = serde_json::from_str(&delta.json) else {
        panic!("{}", delta.json)
    };
    assert!(!remove.is_empty());
    let queried = process.hub.query(topic()).await.unwrap();
    assert_eq!(queried.map(|_| ()), Err(Refusal::UnknownUnit(unit.clone())));
    let new_reader = process.hub.subscribe(topic(), None).await.unwrap();
    assert_eq!(new_reader.err(), Some(Refusal::UnknownUnit(unit.clone())));
    let back = process.hub.subscribe(topic(), Some(delta.revision)).await.unwrap();
    assert!(back.is_ok_and(|back| back.first.is_empty()), "an earlier reader continues");
}

#[tokio::test(start_paused = true)]
async fn missing_unit_is_not_refused_before_the_cluster_is_listed() {
    let process = Process::start(&Disk::default());
    process.see(vec![Observation::Watching(fixture::kind("pod"))]).await;
    let topic = Topic::Unit(UnitId::new("bank"));
    let early = process.hub.query(topic.clone()).await.unwrap();
    assert_eq!(early.err(), Some(Refusal::NotReady));
    // A reader who waits for the unit sees which kinds are missing.
    let cause = AwayCause::Unauthorized;
    process.see(vec![Observation::Unreachable { cause, message: "Unauthorized".into() }]).await;
    let waiting = process.hub.subscribe(topic.clone(), None).await.unwrap().unwrap();
    let first = format!("{:?}", waiting.first);
    assert!(first.contains("Unauthorized"), "{first}");
    process.list(SHOP).await;
    let unknown = process.hub.subscribe(topic, None).await.unwrap();
    assert_eq!(unknown.err(), Some(Refusal::UnknownUnit(UnitId::new("bank"))));
}

#[tokio::test(start_paused = true)]
async fn readers_get_a_snapshot_then_deltas_and_resume_without_loss() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let topic = Topic::Unit(UnitId::new("shop"));
    let mut first = process.hub.subscribe(topic.clone(), None).await.unwrap().unwrap();
    assert_eq!(first.first.len(), 1);
    assert_eq!(first.first[0].kind, FrameKind::Snapshot);
    let mut view = View::new(first.first[0].revision, []);
    view.apply(serde_json::from_str(&first.first[0].json).unwrap()).unwrap();
    let seen = view.revision();

    // A burst becomes one delta with the last state of each record.
    for name in ["a", "b", "c"] {
        process
            .see(vec![Observation::Applied(Box::new(fixture::object(&format!(
                "cm shop/{name} of=shop"
            ))))])
            .await;
    }
    process.gone("cm shop/b").await;
    let frame = first.rest.recv().await.unwrap();
    assert_eq!(frame.kind, FrameKind::Delta);
    view.apply(serde_json::from_str(&frame.json).unwrap()).unwrap();
    assert!(view.records().contains_key(&Key::Object(fixture::uid("cm:shop/c"))));
    assert!(!view.records().contains_key(&Key::Object(fixture::uid("cm:shop/b"))));

    // A reader who was away receives the deltas they missed; a reader who missed none receives none.
    let missed = process.hub.subscribe(topic.clone(), Some(seen)).await.unwrap().unwrap();
    assert_eq!(missed.first, [frame]);
    let nothing =
        process.hub.subscribe(topic.clone(), Some(view.revision())).await.unwrap().unwrap();
    assert!(nothing.first.is_empty());
    // A revision of another boot, or of the future, is answered with a snapshot.
    for unusable in [Revision { boot: 1, ..seen }, Revision { count: seen.count + 1000, ..seen }] {
        let resumed = process.hub.subscribe(topic.clone(), Some(unusable)).await.unwrap().unwrap();
        assert_eq!(resumed.first[0].kind, FrameKind::Snapshot);
    }
    let unknown = process.hub.subscribe(Topic::Run(RunId::new("x")), None).await.unwrap();
    assert!(matches!(unknown, Err(Refusal::UnknownRun(_))));
}

#[tokio::test(start_paused = true)]
async fn reading_has_no_counts_before_every_kind_is_listed_and_its_ages_grow() {
    let process = Process::start(&Disk::default());
    let stuck = "ns shop\nnode n1\npvc shop/data deleted=600 finalizers=kubernetes.io/pvc-protection\n\
                 pod shop/a node=n1 uses=claim:data";
    let listing = fixture::listing(&fixture::objects(stuck));
    let watching = listing.iter().filter_map(|it| match it {
        Observation::Listed { kind, .. } => Some(Observation::Watching(kind.clone())),
        _ => None,
    });
    process.see(watching.collect()).await;
    let tally = process.hub.reading().await.unwrap().tally;
    assert_eq!((tally.complete, tally.reachable), (None, false));
    assert!(tally.kinds_pending > 0);

    process.see(listing).await;
    process.see(vec![Observation::Time(fixture::now())]).await;
    let age = async || {
        let tally = process.hub.reading().await.unwrap().tally;
        let waiting = tally.complete.unwrap().waiting;
        let [tally_of_cause] = waiting.values().collect::<Vec<_>>()[..] else {
            panic!("{waiting:?}")
        };
        tally.now.duration_since(tally_of_cause.oldest).as_secs()
    };
    assert_eq!(age().await, 600);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(age().await, 660);
}

#[tokio::test(start_paused = true)]
async fn leases_of_nodes_are_wanted_as_long_as_somebody_reads_a_page_with_nodes() {
    let (wanting, mut wanted) = watch::channel(Wanted::default());
    let process = Process::with(&Disk::default(), "test", |hub| hub.wanting(wanting));
    process.list("ns shop of=shop\nnode n1\npod shop/web of=shop node=n1\ncm bare/c of=bare").await;
    let asks = |wanted: &Wanted| wanted.questions.contains(&Question::NodeLeases);
    let _other = process.hub.subscribe(Topic::Unit(UnitId::new("bare")), None).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!asks(&wanted.borrow_and_update()), "no node is drawn");
    let reader = process.hub.subscribe(Topic::Unit(UnitId::new("shop")), None).await.unwrap();
    wanted.wait_for(asks).await.unwrap();
    drop(reader);
    wanted.wait_for(|wanted| !asks(wanted)).await.unwrap();
}

/// A message is made once for all readers of its topic, so it must hold nothing that needs more than the topic.
#[tokio::test(start_paused = true)]
async fn reader_with_the_right_of_a_topic_may_see_every_record_of_it() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let run = process.start_run("shop").await;
    let unit = UnitId::new("shop");
    for topic in [Topic::Units, Topic::Trouble, Topic::Unit(unit), Topic::Run(run)] {
        let records = process.records(topic.clone()).await;
        assert!(!records.is_empty(), "{topic}");
        for has in Right::ALL.into_iter().filter(|has| *has >= topic.needs()) {
            let hidden = records.iter().find(|record| record.needs() > has);
            assert!(hidden.is_none(), "{topic} with {has}: {hidden:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_page_says_that_notifications_do_not_arrive() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let failing = FailingDelivery { since: fixture::now(), why: "no connection".into() };
    let status = DeliveryStatus { failing: Some(failing), waiting: 1, lost: Vec::new() };
    for (status, expected) in [(status, 1), (DeliveryStatus::default(), 0)] {
        process.hub.note_delivery(status.clone()).await.unwrap();
        assert_eq!(process.hub.delivery().await.unwrap(), status);
        for topic in [Topic::Units, Topic::Trouble, Topic::Unit(UnitId::new("shop"))] {
            let answer = process.hub.query(topic.clone()).await.unwrap().unwrap();
            let Message::Snapshot { records, .. } = answer else { panic!("{answer:?}") };
            let said = records.iter().find_map(|record| match record {
                Record::Cluster(card) => Some(card.notifications),
                _ => None,
            });
            assert_eq!(said, Some(expected), "{topic}");
        }
    }
}
