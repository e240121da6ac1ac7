//! Tests of the columns of all kinds, and helpers for the tests of each kind.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, of};
use crate::kind::Kinds;

pub(super) const NOW: &str = "2026-01-01T01:00:00Z";

fn columns(group: &str, plural: &str) -> Vec<Column> {
    of(Kinds::new().get(group, plural).unwrap())
}

pub(super) fn cells(group: &str, plural: &str, object: &Value) -> Value {
    let now: Timestamp = NOW.parse().unwrap();
    columns(group, plural).iter().map(|column| column.cell(object, now)).collect()
}

/// Checks the cells of an object in these columns.
pub(super) fn check(group: &str, plural: &str, names: &[&str], object: &Value, expected: &Value) {
    let cells = cells(group, plural, object);
    let columns = columns(group, plural);
    let at = |name: &&str| columns.iter().position(|column| column.name == **name).unwrap();
    let found: Vec<&Value> = names.iter().map(|name| &cells[at(name)]).collect();
    assert_eq!(json!(found), *expected, "{plural} {object}");
}

/// The columns as `Name`, or `Name:type` for a type other than string, with a slash at the end of wide ones.
fn describe(group: &str, plural: &str) -> String {
    let columns = columns(group, plural);
    let described = columns.iter().map(Column::definition).map(|definition| {
        let sort = match definition["type"].as_str().unwrap() {
            "string" => String::new(),
            sort => format!(":{sort}"),
        };
        let wide = if definition["priority"] == 1 { "/" } else { "" };
        format!("{}{sort}{wide}", definition["name"].as_str().unwrap())
    });
    described.collect::<Vec<_>>().join(" ")
}

#[test]
fn columns_are_those_of_the_real_one() {
    for (group, plural, expected) in [
        ("", "pods", "Name Ready Status Restarts Age IP/ Node/ Nominated Node/ Readiness Gates/"),
        ("", "podtemplates", "Name Containers Images Pod Labels"),
        (
            "",
            "replicationcontrollers",
            "Name Desired:integer Current:integer Ready:integer Age Containers/ Images/ Selector/",
        ),
        (
            "apps",
            "replicasets",
            "Name Desired:integer Current:integer Ready:integer Age Containers/ Images/ Selector/",
        ),
        (
            "apps",
            "deployments",
            "Name Ready Up-to-date Available Age Containers/ Images/ Selector/",
        ),
        ("apps", "statefulsets", "Name Ready Age Containers/ Images/"),
        (
            "apps",
            "daemonsets",
            "Name Desired:integer Current:integer Ready:integer Up-to-date:integer Available:integer Node Selector Age \
             Containers/ Images/ Selector/",
        ),
        ("apps", "controllerrevisions", "Name Controller Revision Age"),
        ("batch", "jobs", "Name Status Completions Duration Age Containers/ Images/ Selector/"),
        (
            "batch",
            "cronjobs",
            "Name Schedule Timezone Suspend:boolean Active:integer Last Schedule Age Containers/ Images/ Selector/",
        ),
        (
            "autoscaling",
            "horizontalpodautoscalers",
            "Name Reference Targets MinPods MaxPods Replicas Age",
        ),
        (
            "policy",
            "poddisruptionbudgets",
            "Name Min Available Max Unavailable Allowed Disruptions:integer Age",
        ),
        (
            "",
            "nodes",
            "Name Status Roles Age Version Internal-IP/ External-IP/ OS-Image/ Kernel-Version/ Container-Runtime/",
        ),
        ("", "namespaces", "Name Status Age"),
        ("", "configmaps", "Name Data Age"),
        ("", "secrets", "Name Type Data Age"),
        ("", "serviceaccounts", "Name Age"),
        (
            "",
            "events",
            "Last Seen Type Reason Object Subobject/ Source/ Message First Seen/ Count/ Name/",
        ),
        ("", "services", "Name Type Cluster-IP External-IP Port(s) Age Selector/"),
        ("", "endpoints", "Name Endpoints Age"),
        ("discovery.k8s.io", "endpointslices", "Name AddressType Ports Endpoints Age"),
        ("networking.k8s.io", "servicecidrs", "Name CIDRs Age"),
        ("networking.k8s.io", "ipaddresses", "Name ParentRef"),
        (
            "",
            "persistentvolumeclaims",
            "Name Status Volume Capacity Access Modes StorageClass VolumeAttributesClass Age VolumeMode/",
        ),
        (
            "",
            "persistentvolumes",
            "Name Capacity Access Modes Reclaim Policy Status Claim StorageClass VolumeAttributesClass Reason Age \
             VolumeMode/",
        ),
        ("storage.k8s.io", "csistoragecapacities", "Name Created At:date"),
        ("storage.k8s.io", "volumeattributesclasses", "Name DriverName Age"),
        ("resource.k8s.io", "resourceclaims", "Name State Age"),
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies",
            "Name Validations:integer ParamKind Age",
        ),
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicybindings",
            "Name PolicyName ParamRef Age",
        ),
        ("apiregistration.k8s.io", "apiservices", "Name Service Available Age"),
        (
            "flowcontrol.apiserver.k8s.io",
            "flowschemas",
            "Name PriorityLevel MatchingPrecedence DistinguisherMethod Age MissingPL",
        ),
        (
            "flowcontrol.apiserver.k8s.io",
            "prioritylevelconfigurations",
            "Name Type NominalConcurrencyShares Queues HandSize QueueLengthLimit Age",
        ),
        (
            "certificates.k8s.io",
            "certificatesigningrequests",
            "Name Age SignerName Requestor RequestedDuration Condition",
        ),
    ] {
        assert_eq!(describe(group, plural), expected, "{plural}");
    }
}

