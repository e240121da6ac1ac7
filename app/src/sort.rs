//! The standard library's sort, compiled once for the lists of the page.
//!
//! # Decisions
//! - `slice::sort_by` and `sort_unstable` are compiled anew for each type and each comparison, and take three to ten kilobytes of
//!   the module each time. The lists of the page would cost more of the first load than it has left, so they share one order of
//!   places.

use std::{cmp::Ordering, mem};

/// Sorts; items that compare as equal keep their order.
pub(crate) fn sort<T>(items: &mut Vec<T>, compare: fn(&T, &T) -> Ordering) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut order, &|a, b| compare(&items[a], &items[b]));
    let mut taken: Vec<Option<T>> = mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| taken[at].take()));
}

/// Sorts places by what is at them.
pub(crate) fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_keep_their_order() {
        let mut items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        sort(&mut items, |a, b| a.0.cmp(&b.0));
        assert_eq!(items, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
    }
}
