//! The namespaces that the watches know of. A kind that may not be listed in the whole cluster is watched in each of
//! them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use teardown::{object::Uid, observation::Observation};
use tokio::time::timeout;

use super::fair_watch::{FairReceiver, FairSender};

/// The most namespaces that one kind is watched in at once. A user who may not list a kind in the whole cluster usually
/// has rights in a few namespaces. Each further one costs a request per kind that is refused again and again.
const MAX_WATCHED: usize = 64;
/// The longest wait for the first list of Namespaces. After that the namespaces of other objects are used.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The shared knowledge, to which every watch adds its observations.
#[derive(Debug)]
pub(super) struct Namespaces {
    known: FairSender<Known>,
}

/// A reader's handle, which also waits for changes.
#[derive(Clone, Debug)]
pub(super) struct View {
    known: FairReceiver<Known>,
}

#[derive(Debug)]
struct Known {
    /// The namespace of the credentials, where rights are most likely.
    own: Arc<str>,
    /// All names by the UIDs of the Namespaces; `None` before they were listed.
    listed: Option<HashMap<Uid, Arc<str>>>,
    /// Whether Namespaces cannot be listed.
    hidden: bool,
    /// The namespaces of the objects seen so far, used if Namespaces may not be listed.
    named: BTreeSet<Arc<str>>,
}

impl Namespaces {
    /// Starts with the namespace of the credentials only.
    pub(super) fn new(own: &str) -> Self {
        let own: Arc<str> = own.into();
        let named = [own.clone()].into();
        Self { known: FairSender::new(Known { own, listed: None, hidden: false, named }) }
    }

    /// Adds an observation of a watch.
    pub(super) fn observe(&self, observation: &Observation) {
        self.known.send_if_modified(|known| known.observe(observation));
    }

    /// A handle for a reader.
    pub(super) fn view(&self) -> View {
        View { known: self.known.subscribe() }
    }
}

impl View {
    /// Waits until Namespaces are listed or hidden, at most [`TIMEOUT`].
    pub(super) async fn listed_or_hidden(&mut self) {
        let listed =
            self.known.wait_for(|known| (known.listed.is_some() || known.hidden).then_some(()));
        if timeout(TIMEOUT, listed).await.is_err() {
            tracing::debug!(
                "namespaces were not listed in time; the namespaces of other objects are used"
            );
        }
    }

    /// Chooses the namespaces to watch a kind in: first those of `before` that still exist, then others up to
    /// [`MAX_WATCHED`], with the `kube-` namespaces last.
    pub(super) fn chosen(&mut self, before: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
        self.known.borrow_and_update(|known| known.chosen(before))
    }

    /// Waits until the namespaces have changed since the last choice. Cancelling it loses no change.
    pub(super) async fn changed(&mut self) {
        self.known.changed().await;
    }
}

impl Known {
    fn chosen(&self, before: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
        let names: BTreeSet<Arc<str>> = match &self.listed {
            Some(listed) => listed.values().cloned().collect(),
            None => self.named.clone(),
        };
        let mut chosen: BTreeSet<Arc<str>> = before.intersection(&names).cloned().collect();
        let mut others: Vec<&Arc<str>> = names.difference(before).collect();
        others.sort_by_key(|name| (**name != self.own, name.starts_with("kube-")));
        let room = MAX_WATCHED.saturating_sub(chosen.len());
        chosen.extend(others.into_iter().take(room).cloned());
        chosen
    }

