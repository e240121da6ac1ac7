//! Whether a resource can be seen, for questions that concern one resource.

use super::{Index, Visibility};
use crate::unknown_reason::UnknownReason;

impl Index {
    /// Checks that a resource is visible in a namespace, or in the cluster if it has none. A resource that is not served
    /// has no objects.
    ///
    /// # Errors
    /// The reason why it is not visible.
    pub fn check_visible(
        &self,
        resource: &str,
        namespace: Option<&str>,
    ) -> Result<(), UnknownReason> {
        match self.visibility(resource, namespace) {
            Visibility::Visible | Visibility::NotServed => Ok(()),
            Visibility::Hidden(why) => Err(why),
            Visibility::NotListed => {
                Err(UnknownReason::NotListed { resource: resource.to_owned() })
            }
        }
    }
}
