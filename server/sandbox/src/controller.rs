//! What acts in the cluster by itself: the controllers that deletion depends on, and a kubelet for each machine.
//!
//! Each is a `Reconcile` inside a `Loop`: it is told what changed, keeps the set of what it has to look at, and looks
//! at the whole state of one thing at a time, so that a lost or doubled event does no harm. Time comes from the cluster's
//! clock; the order in which the ready ones get their turn, and in which each does its work, comes from the cluster's
//! seed, since the real one leaves both open.
//!
//! [`Controllers`] can switch each off (as if its process had been killed: it forgets, and lists everything when it
//! comes back), slow it down, or make all its requests fail. One that panics has fallen, like a process that crashed:
//! that is noted, the others go on, and it is started anew after a while.

pub(crate) mod client;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod resource;
pub mod breakage;
pub mod timing;

mod garbage;
mod namespace;
mod service_account;
mod root_ca;
mod deployment;
mod replica_set;
mod stateful_set;
mod stateful_set_claim;
mod daemon_set;
mod revision;
mod pods;
mod job;
mod cron_job;
mod schedule;
mod autoscaler;
mod endpoints;
mod endpoint_slice;
mod binder;
mod provisioner;
mod claim_protection;
mod volume_protection;
mod attributes_class_protection;
mod service_cidr;
mod resource_claim;
mod ephemeral_volume;
mod protection;
mod attach_detach;
mod attacher;
mod budget;
mod definition;
mod scheduler;
mod node_lifecycle;
mod taint_eviction;
mod pod_gc;
mod resource_quota;
mod kubelet;
mod gitops;
pub(crate) mod operator;

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::status::Status;
use crate::store::Event;
use breakage::Breakage;
use client::Client;
use queue::{Queue, later};
use timing::Timing;

pub(crate) use schedule::wrong as wrong_schedule;

/// How often controllers may answer each other without time moving on. Reached only by two that fight for ever.
const TURNS_PER_INSTANT: usize = 10_000;

/// How long a controller that panicked stays down: the first wait of a container that crashes.
const RESTART: Duration = Duration::from_secs(10);
/// How many panics are kept in mind.
const FALLS: usize = 100;

/// What one thing's reconciliation asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing until something changes.
    Rest,
    /// Another look after a while.
    After(Duration),
}

impl Next {
    /// This, or another look after a while, whatever is earlier.
    pub(crate) fn or_after(self, wait: Duration) -> Self {
        match self {
            Self::After(earlier) if earlier <= wait => self,
            _ => Self::After(wait),
        }
    }
}

/// What a controller does with what it does not cover: the part that differs from one to the other.
pub(crate) trait Reconcile: Send {
    /// One thing to look at.
    type Work: Ord + Clone + Send;

    /// The name by which it is switched.
    const NAME: &'static str;
    /// Its user: in the real one the name of its service account in kube-system.
    const USER: &'static str;
    /// Who its events are from.
    const COMPONENT: &'static str = Self::NAME;
    /// The longest wait after failures.
    const LAST_RETRY: Duration = queue::LAST_RETRY;

    fn new(timing: &Timing) -> Self
    where
        Self: Sized;

    /// Once, before the first event.
    fn begin(&mut self, _queue: &mut Queue<Self::Work>) {}

    /// Notes what a change makes worth a look. Reads nothing but the change and what it kept of earlier ones.
    fn observe(&mut self, event: &Event, queue: &mut Queue<Self::Work>);

    /// Notes what of its first list is worth a look.
    fn observe_first(&mut self, event: &Event, queue: &mut Queue<Self::Work>) {
        self.observe(event, queue);
    }

    /// Brings one thing to what it should be. An error leads to another try after a while.
    fn reconcile(
        &mut self,
        work: &Self::Work,
        client: &mut Client<'_>,
        queue: &mut Queue<Self::Work>,
    ) -> Result<Next, Status>;
}

/// A controller that runs.
trait Controller: Send {
    /// Takes note of changes. Says when it has work to do.
    fn hear(
        &mut self,
        now: Timestamp,
        news: &mut dyn Iterator<Item = Arc<Event>>,
    ) -> Option<Timestamp>;

