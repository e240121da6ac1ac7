//! The names that the spec of an object refers to.

use std::sync::Arc;

use super::{Condition, DataPolicy};
use crate::selector::Selector;

/// A name in the spec of an object. It is an edge only if such an object exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The group of the named object; empty for the core group.
    pub group: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its namespace, where the reference says one. Otherwise it has the namespace of the object that refers to it, or none.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// The field that names it, such as `spec.issuerRef`.
    pub field: Arc<str>,
}

/// The stored fields of a kind of which only the references matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The references, in the order of their fields.
    pub names: Box<[Reference]>,
    /// The program that answers for the objects of a class, such as `k8s.io/ingress-nginx`: `spec.controller` or
    /// `spec.controllerName`.
    pub controller: Option<Arc<str>>,
    /// The driver that a class names: `provisioner`, `driver` or `driverName`; or the drivers of the devices that are allocated to
    /// a ResourceClaim: `status.allocation.devices.results`.
    pub drivers: Box<[Arc<str>]>,
    /// The Pods that an Istio Gateway configures, in any namespace, if it selects them: `spec.selector`. They read the Secrets that it
    /// names, each in its own namespace (<https://istio.io/latest/docs/reference/config/networking/gateway/#Gateway>).
    pub proxies: Option<Box<Selector>>,
    /// The fate of data when the object is deleted, as its spec says it.
    pub data: Option<Box<DataPolicy>>,
    /// The conditions by which its program may say why it keeps the object, while that is being deleted; at most three.
    pub told: Box<[Condition]>,
}
