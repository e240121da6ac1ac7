//! The defaults of `kubernetes/pkg/apis/*/v1/defaults.go` and `PrepareForCreate` that deletion, the controllers or a
//! reader of the object depend on; not all of them.

use serde_json::{Value, json};

use super::Cluster;
use crate::{
    kind::Kind,
    object::{self, set, set_default},
    quota,
};

/// Sets the defaults of fields that the client left out, at every write of the main resource.
pub(super) fn apply(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => namespace(object),
        ("", "pods") => {
            pod_spec(object, &["spec"]);
            requests(object);
            let class = quota::qos_class(object);
            set_default(object, &["status"], json!({"phase": "Pending", "qosClass": class}));
        }
        ("", "services") => service(object),
        ("", "persistentvolumes") => {
            set_default(object, &["spec", "persistentVolumeReclaimPolicy"], json!("Retain"));
            set_default(object, &["spec", "volumeMode"], json!("Filesystem"));
            set_default(object, &["status"], json!({"phase": "Pending"}));
        }
        ("", "persistentvolumeclaims") => {
            set_default(object, &["spec", "volumeMode"], json!("Filesystem"));
            set_default(object, &["status"], json!({"phase": "Pending"}));
        }
        ("", "secrets") => set_default(object, &["type"], json!("Opaque")),
        ("", "replicationcontrollers") => {
            set_default(object, &["spec", "replicas"], json!(1));
            pod_spec(object, &["spec", "template", "spec"]);
            set_default(object, &["status"], json!({"replicas": 0}));
        }
        ("apps", plural) => apps(plural, object),
        ("batch", "jobs") => job(object, &["spec"]),
        ("batch", "cronjobs") => {
            set_default(object, &["spec", "concurrencyPolicy"], json!("Allow"));
            set_default(object, &["spec", "suspend"], json!(false));
            set_default(object, &["spec", "successfulJobsHistoryLimit"], json!(3));
            set_default(object, &["spec", "failedJobsHistoryLimit"], json!(1));
            pod_spec(object, &["spec", "jobTemplate", "spec", "template", "spec"]);
            set_default(object, &["status"], json!({}));
        }
        ("autoscaling", _) => {
            set_default(object, &["spec", "minReplicas"], json!(1));
            if object["spec"]["metrics"].as_array().is_none_or(Vec::is_empty) {
                let target = json!({"type": "Utilization", "averageUtilization": 80});
                let cpu =
                    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
                object::set(object, &["spec", "metrics"], json!([cpu]));
            }
            set_default(object, &["status"], json!({"desiredReplicas": 0, "currentMetrics": null}));
        }
        ("policy", "poddisruptionbudgets") => {
            let none = json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0});
            set_default(object, &["status"], none);
        }
        ("networking.k8s.io", "ingresses") => {
            set_default(object, &["status"], json!({"loadBalancer": {}}))
        }
        ("networking.k8s.io", "networkpolicies") => {
            set_default(object, &["spec", "policyTypes"], json!(["Ingress"]));
        }
        ("storage.k8s.io", "storageclasses") => {
            set_default(object, &["reclaimPolicy"], json!("Delete"));
            set_default(object, &["volumeBindingMode"], json!("Immediate"));
        }
        ("storage.k8s.io", "csidrivers") => {
            set_default(object, &["spec", "attachRequired"], json!(true));
            set_default(object, &["spec", "podInfoOnMount"], json!(false));
            set_default(object, &["spec", "fsGroupPolicy"], json!("ReadWriteOnceWithFSType"));
        }
        ("storage.k8s.io", "volumeattachments") => {
            set_default(object, &["status"], json!({"attached": false}))
        }
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => {
            for webhook in each(object, "webhooks") {
                set_default(webhook, &["failurePolicy"], json!("Fail"));
                set_default(webhook, &["matchPolicy"], json!("Equivalent"));
                set_default(webhook, &["timeoutSeconds"], json!(10));
                set_default(webhook, &["namespaceSelector"], json!({}));
                set_default(webhook, &["objectSelector"], json!({}));
                if !webhook["clientConfig"]["service"].is_null() {
                    set_default(webhook, &["clientConfig", "service", "port"], json!(443));
                }
                for rule in each(webhook, "rules") {
                    set_default(rule, &["scope"], json!("*"));
                }
            }
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            set_default(object, &["spec", "failurePolicy"], json!("Fail"));
            set_match_defaults(&mut object["spec"]["matchConstraints"]);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            set_match_defaults(&mut object["spec"]["matchResources"]);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            let kind = object::text(object, &["spec", "names", "kind"]).to_owned();
            if !kind.is_empty() {
                set_default(object, &["spec", "names", "singular"], json!(kind.to_lowercase()));
                set_default(object, &["spec", "names", "listKind"], json!(format!("{kind}List")));
            }
            set_default(object, &["spec", "conversion"], json!({"strategy": "None"}));
        }
        ("apiregistration.k8s.io", "apiservices") if !object["spec"]["service"].is_null() => {
            set_default(object, &["spec", "service", "port"], json!(443));
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            set_default(object, &["roleRef", "apiGroup"], json!("rbac.authorization.k8s.io"));
        }
        _ => {}
    }
}

