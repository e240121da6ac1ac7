//! The proxy of nodes (`pkg/registry/core/node/rest/rest.go`), as far as a kubelet's log is asked for: the log handler of
//! `pkg/kubelet/kubelet_server_journal.go` in front of `journalctl`. The answers are those that were recorded, see
//! `recordings/README.md`.
//!
//! A pattern is taken for a list of literal texts between `|`, with `\` before what is no letter or digit.

use http::StatusCode;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::{Content, Reply, request::Request};
use crate::{
    cluster::Cluster, controller::node_faults::NodeFaults, fault::NodeFault, status::Status,
    store::Key,
};

/// The most lines that a query may ask for.
const LINES: usize = 100_000;

/// Answers a GET below the proxy of a node.
pub(super) fn answer(
    cluster: &Cluster,
    kubelets: &NodeFaults,
    request: &Request,
    key: &Key,
) -> Result<Reply, Status> {
    let node = &*key.name;
    if cluster.get(key).is_none() {
        return Err(Status::not_found("", "nodes", node));
    }
    let is_away = cluster.faults.node(node).is_some_and(NodeFault::is_silent);
    if is_away || !kubelets.kubelets.contains(node) {
        return Err(Status::unavailable(
            "error trying to reach service: dial tcp 192.0.2.254:10250: connect: no route to host",
        ));
    }
    let Some((_, "logs/")) = request.path.split_once("/proxy/") else {
        return Ok(Reply::nowhere());
    };
    if !accepts_anything(request) {
        let said = "406: Not Acceptable\n\nAvailable representations: ";
        return Ok(text(StatusCode::NOT_ACCEPTABLE, said));
    }
    Ok(match Query::of(request) {
        Ok(query) => text(StatusCode::OK, &query.lines(kubelets, node, request.time)),
        Err((code, said)) => text(code, &format!("{said}\n")),
    })
}

fn text(code: StatusCode, said: &str) -> Reply {
    Reply::new(code, Content::Text(said.to_owned()))
}

/// Whether the list of media types has `*/*`.
fn accepts_anything(request: &Request) -> bool {
    let types = request.header("accept").split(',');
    types.filter_map(|one| one.split(';').next()).any(|one| matches!(one.trim(), "" | "*/*"))
}

/// A query for the log of a kubelet.
struct Query {
    since: Option<Timestamp>,
    lines: Option<usize>,
    /// A line has one of these; every line if there is none.
    texts: Vec<String>,
}

impl Query {
    /// The query, or its refusal with a code.
    fn of(request: &Request) -> Result<Self, (StatusCode, String)> {
        let bad = |why: String| (StatusCode::BAD_REQUEST, why);
        let refused = |why: String| (StatusCode::NOT_ACCEPTABLE, why);
        let given = |name: &str| Some(request.query.get(name)).filter(|value| !value.is_empty());
        let service = request.query.get("query");
        if service != "kubelet" {
            return Err(refused(format!(
                "query: Invalid value: {service:?}: only the kubelet logs here"
            )));
        }
        let since = given("sinceTime").map(|value| {
            let why = format!("sinceTime: Invalid value: {value:?}: invalid time format");
            value.parse().map_err(|_| bad(why))
        });
        let lines = given("tailLines").map(|value| {
            let why = format!(
                "tailLines: Invalid value: {value:?}: strconv.Atoi: parsing {value:?}: invalid syntax"
            );
            value.parse().map_err(|_| bad(why))
        });
        let lines = lines.transpose()?;
        if let Some(lines) = lines.filter(|lines| *lines > LINES) {
            let why = format!(
                "tailLines: Invalid value: {lines}: must be between 0 and {LINES}, inclusive"
            );
            return Err(refused(why));
        }
        let texts = given("pattern").into_iter().flat_map(|pattern| pattern.split('|'));
        let texts = texts.map(|text| text.replace('\\', "")).collect();
        Ok(Self { since: since.transpose()?, lines, texts })
    }

    /// The lines as `journalctl --output=short-precise` prints them. With a pattern and a limit it begins with the newest.
    fn lines(&self, kubelets: &NodeFaults, node: &str, now: Timestamp) -> String {
        let entries = kubelets.kubelet_logs.get(node).into_iter().flatten();
        let timed = entries.filter_map(|entry| Some((time_of(entry, now)?, entry)));
        let timed = timed.filter(|(time, _)| self.since.is_none_or(|since| *time >= since));
        let mut lines: Vec<String> = timed
            .flat_map(|(time, entry)| {
                let time = time.strftime("%b %d %H:%M:%S.%6f").to_string();
                entry.lines().map(move |line| format!("{time} {node} kubelet[30004]: {line}"))
            })
            .filter(|line| self.texts.is_empty() || self.texts.iter().any(|it| line.contains(it)))
            .collect();
        if lines.is_empty() {
            return "-- No entries --\n".to_owned();
        }
        let most = self.lines.unwrap_or(usize::MAX);
        lines.drain(..lines.len().saturating_sub(most));
        if self.lines.is_some() && !self.texts.is_empty() {
            lines.reverse();
        }
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }
}

/// The time in the header of klog, which has no year.
fn time_of(entry: &str, now: Timestamp) -> Option<Timestamp> {
    let written = entry.get(1..21)?;
    let this = TimeZone::UTC.to_datetime(now).year();
    let of_year = |year: i16| {
        let time = DateTime::strptime("%Y%m%d %H:%M:%S%.f", format!("{year:04}{written}"));
        TimeZone::UTC.to_timestamp(time.ok()?).ok()
    };
    of_year(this).filter(|time| *time <= now).or_else(|| of_year(this - 1))
}
