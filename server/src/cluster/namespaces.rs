//! Which namespaces there are, as far as the watches know. Where a kind may not be listed as a whole it is watched in
//! each of them.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use teardown::{object::Uid, observation::Observation};
use tokio::time::timeout;

use super::fair_watch::{FairReceiver, FairSender};

/// Namespaces that one kind is watched in at once. Whoever may not list a kind as a whole has rights in a handful of
/// namespaces; each one more is a request that is refused, for each of a hundred kinds, again and again.
const MAX_WATCHED: usize = 64;
/// How long the first list of Namespaces is waited for. Without it, what is seen elsewhere has to do.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the watches know; each tells it what it sees.
#[derive(Debug)]
pub(super) struct Namespaces {
    known: FairSender<Known>,
}

/// What is known, and when it changes.
#[derive(Clone, Debug)]
pub(super) struct View {
    known: FairReceiver<Known>,
}

#[derive(Debug)]
struct Known {
    /// The one that the credentials name, the likeliest to have rights in.
    own: Arc<str>,
    /// The names of all, by the UIDs of the Namespaces; none before they were listed.
    listed: Option<HashMap<Uid, Arc<str>>>,
    /// Whether Namespaces cannot be seen.
    hidden: bool,
    /// Those that objects are in: all there is to go by where Namespaces may not be listed.
    named: BTreeSet<Arc<str>>,
}

impl Namespaces {
    /// None is known but that of the credentials.
    pub(super) fn new(own: &str) -> Self {
        let own: Arc<str> = own.into();
        let named = [own.clone()].into();
        Self { known: FairSender::new(Known { own, listed: None, hidden: false, named }) }
    }

    /// Takes in what a watch saw.
    pub(super) fn observe(&self, observation: &Observation) {
        self.known.send_if_modified(|known| known.observe(observation));
    }

    /// A view of them.
    pub(super) fn view(&self) -> View {
        View { known: self.known.subscribe() }
    }
}

impl View {
    /// Waits until Namespaces were listed, cannot be, or have not been for long.
    pub(super) async fn answered(&mut self) {
        let answer =
            self.known.wait_for(|known| (known.listed.is_some() || known.hidden).then_some(()));
        if timeout(TIMEOUT, answer).await.is_err() {
            tracing::debug!("namespaces were not listed in time");
        }
    }

    /// Those to watch a kind in: of those it is watched in, all that are left; then others as long as there is room,
    /// the system's own last.
    pub(super) fn chosen(&mut self, before: &BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
        self.known.borrow_and_update(|known| known.chosen(before))
    }

    /// Waits until they have changed since they were chosen from. Cancelling it loses nothing.
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

    /// Says whether it is other namespaces now.
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
            | Observation::Time(_)
            | Observation::Pace(_)
            | Observation::Demo(_)
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
    async fn they_are_what_the_watch_of_namespaces_lists() {
        let namespaces = Namespaces::new("own");
        let mut view = namespaces.view();
        namespaces.observe(&listed("cm dark/a"));
        assert_eq!(names(&view.chosen(&BTreeSet::new())), ["dark", "own"], "for want of better");
        namespaces.observe(&listed("ns shop\n ns bank"));
        view.answered().await;
        let before = view.chosen(&BTreeSet::new());
        assert_eq!(names(&before), ["bank", "shop"]);
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("ns new"))));
        let (kind, uid) = (fixture::kind("ns"), fixture::uid("ns:bank"));
        namespaces.observe(&Observation::Deleted { kind, uid });
        view.changed().await;
        assert_eq!(names(&view.chosen(&before)), ["new", "shop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn where_they_are_hidden_the_names_that_are_seen_have_to_do() {
        let namespaces = Namespaces::new("own");
        let mut view = namespaces.view();
        namespaces.observe(&Observation::Hidden {
            resource: "namespaces".into(),
            cause: HiddenCause::Forbidden,
            message: "".into(),
        });
        view.answered().await;
        assert_eq!(names(&view.chosen(&BTreeSet::new())), ["own"]);
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("pod shop/a"))));
        view.changed().await;
        assert_eq!(names(&view.chosen(&BTreeSet::new())), ["own", "shop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn they_are_so_many_and_stay_the_same() {
        let namespaces = Namespaces::new("zoo");
        let mut view = namespaces.view();
        let text: Vec<_> = (0..100).map(|number| format!("ns n{number:02}")).collect();
        namespaces.observe(&listed(&(text.join("\n") + "\nns kube-system\nns zoo")));
        let before = view.chosen(&BTreeSet::new());
        assert_eq!(before.len(), MAX_WATCHED);
        assert!(before.contains("zoo") && before.contains("n62") && !before.contains("n63"));
        assert!(!before.contains("kube-system"));
        namespaces.observe(&Observation::Applied(Box::new(fixture::object("ns a-new-one"))));
        assert_eq!(view.chosen(&before), before, "who is watched stays watched");
    }
}
