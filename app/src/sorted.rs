//! Sorting, once: each type that is sorted by the library costs the browser's half four kilobytes, and no list here is
//! so long that a comparison through a pointer matters.

use std::cmp::Ordering;

/// The rows in order; equal ones stay as they were.
pub fn sorted<T>(rows: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    sort_places(&mut places, &|a, b| compare(&rows[a], &rows[b]));
    let mut rows: Vec<Option<T>> = rows.into_iter().map(Some).collect();
    places.into_iter().filter_map(|place| rows[place].take()).collect()
}

fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_keep_their_order() {
        let rows = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        assert_eq!(sorted(rows, |a, b| a.0.cmp(&b.0)), [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
    }
}
