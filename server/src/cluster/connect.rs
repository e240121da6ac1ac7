//! Finds the cluster's address and credentials in a kubeconfig, or in the Pod that the server runs in. This module sends
//! no request, so an API server that does not answer is not an error here.

use std::{
    error::Error,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kube::{
    Client, Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};

use super::text::bounded;

/// A TCP and TLS handshake that takes longer will not succeed either; kube's default is 30 s.
const CONNECT: Duration = Duration::from_secs(5);
/// The deadline to write a request of at most a few hundred bytes; kube's default is 295 s.
const WRITE: Duration = Duration::from_secs(10);

/// The choice of cluster and user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The kubeconfig; `None` for `KUBECONFIG`, then `~/.kube/config`, then the Pod's ServiceAccount.
    pub kubeconfig: Option<PathBuf>,
    /// The context; `None` for the current one.
    pub context: Option<String>,
}

/// The reason why there is no connection to the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is neither a kubeconfig nor a ServiceAccount.
    #[error("no kubeconfig found, and this is not a Pod")]
    NoKubeconfig,
    /// The named kubeconfig does not exist.
    #[error("kubeconfig {0} does not exist")]
    Missing(PathBuf),
    /// The kubeconfig cannot be read.
    #[error("kubeconfig {path} cannot be read")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is not a kubeconfig. The message does not quote the file, because it holds credentials.
    #[error("kubeconfig is not valid YAML of kind Config")]
    Broken,
    /// The files in `KUBECONFIG` cannot be merged.
    #[error("the files in KUBECONFIG cannot be merged")]
    Unmergeable(#[source] KubeconfigError),
    /// There is no current context and none was named.
    #[error("the kubeconfig has no current context")]
    NoContext {
        /// The contexts in the kubeconfig.
        known: Vec<String>,
    },
    /// The context is not in the kubeconfig.
    #[error("no context is called {context:?} in the kubeconfig")]
    UnknownContext {
        /// The name of the context.
        context: String,
        /// The contexts in the kubeconfig.
        known: Vec<String>,
    },
    /// The context names a cluster that is not in the kubeconfig.
    #[error("context {context:?} names a cluster that is not in the kubeconfig")]
    UnknownCluster {
        /// The name of the context.
        context: String,
    },
    /// The context names a user that is not in the kubeconfig.
    #[error("context {context:?} names a user that is not in the kubeconfig")]
    UnknownUser {
        /// The name of the context.
        context: String,
    },
    /// The cluster's address is missing or not a URL.
    #[error("the cluster's server address is missing or not a URL")]
    BadServer,
    /// A certificate or key is missing or invalid.
    #[error("a certificate or key of the kubeconfig cannot be used: {0}")]
    Certificates(String),
    /// The kubeconfig or `HTTPS_PROXY` names a proxy of an unsupported kind.
    #[error("the proxy of the kubeconfig or of HTTPS_PROXY cannot be used")]
    Proxy,
    /// The user's credentials are incomplete.
    #[error("the user's credentials cannot be used: {0}")]
    Credentials(String),
    /// The server runs in a Pod whose ServiceAccount is not mounted.
    #[error("the Pod's ServiceAccount cannot be used: {0}")]
    InCluster(String),
}

