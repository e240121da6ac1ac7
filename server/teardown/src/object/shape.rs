//! The shape of an object: everything but its status, and of the status the little on which an edge or its strength depends:
//! the phase of a volume or a claim, whether a snapshot is complete, and the drivers of allocated devices. Edges and units depend
//! on shapes alone, so that most events of a cluster change none of them.
//!
//! A search for edges or units must not read a field that is left out here. Every field is named, so that a new one does not
//! compile until somebody decides what it is.

use super::{
    ApiService, Attachment, Claim, Definition, Facts, Object, Parent, Pod, Volume, Workload,
};
use crate::labels::Labels;

impl Object {
    /// Whether two states of an object differ in nothing but their status: the deletion, phases, conditions and counts.
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        let Self {
            uid,
            kind,
            namespace,
            name,
            labels,
            annotations,
            owners,
            finalizers,
            created: _,
            deletion: _,
            facts,
        } = self;
        *uid == other.uid
            && *kind == other.kind
            && *namespace == other.namespace
            && *name == other.name
            && *labels == other.labels
            && *annotations == other.annotations
            && *owners == other.owners
            && *finalizers == other.finalizers
            && facts.has_shape_of(&other.facts)
    }

    /// The labels by which a selector of Pods finds the object: those of a Pod, or of the Pods that a workload makes.
    pub(crate) fn pod_labels(&self) -> Option<&Labels> {
        match &self.facts {
            Facts::Pod(_) => Some(&self.labels),
            Facts::Workload(workload) => Some(&workload.template_labels),
            _ => None,
        }
    }
}

impl Facts {
    fn has_shape_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pod(a), Self::Pod(b)) => {
                let Pod {
                    node,
                    phase: _,
                    ready: _,
                    critical,
                    stays_unreachable: _,
                    uses,
                    ending: _,
                } = &**a;
                *node == b.node && *critical == b.critical && *uses == b.uses
            }
            (Self::Workload(a), Self::Workload(b)) => {
                let Workload {
                    replicas: _,
                    ready: _,
                    selector,
                    template_labels,
                    critical,
                    uses,
                    claim_templates,
                    claims_go_with_it,
                    claims_go_when_scaled: _,
                    recreates,
                    managed_by: _,
                    drivers,
                    provisioners,
                    sidecars: _,
                } = &**a;
                *selector == b.selector
                    && *template_labels == b.template_labels
                    && *critical == b.critical
                    && *uses == b.uses
                    && *claim_templates == b.claim_templates
                    && *claims_go_with_it == b.claims_go_with_it
                    && *recreates == b.recreates
                    && *drivers == b.drivers
                    && *provisioners == b.provisioners
            }
            (Self::Claim(a), Self::Claim(b)) => {
                let Claim { volume, class, capacity: _, phase, attributes, source, one_node } =
                    &**a;
                *volume == b.volume
                    && *class == b.class
                    && *phase == b.phase
                    && *attributes == b.attributes
                    && *source == b.source
                    && *one_node == b.one_node
            }
            (Self::Volume(a), Self::Volume(b)) => {
                let Volume {
                    claim,
                    reclaim,
                    class,
                    source,
                    driver,
                    provisioner,
                    capacity: _,
                    phase,
                    attributes,
                    node_local,
                } = &**a;
                *claim == b.claim
                    && *reclaim == b.reclaim
                    && *class == b.class
                    && *source == b.source
                    && *driver == b.driver
                    && *provisioner == b.provisioner
                    && *phase == b.phase
                    && *attributes == b.attributes
                    && *node_local == b.node_local
            }
            (Self::Attachment(a), Self::Attachment(b)) => {
                let Attachment {
                    volume,
                    node,
                    attacher,
                    attached: _,
                    detach_error: _,
                    detach_failed: _,
                } = &**a;
                *volume == b.volume && *node == b.node && *attacher == b.attacher
            }
            (Self::ApiService(a), Self::ApiService(b)) => {
                let ApiService { service, available: _ } = &**a;
                *service == b.service
            }
            (Self::Definition(a), Self::Definition(b)) => {
                // A conversion and the stored versions give no edge beside the converter's.
                let Definition { group, kind, converter, .. } = &**a;
                *group == b.group && *kind == b.kind && *converter == b.converter
            }
            (Self::Parent(a), Self::Parent(b)) => {
                let Parent { active, applying: _, names, manages, mark } = &**a;
                *active == b.active && *names == b.names && *manages == b.manages && *mark == b.mark
            }
            (Self::Node(_), Self::Node(_)) | (Self::Namespace(_), Self::Namespace(_)) => true,
            (a, b) => a == b,
        }
    }
}
