//! The marks by which an object names its application, the strongest first: its label part-of, then the release or the
//! application of a tool that installed it.
//!
//! # Decisions
//! - The name of a release is unique only in its namespace: two namespaces may hold a release called `redis` each. So the id
//!   of such a unit has the namespace in it.
//! - An object without a namespace that has only the label instance names no release, because the label says no namespace.

use std::sync::Arc;

use crate::{
    declaration::{FLUX, argo_cd_application, flux_owner, kapp_app, label, recorded_release},
    labels::PART_OF,
    object::Object,
};

use super::UnitOrigin;

/// The id of the unit that an object's label part-of names.
pub(super) fn part_of(object: &Object) -> Option<Arc<str>> {
    object.labels.get(PART_OF).filter(|name| !name.is_empty()).cloned()
}

/// The id of the unit that a tool installed an object with.
pub(super) fn installed_with(object: &Object) -> Option<Arc<str>> {
    let annotations = object.annotations.as_deref();
    let release = || {
        let named = annotations.and_then(|it| it.release.clone());
        let labelled =
            || Some((object.namespace.clone()?, label(object, "app.kubernetes.io/instance")?));
        let recorded =
            || recorded_release(object).map(|(namespace, name)| (namespace.clone(), name.clone()));
        let (namespace, name) = named.or_else(recorded).or_else(labelled)?;
        Some(format!("release:{namespace}/{name}"))
    };
    let argo_cd = || Some(format!("argocd:{}", argo_cd_application(object)?));
    let flux = || {
        let owner = FLUX.into_iter().find_map(|marks| flux_owner(object, marks));
        owner.map(|(namespace, name)| format!("flux:{namespace}/{name}"))
    };
    let kapp = || Some(format!("kapp:{}", kapp_app(object)?));
    release().or_else(argo_cd).or_else(flux).or_else(kapp).map(Arc::from)
}

/// The way in which the unit with this id is recognised. The value of a label has no colon, so that no label part-of makes
/// such an id.
pub(super) fn origin_of(id: &str) -> UnitOrigin {
    match id.split_once(':').map(|(tool, _)| tool) {
        Some("release") => UnitOrigin::Release,
        Some("argocd") => UnitOrigin::ArgoCd,
        Some("flux") => UnitOrigin::Flux,
        Some("kapp") => UnitOrigin::Kapp,
        _ => UnitOrigin::PartOf,
    }
}