impl ConnectError {
    /// Advice for the person, in one sentence.
    pub fn advice(&self) -> String {
        let choose = |known: &[String]| match known {
            [] => "The kubeconfig has no contexts at all: point --kubeconfig at another file."
                .to_owned(),
            known => format!("Name one with --context: {}.", bounded(&known.join(", "))),
        };
        match self {
            Self::NoKubeconfig => {
                "Point --kubeconfig or KUBECONFIG at a kubeconfig, or put one at ~/.kube/config.".to_owned()
            }
            Self::Missing(path) => format!("Check the path {} given by --kubeconfig or KUBECONFIG.", path.display()),
            Self::Unreadable { path, .. } => {
                format!("Make {} a file that this user may read.", path.display())
            }
            Self::Broken => "Check it with `kubectl config view`, which names the line.".to_owned(),
            Self::Unmergeable(_) => "Name a single file with --kubeconfig.".to_owned(),
            Self::NoContext { known } | Self::UnknownContext { known, .. } => choose(known),
            Self::UnknownCluster { context } | Self::UnknownUser { context } => {
                format!("Complete the context {} with `kubectl config set-context`, or name another with --context.", bounded(context))
            }
            Self::BadServer => "Set it with `kubectl config set-cluster NAME --server=https://HOST:PORT`.".to_owned(),
            Self::Certificates(_) => {
                "Check that the files the kubeconfig names exist and hold PEM; fetch the kubeconfig again if they expired.".to_owned()
            }
            Self::Proxy => {
                "Unset HTTPS_PROXY or remove proxy-url from the kubeconfig's cluster, and make the API server reachable directly.".to_owned()
            }
            Self::Credentials(_) => "Check the user with `kubectl auth whoami`; log in again if it fails there too.".to_owned(),
            Self::InCluster(_) => {
                "Give the Pod a ServiceAccount and leave automountServiceAccountToken on, or point --kubeconfig at a file.".to_owned()
            }
        }
    }
}

/// A client, the cluster's name, and the namespace that this process runs in if it runs in the cluster.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) own_namespace: Option<Arc<str>>,
}

/// Finds the cluster.
pub(super) async fn connect(access: &Access) -> Result<Connection, ConnectError> {
    let (mut config, name, own_namespace) = config(access).await?;
    // kube's own retries would hide 429 from the concurrency limit and spend minutes inside one call.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    config.write_timeout = Some(WRITE);
    let client = Client::try_from(config).map_err(unusable)?;
    Ok(Connection { client, name, own_namespace })
}

async fn config(access: &Access) -> Result<(Config, String, Option<Arc<str>>), ConnectError> {
    let Some(kubeconfig) = kubeconfig(access)? else {
        return Config::incluster()
            .map_err(|error| match error {
                InClusterError::ReadEnvironmentVariable(_) => ConnectError::NoKubeconfig,
                error => ConnectError::InCluster(bounded(&error.to_string())),
            })
            .map(|config| {
                let name = config.cluster_url.host().unwrap_or("in-cluster").to_owned();
                let namespace = Arc::from(config.default_namespace.as_str());
                (config, name, Some(namespace))
            });
    };
    let known: Vec<String> =
        kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let current = kubeconfig.current_context.clone().filter(|name| !name.is_empty());
    let Some(context) = access.context.clone().or(current) else {
        return Err(ConnectError::NoContext { known });
    };
    let Some(found) = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == context)
        .and_then(|named| named.context.as_ref())
    else {
        return Err(ConnectError::UnknownContext { context, known });
    };
    // kube treats a missing user as anonymous. Every request would then be forbidden without a reason.
    if let Some(user) = found.user.as_ref().filter(|user| !user.is_empty())
        && kubeconfig.auth_infos.iter().all(|named| named.name != *user)
    {
        return Err(ConnectError::UnknownUser { context });
    }
    let options =
        KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| incomplete(error, &context, known))?;
    let host = config.cluster_url.host().ok_or(ConnectError::BadServer)?;
    // kube uses HTTPS_PROXY for every address, but an address of this machine is never behind a proxy.
    if is_loopback(host) {
        config.proxy_url = None;
    }
    Ok((config, context, None))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Reads the kubeconfig; `None` if there is none and none was named. Files in `KUBECONFIG` that do not exist are
