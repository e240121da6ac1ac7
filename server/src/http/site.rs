//! The built page's files.

use std::{
    convert::Infallible,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use leptos::config::LeptosOptions;
use sha2::{Digest, Sha256};
use tower::service_fn;
use tower_http::services::{ServeDir, ServeFile};

use super::{AppState, Failure};

/// The name of the script and the module, as the build gives it.
const NAME: &str = "unwind";

/// The directory of what the build makes, in the site.
const PKG: &str = "pkg";

/// Files beside it, from `public/`.
const PUBLIC: [&str; 3] = ["favicon.svg", "icons.svg", "theme.js"];

/// A directory that holds the built page.
#[derive(Clone, Debug)]
pub struct Site {
    root: PathBuf,
    hash: Arc<str>,
    options: LeptosOptions,
}

/// There is no built page.
#[derive(Debug, thiserror::Error)]
#[error(
    "the page is not built: {missing:?} cannot be read; build it with `app/build`, or name its directory with --site"
)]
pub struct SiteError {
    /// What is missing.
    pub missing: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl Site {
    /// The page in this directory.
    ///
    /// # Errors
    /// [`SiteError`] where no page was built there.
    pub fn open(root: &Path) -> Result<Self, SiteError> {
        let pkg = root.join(PKG);
        let script = pkg.join(NAME).with_extension("js");
        std::fs::metadata(&script).map_err(|source| SiteError { missing: script, source })?;
        let hash = hash(&pkg).map_err(|source| SiteError { missing: pkg, source })?;
        let options = LeptosOptions::builder()
            .output_name(NAME)
            .site_root(root.to_string_lossy().into_owned())
            .site_pkg_dir(PKG)
            .build();
        Ok(Self { root: root.to_owned(), hash: hash.into(), options })
    }

    /// Names this build: another one has another name.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn options(&self) -> &LeptosOptions {
        &self.options
    }
}

/// Over the names and contents of all files, in the order of their names.
fn hash(pkg: &Path) -> io::Result<String> {
    let mut paths =
        std::fs::read_dir(pkg)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.is_file());
    paths.sort();
    let mut sum = Sha256::new();
    for path in paths {
        let bytes = std::fs::read(&path)?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        sum.update((name.len() as u64).to_le_bytes());
        sum.update(name);
        sum.update((bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    }
    Ok(sum.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// A route for every file; they hold nothing secret, so they need no session.
pub(super) fn routes(site: &Site) -> Router<AppState> {
    let pkg = ServeDir::new(site.root.join(PKG))
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    let pkg = service_fn(move |request| built_file(pkg.clone(), request));
    let routes =
        PUBLIC.into_iter().fold(Router::new().nest_service("/pkg", pkg), |routes, name| {
            let file = ServeFile::new(site.root.join(name)).precompressed_br().precompressed_gzip();
            routes.route_service(&format!("/{name}"), file)
        });
    routes.layer(from_fn(cache))
}

/// A file of the build. A name that the file system cannot hold is the name of no file; `ServeDir` alone answers 500.
async fn built_file(mut pkg: ServeDir, request: Request) -> Result<Response, Infallible> {
    Ok(match pkg.try_call(request).await {
        Ok(found) => found.map(Body::new),
        Err(error) => match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput => Failure::UnknownPath.into_response(),
            _ => {
                tracing::error!(error = %error, "cannot read a file of the built page");
                Failure::Internal.into_response()
            }
        },
    })
}

/// Files whose name changes with their content are kept for ever; the others are asked for again each time, which
/// costs a 304.
async fn cache(request: Request, next: Next) -> Response {
    let hashed = is_hashed(request.uri().path());
    let mut response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        let value = if hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
    }
    response
}

/// Whether a file's name is `name.hash.extension`.
fn is_hashed(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let parts: Vec<_> = name.split('.').collect();
    match parts.as_slice() {
        [_, hash, _] => {
            hash.len() >= 16
                && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_hash_are_kept_for_ever() {
        assert!(is_hashed("/pkg/unwind.k8Zx-0Qb3mYw_1fGh2Jk3A.wasm"));
        for name in
            ["/pkg/unwind.js", "/pkg/unwind_bg.wasm", "/pkg/unwind.min.js", "/icons.svg", "/", ""]
        {
            assert!(!is_hashed(name), "{name}");
        }
    }

    #[test]
    fn a_missing_page_says_how_to_build_it() {
        let dir = tempfile::tempdir().unwrap();
        let error = Site::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("unwind.js") && error.contains("app/build"), "{error}");
    }

    #[test]
    fn the_hash_follows_names_and_contents() {
        let dir = tempfile::tempdir().unwrap();
        let hash_of = |files: &[(&str, &str)]| {
            let pkg = dir.path().join(PKG);
            let _ = std::fs::remove_dir_all(&pkg);
            std::fs::create_dir(&pkg).unwrap();
            for (name, text) in files {
                std::fs::write(pkg.join(name), text).unwrap();
            }
            Site::open(dir.path()).unwrap().hash().to_owned()
        };
        let one = hash_of(&[("unwind.js", "a"), ("unwind.css", "b")]);
        assert_eq!(one.len(), 16);
        assert_eq!(one, hash_of(&[("unwind.css", "b"), ("unwind.js", "a")]));
        assert_ne!(one, hash_of(&[("unwind.js", "b"), ("unwind.css", "a")]));
        assert_ne!(one, hash_of(&[("unwind.js", "a")]));
    }
}
