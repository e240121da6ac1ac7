//! A list of rows that come, go and move. Every list of the page is this one, with one type of key and one of row: a list costs
//! the browser's half eleven kilobytes for each type that it is made for.
//!
//! # Decisions
//! - It is Leptos' `<For>` but for the owners of the rows. An owner of reactive_graph 0.2 keeps about a hundred bytes of each child
//!   that it ever had, and the rows of `<For>` are children of the list, which may be open for a day. Here a list has eras of
//!   generations of rows: a generation ends with its last row, and an era with its last generation. The map draws an edge anew
//!   when it moves, which makes hundreds of rows of one change. From 0.3 an owner forgets children that are gone.

use std::sync::{Arc, Mutex, PoisonError};

use leptos::{
    prelude::*,
    reactive::owner::Owner,
    tachys::{reactive_graph::OwnedView, view::keyed},
};

/// A row that may be drawn already.
struct Row {
    key: String,
    draw: Box<dyn FnOnce() -> Option<AnyView> + Send>,
}

/// The rows of these items; an item that nothing is known of has none. A row is drawn once, and stays as long as an item
/// has its key.
pub fn rows<T: Clone + Send + Sync + 'static>(
    items: Memo<Vec<T>>,
    key: fn(&T) -> String,
    draw: impl Fn(T) -> Option<AnyView> + Send + Sync + 'static,
) -> AnyView {
    let draw = Arc::new(draw);
    let row = move |item: T| {
        let draw = draw.clone();
        Row { key: key(&item), draw: Box::new(move || draw(item)) }
    };
    list(Box::new(move || items.get().into_iter().map(&row).collect()))
}

fn list(rows: Box<dyn Fn() -> Vec<Row> + Send + Sync>) -> AnyView {
    let owners = Arc::new(Mutex::new(RowOwners::of(Owner::current().unwrap_or_default())));
    let draw = move |_, row: Row| {
        let owner = owners.lock().unwrap_or_else(PoisonError::into_inner).next();
        let view = owner.with(row.draw);
        (drop, OwnedView::new_with_owner(view, owner))
    };
    (move || keyed::keyed(rows(), |row: &Row| row.key.clone(), draw.clone())).into_any()
}

/// Makes the owners of the rows of a list.
struct RowOwners {
    list: Owner,
    era: Owner,
    generation: Owner,
    /// The rows that the era has had.
    rows: usize,
}

impl RowOwners {
    /// The most rows of one generation, and the most generations of one era.
    const MOST: usize = 32;

    fn of(list: Owner) -> Self {
        let era = list.child();
        Self { generation: child(&era), era, list, rows: 0 }
    }

    /// The owner of the next row.
    fn next(&mut self) -> Owner {
        if self.rows == Self::MOST * Self::MOST {
            *self = Self::of(self.list.clone());
        } else if self.rows > 0 && self.rows.is_multiple_of(Self::MOST) {
            self.generation = child(&self.era);
        }
        self.rows += 1;
        child(&self.generation)
    }
}

/// A child that keeps its parent alive.
fn child(parent: &Owner) -> Owner {
    let child = parent.child();
    let parent = parent.clone();
    child.with(|| Owner::on_cleanup(move || drop(parent)));
    child
}

#[cfg(test)]
mod tests {
    use leptos::reactive::graph::{
        AnySource, AnySubscriber, ReactiveNode, Source, Subscriber, WithObserver,
    };

    use super::*;
    use crate::state::subscription::Lasting;

    /// The effect of a row, as a signal knows it.
    #[derive(Default)]
    struct Reader(Mutex<Vec<AnySource>>);

    impl ReactiveNode for Reader {
        fn mark_dirty(&self) {}
        fn mark_check(&self) {}
        fn mark_subscribers_check(&self) {}
        fn update_if_necessary(&self) -> bool {
            false
        }
    }

    impl Subscriber for Reader {
        fn add_source(&self, source: AnySource) {
            self.0.lock().unwrap().push(source);
        }

        fn clear_sources(&self, subscriber: &AnySubscriber) {
            for source in self.0.lock().unwrap().drain(..) {
                source.remove_subscriber(subscriber);
            }
        }
    }

    /// Mounts and drops a thousand rows that read, and counts their subscriptions that are left.
    fn left(read: impl Fn() -> i32) -> usize {
        let mut owners = RowOwners::of(Owner::current().unwrap());
        let mut readers = vec![];
        for _ in 0..1_000 {
            let row = owners.next();
            let reader = Arc::new(Reader::default());
            let subscriber =
                AnySubscriber(Arc::as_ptr(&reader) as usize, Arc::downgrade(&reader) as _);
            row.with(|| subscriber.with_observer(&read));
            readers.push(reader);
        }
        // A signal refers to each of its readers once, and weakly.
        readers.iter().map(Arc::weak_count).sum()
    }

    /// Ten thousand rows come and go while one stays.
    #[test]
    fn list_forgets_rows_that_are_gone() {
        let list = Owner::new();
        let mut owners = RowOwners::of(list.clone());
        let stays = owners.next();
        let mut eras = vec![owners.era.downgrade()];
        for _ in 0..10_000 {
            drop(owners.next());
            if !eras.iter().any(|era| era.upgrade().as_ref() == Some(&owners.era)) {
                eras.push(owners.era.downgrade());
            }
        }
        assert_eq!(eras.len(), 10, "the list has as many children, and not one for each row");
        let alive = eras.iter().filter(|era| era.upgrade().is_some()).count();
        assert_eq!(alive, 2, "that of the row which stays, and the current one");
        drop(stays);
        assert!(eras[0].upgrade().is_none());
    }

    /// The count of listeners of a browser does not see these: they are in the memory of the module.
    #[test]
    fn rows_that_are_gone_leave_no_subscription() {
        Owner::new().with(|| {
            let signal = RwSignal::new(0);
            assert_eq!(left(|| signal.get()), 1_000, "a signal keeps the readers that it had");
            let readers = std::sync::Mutex::new(0);
            let again = left(|| {
                // Each reader comes after a change.
                *readers.lock().unwrap() += 1;
                signal.set(1);
                signal.get()
            });
            assert_eq!((again, *readers.lock().unwrap()), (1_000, 1_000), "also when it changes");
            let signal = RwSignal::new(0);
            let lasting = Lasting::new(signal);
            assert_eq!(left(|| lasting.get()), 0);
            // A reader that is still there is no row that is gone.
            let count = Memo::new(move |_| lasting.get());
            assert_eq!(count.get_untracked(), 0);
            signal.set(1);
            assert_eq!(count.get_untracked(), 1);
        });
    }
}
