//! The annotations by which tools order what they apply: on ConfigMaps that nothing else orders, in each form, and between any two
//! objects, where they may contradict what a deletion needs.

use fastrand::Rng;
use serde_json::{Value, json};

use super::{Application, UNIT, belongs, object};
use crate::state::{kind, name, namespace, text, unit};

/// The beginning of the names of the ConfigMaps that hints alone order.
pub(crate) const HINTED: &str = "hinted-";

const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
/// The group of kapp that the other objects of an application have rules about.
const BASE: &str = "example.com/base";
/// The beginnings of the rules about that group.
const RULES: [&str; 4] = [
    "delete before deleting",
    "delete after deleting",
    "upsert before upserting",
    "upsert after upserting",
];
/// The kinds of the objects that get a hint. The order of custom resources and their operators may be a mere hint itself.
const KINDS: [&str; 9] = [
    "ConfigMap",
    "Secret",
    "Service",
    "ServiceAccount",
    "Deployment",
    "StatefulSet",
    "PersistentVolumeClaim",
    "Ingress",
    "Namespace",
];

impl Application {
    /// Adds ConfigMaps that are ordered by hints, and hints between other objects.
    pub(crate) fn add_hints(&mut self, rng: &mut Rng) {
        self.add_contradictory_hints(rng);
        let namespaces: Vec<String> = self.namespaces().map(str::to_owned).collect();
        for namespace in namespaces {
            let mut hinted: Vec<Value> = (1..=rng.u32(3..7))
                .map(|number| object("v1", "ConfigMap", &namespace, &format!("{HINTED}{number}")))
                .collect();
            // The names say nothing about the order.
            rng.shuffle(&mut hinted);
            match rng.u32(..3) {
                0 => chain(&mut hinted),
                1 => in_waves(&mut hinted, rng),
                _ => with_rules(&mut hinted, rng),
            }
            hinted.iter_mut().for_each(|it| belongs(it, UNIT));
            self.objects.extend(hinted);
        }
    }

    /// Lets objects depend on any others, which may close circles.
    fn add_contradictory_hints(&mut self, rng: &mut Rng) {
        let is_one = |it: &Value| unit(it) == UNIT && KINDS.contains(&kind(it));
        let all: Vec<usize> =
            (0..self.objects.len()).filter(|at| is_one(&self.objects[*at])).collect();
        if all.is_empty() {
            return;
        }
        for _ in 0..rng.u32(..8) {
            let (first, on) = (all[rng.usize(..all.len())], all[rng.usize(..all.len())]);
            if first != on {
                let on = path(&self.objects[on]);
                self.objects[first]["metadata"]["annotations"][DEPENDS_ON] = json!(on);
            }
        }
    }
}

/// Each depends on the next.
fn chain(hinted: &mut [Value]) {
    let paths: Vec<String> = hinted.iter().map(path).collect();
    for (first, on) in hinted.iter_mut().zip(&paths[1..]) {
        first["metadata"]["annotations"][DEPENDS_ON] = json!(on);
    }
}

/// Each is in a wave, some in the one that needs no annotation.
fn in_waves(hinted: &mut [Value], rng: &mut Rng) {
    for it in hinted {
        let id = format!("{UNIT}:/ConfigMap:{}/{}", namespace(it), name(it));
        let annotations = &mut it["metadata"]["annotations"];
        annotations["argocd.argoproj.io/tracking-id"] = json!(id);
        let wave = rng.i32(-1..3);
        if wave != 0 {
            annotations["argocd.argoproj.io/sync-wave"] = json!(wave.to_string());
        }
    }
}

/// The first is the group of kapp that the others have rules about.
fn with_rules(hinted: &mut [Value], rng: &mut Rng) {
    for (number, it) in hinted.iter_mut().enumerate() {
        let app = json!(namespace(it));
        it["metadata"]["labels"]["kapp.k14s.io/app"] = app;
        let annotations = &mut it["metadata"]["annotations"];
        if number == 0 {
            annotations["kapp.k14s.io/change-group"] = json!(BASE);
        } else {
            let rule = RULES[rng.usize(..RULES.len())];
            annotations["kapp.k14s.io/change-rule"] = json!(format!("{rule} {BASE}"));
        }
    }
}

/// An object as the annotation depends-on names it.
fn path(object: &Value) -> String {
    let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
    match namespace(object) {
        "" => format!("{group}/{}/{}", kind(object), name(object)),
        namespace => format!("{group}/namespaces/{namespace}/{}/{}", kind(object), name(object)),
    }
}
