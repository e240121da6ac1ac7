//! References in the specs of routes, policies and custom resources.

use super::*;
use crate::relation::{EdgeKind, Strength};

#[test]
fn route_goes_before_its_gateway_and_backends_and_a_gateway_before_its_class() {
    check(
        "route shop/web refs=spec.parentRefs[0]:gateway/edge/public,spec.rules[0].backendRefs[0]:svc/web
         gateway edge/public refs=spec.gatewayClassName:gwclass/envoy
         gwclass envoy
         svc shop/web selector=app:web
         pod shop/web-a labels=app:web",
        "gateway:edge/public Controls gwclass:envoy; gateway:edge/public first, Gone; spec.gatewayClassName = envoy
         route:shop/web Routes gateway:edge/public; route:shop/web first, Gone; spec.parentRefs[0] = public
         route:shop/web Routes pod:shop/web-a; route:shop/web first, Gone; spec.rules[0].backendRefs[0] = web → web-a
         route:shop/web Routes svc:shop/web; route:shop/web first, Gone; spec.rules[0].backendRefs[0] = web
         svc:shop/web Selects pod:shop/web-a; pod:shop/web-a first, Gone; spec.selector = app=web",
    );
    check(
        "route shop/web refs=gateway/public,svc/web,gateway/edge/public
         gateway other/public refs=gwclass/envoy
         Gateway.networking.istio.io shop/public
         GatewayClass.example.com envoy
         svc other/web
         Service.serving.knative.dev shop/web",
        "",
    );
}

#[test]
fn controller_of_a_class_outlives_what_the_class_is_for() {
    let fixture = "
        ing shop/web class=nginx
        ingclass nginx controller=k8s.io/ingress-nginx
        deploy edge/ingress-nginx-controller uses=account:nginx
        deploy edge/haproxy uses=account:nginx
        deploy other/ingress-nginx-controller
        clusterrole nginx updates=ingresses/status.networking.k8s.io
        crb nginx accounts=edge/nginx role=clusterrole/nginx
    ";
    let controls = |text: &str| {
        let graph = fixture::graph(text);
        let edges = graph.edges().filter(|edge| edge.kind == EdgeKind::Controls);
        let mut found: Vec<String> =
            edges.map(|edge| format!("{} {} {:?}", edge.from, edge.to, edge.strength)).collect();
        found.sort();
        found
    };
    assert_eq!(
        controls(fixture),
        [
            "ing:shop/web deploy:edge/ingress-nginx-controller Hard",
            "ingclass:nginx deploy:edge/ingress-nginx-controller Hard",
        ]
    );
    // Nothing says which of the two it is.
    assert_eq!(
        controls(&fixture.replace("k8s.io/ingress-nginx", "example.com/unknown")),
        [
            "ing:shop/web deploy:edge/haproxy Yielding",
            "ing:shop/web deploy:edge/ingress-nginx-controller Yielding",
            "ingclass:nginx deploy:edge/haproxy Yielding",
            "ingclass:nginx deploy:edge/ingress-nginx-controller Yielding",
        ]
    );
    let other_group = fixture.replace("status.networking.k8s.io", "status.example.com");
    assert_eq!(controls(&other_group), [""; 0]);
    let gateway = "
        gateway edge/public refs=spec.gatewayClassName:gwclass/own
        gwclass own controller=example.com/own labels=app.kubernetes.io/instance:own
        deploy edge/runner uses=account:own labels=app.kubernetes.io/instance:own
        clusterrole own updates=gateways/status.gateway.networking.k8s.io
        crb own accounts=edge/own role=clusterrole/own
    ";
    assert_eq!(
        controls(gateway),
        [
            "gateway:edge/public deploy:edge/runner Hard",
            "gateway:edge/public gwclass:own Hard",
            "gwclass:own deploy:edge/runner Hard",
        ]
    );
}