    /// Adds an observation. Returns whether the namespaces to choose from changed.
    fn observe(&mut self, observation: &Observation) -> bool {
        match observation {
            Observation::Listed { kind, objects } if kind.is("", "Namespace") => {
                let all = objects.iter();
                self.listed = Some(all.map(|one| (one.uid.clone(), (*one.name).into())).collect());
                true
            }
            Observation::Applied(object) if object.kind.is("", "Namespace") => {
                let listed = self.listed.get_or_insert_default();
                listed.insert(object.uid.clone(), (*object.name).into()).is_none()
            }
            Observation::Deleted { kind, uid } if kind.is("", "Namespace") => {
                self.listed.as_mut().is_some_and(|listed| listed.remove(uid).is_some())
            }
            Observation::Hidden { resource, .. } if resource == "namespaces" => {
                !std::mem::replace(&mut self.hidden, true)
            }
            Observation::Listed { objects, .. } => {
                let before = self.named.len();
                self.named.extend(objects.iter().filter_map(|object| object.namespace.clone()));
                self.named.len() > before && self.listed.is_none()
            }
            Observation::Applied(object) => match &object.namespace {
                Some(namespace) if !self.named.contains(namespace) => {
                    self.named.insert(namespace.clone()) && self.listed.is_none()
                }
                _ => false,
            },
            Observation::Watching(_)
            | Observation::PerNamespace { .. }
            | Observation::ListedIn { .. }
            | Observation::HiddenIn { .. }
            | Observation::VisibleIn { .. }
            | Observation::Deleted { .. }
            | Observation::Withdrawn(_)
            | Observation::Hidden { .. }
            | Observation::Visible { .. }
            | Observation::Undeletable(_)
            | Observation::Fetched { .. }
            | Observation::Unasked(_)
            | Observation::Time(_)
            | Observation::Pace(_)
            | Observation::RunsIn { .. }
            | Observation::Reached { .. }
            | Observation::Unreachable { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use teardown::{fixture, message::HiddenCause};

    use super::*;

    fn listed(text: &str) -> Observation {
        let objects = fixture::objects(text);
        Observation::Listed { kind: objects[0].kind.clone(), objects }
    }

    fn names(names: &BTreeSet<Arc<str>>) -> Vec<&str> {
        names.iter().map(|name| &**name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn namespaces_follow_the_watch_of_namespaces() {
        let namespaces = Namespaces::new("own");
        let mut view = namespaces.view();
        namespaces.observe(&listed("cm dark/a"));
        assert_eq!(
            names(&view.chosen(&BTreeSet::new())),
            ["dark", "own"],
            "before Namespaces are listed"
        );
        namespaces.observe(&listed("ns shop\n ns bank"));
        view.listed_or_hidden().await;
        let before = view.chosen(&BTreeSet::new());
        assert_eq!(names(&before), ["bank", "shop"]);
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("ns new"))));
        let (kind, uid) = (fixture::kind("ns"), fixture::uid("ns:bank"));
        namespaces.observe(&Observation::Deleted { kind, uid });
        view.changed().await;
        assert_eq!(names(&view.chosen(&before)), ["new", "shop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn hidden_namespaces_are_taken_from_other_objects() {
        let namespaces = Namespaces::new("own");
        let mut view = namespaces.view();
        namespaces.observe(&Observation::Hidden {
            resource: "namespaces".into(),
            cause: HiddenCause::Forbidden,
            message: "".into(),
        });
        view.listed_or_hidden().await;
        assert_eq!(names(&view.chosen(&BTreeSet::new())), ["own"]);
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("pod shop/a"))));
        view.changed().await;
        assert_eq!(names(&view.chosen(&BTreeSet::new())), ["own", "shop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn chosen_namespaces_are_limited_and_stay_chosen() {
        let namespaces = Namespaces::new("zoo");
        let mut view = namespaces.view();
        let text: Vec<_> = (0..100).map(|number| format!("ns n{number:02}")).collect();
        namespaces.observe(&listed(&(text.join("\n") + "\nns kube-system\nns zoo")));
        let before = view.chosen(&BTreeSet::new());
        assert_eq!(before.len(), MAX_WATCHED);
        assert!(before.contains("zoo") && before.contains("n62") && !before.contains("n63"));
        assert!(!before.contains("kube-system"));
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("ns a-new-one"))));
        assert_eq!(view.chosen(&before), before, "a watched namespace stays watched");
    }
}
