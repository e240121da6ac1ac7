//! The sandbox as kube's client sees it, in one process and under paused time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http_body_util::Full;
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::Deployment,
    authentication::v1::SelfSubjectReview,
    authorization::v1::SelfSubjectAccessReview,
    core::v1::{ConfigMap, Namespace, Node, PersistentVolumeClaim, Pod},
    policy::v1::PodDisruptionBudget,
};
use kube::{
    Api, Client, Error,
    api::{
        DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
        WatchEvent, WatchParams,
    },
};
use sandbox::{
    cluster::Actor,
    controller::Controllers,
    fault::{AdmissionDecision, OperatingMode},
    service::Sandbox,
    store::Key,
};
use serde_json::{Value, json};
use tower::ServiceExt;

fn start() -> (Sandbox, Client) {
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    // These tests are about the API alone: no controller creates objects in a namespace or writes a status in between.
    let mut controllers = Controllers::default();
    let names: Vec<_> = controllers.iter().map(|(name, _)| name).collect();
    for name in names {
        controllers.set_mode(name, OperatingMode::Off);
    }
    let sandbox = Sandbox::start(begin, 7, controllers);
    let client = Client::new(sandbox.clone(), "default");
    (sandbox, client)
}

fn without(sandbox: &Sandbox, controller: &str) {
    assert!(sandbox.with(|world| world.controllers.set_mode(controller, OperatingMode::Off)));
}

fn as_user(sandbox: &Sandbox, name: &str) -> Client {
    let actor = Actor {
        name: name.into(),
        groups: vec!["system:authenticated".into()],
        ..Actor::default()
    };
    Client::new(sandbox.speaking_as(Some(actor)), "default")
}

fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn pod(name: &str, more: &Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    });
    json_patch(&mut pod, more);
    of(pod)
}

fn json_patch(target: &mut Value, more: &Value) {
    match (target, more) {
        (Value::Object(target), Value::Object(more)) => {
            for (field, value) in more {
                json_patch(target.entry(field.clone()).or_insert(Value::Null), value);
            }
        }
        (target, more) => *target = more.clone(),
    }
}

fn refusal(error: Error) -> (u16, String, String) {
    let Error::Api(status) = error else { panic!("{error}") };
    (status.code, status.reason, status.message)
}

