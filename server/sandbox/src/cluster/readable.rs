//! Whether stored objects can be read. A corrupted object cannot; nor can an object in another version than the stored
//! one while its conversion webhook does not answer.

use serde_json::Value;

use super::{Cluster, webhook};
use crate::{fault::AdmissionDecision, kind::Kind, object, status::Status, store::Key};

/// The error of Go's decoder for the bytes that the conformance suite writes.
const DAMAGED: &str = "invalid character 'g' looking for beginning of value";

/// The timeout of a conversion, in seconds (`apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go`).
const CONVERSION: i64 = 30;

impl Cluster {
    /// Checks that an object can be read in the version of this kind.
    ///
    /// # Errors
    ///
    /// 500 if it cannot.
    pub(crate) fn check_readable(&self, kind: &Kind, object: &Value) -> Result<(), Status> {
        if !self.corrupted.is_empty() {
            let (namespace, name) = (object::namespace(object), object::name(object));
            if self.corrupted.contains(&Key::new(&kind.group, &kind.plural, namespace, name)) {
                return Err(Status::plain(500, DAMAGED));
            }
        }
        self.check_convertible(kind, object::text(object, &["apiVersion"]), &kind.api_version())
    }

    /// Checks that all objects of a kind can be read in its version; those of one namespace if given.
    ///
    /// # Errors
    ///
    /// As for [`Self::check_readable`].
    pub(crate) fn check_all_readable(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Result<(), Status> {
        if self.corrupted.is_empty() && kind.converter.is_null() {
            return Ok(());
        }
        let mut all = self.list(&kind.group, &kind.plural, namespace);
        all.try_for_each(|object| self.check_readable(kind, object))
    }

    /// Checks that an object can be converted to the stored version.
    ///
    /// # Errors
    ///
    /// As for [`Self::check_convertible`].
    pub(super) fn check_storable(&self, stored: &Kind, object: &Value) -> Result<(), Status> {
        match object::text(object, &["apiVersion"]) {
            "" => Ok(()),
            version => self.check_convertible(stored, version, &stored.api_version()),
        }
    }

    /// Whether an object of this kind is corrupted.
    pub(crate) fn has_corrupted(&self, kind: &Kind) -> bool {
        self.corrupted.iter().any(|key| key.is_of(&kind.group, &kind.plural))
    }

    /// Checks that objects of one version of a kind can be converted to another.
    ///
    /// # Errors
    ///
    /// 500 if the webhook does not answer.
    pub(crate) fn check_convertible(
        &self,
        kind: &Kind,
        from: &str,
        to: &str,
    ) -> Result<(), Status> {
        if kind.converter.is_null() || from == to {
            return Ok(());
        }
        let config = &kind.converter["clientConfig"];
        let failed = |why: &str| {
            let said = format!("conversion webhook for {from}, Kind={} failed: {why}", kind.kind);
            Err(Status::plain(500, &said))
        };
        let unreachable = match self.webhook_decisions.get(&kind.definition) {
            Some(AdmissionDecision::Allow | AdmissionDecision::Patch(_)) => return Ok(()),
            Some(AdmissionDecision::Deny { message, .. }) => return failed(message),
            Some(AdmissionDecision::Fail(why)) => Some(why.clone()),
            None => self.unreachable(config),
        };
        match unreachable {
            Some(why) => failed(&format!("Post {:?}: {why}", webhook::url(config, CONVERSION))),
            None => Ok(()),
        }
    }
}
