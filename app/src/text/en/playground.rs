//! What is said of the sandbox.

use teardown::message::Mishap;

pub const PLAYED: &str = "Sandbox.";
pub const PLAYED_MEANS: &str =
    "A cluster in memory: nothing real is touched. Open to break and repair things.";
pub const SPEED: &str = "Time ×10";
pub const REPAIR_ALL: &str = "Repair everything";
pub const START_OVER: &str = "Start over";

/// What a lever of the sandbox does.
pub fn lever(what: Mishap, subject: &str) -> String {
    match what {
        Mishap::Incident => match subject {
            "s1" => "S1: volume deleted before its Pods".to_owned(),
            "s2" => "S2: unmount never succeeds".to_owned(),
            "s3" => "S3: empty namespace will not die".to_owned(),
            "s4" => "S4: finalizer nobody clears".to_owned(),
            "s5" => "S5: node dies in silence".to_owned(),
            subject => format!("Incident {subject}"),
        },
        Mishap::Operator => format!("Uninstall {subject}"),
        Mishap::Node => format!("Break {subject}"),
        Mishap::Metrics => "Stop the metrics API".to_owned(),
        Mishap::Nfs => format!("Make {subject} stale"),
        Mishap::Volume => format!("Hold {subject} busy"),
    }
}