#[test]
fn names_have_the_format_name() {
    for kind in Kinds::new().iter() {
        for column in of(kind) {
            let definition = column.definition();
            let name = definition["name"] == "Name" || definition["name"] == "Attacher";
            assert_eq!(definition["format"], if name { "name" } else { "" }, "{definition}");
        }
    }
}

#[test]
fn nothing_is_too_absurd_for_a_table() {
    let odd = [json!(null), json!(1), json!(i64::MIN), json!("x"), json!([[]]), json!({"": {}})];
    for kind in Kinds::new().iter() {
        for odd in &odd {
            let within =
                json!({"metadata": odd, "spec": odd, "status": odd, "subsets": odd, "data": odd});
            let lists = json!({
                "spec": {"containers": [odd], "initContainers": [odd], "metrics": [odd], "rules": [odd]},
                "status": {
                    "initContainerStatuses": [{"restartCount": i64::MAX, "lastState": odd, "state": {"terminated": {}}}],
                    "containerStatuses": [{"restartCount": i64::MAX}, {"restartCount": odd}, odd],
                    "conditions": [odd],
                    "loadBalancer": {"ingress": [odd]},
                },
                "subsets": [odd, {"addresses": [odd], "ports": [odd]}],
                "series": odd,
            });
            for object in [odd, &within, &lists] {
                let cells = cells(&kind.group, &kind.plural, object);
                assert_eq!(cells.as_array().map(Vec::len), Some(of(kind).len()));
            }
        }
    }
}

#[test]
fn default_class_is_marked_as_default() {
    for (group, plural, annotation) in [
        ("storage.k8s.io", "storageclasses", "storageclass.kubernetes.io/is-default-class"),
        ("storage.k8s.io", "storageclasses", "storageclass.beta.kubernetes.io/is-default-class"),
        ("networking.k8s.io", "ingressclasses", "ingressclass.kubernetes.io/is-default-class"),
    ] {
        for (value, expected) in [("true", "a (default)"), ("false", "a")] {
            let class = json!({"metadata": {"name": "a", "annotations": {annotation: value}}});
            check(group, plural, &["Name"], &class, &json!([expected]));
        }
    }
}
