//! A list of rows that come, go and move. Every list of the page is this one, with one type of key and one of row: a list costs
//! the browser's half eleven kilobytes for each type that it is made for.
//!
//! # Decisions
//! - It is Leptos' `<For>` but for the owners of the rows. An owner of reactive_graph 0.2 keeps about a hundred bytes of each child
//!   that it ever had, and the rows of `<For>` are children of the list, which may be open for a day. Here a list has generations
//!   of rows, and a generation ends with its last row. From 0.3 an owner forgets children that are gone.

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
    generation: Owner,
    /// The rows that the generation has had.
    rows: usize,
}

impl RowOwners {
    /// The most rows of one generation.
    const MOST: usize = 32;

    fn of(list: Owner) -> Self {
        Self { generation: list.child(), list, rows: 0 }
    }

    /// The owner of the next row. It keeps its generation alive.
    fn next(&mut self) -> Owner {
        if self.rows == Self::MOST {
            *self = Self::of(self.list.clone());
        }
        self.rows += 1;
        let row = self.generation.child();
        let generation = self.generation.clone();
        row.with(|| Owner::on_cleanup(move || drop(generation)));
        row
    }
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
