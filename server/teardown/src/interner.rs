//! Stores repeated values once: texts such as namespaces, label values and fields, and whole lists such as the labels,
//! owners and uses that all Pods of one workload have in common.

use std::{collections::HashSet, hash::Hash, sync::Arc};

use crate::{
    labels::{Label, Labels},
    object::{Annotations, Facts, Kind, Object, OwnerRef, PodReference, Reference, ServiceRef},
    selector::Selector,
};

/// The most distinct values of one type that are shared. A cluster of 100,000 objects has about as many distinct texts.
const MOST: usize = 262_144;
/// The fewest values of one type before unused ones are removed.
const FEWEST: usize = 1_024;
/// The number of values that a full set rejects between two sweeps.
const SWEEP_EVERY: usize = MOST / 4;
/// The longest shared text. Longer texts are rarely repeated: label values end at 63 characters, names at 253.
const LONGEST: usize = 253;

/// The shared values: those that objects use now, and some that they used until recently.
#[derive(Debug, Default)]
pub struct Interner {
    kinds: Shared<Kind>,
    texts: Shared<str>,
    labels: Shared<[Label]>,
    annotations: Shared<Annotations>,
    owners: Shared<[OwnerRef]>,
    finalizers: Shared<Vec<Arc<str>>>,
    uses: Shared<[PodReference]>,
}

impl Interner {
    /// Replaces the object's values by shared ones, except for its name and UID, which are unique.
    pub fn share(&mut self, object: &mut Object) {
        object.kind = self.kinds.share(&object.kind);
        self.share_texts(&mut object.namespace);
        self.share_labels(&mut object.labels);
        if let Some(annotations) = &mut object.annotations {
            *annotations = self.annotations.share(annotations);
        }
        self.share_owners(&mut object.owners);
        self.share_finalizers(&mut object.finalizers);
        self.share_facts(&mut object.facts);
    }

    fn share_facts(&mut self, facts: &mut Facts) {
        match facts {
            Facts::Pod(pod) => {
                self.share_texts(&mut pod.node);
                self.share_uses(&mut pod.uses);
            }
            Facts::Workload(workload) => {
                self.share_selectors(&mut workload.selector);
                self.share_labels(&mut workload.template_labels);
                self.share_uses(&mut workload.uses);
                self.share_texts(&mut workload.claim_templates);
                self.share_texts(workload.drivers.iter_mut().chain(&mut workload.provisioners));
            }
            Facts::Claim(claim) => {
                let texts = [
                    &mut claim.class,
                    &mut claim.capacity,
                    &mut claim.phase,
                    &mut claim.attributes,
                ];
                self.share_texts(texts.into_iter().flatten());
                self.share_references(claim.source.as_deref_mut());
            }
            Facts::Volume(volume) => {
                self.share_texts(volume.claim.iter_mut().map(|claim| &mut claim.namespace));
                let texts = [
                    &mut volume.class,
                    &mut volume.driver,
                    &mut volume.provisioner,
                    &mut volume.capacity,
                    &mut volume.phase,
                    &mut volume.attributes,
                ];
                self.share_texts(texts.into_iter().flatten());
            }
            Facts::Service(service) => self.share_selectors(&mut service.selector),
            Facts::Ingress(ingress) => {
                self.share_texts(
                    ingress.backends.iter_mut().flat_map(|(field, name)| [field, name]),
                );
                self.share_uses(&mut ingress.uses);
                self.share_texts(&mut ingress.class);
            }
            Facts::Autoscaler(target) => {
                self.share_texts([&mut target.group, &mut target.kind, &mut target.name]);
            }
            Facts::Disruption(selector) => self.share_selectors(selector.as_deref_mut()),
            Facts::NetworkPolicy(selector) => self.share_selectors([&mut **selector]),
            Facts::Binding(binding) => {
                self.share_texts([&mut binding.role_kind, &mut binding.role]);
                self.share_texts(
                    binding.accounts.iter_mut().flat_map(|(namespace, name)| [namespace, name]),
                );
                self.share_texts(&mut binding.account_namespaces);
            }
            Facts::Role(role) => {
                for rule in &mut role.updates {
                    self.share_texts(rule.groups.iter_mut().chain(&mut rule.resources));
                }
                self.share_selectors(&mut role.aggregates);
            }
            Facts::ServiceAccount(account) => self.share_uses(&mut account.uses),
            Facts::Webhooks(webhooks) => {
                self.share_services(&mut webhooks.services);
                for guard in &mut webhooks.guards {
                    self.share_services(&mut guard.service);
                    let covers = &mut guard.covers;
                    self.share_texts(covers.groups.iter_mut().chain(&mut covers.resources));
                    self.share_selectors([&mut guard.namespaces, &mut guard.objects]);
                }
            }
            Facts::ApiService(api) => self.share_services(&mut api.service),
            Facts::Definition(definition) => {
                self.share_texts([&mut definition.group, &mut definition.kind]);
                self.share_services(definition.converter.as_deref_mut());
            }
            Facts::SnapshotContent(content) => {
                self.share_texts([&mut content.driver]);
                self.share_texts(&mut content.class);
                self.share_texts(content.snapshot.iter_mut().map(|(namespace, _)| namespace));
            }
            Facts::Attachment(attachment) => {
                self.share_texts(&mut attachment.volume);
                self.share_texts([&mut attachment.node, &mut attachment.attacher]);
            }
            Facts::Snapshot(snapshot) => self.share_texts(&mut snapshot.class),
            Facts::References(references) => {
                self.share_references(&mut references.names);
                self.share_texts(&mut references.controller);
                self.share_texts(&mut references.drivers);
                self.share_selectors(references.proxies.as_deref_mut());
                self.share_texts(references.data.iter_mut().map(|data| &mut data.field));
            }
            Facts::CsiNode(node) => self.share_texts(&mut node.drivers),
            Facts::Parent(parent) => {
                self.share_texts(parent.active.iter_mut().chain(&mut parent.mark));
                self.share_references(&mut parent.names);
                for object in &mut parent.manages {
                    self.share_texts([&mut object.group, &mut object.kind]);
                    self.share_texts(&mut object.namespace);
                }
            }
            Facts::None | Facts::Node(_) | Facts::Namespace(_) => {}
        }
    }

