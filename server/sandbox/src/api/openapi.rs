//! OpenAPI, as far as kubectl requires it: an index and empty documents. kubectl then validates nothing, and
//! `kubectl apply` falls back to its own knowledge of built-in kinds.

use serde_json::{Map, Value, json};

use crate::{cluster::Cluster, kind::Kind};

/// `/openapi/v3`: the path of each group version's document.
pub(super) fn index(cluster: &Cluster) -> Value {
    let mut paths = Map::new();
    for kind in cluster.kinds.iter_versions() {
        let path = path_of(kind);
        let url = format!("/openapi/v3/{path}?hash=0");
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

/// `/openapi/v3/apis/apps/v1`: the kinds of a group version, each as an object of any content, and the only detail that
/// kubectl looks for: the parameters of a PATCH.
pub(super) fn document(cluster: &Cluster, path: &str) -> Option<Value> {
    let kinds: Vec<_> =
        cluster.kinds.iter_versions().filter(|kind| path_of(kind) == path).collect();
    if kinds.is_empty() {
        return None;
    }
    let (mut schemas, mut paths) = (Map::new(), Map::new());
    for kind in kinds {
        let gvk = json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]);
        let schema = json!({
            "type": "object", "x-kubernetes-group-version-kind": gvk, "x-kubernetes-preserve-unknown-fields": true,
        });
        let name = format!("io.sandbox.{}.{}.{}", kind.group, kind.version, kind.kind);
        schemas.insert(name, schema);
        let middle = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
        let parameter =
            |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
        let patch = json!({
            "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": gvk[0],
            "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation"), parameter("force")],
            "responses": {"200": {"description": "OK"}},
        });
        paths.insert(format!("/{path}{middle}/{}/{{name}}", kind.plural), json!({"patch": patch}));
    }
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": paths, "components": {"schemas": schemas},
    }))
}

fn path_of(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}