#[tokio::test(start_paused = true)]
async fn pod_is_watched_to_its_end() {
    let (_sandbox, client) = start();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let made = pods
        .create(&PostParams::default(), &pod("a", &json!({"metadata": {"finalizers": ["x.io/y"]}})))
        .await
        .unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let list = pods.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let mut events = pods.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let deleted = pods.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(deleted.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(deleted.metadata.generation, Some(2));
    // The kubelet's final DELETE: the Pod has ended, and only the finalizer keeps it.
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    let waiting = pods.delete("a", &now).await.unwrap().left().unwrap();
    assert_eq!(waiting.metadata.deletion_grace_period_seconds, Some(0));
    let patch = json!({"metadata": {"finalizers": null}});
    pods.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    let mut seen = vec![];
    while let Some(event) = events.try_next().await.unwrap() {
        match event {
            WatchEvent::Modified(pod) => seen
                .push(format!("modified {}", pod.metadata.deletion_grace_period_seconds.unwrap())),
            WatchEvent::Deleted(pod) => {
                seen.push(format!("deleted {:?}", pod.metadata.finalizers));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    // The last state is the stored one. The update that removed the finalizer was never stored.
    assert_eq!(seen, ["modified 30", "modified 0", "deleted Some([\"x.io/y\"])"]);
    assert_eq!(pods.get_opt("a").await.unwrap(), None);
    assert_eq!(
        refusal(pods.get("a").await.unwrap_err()),
        (404, "NotFound".into(), "pods \"a\" not found".into())
    );
}

#[tokio::test(start_paused = true)]
async fn grace_period_is_only_shortened() {
    let (_sandbox, client) = start();
    let pods: Api<Pod> = Api::default_namespaced(client);
    pods.create(&PostParams::default(), &pod("a", &json!({}))).await.unwrap();
    let with =
        |seconds| DeleteParams { grace_period_seconds: Some(seconds), ..DeleteParams::default() };
    let given = |seconds: i64, expected: i64| {
        let pods = pods.clone();
        async move {
            let is = pods
                .delete("a", &with(u32::try_from(seconds).unwrap()))
                .await
                .unwrap()
                .left()
                .unwrap();
            assert_eq!(is.metadata.deletion_grace_period_seconds, Some(expected));
        }
    };
    given(60, 60).await;
    given(90, 60).await;
    given(10, 10).await;
    tokio::time::advance(std::time::Duration::from_secs(20)).await;
    given(5, 1).await;
    let gone = pods.delete("a", &with(0)).await.unwrap();
    assert!(gone.is_left());
    assert_eq!(pods.get_opt("a").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn preconditions_are_checked() {
    let (_sandbox, client) = start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let made =
        maps.create(&PostParams::default(), &of(json!({"metadata": {"name": "m"}}))).await.unwrap();
    let uid = made.metadata.uid.clone().unwrap();
    let with = |uid: &str| DeleteParams {
        preconditions: Some(Preconditions { uid: Some(uid.into()), resource_version: None }),
        ..DeleteParams::default()
    };
    let (code, reason, message) = refusal(maps.delete("m", &with("other")).await.unwrap_err());
    assert_eq!((code, reason.as_str()), (409, "Conflict"));
    assert_eq!(
        message,
        format!(
            "Operation cannot be fulfilled on ConfigMap \"m\": the UID in the precondition (other) does not match the UID \
             in record ({uid}). The object might have been deleted and then recreated"
        )
    );
    let dry = maps.delete("m", &DeleteParams { dry_run: true, ..with(&uid) }).await.unwrap();
    assert!(dry.is_right());
    assert!(maps.get_opt("m").await.unwrap().is_some());
    let status = maps.delete("m", &with(&uid)).await.unwrap().right().unwrap();
    assert_eq!(status.details.unwrap().uid, uid);
    let mut stale = made;
    stale.metadata.resource_version = Some("1".into());
    let again =
        maps.create(&PostParams::default(), &of(json!({"metadata": {"name": "m"}}))).await.unwrap();
    assert_ne!(again.metadata.uid.unwrap(), uid);
    stale.metadata.uid = None;
    let (code, _, message) =
        refusal(maps.replace("m", &PostParams::default(), &stale).await.unwrap_err());
    assert_eq!(code, 409);
    assert!(message.ends_with(
        "the object has been modified; please apply your changes to the latest version and try again"
    ));
}

#[tokio::test(start_paused = true)]
async fn propagation_policy_sets_finalizers() {
    let (_sandbox, client) = start();
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let deployment = |name: &str| -> Deployment {
        of(json!({
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        }))
    };
    for (parameters, finalizer) in
        [(DeleteParams::foreground(), "foregroundDeletion"), (DeleteParams::orphan(), "orphan")]
    {
        deployments
            .create(&PostParams::default(), &deployment(finalizer.to_lowercase().as_str()))
            .await
            .unwrap();
        let name = finalizer.to_lowercase();
        let marked = deployments.delete(&name, &parameters).await.unwrap().left().unwrap();
        assert_eq!(marked.metadata.finalizers.unwrap(), [finalizer]);
        assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(0));
        assert_eq!(marked.metadata.generation, Some(2));
        let fields = serde_json::to_string(&marked.metadata.managed_fields).unwrap();
        assert!(fields.contains(finalizer), "{fields}");
    }
    deployments.create(&PostParams::default(), &deployment("web")).await.unwrap();
    assert!(deployments.delete("web", &DeleteParams::background()).await.unwrap().is_right());
}

#[tokio::test(start_paused = true)]
async fn disruption_budget_refuses_an_eviction() {
    let (sandbox, client) = start();
    // Without the disruption controller the test itself writes how many disruptions the budget allows.
    without(&sandbox, "disruption-controller");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    pods.create(&PostParams::default(), &pod("a", &json!({}))).await.unwrap();
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    pods.patch_status("a", &PatchParams::default(), &Patch::Merge(running)).await.unwrap();
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client);
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    budgets.create(&PostParams::default(), &of(budget)).await.unwrap();
    let (code, _, _) = refusal(pods.evict("a", &EvictParams::default()).await.unwrap_err());
    assert_eq!(code, 429);
    let status = |allowed: i64| {
        json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        }})
    };
    budgets.patch_status("b", &PatchParams::default(), &Patch::Merge(status(0))).await.unwrap();
    let (code, reason, message) =
        refusal(pods.evict("a", &EvictParams::default()).await.unwrap_err());
    assert_eq!((code, reason.as_str()), (429, "TooManyRequests"));
    assert_eq!(message, "Cannot evict pod as it would violate the pod's disruption budget.");
    budgets.patch_status("b", &PatchParams::default(), &Patch::Merge(status(1))).await.unwrap();
    pods.evict("a", &EvictParams::default()).await.unwrap();
    let evicted = pods.get("a").await.unwrap();
    assert!(evicted.metadata.deletion_timestamp.is_some());
    sandbox.with(|world| {
        let pod = world.cluster.get(&Key::new("", "pods", "default", "a")).unwrap();
        assert_eq!(
            sandbox::object::condition(pod, "DisruptionTarget")["reason"],
            "EvictionByEvictionAPI"
        );
    });
    let spent = budgets.get("b").await.unwrap().status.unwrap();
    assert_eq!(spent.disruptions_allowed, Some(0));
    assert!(spent.disrupted_pods.unwrap().contains_key("a"));
}

#[tokio::test(start_paused = true)]
async fn namespace_ends_when_it_is_empty() {
    let (sandbox, client) = start();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let (code, ..) =
        refusal(namespaces.delete("default", &DeleteParams::default()).await.unwrap_err());
    assert_eq!(code, 403);
    namespaces
        .create(&PostParams::default(), &of(json!({"metadata": {"name": "shop"}})))
        .await
        .unwrap();
    let marked = namespaces.delete("shop", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(marked.status.unwrap().phase.as_deref(), Some("Terminating"));
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "shop");
    let (code, reason, message) = refusal(
        claims
            .create(&PostParams::default(), &of(json!({"metadata": {"name": "c"}})))
            .await
            .unwrap_err(),
    );
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert!(message.contains("because it is being terminated"), "{message}");
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client, "nowhere");
    let (code, _, message) = refusal(
        claims
            .create(&PostParams::default(), &of(json!({"metadata": {"name": "c"}})))
            .await
            .unwrap_err(),
    );
    assert_eq!((code, message.as_str()), (404, "namespaces \"nowhere\" not found"));
    sandbox.with(|world| {
        let key = Key::new("", "namespaces", "", "shop");
        let finalized = world.cluster.modify(
            &Actor::controller("namespace-controller"),
            &key,
            "finalize",
            |namespace| {
                sandbox::object::set(namespace, &["spec", "finalizers"], json!([]));
            },
        );
        assert!(finalized.is_ok());
        assert!(world.cluster.get(&key).is_none());
    });
}