/// skipped, as kubectl does.
fn kubeconfig(access: &Access) -> Result<Option<Kubeconfig>, ConnectError> {
    if let Some(path) = &access.kubeconfig {
        return read(path).map(Some);
    }
    let listed: Vec<PathBuf> = std::env::var_os("KUBECONFIG")
        .map(|value| {
            std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect()
        })
        .unwrap_or_default();
    if let Some(first) = listed.first() {
        let mut merged: Option<Kubeconfig> = None;
        for path in listed.iter().filter(|path| path.exists()) {
            let next = read(path)?;
            merged = Some(match merged {
                Some(merged) => merged.merge(next).map_err(ConnectError::Unmergeable)?,
                None => next,
            });
        }
        return merged.map(Some).ok_or_else(|| ConnectError::Missing(first.clone()));
    }
    let default = std::env::home_dir().map(|home| home.join(".kube").join("config"));
    match default.filter(|path| path.exists()) {
        Some(path) => read(&path).map(Some),
        None if access.context.is_some() => Err(ConnectError::NoKubeconfig),
        None => Ok(None),
    }
}

fn read(path: &Path) -> Result<Kubeconfig, ConnectError> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::ReadConfig(source, path) if source.kind() == io::ErrorKind::NotFound => {
            ConnectError::Missing(path)
        }
        KubeconfigError::ReadConfig(source, path) => ConnectError::Unreadable { path, source },
        error @ (KubeconfigError::KindMismatch | KubeconfigError::ApiVersionMismatch) => {
            ConnectError::Unmergeable(error)
        }
        _ => ConnectError::Broken,
    })
}

fn incomplete(error: KubeconfigError, context: &str, known: Vec<String>) -> ConnectError {
    let context = context.to_owned();
    match error {
        KubeconfigError::LoadContext(_) => ConnectError::UnknownContext { context, known },
        KubeconfigError::CurrentContextNotSet => ConnectError::NoContext { known },
        KubeconfigError::LoadClusterOfContext(_) => ConnectError::UnknownCluster { context },
        KubeconfigError::MissingClusterUrl | KubeconfigError::ParseClusterUrl(_) => {
            ConnectError::BadServer
        }
        KubeconfigError::ParseProxyUrl(_) => ConnectError::Proxy,
        error => ConnectError::Certificates(innermost(&error)),
    }
}

fn unusable(error: kube::Error) -> ConnectError {
    match error {
        kube::Error::ProxyProtocolUnsupported { .. }
        | kube::Error::ProxyProtocolDisabled { .. } => ConnectError::Proxy,
        // The output of an exec plugin may hold a token.
        kube::Error::Auth(kube::client::AuthError::AuthExecRun { cmd, .. }) => {
            ConnectError::Credentials(bounded(&format!("{cmd} failed")))
        }
        kube::Error::Auth(kube::client::AuthError::AuthExecParse(_)) => {
            ConnectError::Credentials("the credential plugin printed no ExecCredential".to_owned())
        }
        kube::Error::Auth(error) => ConnectError::Credentials(bounded(&error.to_string())),
        error => ConnectError::Certificates(innermost(&error)),
    }
}

/// The innermost cause, because kube's errors repeat their causes.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    bounded(&error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// Connects with a kubeconfig of this text and context.
    async fn connected(text: &str, context: Option<&str>) -> Result<Connection, ConnectError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("unwind-kubeconfig-{}-{number}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let access = Access { kubeconfig: Some(path.clone()), context: context.map(str::to_owned) };
        let connected = connect(&access).await;
        std::fs::remove_file(path).unwrap();
        connected
    }

    /// The name of the cluster that the kubeconfig leads to.
    async fn check(text: &str, context: Option<&str>) -> Result<String, ConnectError> {
        connected(text, context).await.map(|connection| connection.name)
    }

    const WHOLE: &str = r"