#[test]
fn admission_policies_and_their_parameters() {
    check(
        "policybinding limits refs=spec.policyName:policy/limits,spec.paramRef:param/ops/most
         policy limits refs=spec.paramKind:Limit.example.com/
         Limit.example.com ops/most",
        "policybinding:limits Refers Limit.example.com:ops/most; policybinding:limits first, Gone; spec.paramRef = most
         policybinding:limits Refers policy:limits; policybinding:limits first, Gone; spec.policyName = limits",
    );
    check(
        "policybinding limits refs=spec.policyName:policy/limits,spec.paramRef:param/ops/most
         policy limits refs=spec.paramKind:Limit.example.com/
         ValidatingAdmissionPolicy.example.com limits
         Limit.example.com other/most
         Limit.example.org ops/most",
        "policybinding:limits Refers policy:limits; policybinding:limits first, Gone; spec.policyName = limits",
    );
}

#[test]
fn custom_resource_goes_before_what_it_names() {
    check(
        "Certificate.cert-manager.io shop/web refs=spec.secretName:secret/web-tls,spec.issuerRef:Issuer.cert-manager.io/ca
         Issuer.cert-manager.io shop/ca
         secret shop/web-tls",
        "Certificate.cert-manager.io:shop/web Refers Issuer.cert-manager.io:shop/ca; Certificate.cert-manager.io:shop/web first, Gone; spec.issuerRef = ca
         Certificate.cert-manager.io:shop/web Refers secret:shop/web-tls; Certificate.cert-manager.io:shop/web first, Gone; spec.secretName = web-tls",
    );
    check(
        "Certificate.cert-manager.io shop/web refs=secret/web-tls,Issuer.cert-manager.io/ca
         Issuer.cert-manager.io other/ca
         Issuer.example.com shop/ca
         secret other/web-tls",
        "",
    );
}

#[test]
fn cluster_scoped_object_is_found_from_a_namespace_but_not_the_reverse() {
    check(
        "ExternalSecret.external-secrets.io shop/db refs=ClusterSecretStore.external-secrets.io/vault
         ClusterSecretStore.external-secrets.io vault",
        "ExternalSecret.external-secrets.io:shop/db Refers ClusterSecretStore.external-secrets.io:vault; ExternalSecret.external-secrets.io:shop/db first, Gone; spec.ref = vault",
    );
    check(
        "ClusterIssuer.cert-manager.io ca refs=secret/ca
         secret shop/ca",
        "",
    );
}

#[test]
fn provider_of_crossplane_is_found_in_a_group_above() {
    check(
        "Bucket.s3.aws.upbound.io logs refs=spec.providerConfigRef:ProviderConfig.s3.aws.upbound.io/main
         ProviderConfig.aws.upbound.io main
         ProviderConfig.gcp.upbound.io main",
        "Bucket.s3.aws.upbound.io:logs Refers ProviderConfig.aws.upbound.io:main; Bucket.s3.aws.upbound.io:logs first, Gone; spec.providerConfigRef = main",
    );
    // A group of its own is no group above.
    check(
        "Bucket.s3.aws.upbound.io logs refs=ProviderConfig.x.gcp.upbound.io/main
         ProviderConfig.gcp.upbound.io main",
        "",
    );
}

#[test]
fn topics_and_users_go_before_their_kafka() {
    check(
        "KafkaTopic.kafka.strimzi.io shop/orders labels=strimzi.io/cluster:main
         KafkaConnector.kafka.strimzi.io shop/sink labels=strimzi.io/cluster:main
         KafkaConnect.kafka.strimzi.io shop/main
         Kafka.kafka.strimzi.io shop/main",
        "KafkaConnector.kafka.strimzi.io:shop/sink Refers KafkaConnect.kafka.strimzi.io:shop/main; KafkaConnector.kafka.strimzi.io:shop/sink first, Gone; metadata.labels[strimzi.io/cluster] = main
         KafkaTopic.kafka.strimzi.io:shop/orders Refers Kafka.kafka.strimzi.io:shop/main; KafkaTopic.kafka.strimzi.io:shop/orders first, Gone; metadata.labels[strimzi.io/cluster] = main",
    );
    check(
        "KafkaTopic.kafka.strimzi.io shop/orders labels=strimzi.io/cluster:main
         KafkaTopic.example.com shop/other labels=strimzi.io/cluster:main
         Kafka.kafka.strimzi.io other/main
         Kafka.example.com shop/main",
        "",
    );
}

