//! Each order rule: one DELETE that violates it and one that does not.
#![expect(clippy::needless_pass_by_value, reason = "objects are written where they are given")]

mod driver;
mod late_pods;

use serde_json::json;

use super::*;
use crate::{
    application::{FINALIZER, OPERATOR},
    state::PART_OF,
};

fn made(kind: &str, within: &str, called: &str, fields: Value) -> Value {
    let mut object = json!({
        "kind": kind, "metadata": {"name": called, "uid": format!("{kind}-{within}-{called}")},
    });
    if !within.is_empty() {
        object["metadata"]["namespace"] = json!(within);
    }
    for (path, value) in fields.as_object().unwrap() {
        if path == "metadata" {
            let into = object["metadata"].as_object_mut().unwrap();
            into.extend(value.as_object().unwrap().clone());
        } else {
            object[path] = value.clone();
        }
    }
    object
}

fn pod(fields: Value) -> Value {
    made("Pod", "a", "p", fields)
}

/// The violations of a DELETE in this state, without late objects or lists of Pods.
fn plainly(state: &State, object: &Value) -> Vec<String> {
    violations(&Case {
        unit: UNIT,
        state,
        object,
        read: None,
        seen: &|_| false,
        came_after_list: &|_| true,
        is_waived: &|_| false,
        is_taken_on: false,
    })
}

/// Checks that the object alone may go, and that with `dependent` it may not, for a reason that contains `reason`.
#[track_caller]
fn check(object: Value, dependent: Value, reason: &str) {
    let alone = State::of([object.clone()]);
    assert_eq!(plainly(&alone, &object), [""; 0]);
    let both = State::of([object.clone(), dependent]);
    let found = plainly(&both, &object);
    assert!(found.len() == 1 && found[0].contains(reason), "{found:?}");
}

#[test]
fn owner_present_forbids_delete_of_its_dependent() {
    let owner = made("ReplicaSet", "a", "r", json!({}));
    let owned = pod(json!({"metadata": {"ownerReferences": [{"uid": "ReplicaSet-a-r"}]}}));
    check(owned, owner, "ReplicaSet a/r");
}

#[test]
fn owner_in_another_namespace_does_not_count() {
    let owner = made("ReplicaSet", "b", "r", json!({}));
    let owned = pod(json!({"metadata": {"ownerReferences": [{"uid": "ReplicaSet-b-r"}]}}));
    let state = State::of([owner, owned.clone()]);
    assert!(plainly(&state, &owned).is_empty());
}

#[test]
fn claim_stays_while_a_pod_mounts_it() {
    let claim = made("PersistentVolumeClaim", "a", "c", json!({}));
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    check(claim.clone(), pod(json!({"spec": {"volumes": volumes}})), "Pod a/p uses it");
    let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let going = pod(json!({"spec": {"volumes": volumes}, "metadata": going}));
    check(claim.clone(), going, "Pod a/p uses it");
    let ephemeral = made("PersistentVolumeClaim", "a", "p-v", json!({}));
    check(
        ephemeral,
        pod(json!({"spec": {"volumes": [{"name": "v", "ephemeral": {}}]}})),
        "Pod a/p",
    );
    let template = json!({"template": {"spec": {"volumes": volumes}}});
    check(claim.clone(), made("Deployment", "a", "d", json!({"spec": template})), "Deployment a/d");
    let elsewhere = made("Pod", "b", "p", json!({"spec": {"volumes": volumes}}));
    let state = State::of([claim.clone(), elsewhere]);
    assert!(plainly(&state, &claim).is_empty());
}

