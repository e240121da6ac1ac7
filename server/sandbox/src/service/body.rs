//! The body of a watch: lines that are sent as the events happen.

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

use super::{Body, Shared, signal::RevisionListener};
use crate::api::{BOOKMARKS, Batch, End, Watch};

struct Flow {
    shared: Weak<Shared>,
    listener: RevisionListener,
    watch: Watch,
    /// The batches that are under way, each with the time of its arrival. As on a connection, none overtakes another.
    held: VecDeque<(Instant, Batch)>,
    /// The lines that have arrived and are still to be sent.
    lines: VecDeque<Bytes>,
    /// The end that follows these lines.
    end: Option<End>,
    /// Whether the watch has ended, although not everything has arrived yet.
    ended: bool,
    deadline: Instant,
    beat: Instant,
}

pub(super) fn watching(shared: &Arc<Shared>, watch: Watch) -> Response<Body> {
    let now = Instant::now();
    let far = Duration::from_secs(60 * 60 * 24 * 365);
    let flow = Flow {
        shared: Arc::downgrade(shared),
        listener: shared.signal.listen(),
        deadline: now + watch.timeout.min(far),
        beat: now + BOOKMARKS,
        watch,
        held: VecDeque::new(),
        lines: VecDeque::new(),
        end: None,
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
                // A stalled watch does not end at its timeout either.
                Some(End::Silence) => pending::<()>().await,
                None => {}
            }
            if !self.ended {
                self.ask()?;
            }
            let now = Instant::now();
            if let Some((_, batch)) = self.held.pop_front_if(|(arrives, _)| *arrives <= now) {
                self.lines = batch.lines.into();
                self.end = batch.end;
                continue;
            }
            let mut until = if self.ended { None } else { Some(self.deadline.min(self.beat)) };
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
                () = self.listener.wait(), if !self.ended => {}
                () = sleep => {}
            }
        }
    }

    /// Asks the watch for the lines that it has to send by now. `None` if the sandbox has ended.
    fn ask(&mut self) -> Option<()> {
        let now = Instant::now();
        let over = now >= self.deadline;
        let beats = now >= self.beat || over;
        if now >= self.beat {
            self.beat = now + BOOKMARKS;
        }
        self.listener.mark();
        let mut batch = {
            let shared = self.shared.upgrade()?;
            let mut control_plane = shared.lock();
            self.watch.poll(&mut control_plane.cluster, beats)
        };
        if over {
            batch.end.get_or_insert(End::Whole);
        }
        self.ended = batch.end.is_some();
        if !batch.is_empty() {
            let arrives = now + batch.later;
            let last = self.held.back().map_or(arrives, |(last, _)| arrives.max(*last));
            self.held.push_back((last, batch));
        }
        Some(())
    }
}
