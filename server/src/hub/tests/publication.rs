//! How often readers are told.

use super::*;

/// Between two deltas of a topic; what a page may be behind.
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
        // Whoever asks for another page is answered when that has been taken in.
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