#[test]
fn namespace_stays_while_it_has_content() {
    let namespace = made("Namespace", "", "a", json!({}));
    check(namespace.clone(), made("ConfigMap", "a", "c", json!({})), "ConfigMap a/c");
    check(
        namespace.clone(),
        made(
            "Role",
            "a",
            "r",
            json!({"metadata": {"labels": {
        "app.kubernetes.io/part-of": "alpha"}}}),
        ),
        "Role a/r",
    );
    let of_people = json!({"subjects": [{"kind": "Group", "name": "staff"}],
        "roleRef": {"kind": "Role", "name": "r"}});
    let state = State::of([
        namespace.clone(),
        made("ConfigMap", "a", "kube-root-ca.crt", json!({})),
        made("ServiceAccount", "a", "default", json!({})),
        made("EndpointSlice", "a", "s", json!({})),
        made("RoleBinding", "a", "r", of_people),
        made("Role", "a", "r", json!({})),
        made("ConfigMap", "b", "c", json!({})),
    ]);
    assert_eq!(plainly(&state, &namespace), [""; 0]);
}

/// The number of rules that the DELETE of an object violates, with a late object in the state.
fn violated_by_late(late_object: &Value, object: &Value, facts: (bool, bool)) -> usize {
    let (seen, came_after_list) = facts;
    let mut state = State::of([object.clone(), late_object.clone()]);
    state.make_late(late_object);
    let case = Case {
        unit: UNIT,
        state: &state,
        object,
        read: None,
        seen: &|_: &Value| seen,
        came_after_list: &|_: &Value| came_after_list,
        is_waived: &|_| false,
        is_taken_on: false,
    };
    violations(&case).len()
}

#[test]
fn late_object_holds_its_namespace_once_observed_or_listed() {
    let namespace = made("Namespace", "", "a", json!({}));
    let config = made("ConfigMap", "a", "c", json!({}));
    let violated = |facts| violated_by_late(&config, &namespace, facts);
    let cases = [(true, true), (false, true), (false, false)];
    assert_eq!(cases.map(violated), [1, 0, 1], "the last was there when its kind was listed");
}

#[test]
fn late_pod_holds_what_it_needs_once_observed() {
    let needed = made(
        "NetworkPolicy",
        "a",
        "n",
        json!({"spec": {"podSelector": {"matchLabels": {"app": "x"}}}}),
    );
    let account = made("ServiceAccount", "a", "s", json!({}));
    let subject = json!([{"kind": "ServiceAccount", "namespace": "a", "name": "s"}]);
    let binding = made("RoleBinding", "b", "r", json!({"subjects": subject}));
    for object in [needed, account, binding] {
        for (phase, held) in [("Running", 1), ("Succeeded", 0)] {
            let late_pod = pod(json!({
                "metadata": {"labels": {"app": "x"}}, "spec": {"serviceAccountName": "s"},
                "status": {"phase": phase},
            }));
            let mut state = State::of([object.clone(), late_pod.clone()]);
            state.make_late(&late_pod);
            let violations_of = |seen: bool| {
                let seen = |_: &Value| seen;
                violations(&Case {
                    unit: UNIT,
                    state: &state,
                    object: &object,
                    read: None,
                    seen: &seen,
                    came_after_list: &|_| true,
                    is_waived: &|_| false,
                    is_taken_on: false,
                })
            };
            assert_eq!(violations_of(true).len(), held, "{object} {phase}");
            assert_eq!(violations_of(false), [""; 0], "{object} {phase}");
        }
    }
}

#[test]
fn late_pod_of_a_planned_workload_counts_once_observed_and_always_for_storage() {
    let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    let late = pod(json!({"metadata": {"labels": {"app": "x"}}, "spec": {"volumes": volumes}}));
    let service = made("Service", "a", "s", json!({"spec": {"selector": {"app": "x"}}}));
    let claim = made("PersistentVolumeClaim", "a", "c", json!({}));
    for (object, unseen) in [(service, 0), (claim, 1)] {
        let mut state = State::of([object.clone(), late.clone()]);
        state.make_newer_than_plan(&late);
        let violations_of = |seen: bool| {
            let seen = |_: &Value| seen;
            violations(&Case {
                unit: UNIT,
                state: &state,
                object: &object,
                read: None,
                seen: &seen,
                came_after_list: &|_| true,
                is_waived: &|_| false,
                is_taken_on: false,
            })
        };
        assert_eq!(violations_of(true).len(), 1, "{object}");
        assert_eq!(violations_of(false).len(), unseen, "{object}");
    }
}

