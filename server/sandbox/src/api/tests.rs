//! Malformed requests.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::{Content, Reply, Request, answer, query::Query};
use crate::{
    cluster::{Actor, Cluster},
    controller::node_faults::NodeFaults,
    kind::Kinds,
    patch::Patch,
    store::Key,
};

fn cluster() -> Cluster {
    let mut cluster = Cluster::new(Timestamp::UNIX_EPOCH, 1);
    let admin = Actor::admin();
    let pod = json!({"metadata": {"name": "a", "finalizers": ["x/y"]}, "spec": {"containers": [{"name": "c", "image": "example.com/c"}]}});
    cluster.create(&admin, "", "pods", "default", pod).unwrap();
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}}],
        },
    });
    cluster
        .create(&admin, "apiextensions.k8s.io", "customresourcedefinitions", "", definition)
        .unwrap();
    cluster
        .create(&admin, "example.com", "widgets", "default", json!({"metadata": {"name": "a"}}))
        .unwrap();
    cluster
}

fn ask(
    cluster: &mut Cluster,
    method: &str,
    url: &str,
    media: &str,
    body: impl Into<Bytes>,
) -> Reply {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let mut headers = HeaderMap::new();
    if let Ok(media) = HeaderValue::from_str(media) {
        headers.insert("content-type", media);
    }
    let request = Request {
        method: Method::from_bytes(method.as_bytes()).unwrap_or_default(),
        path: path.into(),
        query: Query::parse(query),
        headers,
        body: body.into(),
        actor: Actor::admin(),
        time: cluster.now(),
    };
    answer(cluster, &NodeFaults::default(), &request, None)
}

const JSON: &str = "application/json";

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        select(vec![
            "",
            "a",
            "v1",
            "Pod",
            "x/y",
            "$patch",
            "delete",
            "replace",
            "2026-01-01T00:00:00Z",
            "default"
        ])
        .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let name = || {
        select(vec![
            "metadata",
            "spec",
            "status",
            "name",
            "namespace",
            "finalizers",
            "ownerReferences",
            "uid",
            "kind",
            "apiVersion",
            "labels",
            "resourceVersion",
            "containers",
            "conditions",
            "$patch",
            "$retainKeys",
            "selector",
            "template",
            "deletionTimestamp",
            "generation",
            "volumes",
            "env",
            "ports",
            "managedFields",
            "versions",
            "names",
            "generateName",
            "tolerations",
            "webhooks",
            "rules",
            "replicas",
            "deletionGracePeriodSeconds",
            "$deleteFromPrimitiveList/finalizers",
            "type",
            "op",
            "path",
            "value",
            "from",
        ])
        .prop_map(String::from)
    };
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((name(), inner), 0..8)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn json_patch() -> impl Strategy<Value = Value> {
    let path = || {
        select(vec![
            "",
            "/",
            "/metadata",
            "/metadata/finalizers/0",
            "/metadata/finalizers/-",
            "/spec/containers/0/x",
            "/a~1b",
            "/metadata/name",
            "/x/y/z",
            "~2",
        ])
    };
    let operation = select(vec!["add", "remove", "replace", "move", "copy", "test", "x"]);
    let one = (operation, path(), path(), json_value()).prop_map(
        |(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}),
    );
    proptest::collection::vec(one, 0..8).prop_map(Value::from)
}

fn url() -> impl Strategy<Value = String> {
    let start = select(vec![
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/pods/a",
        "/api/v1/namespaces/default/pods/a/eviction",
        "/api/v1/namespaces/default/pods/a/binding",
        "/api/v1/namespaces/default/pods/a/status",
        "/api/v1/namespaces/default/services",
        "/api/v1/namespaces/default/persistentvolumeclaims",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/apis/batch/v1/namespaces/default/jobs",
        "/apis/batch/v1/namespaces/default/cronjobs",
        "/apis/example.com/v1/namespaces/default/widgets",
        "/apis/example.com/v1/namespaces/default/widgets/a",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
        "/apis/apiregistration.k8s.io/v1/apiservices",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis",
        "/api",
        "/openapi/v3/api/v1",
        "",
    ]);
    let query = select(vec![
        "",
        "?watch=1",
        "?limit=1",
        "?limit=-9",
        "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
        "?labelSelector=a in (",
        "?fieldSelector=metadata.name%3Da",
        "?resourceVersion=99999",
        "?resourceVersion=x",
        "?dryRun=All",
        "?dryRun=x",
        "?propagationPolicy=Foreground",
        "?gracePeriodSeconds=-1",
        "?timeoutSeconds=99999999999999999",
        "?fieldManager=me&force=true",
        "?sendInitialEvents=true&watch=true&resourceVersionMatch=NotOlderThan",
        "?resourceVersion=3&resourceVersionMatch=Exact",
        "?fieldManager=%ff",
    ]);
    prop_oneof![
        8 => (start, query).prop_map(|(start, query)| format!("{start}{query}")),
        1 => ".{0,60}",
        1 => proptest::collection::vec(select(vec!["api", "apis", "v1", "namespaces", "%2e", "%ff", "..", "pods", "a", ""]), 0..9)
            .prop_map(|parts| format!("/{}", parts.join("/"))),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => json_value().prop_map(|value| value.to_string().into_bytes()),
        3 => json_patch().prop_map(|value| value.to_string().into_bytes()),
        2 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => (1_usize..400).prop_map(|depth| [b"{\"spec\":".repeat(depth), b"1".to_vec(), b"}".repeat(depth)].concat()),
    ]
}

