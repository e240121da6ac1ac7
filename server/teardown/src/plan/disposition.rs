//! The dispositions of objects.

/// The end that a plan has for an object of its unit. A parent that is suspended has a step, which says so, and is among the
/// kept objects too, which say why it stays; every other object is in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// The run deletes it: a Deployment.
    Delete,
    /// The run waits until its controller has removed it: a volume with the reclaim policy Delete.
    Awaited,
    /// It goes by itself, with its namespace or with the object that it was made for: `kube-root-ca.crt`, an EndpointSlice, a
    /// RoleBinding of people. Nothing waits for it.
    GoesAlong,
    /// It stays, and the run suspends it: a Kustomization that declares something else too.
    Suspended,
    /// It stays, because something needs it or a person wants it: a ConfigMap that another application mounts.
    Kept,
    /// It stays, and nothing uses it afterwards: a volume with the reclaim policy Retain, which becomes Released; an object whose
    /// API has no verb `delete`.
    LeftBehind,
}

impl Disposition {
    /// Whether the object is gone when the run has finished.
    pub fn is_going(self) -> bool {
        match self {
            Self::Delete | Self::Awaited | Self::GoesAlong => true,
            Self::Suspended | Self::Kept | Self::LeftBehind => false,
        }
    }
}
