//! The questions whose answers would confirm a diagnosis, or say more about it.

use std::{collections::BTreeSet, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::{
    diagnosis::{Cause, Diagnosis, subjects},
    fetched::{KubeletQuery, Question},
    graph::Graph,
    index::{Index, Renewal},
    object::{Facts, Object},
};

/// The most objects whose Events are asked for at one time, beyond those of the diagnoses that a person has opened.
const EVENTS: usize = 12;
/// The most Services whose endpoints are asked for at one time.
const ENDPOINTS: usize = 6;

/// The most nodes whose kubelets are asked at one time.
const KUBELETS: usize = 6;
/// The most Pods and volumes that one query is about.
const PODS: usize = 8;
/// The least time of a log that is asked for. A kubelet reports a step that fails at least every 2m3s.
const REACH: SignedDuration = SignedDuration::from_hours(1);

/// The questions about leases.
const LEASES: [Question; 2] = [Question::NodeLeases, Question::ManagerLease];

/// The questions that diagnoses have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those to the API server.
    pub questions: BTreeSet<Question>,
    /// Those to kubelets, at most one for each node. Whether kubelets are asked at all is the cluster's owner's choice.
    pub kubelets: BTreeSet<KubeletQuery>,
}

/// The questions of these diagnoses, which are in the order of their harm. Those that a person has `opened`, by their ids with the
/// latest last, come first: with many diagnoses, the one that is read is seldom among the worst. There are no questions while no
/// deletion is in trouble, but for the leases of nodes while a page draws nodes.
pub fn wanted(
    index: &Index,
    graph: &Graph,
    diagnoses: &[Diagnosis],
    opened: &[&str],
    are_nodes_drawn: bool,
    now: Timestamp,
) -> Wanted {
    let by_id = |id: &&str| diagnoses.iter().find(|it| it.id == *id);
    let first: Vec<&Diagnosis> = opened.iter().rev().filter_map(by_id).collect();
    let then: Vec<&Diagnosis> = diagnoses.iter().filter(|it| !opened.contains(&&*it.id)).collect();
    let mut questions = questions(index, graph, &first, &then);
    if are_nodes_drawn {
        questions.insert(Question::NodeLeases);
    }
    Wanted { questions, kubelets: kubelets(index, first.into_iter().chain(then), now) }
}

/// The questions while nobody reads the diagnoses: the leases alone. A lease has to be watched for a while before it says anything,
/// and whoever opens the page must not wait for that. There are none while no deletion is in trouble.
pub fn wanted_unread(diagnoses: &[Diagnosis]) -> Wanted {
    if diagnoses.is_empty() {
        return Wanted::default();
    }
    Wanted { questions: LEASES.into(), kubelets: BTreeSet::new() }
}

fn questions(
    index: &Index,
    graph: &Graph,
    first: &[&Diagnosis],
    then: &[&Diagnosis],
) -> BTreeSet<Question> {
    let mut wanted = BTreeSet::new();
    let all = || first.iter().chain(then);
    if all().next().is_none() {
        return wanted;
    }
    wanted.insert(Question::Identity);
    wanted.extend(LEASES);
    wanted.extend(all().flat_map(|it| endpoints(index, it)).take(ENDPOINTS));
    let events_of = |diagnosis: &&Diagnosis| {
        let of = |object: &Arc<Object>| Question::Events {
            of: object.reference(),
            uid: object.uid.clone(),
        };
        subjects(index, graph, diagnosis).into_iter().map(of).collect::<Vec<_>>()
    };
    let mut objects: BTreeSet<Question> = first.iter().flat_map(events_of).collect();
    let most = objects.len() + EVENTS;
    for question in then.iter().flat_map(events_of) {
        if objects.len() == most {
            break;
        }
        objects.insert(question);
    }
    wanted.append(&mut objects);
    wanted
}

/// The queries to the kubelets that work on Pods that wait, or on volumes that are to be detached. A node whose lease stands still
/// has no kubelet that answers.
///
/// A query begins with the first deletion, and at least one whole hour before the current one, so that it stays the same for
/// an hour and a node never searches the log of days.
fn kubelets<'a>(
    index: &Index,
    diagnoses: impl Iterator<Item = &'a Diagnosis>,
    now: Timestamp,
) -> BTreeSet<KubeletQuery> {
    let hour = now.as_second() - now.as_second().rem_euclid(3600);
    let earliest = Timestamp::from_second(hour - REACH.as_secs()).unwrap_or(Timestamp::MIN);
    let mut queries: Vec<KubeletQuery> = Vec::new();
    for diagnosis in diagnoses {
        let Some((held, node)) = diagnosis.asked_of_kubelet() else { continue };
        if matches!(index.node_renewal(node), Renewal::Still(_)) {
            continue;
        }
        let deleted = diagnosis.waiting.iter().find(|it| it.uid == *held).map(|it| it.since);
        let since = deleted.unwrap_or(earliest).max(earliest);
        let known = queries.iter().position(|query| query.node == *node);
        let Some(place) = known.or((queries.len() < KUBELETS).then_some(queries.len())) else {
            continue;
        };
        if known.is_none() {
            queries.push(KubeletQuery { node: node.clone(), pods: vec![], volumes: vec![], since });
        }
        let Some(query) = queries.get_mut(place) else { continue };
        let is_known = query.pods.contains(held) || query.volumes.iter().any(|(it, _)| it == held);
        if is_known || query.pods.len() + query.volumes.len() >= PODS {
            continue;
        }
        query.since = query.since.min(since);
        match diagnosis.volume_of_kubelet() {
            Some(of) => query.volumes.push((held.clone(), of.volume.clone())),
            None => query.pods.push(held.clone()),
        }
    }
    for query in &mut queries {
        query.pods.sort();
        query.volumes.sort();
    }
    queries.into_iter().collect()
}

/// The Services of a webhook, a converter or an aggregated API that does not answer.
fn endpoints(index: &Index, diagnosis: &Diagnosis) -> Vec<Question> {
    let question = |namespace: &Arc<str>, name: &Arc<str>| Question::Endpoints {
        namespace: namespace.clone(),
        name: name.clone(),
    };
    match &diagnosis.cause {
        Cause::ApiDown { service: Some(service), .. } => {
            service.namespace.iter().map(|namespace| question(namespace, &service.name)).collect()
        }
        Cause::ConversionDown { .. } => {
            let service = index.named(&diagnosis.root).and_then(|it| it.converter());
            service.map(|it| question(&it.namespace, &it.name)).into_iter().collect()
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
