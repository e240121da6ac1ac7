//! Creates the ServiceAccount `default` in every namespace:
//! pkg/controller/serviceaccount/serviceaccounts_controller.go.

use serde_json::json;

use super::client::Client;
use super::queue::Queue;
use super::read::phase;
use super::resource::{NAMESPACES, SERVICE_ACCOUNTS};
use super::timing::Timing;
use super::{Next, Reconcile};
use crate::status::Status;
use crate::store::{Change, Event};

const DEFAULT: &str = "default";

pub(super) struct ServiceAccounts;

impl Reconcile for ServiceAccounts {
    /// The namespace's name.
    type Work = String;
    const NAME: &'static str = "serviceaccount-controller";
    const USER: &'static str = "service-account-controller";

    fn new(_: &Timing) -> Self {
        Self
    }

    fn observe(&mut self, event: &Event, queue: &mut Queue<String>) {
        if NAMESPACES.has(&event.key) && event.change != Change::Deleted {
            queue.add(event.key.name.to_string());
        } else if SERVICE_ACCOUNTS.has(&event.key)
            && event.change == Change::Deleted
            && &*event.key.name == DEFAULT
        {
            queue.add(event.key.namespace.to_string());
        }
    }

    fn reconcile(
        &mut self,
        name: &String,
        client: &mut Client<'_>,
        _: &mut Queue<String>,
    ) -> Result<Next, Status> {
        let active =
            client.find(NAMESPACES, "", name).is_some_and(|it| phase(&it) != "Terminating");
        if active && client.find(SERVICE_ACCOUNTS, name, DEFAULT).is_none() {
            client.create_if_absent(
                SERVICE_ACCOUNTS,
                json!({"metadata": {"name": DEFAULT, "namespace": name}}),
            )?;
        }
        Ok(Next::Rest)
    }
}
