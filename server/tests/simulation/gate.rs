//! The end of one life of the server: nothing passes after it, in no direction.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::story::Story;

/// Shut when the server is dead. Clones are of the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    shut: Arc<AtomicBool>,
    shutting: Arc<Notify>,
    story: Story,
}

impl Gate {
    /// An open one; whoever waits at `shutting` hears when it shuts.
    pub(crate) fn new(shutting: Arc<Notify>, story: Story) -> Self {
        Self { shut: Arc::default(), shutting, story }
    }

    /// Milliseconds since the beginning of the story.
    pub(crate) fn now(&self) -> u64 {
        self.story.now()
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Ordering::SeqCst)
    }

    /// The server is dead from here on, although it does not know yet.
    pub(crate) fn shut(&self, why: &str) {
        if !self.shut.swap(true, Ordering::SeqCst) {
            self.story.tell(format!("CRASH {why}"));
            self.shutting.notify_one();
        }
    }

    /// The server is dead, and what runs now does not come back. Tokio takes the unwinding for the end of a task.
    pub(crate) fn crash(&self, why: &str) -> ! {
        self.shut(why);
        resume_unwind(Box::new("crash"))
    }
}