#[test]
fn volume_stays_while_its_claim_is_bound() {
    let spec = json!({"claimRef": {"namespace": "a", "name": "c"}});
    let volume = made("PersistentVolume", "", "v", json!({"spec": spec}));
    let bound = made("PersistentVolumeClaim", "a", "c", json!({"spec": {"volumeName": "v"}}));
    check(volume.clone(), bound, "PersistentVolumeClaim a/c");
    let other = made("PersistentVolumeClaim", "a", "c", json!({"spec": {"volumeName": "w"}}));
    let state = State::of([volume.clone(), other]);
    assert!(plainly(&state, &volume).is_empty());
}

#[test]
fn claim_mounted_by_one_unit_alone_belongs_to_it() {
    let claim = made("PersistentVolumeClaim", "a", "c", json!({}));
    let user = |within: &str, called: &str, metadata: Value| {
        let volumes = json!([{"persistentVolumeClaim": {"claimName": "c"}}]);
        let spec = json!({"template": {"spec": {"volumes": volumes}}});
        made("Deployment", within, called, json!({"metadata": metadata, "spec": spec}))
    };
    let of = |unit: &str| json!({"labels": {"app.kubernetes.io/part-of": unit}});
    let is_ours = |users: &[Value]| {
        let state = State::of(users.iter().cloned().chain([claim.clone()]));
        is_mounted_by_unit_alone(&state, &claim)
    };
    let (ours, made) = (user("a", "x", of(UNIT)), json!({"ownerReferences": [{"uid": "x"}]}));
    assert!(is_ours(&[
        ours.clone(),
        user("a", "made", made),
        user("b", "namesake", of(BYSTANDER))
    ]));
    assert!(!is_ours(&[ours.clone(), user("a", "y", of(BYSTANDER))]));
    assert!(!is_ours(&[ours, user("a", "y", json!({}))]));
    assert!(!is_ours(&[]));
}

#[test]
fn retained_volume_stays_unless_declared() {
    let spec = json!({"persistentVolumeReclaimPolicy": "Retain"});
    let volume = made("PersistentVolume", "", "v", json!({"spec": spec}));
    let violations_of = |volume: &Value| {
        let state = State::of([volume.clone()]);
        violations(&Case {
            unit: UNIT,
            state: &state,
            object: volume,
            read: None,
            seen: &|_| false,
            came_after_list: &|_| true,
            is_waived: &|_| false,
            is_taken_on: false,
        })
        .len()
    };
    assert_eq!(violations_of(&volume), 1);
    let mut declared = volume;
    declared["metadata"]["labels"] = json!({"app.kubernetes.io/part-of": "alpha"});
    assert_eq!(violations_of(&declared), 0);
}

