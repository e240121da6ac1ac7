//! I10: what somebody hears who asks the hub without coming through the door.

use std::{fmt::Debug, sync::Arc};

use serde_json::json;
use server::hub::{HubClosed, Refusal};
use teardown::plan::Plan;

use super::Game;
use crate::door::told;

impl Game {
    /// A plan, as a page gets it, or why there is none.
    pub(super) fn hear_plan<E: Debug>(
        &mut self,
        made: &Result<Result<Result<Arc<Plan>, Refusal>, HubClosed>, E>,
    ) {
        let text = match made {
            Ok(Ok(Ok(plan))) => json!(&**plan).to_string(),
            refused => format!("{refused:?}"),
        };
        self.hear("whoever wants a plan", &text);
    }

    /// What somebody is answered who wants something.
    pub(super) fn hear(&mut self, asked: &str, answer: &str) {
        self.offences.extend(told(asked, answer));
    }
}