#[test]
fn autoscalers_of_other_projects() {
    for scaler in ["ScaledObject.keda.sh", "VerticalPodAutoscaler.autoscaling.k8s.io"] {
        let fixture =
            format!("{scaler} shop/web refs=spec.scaleTargetRef:deploy/web\n deploy shop/web");
        let graph = fixture::graph(&fixture);
        let [edge] = graph.edges().collect::<Vec<_>>()[..] else { panic!("{scaler}") };
        assert_eq!((edge.kind, edge.strength), (EdgeKind::Scales, Strength::Hard));
        let elsewhere = fixture.replace("deploy shop/web", "deploy other/web");
        assert_eq!(fixture::graph(&elsewhere).edges().count(), 0);
    }
}

#[test]
fn routes_of_other_projects_go_before_what_they_name_and_not_before_a_namesake() {
    for (route, field, target) in [
        ("VirtualService.networking.istio.io", "spec.gateways[0]", "Gateway.networking.istio.io"),
        ("VirtualService.networking.istio.io", "spec.http[0].route[0].destination.host", "svc"),
        ("DestinationRule.networking.istio.io", "spec.host", "svc"),
        ("HTTPProxy.projectcontour.io", "spec.includes[0]", "HTTPProxy.projectcontour.io"),
        ("HTTPProxy.projectcontour.io", "spec.routes[0].services[0]", "svc"),
        ("Route.route.openshift.io", "spec.to", "svc"),
    ] {
        for (reference, namespace) in [("back", "shop"), ("edge/back", "edge")] {
            let named = format!("{target} {namespace}/back");
            let fixture = format!("{route} shop/web refs={field}:{target}/{reference}\n {named}");
            let order = format!("{route}:shop/web first, Gone; {field} = back");
            check(&fixture, &format!("{route}:shop/web Routes {target}:{namespace}/back; {order}"));
            assert!(fixture::graph(&fixture).edges().all(|edge| edge.strength == Strength::Hard));
            // The same name in another namespace, and of a kind of the same name in another group.
            let kind = fixture::kind(target);
            let of_others = format!("{}.example.com {namespace}/back", kind.kind);
            check(&fixture.replace(&named, &format!("{target} other/back\n {of_others}")), "");
        }
    }
}

#[test]
fn secret_that_a_route_of_another_project_names_goes_after_it_by_a_yielding_order() {
    let fixture = "
        HTTPProxy.projectcontour.io shop/web refs=spec.virtualhost.tls.secretName:secret/certs/web
        secret certs/web
        secret shop/web
    ";
    let graph = fixture::graph(fixture);
    let mut found: Vec<String> = graph
        .edges()
        .map(|edge| format!("{} {:?} {} {:?}", edge.from, edge.kind, edge.to, edge.strength))
        .collect();
    found.sort();
    assert_eq!(found, ["HTTPProxy.projectcontour.io:shop/web Refers secret:certs/web Yielding"]);
}

#[test]
fn secret_of_an_istio_gateway_is_in_the_namespaces_of_its_proxies_and_no_namesake_is() {
    let gateway = "Gateway.networking.istio.io shop/public refs=spec.servers[0].tls.credentialName:secret/tls";
    let around = "
        pod edge/proxy labels=istio:ingressgateway,app:proxy
        deploy west/proxy template=istio:ingressgateway
        pod other/web labels=app:web
        secret edge/tls
        secret west/tls
        secret shop/tls
        secret other/tls
        cm edge/tls
        Secret.example.com edge/tls
    ";
    let found = |gateway: &str| {
        let graph = fixture::graph(&format!("{gateway}\n{around}"));
        let mut found: Vec<String> = graph
            .edges()
            .map(|edge| format!("{:?} {} {:?}", edge.kind, edge.to, edge.strength))
            .collect();
        found.sort();
        found.join(", ")
    };
    assert_eq!(
        found(&format!("{gateway} selector=istio:ingressgateway")),
        "Refers secret:edge/tls Yielding, Refers secret:west/tls Yielding"
    );
    assert_eq!(found(&format!("{gateway} selector=app:proxy")), "Refers secret:edge/tls Yielding");
    assert_eq!(found(&format!("{gateway} selector=app:none")), "");
    assert_eq!(found(gateway), "Refers secret:shop/tls Yielding", "without a selector");
    let in_other = gateway.replace("secret/tls", "secret/other/tls");
    assert_eq!(
        found(&format!("{in_other} selector=istio:ingressgateway")),
        "Refers secret:other/tls Yielding",
        "with a namespace of its own"
    );
    // Only an Istio Gateway has proxies elsewhere.
    let of_others = gateway.replace("networking.istio.io", "example.com");
    assert_eq!(
        found(&format!("{of_others} selector=istio:ingressgateway")),
        "Refers secret:shop/tls Yielding"
    );
}

