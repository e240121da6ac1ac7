//! One interner for all watches: objects of one kind name those of another.

use std::sync::{Mutex, PoisonError};

use teardown::object::Object;

/// What objects share so far. Held while one object is shared, never across an await.
#[derive(Debug, Default)]
pub(super) struct Interner(Mutex<teardown::interner::Interner>);

impl Interner {
    /// The object, with whatever others have too replaced by the shared copy.
    pub(super) fn share(&self, mut object: Object) -> Object {
        // What is shared is whole after a panic too: nothing leaves it half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).share(&mut object);
        object
    }
}
