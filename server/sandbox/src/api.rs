//! The HTTP API: it turns path, query, headers and body into verbs of [`crate::cluster`], and the result back into
//! bytes. It is synchronous; [`crate::service`] moves the bytes.

mod authorize;
mod body;
mod columns;
mod discovery;
mod encode;
mod escalation;
mod impersonate;
mod list;
mod page;
mod openapi;
mod protobuf;
mod proxy;
mod query;
mod request;
mod review;
mod scale;
mod strict;
#[cfg(test)]
mod tests;
mod watch;
mod write;

use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

pub use request::Request;
pub(crate) use request::Verb;
pub(crate) use review::account_of;
pub(crate) use watch::{BOOKMARKS, Batch, End, Watch};

use self::{
    encode::{Form, View},
    request::Target,
};
use crate::{
    cluster::Cluster,
    controller::node_faults::NodeFaults,
    fault::{Action, Injection, RequestInfo},
    kind::Kind,
    log, object,
    status::Status,
    store::Key,
};

const JSON: &str = "application/json";

/// An answer before it is encoded.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) retry_after: Option<u32>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Text(String),
    Html(String),
    Json(Value),
    Object {
        object: Arc<Value>,
        view: View,
    },
    Page {
        page: page::Page,
        view: View,
    },
    Watch(Box<Watch>),
    /// The connection is cut.
    Reset,
    /// JSON with a content type of its own, such as aggregated discovery.
    Typed {
        value: Value,
        sort: &'static str,
        /// The ETag of exactly these bytes.
        tag: String,
    },
    /// 304: the client already has the content with this ETag.
    Unchanged {
        tag: String,
    },
}

impl Reply {
    fn new(code: StatusCode, content: Content) -> Self {
        Self { code, retry_after: None, content }
    }

    fn json(value: Value) -> Self {
        Self::new(StatusCode::OK, Content::Json(value))
    }

    fn object(code: StatusCode, object: Arc<Value>, view: View) -> Self {
        Self::new(code, Content::Object { object, view })
    }

    /// The answer to an unknown path.
    fn nowhere() -> Self {
        Self::new(StatusCode::NOT_FOUND, Content::Text("404 page not found\n".into()))
    }

    /// The ETag, which a client sends back as `If-None-Match` to get only changed content.
    pub(crate) fn tag(&self) -> Option<HeaderValue> {
        match &self.content {
            Content::Typed { tag, .. } | Content::Unchanged { tag } => {
                HeaderValue::from_str(tag).ok()
            }
            _ => None,
        }
    }

    /// The content type and the body. A watch has a body of its own. A 304 has neither, because its content type would
    /// replace the one of the content that the client has.
    pub(crate) fn bytes(&self) -> (Option<HeaderValue>, Vec<u8>) {
        let (sort, bytes) = match &self.content {
            Content::Text(text) => ("text/plain; charset=utf-8", text.clone().into_bytes()),
            Content::Html(text) => ("text/html", text.clone().into_bytes()),
            Content::Json(value) => (JSON, encode::value(value)),
            Content::Object { object, view } => (JSON, view.object(object)),
            Content::Page { page, view } => (JSON, view.list(page)),
            Content::Watch(_) | Content::Reset => (JSON, vec![]),
            Content::Typed { value, sort, .. } => (*sort, encode::value(value)),
            Content::Unchanged { .. } => return (None, vec![]),
        };
        (Some(HeaderValue::from_static(sort)), bytes)
    }
}

impl From<Status> for Reply {
    fn from(status: Status) -> Self {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = status.details.retry_after_seconds;
        Self { code, retry_after, content: Content::Json(status.to_value()) }
    }
}

/// Applies the fault rules to a request before it is handled.
pub(crate) fn inject_faults(cluster: &mut Cluster, request: &Request) -> Injection {
    let target = Target::parse(&request.path);
    let verb = Verb::of(request, &target);
    let key = target.key();
    let part = |part: fn(&Key) -> &str| key.as_ref().map(part).unwrap_or_default();
    let info = RequestInfo {
        verb: verb.name(),
        group: part(|key| &key.group),
        plural: part(|key| &key.plural),
        subresource: target.subresource(),
        namespace: part(|key| &key.namespace),
        name: part(|key| &key.name),
        user: &request.actor.name,
        cached: request.query.get("resourceVersion") == "0",
        delivery: None,
    };
    let now = cluster.steady();
    let Cluster { faults, rng, .. } = cluster;
    faults.inject(&info, now, rng)
}

