//! A journal that makes no sense as a whole. Its file is kept under another name, and an empty one takes its place.
//!
//! # Decisions
//! - The server starts, because whoever has to look at the cluster needs the page. Nobody knows which runs were open, so the file
//!   counts as one run that cannot be read: nobody may plan in the cluster until a person releases it.
//! - The file is never removed. While it is there, every start names it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::OpenError;
use crate::private_file;

/// The end of the name of a kept file, without its number.
const SUFFIX: &str = ".damaged-";

/// Gives the file another name. Returns that name.
///
/// # Errors
/// [`OpenError`]; the file has its own name still.
pub(super) fn rename(path: &Path) -> Result<String, OpenError> {
    let unusable = |source| OpenError::Unusable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unusable)?;
    // Another server may have done this meanwhile, and may be using the empty file.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(OpenError::Taken { path: path.to_owned() });
    }
    let free = (1..).map(|number: u32| numbered(path, number)).find(|it| !it.exists());
    let kept = free.ok_or(io::ErrorKind::AlreadyExists.into()).map_err(unusable)?;
    fs::rename(path, &kept).and_then(|()| private_file::sync_name(&kept)).map_err(unusable)?;
    Ok(kept.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("{SUFFIX}{number}"));
    name.into()
}

/// The names of the files that were kept beside this one.
///
/// # Errors
/// The operating system's.
pub(super) fn kept(path: &Path) -> io::Result<Vec<String>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = vec![];
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.strip_prefix(&own).is_some_and(|rest| rest.starts_with(SUFFIX)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
