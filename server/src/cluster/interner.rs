//! Strings that occur again and again are kept once: kinds, namespaces, label keys and values, finalizers, fields.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// Distinct strings kept before the unused ones are swept; above that nothing more is shared. A cluster of 10,000 Pods
/// has a few thousand distinct labels; a label that is unique per object gains nothing from being here.
const MOST: usize = 65_536;

/// Longer strings are rarely repeated: label values end at 63 characters, names at 253.
const LONGEST: usize = 253;

/// Strings turned away between two sweeps of a full set.
const SWEEP_EVERY: usize = MOST / 4;

/// The strings shared so far, by all watches. Held for the length of one look-up, never across an await.
#[derive(Debug, Default)]
pub(super) struct Interner {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    strings: HashSet<Arc<str>>,
    /// Strings turned away since the last sweep: sweeping for each of them would cost more than it saves.
    turned_away: usize,
}

impl Interner {
    /// The shared copy of this string.
    pub(super) fn share(&self, text: &str) -> Arc<str> {
        if text.len() > LONGEST {
            return text.into();
        }
        // A set of strings is whole after a panic too: nothing here leaves it half-changed.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = kept.strings.get(text) {
            return shared.clone();
        }
        let shared: Arc<str> = text.into();
        if kept.strings.len() >= MOST && kept.turned_away.is_multiple_of(SWEEP_EVERY) {
            kept.strings.retain(|text| Arc::strong_count(text) > 1);
            kept.turned_away = 0;
        }
        if kept.strings.len() < MOST {
            kept.strings.insert(shared.clone());
        } else {
            kept.turned_away += 1;
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one() {
        let names = Interner::default();
        assert!(Arc::ptr_eq(&names.share("app"), &names.share("app")));
    }

    #[test]
    fn it_neither_grows_without_end_nor_keeps_what_nobody_uses() {
        let names = Interner::default();
        let used: Vec<_> = (0..10).map(|n| names.share(&format!("used-{n}"))).collect();
        for n in 0..MOST * 2 {
            names.share(&format!("passing-{n}"));
        }
        assert!(names.kept.lock().unwrap().strings.len() <= MOST);
        assert!(used.iter().all(|text| Arc::ptr_eq(text, &names.share(text))));
        let long = "x".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&names.share(&long), &names.share(&long)));
    }
}