/// Handles a request, unless a fault answers it, and records it in the log. `kubelets` answer behind the proxy of their nodes.
pub(crate) fn answer(
    cluster: &mut Cluster,
    kubelets: &NodeFaults,
    request: &Request,
    fault: Option<&Action>,
) -> Reply {
    let before = cluster.store.revision();
    let target = Target::parse(&request.path);
    let verb = Verb::of(request, &target);
    let key = target.key();
    let met =
        key.as_ref().and_then(|key| cluster.get(key)).map(|object| object::uid(object).to_owned());
    let mut actor = request.actor.clone();
    let early = fault.and_then(|fault| faulty(fault, false, verb, cluster, request));
    let mut reply = early.unwrap_or_else(|| {
        let request = Request { query: stale(request, fault, before), ..request.clone() };
        let answered = impersonate::actor(cluster, &request, verb, &target).and_then(|as_actor| {
            actor = as_actor;
            authorize::check(cluster, &actor, verb, &target, &request.query)?;
            route(cluster, kubelets, &Request { actor: actor.clone(), ..request }, verb, &target)
        });
        answered.unwrap_or_else(Reply::from)
    });
    if let Content::Watch(watch) = &mut reply.content {
        watch.meet(fault, &request.actor.name);
    } else if let Some(late) = fault.and_then(|fault| faulty(fault, true, verb, cluster, request)) {
        reply = late;
    }
    let revision = cluster.store.revision();
    let code = if matches!(reply.content, Content::Reset) { 0 } else { reply.code.as_u16() };
    cluster.log.push(log::Entry {
        time: cluster.steady(),
        actor: actor.name,
        verb: verb.name().into(),
        subresource: target.subresource().into(),
        uid: write::uid_precondition(request),
        met,
        dry_run: write::is_dry_run(request),
        code,
        effect: revision != before,
        revision,
        key,
        fault: fault.map(ToString::to_string),
    });
    reply
}

/// The answer that a fault gives in place of the server's: at once, or, with `late`, after the request has had its
/// effect.
fn faulty(
    fault: &Action,
    late: bool,
    verb: Verb,
    cluster: &Cluster,
    request: &Request,
) -> Option<Reply> {
    let status = match fault {
        Action::Reset { after } if *after == late && verb != Verb::Watch => {
            return Some(Reply::new(StatusCode::OK, Content::Reset));
        }
        Action::TooMany { retry_after } if !late => {
            let message = "too many requests, please try again later";
            Status::too_many_requests(message, retry_after.unwrap_or(0))
        }
        Action::Code { code: code @ (408 | 502), after } if *after == late => {
            return Some(of_proxy(*code));
        }
        // An open watch sends the 410 as an event instead.
        Action::Code { code: 410, .. } if verb == Verb::Watch => return None,
        Action::Code { code, after } if *after == late => match code {
            401 => Status::unauthorized(),
            403 => {
                let target = Target::parse(&request.path);
                authorize::refused(&request.actor, verb, &target)
            }
            410 => {
                Status::expired(format!("too old resource version: {}", cluster.store.revision()))
            }
            503 => Status::unavailable("apiserver is shutting down"),
            504 => Status::timeout("request did not complete within the allotted timeout"),
            _ => Status::internal("etcdserver: request timed out"),
        },
        _ => return None,
    };
    Some(status.into())
}

/// The answer of a proxy that did not get one from the API server, as nginx words it.
fn of_proxy(code: u16) -> Reply {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_GATEWAY);
    let html = format!(
        "<html>\r\n<head><title>{code}</title></head>\r\n<body>\r\n<center><h1>{code}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    Reply::new(code, Content::Html(html))
}

/// The query, rewritten to ask for an older revision where a cache would be behind. Only a list with resource version 0
/// may be answered from a cache.
fn stale(request: &Request, fault: Option<&Action>, revision: u64) -> query::Query {
    match fault {
        Some(Action::Stale(changes)) if request.query.get("resourceVersion") == "0" => {
            request.query.at(revision.saturating_sub(*changes).max(1))
        }
        _ => request.query.clone(),
    }
}