#[tokio::test(start_paused = true)]
async fn roles_decide_what_a_user_may_do() {
    let (sandbox, client) = start();
    let (code, _, message) = refusal(
        Api::<Pod>::default_namespaced(as_user(&sandbox, "ann"))
            .list(&ListParams::default())
            .await
            .unwrap_err(),
    );
    let said = "pods is forbidden: User \"ann\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"";
    assert_eq!((code, message.as_str()), (403, said));
    sandbox.with(|world| {
        let group = "rbac.authorization.k8s.io";
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get"]}]);
        let admin = Actor::admin();
        let role = json!({"metadata": {"name": "r"}, "rules": rules});
        world.cluster.create(&admin, group, "roles", "default", role).unwrap();
        let binding = json!({
            "metadata": {"name": "b"}, "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "ann"}],
        });
        world.cluster.create(&admin, group, "rolebindings", "default", binding).unwrap();
    });
    let ann = as_user(&sandbox, "ann");
    let (code, ..) =
        refusal(Api::<Pod>::default_namespaced(ann.clone()).get("a").await.unwrap_err());
    assert_eq!(code, 404);
    let (code, ..) =
        refusal(Api::<Pod>::default_namespaced(ann.clone()).get("b").await.unwrap_err());
    assert_eq!(code, 403);
    let reviews: Api<SelfSubjectAccessReview> = Api::all(ann.clone());
    let asked = |name: &str| -> SelfSubjectAccessReview {
        of(
            json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default", "name": name}}}),
        )
    };
    for (name, allowed) in [("a", true), ("b", false)] {
        let review = reviews.create(&PostParams::default(), &asked(name)).await.unwrap();
        assert_eq!(review.status.unwrap().allowed, allowed);
    }
    let who: Api<SelfSubjectReview> = Api::all(ann);
    let me = who.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    assert_eq!(me.status.unwrap().user_info.unwrap().username.as_deref(), Some("ann"));
    let request =
        http::Request::get("/api/v1/nodes").header("Impersonate-User", "ann").body(vec![]).unwrap();
    let (code, _, message) = refusal(client.request::<Value>(request).await.unwrap_err());
    assert_eq!(code, 403);
    assert!(message.contains("User \"ann\" cannot list resource \"nodes\""), "{message}");
}