    /// Does all that is due. Says when it wants to be called again.
    fn work(&mut self, client: &mut Client<'_>) -> Option<Timestamp>;
}

struct Loop<R: Reconcile> {
    reconcile: R,
    queue: Queue<R::Work>,
    has_listed: bool,
}

impl<R: Reconcile> Controller for Loop<R> {
    fn hear(
        &mut self,
        now: Timestamp,
        news: &mut dyn Iterator<Item = Arc<Event>>,
    ) -> Option<Timestamp> {
        self.queue.advance(now);
        let observe = if self.has_listed { R::observe } else { R::observe_first };
        for event in news {
            observe(&mut self.reconcile, &event, &mut self.queue);
        }
        self.has_listed = true;
        self.queue.next()
    }

    fn work(&mut self, client: &mut Client<'_>) -> Option<Timestamp> {
        let mut ready = self.queue.take();
        client.random().shuffle(&mut ready);
        for work in ready {
            match self.reconcile.reconcile(&work, client, &mut self.queue) {
                Ok(Next::Rest) => self.queue.forget(&work),
                Ok(Next::After(wait)) => {
                    self.queue.forget(&work);
                    self.queue.add_after(work, wait);
                }
                Err(_) => self.queue.retry(work),
            }
        }
        self.queue.next()
    }
}

/// How a controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    #[default]
    Running,
    /// Not there: uninstalled, or its process is gone. What it misses it finds again when it is switched on.
    Off,
    /// Learns and does everything this much later.
    Slow(SignedDuration),
    /// All its requests are refused with 500.
    Failing,
}

/// One controller with what was done to it.
struct Post {
    name: &'static str,
    user: &'static str,
    component: &'static str,
    start: fn(&Timing, Timestamp) -> Box<dyn Controller>,
    /// `None` while it does not run.
    running: Option<Box<dyn Controller>>,
    condition: Condition,
    /// The last revision it was told of; `None` before its first look.
    seen: Option<u64>,
    due: Option<Timestamp>,
    /// Until when it is not told of what happened, because it is slow.
    late: Option<Timestamp>,
    /// Until when it stays down after a panic.
    down: Option<Timestamp>,
}

/// A panic of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fall {
    pub controller: &'static str,
    pub time: Timestamp,
    /// What it said last.
    pub message: String,
}

/// The process that most controllers are part of; switched by this name, they are all.
const MANAGER: &str = "kube-controller-manager";
/// What has a process of its own, or is part of the API server.
const OUTSIDE: [&str; 7] = [
    definition::Definitions::NAME,
    scheduler::Scheduler::NAME,
    kubelet::Kubelets::NAME,
    attacher::Attacher::NAME,
    provisioner::Provisioner::NAME,
    gitops::GitOps::NAME,
    operator::Operators::NAME,
];

/// All controllers, and what is broken under them.
pub struct Controllers {
    posts: Vec<Post>,
    timing: Timing,
    falls: VecDeque<Fall>,
    /// What is broken on the machines; kubelets and drivers meet it.
    pub breakage: Breakage,
}

impl Default for Controllers {
    fn default() -> Self {
        Self::new(Timing::default())
    }
}

impl Controllers {
    /// All controllers, none of which has seen anything yet.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self::of(posts(), timing)
    }

    /// The names of all there are, and of the manager of most of them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        posts().into_iter().map(|post| post.name).chain([MANAGER])
    }

    fn of(posts: Vec<Post>, timing: Timing) -> Self {
        Self { posts, timing, falls: VecDeque::new(), breakage: Breakage::default() }
    }

    /// The controllers and how they are.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Condition)> {
        self.posts.iter().map(|post| (post.name, post.condition))
    }

    /// The latest panics of controllers, oldest first.
    pub fn falls(&self) -> impl Iterator<Item = &Fall> {
        self.falls.iter()
    }

    /// Takes the panics since it was asked last: the latest, oldest first.
    pub fn take_falls(&mut self) -> Vec<Fall> {
        self.falls.drain(..).collect()
    }

    /// Switches a controller off or on, slows it, makes it fail; whether there is one of this name. The name of the
    /// controller manager means all that are part of it.
    pub fn set(&mut self, name: &str, condition: Condition) -> bool {
        let is_meant =
            |post: &Post| post.name == name || name == MANAGER && !OUTSIDE.contains(&post.name);
        let mut is_there = false;
        for post in self.posts.iter_mut().filter(|post| is_meant(post)) {
            if condition == Condition::Off {
                post.running = None;
            }
            (post.late, post.down) = (None, None);
            post.condition = condition;
            is_there = true;
        }
        is_there
    }

    /// Runs all that have something to do, again and again, until nothing is left to do at this instant. Says when
    /// there will be something next.
    pub fn turn(&mut self, cluster: &mut Cluster) -> Option<Timestamp> {
        let start = cluster.steady();
        for _ in 0..TURNS_PER_INSTANT {
            let now = cluster.steady();
            let mut ready: Vec<usize> =
                (0..self.posts.len()).filter(|&at| self.posts[at].ready(cluster, now)).collect();
            if ready.is_empty() {
                return self.posts.iter().filter_map(|post| post.next()).min();
            }
            cluster.rng.shuffle(&mut ready);
            for at in ready {
                let fall = self.posts[at].run(cluster, &mut self.breakage, &self.timing);
                if let Some(fall) = fall {
                    self.falls.push_back(fall);
                    self.falls.drain(..self.falls.len().saturating_sub(FALLS));
                }
            }
        }
        Some(later(start, Duration::from_millis(1)))
    }
}