fn route(
    cluster: &mut Cluster,
    kubelets: &NodeFaults,
    request: &Request,
    verb: Verb,
    target: &Target,
) -> Result<Reply, Status> {
    let (group, version, namespace, plural, name, subresource) = match target {
        Target::Path(path) => return Ok(discovery::answer(cluster, request, path)),
        Target::Resource { group, version, namespace, plural, name, subresource } => {
            (group, version, namespace, plural, name, subresource)
        }
    };
    if let Some(refusal) = aggregated_is_away(cluster, group, version) {
        return Ok(refusal);
    }
    let Some(kind) = cluster.kinds.served(group, version, plural).cloned() else {
        return discovery::nothing_at(cluster, group);
    };
    let in_namespace = !namespace.is_empty();
    if in_namespace && !kind.namespaced || !in_namespace && kind.namespaced && !name.is_empty() {
        return discovery::nothing_at(cluster, group);
    }
    if !kind.is_stored() {
        return review::answer(cluster, request, &kind, namespace, verb);
    }
    let key = Key::new(group, plural, namespace, name);
    if let Some(object) = cluster.get(&key) {
        cluster.check_readable(&kind, object)?;
    }
    if !subresource.is_empty() {
        if subresource == "proxy" && verb == Verb::Get && kind.subresource(subresource).is_some() {
            return proxy::answer(cluster, kubelets, request, &key);
        }
        return of_subresource(cluster, request, verb, &kind, &key, subresource);
    }
    if !kind.has(verb.name())
        || name.is_empty() != verb.is_of_collection(in_namespace || !kind.namespaced)
    {
        return Err(refused_method(&kind, plural, verb));
    }
    match verb {
        Verb::Get => get(cluster, request, &kind, &key),
        Verb::List => {
            let (list, view) = list::list(cluster, request, &kind, namespace)?;
            Ok(Reply::new(StatusCode::OK, Content::Page { page: list, view }))
        }
        Verb::Watch => {
            let watch = Watch::open(cluster, request, &kind, namespace)?;
            Ok(Reply::new(StatusCode::OK, Content::Watch(Box::new(watch))))
        }
        Verb::Create => write::create(cluster, request, &kind, &key),
        Verb::Update => write::update(cluster, request, &kind, &key, ""),
        Verb::Patch => write::patch(cluster, request, &kind, &key, ""),
        Verb::Delete => write::delete(cluster, request, &kind, &key),
        Verb::DeleteCollection => write::delete_collection(cluster, request, &kind, namespace),
        Verb::Other => Err(Status::method_not_allowed(
            group,
            plural,
            &request.method.to_string().to_lowercase(),
        )),
    }
}

fn refused_method(kind: &Kind, resource: &str, verb: Verb) -> Status {
    if kind.is_custom() {
        Status::method_not_allowed(&kind.group, resource, verb.name())
    } else {
        Status::method_refused()
    }
}

/// 503 for a path whose APIService is not available.
fn aggregated_is_away(cluster: &Cluster, group: &str, version: &str) -> Option<Reply> {
    let key = Key::new("apiregistration.k8s.io", "apiservices", "", &format!("{version}.{group}"));
    let service = cluster.get(&key)?;
    let away = !service["spec"]["service"].is_null()
        && object::condition(service, "Available")["status"] != "True";
    away.then(|| {
        Reply::new(StatusCode::SERVICE_UNAVAILABLE, Content::Text("service unavailable\n".into()))
    })
}

fn get(cluster: &Cluster, request: &Request, kind: &Arc<Kind>, key: &Key) -> Result<Reply, Status> {
    let view = View::negotiate(request, kind)?;
    if view.form == (Form::Metadata { list: true }) {
        let group = kind.group.split('.').next().filter(|group| !group.is_empty());
        return Err(Status::not_acceptable_as(&format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
            group.unwrap_or("core"),
            kind.kind
        )));
    }
    if let Some(asked) = request.query.version("resourceVersion")?
        && asked > cluster.store.revision()
    {
        return Err(Status::too_large_version(asked, cluster.store.revision()));
    }
    let object =
        cluster.get(key).ok_or_else(|| Status::not_found(&key.group, &key.plural, &key.name))?;
    Ok(Reply::object(StatusCode::OK, object.clone(), view))
}

fn of_subresource(
    cluster: &mut Cluster,
    request: &Request,
    verb: Verb,
    kind: &Arc<Kind>,
    key: &Key,
    name: &str,
) -> Result<Reply, Status> {
    let Some(subresource) = kind.subresource(name) else {
        return Err(if kind.is_custom() {
            Status::not_found(&key.group, &key.plural, &key.name)
        } else {
            Status::unknown_resource()
        });
    };
    if !subresource.verbs.iter().any(|one| one == verb.name()) {
        let resource = format!("{}/{name}", kind.plural);
        return Err(refused_method(kind, &resource, verb));
    }
    let found = || Status::not_found(&key.group, &key.plural, &key.name);
    match (name, verb) {
        ("scale", _) => scale::answer(cluster, request, verb, kind, key),
        ("eviction", _) => write::evict(cluster, request, key),
        ("binding", _) => write::bind(cluster, request, key),
        ("token", _) => review::token(cluster, request, key),
        // Nothing behind a proxy is changed.
        ("proxy", _) => Err(Status::method_refused()),
        ("log", _) => {
            let pod = cluster.get(key).ok_or_else(found)?;
            // A Pod without a node has no logs.
            let on_node = !object::text(pod, &["spec", "nodeName"]).is_empty();
            let code = if on_node { StatusCode::OK } else { StatusCode::NO_CONTENT };
            Ok(Reply::new(code, Content::Text(String::new())))
        }
        ("exec" | "attach" | "portforward", _) => {
            cluster.get(key).ok_or_else(found)?;
            Err(Status::bad_request("Upgrade request required"))
        }
        (_, Verb::Get) => get(cluster, request, kind, key),
        (_, Verb::Patch) => write::patch(cluster, request, kind, key, name),
        _ => write::update(cluster, request, kind, key, name),
    }
}

/// A `Status` that reports success.
fn created() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}