#[test]
fn number_stays_as_it_was_sent() {
    let mut cluster = cluster();
    let number = r#"{"spec":{"amount":1.9933402168531042e-187}}"#;
    let url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let reply = ask(&mut cluster, "PATCH", url, "application/merge-patch+json", number);
    let (_, bytes) = reply.bytes();
    assert!(String::from_utf8(bytes).unwrap().contains("1.9933402168531042e-187"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Every request gets an answer, and everything that is stored can be read.
    #[test]
    fn requests_all_have_an_answer(
        requests in proptest::collection::vec((
            select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"]),
            url(),
            select(vec![
                "", JSON, "application/json-patch+json", "application/merge-patch+json",
                "application/strategic-merge-patch+json", "application/apply-patch+yaml",
                "application/vnd.kubernetes.protobuf", "text/\u{e9}",
            ]),
            body(),
        ), 1..6),
    ) {
        let mut cluster = cluster();
        for (method, url, media, body) in requests {
            let mut reply = ask(&mut cluster, method, &url, media, body);
            prop_assert!((200..=599).contains(&reply.code.as_u16()));
            let _ = reply.bytes();
            if let Content::Watch(watch) = &mut reply.content {
                let _ = watch.poll(&mut cluster, true);
            }
        }
        for object in cluster.kinds.iter().flat_map(|kind| cluster.list(&kind.group, &kind.plural, None)) {
            let text = object.to_string();
            prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &**object);
            prop_assert!(object["metadata"]["uid"].is_string());
        }
    }

    #[test]
    fn patches_of_anything_are_no_panic(object in json_value(), patch in json_value(), operations in json_patch()) {
        let kinds = Kinds::new();
        let kind = kinds.get("", "pods").unwrap();
        for patch in [
            Patch::Json(operations),
            Patch::Merge(patch.clone()),
            Patch::Strategic(patch.clone()),
            Patch::Apply { object: patch, force: true },
        ] {
            let _ = patch.apply(kind, &object);
        }
    }
}

#[test]
fn request_beyond_the_limits_is_refused() {
    let mut cluster = cluster();
    let maps = "/api/v1/namespaces/default/configmaps";
    let huge = json!({"metadata": {"name": "m"}, "data": {"x": "y".repeat(2_000_000)}}).to_string();
    assert_eq!(ask(&mut cluster, "POST", maps, JSON, huge).code, 422);
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let mut huge =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "m"}});
    huge["spec"] = json!("y".repeat(2_000_000));
    assert_eq!(ask(&mut cluster, "POST", widgets, JSON, huge.to_string()).code, 500);
    assert_eq!(ask(&mut cluster, "POST", maps, "application/toml", "{}").code, 415);
    assert_eq!(ask(&mut cluster, "POST", maps, JSON, vec![0xff, 0xfe]).code, 400);
    assert_eq!(
        ask(&mut cluster, "POST", maps, JSON, json!({"metadata": {"name": "X_"}}).to_string()).code,
        422
    );
    let json_patch = "application/json-patch+json";
    let pod = "/api/v1/namespaces/default/pods/a";
    let deeper: Vec<Value> =
        (0..200).map(|_| json!({"op": "move", "from": "/spec", "path": "/spec/x"})).collect();
    assert_eq!(ask(&mut cluster, "PATCH", pod, json_patch, json!(deeper).to_string()).code, 422);
    let double = [
        json!({"op": "add", "path": "/x", "value": {}}),
        json!({"op": "copy", "from": "/x", "path": "/x/a"}),
        json!({"op": "copy", "from": "/x", "path": "/x/b"}),
    ];
    let doubling: Vec<Value> = std::iter::once(double[0].clone())
        .chain((0..500).flat_map(|_| double[1..].to_vec()))
        .collect();
    let code = ask(&mut cluster, "PATCH", pod, json_patch, json!(doubling).to_string()).code;
    assert!(code == 400 || code == 422, "{code}");
    assert!(cluster.get(&Key::new("", "pods", "default", "a")).is_some());
    assert_eq!(ask(&mut cluster, "PUT", "/api/v1/namespaces", JSON, "{}").code, 405);
    assert_eq!(ask(&mut cluster, "GET", "/apis/nowhere/v1/things", "", "").code, 404);
}