#[test]
fn object_stays_while_a_pod_needs_it() {
    let config = json!({"spec": {"volumes": [{"configMap": {"name": "x"}}]}});
    check(made("ConfigMap", "a", "x", json!({})), pod(config), "Pod a/p needs it");
    let secret = json!({"spec": {"volumes": [{"secret": {"secretName": "x"}}]}});
    check(made("Secret", "a", "x", json!({})), pod(secret), "Pod a/p needs it");
    for (sort, spec) in [
        (
            "ConfigMap",
            json!({"volumes": [{"projected": {"sources": [{"configMap": {"name": "x"}}]}}]}),
        ),
        ("ConfigMap", json!({"containers": [{"envFrom": [{"configMapRef": {"name": "x"}}]}]})),
        (
            "ConfigMap",
            json!({"initContainers": [{"env": [
                {"valueFrom": {"configMapKeyRef": {"name": "x", "key": "k"}}},
            ]}]}),
        ),
        ("Secret", json!({"volumes": [{"projected": {"sources": [{"secret": {"name": "x"}}]}}]})),
        ("Secret", json!({"containers": [{"envFrom": [{"secretRef": {"name": "x"}}]}]})),
        (
            "Secret",
            json!({"containers": [{}, {"env": [
                {"valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}},
            ]}]}),
        ),
        ("Secret", json!({"imagePullSecrets": [{"name": "x"}]})),
        ("Secret", json!({"volumes": [{"csi": {"nodePublishSecretRef": {"name": "x"}}}]})),
    ] {
        check(made(sort, "a", "x", json!({})), pod(json!({ "spec": spec })), "Pod a/p needs it");
    }
    let account = json!({"spec": {"serviceAccountName": "x"}});
    check(made("ServiceAccount", "a", "x", json!({})), pod(account.clone()), "Pod a/p needs it");
    let subjects = json!({"subjects": [{"kind": "ServiceAccount", "namespace": "a", "name": "x"}]});
    check(made("RoleBinding", "a", "b", subjects.clone()), pod(account.clone()), "its rights");
    check(made("ClusterRoleBinding", "", "b", subjects), pod(account), "its rights");
}

#[test]
fn role_stays_while_a_binding_refers_to_it() {
    let binding = json!({"roleRef": {"kind": "Role", "name": "r"}});
    let role = made("Role", "a", "r", json!({}));
    check(role, made("RoleBinding", "a", "b", binding), "RoleBinding a/b");
    let binding = json!({"roleRef": {"kind": "ClusterRole", "name": "r"}});
    let role = made("ClusterRole", "", "r", json!({}));
    check(role, made("RoleBinding", "a", "b", binding), "RoleBinding a/b");
}

#[test]
fn selector_stays_while_it_selects_pods() {
    let pod = || pod(json!({"metadata": {"labels": {"app": "x", "tier": "y"}}}));
    let service = json!({"spec": {"selector": {"app": "x"}}});
    check(made("Service", "a", "s", service), pod(), "selected");
    let budget = json!({"spec": {"selector": {"matchLabels": {"app": "x"}}}});
    check(made("PodDisruptionBudget", "a", "s", budget), pod(), "selected");
    let policy = json!({"spec": {"podSelector": {"matchLabels": {"app": "x"}}}});
    check(made("NetworkPolicy", "a", "s", policy), pod(), "selected");
    let other = made("Service", "a", "s", json!({"spec": {"selector": {"app": "z"}}}));
    let state = State::of([other.clone(), pod()]);
    assert!(plainly(&state, &other).is_empty());
}

#[test]
fn scale_target_stays_while_its_autoscaler_exists() {
    let target = json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}}});
    let scaler = made("HorizontalPodAutoscaler", "a", "h", target);
    check(made("Deployment", "a", "d", json!({})), scaler, "scales it");
}

#[test]
fn service_stays_while_it_has_callers() {
    let service = || made("Service", "a", "s", json!({}));
    let path = json!({"backend": {"service": {"name": "s"}}});
    let ingress = json!({"spec": {"rules": [{"http": {"paths": [path]}}]}});
    check(service(), made("Ingress", "a", "i", ingress), "sends traffic");
    let reference = json!({"namespace": "a", "name": "s"});
    let hook = json!({"webhooks": [{"clientConfig": {"service": reference}}]});
    check(service(), made("ValidatingWebhookConfiguration", "", "w", hook), "answered");
    let registration = json!({"spec": {"service": reference}});
    check(service(), made("APIService", "", "v1.x", registration), "answered");
}

#[test]
fn secret_stays_while_an_account_or_ingress_refers_to_it() {
    let secret = || made("Secret", "a", "x", json!({}));
    let account = json!({"imagePullSecrets": [{"name": "x"}]});
    check(secret(), made("ServiceAccount", "a", "s", account), "refers to it");
    let ingress = json!({"spec": {"tls": [{"secretName": "x"}]}});
    check(secret(), made("Ingress", "a", "i", ingress), "refers to it");
}

