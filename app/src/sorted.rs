//! Sorting, once, and on a heap: the library's own sort is fifteen kilobytes of the browser's half, a heap is one, and no
//! list here is so long that the difference in time matters.

use std::{cmp::Ordering, collections::BinaryHeap};

/// The rows in order; equal ones stay as they were.
pub fn sorted<T>(rows: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let places = sorted_places(rows.len(), &|a, b| compare(&rows[a], &rows[b]));
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    places.into_iter().filter_map(|place| rows[place].take()).collect()
}

fn sorted_places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let places: Vec<Place<'_>> = (0..count).map(|at| Place { at, compare }).collect();
    BinaryHeap::from(places).into_sorted_vec().into_iter().map(|place| place.at).collect()
}

/// Where a row was. A heap asks in no order of its own, so where a row was is the last to decide.
struct Place<'a> {
    at: usize,
    compare: &'a dyn Fn(usize, usize) -> Ordering,
}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.compare)(self.at, other.at).then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_keep_their_order() {
        let rows: Vec<(usize, usize)> = (0..100).map(|at| (at * 7 % 10, at)).collect();
        let mut expected = rows.clone();
        expected.sort();
        assert_eq!(sorted(rows, |a, b| a.0.cmp(&b.0)), expected);
        assert!(sorted(Vec::<u8>::new(), Ord::cmp).is_empty());
    }
}
