//! Damaged files: of a process that ended, and of one that was killed. Whatever is damaged, the journal opens, and a run has all of its
//! events, or it cannot be read, or the whole file is set aside.

use std::{collections::BTreeSet, fs};

use super::*;

/// How a process left its file.
#[derive(Clone, Copy, Debug)]
enum Left {
    Closed,
    /// A process that is killed closes nothing.
    Killed,
}

const BOTH: [Left; 2] = [Left::Closed, Left::Killed];
const RUNS: [&str; 2] = ["a", "b"];
/// The events of each run, enough for pages of their own.
const EVENTS: u32 = 300;
/// The events of one write.
const BATCH: u32 = 10;
const PAGE: usize = 4096;

/// A file with two runs.
fn file(left: Left) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    for id in RUNS {
        journal.begin(&head(id), &plan(), &steps(0..BATCH)).unwrap();
    }
    for first in (BATCH..EVENTS).step_by(BATCH as usize) {
        for id in RUNS {
            append(&mut journal, id, u64::from(first), &steps(first..first + BATCH)).unwrap();
        }
    }
    match left {
        Left::Closed => {
            drop(journal);
            fs::read(&path).unwrap()
        }
        Left::Killed => fs::read(&path).unwrap(),
    }
}

/// The content that a server finds in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// The file is set aside as a whole.
    Nothing,
    /// Whether each run can be read.
    Runs([bool; 2]),
}

/// Opens a file with these bytes. No run may be forgotten or shortened.
fn open(bytes: &[u8], what: &str) -> Found {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    fs::write(&path, bytes).unwrap();
    let journal = Journal::open(&path).unwrap();
    let runs = journal.runs().unwrap();
    if let [kept] = journal.damaged_files() {
        assert!(runs.is_empty(), "{what}");
        assert!(dir.path().join(kept).exists(), "{what}");
        return Found::Nothing;
    }
    let ids: Vec<&str> = runs.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, RUNS, "{what}");
    let is_read = |(id, head): &(RunId, Readable<RunHead>)| match journal.replay::<Event>(id) {
        Ok(events) => {
            assert_eq!(events, steps(0..EVENTS), "{what}");
            head.is_ok()
        }
        Err(error) => {
            let is_of_disk = matches!(error, JournalError::Store(StoreError::File(_)));
            assert!(!is_of_disk, "{what}: {error:?}");
            false
        }
    };
    Found::Runs([is_read(&runs[0]), is_read(&runs[1])])
}

#[test]
fn damaged_page_costs_the_runs_on_it_or_the_whole_file_and_shortens_none() {
    for left in BOTH {
        let whole = file(left);
        assert_eq!(open(&whole, "whole"), Found::Runs([true, true]), "{left:?}");
        let is_used = |page: &usize| whole[page * PAGE..][..PAGE].iter().any(|byte| *byte != 0);
        let mut found = BTreeSet::new();
        for page in (1..whole.len() / PAGE).filter(is_used) {
            // The first bytes say what kind of page it is. redb looks at them when it opens a file, if it is built with assertions.
            for (from, fill) in [(0, 0), (0, 0xff), (4, 0xff)] {
                let mut bytes = whole.clone();
                bytes[page * PAGE + from..(page + 1) * PAGE].fill(fill);
                let what = format!("{left:?}: page {page} of {fill} from byte {from}");
                found.insert(open(&bytes, &what));
            }
            let mut bytes = whole.clone();
            bytes[page * PAGE..][..PAGE].iter_mut().step_by(5).for_each(|byte| *byte ^= 0x11);
            found.insert(open(&bytes, &format!("{left:?}: page {page} of changed bits")));
        }
        for expected in [Found::Nothing, Found::Runs([false, true]), Found::Runs([true, false])] {
            assert!(found.contains(&expected), "{left:?}: {found:?}");
        }
    }
}

#[test]
fn changed_bit_is_detected_or_changes_nothing() {
    for left in BOTH {
        let whole = file(left);
        let found: BTreeSet<Found> = (0..whole.len())
            .step_by(whole.len() / 150)
            .map(|at| {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                open(&bytes, &format!("{left:?}: byte {at}"))
            })
            .collect();
        assert!(found.len() > 1, "no changed bit was detected: {found:?}");
    }
}