#[tokio::test(start_paused = true)]
async fn lists_have_pages_and_expire() {
    let (sandbox, client) = start();
    // The controller would add a ConfigMap of its own.
    without(&sandbox, "root-ca-certificate-publisher-controller");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b", "c", "d", "e"] {
        maps.create(&PostParams::default(), &of(json!({"metadata": {"name": name}})))
            .await
            .unwrap();
    }
    let page = maps.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(page.metadata.remaining_item_count, Some(3));
    // A change between two pages does not show in the list.
    maps.delete("c", &DeleteParams::default()).await.unwrap();
    let token = page.metadata.continue_.unwrap();
    let next = maps.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    let names: Vec<_> = next.items.iter().map(|map| map.metadata.name.clone().unwrap()).collect();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(next.metadata.resource_version, page.metadata.resource_version);
    sandbox.with(|world| world.cluster.store.compact(world.cluster.store.revision()));
    let token = next.metadata.continue_.unwrap();
    let (code, reason, _) =
        refusal(maps.list(&ListParams::default().continue_token(&token)).await.unwrap_err());
    assert_eq!((code, reason.as_str()), (410, "Expired"));
    let version = page.metadata.resource_version.unwrap();
    let mut events = maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let Some(WatchEvent::Error(status)) = events.try_next().await.unwrap() else {
        panic!("no error")
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert!(events.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn watch_sends_bookmarks_and_ends() {
    let (_sandbox, client) = start();
    let nodes: Api<Node> = Api::all(client);
    let begun = tokio::time::Instant::now();
    let parameters = WatchParams::default().timeout(200);
    let events: Vec<_> = nodes.watch(&parameters, "0").await.unwrap().try_collect().await.unwrap();
    // The bookmarks come after 60, 120 and 180 seconds, and at the end.
    assert_eq!(events.iter().filter(|event| matches!(event, WatchEvent::Bookmark(_))).count(), 4);
    assert_eq!(begun.elapsed().as_secs(), 200);
}

#[tokio::test(start_paused = true)]
async fn definition_adds_a_kind_and_webhook_refuses() {
    let (sandbox, client) = start();
    sandbox.with(|world| {
        let names = json!({"plural": "widgets", "kind": "Widget"});
        let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        });
        let admin = Actor::admin();
        world.cluster.create(&admin, "apiextensions.k8s.io", "customresourcedefinitions", "", definition).unwrap();
        let widget = json!({"metadata": {"name": "w"}, "spec": {"x": 1}});
        world.cluster.create(&admin, "example.com", "widgets", "default", widget).unwrap();
        let webhook = json!({
            "metadata": {"name": "hook"},
            "webhooks": [{
                "name": "widgets.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "default", "name": "hook", "path": "/x"}},
                "rules": [{
                    "operations": ["DELETE"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"],
                }],
            }],
        });
        let group = "admissionregistration.k8s.io";
        world.cluster.create(&admin, group, "validatingwebhookconfigurations", "", webhook).unwrap();
    });
    let groups = client.list_api_groups().await.unwrap();
    assert!(groups.groups.iter().any(|group| group.name == "example.com"));
    let delete = || {
        http::Request::delete("/apis/example.com/v1/namespaces/default/widgets/w")
            .body(vec![])
            .unwrap()
    };
    let (code, reason, message) = refusal(client.request::<Value>(delete()).await.unwrap_err());
    assert_eq!((code, reason.as_str()), (500, "InternalError"));
    assert_eq!(
        message,
        "Internal error occurred: failed calling webhook \"widgets.example.com\": failed to call webhook: Post \
         \"https://hook.default.svc:443/x?timeout=10s\": service \"hook\" not found"
    );
    let script = |decision| {
        sandbox.with(|world| {
            _ = world.cluster.webhook_decisions.insert("widgets.example.com".into(), decision)
        })
    };
    script(AdmissionDecision::Deny { code: 0, message: "not on a Friday".into() });
    let (code, _, message) = refusal(client.request::<Value>(delete()).await.unwrap_err());
    assert_eq!(code, 400);
    assert_eq!(
        message,
        "admission webhook \"widgets.example.com\" denied the request: not on a Friday"
    );
    script(AdmissionDecision::Allow);
    client.request::<Value>(delete()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn api_without_endpoints_is_unavailable() {
    let (sandbox, client) = start();
    let admin = Actor::admin();
    sandbox.with(|world| {
        let service = json!({"namespace": "kube-system", "name": "metrics"});
        let spec = json!({
            "group": "metrics.k8s.io", "version": "v1beta1", "service": service, "groupPriorityMinimum": 100, "versionPriority": 100,
        });
        let api = json!({"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec});
        let pods = world.cluster.kinds.get("", "pods").unwrap();
        let kind = sandbox::kind::Kind {
            group: "metrics.k8s.io".into(),
            version: "v1beta1".into(),
            kind: "PodMetrics".into(),
            subresources: vec![],
            ..(**pods).clone()
        };
        world.cluster.create(&admin, "apiregistration.k8s.io", "apiservices", "", api).unwrap();
        world.cluster.serve_aggregated("v1beta1.metrics.k8s.io", vec![kind]);
    });
    let list = || http::Request::get("/apis/metrics.k8s.io/v1beta1/pods").body(vec![]).unwrap();
    let freshness = || async {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let request = http::Request::get("/apis").header("accept", accept).body(vec![]).unwrap();
        let found: Value = client.request(request).await.unwrap();
        let group = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["metadata"]["name"] == "metrics.k8s.io")
            .unwrap();
        group["versions"][0]["freshness"].clone()
    };
    assert_eq!(freshness().await, "Stale");
    assert!(
        matches!(client.request::<Value>(list()).await, Err(Error::Api(status)) if status.code == 503)
    );
    sandbox.with(|world| {
        assert!(!world.cluster.is_available("v1beta1.metrics.k8s.io"));
        let service = json!({"metadata": {"name": "metrics"}, "spec": {"ports": [{"port": 443}]}});
        world.cluster.create(&admin, "", "services", "kube-system", service).unwrap();
        let slice = json!({
            "metadata": {"name": "m", "labels": {"kubernetes.io/service-name": "metrics"}},
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
        });
        let pod = json!({"metadata": {"name": "m"}, "spec": {"containers": [{"name": "m", "image": "m"}]}});
        world.cluster.create(&admin, "", "pods", "kube-system", pod).unwrap();
        let pod = Key::new("", "pods", "kube-system", "m");
        let addressed = world.cluster.modify(&admin, &pod, "status", |pod| {
            pod["status"]["podIP"] = json!("10.0.0.1");
        });
        addressed.map(drop).unwrap();
        world
            .cluster
            .create(&admin, "discovery.k8s.io", "endpointslices", "kube-system", slice)
            .unwrap();
    });
    assert_eq!(freshness().await, "Current");
    assert_eq!(client.request::<Value>(list()).await.unwrap()["items"], json!([]));
}

/// kubectl caches discovery. When a 304 confirms the cached answer, kubectl gives it the headers of the 304.
#[tokio::test(start_paused = true)]
async fn unchanged_discovery_is_answered_with_304() {
    let (sandbox, _) = start();
    for path in ["/api", "/apis"] {
        let ask = |tag: &str| {
            let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            let request = http::Request::get(path).header("accept", accept);
            let request = request.header("if-none-match", tag).body(Full::<Bytes>::default());
            sandbox.clone().oneshot(request.unwrap())
        };
        let known = ask("").await.unwrap();
        let tag = known.headers()["etag"].to_str().unwrap().to_owned();
        assert_eq!(
            (known.status().as_u16(), &known.headers()["vary"]),
            (200, &"Accept".parse().unwrap())
        );
        let unchanged = ask(&tag).await.unwrap();
        assert_eq!(unchanged.status(), 304);
        assert_eq!(unchanged.headers()["etag"], *tag);
        assert_eq!(unchanged.headers().get("content-type"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn faults_apply_and_are_logged() {
    let (sandbox, client) = start();
    let script = "
        on delete configmaps 1x -> reset after
        on get configmaps 1x -> 503
        on get configmaps 1x -> latency 5s
        on watch configmaps -> truncate
    ";
    sandbox.with(|world| world.cluster.faults = world.parse_faults(script).unwrap());
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &of(json!({"metadata": {"name": "m"}}))).await.unwrap();
    let begun = tokio::time::Instant::now();
    let (code, ..) = refusal(maps.get("m").await.unwrap_err());
    assert_eq!((code, begun.elapsed().as_secs()), (503, 5));
    let mut events = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert!(!matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert!(maps.delete("m", &DeleteParams::default()).await.is_err());
    assert_eq!(maps.get_opt("m").await.unwrap(), None);
    sandbox.with(|world| {
        let log = world.cluster.log.entries();
        let cut = log.iter().find(|entry| entry.verb == "delete").unwrap();
        assert_eq!((cut.code, cut.effect, cut.fault.as_deref()), (0, true, Some("reset after")));
        assert!(cut.met.is_some());
    });
}

/// The same seed and the same requests give the same cluster and the same log.
#[tokio::test(start_paused = true)]
async fn same_seed_gives_the_same_log() {
    async fn once() -> (String, String) {
        let (sandbox, client) = start();
        let pods: Api<Pod> = Api::default_namespaced(client);
        let mut generated = pod("x", &json!({"metadata": {"generateName": "web-"}}));
        generated.metadata.name = None;
        for _ in 0..5 {
            pods.create(&PostParams::default(), &generated).await.unwrap();
        }
        pods.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        sandbox.with(|world| {
            let objects: Vec<_> = world.cluster.list("", "pods", None).collect();
            (format!("{objects:?}"), format!("{:?}", world.cluster.log.entries()))
        })
    }
    assert_eq!(once().await, once().await);
}
