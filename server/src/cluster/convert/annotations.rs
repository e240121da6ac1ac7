//! The annotations that are stored. All others are skipped while the JSON is read: one of them may hold a whole manifest.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use teardown::object::{Annotations, Hints, asks_to_keep};

/// `metadata.annotations`, reduced to those that are stored.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Those of every kind.
    pub(super) stored: Option<Arc<Annotations>>,
    /// `pv.kubernetes.io/provisioned-by`, of a PersistentVolume.
    pub(super) provisioner: Option<Arc<str>>,
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadVisitor)
    }
}

struct ReadVisitor;

impl<'de> Visitor<'de> for ReadVisitor {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of annotations")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Read, A::Error> {
        let (mut read, mut hints) = (Annotations::default(), Hints::default());
        let (mut namespace, mut name) = (None::<Arc<str>>, None::<Arc<str>>);
        let mut provisioner = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match &*key {
                "meta.helm.sh/release-namespace" => namespace = Some(map.next_value()?),
                "meta.helm.sh/release-name" => name = Some(map.next_value()?),
                // `APPLICATION:GROUP/KIND:NAMESPACE/NAME`
                "argocd.argoproj.io/tracking-id" => {
                    let id: std::borrow::Cow<'de, str> = map.next_value()?;
                    let application = id.split(':').next().filter(|name| !name.is_empty());
                    read.application = application.map(Arc::from);
                }
                "helm.sh/resource-policy"
                | "argocd.argoproj.io/sync-options"
                | "kustomize.toolkit.fluxcd.io/prune"
                | "kapp.k14s.io/delete-strategy" => {
                    let value: std::borrow::Cow<'de, str> = map.next_value()?;
                    if asks_to_keep(&key, &value) {
                        read.keep = Some(format!("{key}: {value}").into());
                    }
                }
                "pv.kubernetes.io/provisioned-by" => provisioner = Some(map.next_value()?),
                // `pkg/volume/util/storageclass.go`
                "storageclass.kubernetes.io/is-default-class"
                | "storageclass.beta.kubernetes.io/is-default-class" => {
                    let value: std::borrow::Cow<'de, str> = map.next_value()?;
                    read.is_default_class |= value == "true";
                }
                key if Hints::is_one(key) => {
                    hints.read(key, &map.next_value::<std::borrow::Cow<'de, str>>()?);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        read.release = namespace.zip(name).filter(|(_, name)| !name.is_empty());
        read.hints = (hints != Hints::default()).then(|| Arc::new(hints));
        let is_empty = read == Annotations::default();
        Ok(Read { stored: (!is_empty).then(|| Arc::new(read)), provisioner })
    }
}
