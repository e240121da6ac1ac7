//! The proxy of nodes (`pkg/registry/core/node/rest/rest.go`), as far as a kubelet is asked about Pods that do not go: the log
//! handler of `pkg/kubelet/kubelet_server_journal.go` in front of `journalctl`, the list of running Pods and the metrics. The answers are those that were recorded, see
//! `recordings/README.md`.
//!
//! A pattern is taken for a list of literal texts between `|`, with `\` before what is no letter or digit.

use http::StatusCode;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::{Content, Reply, request::Request};
use crate::{
    cluster::Cluster,
    controller::{node_faults::NodeFaults, runtime::Runtime},
    fault::NodeFault,
    status::Status,
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
    let idle = Runtime::default();
    let runtime = kubelets.runtimes.get(node).unwrap_or(&idle);
    match request.path.split_once("/proxy/") {
        Some((_, "logs/")) => {}
        Some((_, "runningpods/")) => return Ok(Reply::json(runtime.running_pods())),
        Some((_, "metrics")) => return Ok(text(StatusCode::OK, &runtime.metrics())),
        _ => return Ok(Reply::nowhere()),
    }
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

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};
    use serde_json::json;

    use super::*;
    use crate::cluster::Actor;

    const ENTRIES: [&str; 3] = [
        "E1231 23:59:58.000001   30004 a.go:1] about one\nOutput: of one",
        "E0101 00:00:01.000001   30004 a.go:1] about two",
        "E0101 00:00:03.000001   30004 a.go:1] about one again",
    ];

    /// The answer about `node-a`, whose kubelet has these entries.
    fn asked(actor: Actor, path: &str, accept: &str, fault: Option<NodeFault>) -> (u16, String) {
        let now: Timestamp = "2027-01-01T00:01:00Z".parse().unwrap();
        let mut cluster = Cluster::new(now, 1);
        for name in ["node-a", "node-b"] {
            let node = json!({"metadata": {"name": name}});
            cluster.create(&Actor::admin(), "", "nodes", "", node).unwrap();
        }
        cluster.faults.set_node("node-a", fault);
        let mut kubelets = NodeFaults::default();
        kubelets.kubelets.insert("node-a".into());
        for entry in ENTRIES {
            kubelets.log("node-a", entry.to_owned());
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut headers = HeaderMap::new();
        headers.insert("accept", accept.parse().unwrap());
        let request = Request {
            method: Method::GET,
            path: format!("/api/v1/nodes/{path}"),
            query: super::super::query::Query::parse(query),
            headers,
            body: bytes::Bytes::new(),
            actor,
            time: now,
        };
        let reply = super::super::answer(&mut cluster, &kubelets, &request, None);
        let text = match &reply.content {
            Content::Text(text) => text.clone(),
            Content::Json(status) => status["message"].as_str().unwrap().to_owned(),
            other => panic!("{other:?}"),
        };
        (reply.code.as_u16(), text)
    }

    fn lines(query: &str) -> String {
        let path = format!("node-a/proxy/logs/?query=kubelet{query}");
        asked(Actor::admin(), &path, "*/*", None).1
    }

    #[test]
    fn lines_are_those_of_a_journal() {
        let [one, output, two, again] = [
            "Dec 31 23:59:58.000001 node-a kubelet[30004]: E1231 23:59:58.000001   30004 a.go:1] about one\n",
            "Dec 31 23:59:58.000001 node-a kubelet[30004]: Output: of one\n",
            "Jan 01 00:00:01.000001 node-a kubelet[30004]: E0101 00:00:01.000001   30004 a.go:1] about two\n",
            "Jan 01 00:00:03.000001 node-a kubelet[30004]: E0101 00:00:03.000001   30004 a.go:1] about one again\n",
        ];
        assert_eq!(lines(""), [one, output, two, again].concat());
        assert_eq!(lines("&tailLines=2"), [two, again].concat());
        assert_eq!(lines("&sinceTime=2027-01-01T00:00:02Z"), again);
        assert_eq!(lines("&pattern=of%20one%7Ct%5Cwo"), [output, two].concat());
        assert_eq!(lines("&pattern=one&tailLines=2"), [again, output].concat(), "newest first");
        assert_eq!(lines("&pattern=three"), "-- No entries --\n");
    }

    #[test]
    fn refusals_are_those_of_a_real_control_plane() {
        let clerk = Actor { name: "clerk".into(), ..Actor::default() };
        let logs = "node-a/proxy/logs/?query=kubelet";
        let admin = Actor::admin;
        let gone = (
            503,
            "error trying to reach service: dial tcp 192.0.2.254:10250: connect: no route to host",
        );
        let cases = [
            (
                clerk,
                logs,
                "*/*",
                None,
                (
                    403,
                    "nodes \"node-a\" is forbidden: User \"clerk\" cannot get resource \"nodes/proxy\" in API group \"\" at the cluster scope",
                ),
            ),
            (
                admin(),
                "node-x/proxy/logs/?query=kubelet",
                "*/*",
                None,
                (404, "nodes \"node-x\" not found"),
            ),
            (admin(), "node-b/proxy/logs/?query=kubelet", "*/*", None, gone),
            (admin(), logs, "*/*", Some(NodeFault::Silent), gone),
            (admin(), "node-a/proxy/pods", "*/*", None, (404, "404 page not found\n")),
            (
                admin(),
                logs,
                "text/plain",
                None,
                (406, "406: Not Acceptable\n\nAvailable representations: "),
            ),
            (
                admin(),
                "node-a/proxy/logs/?query=kubelet&tailLines=many",
                "*/*",
                None,
                (
                    400,
                    "tailLines: Invalid value: \"many\": strconv.Atoi: parsing \"many\": invalid syntax\n",
                ),
            ),
            (
                admin(),
                "node-a/proxy/logs/?query=kubelet&tailLines=100001",
                "*/*",
                None,
                (
                    406,
                    "tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive\n",
                ),
            ),
            (
                admin(),
                "node-a/proxy/logs/?query=kubelet&sinceTime=yesterday",
                "*/*",
                None,
                (400, "sinceTime: Invalid value: \"yesterday\": invalid time format\n"),
            ),
        ];
        for (actor, path, accept, fault, (code, said)) in cases {
            assert_eq!(
                asked(actor, path, accept, fault),
                (code, said.to_owned()),
                "{path} {accept}"
            );
        }
    }
}