fn posts() -> Vec<Post> {
    vec![
        post::<garbage::Garbage>(),
        post::<namespace::Namespaces>(),
        post::<service_account::ServiceAccounts>(),
        post::<root_ca::RootCa>(),
        post::<deployment::Deployments>(),
        post::<replica_set::ReplicaSets>(),
        post::<replica_set::ReplicationControllers>(),
        post::<stateful_set::StatefulSets>(),
        post::<daemon_set::DaemonSets>(),
        post::<job::Jobs>(),
        post::<cron_job::CronJobs>(),
        post::<autoscaler::Autoscalers>(),
        post::<endpoints::Endpoints>(),
        post::<endpoint_slice::EndpointSlices>(),
        post::<binder::Binder>(),
        post::<provisioner::Provisioner>(),
        post::<claim_protection::ClaimProtection>(),
        post::<volume_protection::VolumeProtection>(),
        post::<attributes_class_protection::AttributesClassProtection>(),
        post::<service_cidr::ServiceCidrs>(),
        post::<resource_claim::ResourceClaims>(),
        post::<ephemeral_volume::EphemeralVolumes>(),
        post::<attach_detach::AttachDetach>(),
        post::<attacher::Attacher>(),
        post::<budget::Budgets>(),
        post::<definition::Definitions>(),
        post::<scheduler::Scheduler>(),
        post::<node_lifecycle::NodeLifecycle>(),
        post::<taint_eviction::TaintEviction>(),
        post::<pod_gc::PodGc>(),
        post::<resource_quota::ResourceQuotas>(),
        post::<kubelet::Kubelets>(),
        post::<gitops::GitOps>(),
        post::<operator::Operators>(),
    ]
}

fn post<R: Reconcile + 'static>() -> Post {
    Post {
        name: R::NAME,
        user: R::USER,
        component: R::COMPONENT,
        start: |timing, now| {
            let mut queue = Queue::new(now, R::LAST_RETRY);
            let mut reconcile = R::new(timing);
            reconcile.begin(&mut queue);
            Box::new(Loop { reconcile, queue, has_listed: false })
        },
        running: None,
        condition: Condition::default(),
        seen: None,
        due: None,
        late: None,
        down: None,
    }
}

/// The text a panic was raised with.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

impl Post {
    /// Whether it has something to do now. A slow one only makes a note of when it will.
    fn ready(&mut self, cluster: &Cluster, now: Timestamp) -> bool {
        if self.condition == Condition::Off || self.down.is_some_and(|down| down > now) {
            return false;
        }
        if self.running.is_some()
            && self.seen == Some(cluster.store.revision())
            && self.due.is_none_or(|due| due > now)
        {
            return false;
        }
        let Condition::Slow(by) = self.condition else { return true };
        match self.late {
            Some(late) => late <= now,
            None => {
                self.late = Some(now.checked_add(by).unwrap_or(Timestamp::MAX));
                by.is_zero()
            }
        }
    }

    fn next(&self) -> Option<Timestamp> {
        if self.condition == Condition::Off { None } else { self.down.or(self.late).or(self.due) }
    }

