//! Subscriptions of OLM. What a Subscription installed, a ClusterServiceVersion, has no owner and no mark that names it; only the
//! status of the Subscription says which one it is. While the Subscription exists, OLM may install the next version, so it goes
//! first, as OLM's own documentation uninstalls an operator
//! (<https://olm.operatorframework.io/docs/tasks/uninstall-operator/>).

use serde::Deserialize;
use teardown::object::{Facts, Reference, References};

use super::{
    Meta, Unreadable, Whole,
    names::{Names, is_name},
    or_default,
};

const OLM: &str = "operators.coreos.com";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(deserialize_with = "or_default")]
    source: String,
    #[serde(deserialize_with = "or_default")]
    source_namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(rename = "installedCSV", deserialize_with = "or_default")]
    installed: String,
    #[serde(rename = "currentCSV", deserialize_with = "or_default")]
    current: String,
}

/// Reads a Subscription: its source, the version that is installed, and the one that will be.
pub(super) fn read(json: &str) -> Result<(Meta, Facts), Unreadable> {
    let Whole::<Spec, Status> { metadata, spec, status } = serde_json::from_str(json)?;
    let mut names = Names::default();
    let mut push = |field: &str, kind: &str, namespace: &str, name: &str| {
        if is_name(name) {
            names.push(Reference {
                group: OLM.into(),
                kind: kind.into(),
                namespace: is_name(namespace).then(|| namespace.into()),
                name: name.into(),
                field: field.into(),
            });
        }
    };
    push("status.installedCSV", "ClusterServiceVersion", "", &status.installed);
    push("status.currentCSV", "ClusterServiceVersion", "", &status.current);
    push("spec.source", "CatalogSource", &spec.source_namespace, &spec.source);
    let references = References { names: names.into_list(), ..References::default() };
    let is_empty = references == References::default();
    let facts = if is_empty { Facts::None } else { Facts::References(Box::new(references)) };
    Ok((metadata, facts))
}
