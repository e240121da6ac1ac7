//! The loopback port, as programs on this machine and pages in a browser reach it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use jiff::Timestamp;
use sandbox::{
    controller::Controllers,
    service::{Port, Sandbox},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

struct Served {
    address: std::net::SocketAddr,
    secret: String,
}

async fn serve() -> Served {
    let sandbox = Sandbox::start(Timestamp::UNIX_EPOCH, 1, Controllers::default());
    let port = Port::bind(0).await.unwrap();
    let served = Served { address: port.address(), secret: port.secret().to_owned() };
    tokio::spawn(async move { port.serve(&sandbox).await });
    served
}

impl Served {
    /// The whole answer to these bytes; the connection ends with it.
    async fn send(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = vec![];
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status code of the answer to a GET of this target with these header lines.
    async fn get(&self, target: &str, headers: &[&str]) -> u16 {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let answer = self
            .send(&format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
            .await;
        code(&answer)
    }

    fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    fn bearer(&self, identity: &str) -> String {
        format!("Authorization: Bearer {}{identity}", self.secret)
    }
}

fn code(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

#[tokio::test]
async fn secret_differs_at_each_start_and_is_long() {
    let (one, two) = (serve().await, serve().await);
    assert_ne!(one.secret, two.secret);
    assert!(one.secret.len() >= 43, "32 bytes in base64");
}

#[tokio::test]
async fn request_with_the_secret_acts_as_the_administrator() {
    let served = serve().await;
    let host = served.host();
    assert_eq!(served.get("/api/v1/secrets", &[&host, &served.bearer("")]).await, 200);
    let by_path = format!("/token/{}/api/v1/secrets", served.secret);
    assert_eq!(served.get(&by_path, &[&host]).await, 200);
}

#[tokio::test]
async fn token_without_the_secret_is_unauthorized() {
    let served = serve().await;
    let host = served.host();
    for token in [
        "sandbox-admin",
        "user:anybody:system:masters",
        "serviceaccount:kube-system:default",
        "",
        "wrong.user:anybody",
    ] {
        let header = format!("Authorization: Bearer {token}");
        assert_eq!(served.get("/api/v1/secrets", &[&host, &header]).await, 401, "{token:?}");
        let path = format!("/token/{token}/api/v1/secrets");
        assert_eq!(served.get(&path, &[&host]).await, 401, "{token:?} in the path");
    }
    assert_eq!(served.get("/api/v1/secrets", &[&host]).await, 403, "anonymous");
    assert_eq!(served.get("/healthz", &[&host]).await, 200, "anonymous");
}

#[tokio::test]
async fn secret_with_an_identity_acts_as_that_identity() {
    let served = serve().await;
    let host = served.host();
    let admin = served.bearer(".user:anybody:system:masters");
    assert_eq!(served.get("/api/v1/secrets", &[&host, &admin]).await, 200);
    for identity in [".user:anybody", ".serviceaccount:default:default"] {
        let header = served.bearer(identity);
        assert_eq!(served.get("/api/v1/secrets", &[&host, &header]).await, 403, "{identity}");
    }
    assert_eq!(served.get("/api/v1/secrets", &[&host, &served.bearer(".nonsense")]).await, 401);
    // kubectl with `--token` sends an identity as bearer token beside the path of its kubeconfig.
    let path = format!("/token/{}/api/v1/secrets", served.secret);
    let plain = "Authorization: Bearer user:anybody";
    assert_eq!(served.get(&path, &[&host, plain]).await, 403);
}

#[tokio::test]
async fn request_for_another_host_is_misdirected() {
    let served = serve().await;
    let bearer = served.bearer("");
    let port = served.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("127.0.0.1:{port}.evil.example"),
        String::new(),
    ] {
        let header = format!("Host: {host}");
        assert_eq!(served.get("/healthz", &[&header, &bearer]).await, 421, "{host:?}");
    }
    assert_eq!(served.get("/healthz", &[&bearer]).await, 421, "no Host");
    let host = served.host();
    assert_eq!(served.get("/healthz", &[&host, "Host: evil.example"]).await, 421, "two Hosts");
    assert_eq!(served.get("http://evil.example/healthz", &[&host]).await, 421, "absolute target");
    let local = format!("Host: LocalHost:{port}");
    assert_eq!(served.get("/healthz", &[&local]).await, 200);
    assert_eq!(served.get(&format!("http://localhost:{port}/healthz"), &[&local]).await, 200);
}

#[tokio::test]
async fn request_of_a_web_page_is_forbidden() {
    let served = serve().await;
    let (host, bearer) = (served.host(), served.bearer(""));
    let own = format!("Origin: http://{}", served.address);
    for header in [
        "Origin: https://evil.example",
        "Origin: null",
        &own,
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Sec-Fetch-Site: same-origin",
    ] {
        assert_eq!(served.get("/healthz", &[&host, &bearer, header]).await, 403, "{header}");
    }
    assert_eq!(served.get("/healthz", &[&host, &bearer, "Sec-Fetch-Site: none"]).await, 200);
}

#[tokio::test(start_paused = true)]
async fn body_that_does_not_arrive_is_timed_out() {
    let served = serve().await;
    let (host, bearer) = (served.host(), served.bearer(""));
    let begun = tokio::time::Instant::now();
    let answer = served
        .send(&format!(
            "POST /api/v1/namespaces HTTP/1.1\r\n{host}\r\n{bearer}\r\nContent-Length: 100\r\n\r\n{{"
        ))
        .await;
    assert_eq!(code(&answer), 408, "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");
    assert!(begun.elapsed().as_secs() <= 60, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn connect_and_odd_targets_are_refused_with_a_status() {
    let served = serve().await;
    let (host, bearer) = (served.host(), served.bearer(""));
    let address = served.address;
    let own = [format!("CONNECT {address}"), format!("GET {address}"), "OPTIONS *".to_owned()];
    for line in own.iter().map(String::as_str).chain(["CONNECT evil.example:443"]) {
        let answer = served
            .send(&format!("{line} HTTP/1.1\r\n{host}\r\n{bearer}\r\nConnection: close\r\n\r\n"))
            .await;
        let expected = if line.contains("evil") { 421 } else { 400 };
        assert_eq!(code(&answer), expected, "{line}: {answer}");
    }
    assert_eq!(served.get("/healthz", &[&host]).await, 200, "it still answers");
}

#[tokio::test]
async fn very_long_path_is_the_clients_fault() {
    let served = serve().await;
    let (host, bearer) = (served.host(), served.bearer(""));
    for length in [256, 4_096, 60_000, 100_000] {
        let name = "a".repeat(length);
        for path in [format!("/{name}"), format!("/api/v1/namespaces/default/pods/{name}")] {
            let code = served.get(&path, &[&host, &bearer]).await;
            assert!((400..500).contains(&code), "{length}: {code}");
        }
    }
}

#[tokio::test]
async fn kubeconfig_is_readable_by_its_owner_alone_and_replaces_what_is_there() {
    let port = Port::bind(0).await.unwrap();
    let name = format!("sandbox-port-{}-{}", std::process::id(), port.address().port());
    let path: PathBuf = std::env::temp_dir().join(name);
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    port.write_kubeconfig(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(text, port.kubeconfig());
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let server = format!("http://{}/token/{}", port.address(), port.secret());
    assert_eq!(config["clusters"][0]["cluster"]["server"], server);
}
