//! The built page's files.

use std::{
    convert::Infallible,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use app::Assets;
use axum::{
    Router,
    body::Body,
    extract::Request,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use data_encoding::HEXLOWER;
use http::{HeaderValue, header};
use sha2::{Digest, Sha256};
use tower::service_fn;
use tower_http::services::{ServeDir, ServeFile};

use super::{AppState, Failure};

/// The name of the script, the module and the style, as the build gives it.
const NAME: &str = "unwind";

/// The directory of what the build makes, in the site.
const PKG: &str = "pkg";

/// Files beside it, from `public/`, and the paths under which a page asks for them.
const PUBLIC: [(&str, &str); 2] = [("favicon.svg", app::FAVICON), ("icons.svg", app::ICONS)];

/// A directory that holds the built page.
#[derive(Clone, Debug)]
pub struct Site {
    root: PathBuf,
    build: Arc<str>,
    assets: Assets,
}

/// There is no built page, or more than one.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The directory cannot be read.
    #[error("the page is not built: {directory:?} cannot be read; {ADVICE}")]
    Unreadable {
        /// The directory.
        directory: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file of the page is missing, or there are several of it.
    #[error(
        "the page is not built: {directory:?} has {found} files {NAME}.HASH.{extension}, not one; {ADVICE}"
    )]
    NotOne {
        /// The directory.
        directory: PathBuf,
        /// The end of the file's name.
        extension: &'static str,
        /// How many there are.
        found: usize,
    },
}

const ADVICE: &str = "build it with `app/build`, or name its directory with --site";

impl Site {
    /// The page in this directory.
    ///
    /// # Errors
    /// [`SiteError`] where no page was built there.
    pub fn open(root: &Path) -> Result<Self, SiteError> {
        let directory = root.join(PKG);
        let names = names(&directory)
            .map_err(|source| SiteError::Unreadable { directory: directory.clone(), source })?;
        let one = |extension| {
            let is_it = |name: &&String| {
                name.starts_with(NAME) && name.ends_with(extension) && is_hashed(name)
            };
            let found: Vec<_> = names.iter().filter(is_it).collect();
            match found.as_slice() {
                [name] => Ok(format!("/{PKG}/{name}")),
                _ => {
                    let (directory, found) = (directory.clone(), found.len());
                    Err(SiteError::NotOne { directory, extension, found })
                }
            }
        };
        let assets = Assets { script: one("js")?, module: one("wasm")?, style: one("css")? };
        // Their names hold the hashes of their contents.
        let sum = Sha256::digest(format!("{assets:?}"));
        let build = HEXLOWER.encode(&sum[..8]);
        Ok(Self { root: root.to_owned(), build: build.into(), assets })
    }

    /// Names this build: another one has another name.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// The files that a page loads.
    pub(super) fn assets(&self) -> &Assets {
        &self.assets
    }
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    std::fs::read_dir(directory)?.map(name).collect()
}

/// A route for every file; they hold nothing secret, so they need no session.
pub(super) fn routes(site: &Site) -> Router<AppState> {
    let pkg = ServeDir::new(site.root.join(PKG))
        .append_index_html_on_directories(false)
        .precompressed_br()
        .precompressed_gzip();
    let pkg = service_fn(move |request| built_file(pkg.clone(), request));
    let file = |path: &str| {
        let path = site.root.join(path.trim_start_matches('/'));
        ServeFile::new(path).precompressed_br().precompressed_gzip()
    };
    // The pages of `plain` are text without a hash in it.
    let style = file(&site.assets.style);
    let routes = Router::new().nest_service("/pkg", pkg).route_service("/pkg/unwind.css", style);
    let routes = PUBLIC.into_iter().fold(routes, |routes, (name, hashed)| {
        routes.route_service(&format!("/{name}"), file(name)).route_service(hashed, file(name))
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

    /// A site with these files, each of which holds its own name.
    fn site(names: &[&str]) -> (tempfile::TempDir, Result<Site, SiteError>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(PKG)).unwrap();
        for name in names {
            std::fs::write(dir.path().join(PKG).join(name), name).unwrap();
        }
        let site = Site::open(dir.path());
        (dir, site)
    }

    const SCRIPT: &str = "unwind.0123456789abcdef.js";
    const MODULE: &str = "unwind.123456789abcdef0.wasm";
    const STYLE: &str = "unwind.23456789abcdef01.css";

    #[test]
    fn missing_page_says_how_to_build_it() {
        let dir = tempfile::tempdir().unwrap();
        let unreadable = Site::open(dir.path()).unwrap_err().to_string();
        let unhashed = site(&["unwind.js", MODULE, STYLE]).1.unwrap_err().to_string();
        let doubled = site(&[SCRIPT, "unwind.f123456789abcdef.js", MODULE, STYLE]).1;
        let doubled = doubled.unwrap_err().to_string();
        assert!(
            unhashed.contains("0 files") && doubled.contains("2 files"),
            "{unhashed} {doubled}"
        );
        for error in [unreadable, unhashed, doubled] {
            assert!(error.contains("app/build"), "{error}");
        }
    }

    #[test]
    fn build_is_named_after_its_files() {
        let build = |names: &[&str]| site(names).1.unwrap().build().to_owned();
        let one = build(&[SCRIPT, MODULE, STYLE, "unwind.0123456789abcdef.js.br"]);
        assert_eq!(one.len(), 16);
        assert_eq!(one, build(&[STYLE, SCRIPT, MODULE]));
        assert_ne!(one, build(&["unwind.f123456789abcdef.js", MODULE, STYLE]));
    }
}
