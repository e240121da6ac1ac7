//! Builds objects from text, for tests. One object per line: kind, name, then the fields that the test needs.
//!
//! ```text
//! ns shop of=shop
//! deploy shop/web of=shop selector=app:web template=app:web uses=claim:data,account:web
//! rs shop/web-1 owner=deploy/web selector=app:web template=app:web
//! pod shop/web-1-a owner=rs/web-1 labels=app:web uses=claim:data,account:web node=n1
//! pvc shop/data of=shop volume=pv-1
//! pv pv-1 claim=shop/data reclaim=Delete capacity=1Gi
//! ```
//!
//! A condition is written `NAME:STATUS:REASON:AGE:MESSAGE` with `_` for each blank of the message, several joined by `;`.
//! A deletion's age is `deleted=SECONDS`, with `grace=SECONDS`. A Pod stays on an unreachable node for `stays=SECONDS`, or
//! for ever with any other word.
//!
//! The objects that an Application manages are `manages=WORD/NAMESPACE/NAME`, several joined by commas.
//! The objects that the spec of a class, a route or a custom resource names are `refs=WORD/NAME`, or `WORD/NAMESPACE/NAME`, several joined
//! by `,`; each is the field `spec.ref`, or the one in front of a `:`. The proxies of an Istio Gateway are `selector=`.
//!
//! A binding with `accounts=shop/*` names all accounts of a namespace, with `accounts=*` those of the cluster.
//!
//! A workload that is told to be a provisioner has `provisions=NAME`, a volume that it made `provisioner=NAME`.
//!
//! The CSI sidecars of a workload are `sidecars=provisioner,attacher`. A role with `deletes=persistentvolumes` lets its holders delete them.
//!
//! The field managers of the finalizers of an object are `managers=FINALIZER:MANAGER:AGE`, joined by `,`.
//!
//! Annotations about the order are written with their keys, and with `_` for each blank: `config.kubernetes.io/depends-on=/Namespace/shop`.
//!
//! The `handle=` of a volume with a `driver=` is that of its CSI driver. A node lists the volumes that it uses with `inUse=`, by their
//! unique names: `kubernetes.io/csi/DRIVER^HANDLE`.
//!
//! A webhook with `matches=` has `matchConditions`.
//!
//! The class of the claims of a set is `uses=class:NAME`, or `uses=defaultclass`; the default class has `default=yes`.
//!
//! The stored versions of a definition are `stored=v1,v2`; one with a `service=` converts by webhook.
//!
//! The webhooks of a configuration have the name `named=NAME`. A namespace whose controller is done has `spec=`.
//!
//! An object's UID is `kind:namespace/name` in these short words unless `uid=` sets another. A kind that is not in the
//! table is a custom one, written `Widget.example.com`.

mod annotations;
mod kind;
mod lease;
mod storage;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;

use self::kind::KINDS;
pub use self::{
    kind::kind,
    lease::{leases, leases_valid_for, watch_leases},
};
use crate::{
    graph::Graph,
    index::Index,
    labels::PART_OF,
    object::{
        ApiService, Binding, Claim, ClaimRef, Condition, ConditionStatus, Container,
        ContainerState, CsiNode, DataEffect, DataPolicy, Definition, Deletion, Ending, Facts,
        FinalizerManager, Guard, Held, Ingress, Kind, Namespace, Node, Object, ObjectRef, OwnerRef,
        Parent, Phase, Pod, PodReference, PodReferenceKind, Reclaim, Reference, References,
        ResourceRule, Role, Service, ServiceAccount, ServiceRef, Sidecars, Target, Uid, Volume,
        Webhooks, Workload,
    },
    observation::Observation,
    selector::Selector,
};

/// The time at which fixtures are read.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap_or_default()
}

/// The UID of a fixture's object: `kind:namespace/name`.
pub fn uid(text: &str) -> Uid {
    Uid::new(text)
}

