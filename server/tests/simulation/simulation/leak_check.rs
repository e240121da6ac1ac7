//! I10: checks the answers of the hub to callers inside the process.

use std::{fmt::Debug, sync::Arc};

use serde_json::json;
use server::hub::{HubClosed, Refusal};
use teardown::plan::Plan;

use super::Simulation;
use crate::http_client::leaked_secret;

impl Simulation {
    /// Checks a plan as a page gets it, or the refusal.
    pub(super) fn check_plan_for_leak<E: Debug>(
        &mut self,
        made: &Result<Result<Result<Arc<Plan>, Refusal>, HubClosed>, E>,
    ) {
        let text = match made {
            Ok(Ok(Ok(plan))) => json!(&**plan).to_string(),
            refused => format!("{refused:?}"),
        };
        self.check_for_leak("a request for a plan", &text);
    }

    /// Checks an answer.
    pub(super) fn check_for_leak(&mut self, asked: &str, answer: &str) {
        self.violations.extend(leaked_secret(asked, answer));
    }
}