    fn share_texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a mut Arc<str>>) {
        for text in texts {
            self.texts.share_text(text);
        }
    }

    fn share_labels(&mut self, labels: &mut Labels) {
        share_list(&mut self.labels, labels.list_mut(), |(key, value)| {
            self.texts.share_text(key);
            self.texts.share_text(value);
        });
    }

    fn share_finalizers(&mut self, finalizers: &mut Arc<Vec<Arc<str>>>) {
        let texts = &mut self.texts;
        self.finalizers.share_with_parts(finalizers, |list| {
            Arc::make_mut(list).iter_mut().for_each(|finalizer| texts.share_text(finalizer));
        });
    }

    fn share_owners(&mut self, owners: &mut Arc<[OwnerRef]>) {
        share_list(&mut self.owners, owners, |owner| {
            self.texts.share_text(&mut owner.group);
            self.texts.share_text(&mut owner.kind);
            self.texts.share_text(&mut owner.name);
        });
    }

    fn share_uses(&mut self, uses: &mut Arc<[PodReference]>) {
        share_list(&mut self.uses, uses, |used| {
            self.texts.share_text(&mut used.name);
            self.texts.share_text(&mut used.field);
        });
    }

    fn share_selectors<'a>(&mut self, selectors: impl IntoIterator<Item = &'a mut Selector>) {
        for selector in selectors {
            self.share_labels(&mut selector.labels);
            for requirement in &mut selector.expressions {
                self.texts.share_text(&mut requirement.key);
                self.share_texts(&mut requirement.values);
            }
        }
    }

    fn share_references<'a>(&mut self, references: impl IntoIterator<Item = &'a mut Reference>) {
        for reference in references {
            let Reference { group, kind, namespace, name, field } = reference;
            self.share_texts([group, kind, name, field].into_iter().chain(namespace));
        }
    }

    fn share_services<'a>(&mut self, services: impl IntoIterator<Item = &'a mut ServiceRef>) {
        for service in services {
            self.share_texts([&mut service.namespace, &mut service.name, &mut service.field]);
        }
    }
}

/// Replaces the list by an equal shared one. If there is none yet, the parts of the list are shared.
fn share_list<T: Clone + Eq + Hash>(
    kept: &mut Shared<[T]>,
    list: &mut Arc<[T]>,
    share_part: impl FnMut(&mut T),
) {
    if list.is_empty() {
        *list = Arc::default();
        return;
    }
    kept.share_with_parts(list, |list| Arc::make_mut(list).iter_mut().for_each(share_part));
}

/// Shared values of one type.
#[derive(Debug)]
pub(crate) struct Shared<T: ?Sized> {
    values: HashSet<Arc<T>>,
    /// The number of values at which unused ones are removed. It is twice the number that remained after the last
    /// sweep, so that unused values never outnumber the used ones.
    room: usize,
    /// The number of values rejected since the last sweep. A sweep for each of them would cost more than it saves.
    turned_away: usize,
}

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), room: self.room, turned_away: self.turned_away }
    }
}

