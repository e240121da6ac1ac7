//! Other actors in the cluster: operators of custom resources, and users who create, scale and delete objects during
//! the run.

use std::{collections::BTreeSet, time::Duration};

use sandbox::{
    cluster::{Actor, Cluster, DeleteOptions},
    object::is_deleting,
    store::Key,
};
use serde_json::{Value, json};
use teardown::object::ObjectRef;
use tokio::time::sleep;

use super::Simulation;
use crate::{
    application::{
        BYSTANDER, FINALIZER, LOAD_BALANCER_FINALIZER, OPERATOR, UNIT,
        late_object::{self, UNPLANNED},
    },
    fault_schedule::Churn,
    state::{list, owners, text, uid, unit},
};

/// The resources of the objects that others create while a run goes on.
const LATE_OBJECTS: [(&str, &str); 5] = [
    ("", "configmaps"),
    ("", "limitranges"),
    ("example.com", "widgets"),
    (late_object::NEW_GROUP, late_object::NEW_PLURAL),
    ("networking.k8s.io", "ingresses"),
];
/// The time from the start of the server to the Ingress that no watch shows.
const INGRESS_AFTER: Duration = Duration::from_secs(6);
/// The taint that evicts Pods from a node.
const EVICTION_TAINT: &str = "example.com/away";