#[test]
fn pods_stay_while_their_service_has_callers() {
    let template = json!({"template": {"metadata": {"labels": {"app": "x"}}}});
    let deployment = made("Deployment", "a", "d", json!({"spec": template}));
    let backend = pod(json!({"metadata": {"labels": {"app": "x"}}}));
    let service = made("Service", "a", "s", json!({"spec": {"selector": {"app": "x"}}}));
    let path = json!({"backend": {"service": {"name": "s"}}});
    let reference = json!({"namespace": "a", "name": "s"});
    let callers = [
        made("Ingress", "a", "i", json!({"spec": {"rules": [{"http": {"paths": [path]}}]}})),
        made(
            "ValidatingWebhookConfiguration",
            "",
            "w",
            json!({"webhooks": [{"clientConfig": {"service": reference}}]}),
        ),
        made("APIService", "", "v1.x", json!({"spec": {"service": reference}})),
    ];
    for object in [&deployment, &backend] {
        for caller in &callers {
            let violations_of = |others: &[&Value]| {
                let all = others.iter().copied().chain([object]).cloned();
                let state = State::of(all);
                violations(&Case {
                    unit: UNIT,
                    state: &state,
                    object,
                    read: None,
                    seen: &|_| false,
                    came_after_list: &|_| true,
                    is_waived: &|_| false,
                    is_taken_on: false,
                })
            };
            assert_eq!(violations_of(&[&service]), [""; 0]);
            assert_eq!(violations_of(&[caller]), [""; 0]);
            let found = violations_of(&[caller, &service]);
            assert!(found.len() == 1 && found[0].contains("answered by it through"), "{found:?}");
        }
    }
}

#[test]
fn default_backend_of_an_ingress_counts() {
    let service = made("Service", "a", "s", json!({}));
    let everything = json!({"defaultBackend": {"service": {"name": "s"}}});
    check(service, made("Ingress", "a", "i", json!({"spec": everything})), "sends traffic to it");
}

#[test]
fn pods_stay_while_a_load_balancer_routes_to_them() {
    let balancer = |sort: &str| {
        let spec = json!({"type": sort, "selector": {"app": "x"}});
        made("Service", "a", "s", json!({"spec": spec}))
    };
    let labels = json!({"metadata": {"labels": {"app": "x"}}});
    check(pod(labels.clone()), balancer("LoadBalancer"), "answered by it through Service a/s");
    let state = State::of([pod(labels.clone()), balancer("ClusterIP")]);
    let object = pod(labels);
    assert!(plainly(&state, &object).is_empty());
}

#[test]
fn ingress_class_stays_while_an_ingress_uses_it() {
    let class = || made("IngressClass", "", "public", json!({}));
    let of = |name: &str| made("Ingress", "a", "i", json!({"spec": {"ingressClassName": name}}));
    check(class(), of("public"), "Ingress a/i is served by it");
    let state = State::of([class(), of("internal")]);
    let object = class();
    assert!(plainly(&state, &object).is_empty());
}

#[test]
fn object_holds_its_definition_once_observed_or_listed() {
    let spec = json!({"spec": {"group": "example.com", "names": {"kind": "Widget"}}});
    let definition = made("CustomResourceDefinition", "", "widgets.example.com", spec);
    let widget = made("Widget", "a", "w", json!({"apiVersion": "example.com/v1"}));
    let violated = |facts| violated_by_late(&widget, &definition, facts);
    let cases = [(true, true), (false, true), (false, false)];
    assert_eq!(cases.map(violated), [1, 0, 1], "the last was there when its kind was listed");
    let other = made("Widget", "a", "w", json!({"apiVersion": "example.org/v1"}));
    assert_eq!(violated_by_late(&other, &definition, (false, false)), 0, "of another group");
}

#[test]
fn claim_from_a_template_stays_while_its_set_exists() {
    let spec = json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
    let set = || made("StatefulSet", "a", "db", spec.clone());
    check(made("PersistentVolumeClaim", "a", "data-db-0", json!({})), set(), "from a template");
    let other = made("PersistentVolumeClaim", "a", "data-db-x", json!({}));
    let state = State::of([other.clone(), set()]);
    assert!(plainly(&state, &other).is_empty());
}

