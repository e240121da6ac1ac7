//! An administrator, who does what plans and pages ask for where the server has rights in one namespace.

use std::collections::BTreeSet;

use sandbox::{
    cluster::{Actor, DeleteOptions},
    store::Key,
};
use server::hub::HubHandle;
use teardown::{
    api_problem::ApiProblem,
    message::{Message, Record, Topic},
    object::ObjectRef,
    run::{RunId, StepProblem},
};
use tokio::time::timeout;

use super::{ANSWER_TIMEOUT, Simulation};
use crate::state::{list, uid};

impl Simulation {
    /// Removes the obstacles that the server cannot see.
    pub(super) async fn help_with_more_rights(&self, hub: &HubHandle, run: &RunId) {
        for webhook in webhooks_without_backend(hub, run).await {
            self.delete_webhook_configuration(&webhook);
        }
        for parent in self.hidden_parents() {
            self.suspend(&parent);
        }
    }

    /// Deletes the configurations of a webhook. A server that cannot see them may delete their backend.
    fn delete_webhook_configuration(&self, webhook: &str) {
        const GROUP: &str = "admissionregistration.k8s.io";
        const PLURALS: [&str; 2] =
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
        self.environment.sandbox.with(|world| {
            let cluster = &mut world.cluster;
            let all = PLURALS.iter().flat_map(|plural| cluster.list(GROUP, plural, None));
            let found =
                all.filter(|it| list(it, "/webhooks").iter().any(|it| it["name"] == webhook));
            let keys: Vec<Key> = found.filter_map(|it| cluster.key_of(it)).collect();
            for key in keys {
                self.log(format!("an administrator deletes {key}, whose backend is gone"));
                _ = cluster.delete(&Actor::admin(), &key, &DeleteOptions::default());
            }
        });
    }

    /// The Kustomizations in other namespaces that made objects of the plan again. The plan warns of them.
    fn hidden_parents(&self) -> BTreeSet<ObjectRef> {
        let (Some(visible), Some(plan)) = (&self.environment.visible, &self.plan) else {
            return BTreeSet::new();
        };
        let mark = |object: &serde_json::Value, field: &str| {
            let label = format!("kustomize.toolkit.fluxcd.io/{field}");
            object["metadata"]["labels"][label].as_str().map(str::to_owned)
        };
        self.environment.sandbox.with(|world| {
            let parents = plan.steps.iter().filter_map(|step| {
                let within = step.object.namespace.as_deref().unwrap_or_default();
                let key = Key::new(&step.kind.group, &step.kind.plural, within, &step.object.name);
                let again = world.cluster.get(&key).filter(|it| uid(it) != step.uid.to_string())?;
                let namespace = mark(again, "namespace").filter(|it| it != visible)?;
                Some(ObjectRef {
                    group: "kustomize.toolkit.fluxcd.io".into(),
                    kind: "Kustomization".into(),
                    namespace: Some(namespace.into()),
                    name: mark(again, "name")?.into(),
                })
            });
            parents.collect()
        })
    }
}

/// The webhooks whose backend is gone and that refuse a DELETE because of it, as a run's page says.
async fn webhooks_without_backend(hub: &HubHandle, run: &RunId) -> BTreeSet<String> {
    let looked = timeout(ANSWER_TIMEOUT, hub.query(Topic::Run(run.clone()))).await;
    let Ok(Ok(Ok(Message::Snapshot { records, .. }))) = looked else { return BTreeSet::new() };
    let webhooks = records.into_iter().filter_map(|record| match record {
        Record::Step(step) => match step.problem? {
            StepProblem::Refused { message: ApiProblem::Quoted(text), .. } => {
                let (_, rest) = text.split_once("failed calling webhook \"")?;
                let (webhook, why) = rest.split_once('"')?;
                let is_gone = why.ends_with(" not found") || why.contains("no endpoints available");
                is_gone.then(|| webhook.to_owned())
            }
            _ => None,
        },
        _ => None,
    });
    webhooks.collect()
}
