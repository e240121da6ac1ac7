//! For each kind of edge: it is found, and an object of the same name elsewhere is not the target.

mod access;
mod claim_template;
mod hint;
mod provisioner;
mod refer;
mod storage;

use crate::fixture;

/// The edges of a fixture except those to namespaces, one per line: from, kind, to, order, reason.
fn edges(text: &str) -> String {
    let mut lines: Vec<String> = fixture::graph(text)
        .edges()
        .map(|edge| {
            let order = match edge.ordered() {
                None => "free".to_owned(),
                Some((first, _, phase)) => format!("{first} first, {phase:?}"),
            };
            format!(
                "{} {:?} {}; {order}; {} = {}",
                edge.from, edge.kind, edge.to, edge.reason.field, edge.reason.value
            )
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

#[track_caller]
fn check(fixture: &str, expected: &str) {
    let expected: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(edges(fixture), expected.join("\n"));
}

#[test]
fn owner_goes_first_where_uid_and_namespace_match() {
    check(
        "deploy shop/web
         rs shop/web-1 owner=deploy/web",
        "rs:shop/web-1 Owns deploy:shop/web; deploy:shop/web first, Gone; metadata.ownerReferences[0] = Deployment web",
    );
    // The UID of an owner in another namespace: for the API, such an owner is absent.
    check(
        "deploy other/web
         rs shop/web-1 owner=deploy/web owner-uid=deploy:other/web",
        "",
    );
    // The name is right, but the UID belongs to another object.
    check(
        "deploy shop/web uid=younger
         rs shop/web-1 owner=deploy/web",
        "",
    );
}

#[test]
fn content_goes_before_its_namespace_unless_the_cluster_makes_it() {
    check(
        "ns shop
         cm shop/settings
         ns other",
        "cm:shop/settings Contains ns:shop; cm:shop/settings first, Gone; metadata.namespace = shop",
    );
    // Objects that the cluster creates by itself go with the namespace, which does not wait for them.
    check(
        "ns shop
         cm shop/kube-root-ca.crt
         sa shop/default
         endpoints shop/web-x",
        "",
    );
    // A kind of the same name in another group.
    check("Namespace.example.com shop\n cm shop/settings", "");
}

#[test]
fn objects_of_the_namespace_of_a_pod_go_after_it_where_it_mounts_them() {
    check(
        "pvc shop/data
         cm shop/settings
         secret shop/key
         pod shop/web uses=claim:data,config:settings,secret:key",
        "pod:shop/web Mounts cm:shop/settings; pod:shop/web first, Gone; spec.config = settings
         pod:shop/web Mounts pvc:shop/data; pod:shop/web first, Gone; spec.claim = data
         pod:shop/web Mounts secret:shop/key; pod:shop/web first, Gone; spec.secret = key",
    );
    check(
        "pvc shop/data
         deploy shop/web uses=claim:data",
        "deploy:shop/web Mounts pvc:shop/data; deploy:shop/web first, PodsGone; spec.template.spec.claim = data",
    );
    check(
        "pvc other/data
         cm shop/data
         pod shop/web uses=claim:data",
        "",
    );
}

#[test]
fn claims_from_a_template_go_after_the_pods_of_their_statefulset() {
    check(
        "sts shop/db templates=data
         pvc shop/data-db-0
         pvc shop/data-db-12",
        "sts:shop/db Claims pvc:shop/data-db-0; sts:shop/db first, PodsGone; spec.volumeClaimTemplates[0].metadata.name = data
         sts:shop/db Claims pvc:shop/data-db-12; sts:shop/db first, PodsGone; spec.volumeClaimTemplates[0].metadata.name = data",
    );
    check(
        "sts shop/db templates=data
         pvc other/data-db-0
         pvc shop/data-db-x
         pvc shop/data-db-
         pvc shop/more-data-db-0
         pvc shop/data-db-0-0",
        "",
    );
}

#[test]
fn claim_goes_before_its_volume_where_each_names_the_other() {
    check(
        "pvc shop/data volume=pv-1
         pv pv-1 claim=shop/data",
        "pvc:shop/data Binds pv:pv-1; pvc:shop/data first, Gone; spec.volumeName = pv-1",
    );
    check(
        "pvc shop/data volume=pv-1
         pv pv-1 claim=other/data",
        "",
    );
    // The volume was released by an earlier claim of the same name.
    check(
        "pvc shop/data volume=pv-1
         pv pv-1 claim=shop/data claim-uid=older",
        "",
    );
}

#[test]
fn services_and_policies_go_after_the_pods_they_select_and_load_balancers_before() {
    check(
        "svc shop/web selector=app:web
         pod shop/web-a labels=app:web
         deploy shop/web template=app:web",
        "svc:shop/web Selects deploy:shop/web; deploy:shop/web first, PodsGone; spec.selector = app=web
         svc:shop/web Selects pod:shop/web-a; pod:shop/web-a first, Gone; spec.selector = app=web",
    );
    check(
        "svc shop/web selector=app:web type=LoadBalancer
         pod shop/web-a labels=app:web",
        "svc:shop/web Selects pod:shop/web-a; svc:shop/web first, Gone; spec.selector = app=web",
    );
    check(
        "pdb shop/web selector=app:web
         netpol shop/closed selector=
         pod shop/web-a labels=app:web",
        "netpol:shop/closed Selects pod:shop/web-a; pod:shop/web-a first, Gone; spec.podSelector = {}
         pdb:shop/web Selects pod:shop/web-a; pod:shop/web-a first, Gone; spec.selector = app=web",
    );
    check(
        "svc shop/web selector=app:web
         svc shop/by-hand
         pdb shop/none
         netpol other/closed selector=
         pod other2/web-a labels=app:web
         pod shop/api-a labels=app:api",
        "",
    );
}

#[test]
fn ingress_goes_before_its_class_its_services_and_what_is_behind_them() {
    check(
        "ing shop/web routes=web class=nginx
         ingclass nginx
         svc shop/web selector=app:web
         deploy shop/web template=app:web",
        "ing:shop/web Routes deploy:shop/web; ing:shop/web first, Gone; spec.defaultBackend.service.name = web → web
         ing:shop/web Routes ingclass:nginx; ing:shop/web first, Gone; spec.ingressClassName = nginx
         ing:shop/web Routes svc:shop/web; ing:shop/web first, Gone; spec.defaultBackend.service.name = web
         svc:shop/web Selects deploy:shop/web; deploy:shop/web first, PodsGone; spec.selector = app=web",
    );
    check(
        "ing shop/web routes=web
         svc other/web",
        "",
    );
    // Kinds of the same names in another group, and a class that the Ingress does not name.
    check(
        "ing shop/web routes=web class=nginx
         Service.serving.knative.dev shop/web
         IngressClass.example.com nginx
         ingclass other",
        "",
    );
}

#[test]
fn autoscaler_goes_before_the_workload_that_it_scales() {
    check(
        "hpa shop/web target=deploy/web
         deploy shop/web",
        "hpa:shop/web Scales deploy:shop/web; hpa:shop/web first, Gone; spec.scaleTargetRef = Deployment web",
    );
    // The same name in another namespace, of another kind, and of a kind of the same name in another group.
    check(
        "hpa shop/web target=deploy/web
         deploy other/web
         sts shop/web
         Deployment.example.com shop/web",
        "",
    );
}

#[test]
fn pod_refers_to_its_node_without_an_order() {
    check(
        "node n1
         pod shop/web node=n1",
        "pod:shop/web RunsOn node:n1; free; spec.nodeName = n1",
    );
    // An object of another kind with the same name, and a node that no Pod names.
    check("Node.example.com shop/n1\n pod shop/web node=n1", "");
    check("node n1\n pod shop/web node=n2", "");
}

#[test]
fn accounts_bindings_and_roles_go_after_the_pods_that_need_them() {
    check(
        "sa shop/web
         pod shop/web-a uses=account:web
         role shop/reader
         rb shop/web-reads accounts=web role=role/reader",
        "pod:shop/web-a RunsAs sa:shop/web; pod:shop/web-a first, Gone; spec.account = web
         rb:shop/web-reads RunsAs pod:shop/web-a; pod:shop/web-a first, Gone; subjects[0].name = web → web-a
         rb:shop/web-reads RunsAs role:shop/reader; rb:shop/web-reads first, Gone; roleRef.name = reader
         rb:shop/web-reads RunsAs sa:shop/web; free; subjects[0].name = web",
    );
    check(
        "sa other/web
         pod shop/web-a uses=account:web
         role other/reader
         clusterrole reader
         rb shop/web-reads accounts=other2/web role=role/reader",
        "",
    );
}

#[test]
fn runs_as_a_role_of_the_whole_cluster() {
    check(
        "clusterrole reader
         rb shop/web-reads role=clusterrole/reader
         crb reads role=clusterrole/reader",
        "crb:reads RunsAs clusterrole:reader; crb:reads first, Gone; roleRef.name = reader
         rb:shop/web-reads RunsAs clusterrole:reader; rb:shop/web-reads first, Gone; roleRef.name = reader",
    );
    // Objects of the same names: of other groups, one in a namespace, and one that no binding refers to.
    check(
        "ClusterRole.example.com reader
         ClusterRole.authorization.openshift.io reader
         role shop/reader
         clusterrole writer
         rb shop/web-reads role=clusterrole/reader
         crb reads role=clusterrole/reader",
        "",
    );
    check("Role.authorization.openshift.io shop/reader\n rb shop/reads role=role/reader", "");
}

#[test]
fn webhook_goes_before_the_service_and_the_workload_that_answer_it() {
    check(
        "webhook guard service=shop/guard
         svc shop/guard selector=app:guard
         deploy shop/guard template=app:guard",
        "svc:shop/guard Selects deploy:shop/guard; deploy:shop/guard first, PodsGone; spec.selector = app=guard
         webhook:guard Admits deploy:shop/guard; webhook:guard first, Gone; clientConfig.service = shop/guard → guard
         webhook:guard Admits svc:shop/guard; webhook:guard first, Gone; clientConfig.service = shop/guard",
    );
    check("webhook guard service=shop/guard\n svc other/guard", "");
}

#[test]
fn aggregated_api_goes_before_the_service_that_answers_it() {
    check(
        "apiservice v1beta1.metrics.k8s.io service=kube-system/metrics
         svc kube-system/metrics",
        "apiservice:v1beta1.metrics.k8s.io Serves svc:kube-system/metrics; apiservice:v1beta1.metrics.k8s.io first, Gone; clientConfig.service = kube-system/metrics",
    );
    check(
        "apiservice v1beta1.metrics.k8s.io service=kube-system/metrics
         svc other/metrics
         Service.serving.knative.dev kube-system/metrics",
        "",
    );
    check("apiservice v1.apps\n svc kube-system/metrics", "");
}

#[test]
fn custom_resource_goes_before_the_definition_of_its_kind_and_group() {
    check(
        "crd widgets.example.com defines=Widget.example.com
         Widget.example.com shop/one",
        "Widget.example.com:shop/one Defines crd:widgets.example.com; Widget.example.com:shop/one first, Gone; apiVersion, kind = example.com Widget",
    );
    check(
        "crd widgets.example.com defines=Widget.example.com
         Widget.example.org shop/one",
        "",
    );
}

#[test]
fn objects_go_before_the_aggregated_api_that_serves_them() {
    check(
        "apiservice v1.example.com service=shop/api\n Thing.example.com shop/one",
        "Thing.example.com:shop/one Defines apiservice:v1.example.com; Thing.example.com:shop/one first, Gone; apiVersion = example.com/v1",
    );
    check("apiservice v1.example.com service=shop/api\n Thing.example.org shop/one", "");
    check("apiservice v2.example.com service=shop/api\n Thing.example.com shop/one", "");
    check("apiservice v1.example.com\n Thing.example.com shop/one", "");
}

#[test]
fn definition_goes_before_the_service_that_converts_its_objects() {
    check(
        "crd widgets.example.com defines=Widget.example.com service=ops/convert
         svc ops/convert selector=app:convert
         svc shop/convert
         pod shop/convert labels=app:convert",
        "crd:widgets.example.com Converts svc:ops/convert; crd:widgets.example.com first, Gone; clientConfig.service = ops/convert",
    );
}

#[test]
fn pod_goes_before_the_operators_object_that_owns_what_it_mounts() {
    check(
        "Database.db.example shop/main
         secret shop/password owner=Database.db.example/main
         pod shop/web uses=secret:password",
        "pod:shop/web Mounts secret:shop/password; pod:shop/web first, Gone; spec.secret = password
         pod:shop/web Refers Database.db.example:shop/main; pod:shop/web first, Gone; spec.secret = password → main
         secret:shop/password Owns Database.db.example:shop/main; Database.db.example:shop/main first, Gone; metadata.ownerReferences[0] = Database main",
    );
    // A Secret of the same name in another namespace is not the one that the Pod mounts.
    check(
        "Database.db.example other/main
         secret other/password owner=Database.db.example/main
         pod shop/web uses=secret:password",
        "secret:other/password Owns Database.db.example:other/main; Database.db.example:other/main first, Gone; metadata.ownerReferences[0] = Database main",
    );
}
