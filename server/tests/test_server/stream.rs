//! A stream of server-sent events, read one by one.

use axum::body::Body;
use http_body_util::BodyExt;

/// The events of a body.
pub(crate) struct Stream {
    body: Body,
    rest: String,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) name: String,
    /// Empty without an id.
    pub(crate) id: String,
    pub(crate) data: String,
}

impl Stream {
    pub(crate) fn of(body: Body) -> Self {
        Self { body, rest: String::new() }
    }

    /// The next event; none once the stream has ended or failed.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines();
                    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                    line.unwrap_or_default().to_owned()
                };
                let sent = Sent { name: field("event"), id: field("id"), data: field("data") };
                self.rest = rest.to_owned();
                return Some(sent);
            }
            let bytes = self.body.frame().await?.ok()?.into_data().ok()?;
            self.rest.push_str(std::str::from_utf8(&bytes).ok()?);
        }
    }
}
