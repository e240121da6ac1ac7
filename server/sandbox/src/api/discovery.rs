//! Discovery, plain and aggregated (`apidiscovery.k8s.io/v2`), version and health.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Content, Reply,
    encode::{self, ACCEPTED},
    openapi,
    request::Request,
};
use crate::{
    cluster::Cluster,
    kind::{self, Kind, Subresource},
    object,
    status::Status,
};

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(super) fn answer(cluster: &Cluster, request: &Request, path: &str) -> Reply {
    let trimmed = path.trim_end_matches('/');
    let parts: Vec<&str> = trimmed.split('/').skip(1).collect();
    let aggregated = || aggregated_version(request);
    match parts.as_slice() {
        ["api"] => match aggregated() {
            Err(status) => status.into(),
            Ok(true) => typed(request, aggregate(cluster, true), V2),
            Ok(false) => Reply::json(json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
            })),
        },
        ["apis"] => match aggregated() {
            Err(status) => status.into(),
            Ok(true) => typed(request, aggregate(cluster, false), V2),
            Ok(false) => {
                let groups: Vec<Value> = groups(cluster)
                    .iter()
                    .filter(|(group, _)| !group.is_empty())
                    .map(group_of)
                    .collect();
                Reply::json(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
            }
        },
        ["api", version] => resources(cluster, "", version),
        ["apis", group] => {
            match groups(cluster).iter().find(|(one, _)| one == group && !one.is_empty()) {
                Some(one) => {
                    let mut group = group_of(one);
                    group["kind"] = json!("APIGroup");
                    group["apiVersion"] = json!("v1");
                    Reply::json(group)
                }
                None => Reply::nowhere(),
            }
        }
        ["apis", group, version] => resources(cluster, group, version),
        ["version"] => Reply::json(json!({
            "major": "1", "minor": "36", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "2026-07-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "sandbox",
        })),
        ["healthz" | "livez" | "readyz", ..] => {
            Reply::new(StatusCode::OK, Content::Text("ok".into()))
        }
        ["openapi", "v3"] => Reply::json(openapi::index(cluster)),
        ["openapi", "v3", rest @ ..] => match openapi::document(cluster, &rest.join("/")) {
            Some(document) => Reply::json(document),
            None => Reply::nowhere(),
        },
        [] | [""] => {
            let mut paths: Vec<String> = [
                "/api",
                "/api/v1",
                "/apis",
                "/healthz",
                "/livez",
                "/openapi/v3",
                "/readyz",
                "/version",
            ]
            .map(String::from)
            .to_vec();
            for (group, versions) in groups(cluster).iter().filter(|(group, _)| !group.is_empty()) {
                paths.push(format!("/apis/{group}"));
                paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
            }
            paths.sort();
            Reply::json(json!({"paths": paths}))
        }
        _ => Reply::nowhere(),
    }
}

fn typed(request: &Request, value: Value, sort: &'static str) -> Reply {
    let mut hasher = DefaultHasher::new();
    encode::value(&value).hash(&mut hasher);
    let tag = format!("\"{:016X}\"", hasher.finish());
    if request.header("if-none-match") == tag {
        return Reply::new(StatusCode::NOT_MODIFIED, Content::Unchanged { tag });
    }
    Reply::new(StatusCode::OK, Content::Typed { value, sort, tag })
}

/// Whether the client accepts aggregated discovery in the version that is served, `v2`.
///
/// 406 if it accepts only forms that are not served, such as `v2beta1`, which was removed.
fn aggregated_version(request: &Request) -> Result<bool, Status> {
    let accept = request.header("accept");
    let mut plain = accept.is_empty();
    for one in accept.split(',') {
        let has = |text: &str| one.split(';').any(|part| part.trim() == text);
        if has("as=APIGroupDiscoveryList") && has("g=apidiscovery.k8s.io") && has("v=v2") {
            return Ok(true);
        }
        plain |= !one.split(';').any(|part| part.trim().starts_with("as="));
    }
    if plain { Ok(false) } else { Err(Status::not_acceptable(&ACCEPTED)) }
}