/// The defaults of a policy's or a binding's match.
fn set_match_defaults(place: &mut Value) {
    if !place.is_object() {
        return;
    }
    set_default(place, &["matchPolicy"], json!("Equivalent"));
    set_default(place, &["namespaceSelector"], json!({}));
    set_default(place, &["objectSelector"], json!({}));
    for list in ["resourceRules", "excludeResourceRules"] {
        for rule in each(place, list) {
            set_default(rule, &["scope"], json!("*"));
        }
    }
}

fn each<'a>(object: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

fn namespace(object: &mut Value) {
    let name = object::name(object).to_owned();
    if !name.is_empty() {
        set(object, &["metadata", "labels", "kubernetes.io/metadata.name"], json!(name));
    }
    if object["status"].is_null() && object::resource_version(object).is_empty() {
        // Only at creation; later only /finalize writes the finalizers.
        let mut finalizers: Vec<String> =
            object::texts(object, &["spec", "finalizers"]).map(String::from).collect();
        if !finalizers.iter().any(|it| it == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        set(object, &["spec", "finalizers"], json!(finalizers));
        set(object, &["status"], json!({"phase": "Active"}));
    }
}

fn service(object: &mut Value) {
    set_default(object, &["spec", "type"], json!("ClusterIP"));
    set_default(object, &["spec", "sessionAffinity"], json!("None"));
    set_default(object, &["spec", "internalTrafficPolicy"], json!("Cluster"));
    let ports =
        object.get_mut("spec").and_then(|spec| spec.get_mut("ports")).and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter(|port| port.is_object()) {
        set_default(port, &["protocol"], json!("TCP"));
        let own = port["port"].clone();
        set_default(port, &["targetPort"], own);
    }
    set_default(object, &["status"], json!({"loadBalancer": {}}));
}

fn apps(plural: &str, object: &mut Value) {
    if plural == "controllerrevisions" {
        return;
    }
    pod_spec(object, &["spec", "template", "spec"]);
    if plural != "daemonsets" {
        set_default(object, &["spec", "replicas"], json!(1));
    }
    match plural {
        "deployments" => {
            set_default(object, &["spec", "strategy", "type"], json!("RollingUpdate"));
            if object["spec"]["strategy"]["type"] == "RollingUpdate" {
                set_default(
                    object,
                    &["spec", "strategy", "rollingUpdate", "maxUnavailable"],
                    json!("25%"),
                );
                set_default(
                    object,
                    &["spec", "strategy", "rollingUpdate", "maxSurge"],
                    json!("25%"),
                );
            }
            set_default(object, &["spec", "revisionHistoryLimit"], json!(10));
            set_default(object, &["spec", "progressDeadlineSeconds"], json!(600));
            set_default(object, &["status"], json!({}));
        }
        "statefulsets" => {
            set_default(object, &["spec", "podManagementPolicy"], json!("OrderedReady"));
            set_default(object, &["spec", "revisionHistoryLimit"], json!(10));
            set_default(
                object,
                &["spec", "updateStrategy"],
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
            );
            set_default(
                object,
                &["spec", "persistentVolumeClaimRetentionPolicy"],
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            );
            set_default(object, &["status"], json!({"replicas": 0, "availableReplicas": 0}));
        }
        "daemonsets" => {
            set_default(object, &["spec", "revisionHistoryLimit"], json!(10));
            let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}});
            set_default(object, &["spec", "updateStrategy"], rolling);
            let none = json!({
                "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
            });
            set_default(object, &["status"], none);
        }
        _ => set_default(object, &["status"], json!({"replicas": 0})),
    }
}