/// The objects of a fixture, in the order of its lines.
///
/// # Panics
/// Panics if the text is not a fixture; the message names the line.
pub fn objects(text: &str) -> Vec<Object> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(object)
        .collect()
}

/// An index that has listed every kind of the table and contains these objects.
pub fn index(text: &str) -> Index {
    let mut index = Index::default();
    index.apply(listing(&objects(text)), now());
    index
}

/// Complete lists of every kind of the table, and of every custom kind among the objects.
pub fn listing(objects: &[Object]) -> Vec<Observation> {
    let mut by_kind: HashMap<String, (Arc<Kind>, Vec<Object>)> = KINDS
        .iter()
        .map(|(word, ..)| kind(word))
        .map(|kind| (kind.resource(), (kind, Vec::new())))
        .collect();
    for object in objects {
        let list = by_kind
            .entry(object.kind.resource())
            .or_insert_with(|| (object.kind.clone(), Vec::new()));
        list.1.push(object.clone());
    }
    by_kind.into_values().map(|(kind, objects)| Observation::Listed { kind, objects }).collect()
}

/// The graph of a fixture.
pub fn graph(text: &str) -> Graph {
    Graph::of(&index(text))
}

/// Builds one object.
///
/// # Panics
/// Panics if the line is not a line of a fixture.
pub fn object(line: &str) -> Object {
    let mut words = line.split_whitespace();
    let short = words.next().unwrap_or_else(|| panic!("no kind in {line:?}"));
    let full_name = words.next().unwrap_or_else(|| panic!("no name in {line:?}"));
    let kind = kind(short);
    let (namespace, name) = match full_name.split_once('/') {
        Some((namespace, name)) => (Some(Arc::from(namespace)), name),
        None => (None, full_name),
    };
    let fields: HashMap<&str, &str> = words
        .map(|word| word.split_once('=').unwrap_or_else(|| panic!("{word:?} in {line:?}")))
        .collect();
    let fields = Fields { fields, namespace: namespace.clone() };
    let part_of = fields.text("of").map(|unit| (PART_OF.into(), unit));
    Object {
        uid: Uid::new(
            fields.get("uid").map_or_else(|| format!("{short}:{full_name}"), str::to_owned),
        ),
        facts: fields.facts(&kind),
        kind,
        namespace,
        name: name.into(),
        labels: fields.labels("labels").chain(part_of).collect(),
        annotations: fields.annotations(),
        owners: fields.owners(),
        finalizers: Arc::new(fields.list("finalizers").map(Arc::from).collect()),
        created: Some(ago(fields.get("age").unwrap_or("3600")).into()),
        deletion: fields.get("deleted").map(|age| {
            let grace =
                fields.get("grace").and_then(|grace| grace.parse().ok()).unwrap_or_default();
            let at = ago(age) + jiff::SignedDuration::from_secs(grace);
            let deletion = Deletion { at, grace };
            Box::new(Held { deletion, managers: fields.managers() })
        }),
    }
}

fn ago(seconds: &str) -> Timestamp {
    now() - jiff::SignedDuration::from_secs(seconds.parse().unwrap_or_default())
}

fn condition(text: &str) -> Condition {
    let mut parts = text.splitn(5, ':');
    let mut next = || parts.next().unwrap_or_default();
    Condition {
        name: next().into(),
        status: match next() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: next().into(),
        since: Some(ago(next()).into()),
        message: next().replace('_', " ").into(),
    }
}

