//! Tests of the counts for monitoring.

use super::*;

#[tokio::test(start_paused = true)]
async fn diagnoses_are_counted_when_they_are_made_again_and_not_when_they_are_read() {
    let process = Process::start(&Disk::default());
    process.list(SHOP).await;
    let rounds = async || process.hub.reading().await.unwrap().diagnosis_time.rounds;
    let first = rounds().await;
    assert!(first > 0);
    assert_eq!(rounds().await, first, "nothing has changed");
    let late = fixture::object("cm shop/late of=shop");
    process.see(vec![Observation::Applied(Box::new(late))]).await;
    assert_eq!(rounds().await, first + 1);
}
