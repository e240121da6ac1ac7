//! How much of the machine a crowd costs, and that each of it hears. Alone in its process, whose memory it measures.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crowd;

use std::time::Duration;

use futures::FutureExt;
use http_body_util::BodyExt;
use sandbox::service::Body;

use crowd::{OBJECTS, WATCHES, added, cluster, create, resident, running, watches};

/// As much as it may have, in bytes.
const LIMIT: usize = 200 << 20;

/// How many events each watch has told by now.
fn heard(watches: &mut [Body]) -> Vec<usize> {
    let one = |body: &mut Body| {
        let frames = std::iter::from_fn(|| body.frame().now_or_never());
        let chunks = frames.map(|frame| frame.unwrap().unwrap().into_data().unwrap());
        chunks.map(|chunk| added(&chunk)).sum()
    };
    watches.iter_mut().map(one).collect()
}

#[tokio::test(start_paused = true)]
async fn five_thousand_objects_under_fifty_watches() {
    let sandbox = cluster();
    let mut watches = watches(&sandbox).await.unwrap();
    for number in 0..OBJECTS {
        create(&sandbox, number).await.unwrap();
        // Each has heard of it before anything else happens.
        assert_eq!(heard(&mut watches), [1; WATCHES], "{number}");
        // The controllers have their turn.
        tokio::task::yield_now().await;
    }
    // All begin to run, and all hear of it.
    while running(&sandbox) < OBJECTS {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(heard(&mut watches), [0; WATCHES]);
    }
    let [_, most] = resident();
    assert!(most > 0, "nothing says how much memory it has");
    assert!(most < LIMIT, "{} MB", most >> 20);
}