struct Fields<'a> {
    fields: HashMap<&'a str, &'a str>,
    namespace: Option<Arc<str>>,
}

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.fields.get(name).copied()
    }

    fn text(&self, name: &str) -> Option<Arc<str>> {
        self.get(name).map(Arc::from)
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.get(name).into_iter().flat_map(|list| list.split(',')).filter(|part| !part.is_empty())
    }

    fn pairs(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.list(name).map(|part| part.split_once(':').unwrap_or((part, "")))
    }

    fn labels(&self, name: &str) -> impl Iterator<Item = (Arc<str>, Arc<str>)> + use<'a> {
        self.pairs(name).map(|(key, value)| (key.into(), value.into()))
    }

    fn selector(&self, name: &str) -> Option<Selector> {
        self.fields.contains_key(name).then(|| Selector::of_labels(self.labels(name).collect()))
    }

    fn uses(&self, prefix: &str) -> Arc<[PodReference]> {
        let used = |word: &str| match word {
            "claim" => PodReferenceKind::Claim,
            "config" => PodReferenceKind::ConfigMap,
            "secret" => PodReferenceKind::Secret,
            "account" => PodReferenceKind::ServiceAccount,
            "priority" => PodReferenceKind::PriorityClass,
            "runtime" => PodReferenceKind::RuntimeClass,
            "devices" => PodReferenceKind::ResourceClaim,
            "template" => PodReferenceKind::ResourceClaimTemplate,
            "group" => PodReferenceKind::PodGroup,
            "driver" => PodReferenceKind::Driver,
            "class" => PodReferenceKind::StorageClass,
            "defaultclass" => PodReferenceKind::DefaultStorageClass,
            "attributes" => PodReferenceKind::VolumeAttributesClass,
            _ => panic!("{word:?} cannot be used"),
        };
        self.pairs("uses")
            .map(|(word, name)| PodReference {
                what: used(word),
                name: name.into(),
                field: format!("{prefix}.{word}").into(),
            })
            .collect()
    }

    fn owners(&self) -> Arc<[OwnerRef]> {
        self.list("owner")
            .map(|owner| {
                let (word, name) =
                    owner.split_once('/').unwrap_or_else(|| panic!("owner {owner:?}"));
                let kind = kind(word);
                let uid = match (&self.namespace, kind.namespaced) {
                    (Some(namespace), true) => format!("{word}:{namespace}/{name}"),
                    _ => format!("{word}:{name}"),
                };
                let uid = Uid::new(self.get("owner-uid").map_or(uid, str::to_owned));
                OwnerRef {
                    uid,
                    group: kind.group.clone(),
                    kind: kind.kind.clone(),
                    name: name.into(),
                    controller: true,
                    blocks: self.get("blocks") != Some("no"),
                }
            })
            .collect()
    }

    /// `FINALIZER:MANAGER:AGE`.
    fn managers(&self) -> Box<[FinalizerManager]> {
        let of = |entry: &str| {
            let mut parts = entry.split(':');
            let mut next = || parts.next().unwrap_or_default();
            FinalizerManager {
                finalizer: next().into(),
                manager: next().into(),
                at: Some(ago(next()).into()),
            }
        };
        self.list("managers").map(of).collect()
    }

    fn is_critical(&self) -> bool {
        self.get("critical") == Some("yes")
    }

    fn services(&self) -> Box<[ServiceRef]> {
        self.list("service")
            .filter_map(|service| service.split_once('/'))
            .map(|(namespace, name)| ServiceRef {
                namespace: namespace.into(),
                name: name.into(),
                field: "clientConfig.service".into(),
            })
            .collect()
    }

    /// Several conditions, joined by `;`. Words without a colon are for the caller.
    fn conditions(&self, name: &str) -> impl Iterator<Item = Condition> + use<'a> {
        self.get(name)
            .into_iter()
            .flat_map(|list| list.split(';'))
            .filter(|it| it.contains(':'))
            .map(condition)
    }

    fn ending(&self) -> Ending {
        let container = |(name, state): (&str, &str)| Container {
            name: name.into(),
            state: match state {
                "running" => ContainerState::Running,
                "waiting" => ContainerState::Waiting,
                _ => ContainerState::Terminated,
            },
        };
        Ending {
            containers: self.pairs("containers").map(container).collect(),
            disruption: self.text("disruption"),
            disrupted: self.get("disrupted").map(|seconds| ago(seconds).into()),
            mounts_sub_paths: self.get("subPath") == Some("yes"),
            has_devices: self.get("devices") == Some("yes"),
            has_pre_stop_hook: self.get("preStop") == Some("yes"),
            has_volumes: self.get("volumes") == Some("yes"),
        }
    }

    fn reference(field: &str, text: &str) -> Reference {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().unwrap_or_default();
        let (word, first, second) = (next(), next(), next());
        // The parameters of an admission policy are named without their kind.
        let kind = (word != "param").then(|| kind(word));
        let (namespace, name) =
            if second.is_empty() { (None, first) } else { (Some(first), second) };
        Reference {
            group: kind.as_ref().map_or_else(Arc::default, |kind| kind.group.clone()),
            kind: kind.as_ref().map_or_else(Arc::default, |kind| kind.kind.clone()),
            namespace: namespace.map(Arc::from),
            name: name.into(),
            field: field.into(),
        }
    }

    fn managed(text: &str) -> ObjectRef {
        let Reference { group, kind, namespace, name, .. } = Self::reference("", text);
        ObjectRef { group, kind, namespace, name }
    }

    fn names(&self) -> Box<[Reference]> {
        let names = self.list("refs").map(|text| {
            let (field, text) = text.split_once(':').unwrap_or(("spec.ref", text));
            Self::reference(field, text)
        });
        names.collect()
    }

    /// `data=deletes-claims:LABEL`, `data=destroys` or `data=leaves`.
    fn data(&self) -> Option<Box<DataPolicy>> {
        let text = self.get("data")?;
        let effect = match text.split_once(':') {
            Some((_, label)) => DataEffect::DeletesClaims { label: label.into() },
            None if text == "destroys" => DataEffect::DestroysData,
            None => DataEffect::LeavesData,
        };
        Some(Box::new(DataPolicy { effect, field: "spec.data".into() }))
    }

    fn references(&self) -> Facts {
        let controller = self.text("controller");
        let drivers = self.list("driver").map(Arc::from).collect();
        let proxies = self.selector("selector").map(Box::new);
        let (names, data) = (self.names(), self.data());
        let told = self.conditions("conditions").filter(Condition::tells_of_deletion).collect();
        let read = References { names, controller, drivers, proxies, data, told };
        if read == References::default() { Facts::None } else { Facts::References(Box::new(read)) }
    }

    fn facts(&self, kind: &Kind) -> Facts {
        match &*kind.kind {
            "Pod" => Facts::Pod(Box::new(Pod {
                node: self.text("node"),
                phase: Phase::named(self.get("phase").unwrap_or("Running")),
                ready: self.get("ready") != Some("no"),
                critical: self.is_critical(),
                stays_unreachable: self.get("stays").unwrap_or("300").parse().ok(),
                uses: self.uses("spec"),
                ending: (self.get("deleted").is_some() || self.get("containers").is_some())
                    .then(|| Box::new(self.ending())),
            })),
            "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job" | "CronJob" => {
                Facts::Workload(Box::new(Workload {
                    replicas: self.get("replicas").and_then(|n| n.parse().ok()),
                    ready: self.get("ready").and_then(|n| n.parse().ok()),
                    selector: self.selector("selector"),
                    template_labels: self.labels("template").collect(),
                    critical: self.is_critical(),
                    uses: self.uses("spec.template.spec"),
                    claim_templates: self.list("templates").map(Arc::from).collect(),
                    claims_go_with_it: self.get("whenDeleted") == Some("Delete"),
                    claims_go_when_scaled: self.get("whenScaled") == Some("Delete"),
                    recreates: self.get("strategy") == Some("Recreate"),
                    managed_by: self.text("managedBy"),
                    drivers: self.list("drivers").map(Arc::from).collect(),
                    provisioners: self.list("provisions").map(Arc::from).collect(),
                    sidecars: Sidecars {
                        provisioner: self.list("sidecars").any(|it| it == "provisioner"),
                        attacher: self.list("sidecars").any(|it| it == "attacher"),
                    },
                }))
            }
            "PersistentVolumeClaim" => Facts::Claim(Box::new(Claim {
                volume: self.text("volume"),
                class: self.text("class"),
                capacity: self.text("capacity"),
                phase: Some(self.get("phase").unwrap_or("Bound").into()),
                attributes: self.text("attributes"),
                source: self
                    .get("from")
                    .map(|text| Box::new(Self::reference("spec.dataSourceRef", text))),
                one_node: self.get("access") == Some("ReadWriteOnce"),
            })),
            "PersistentVolume" => Facts::Volume(Box::new(Volume {
                claim: self.get("claim").and_then(|claim| claim.split_once('/')).map(
                    |(namespace, name)| ClaimRef {
                        namespace: namespace.into(),
                        name: name.into(),
                        uid: self.get("claim-uid").map(Uid::new),
                    },
                ),
                reclaim: match self.get("reclaim") {
                    Some("Delete") => Reclaim::Delete,
                    Some("Recycle") => Reclaim::Recycle,
                    _ => Reclaim::Retain,
                },
                class: self.text("class"),
                source: self.text("source").or_else(|| {
                    let (driver, handle) = (self.get("driver")?, self.get("handle")?);
                    Some(format!("csi {driver} {handle}").into())
                }),
                driver: self.text("driver"),
                provisioner: self.text("provisioner"),
                capacity: self.text("capacity"),
                phase: Some(self.get("phase").unwrap_or("Bound").into()),
                attributes: self.text("attributes"),
                node_local: self.get("disk") == Some("local"),
            })),
            "Service" => Facts::Service(Box::new(Service {
                selector: self.selector("selector"),
                load_balancer: self.get("type") == Some("LoadBalancer"),
            })),
            "Ingress" => Facts::Ingress(Box::new(Ingress {
                backends: self
                    .list("routes")
                    .map(|name| ("spec.defaultBackend.service.name".into(), name.into()))
                    .collect(),
                uses: self.uses("spec"),
                class: self.text("class"),
            })),
            "HorizontalPodAutoscaler" => {
                let (word, name) = self
                    .get("target")
                    .and_then(|target| target.split_once('/'))
                    .unwrap_or(("deploy", ""));
                let target = self::kind(word);
                Facts::Autoscaler(Box::new(Target {
                    group: target.group.clone(),
                    kind: target.kind.clone(),
                    name: name.into(),
                }))
            }
            "PodDisruptionBudget" => Facts::Disruption(self.selector("selector").map(Box::new)),
            "NetworkPolicy" => {
                Facts::NetworkPolicy(Box::new(self.selector("selector").unwrap_or_default()))
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let (word, role) =
                    self.get("role").and_then(|role| role.split_once('/')).unwrap_or(("role", ""));
                let own = self.namespace.clone().unwrap_or_default();
                Facts::Binding(Box::new(Binding {
                    role_kind: self::kind(word).kind.clone(),
                    role: role.into(),
                    people: self.get("people") == Some("yes"),
                    account_namespaces: self
                        .list("accounts")
                        .filter_map(|it| it.strip_suffix("/*"))
                        .map(Arc::from)
                        .collect(),
                    all_accounts: self.list("accounts").any(|it| it == "*"),
                    accounts: self
                        .list("accounts")
                        .filter(|it| !it.ends_with('*'))
                        .map(|account| account.split_once('/').unwrap_or((&own, account)))
                        .map(|(namespace, name)| (namespace.into(), name.into()))
                        .collect(),
                }))
            }
            "Role" | "ClusterRole" => {
                let rule = |word: &str| {
                    let (resource, group) = word.split_once('.').unwrap_or((word, ""));
                    ResourceRule {
                        groups: [group.into()].into(),
                        resources: [resource.into()].into(),
                    }
                };
                Facts::Role(Box::new(Role {
                    updates: self.list("updates").map(rule).collect(),
                    deletes_volumes: self.list("deletes").any(|it| it == "persistentvolumes"),
                    aggregates: self.selector("aggregates").into_iter().collect(),
                }))
            }
            "ServiceAccount" => {
                Facts::ServiceAccount(Box::new(ServiceAccount { uses: self.uses("spec") }))
            }
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
                let guard = |word: &str| {
                    let (resource, group) = word.split_once('.').unwrap_or((word, ""));
                    Guard {
                        field: "webhooks[0].rules[0]".into(),
                        webhook: self.text("named").unwrap_or_else(|| "gate.example.com".into()),
                        service: self.services().into_iter().next(),
                        fails_closed: self.get("policy") != Some("Ignore"),
                        covers: ResourceRule {
                            groups: [group.into()].into(),
                            resources: [resource.into()].into(),
                        },
                        deletes: self.get("asked") != Some("UPDATE"),
                        updates: self.get("asked") == Some("UPDATE"),
                        namespaces: self.selector("in").unwrap_or_default(),
                        is_conditional: self.get("matches").is_some(),
                        ..Guard::default()
                    }
                };
                Facts::Webhooks(Box::new(Webhooks {
                    services: self.services(),
                    guards: self.list("guards").map(guard).collect(),
                }))
            }
            "APIService" => Facts::ApiService(Box::new(ApiService {
                service: self.services().into_iter().next(),
                available: self.conditions("available").next(),
            })),
            "CustomResourceDefinition" => {
                let (kind, group) =
                    self.get("defines").and_then(|kind| kind.split_once('.')).unwrap_or(("", ""));
                Facts::Definition(Box::new(Definition {
                    group: group.into(),
                    kind: kind.into(),
                    is_converted: self.get("service").is_some(),
                    converter: self.services().into_iter().next().map(Box::new),
                    stored_versions: self.list("stored").map(Into::into).collect(),
                    terminating: self.conditions("terminating").next().map(Box::new),
                }))
            }
            "Node" => Facts::Node(Box::new(Node {
                ready: Some(self.conditions("ready").next().unwrap_or_else(|| {
                    let word = if self.get("ready") == Some("no") { "False" } else { "True" };
                    condition(&format!("Ready:{word}:Kubelet:600:"))
                })),
                taints: self
                    .pairs("taints")
                    .map(|(key, effect)| (key.into(), effect.into()))
                    .collect(),
                provider: self.text("provider"),
                in_use: self.list("inUse").map(Arc::from).collect(),
            })),
            "Namespace" => Facts::Namespace(Box::new(Namespace {
                finalizers: self
                    .get("spec")
                    .unwrap_or("kubernetes")
                    .split(',')
                    .filter(|it| !it.is_empty())
                    .map(Arc::from)
                    .collect(),
                conditions: self.conditions("conditions").collect(),
            })),
            "VolumeSnapshotContent" => self.snapshot_content(),
            "VolumeSnapshot" => self.snapshot(),
            "VolumeAttachment" => self.attachment(),
            "CSINode" => Facts::CsiNode(Box::new(CsiNode {
                drivers: self.list("drivers").map(Arc::from).collect(),
            })),
            "Application" | "Kustomization" | "HelmRelease" | "App" | "PackageInstall" => {
                Facts::Parent(Box::new(Parent {
                    active: self.list("state").all(|it| it != "suspended").then(|| "false".into()),
                    applying: self.list("state").any(|it| it == "applying"),
                    names: self.names(),
                    manages: self.list("manages").map(Self::managed).collect(),
                    mark: self.text("mark"),
                }))
            }
            _ => self.references(),
        }
    }
}
