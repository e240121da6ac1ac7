//! The other ways in which an application refers to ConfigMaps and Secrets: environment variables, projected volumes,
//! image pull secrets, TLS.

use fastrand::Rng;
use serde_json::{Value, json};

use super::Application;
use crate::state::text;

/// The places of the Pod specification in a CronJob, in other workloads and in a Pod.
const SPECS: [&str; 3] = ["/spec/jobTemplate/spec/template/spec", "/spec/template/spec", "/spec"];

impl Application {
    /// Makes objects refer to the ConfigMaps and Secrets of their namespace, including those of the bystander.
    pub(crate) fn add_settings_references(&mut self, rng: &mut Rng) {
        let names = |kind: &str| -> Vec<(String, String)> {
            let all = self.objects.iter().filter(|it| it["kind"] == kind);
            let names = all.map(|it| {
                let metadata = |field: &str| text(it, &format!("/metadata/{field}")).to_owned();
                (metadata("namespace"), metadata("name"))
            });
            names.collect()
        };
        let (configs, secrets) = (names("ConfigMap"), names("Secret"));
        for object in &mut self.objects {
            let namespace = text(object, "/metadata/namespace").to_owned();
            let mut pick = |from: &[(String, String)]| {
                let near: Vec<&String> = from
                    .iter()
                    .filter(|(its, _)| *its == namespace)
                    .map(|(_, name)| name)
                    .collect();
                let is_chosen = !near.is_empty() && rng.u32(..4) == 0;
                is_chosen.then(|| near[rng.usize(..near.len())].clone())
            };
            match text(object, "/kind") {
                "ServiceAccount" => {
                    if let Some(name) = pick(&secrets) {
                        object["imagePullSecrets"] = json!([{ "name": name }]);
                    }
                }
                "Ingress" => {
                    if let Some(name) = pick(&secrets) {
                        object["spec"]["tls"] = json!([{ "secretName": name }]);
                    }
                }
                _ => {
                    let path = SPECS.into_iter().find(|path| {
                        object.pointer(path).is_some_and(|spec| !spec["containers"].is_null())
                    });
                    if let Some(spec) = path.and_then(|path| object.pointer_mut(path)) {
                        let [one, two, three] = [&configs; 3].map(|it| pick(it));
                        let [four, five, six, seven] = [&secrets; 4].map(|it| pick(it));
                        environment(spec, [("configMapKeyRef", one), ("secretKeyRef", four)]);
                        environments(spec, [("configMapRef", two), ("secretRef", five)]);
                        projected(spec, [("configMap", three), ("secret", six)]);
                        if let Some(name) = seven {
                            spec["imagePullSecrets"] = json!([{ "name": name }]);
                        }
                    }
                }
            }
        }
    }
}

type Picked = [(&'static str, Option<String>); 2];

/// Adds single environment variables.
fn environment(spec: &mut Value, picked: Picked) {
    for (field, name) in picked {
        if let (Some(name), Some(all)) = (name, spec["containers"][0]["env"].as_array_mut()) {
            let from = json!({ field: {"name": name, "key": "setting", "optional": true} });
            all.push(json!({"name": format!("ONE_{}", all.len()), "valueFrom": from}));
        }
    }
}

/// Adds all keys as environment variables.
fn environments(spec: &mut Value, picked: Picked) {
    let all =
        picked.into_iter().filter_map(|(field, name)| Some(json!({ field: {"name": name?} })));
    let all: Vec<Value> = all.collect();
    if !all.is_empty() {
        spec["containers"][0]["envFrom"] = Value::Array(all);
    }
}

/// Adds one projected volume of both.
fn projected(spec: &mut Value, picked: Picked) {
    let all =
        picked.into_iter().filter_map(|(field, name)| Some(json!({ field: {"name": name?} })));
    let all: Vec<Value> = all.collect();
    if all.is_empty() {
        return;
    }
    if spec["volumes"].is_null() {
        spec["volumes"] = json!([]);
    }
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(json!({"name": "mixed", "projected": {"sources": all}}));
    }
}
