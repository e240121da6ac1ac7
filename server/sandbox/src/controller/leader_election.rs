//! The lease that a program renews while it leads: client-go/tools/leaderelection. It stands still while the program is off, as a
//! process that was killed leaves it.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::queue::Queue;
use super::resource::LEASES;
use super::timing::Timing;
use super::{MANAGER, Next, Reconcile};
use crate::clock::written_micro;
use crate::status::Status;
use crate::store::{Event, Key};

/// `RetryPeriod` and `LeaseDuration` in k8s.io/component-base/config/v1alpha1/defaults.go.
const RENEWAL: Duration = Duration::from_secs(2);
const VALID: Duration = Duration::from_secs(15);

/// A program of the control plane that leads by a lease in `kube-system` of its name.
pub(super) trait Program: Send + 'static {
    const LEASE: &'static str;
    /// The name of the controller that renews it.
    const NAME: &'static str;
}

/// kube-controller-manager.
pub(super) struct Manager;

impl Program for Manager {
    const LEASE: &'static str = MANAGER;
    const NAME: &'static str = "kube-controller-manager-leader";
}

/// kube-scheduler.
pub(super) struct Scheduler;

impl Program for Scheduler {
    const LEASE: &'static str = "kube-scheduler";
    const NAME: &'static str = "kube-scheduler-leader";
}

/// cloud-controller-manager.
pub(super) struct CloudManager;

impl Program for CloudManager {
    const LEASE: &'static str = "cloud-controller-manager";
    const NAME: &'static str = "cloud-controller-manager-leader";
}

pub(super) struct LeaderElection<P>(PhantomData<P>);

impl<P: Program> Reconcile for LeaderElection<P> {
    type Work = ();
    const NAME: &'static str = P::NAME;
    const USER: &'static str = P::LEASE;

    fn new(_: &Timing) -> Self {
        Self(PhantomData)
    }

    fn begin(&mut self, queue: &mut Queue<()>) {
        queue.add(());
    }

    fn observe(&mut self, _: &Event, _: &mut Queue<()>) {}

    fn reconcile(
        &mut self,
        (): &(),
        client: &mut Client<'_>,
        _: &mut Queue<()>,
    ) -> Result<Next, Status> {
        renew(&LEASES.key("kube-system", P::LEASE), "control-plane", client)
    }
}

/// Renews a lease, or creates it. Says when to renew it again.
pub(super) fn renew(key: &Key, holder: &str, client: &mut Client<'_>) -> Result<Next, Status> {
    let now = written_micro(client.now());
    if client.get(key).is_some() {
        client.merge(key, &json!({"spec": {"holderIdentity": holder, "renewTime": now}}))?;
    } else {
        let lease = json!({
            "metadata": {"name": &*key.name, "namespace": &*key.namespace},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": VALID.as_secs(),
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": 0,
            },
        });
        client.create_if_absent(LEASES, lease)?;
    }
    Ok(Next::After(RENEWAL))
}