impl<T: ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self { values: HashSet::new(), room: FEWEST, turned_away: 0 }
    }
}

impl<T: ?Sized + Eq + Hash> Shared<T> {
    /// Replaces the value by an equal shared one. Its parts are shared first, unless that was done before.
    pub(crate) fn share_with_parts(
        &mut self,
        value: &mut Arc<T>,
        share_parts: impl FnOnce(&mut Arc<T>),
    ) {
        if !self.values.contains(value) {
            share_parts(value);
        }
        *value = self.share(value);
    }

    /// Returns the shared value that equals this one. If there is none and there is room, this one becomes the shared
    /// value.
    pub(crate) fn share(&mut self, value: &Arc<T>) -> Arc<T> {
        if let Some(shared) = self.values.get(value) {
            return shared.clone();
        }
        if self.values.len() >= self.room && self.turned_away.is_multiple_of(SWEEP_EVERY) {
            self.values.retain(|value| Arc::strong_count(value) > 1);
            self.room = (self.values.len() * 2).clamp(FEWEST, MOST);
            self.turned_away = 0;
        }
        if self.values.len() < self.room {
            self.values.insert(value.clone());
        } else {
            self.turned_away += 1;
        }
        value.clone()
    }
}

impl Shared<str> {
    pub(crate) fn share_text(&mut self, text: &mut Arc<str>) {
        if text.len() <= LONGEST {
            *text = self.share(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn shared(names: &mut Interner, line: &str) -> Object {
        let mut object = fixture::object(line);
        let before = object.clone();
        names.share(&mut object);
        assert_eq!(object, before);
        object
    }

    #[test]
    fn equal_values_of_pods_of_one_workload_are_stored_once() {
        let mut names = Interner::default();
        let rest = "owner=rs/web labels=app:web,tier:front uses=claim:data,account:web node=n1";
        let [a, b] =
            ["a", "b"].map(|name| shared(&mut names, &format!("pod shop/web-{name} {rest}")));
        assert!(Arc::ptr_eq(&a.kind, &b.kind) && Arc::ptr_eq(&a.owners, &b.owners));
        assert!(std::ptr::eq(a.labels.get("app").unwrap(), b.labels.get("app").unwrap()));
        let (Facts::Pod(a), Facts::Pod(b)) = (a.facts, b.facts) else { panic!() };
        assert!(Arc::ptr_eq(&a.uses, &b.uses));
        assert!(Arc::ptr_eq(&a.node.unwrap(), &b.node.unwrap()));
    }

    #[test]
    fn sharing_changes_no_value_of_any_kind() {
        let mut names = Interner::default();
        for line in [
            "sts shop/db selector=app:db template=app:db uses=config:c templates=data finalizers=a,b",
            "pvc shop/data volume=pv class=fast capacity=1Gi",
            "pv pv claim=shop/data claim-uid=u class=fast source=nfs capacity=1Gi",
            "svc shop/web selector=app:web",
            "ing shop/web routes=web,api uses=secret:cert class=nginx",
            "hpa shop/web target=deploy/web",
            "pdb shop/web selector=app:web",
            "netpol shop/web selector=app:web",
            "rb shop/web role=role/web accounts=web",
            "sa shop/web uses=secret:token",
            "webhook gate service=shop/gate",
            "apiservice metrics service=shop/metrics",
            "crd widgets defines=Widget.example.com",
            "node n1",
            "ns shop",
            "attachment a1 volume=pv node=n1 attacher=disk.example",
            "csinode n1 drivers=disk.example",
        ] {
            shared(&mut names, line);
            shared(&mut names, line);
        }
    }

    #[test]
    fn interner_is_bounded_and_drops_unused_values() {
        let mut texts = Shared::<str>::default();
        let used: Vec<_> = (0..10).map(|n| texts.share(&format!("used-{n}").into())).collect();
        for n in 0..MOST {
            texts.share(&format!("passing-{n}").into());
        }
        assert!(texts.values.len() <= FEWEST);
        assert!(used.iter().all(|text| Arc::ptr_eq(text, &texts.share(&(**text).into()))));
        let many: Vec<_> = (0..MOST * 2).map(|n| texts.share(&n.to_string().into())).collect();
        assert_eq!(texts.values.len(), MOST);
        drop(many);
        (0..SWEEP_EVERY).for_each(|n| drop(texts.share(&format!("later-{n}").into())));
        assert!(texts.values.len() < MOST, "a full set is swept too");
        let mut long: Arc<str> = "x".repeat(LONGEST + 1).into();
        texts.share_text(&mut long);
        assert!(!texts.values.contains(&long));
    }
}
