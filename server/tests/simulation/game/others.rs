//! What others do in the cluster while the server works: an operator, strangers, whoever scales and whoever loses Pods.

use std::collections::BTreeSet;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    object::is_deleting,
    store::Key,
};
use serde_json::{Value, json};

use super::Game;
use crate::{
    adversity::Stir,
    application::{BALANCER, BYSTANDER, FINALIZER, UNIT},
    state::{owners, text, uid, unit},
};

/// Who wants no Pods on a machine says so with this taint.
const AWAY: &str = "example.com/away";

impl Game {
    /// The operator of the custom resources, and who is outside the cluster for its load balancers: they clean up behind
    /// those that go.
    pub(super) fn operate(&mut self) {
        self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            for (group, plural, finalizer) in
                [("example.com", "widgets", FINALIZER), ("", "services", BALANCER)]
            {
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

    pub(super) fn stranger(&mut self, namespace: &str, claim: &str) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": namespace, "name": "stranger"},
            "spec": {
                "containers": [{"name": "main", "image": "example.com/main"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            },
        });
        self.put(namespace, "pods", pod);
    }

    /// Somebody makes something.
    pub(super) fn put(&self, namespace: &str, plural: &str, object: Value) {
        let made = self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            cluster.create(&Actor::admin(), "", plural, namespace, object).map(|_| ())
        });
        self.tell(format!("  {:?}", made.map_err(|status| status.message)));
    }

    /// Somebody scales a Deployment, if it is there.
    pub(super) fn scale(&self, namespace: &str, name: &str, replicas: u32) {
        let key = Key::new("apps", "deployments", namespace, name);
        self.stage.sandbox.with(|world| {
            let scaled = |it: &mut Value| it["spec"]["replicas"] = json!(replicas);
            // One that is gone needs no more.
            _ = world.cluster.modify(&Actor::admin(), &key, "", scaled);
        });
    }

    /// Somebody wants no Pods on a machine, or does no longer.
    pub(super) fn taint(&self, node: &str, away: bool) {
        let key = Key::new("", "nodes", "", node);
        self.stage.sandbox.with(|world| {
            let tainted = |it: &mut Value| {
                let taints = it["spec"]["taints"].as_array();
                let others = taints.into_iter().flatten().filter(|taint| taint["key"] != AWAY);
                let own = away.then(|| json!({"key": AWAY, "effect": "NoExecute"}));
                it["spec"]["taints"] = others.cloned().chain(own).collect();
            };
            _ = world.cluster.modify(&Actor::admin(), &key, "", tainted);
        });
    }

    /// What controllers have to do while a person reads a plan.
    pub(super) fn stir(&self, stir: Stir) {
        self.tell(format!("{stir:?}"));
        self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let ours = |it: &Value| text(it, "/metadata/namespace").starts_with(UNIT);
            match stir {
                Stir::PodsLost => {
                    let pods = cluster.list("", "pods", None);
                    let lost = pods.filter(|pod| ours(pod) && owners(pod).next().is_some());
                    let lost: Vec<Key> = lost.filter_map(|pod| cluster.key_of(pod)).collect();
                    for key in lost {
                        _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
                    }
                }
                Stir::ScaledUp => {
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

    /// What people do in the end: remove what came back and what strangers made.
    pub(super) fn clear_away(&mut self, with_newcomers: bool) {
        let Some(plan) = self.plan.clone() else { return };
        let story = self.stage.story.clone();
        self.stage.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let strangers: Vec<Key> = cluster
                .list("", "pods", None)
                .filter(|pod| text(pod, "/metadata/name").starts_with("stranger"))
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
            let newcomer = cluster
                .list("", "configmaps", None)
                .filter(|it| with_newcomers && text(it, "/metadata/name") == "stranger");
            let newcomer = newcomer.filter_map(|it| cluster.key_of(it)).collect::<Vec<_>>();
            // What a StatefulSet made in the moment before it was orphaned is nobody's: the page names it.
            let planned =
                |it: &Value| plan.steps.iter().any(|step| step.uid.to_string() == uid(it));
            let is_left = |it: &Value| {
                with_newcomers
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
            let all = again.chain(strangers).chain(newcomer).chain(left);
            for key in all.collect::<BTreeSet<_>>() {
                story.tell(format!("somebody deletes {key}, which is no part of the plan"));
                _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
            }
        });
    }
}
