//! Sorting, with one order for all types: the standard library's sort is compiled anew for each type and each comparison,
//! and costs the browser's half three kilobytes each time.

use std::{cmp::Ordering, mem};

/// Sorts; items that compare as equal keep their order.
pub fn sort<T>(items: &mut Vec<T>, compare: fn(&T, &T) -> Ordering) {
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    let mut taken: Vec<Option<T>> = mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| taken[at].take()));
}

/// The places `0..count` in the order of what is at them.
pub fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
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