#[test]
fn rotten_first_page_or_lost_end_sets_the_whole_file_aside() {
    for left in BOTH {
        let whole = file(left);
        for fill in [0, 0xff, 0x5a] {
            let mut bytes = whole.clone();
            bytes[..PAGE].fill(fill);
            assert_eq!(open(&bytes, "rotten"), Found::Nothing, "{left:?}: {fill}");
        }
        assert_eq!(open(&whole[..=whole.len() / 2], "cut"), Found::Nothing, "{left:?}");
    }
}

#[test]
fn file_that_is_set_aside_is_named_at_every_start_until_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    for (number, id) in (1..).zip(RUNS) {
        fs::write(&path, b"no journal").unwrap();
        let mut journal = Journal::open(&path).unwrap();
        journal.begin(&head(id), &plan(), &steps(0..1)).unwrap();
        assert_eq!(journal.damaged_files().len(), number);
        assert!(matches!(Journal::open(&path), Err(OpenError::Taken { .. })));
    }
    let first = dir.path().join("journal.damaged-1");
    assert_eq!(fs::read(&first).unwrap(), b"no journal");
    fs::remove_file(&first).unwrap();
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.damaged_files(), ["journal.damaged-2"]);
    assert_eq!(journal.replay::<Event>(&run("b")).unwrap(), steps(0..1));
}

/// The name of the note beside a journal.
const NOTE: &str = "journal.commits";
/// The place of the bits in redb's file of which the first says which of two commits is the newer one.
const FLAGS: usize = 9;

/// A folder in which a process left a journal and its note.
fn folder(left: Left) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(&dir.path().join("journal")).unwrap();
    journal.begin(&head("a"), &plan(), &steps(0..1)).unwrap();
    append(&mut journal, "a", 1, &steps(1..2)).unwrap();
    match left {
        Left::Closed => {
            drop(journal);
            dir
        }
        Left::Killed => {
            let copy = tempfile::tempdir().unwrap();
            for entry in fs::read_dir(&dir).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
            copy
        }
    }
}

#[test]
fn journal_that_is_older_than_its_note_is_set_aside() {
    let dir = folder(Left::Killed);
    let path = dir.path().join("journal");
    let mut bytes = fs::read(&path).unwrap();
    bytes[FLAGS] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let mut journal = Journal::open(&path).unwrap();
    assert_eq!(journal.damaged_files(), ["journal.damaged-1"]);
    assert_eq!(journal.runs().unwrap().len(), 0);
    // The note is still that of the other file.
    journal.begin(&head("b"), &plan(), &steps(0..1)).unwrap();
    drop(journal);
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.damaged_files().len(), 1);
    assert_eq!(journal.replay::<Event>(&run("b")).unwrap(), steps(0..1));
}

/// Closing commits once more, so the commit before that one lacks no write.
#[test]
fn changed_flag_of_a_closed_journal_is_detected_or_changes_nothing() {
    let whole = file(Left::Closed);
    for bit in 0..8 {
        let mut bytes = whole.clone();
        bytes[FLAGS] ^= 1 << bit;
        open(&bytes, &format!("bit {bit}"));
    }
}

#[test]
fn note_that_is_behind_or_unreadable_or_gone_sets_nothing_aside() {
    for left in BOTH {
        let dir = folder(left);
        let path = dir.path().join("journal");
        let note = dir.path().join(NOTE);
        let newest = fs::read(&note).unwrap();
        // A process is killed between its write and the note of it.
        let mut journal = Journal::open(&path).unwrap();
        append(&mut journal, "a", 2, &steps(2..3)).unwrap();
        drop(journal);
        assert!(fs::read(&note).unwrap() != newest);
        for before in [Some(&newest[..]), Some(&b""[..]), Some(&[0xff; 64][..]), None] {
            match before {
                Some(bytes) => fs::write(&note, bytes).unwrap(),
                None => fs::remove_file(&note).unwrap(),
            }
            let journal = Journal::open(&path).unwrap();
            assert!(journal.damaged_files().is_empty(), "{left:?}: {before:?}");
            assert_eq!(journal.replay::<Event>(&run("a")).unwrap(), steps(0..3), "{left:?}");
        }
    }
}

#[test]
fn journal_whose_note_cannot_be_written_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    fs::create_dir(dir.path().join(NOTE)).unwrap();
    let mut journal = Journal::open(&path).unwrap();
    journal.begin(&head("a"), &plan(), &steps(0..1)).unwrap();
    drop(journal);
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.replay::<Event>(&run("a")).unwrap(), steps(0..1));
}
