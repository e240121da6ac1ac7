//! The body of a watch: lines as they come.

use std::{
    collections::VecDeque,
    future::pending,
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
use crate::api::{BOOKMARKS, Batch, End, Watch};

struct Flow {
    shared: Weak<Shared>,
    ear: Ear,
    watch: Watch,
    /// What it had to tell, each with when it arrives: none before the one in front of it, as on a connection.
    held: VecDeque<(Instant, Batch)>,
    /// What is still to be sent of what has arrived.
    lines: VecDeque<Bytes>,
    /// What comes after them.
    end: Option<End>,
    /// Whether the watch has nothing to tell any more, be it that not all has arrived.
    told: bool,
    deadline: Instant,
    beat: Instant,
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
        held: VecDeque::new(),
        lines: VecDeque::new(),
        end: None,
        told: false,
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
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some((Ok(Frame::data(line)), self));
            }
            match self.end {
                Some(End::Whole) => return None,
                Some(End::Cut) => {
                    self.end = Some(End::Whole);
                    return Some((Err(io::ErrorKind::ConnectionReset.into()), self));
                }
                // Not even its timeout ends it.
                Some(End::Silence) => pending::<()>().await,
                None => {}
            }
            if !self.told {
                self.ask()?;
            }
            let now = Instant::now();
            if let Some((_, batch)) = self.held.pop_front_if(|(arrives, _)| *arrives <= now) {
                self.lines = batch.lines.into();
                self.end = batch.end;
                continue;
            }
            let mut until = if self.told { None } else { Some(self.deadline.min(self.beat)) };
            if let Some((arrives, _)) = self.held.front() {
                until = Some(until.map_or(*arrives, |until| until.min(*arrives)));
            }
            let sleep = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.ear.wait(), if !self.told => {}
                () = sleep => {}
            }
        }
    }

    /// Asks the watch what there is to tell by now. `None` if there is nobody any more who could know.
    fn ask(&mut self) -> Option<()> {
        let now = Instant::now();
        let over = now >= self.deadline;
        let beats = now >= self.beat || over;
        if now >= self.beat {
            self.beat = now + BOOKMARKS;
        }
        self.ear.mark();
        let mut batch = {
            let shared = self.shared.upgrade()?;
            let mut world = shared.lock();
            self.watch.poll(&mut world.cluster, beats)
        };
        if over {
            batch.end.get_or_insert(End::Whole);
        }
        self.told = batch.end.is_some();
        if !batch.is_empty() {
            let arrives = now + batch.later;
            let last = self.held.back().map_or(arrives, |(last, _)| arrives.max(*last));
            self.held.push_back((last, batch));
        }
        Some(())
    }
}
