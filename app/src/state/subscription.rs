//! The end of subscriptions.
//!
//! A dropped effect or memo of reactive_graph 0.2.16 stays in the lists of the signals and memos that it read, and keeps its memory
//! there: a change goes through a copy of the list and takes nobody out of it, and only a reader that runs again leaves. Rows and
//! cards come and go for as long as a page is open, so they have to leave the lists of signals that outlive them, such as the
//! records and the selection.

use leptos::{
    prelude::{Get, GetUntracked, With, WithUntracked, on_cleanup},
    reactive::graph::Observer,
};

/// Ends the subscriptions of the running effect or memo as soon as its owner ends. Called where a view reads a signal that
/// outlives it.
pub fn end_with_owner() {
    let Some(subscriber) = Observer::get() else { return };
    // The view of a row is dropped before its owner is cleaned up, and a dropped effect no longer knows what it read.
    let Some(kept) = subscriber.1.upgrade() else { return };
    on_cleanup(move || kept.clear_sources(&subscriber));
}

/// A signal that outlives its readers: each subscription ends with the owner of the reader.
#[derive(Clone, Copy, Debug)]
pub struct Lasting<S>(S);

impl<S> Lasting<S> {
    /// Wraps a signal or a memo.
    pub fn new(signal: S) -> Self {
        Self(signal)
    }
}

impl<S: With> Lasting<S> {
    /// Reads the value, and is woken by its changes.
    pub fn with<U>(&self, read: impl FnOnce(&S::Value) -> U) -> U
    where
        S::Value: Sized,
    {
        end_with_owner();
        self.0.with(read)
    }
}

impl<S: Get> Lasting<S> {
    /// The value; the reader is woken by its changes.
    pub fn get(&self) -> S::Value {
        end_with_owner();
        self.0.get()
    }
}

impl<S: WithUntracked> Lasting<S> {
    /// Reads the value.
    pub fn with_untracked<U>(&self, read: impl FnOnce(&S::Value) -> U) -> U
    where
        S::Value: Sized,
    {
        self.0.with_untracked(read)
    }
}

impl<S: GetUntracked> Lasting<S> {
    /// The value.
    pub fn get_untracked(&self) -> S::Value {
        self.0.get_untracked()
    }
}