apiVersion: v1
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: dev, user: ann}}
- {name: lost-cluster, context: {cluster: gone, user: ann}}
- {name: lost-user, context: {cluster: dev, user: gone}}
- {name: no-server, context: {cluster: empty, user: ann}}
- {name: odd-server, context: {cluster: odd, user: ann}}
- {name: bad-ca, context: {cluster: bad-ca, user: ann}}
- {name: bad-key, context: {cluster: dev, user: bad-key}}
clusters:
- {name: dev, cluster: {server: 'https://127.0.0.1:6443'}}
- {name: empty, cluster: {}}
- {name: odd, cluster: {server: 'not a url'}}
- {name: bad-ca, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: /nowhere/ca.pem}}
users:
- {name: ann, user: {token: very-secret}}
- {name: bad-key, user: {client-certificate-data: '!!!', client-key-data: '!!!'}}
";

    #[tokio::test]
    async fn current_context_is_the_clusters_name() {
        assert_eq!(check(WHOLE, None).await.unwrap(), "dev");
    }

    #[tokio::test]
    async fn invalid_kubeconfig_has_an_error_with_advice() {
        let cases: [(&str, Option<&str>, &str, &str); 9] = [
            (
                WHOLE,
                Some("none"),
                "no context is called \"none\" in the kubeconfig",
                "Name one with --context: dev,",
            ),
            (
                WHOLE,
                Some("lost-cluster"),
                "context \"lost-cluster\" names a cluster",
                "Complete the context",
            ),
            (
                WHOLE,
                Some("lost-user"),
                "context \"lost-user\" names a user",
                "Complete the context",
            ),
            (WHOLE, Some("no-server"), "the cluster's server address is missing", "set-cluster"),
            (WHOLE, Some("odd-server"), "the cluster's server address is missing", "set-cluster"),
            (
                WHOLE,
                Some("bad-ca"),
                "a certificate or key of the kubeconfig cannot be used",
                "hold PEM",
            ),
            (
                WHOLE,
                Some("bad-key"),
                "a certificate or key of the kubeconfig cannot be used",
                "hold PEM",
            ),
            ("token: [very-secret", None, "kubeconfig is not valid YAML", "kubectl config view"),
            (
                "apiVersion: v1\nkind: Config\n",
                None,
                "the kubeconfig has no current context",
                "no contexts at all",
            ),
        ];
        for (text, context, message, advice) in cases {
            let error = check(text, context).await.unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(error.advice().contains(advice), "{}", error.advice());
            assert!(!format!("{error} {error:?}").contains("very-secret"), "{error:?}");
        }
    }

    /// An API server that answers its first request with this status and every other one with 200, and the number of
    /// requests.
    async fn busy_once(status: &'static str) -> (std::net::SocketAddr, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicU32::new(0));
        let counted = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n")
                    && stream.read_buf(&mut request).await.unwrap() > 0
                {}
                let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
                let status = if is_first { status } else { "200 OK" };
                let answer = format!(
                    "HTTP/1.1 {status}\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (address, asked)
    }

    #[tokio::test]
    async fn request_to_a_busy_api_server_is_not_retried() {
        for status in ["429 Too Many Requests", "503 Service Unavailable", "504 Gateway Timeout"] {
            let (address, asked) = busy_once(status).await;
            let text = WHOLE.replace("https://127.0.0.1:6443", &format!("http://{address}"));
            let Connection { client, .. } = connected(&text, None).await.unwrap();
            let request = http::Request::get("/version").body(Vec::new()).unwrap();
            let answer = client.request_text(request).await;
            assert!(answer.is_err(), "{status}: it was asked again: {answer:?}");
            assert_eq!(asked.load(Ordering::SeqCst), 1, "{status}");
        }
    }

    #[tokio::test]
    async fn named_kubeconfig_that_is_missing_or_unreadable_is_an_error() {
        let at = |path: &str| Access { kubeconfig: Some(path.into()), context: None };
        let missing = connect(&at("/nowhere/config")).await.err().unwrap();
        assert!(matches!(missing, ConnectError::Missing(_)), "{missing:?}");
        let folder = connect(&at("/")).await.err().unwrap();
        assert!(matches!(folder, ConnectError::Unreadable { .. }), "{folder:?}");
    }
}
