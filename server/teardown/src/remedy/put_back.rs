//! The things that are switched off, and the ways to put them back.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::{
    act::RemedyAct,
    attempt::Attempt,
    command::{self, Purpose},
    premise::Premise,
    request::{Request, Verb},
    switched::SwitchedOff,
};
use crate::{
    diagnosis::{Case, Serving},
    graph::Graph,
    index::Index,
    object::{Facts, ServiceRef},
    right::Right,
};

/// A thing that is switched off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// The attempt, or the run's request, that switched it off.
    pub attempt: Attempt,
    /// The thing.
    pub what: SwitchedOff,
    /// Whether Unwind can put it back.
    pub by_unwind: bool,
    /// The line of kubectl that puts it back; none where that takes a copy of an object, which no page shows.
    pub line: Option<String>,
    /// The Service behind an APIService, while nobody behind it can answer.
    pub dead_service: Option<ServiceRef>,
}

impl PutBack {
    /// The right to put it back. Whoever may run a teardown may take back what a run did.
    pub fn right(&self) -> Right {
        if self.what == SwitchedOff::Parent { Right::Act } else { Right::Force }
    }
}

impl Attempt {
    /// The premises of taking it back. The first is its target, or that nobody has created that again. A volume has its old policy
    /// again only while its claim is as it was: once the claim goes, that policy destroys the data that a person kept.
    pub fn undo_premises(&self, undo: &Request, index: &Index) -> Vec<Premise> {
        let target = undo.uid.as_ref().and_then(|uid| index.get(uid));
        let first = match &undo.uid {
            Some(_) => target.map(Premise::unchanged_before),
            None => Premise::absent_before(&undo.object, index),
        };
        let mut premises: Vec<Premise> = first.into_iter().collect();
        if let (RemedyAct::RetainVolume { .. }, Some(target)) = (&self.act, target)
            && let Facts::Volume(volume) = &target.facts
            && let Some(claim) = &volume.claim
        {
            let namespace = Some(&*claim.namespace);
            let claim = index.find("", "PersistentVolumeClaim", namespace, &claim.name);
            premises.extend(claim.map(Premise::unchanged));
        }
        premises
    }
}

/// The things that are still switched off, each once. `is_allowed` says whether Unwind does remedies at all, which what a run
/// suspended does not need; `context` is the cluster's name in the kubeconfig.
pub fn put_backs<'a>(
    latest_first: impl IntoIterator<Item = &'a Attempt>,
    index: &Index,
    graph: &Graph,
    is_allowed: bool,
    context: &str,
    now: Timestamp,
) -> Vec<PutBack> {
    let case = Case { index, graph, now };
    let off = super::switched_off(latest_first, index).into_iter();
    off.map(|(attempt, what)| {
        let undo = attempt.undo_now(index);
        let line = undo.as_ref().and_then(|undo| {
            let (object, body) = (index.named(&undo.object)?, undo.body.to_string());
            let kind = match undo.verb {
                Verb::JsonPatch => "--type=json",
                Verb::MergePatch => "--type=merge",
                Verb::Delete => return command::delete(object, &json!({}))?.line(context),
                Verb::Create | Verb::Replace => return None,
            };
            command::about(Purpose::Undo, object, "patch", &[kind, "-p", &body])?.line(context)
        });
        let by_unwind = (is_allowed || what == SwitchedOff::Parent) && undo.is_some();
        let dead_service = undo.as_ref().and_then(|undo| dead_service(undo, case));
        PutBack { attempt: attempt.clone(), what, by_unwind, line, dead_service }
    })
    .collect()
}

/// The Service that a kept APIService names in `spec.service`, if nobody behind it can answer.
fn dead_service(undo: &Request, case: Case<'_>) -> Option<ServiceRef> {
    let field = "spec.service";
    let part = |name: &str| undo.body["spec"]["service"][name].as_str().map(Arc::from);
    let service =
        ServiceRef { namespace: part("namespace")?, name: part("name")?, field: field.into() };
    let is_dead = match case.serving(&service) {
        Serving::NoService | Serving::NoReadyPod | Serving::NoEndpoints => true,
        Serving::Yes | Serving::Unknown => false,
    };
    is_dead.then_some(service)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixture,
        observation::Observation,
        remedy::{AttemptOutcome, Expected, tests::found},
    };

    const API: &str = "
        ns shop deleted=400 conditions=NamespaceDeletionDiscoveryFailure:True:DiscoveryFailed:390:metrics.k8s.io/v1beta1:_stale_GroupVersion_discovery
        apiservice v1beta1.metrics.k8s.io service=kube-system/metrics-server conditions=Available:False:MissingEndpoints:500:no_endpoints
    ";

    const SERVICE: &str = "svc kube-system/metrics-server selector=app:metrics";

    /// The cluster without the APIService that a remedy has deleted, and the attempt.
    fn deleted_api() -> (Index, Attempt) {
        let mut index = fixture::index(API);
        let mut all = found(&index).into_iter().flat_map(|(diagnosis, remedies)| {
            remedies.into_iter().map(move |remedy| (diagnosis.clone(), remedy))
        });
        let is_it = |act: &RemedyAct| matches!(act, RemedyAct::DeleteApiService { .. });
        let (diagnosis, remedy) = all.find(|(_, remedy)| is_it(&remedy.act)).expect("a removal");
        let api = fixture::object("apiservice v1beta1.metrics.k8s.io");
        let request = remedy.request().unwrap().clone();
        let by = "Li".to_owned();
        let mut attempt = remedy.begin("1".into(), &diagnosis, request, by, "", fixture::now());
        let copy = json!({
            "metadata": { "name": &*api.name, "uid": &api.uid },
            "spec": { "service": { "namespace": "kube-system", "name": "metrics-server" } },
        });
        assert!(attempt.keep_copy(&copy));
        attempt.end(AttemptOutcome::Accepted { meanwhile: None }, fixture::now());
        index.apply([Observation::Deleted { kind: api.kind, uid: api.uid }], fixture::now());
        (index, attempt)
    }

    #[test]
    fn deleted_object_is_created_again_only_while_nobody_else_has_created_it() {
        let (index, attempt) = deleted_api();
        let undo = attempt.undo_now(&index).unwrap();
        let premises = attempt.undo_premises(&undo, &index);
        let [premise] = &premises[..] else { panic!("{premises:?}") };
        assert_eq!((&premise.object, &premise.expected), (&undo.object, &Expected::Absent));
        assert!(premise.changes_with_it, "after the request it is there");
    }
    /// The Service that is said to be dead while the cluster has these objects.
    fn said_dead(cluster: &str) -> Option<String> {
        let (_, attempt) = deleted_api();
        let index = fixture::index(cluster);
        let graph = Graph::of(&index);
        let off = put_backs([&attempt], &index, &graph, true, "prod", fixture::now());
        let [off] = &off[..] else { panic!("{off:?}") };
        assert_eq!(off.what, SwitchedOff::Api);
        off.dead_service.as_ref().map(|it| format!("{}/{}", it.namespace, it.name))
    }

    #[test]
    fn api_whose_service_has_no_ready_pod_is_said_to_be_dead_still() {
        let dead = Some("kube-system/metrics-server".to_owned());
        assert_eq!(said_dead("ns kube-system"), dead, "there is no Service");
        let with = |pod: &str| said_dead(&format!("{SERVICE}\n{pod}"));
        assert_eq!(with(""), dead);
        assert_eq!(with("pod kube-system/metrics-server-1 labels=app:metrics ready=no"), dead);
        assert_eq!(with("pod kube-system/metrics-server-1 labels=app:metrics"), None);
    }
}
