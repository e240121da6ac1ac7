//! How much of the machine a crowd costs, and that each of it hears. Alone in its process, whose memory it measures.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crowd;

use futures::FutureExt;
use http_body_util::BodyExt;
use jiff::Timestamp;
use sandbox::{
    controller::{Condition, Controllers},
    service::{Body, Sandbox},
};

use crowd::{OBJECTS, WATCHES, added, create, resident, watches};

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
    // Nobody collects these Pods, whose node is not there.
    let mut controllers = Controllers::default();
    for name in Controllers::names() {
        controllers.set(name, Condition::Off);
    }
    let sandbox = Sandbox::start(Timestamp::UNIX_EPOCH, 1, controllers);
    // Beside it there is only the test.
    sandbox.with(|world| world.cluster.log.stop());
    let mut watches = watches(&sandbox).await.unwrap();
    for number in 0..OBJECTS {
        create(&sandbox, number).await.unwrap();
        // Each has heard of it before anything else happens.
        assert_eq!(heard(&mut watches), [1; WATCHES], "{number}");
    }
    let [_, most] = resident();
    assert!(most > 0, "nothing says how much memory it has");
    assert!(most < LIMIT, "{} MB", most >> 20);
}
