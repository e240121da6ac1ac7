//! The texts of the sandbox.

use teardown::message::DemoFault;

pub const SANDBOX: &str = "Sandbox.";
pub const SIMULATED_MEANS: &str =
    "A simulated cluster in memory: nothing real is touched. Open to break and repair things.";
/// Behind the name of a simulated cluster.
pub const SIMULATED: &str = "(simulated)";
pub const SPEED: &str = "Time ×10";
pub const REPAIR_ALL: &str = "Repair everything";
pub const INCIDENTS: &str = "Incidents";
pub const SWITCHES: &str = "Switches: press again to repair";
/// On an incident that has begun.
pub const BEGAN: &str = "Began: see Trouble";
pub const START_OVER: &str = "Start over";
pub const START_OVER_ASK: &str = "Start over…";
pub const START_OVER_TITLE: &str = "Start over with a fresh sandbox?";
pub const START_OVER_MEANS: &str =
    "All objects are reset, and every run of this sandbox is deleted, with its events.";

/// The course of an incident, in two lines; empty for an incident of somebody’s own.
pub fn story(incident: &str) -> &'static str {
    match incident {
        "s1" => {
            "Claims go while Pods mount them. One mount turns stale, one hangs, one has a file below it. Unit s1-twin stays intact."
        }
        "s2" => "A process keeps a mount busy. Its Deployment is deleted, and one Pod stays.",
        "s3" => "The metrics API loses its last Pod. Then a namespace is deleted.",
        "s4" => {
            "An operator is uninstalled. Then their owner and the objects that only it can finish are deleted."
        }
        "s4-forced" => {
            "A namespace waits for an operator, and somebody empties its finalizers. A mailbox stays behind."
        }
        "s5" => {
            "node-a loses power, with two disks attached. A new version of its singleton cannot start."
        }
        "s5-cut-off" => {
            "node-b loses its network. Its Pod writes on, and the cluster sees the same as in S5."
        }
        "shutdown" => {
            "node-c is shut down. One Pod ends in time and moves; the other needs longer, and stays with its disk."
        }
        "load-balancer" => {
            "The cloud refuses to remove a load balancer. Then its Service is deleted, and stays."
        }
        "manager" => {
            "The kube-controller-manager stops. Then a Deployment is deleted without its Pods, and its namespace: both stay."
        }
        _ => "",
    }
}

/// The label of a fault switch.
pub fn switch(what: DemoFault, subject: &str) -> String {
    match what {
        DemoFault::Incident => match subject {
            "s1" => "S1: volume deleted before its Pods".to_owned(),
            "s2" => "S2: unmount never succeeds".to_owned(),
            "s3" => "S3: empty namespace will not die".to_owned(),
            "s4" => "S4: finalizer nobody clears".to_owned(),
            "s4-forced" => "S4, forced: namespace emptied by hand".to_owned(),
            "s5" => "S5: node dies in silence".to_owned(),
            "s5-cut-off" => "S5, cut off: node alive, network down".to_owned(),
            "shutdown" => "Shutdown: one Pod is too slow".to_owned(),
            "load-balancer" => "Load balancer: the cloud keeps it".to_owned(),
            "manager" => "Manager: nobody cleans up".to_owned(),
            subject => format!("Incident {subject}"),
        },
        DemoFault::Operator => format!("Uninstall {subject}"),
        DemoFault::Node => format!("Break {subject}"),
        DemoFault::Metrics => "Stop the metrics API".to_owned(),
        DemoFault::Nfs => format!("Make {subject} stale"),
        DemoFault::Volume => format!("Hold {subject} busy"),
        DemoFault::Cloud => "Let the cloud refuse".to_owned(),
        DemoFault::Manager => "Stop kube-controller-manager".to_owned(),
    }
}
