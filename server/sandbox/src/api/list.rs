//! GET of a collection: pages, selectors and resource versions
//! (`apiserver/pkg/storage/etcd3/store.go`, `apis/meta/internalversion/validation`).

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{body, encode::View, page::Page, request::Request};
use crate::{
    cluster::Cluster,
    kind::Kind,
    object,
    selector::{Fields, Labels},
    status::{Cause, Status},
};

const UNVERSIONED_MATCH: &str =
    "resourceVersionMatch is forbidden unless resourceVersion is provided";

/// The objects that a request selects from a collection.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    pub(super) labels: Labels,
    pub(super) fields: Fields,
}

impl Selection {
    pub(super) fn read(request: &Request, kind: &Kind) -> Result<Self, Status> {
        let labels =
            Labels::parse(request.query.get("labelSelector")).map_err(Status::bad_request)?;
        let fields =
            Fields::parse(request.query.get("fieldSelector")).map_err(Status::bad_request)?;
        if let Some(unknown) = fields.names().find(|name| !is_selectable(kind, name)) {
            let why = if kind.is_custom() || !more_fields(kind).is_empty() {
                format!("field label not supported: {unknown}")
            } else {
                format!(
                    "{unknown:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            };
            return Err(Status::bad_request(why));
        }
        Ok(Self { labels, fields })
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }

    fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}

/// The fields by which a kind can be selected, besides name and namespace.
fn more_fields(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("" | "events.k8s.io", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("", "namespaces") => &["status.phase"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", _) => &["spec.signerName"],
        _ => &[],
    }
}

fn is_selectable(kind: &Kind, field: &str) -> bool {
    field == "metadata.name"
        || field == "metadata.namespace" && kind.namespaced
        || more_fields(kind).contains(&field)
}

pub(super) fn list(
    cluster: &Cluster,
    request: &Request,
    kind: &Arc<Kind>,
    namespace: &str,
) -> Result<(Page, View), Status> {
    let view = View::negotiate(request, kind)?;
    let selection = Selection::read(request, kind)?;
    check_match(request, false)?;
    let within = (!namespace.is_empty()).then_some(namespace);
    let current = cluster.store.revision();
    let asked = request.query.version_of_list("resourceVersion")?;
    request.query.number("timeoutSeconds")?;
    let limit =
        request.query.number("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0);
    let token = match request.query.get("continue") {
        "" => None,
        text => Some(Token::read(text)?),
    };
    if token.is_some() && asked.is_some() {
        let why = "specifying resource version is not allowed when using continue";
        return Err(Status::bad_request(why));
    }
    if let Some(asked) = asked.filter(|asked| *asked > current) {
        return Err(Status::too_large_version(asked, current));
    }
    let exact = match (&token, asked, request.query.get("resourceVersionMatch")) {
        (Some(token), ..) => token.revision,
        (None, Some(asked), "Exact") => Some(asked),
        // With a limit, a resource version without `resourceVersionMatch` means exactly that version.
        (None, Some(asked), "") if limit > 0 => Some(asked),
        _ => None,
    };
    cluster.check_all_readable(kind, within)?;
    let (group, plural) = (kind.group.as_str(), kind.plural.as_str());
    let (revision, mut items) = match exact.filter(|exact| *exact != current) {
        None => (current, cluster.list(group, plural, within).cloned().collect::<Vec<_>>()),
        Some(exact) => match cluster.store.list_at(group, plural, within, exact) {
            Ok(items) => (exact, items),
            Err(_) => {
                return Err(match token {
                    Some(token) => {
                        Status::expired_continue(Token { revision: None, ..token }.to_text())
                    }
                    None => {
                        Status::expired("The resourceVersion for the provided list is too old.")
                    }
                });
            }
        },
    };
    if let Some(Token { start, .. }) = &token {
        items.retain(|one| place(one) >= (start.0.as_str(), start.1.as_str()));
    }
    items.retain(|one| selection.matches(one));
    // Resource version 0 reads from the cache, which has no pages.
    let from_cache = request.query.get("resourceVersion") == "0" && token.is_none();
    let mut list = Page { items, revision, token: String::new(), remaining: None };
    if limit > 0 && list.items.len() > limit && !from_cache {
        let rest = list.items.split_off(limit);
        if let Some(next) = rest.first() {
            let (namespace, name) = place(next);
            let start = (namespace.to_owned(), name.to_owned());
            list.token = Token { revision: Some(revision), start }.to_text();
        }
        list.remaining = selection.is_empty().then_some(rest.len());
    }
    Ok((list, view))
}

fn place(object: &Value) -> (&str, &str) {
    (object::namespace(object), object::name(object))
}

/// `ValidateListOptions`.
pub(super) fn check_match(request: &Request, watching: bool) -> Result<(), Status> {
    let query = &request.query;
    let word = query.get("resourceVersionMatch");
    let invalid = |causes| Err(Status::invalid("meta.k8s.io", "ListOptions", "", causes));
    let refuse = |field: &str, why: &str| invalid(vec![Cause::forbidden(field, why)]);
    let initial = query.get("sendInitialEvents");
    if watching {
        return match (initial, word) {
            ("", "") => Ok(()),
            ("", _) => refuse(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
            (_, "NotOlderThan") => Ok(()),
            _ => {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                let mut causes = vec![Cause::forbidden("resourceVersionMatch", why)];
                if !word.is_empty() {
                    let words = ["NotOlderThan"];
                    causes.push(Cause::not_supported("resourceVersionMatch", &json!(word), &words));
                }
                invalid(causes)
            }
        };
    }
    if !initial.is_empty() {
        let mut causes = vec![];
        if !word.is_empty() && query.get("resourceVersion").is_empty() {
            causes.push(Cause::forbidden("resourceVersionMatch", UNVERSIONED_MATCH));
        }
        let why = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", why));
        return invalid(causes);
    }
    if word.is_empty() {
        return Ok(());
    }
    let version = query.get("resourceVersion");
    if version.is_empty() {
        return refuse("resourceVersionMatch", UNVERSIONED_MATCH);
    }
    if !query.get("continue").is_empty() {
        return refuse(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden when continue is provided",
        );
    }
    if word == "Exact" && version == "0" {
        return refuse(
            "resourceVersionMatch",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        );
    }
    if !["Exact", "NotOlderThan"].contains(&word) {
        let cause = Cause::not_supported(
            "resourceVersionMatch",
            &json!(word),
            &["Exact", "NotOlderThan", ""],
        );
        return Err(Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause]));
    }
    Ok(())
}

/// The position at which the next page begins.
#[derive(Debug)]
struct Token {
    /// The revision of the first page; `None` continues with the current objects.
    revision: Option<u64>,
    start: (String, String),
}

impl Token {
    fn to_text(&self) -> String {
        let revision = self.revision.map_or(json!(-1), |revision| json!(revision));
        let (namespace, name) = &self.start;
        let token =
            json!({"v": "meta.k8s.io/v1", "rv": revision, "start": format!("{namespace}/{name}")});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn read(text: &str) -> Result<Self, Status> {
        let wrong = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| wrong(&error.to_string()))?;
        let token: Value =
            serde_json::from_slice(&bytes).map_err(|error| wrong(&body::in_go(&error, &bytes)))?;
        if token["v"] != "meta.k8s.io/v1" {
            return Err(wrong("server does not recognize this encoded version"));
        }
        let start = object::text(&token, &["start"]);
        let (namespace, name) = start.split_once('/').ok_or_else(|| wrong("start"))?;
        let revision = token["rv"].as_u64();
        if revision == Some(0) {
            return Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        Ok(Self { revision, start: (namespace.into(), name.into()) })
    }
}
