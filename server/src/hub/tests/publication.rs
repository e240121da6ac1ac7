//! Tests of how often readers receive messages.

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
async fn a_burst_is_told_once_and_not_before_50_ms() {
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
    assert_eq!(objects(&alone), 1, "what comes after silence is told at once");
    assert!(quiet.elapsed().as_millis() <= 1, "{:?}", quiet.elapsed());

    for burst in 0..3 {
        let told = Instant::now();
        for number in 0..20 {
            tokio::time::sleep(Duration::from_millis(2)).await;
            add(1 + burst * 20 + number).await;
            assert!(reader.rest.is_empty(), "{:?} after the last", told.elapsed());
        }
        let frame = reader.rest.recv().await.unwrap();
        assert!(APART.contains(&told.elapsed().as_millis()), "{:?}", told.elapsed());
        assert_eq!(objects(&frame), 20, "all of it in one");
        assert!(reader.rest.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_told_is_written_once_for_all_who_read() {
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
async fn what_is_gone_is_unknown_even_while_somebody_still_looks_at_its_page() {
    let process = Process::start(&Disk::default());
    let line = "cm shop/only of=shop";
    process.list(line).await;
    let unit = UnitId::new("shop");
    let topic = || Topic::Unit(unit.clone());
    let mut reader = process.hub.subscribe(topic(), None).await.unwrap().unwrap();
    process.gone(line).await;
    let told = reader.rest.recv().await.unwrap();
    let Ok(Message::Delta { remove, .. }) = serde_json::from_str(&told.json) else {
        panic!("{}", told.json)
    };
    assert!(!remove.is_empty());
    let looked = process.hub.query(topic()).await.unwrap();
    assert_eq!(looked.map(|_| ()), Err(Refusal::UnknownUnit(unit.clone())));
    let newcomer = process.hub.subscribe(topic(), None).await.unwrap();
    assert_eq!(newcomer.err(), Some(Refusal::UnknownUnit(unit.clone())));
    let back = process.hub.subscribe(topic(), Some(told.revision)).await.unwrap();
    assert!(back.is_ok_and(|back| back.first.is_empty()), "who read it goes on");
}