#[test]
fn policies_and_listeners_go_before_what_they_name_and_not_before_a_namesake() {
    for (from, field, target) in [
        ("TriggerAuthentication.keda.sh", "spec.secretTargetRef[0]", "secret"),
        ("BackendTLSPolicy.gateway.networking.k8s.io", "spec.targetRefs[0]", "svc"),
        (
            "BackendTLSPolicy.gateway.networking.k8s.io",
            "spec.validation.caCertificateRefs[0]",
            "cm",
        ),
        ("ListenerSet.gateway.networking.k8s.io", "spec.parentRef", "gateway"),
        (
            "ListenerSet.gateway.networking.k8s.io",
            "spec.listeners[0].tls.certificateRefs[0]",
            "secret",
        ),
    ] {
        let named = format!("{target} shop/back");
        let fixture = format!("{from} shop/web refs={field}:{target}/back\n {named}");
        let order = format!("{from}:shop/web first, Gone; {field} = back");
        check(&fixture, &format!("{from}:shop/web Refers {target}:shop/back; {order}"));
        assert!(fixture::graph(&fixture).edges().all(|edge| edge.strength == Strength::Yielding));
        let of_others = format!("{}.example.com shop/back", fixture::kind(target).kind);
        check(&fixture.replace(&named, &format!("{target} other/back\n {of_others}")), "");
    }
}

#[test]
fn gateway_goes_before_the_workload_that_its_controller_would_make_again() {
    let strengths = |owner: &str| {
        let fixture = format!("{owner} shop/public\n deploy shop/public owner={owner}/public");
        let graph = fixture::graph(&fixture);
        graph.edges().map(|edge| (edge.kind, edge.strength)).collect::<Vec<_>>()
    };
    assert_eq!(strengths("gateway"), [(EdgeKind::Owns, Strength::Hard)]);
    // No controller makes workloads for a route.
    assert_eq!(strengths("route"), [(EdgeKind::Owns, Strength::Yielding)]);
}

#[test]
fn object_that_its_owner_names_goes_after_the_owner_alone() {
    check(
        "Part.example.com shop/a owner=Whole.example.com/w refs=Whole.example.com/w
         Whole.example.com shop/w",
        "Part.example.com:shop/a Owns Whole.example.com:shop/w; Whole.example.com:shop/w first, Gone; metadata.ownerReferences[0] = Whole w",
    );
}

/// Argo CD before 3.0 tracks by a label that Helm's charts set too.
#[test]
fn application_declares_what_it_manages_under_the_label_of_a_release() {
    check(
        "cm shop/a labels=app.kubernetes.io/instance:web
         cm shop/b labels=app.kubernetes.io/instance:web
         cm other/a labels=app.kubernetes.io/instance:web
         Application.argoproj.io argocd/web manages=cm/shop/a
         Application.argoproj.io argocd/other manages=cm/shop/b",
        "cm:shop/a Declares Application.argoproj.io:argocd/web; cm:shop/a first, Gone; app.kubernetes.io/instance = web",
    );
}

#[test]
fn parent_goes_before_its_source_in_another_namespace() {
    check(
        "Kustomization.kustomize.toolkit.fluxcd.io shop/web refs=spec.sourceRef:GitRepository.source.toolkit.fluxcd.io/flux/shop
         GitRepository.source.toolkit.fluxcd.io flux/shop
         GitRepository.source.toolkit.fluxcd.io shop/shop",
        "Kustomization.kustomize.toolkit.fluxcd.io:shop/web Refers GitRepository.source.toolkit.fluxcd.io:flux/shop; Kustomization.kustomize.toolkit.fluxcd.io:shop/web first, Gone; spec.sourceRef = shop",
    );
}
