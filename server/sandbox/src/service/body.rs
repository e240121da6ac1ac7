//! The body of a watch: lines as they come.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::Instant;

use super::{Body, Shared, bell::Ear};
use crate::api::{BOOKMARKS, Watch, WatchFault};

struct Flow {
    shared: Weak<Shared>,
    ear: Ear,
    watch: Watch,
    /// What is still to be sent of what it had to tell.
    lines: VecDeque<Bytes>,
    deadline: Instant,
    beat: Instant,
    ended: bool,
}

pub(super) fn watching(shared: &Arc<Shared>, watch: Watch) -> Response<Body> {
    let now = Instant::now();
    let far = Duration::from_secs(60 * 60 * 24 * 365);
    let flow = Flow {
        shared: Arc::downgrade(shared),
        ear: shared.bell.listen(),
        deadline: now + watch.timeout.min(far),
        beat: now + BOOKMARKS,
        watch,
        lines: VecDeque::new(),
        ended: false,
    };
    let body = StreamBody::new(stream::unfold(flow, Flow::next));
    let mut response = Response::new(body.boxed_unsync());
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl Flow {
    /// The next line, once there is one.
    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Self)> {
        if let Some(line) = self.lines.pop_front() {
            return Some((Ok(Frame::data(line)), self));
        }
        if self.ended {
            return None;
        }
        match self.watch.fault {
            // Not even its timeout ends it.
            Some(WatchFault::Stall) => std::future::pending::<()>().await,
            Some(WatchFault::Reset) => {
                self.ended = true;
                return Some((Err(io::ErrorKind::ConnectionReset.into()), self));
            }
            _ => {}
        }
        loop {
            let now = Instant::now();
            let over = now >= self.deadline;
            let beats = now >= self.beat || over;
            if now >= self.beat {
                self.beat = now + BOOKMARKS;
            }
            self.ear.mark();
            let batch = {
                let shared = self.shared.upgrade()?;
                let mut world = shared.lock();
                self.watch.poll(&mut world.cluster, beats)
            };
            self.ended = batch.ends || over;
            self.lines = batch.lines.into();
            if let Some(line) = self.lines.pop_front() {
                return Some((Ok(Frame::data(line)), self));
            }
            if self.ended {
                return None;
            }
            let until = self.deadline.min(self.beat);
            tokio::select! {
                biased;
                () = self.ear.wait() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }
}
