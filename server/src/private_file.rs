//! Small files of the state directory that only this user may read or write.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// Reads a file.
///
/// # Errors
/// The operating system's, or [`io::ErrorKind::PermissionDenied`] if others can read or write the file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others can read or write the file",
        ));
    }
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file atomically, so that a crash leaves either the old or the new one.
///
/// # Errors
/// The operating system's; the old file is still there.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    sync_name(path)
}

/// Writes a new file's name to the disk: it is in the folder, and not in the file.
///
/// # Errors
/// The operating system's.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
