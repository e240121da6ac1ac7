//! The path of a request (`endpoints/request/requestinfo.go`) and its verb.

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;

use super::query::Query;
use crate::{cluster::Actor, store::Key};

/// A request whose body has arrived in full.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The user that the credentials belong to.
    pub actor: Actor,
    /// The time at which it arrived, by the cluster's clock.
    pub time: Timestamp,
}

impl Request {
    /// Creates a request from the parts of an HTTP request.
    #[must_use]
    pub fn new(parts: &http::request::Parts, body: Bytes, actor: Actor, time: Timestamp) -> Self {
        Self {
            method: parts.method.clone(),
            path: parts.uri.path().into(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            headers: parts.headers.clone(),
            body,
            actor,
            time,
        }
    }

    /// The text of a header; empty if it is absent or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The target of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// No resource: discovery, health, version.
    Path(String),
    /// `name` and `subresource` may be empty. `namespace` is empty for cluster-scoped resources and for all namespaces.
    Resource {
        group: String,
        version: String,
        namespace: String,
        plural: String,
        name: String,
        subresource: String,
    },
}

impl Target {
    pub(crate) fn parse(path: &str) -> Self {
        let nowhere = || Self::Path(path.into());
        // As in Go, the path is decoded before it is split, so an escaped slash separates too.
        let Ok(decoded) = percent_decode_str(path).decode_utf8() else { return nowhere() };
        let parts: Vec<&str> = decoded.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
            ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
            _ => return nowhere(),
        };
        // The deprecated path of a watch.
        let rest = if let ["watch", rest @ ..] = rest { rest } else { rest };
        let (namespace, rest) = match rest {
            // A Namespace itself, or one of its subresources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] if group.is_empty() => {
                ("", rest)
            }
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            // Everything below a proxy is the path at its target.
            [plural, name, "proxy", ..] => (*plural, *name, "proxy"),
            // A deeper path still belongs to its group: it is a subresource that no kind has.
            [plural, name, deeper @ ..] if !deeper.is_empty() => {
                let deeper = deeper.join("/");
                let of_all = [group, version, namespace, plural, name].map(String::from);
                let [group, version, namespace, plural, name] = of_all;
                return Self::Resource {
                    group,
                    version,
                    namespace,
                    plural,
                    name,
                    subresource: deeper,
                };
            }
            _ => return nowhere(),
        };
        let [group, version, namespace, plural, name, subresource] =
            [group, version, namespace, plural, name, subresource].map(String::from);
        Self::Resource { group, version, namespace, plural, name, subresource }
    }

    pub(crate) fn key(&self) -> Option<Key> {
        match self {
            Self::Path(_) => None,
            Self::Resource { group, namespace, plural, name, .. } => {
                Some(Key::new(group, plural, namespace, name))
            }
        }
    }

    pub(crate) fn subresource(&self) -> &str {
        match self {
            Self::Path(_) => "",
            Self::Resource { subresource, .. } => subresource,
        }
    }
}

/// The verb of a request, as RBAC names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// A method that no resource supports.
    Other,
}

impl Verb {
    pub(crate) fn of(request: &Request, target: &Target) -> Self {
        let collection = matches!(target, Target::Resource { name, .. } if name.is_empty());
        let watching = request.query.is("watch")
            || request.path.split('/').filter(|part| !part.is_empty()).nth(2) == Some("watch")
                && request.path.starts_with("/api/");
        match (&request.method, collection) {
            (&Method::GET | &Method::HEAD, _) if matches!(target, Target::Path(_)) => Self::Get,
            (&Method::GET | &Method::HEAD, true) if watching => Self::Watch,
            (&Method::GET | &Method::HEAD, true) => Self::List,
            // As in requestinfo.go, a path of one object is never a watch: clients watch the collection and select the
            // name.
            (&Method::GET | &Method::HEAD, false) => Self::Get,
            (&Method::POST, _) => Self::Create,
            (&Method::PUT, _) => Self::Update,
            (&Method::PATCH, _) => Self::Patch,
            (&Method::DELETE, true) => Self::DeleteCollection,
            (&Method::DELETE, false) => Self::Delete,
            _ => Self::Other,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "",
        }
    }

    /// Whether the verb applies to a collection rather than to an object. Create and deletecollection apply to a
    /// collection only within its scope.
    pub(super) fn is_of_collection(self, within_scope: bool) -> bool {
        match self {
            Self::List | Self::Watch => true,
            Self::Create | Self::DeleteCollection => within_scope,
            Self::Get | Self::Update | Self::Patch | Self::Delete | Self::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        let shown = match Target::parse(path) {
            Target::Path(path) => path,
            Target::Resource { group, version, namespace, plural, name, subresource } => {
                format!("{group}|{version}|{namespace}|{plural}|{name}|{subresource}")
            }
        };
        assert_eq!(shown, expected, "{path}");
    }

    #[test]
    fn paths_are_taken_apart() {
        check("/api/v1/pods", "|v1||pods||");
        check("/api/v1/namespaces", "|v1||namespaces||");
        check("/api/v1/namespaces/shop", "|v1||namespaces|shop|");
        check("/api/v1/namespaces/shop/finalize", "|v1||namespaces|shop|finalize");
        check("/api/v1/namespaces/shop/pods/a/eviction", "|v1|shop|pods|a|eviction");
        check("/apis/apps/v1/namespaces/shop/deployments/web", "apps|v1|shop|deployments|web|");
        check("/api/v1/nodes/a/proxy/logs/", "|v1||nodes|a|proxy");
        check("/apis/apps/v1", "/apis/apps/v1");
        check("/api/v1/namespaces/a%2Fb/pods", "|v1|a|b|pods|");
        check("/api/v1/%ff", "/api/v1/%ff");
        check("/a/b/c/d/e/f/g/h/i", "/a/b/c/d/e/f/g/h/i");
        check("", "");
    }
}
