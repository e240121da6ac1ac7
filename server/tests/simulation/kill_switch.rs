//! The kill switch of one server instance: once it is tripped, nothing passes in either direction.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::transcript::Transcript;

/// Clones share one switch.
#[derive(Clone, Debug)]
pub(crate) struct KillSwitch {
    tripped: Arc<AtomicBool>,
    tripping: Arc<Notify>,
    transcript: Transcript,
}

impl KillSwitch {
    /// A switch that notifies `tripping` when it is tripped.
    pub(crate) fn new(tripping: Arc<Notify>, transcript: Transcript) -> Self {
        Self { tripped: Arc::default(), tripping, transcript }
    }

    /// Milliseconds since the start of the transcript.
    pub(crate) fn now(&self) -> u64 {
        self.transcript.now()
    }

    pub(crate) fn is_tripped(&self) -> bool {
        self.tripped.load(Ordering::SeqCst)
    }

    /// Kills the server. Its tasks may still run for a moment, but they have no effect.
    pub(crate) fn trip(&self, why: &str) {
        if !self.tripped.swap(true, Ordering::SeqCst) {
            self.transcript.log(format!("CRASH {why}"));
            self.tripping.notify_one();
        }
    }

    /// Kills the server and ends the running task by unwinding, which Tokio takes for the end of the task.
    pub(crate) fn crash(&self, why: &str) -> ! {
        self.trip(why);
        resume_unwind(Box::new("crash"))
    }
}
