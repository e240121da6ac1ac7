//! Random graphs of owners: a few objects of one namespace whose owner references lead along the hard edges between them and
//! against these, so that they close cycles with them.

use proptest::prelude::*;
use teardown::{
    fixture,
    object::{Object, OwnerRef},
};

/// The kinds of the objects. Every hard edge leads from an object to a later one, so that hard edges alone form no cycle.
const KINDS: [&str; 9] =
    ["Widget.example.com", "hpa", "ing", "deploy", "pod", "svc", "cm", "secret", "pvc"];
/// The kinds that Pods name, each with the word for it in a fixture.
const NAMED_BY_PODS: [(&str, &str); 3] = [("cm", "config"), ("secret", "secret"), ("pvc", "claim")];

/// An owner reference between two objects by their places in the fixture.
#[derive(Clone, Debug)]
struct Reference {
    dependent: usize,
    owner: usize,
    /// Whether the owner is the controller.
    controller: bool,
    /// `blockOwnerDeletion`.
    blocks: bool,
}

/// The objects of a unit called `shop`, with their owners.
#[derive(Clone, Debug)]
pub(crate) struct OwnerGraph {
    fixture: String,
    references: Vec<Reference>,
}

impl OwnerGraph {
    pub(crate) fn objects(&self) -> Vec<Object> {
        let mut objects = fixture::objects(&self.fixture);
        for Reference { dependent, owner, controller, blocks } in &self.references {
            let owner = &objects[*owner];
            let reference = OwnerRef {
                uid: owner.uid.clone(),
                group: owner.kind.group.clone(),
                kind: owner.kind.kind.clone(),
                name: (*owner.name).into(),
                controller: *controller,
                blocks: *blocks,
            };
            let owners = &mut objects[*dependent].owners;
            *owners = owners.iter().cloned().chain([reference]).collect();
        }
        objects
    }
}

/// The raw choices for one object. Each number selects among the candidates that there are.
#[derive(Clone, Debug)]
struct Choices {
    kind: usize,
    target: usize,
    /// For each object that Pods name, whether this one names it.
    names: u8,
    is_replica: bool,
    has_finalizer: bool,
}

fn choices() -> impl Strategy<Value = Choices> {
    let flags = (any::<bool>(), prop::bool::weighted(0.3));
    (0..KINDS.len(), 0usize..8, any::<u8>(), flags).prop_map(
        |(kind, target, names, (is_replica, has_finalizer))| Choices {
            kind,
            target,
            names,
            is_replica,
            has_finalizer,
        },
    )
}

/// Three to eight objects in a namespace, and sometimes a Pod of another application that names one of them.
pub(crate) fn owner_graph() -> impl Strategy<Value = OwnerGraph> {
    let objects = prop::collection::vec(choices(), 3..9);
    let reference = (0usize..16, 0usize..16, any::<[bool; 2]>());
    let references = prop::collection::vec(reference, 0..8);
    let bystander = prop::option::weighted(0.2, 0usize..8);
    (objects, any::<u32>(), references, bystander).prop_map(
        |(mut objects, reversed, references, bystander)| {
            objects.sort_by_key(|choices| choices.kind);
            let mut draft = Draft { objects, references: Vec::new(), edges: Vec::new() };
            let fixture = draft.fixture(bystander);
            for (at, (first, then)) in draft.edges.clone().into_iter().enumerate() {
                if reversed & (1 << (at % 32)) != 0 {
                    draft.refer(first, then, [false, true]);
                }
            }
            for (dependent, owner, flags) in references {
                let count = draft.objects.len();
                draft.refer(dependent % count, owner % (count + 1), flags);
            }
            OwnerGraph { fixture, references: draft.references }
        },
    )
}

/// A graph that is being made. The place after the last object is that of the namespace.
struct Draft {
    objects: Vec<Choices>,
    references: Vec<Reference>,
    /// The hard edges that do not come from owners: the object that goes first, and the one that follows.
    edges: Vec<(usize, usize)>,
}