    /// Lets it do what is due. One that panics while it does is taken down, since nobody knows what it was about to
    /// keep in mind; the cluster is whole, as its verbs change one object at a time.
    fn run(
        &mut self,
        cluster: &mut Cluster,
        breakage: &mut Breakage,
        timing: &Timing,
    ) -> Option<Fall> {
        let now = cluster.steady();
        let work = AssertUnwindSafe(|| self.sync(cluster, breakage, timing));
        let panic = catch_unwind(work).err()?;
        self.running = None;
        self.due = None;
        self.down = Some(later(now, RESTART));
        Some(Fall { controller: self.name, time: now, message: message(&*panic) })
    }

    fn sync(&mut self, cluster: &mut Cluster, breakage: &mut Breakage, timing: &Timing) {
        (self.late, self.down) = (None, None);
        let now = cluster.steady();
        if self.running.is_none() {
            // Its process starts: it lists everything.
            self.seen = None;
            self.running = Some((self.start)(timing, now));
        }
        let Some(running) = &mut self.running else { return };
        self.due = running.hear(now, &mut cluster.store.news(self.seen));
        self.seen = Some(cluster.store.revision());
        // Most of what happens is nothing to most of them.
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let mut client = Client::new(
            cluster,
            breakage,
            self.user,
            self.component,
            self.condition == Condition::Failing,
        );
        self.due = running.work(&mut client);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read::text;
    use super::*;
    use crate::cluster::Actor;
    use crate::store::Key;

    /// Cannot bear a ConfigMap that says so, and answers every other one.
    struct Fragile;

    impl Reconcile for Fragile {
        type Work = Key;
        const NAME: &'static str = "fragile-controller";
        const USER: &'static str = "fragile-controller";

        fn new(_: &Timing) -> Self {
            Self
        }

        fn observe(&mut self, event: &Event, queue: &mut Queue<Key>) {
            if event.key.is_of("", "configmaps") {
                queue.add(event.key.clone());
            }
        }

        fn reconcile(
            &mut self,
            key: &Key,
            client: &mut Client<'_>,
            _: &mut Queue<Key>,
        ) -> Result<Next, Status> {
            if let Some(map) = client.get(key) {
                assert_ne!(text(&map, "/data/mood"), "bad", "a bad mood");
                client.modify(key, |it| it["data"]["seen"] = json!("yes"))?;
            }
            Ok(Next::Rest)
        }
    }

    fn mood(cluster: &mut Cluster, name: &str, mood: &str) -> Key {
        let object = json!({"metadata": {"name": name}, "data": {"mood": mood}});
        cluster.create(&Actor::admin(), "", "configmaps", "default", object).unwrap();
        Key::new("", "configmaps", "default", name)
    }

    #[test]
    fn a_panic_takes_down_one_controller_for_a_while() {
        let mut cluster = Cluster::new("2026-11-21T08:00:00Z".parse().unwrap(), 1);
        cluster.clock.set_speed(0);
        let posts = vec![post::<Fragile>(), post::<service_account::ServiceAccounts>()];
        let mut controllers = Controllers::of(posts, Timing::default());
        controllers.turn(&mut cluster);
        let bad = mood(&mut cluster, "bad", "bad");
        let start = cluster.now();
        assert_eq!(controllers.turn(&mut cluster), Some(later(start, RESTART)));
        let falls: Vec<_> = controllers.falls().map(|it| it.controller).collect();
        assert_eq!(falls, ["fragile-controller"]);
        assert!(
            controllers.falls().all(|it| it.time == start && it.message.contains("a bad mood"))
        );

        // The others go on at once; it comes back after its time, and sees what it missed.
        let made = json!({"metadata": {"name": "shop"}});
        cluster.create(&Actor::admin(), "", "namespaces", "", made).unwrap();
        let good = mood(&mut cluster, "good", "good");
        controllers.turn(&mut cluster);
        assert!(cluster.get(&Key::new("", "serviceaccounts", "shop", "default")).is_some());
        assert_eq!(cluster.get(&good).unwrap()["data"]["seen"], json!(null));
        let better = |it: &mut serde_json::Value| it["data"]["mood"] = json!("good");
        cluster.modify(&Actor::admin(), &bad, "", better).unwrap();
        cluster.clock.advance(RESTART);
        controllers.turn(&mut cluster);
        for key in [&bad, &good] {
            assert_eq!(cluster.get(key).unwrap()["data"]["seen"], "yes");
        }
        assert_eq!(controllers.falls().count(), 1);
    }
}