fn job(object: &mut Value, spec: &[&str]) {
    let of = |name| [spec, &[name]].concat();
    // A Job with a parallelism but no number of completions ends when its Pods succeed.
    if object::at(object, &of("parallelism")).is_null() {
        set_default(object, &of("completions"), json!(1));
    }
    set_default(object, &of("parallelism"), json!(1));
    set_default(object, &of("backoffLimit"), json!(6));
    set_default(object, &of("completionMode"), json!("NonIndexed"));
    set_default(object, &of("suspend"), json!(false));
    set_default(object, &of("manualSelector"), json!(false));
    set_default(object, &of("podReplacementPolicy"), json!("TerminatingOrFailed"));
    pod_spec(object, &[spec, &["template", "spec"]].concat());
    let uid = object::uid(object).to_owned();
    if object["spec"]["selector"].is_null() && object["spec"]["manualSelector"] != true {
        let name = object::name(object).to_owned();
        for (label, value) in [
            ("batch.kubernetes.io/controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("job-name", &name),
        ] {
            set(object, &["spec", "template", "metadata", "labels", label], json!(value));
        }
        set(
            object,
            &["spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"],
            json!(uid),
        );
    }
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    if !labels.is_null() {
        set_default(object, &["metadata", "labels"], labels);
    }
    set_default(object, &["status"], json!({}));
}

fn pod_spec(object: &mut Value, spec: &[&str]) {
    if !object::at(object, spec).is_object() {
        return;
    }
    let of = |name| [spec, &[name]].concat();
    for (name, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
    ] {
        set_default(object, &of(name), value);
    }
    if spec.len() == 1 {
        for (name, value) in [
            ("enableServiceLinks", json!(true)),
            ("preemptionPolicy", json!("PreemptLowerPriority")),
            ("priority", json!(0)),
        ] {
            set_default(object, &of(name), value);
        }
        // A mirror Pod of a static Pod stays as it is: it has no service account.
        if object["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_null() {
            set_default(object, &of("serviceAccountName"), json!("default"));
            let account = object["spec"]["serviceAccountName"].clone();
            set_default(object, &of("serviceAccount"), account);
        }
    }
    for list in ["containers", "initContainers"] {
        if let Some(containers) = spec_list(object, spec, list) {
            for container in containers.iter_mut().filter(|one| one.is_object()) {
                set_default(container, &["terminationMessagePath"], json!("/dev/termination-log"));
                set_default(container, &["terminationMessagePolicy"], json!("File"));
                let image = object::text(container, &["image"]);
                let tag = image
                    .rsplit('/')
                    .next()
                    .and_then(|end| end.split_once([':', '@']))
                    .map(|(_, tag)| tag);
                let policy =
                    if tag.is_none_or(|tag| tag == "latest") { "Always" } else { "IfNotPresent" };
                set_default(container, &["imagePullPolicy"], json!(policy));
                set_default(container, &["resources"], json!({}));
                let ports = container.get_mut("ports").and_then(Value::as_array_mut);
                for port in ports.into_iter().flatten().filter(|port| port.is_object()) {
                    set_default(port, &["protocol"], json!("TCP"));
                }
            }
        }
    }
}

/// A container with a limit and no request requests the limit (`SetDefaults_Pod`).
fn requests(pod: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in spec_list(pod, &["spec"], list).into_iter().flatten() {
            let limits = object::at(container, &["resources", "limits"])
                .as_object()
                .cloned()
                .unwrap_or_default();
            for (name, limit) in limits {
                set_default(container, &["resources", "requests", &name], limit);
            }
        }
    }
    for (name, amount) in quota::default_requests(pod) {
        set_default(pod, &["spec", "resources", "requests", &name], amount.to_value());
    }
}

fn spec_list<'a>(object: &'a mut Value, spec: &[&str], list: &str) -> Option<&'a mut Vec<Value>> {
    spec.iter().try_fold(object, |value, name| value.get_mut(*name))?.get_mut(list)?.as_array_mut()
}

impl Cluster {
    /// Allocates the cluster addresses.
    pub(super) fn allocate(&mut self, kind: &Kind, object: &mut Value) {
        if (kind.group.as_str(), kind.plural.as_str()) != ("", "services")
            || object["spec"]["type"] == "ExternalName"
            || !object::text(object, &["spec", "clusterIP"]).is_empty()
        {
            return;
        }
        let address = self.free_address();
        set(object, &["spec", "clusterIPs"], json!([address]));
        set(object, &["spec", "clusterIP"], json!(address));
        set_default(object, &["spec", "ipFamilies"], json!(["IPv4"]));
        set_default(object, &["spec", "ipFamilyPolicy"], json!("SingleStack"));
    }
}
