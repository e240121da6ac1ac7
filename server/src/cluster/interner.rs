//! One interner for all watches, because objects of one kind name objects of other kinds.

use std::sync::{Mutex, PoisonError};

use teardown::object::Object;

/// The strings that objects share. The lock is held for one object, never across an await.
#[derive(Debug, Default)]
pub(super) struct Interner(Mutex<teardown::interner::Interner>);

impl Interner {
    /// Replaces the parts of an object that other objects have too by the shared copies.
    pub(super) fn share(&self, mut object: Object) -> Object {
        // A panic leaves the interner consistent, because no operation leaves it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).share(&mut object);
        object
    }
}
