//! The changes just before a deletion began to wait, as the index saw them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Diagnosis,
    case::became,
    cause::{Cause, Evidence, Source},
    finalizer::is_cloud_controller,
};
use crate::{
    index::{Departure, Index},
    object::{Facts, Object, ObjectRef},
};

/// The time before the first of the deletions that counts as just before.
const BEFORE: SignedDuration = SignedDuration::from_mins(30);
/// The most changes that are shown.
const SHOWN: usize = 4;

/// The changes that may have to do with a diagnosis, the likeliest first: what the cause names, then its surroundings.
pub(crate) fn before(index: &Index, diagnosis: &Diagnosis) -> Vec<Evidence> {
    let from = diagnosis.since - BEFORE;
    let surroundings = Surroundings::of(index, diagnosis);
    let deleted = index.departures().filter(|it| it.at >= from).filter_map(|it| {
        let nearness = surroundings.nearness(&it.object)?;
        Some((nearness, it.at, gone(it)))
    });
    let nodes = index.transitions().filter(|it| it.at >= from).filter_map(|it| {
        let is_its = surroundings.nodes.iter().any(|node| **node == it.node.name);
        is_its.then(|| (Nearness::Named, it.at, became(it)))
    });
    let mut found: Vec<(Nearness, Timestamp, Evidence)> = deleted.chain(nodes).collect();
    // The nearest first, and of those the latest.
    found.sort_by_key(|(nearness, at, _)| (*nearness, std::cmp::Reverse(*at)));
    found.truncate(SHOWN);
    found.into_iter().map(|(.., evidence)| evidence).collect()
}

/// How near a change is to a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// The cause names it.
    Named,
    /// It served, defined or drove what the cause names.
    Behind,
    /// It was in the same namespace.
    Beside,
}

/// The objects around a diagnosis.
struct Surroundings<'a> {
    /// The objects that the cause names.
    named: Vec<&'a ObjectRef>,
    nodes: Vec<&'a Arc<str>>,
    driver: Option<&'a str>,
    /// A cloud controller is to remove a load balancer.
    is_of_cloud: bool,
    /// Namespaces of the Services behind a webhook, a converter or an API.
    behind: Vec<Arc<str>>,
    /// The API group of the root.
    group: &'a str,
    /// Namespaces of the root and of what waits for it.
    beside: Vec<&'a str>,
}

impl<'a> Surroundings<'a> {
    fn of(index: &Index, diagnosis: &'a Diagnosis) -> Self {
        let cause = &diagnosis.cause;
        let mut behind: Vec<Arc<str>> = Vec::new();
        let named: Vec<&ObjectRef> = match cause {
            Cause::FinisherGone { deleted: named, .. }
            | Cause::FinisherUnknown { possible: named, .. }
            | Cause::ClaimInUse { pods: named } => named.iter().collect(),
            Cause::FinisherNotReady { finisher, .. } | Cause::FinisherBusy { finisher, .. } => {
                vec![finisher]
            }
            Cause::WebhookDown { configurations, .. } => configurations.iter().collect(),
            Cause::ApiDown { service, .. } => service.iter().collect(),
            _ => vec![&diagnosis.root],
        };
        for name in &named {
            let Some(object) = index.named(name) else { continue };
            if let Facts::Webhooks(webhooks) = &object.facts {
                let services = webhooks.guards.iter().filter_map(|guard| guard.service.as_ref());
                behind.extend(services.map(|service| service.namespace.clone()));
            }
            let is_unconverted = matches!(cause, Cause::ConversionDown { .. });
            let converter = object.converter().filter(|_| is_unconverted);
            behind.extend(converter.map(|service| service.namespace.clone()));
        }
        if matches!(cause, Cause::ApiDown { .. }) {
            behind.extend(named.iter().filter_map(|service| service.namespace.clone()));
        }
        let driver = match cause {
            Cause::DriverMissing { driver, .. }
            | Cause::DetachFailed { attacher: driver, .. }
            | Cause::VolumeAttached { attacher: driver, .. } => Some(&**driver),
            Cause::BackendLeft { driver } => driver.as_deref(),
            _ => None,
        };
        let waiting = diagnosis.waiting.iter().take(SHOWN);
        let beside = waiting
            .filter_map(|held| held.object.namespace.as_deref())
            .chain(diagnosis.root.namespace.as_deref());
        Self {
            named,
            nodes: cause.node().into_iter().collect(),
            driver,
            is_of_cloud: matches!(cause, Cause::LoadBalancerLeft),
            behind,
            group: &diagnosis.root.group,
            beside: beside.collect(),
        }
    }

    fn nearness(&self, gone: &Object) -> Option<Nearness> {
        let namespace = gone.namespace.as_deref();
        let is_node = || self.nodes.iter().any(|node| node.as_ref() == &*gone.name);
        match &gone.facts {
            Facts::Node(_) => is_node().then_some(Nearness::Named),
            _ if self.named.iter().any(|name| **name == gone.reference()) => Some(Nearness::Named),
            Facts::Definition(definition) => (*definition.group == *self.group
                && !self.group.is_empty())
            .then_some(Nearness::Behind),
            Facts::ApiService(_) | Facts::Webhooks(_) => None,
            Facts::Workload(_) if self.driver.is_some_and(|driver| drives(gone, driver)) => {
                Some(Nearness::Behind)
            }
            Facts::Workload(_) if self.is_of_cloud && is_cloud_controller(gone) => {
                Some(Nearness::Behind)
            }
            _ if self.behind.iter().any(|it| Some(&**it) == namespace) => Some(Nearness::Behind),
            _ if !gone.owners.is_empty() => None,
            _ => self.beside.iter().any(|it| Some(*it) == namespace).then_some(Nearness::Beside),
        }
    }
}

/// Whether a workload runs a CSI driver, by its name: drivers are called as a domain, and their workloads as its first part.
fn drives(workload: &Object, driver: &str) -> bool {
    let first = driver.split('.').next().unwrap_or(driver);
    first.len() > 2 && workload.name.contains(first)
}

fn gone(departure: &Departure) -> Evidence {
    let (of, at) = (departure.object.reference(), Some(departure.at));
    Evidence { of, source: Source::Deleted, said: String::new(), at }
}