impl Simulation {
    /// The operator of the custom resources and the controller of the load balancers: they remove their finalizers from
    /// deleted objects. The operator does so only while it has a ready Pod, and the rights of that Pod's ServiceAccount.
    pub(super) fn run_operators(&mut self) {
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let is_operator = |it: &Value| !it["metadata"]["labels"][OPERATOR].is_null();
            let mut pods = cluster.list("", "pods", None);
            let runs = pods.any(|pod| {
                is_operator(pod) && !is_deleting(pod) && is_ready(pod) && has_rights(cluster, pod)
            });
            drop(pods);
            let widgets = runs.then_some(("example.com", "widgets", FINALIZER));
            let services = Some(("", "services", LOAD_BALANCER_FINALIZER));
            for (group, plural, finalizer) in [widgets, services].into_iter().flatten() {
                let going: Vec<Key> = cluster
                    .list(group, plural, None)
                    .filter(|it| is_deleting(it) && sandbox::object::has_finalizer(it, finalizer))
                    .filter_map(|it| cluster.key_of(it))
                    .collect();
                for key in going {
                    _ = cluster.modify(&Actor::admin(), &key, "", |it| {
                        sandbox::object::remove_finalizer(it, finalizer);
                    });
                }
            }
        });
    }

    pub(super) fn mount_claim(&mut self, namespace: &str, claim: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": "unplanned"},
            "spec": {
                "containers": [{"name": "main", "image": "example.com/main"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            },
        });
        self.create_object(namespace, pod);
    }

    /// Creates an object as an administrator.
    pub(super) fn create_object(&self, namespace: &str, object: Value) {
        let made = self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let key = cluster.key_of(&object).ok_or("its kind is not served")?;
            let made = cluster.create(&Actor::admin(), &key.group, &key.plural, namespace, object);
            made.map(|_| ()).map_err(|status| status.message)
        });
        self.log(format!("  {made:?}"));
    }

    /// Creates the Ingress that no watch delivers in time for the plan.
    pub(super) async fn create_late_ingress(&mut self) {
        let Some((namespace, service)) = self.schedule.late_ingress.take() else { return };
        // Its watch is alive at first, so that the server knows the kind.
        sleep(INGRESS_AFTER).await;
        self.log(format!("an Ingress in front of Service {namespace}/{service}"));
        self.create_object(&namespace, late_object::late_ingress(&namespace, &service));
        // It would be delivered within this time.
        sleep(Duration::from_secs(1)).await;
    }

    /// Scales a Deployment, if it exists.
    pub(super) fn scale(&self, namespace: &str, name: &str, replicas: u32) {
        let key = Key::new("apps", "deployments", namespace, name);
        self.environment.sandbox.with(|world| {
            let scaled = |it: &mut Value| it["spec"]["replicas"] = json!(replicas);
            // A deleted Deployment needs no scaling.
            _ = world.cluster.modify(&Actor::admin(), &key, "", scaled);
        });
    }

    /// Suspends a Kustomization, as a person does whom a page asks for it.
    pub(super) fn suspend(&self, parent: &ObjectRef) {
        let namespace = parent.namespace.as_deref().unwrap_or_default();
        let key = Key::new(&parent.group, "kustomizations", namespace, &parent.name);
        self.environment.sandbox.with(|world| {
            let suspended = |it: &mut Value| it["spec"]["suspend"] = json!(true);
            // One that is gone makes nothing again.
            _ = world.cluster.modify(&Actor::admin(), &key, "", suspended);
        });
    }

    /// Adds the taint that evicts Pods from a node, or removes it.
    pub(super) fn taint(&self, node: &str, is_tainted: bool) {
        let key = Key::new("", "nodes", "", node);
        self.environment.sandbox.with(|world| {
            let tainted = |it: &mut Value| {
                let taints = it["spec"]["taints"].as_array();
                let others =
                    taints.into_iter().flatten().filter(|taint| taint["key"] != EVICTION_TAINT);
                let own = is_tainted.then(|| json!({"key": EVICTION_TAINT, "effect": "NoExecute"}));
                it["spec"]["taints"] = others.cloned().chain(own).collect();
            };
            _ = world.cluster.modify(&Actor::admin(), &key, "", tainted);
        });
    }

    /// Changes the cluster while the operator reads the plan.
    pub(super) fn churn(&self, churn: Churn) {
        self.log(format!("{churn:?}"));
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let ours = |it: &Value| text(it, "/metadata/namespace").starts_with(UNIT);
            match churn {
                Churn::PodsLost => {
                    let pods = cluster.list("", "pods", None);
                    let lost = pods.filter(|pod| ours(pod) && owners(pod).next().is_some());
                    let lost: Vec<Key> = lost.filter_map(|pod| cluster.key_of(pod)).collect();
                    for key in lost {
                        _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
                    }
                }
                Churn::ScaledUp => {
                    for plural in ["deployments", "statefulsets"] {
                        let all = cluster.list("apps", plural, None).filter(|it| ours(it));
                        let keys: Vec<Key> = all.filter_map(|it| cluster.key_of(it)).collect();
                        for key in keys {
                            let one_more = |it: &mut Value| {
                                let replicas = it["spec"]["replicas"].as_u64().unwrap_or_default();
                                it["spec"]["replicas"] = json!(replicas + 1);
                            };
                            _ = cluster.modify(&Actor::admin(), &key, "", one_more);
                        }
                    }
                }
            }
        });
    }

    /// Deletes the terminating Pods that mount a claim by force, so that no kubelet reports their end.
    pub(super) fn delete_by_force(&self) {
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let mounts = |pod: &Value| {
                list(pod, "/spec/volumes").iter().any(|it| !it["persistentVolumeClaim"].is_null())
            };
            let pods = cluster.list("", "pods", None).filter(|pod| {
                let is_going = !pod["metadata"]["deletionTimestamp"].is_null();
                is_going && mounts(pod) && text(pod, "/metadata/namespace").starts_with(UNIT)
            });
            let pods: Vec<Key> = pods.filter_map(|pod| cluster.key_of(pod)).collect();
            for key in pods {
                let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
                _ = cluster.delete(&Actor::admin(), &key, &now);
            }
        });
    }

    /// Deletes objects outside of the plan: re-created ones and unplanned ones.
    pub(super) fn clean_up(&mut self, with_late_objects: bool) {
        let Some(plan) = self.plan.clone() else { return };
        let transcript = self.environment.transcript.clone();
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let unplanned: Vec<Key> = cluster
                .list("", "pods", None)
                .filter(|pod| text(pod, "/metadata/name").starts_with("unplanned"))
                .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
                .filter_map(|pod| cluster.key_of(pod))
                .collect();
            let again = plan.steps.iter().filter_map(|step| {
                let namespace = step.object.namespace.as_deref().unwrap_or_default();
                let key =
                    Key::new(&step.kind.group, &step.kind.plural, namespace, &step.object.name);
                let object = cluster.get(&key)?;
                let is_new = uid(object) != step.uid.to_string()
                    && object["metadata"]["deletionTimestamp"].is_null();
                is_new.then_some(key)
            });
            let late_objects = LATE_OBJECTS.iter().flat_map(|(group, plural)| {
                let all = cluster.list(group, plural, None);
                all.filter(|it| with_late_objects && text(it, "/metadata/name") == UNPLANNED)
            });
            let late_objects: Vec<Key> = late_objects
                .filter(|it| !is_deleting(it))
                .filter_map(|it| cluster.key_of(it))
                .collect();
            // An object that a StatefulSet created just before it was orphaned has no owner, and the page lists it.
            let planned =
                |it: &Value| plan.steps.iter().any(|step| step.uid.to_string() == uid(it));
            let is_left = |it: &Value| {
                with_late_objects
                    && text(it, "/metadata/namespace").starts_with(UNIT)
                    && it["metadata"]["deletionTimestamp"].is_null()
                    && unit(it) != BYSTANDER
                    && !planned(it)
                    && owners(it).all(|owner| cluster.get_by_uid(text(owner, "/uid")).is_none())
                    && !plan.kept.iter().any(|kept| kept.uid.to_string() == uid(it))
            };
            let pods = cluster.list("", "pods", None);
            let left = pods.chain(cluster.list("", "persistentvolumeclaims", None));
            let left: Vec<Key> =
                left.filter(|it| is_left(it)).filter_map(|it| cluster.key_of(it)).collect();
            let all = again.chain(unplanned).chain(late_objects).chain(left);
            for key in all.collect::<BTreeSet<_>>() {
                transcript.log(format!("a user deletes {key}, which is not part of the plan"));
                _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
            }
        });
    }
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = list(pod, "/status/conditions").iter();
    conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// Whether an operator's Pod may clear finalizers. Of one with the account `default` the rights are not in the cluster: a webhook
/// grants them.
fn has_rights(cluster: &Cluster, pod: &Value) -> bool {
    let account = text(pod, "/spec/serviceAccountName");
    let needs = [
        ("", "serviceaccounts", text(pod, "/metadata/namespace")),
        ("rbac.authorization.k8s.io", "clusterroles", ""),
        ("rbac.authorization.k8s.io", "clusterrolebindings", ""),
    ];
    let is_there = |(group, plural, namespace): (&str, &str, &str)| {
        cluster.get(&Key::new(group, plural, namespace, account)).is_some()
    };
    matches!(account, "" | "default") || needs.into_iter().all(is_there)
}
