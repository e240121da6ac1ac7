//! Whether what is kept can be read. What was damaged cannot; nor can, in another version than the one it was stored in,
//! what a webhook converts that is away.

use serde_json::Value;

use super::{Cluster, Decider, webhook};
use crate::{kind::Kind, object, status::Status, store::Key};

/// What Go's decoder says of what is no JSON, as the suite's damage is.
const DAMAGED: &str = "invalid character 'g' looking for beginning of value";

/// How long a conversion may take, in seconds (`apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go`).
const CONVERSION: i64 = 30;

impl Cluster {
    /// Whether an object can be shown in the version of this kind.
    ///
    /// # Errors
    ///
    /// 500 if not.
    pub(crate) fn may_be_read(&self, kind: &Kind, object: &Value) -> Result<(), Status> {
        if !self.damaged.is_empty() {
            let (namespace, name) = (object::namespace(object), object::name(object));
            if self.damaged.contains(&Key::new(&kind.group, &kind.plural, namespace, name)) {
                return Err(Status::plain(500, DAMAGED));
            }
        }
        self.may_be_converted(kind, object::text(object, &["apiVersion"]), &kind.api_version())
    }

    /// Whether all objects of this kind can be shown in its version; of one namespace if given.
    ///
    /// # Errors
    ///
    /// As for [`Self::may_be_read`].
    pub(crate) fn may_all_be_read(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Result<(), Status> {
        if self.damaged.is_empty() && kind.converter.is_null() {
            return Ok(());
        }
        let mut all = self.list(&kind.group, &kind.plural, namespace);
        all.try_for_each(|object| self.may_be_read(kind, object))
    }

    /// Whether an object, as it was sent or is kept, can become one of the version that is stored.
    ///
    /// # Errors
    ///
    /// As for [`Self::may_be_converted`].
    pub(super) fn may_be_stored(&self, stored: &Kind, object: &Value) -> Result<(), Status> {
        match object::text(object, &["apiVersion"]) {
            "" => Ok(()),
            version => self.may_be_converted(stored, version, &stored.api_version()),
        }
    }

    /// Whether something that is kept of a kind is damaged.
    pub(crate) fn is_damaged(&self, kind: &Kind) -> bool {
        self.damaged.iter().any(|key| key.is_of(&kind.group, &kind.plural))
    }

    /// Whether what is of one version of a kind can become one of another.
    ///
    /// # Errors
    ///
    /// 500 if who converts does not answer.
    pub(crate) fn may_be_converted(&self, kind: &Kind, from: &str, to: &str) -> Result<(), Status> {
        if kind.converter.is_null() || from == to {
            return Ok(());
        }
        let config = &kind.converter["clientConfig"];
        let failed = |why: &str| {
            let said = format!("conversion webhook for {from}, Kind={} failed: {why}", kind.kind);
            Err(Status::plain(500, &said))
        };
        let unreachable = match self.deciders.get(&kind.definition) {
            Some(Decider::Allow | Decider::Patch(_)) => return Ok(()),
            Some(Decider::Deny { message, .. }) => return failed(message),
            Some(Decider::Fail(why)) => Some(why.clone()),
            None => self.unreachable(config),
        };
        match unreachable {
            Some(why) => failed(&format!("Post {:?}: {why}", webhook::url(config, CONVERSION))),
            None => Ok(()),
        }
    }
}