impl Draft {
    fn kind(&self, at: usize) -> &'static str {
        self.objects.get(at).map_or("ns", |choices| KINDS[choices.kind])
    }

    fn places(&self, is_one: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.objects.len()).filter(|at| is_one(self.kind(*at))).collect()
    }

    /// The object of this kind that an object is for.
    fn target(&self, at: usize, is_one: impl Fn(&str) -> bool) -> Option<usize> {
        let candidates = self.places(is_one);
        let number = self.objects[at].target.checked_rem(candidates.len())?;
        candidates.get(number).copied()
    }

    /// The Deployment whose Pod this is. The other Pods are nobody's.
    fn deployment_of(&self, at: usize) -> Option<usize> {
        let is_replica = self.kind(at) == "pod" && self.objects[at].is_replica;
        is_replica.then(|| self.target(at, |kind| kind == "deploy")).flatten()
    }

    /// The objects that a Pod or the Pods of a Deployment name.
    fn named(&self, at: usize) -> Vec<usize> {
        let names = self.objects[self.deployment_of(at).unwrap_or(at)].names;
        let named = self.places(|kind| NAMED_BY_PODS.iter().any(|(named, _)| *named == kind));
        let chosen = named.into_iter().enumerate().filter(|(number, _)| names & (1 << number) != 0);
        chosen.map(|(_, named)| named).collect()
    }

    /// Writes the objects, and notes the edges between them.
    fn fixture(&mut self, bystander: Option<usize>) -> String {
        let mut text = String::new();
        for at in 0..self.objects.len() {
            let kind = self.kind(at);
            text += &format!("{kind} shop/n{at} of=shop");
            match kind {
                "hpa" => {
                    if let Some(scaled) = self.target(at, |kind| kind == "deploy") {
                        text += &format!(" target=deploy/n{scaled}");
                        self.edges.push((at, scaled));
                    }
                }
                "ing" => {
                    if let Some(service) = self.target(at, |kind| kind == "svc") {
                        text += &format!(" routes=n{service}");
                        self.edges.push((at, service));
                    }
                }
                "svc" => {
                    if let Some(selected) =
                        self.target(at, |kind| ["deploy", "pod"].contains(&kind))
                    {
                        let app = self.deployment_of(selected).unwrap_or(selected);
                        text += &format!(" selector=app:n{app}");
                        self.edges.push((selected, at));
                    }
                }
                "deploy" => text += &format!(" selector=app:n{at} template=app:n{at}"),
                "pod" => {
                    let deployment = self.deployment_of(at);
                    text += &format!(" labels=app:n{}", deployment.unwrap_or(at));
                    if let Some(owner) = deployment {
                        let (dependent, controller) = (at, true);
                        self.references.push(Reference {
                            dependent,
                            owner,
                            controller,
                            blocks: true,
                        });
                    }
                }
                _ => {}
            }
            if ["deploy", "pod"].contains(&kind) {
                let named = self.named(at);
                let uses: Vec<String> = named.iter().map(|at| self.reference_of_pod(*at)).collect();
                text += &format!(" uses={}", uses.join(","));
                self.edges.extend(named.into_iter().map(|named| (at, named)));
            }
            if self.objects[at].has_finalizer {
                text += " finalizers=example.com/cleanup";
            }
            text += "\n";
        }
        text += "ns shop of=shop\n";
        let named = self.places(|kind| NAMED_BY_PODS.iter().any(|(named, _)| *named == kind));
        if let Some(number) = bystander.and_then(|it| it.checked_rem(named.len())) {
            let used = self.reference_of_pod(named[number]);
            text += &format!("pod shop/other of=other labels=app:other uses={used}\n");
        }
        text
    }

    /// The word with which a Pod names an object.
    fn reference_of_pod(&self, at: usize) -> String {
        let word = NAMED_BY_PODS.iter().find(|(kind, _)| *kind == self.kind(at));
        format!("{}:n{at}", word.map_or("", |(_, word)| word))
    }

    /// Adds an owner reference if the object can have it.
    /// The Pods of a Deployment have no other owner, as in every cluster.
    fn refer(&mut self, dependent: usize, owner: usize, [controller, blocks]: [bool; 2]) {
        let owners: Vec<&Reference> =
            self.references.iter().filter(|it| it.dependent == dependent).collect();
        let is_refused = owners.len() >= 2 || owners.iter().any(|it| it.owner == owner);
        if dependent == owner || is_refused || self.deployment_of(dependent).is_some() {
            return;
        }
        // A controller that makes its dependents again goes first, so it must not be a later object.
        let makes_again = ["Widget.example.com", "deploy"].contains(&self.kind(owner));
        let has_controller = owners.iter().any(|it| it.controller);
        let controller = controller && !has_controller && (owner < dependent || !makes_again);
        self.references.push(Reference { dependent, owner, controller, blocks });
    }
}