/// The groups with their versions, the preferred version first, ordered by the priorities of their APIServices.
fn groups(cluster: &Cluster) -> Vec<(String, Vec<String>)> {
    let mut services: Vec<(i64, String, i64, String)> = cluster
        .list("apiregistration.k8s.io", "apiservices", None)
        .map(|one| {
            let number = |field: &str| -one["spec"][field].as_i64().unwrap_or_default();
            let text = |field: &str| object::text(one, &["spec", field]).to_owned();
            (
                number("groupPriorityMinimum"),
                text("group"),
                number("versionPriority"),
                text("version"),
            )
        })
        .collect();
    // Versions of equal priority have the order of versions.
    services.sort_by(|(.., one), (.., other)| {
        kind::version_order(one).cmp(&kind::version_order(other))
    });
    services.sort_by_key(|(minimum, group, priority, _)| (*minimum, group.clone(), *priority));
    let mut groups: Vec<(String, Vec<String>)> = vec![];
    for (_, group, _, version) in services {
        match groups.iter_mut().find(|(one, _)| *one == group) {
            Some((_, versions)) => versions.push(version),
            None => groups.push((group, vec![version])),
        }
    }
    groups
}

fn group_of((group, versions): &(String, Vec<String>)) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

fn kinds_of<'a>(
    cluster: &'a Cluster,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Kind> {
    cluster
        .kinds
        .iter_versions()
        .map(|kind| &**kind)
        .filter(move |kind| kind.group == group && kind.version == version)
}

fn resources(cluster: &Cluster, group: &str, version: &str) -> Reply {
    if let Some(refusal) = super::aggregated_is_away(cluster, group, version) {
        return refusal;
    }
    if kinds_of(cluster, group, version).next().is_none() {
        return nothing_at(cluster, group).unwrap_or_else(Reply::from);
    }
    let mut listed = vec![];
    for kind in kinds_of(cluster, group, version) {
        let mut one = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
            "verbs": kind.verbs,
        });
        if !kind.short_names.is_empty() {
            one["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            one["categories"] = json!(kind.categories);
        }
        listed.push(one);
        for sub in &kind.subresources {
            let mut one = json!({
                "name": format!("{}/{}", kind.plural, sub.name), "singularName": "", "namespaced": kind.namespaced,
                "kind": sub.kind, "verbs": sub.verbs,
            });
            if (&sub.group, &sub.version) != (&kind.group, &kind.version) {
                one["group"] = json!(sub.group);
                one["version"] = json!(sub.version);
            }
            listed.push(one);
        }
    }
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Reply::json(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}),
    )
}

/// The answer for a version or resource that a group does not have. For the server's own groups, which handle every
/// path below them, it is a `Status`. For other groups, and for those of custom resources, it is the page for an
/// unknown path.
pub(super) fn nothing_at(cluster: &Cluster, group: &str) -> Result<Reply, Status> {
    let built_in = |kind: &Kind| kind.group == group && !kind.is_custom();
    if cluster.kinds.iter_versions().any(|kind| built_in(kind)) {
        Err(Status::unknown_resource())
    } else {
        Ok(Reply::nowhere())
    }
}

fn aggregate(cluster: &Cluster, legacy: bool) -> Value {
    let groups = groups(cluster);
    let shown: Vec<Value> = groups
        .iter()
        .filter(|(group, _)| group.is_empty() == legacy)
        .map(|(group, versions)| {
            let versions: Vec<Value> =
                versions.iter().map(|version| version_of(cluster, group, version)).collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": shown,
    })
}

/// A version of a group. If its server cannot be reached the version is marked as stale, and its known resources are
/// still listed.
fn version_of(cluster: &Cluster, group: &str, version: &str) -> Value {
    let stale = super::aggregated_is_away(cluster, group, version).is_some();
    let resources: Vec<Value> = kinds_of(cluster, group, version)
        .map(|kind| {
            let response = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
            let mut one = json!({
                "resource": kind.plural, "responseKind": response,
                "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": kind.singular, "verbs": kind.verbs,
            });
            if !kind.short_names.is_empty() {
                one["shortNames"] = json!(kind.short_names);
            }
            if !kind.categories.is_empty() {
                one["categories"] = json!(kind.categories);
            }
            if !kind.subresources.is_empty() {
                one["subresources"] = kind.subresources.iter().map(subresource).collect();
            }
            one
        })
        .collect();
    let freshness = if stale { "Stale" } else { "Current" };
    let mut shown = json!({"version": version, "freshness": freshness});
    if !resources.is_empty() {
        shown["resources"] = resources.into();
    }
    shown
}

fn subresource(one: &Subresource) -> Value {
    let Subresource { name, group, version, kind, verbs } = one;
    json!({
        "subresource": name, "verbs": verbs,
        "responseKind": {"group": group, "version": version, "kind": kind},
    })
}
