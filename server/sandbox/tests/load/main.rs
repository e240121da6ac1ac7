//! The memory of 5,000 Pods under 50 watches, each of which gets every event. It is alone in its process, whose memory
//! it measures.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crowd;

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http_body::Frame;
use http_body_util::BodyExt;
use sandbox::service::Body;
use tokio::time::timeout;

use crowd::{OBJECTS, cluster, count_events, create, resident, running, watches};

/// The largest memory of the process, in bytes.
const LIMIT: usize = 200 << 20;

/// The time by the sandbox's clock within which all Pods run.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A watch with the number of its events.
struct Watcher {
    body: Body,
    added: usize,
    modified: usize,
}

impl Watcher {
    fn receive(&mut self, frame: Frame<Bytes>) {
        let chunk = frame.into_data().unwrap();
        self.added += count_events(&chunk, "ADDED");
        self.modified += count_events(&chunk, "MODIFIED");
    }

    /// Reads everything that has come by now.
    fn catch_up(&mut self) {
        while let Some(frame) = self.body.frame().now_or_never() {
            self.receive(frame.unwrap().unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn five_thousand_objects_under_fifty_watches() {
    let sandbox = cluster();
    let watches = watches(&sandbox).await.unwrap();
    let watcher = |body| Watcher { body, added: 0, modified: 0 };
    let mut watchers: Vec<Watcher> = watches.into_iter().map(watcher).collect();
    for number in 0..OBJECTS {
        create(&sandbox, number).await.unwrap();
        // Each watch gets the event before anything else happens.
        watchers.iter_mut().for_each(Watcher::catch_up);
        assert!(watchers.iter().all(|it| it.added == number + 1), "{number}");
        // The controllers run.
        tokio::task::yield_now().await;
    }
    // All Pods start, and every watch gets all events of that.
    let run = async {
        while running(&sandbox) < OBJECTS {
            let frame = watchers[0].body.frame().await.unwrap().unwrap();
            watchers[0].receive(frame);
            watchers.iter_mut().for_each(Watcher::catch_up);
        }
    };
    timeout(TIMEOUT, run).await.unwrap();
    watchers.iter_mut().for_each(Watcher::catch_up);
    let modified = watchers[0].modified;
    // Each Pod changes at least twice: it is bound, and then it runs.
    assert!(modified >= 2 * OBJECTS, "{modified} changes");
    assert!(watchers.iter().all(|it| it.modified == modified && it.added == OBJECTS));
    let [_, most] = resident();
    assert!(most > 0, "nothing says how much memory it has");
    assert!(most < LIMIT, "{} MB", most >> 20);
}