#[test]
fn objects_of_others_and_of_the_cluster_stay() {
    let violations_of = |object: Value| {
        let state = State::of([object.clone()]);
        plainly(&state, &object).len()
    };
    let labelled = |name| pod(json!({"metadata": {"labels": {"app.kubernetes.io/part-of": name}}}));
    assert_eq!((violations_of(labelled("beta")), violations_of(labelled("alpha"))), (1, 0));
    assert_eq!(violations_of(made("Pod", "beta", "p", json!({}))), 1);
    assert_eq!(violations_of(made("Namespace", "", "beta", json!({}))), 1);
    assert_eq!(violations_of(made("Pod", "kube-system", "p", json!({}))), 1);
    assert_eq!(violations_of(made("Namespace", "", "default", json!({}))), 1);
}

#[test]
fn labelled_rights_of_people_go_with_a_namespace_that_is_torn_down_as_a_whole() {
    let namespace = made("Namespace", "", "a", json!({}));
    let subjects = json!([{"kind": "User", "name": "li"}]);
    let labels = json!({"labels": {crate::state::PART_OF: UNIT}});
    let fields = json!({"subjects": subjects, "metadata": labels});
    let state = State::of([namespace.clone(), made("RoleBinding", "a", "people", fields)]);
    let found = |unit: &str| {
        violations(&Case {
            unit,
            state: &state,
            object: &namespace,
            read: None,
            seen: &|_| true,
            came_after_list: &|_| true,
            is_waived: &|_| false,
            is_taken_on: false,
        })
        .len()
    };
    assert_eq!((found(UNIT), found("ns:a")), (1, 0));
}

#[test]
fn operator_stays_while_its_objects_have_finalizers() {
    let label = json!({"metadata": {"labels": {OPERATOR: "widgets", PART_OF: UNIT}}});
    let operator = made("Deployment", "a", "operator", label);
    let of_unit = |finalizers: Value| {
        let metadata = json!({"labels": {PART_OF: UNIT}, "finalizers": finalizers});
        made("Widget", "b", "w", json!({"metadata": metadata}))
    };
    check(operator.clone(), of_unit(json!([FINALIZER])), "it clears the finalizer of Widget b/w");
    let state = State::of([operator.clone(), of_unit(json!([]))]);
    assert!(plainly(&state, &operator).is_empty());
}

#[test]
fn webhook_configuration_stays_while_an_object_that_it_guards_is_there() {
    let configuration = |operation: &str| {
        let webhooks = json!([{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "a"}},
            "rules": [{"operations": [operation], "resources": ["configmaps"]}],
        }]);
        made("ValidatingWebhookConfiguration", "", "check", json!({"webhooks": webhooks}))
    };
    let settings = made("ConfigMap", "a", "settings", json!({}));
    check(configuration("DELETE"), settings.clone(), "it guards ConfigMap a/settings");
    let late = |seen| violated_by_late(&settings, &configuration("DELETE"), (seen, true));
    assert_eq!([true, false].map(late), [1, 0], "a late object counts once it was observed");
    let other = made("ConfigMap", "b", "settings", json!({}));
    for (object, there) in [(configuration("CREATE"), settings), (configuration("DELETE"), other)] {
        let state = State::of([object.clone(), there]);
        assert!(plainly(&state, &object).is_empty());
    }
}

#[test]
fn map_stays_while_a_custom_resource_names_it() {
    let map = made("ConfigMap", "a", "c", json!({}));
    let report = |within, settings| {
        made("Report", within, "r", json!({"spec": {"sources": [{"settingsConfigMap": settings}]}}))
    };
    check(map.clone(), report("a", "c"), "Report a/r names it");
    for other in [report("a", "d"), report("b", "c")] {
        assert!(plainly(&State::of([map.clone(), other]), &map).is_empty());
    }
}

#[test]
fn declared_object_stays_while_its_kustomization_is_active() {
    let marks = json!({
        "kustomize.toolkit.fluxcd.io/name": "k", "kustomize.toolkit.fluxcd.io/namespace": "a",
    });
    let map = made("ConfigMap", "a", "c", json!({"metadata": {"labels": marks}}));
    let parent = |suspend| made("Kustomization", "a", "k", json!({"spec": {"suspend": suspend}}));
    check(map.clone(), parent(false), "Kustomization a/k would make it again");
    let state = State::of([map.clone(), parent(true)]);
    assert!(plainly(&state, &map).is_empty());
}
