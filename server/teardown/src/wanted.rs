//! The questions whose answers would confirm a diagnosis, or say more about it.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    diagnosis::{Cause, Diagnosis, subjects},
    fetched::Question,
    graph::Graph,
    index::Index,
    object::Facts,
};

/// The most objects whose Events are asked for at one time.
const EVENTS: usize = 12;
/// The most Services whose endpoints are asked for at one time.
const ENDPOINTS: usize = 6;

/// The questions of these diagnoses, which are in the order of their harm. There are none while no deletion is in trouble.
pub fn wanted(index: &Index, graph: &Graph, diagnoses: &[Diagnosis]) -> BTreeSet<Question> {
    let mut wanted = BTreeSet::new();
    if diagnoses.is_empty() {
        return wanted;
    }
    wanted.extend([Question::Identity, Question::NodeLeases, Question::ManagerLease]);
    wanted.extend(diagnoses.iter().flat_map(|it| endpoints(index, it)).take(ENDPOINTS));
    let mut objects = BTreeSet::new();
    for object in diagnoses.iter().flat_map(|it| subjects(index, graph, it)) {
        if objects.len() == EVENTS {
            break;
        }
        objects.insert(Question::Events { of: object.reference(), uid: object.uid.clone() });
    }
    wanted.append(&mut objects);
    wanted
}

/// The Services of a webhook or an aggregated API that does not answer.
fn endpoints(index: &Index, diagnosis: &Diagnosis) -> Vec<Question> {
    let question = |namespace: &Arc<str>, name: &Arc<str>| Question::Endpoints {
        namespace: namespace.clone(),
        name: name.clone(),
    };
    match &diagnosis.cause {
        Cause::ApiDown { service: Some(service), .. } => {
            service.namespace.iter().map(|namespace| question(namespace, &service.name)).collect()
        }
        Cause::WebhookDown { webhook, configurations } => {
            let guards = configurations.iter().filter_map(|it| index.named(it)).flat_map(|it| {
                match &it.facts {
                    Facts::Webhooks(webhooks) => &webhooks.guards[..],
                    _ => &[],
                }
            });
            let services =
                guards.filter(|it| it.webhook == *webhook).filter_map(|it| it.service.as_ref());
            services.map(|service| question(&service.namespace, &service.name)).collect()
        }
        _ => Vec::new(),
    }
}
