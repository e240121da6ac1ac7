//! Real connections: their limits, their end, and the answers of the parser.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Weak},
    time::Duration,
};

use server::{
    http::{Limits, ListenError, listen},
    hub::{Frame, FrameKind},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use super::{
    listening::{LIMITS, Listening},
    test_server::{RING, revision},
    *,
};

#[tokio::test]
async fn real_connection_is_guarded() {
    let listening = Listening::new().await;
    let host = listening.address;
    let end = "connection: close\r\n\r\n";
    for (request, status) in [
        (format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{end}"), "200"),
        (format!("GET /api/units HTTP/1.1\r\nhost: {host}\r\n{end}"), "401"),
        (format!("GET /healthz HTTP/1.1\r\nhost: evil.example:{}\r\n{end}", host.port()), "421"),
        (format!("GET /healthz HTTP/1.1\r\n{end}"), "421"),
        (format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nhost: evil.example\r\n{end}"), "421"),
        (format!("GET http://evil.example/healthz HTTP/1.1\r\nhost: {host}\r\n{end}"), "421"),
        (
            format!(
                "GET {STREAM} HTTP/1.1\r\nhost: {host}\r\norigin: http://evil.example\r\n{end}"
            ),
            "403",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\n{}{end}", "x: y\r\n".repeat(200)),
            "431",
        ),
        (
            format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nx: {}\r\n{end}", "y".repeat(300_000)),
            "431",
        ),
        (format!("GET /{} HTTP/1.1\r\nhost: {host}\r\n{end}", "x".repeat(10_000)), "414"),
        ("nonsense\r\n\r\n".to_owned(), "400"),
    ] {
        assert_eq!(
            listening.status(&request).await,
            status,
            "{}",
            request.chars().take(120).collect::<String>()
        );
    }
    let body = format!(r#"{{"token":"{}"}}"#, "x".repeat(300_000));
    let head =
        format!("POST /api/session HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
    let long = format!("{head}content-length: {}\r\n{end}{body}", body.len());
    assert_eq!(listening.status(&long).await, "413");
}

#[tokio::test]
async fn serving_ends_with_its_streams() {
    let listening = Listening::new().await;
    let cookie = listening.server.sign_in(&listening.server.token).await;
    let request =
        format!("GET {STREAM} HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", listening.address);
    // A connection that was opened and says nothing does not hold the end up either.
    let silent = TcpStream::connect(listening.address).await.unwrap();
    let drained = async {
        let mut stream = TcpStream::connect(listening.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![];
        while !String::from_utf8_lossy(&answer).contains("event: snapshot") {
            let read = stream.read_buf(&mut answer).await.unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        }
        listening.server.drain.cancel();
        let _ = stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), drained).await.unwrap();
    assert!(
        answer.contains("event: snapshot") && answer.contains("event: bye\nretry: 1000\n"),
        "{answer}"
    );
    tokio::time::timeout(Duration::from_secs(6), listening.serving).await.unwrap().unwrap();
    assert!(TcpStream::connect(listening.address).await.is_err(), "nobody listens any more");
    drop(silent);
}

#[tokio::test]
async fn only_loopback_and_only_a_free_port() {
    assert!(matches!(
        listen(Ipv4Addr::UNSPECIFIED.into(), None, None).await,
        Err(ListenError::NotLoopback(_))
    ));
    let first = listen(Ipv4Addr::LOCALHOST.into(), Some(0), None).await.unwrap();
    let port = first.local_addr().unwrap().port();
    let taken = listen(Ipv4Addr::LOCALHOST.into(), Some(port), None).await.unwrap_err().to_string();
    assert!(taken.contains(&port.to_string()) && taken.contains("--port"), "{taken}");
}

#[tokio::test]
async fn server_comes_back_to_the_port_where_its_pages_look_for_it() {
    let state = tempfile::tempdir().unwrap();
    let any = Ipv4Addr::LOCALHOST.into();
    let first = listen(any, None, Some(state.path())).await.unwrap();
    let address = first.local_addr().unwrap();
    TestServer::signed_out_at(address, Some(state.path()));
    let elsewhere = listen(any, None, Some(state.path())).await.unwrap();
    assert_ne!(elsewhere.local_addr().unwrap(), address, "it is taken");
    drop(first);
    let again = listen(any, None, Some(state.path())).await.unwrap();
    assert_eq!(again.local_addr().unwrap(), address);
}

#[tokio::test]
async fn request_that_names_no_path_is_refused() {
    let listening = Listening::new().await;
    let host = listening.address;
    let cookie = listening.server.sign_in(&listening.server.token).await;
    for target in [format!("CONNECT {host}"), format!("GET {host}"), "OPTIONS *".to_owned()] {
        for cookie in ["x=y", &cookie] {
            let request = format!(
                "{target} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(listening.status(&request).await, "400", "{target} {cookie}");
        }
    }
}

#[tokio::test]
async fn refusal_by_the_parser_has_the_security_headers() {
    let listening = Listening::new().await;
    let host = listening.address;
    for (request, status) in [
        ("nonsense\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\nbad header\r\n\r\n"), "400"),
        (format!("GET / HTTP/1.1\r\nhost: {host}\r\n{}\r\n", "x: y\r\n".repeat(200)), "431"),
        (format!("GET /{} HTTP/1.1\r\nhost: {host}\r\n\r\n", "x".repeat(65_600)), "414"),
    ] {
        let answer = listening.say(&request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        for header in [
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: same-origin\r\n",
            "cross-origin-opener-policy: same-origin\r\n",
            "cross-origin-resource-policy: same-origin\r\n",
            "x-frame-options: DENY\r\n",
            "content-security-policy: default-src 'none'",
            "cache-control: no-store\r\n",
        ] {
            assert_eq!(answer.matches(header).count(), 1, "{header} {answer}");
        }
    }
}

#[tokio::test]
async fn connection_beyond_the_limit_is_refused_with_headers() {
    let listening = Listening::within(Limits { connections: 1, ..LIMITS }, None).await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", listening.address);
    let mut first = TcpStream::connect(listening.address).await.unwrap();
    first.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    first.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    let answer = listening.say(&request).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
    assert!(answer.contains("retry-after: "), "{answer}");
}

#[tokio::test]
async fn answer_that_nobody_reads_ends_its_connection() {
    let limits = Limits { connections: 1, stalled: Duration::from_millis(300) };
    let listening = Listening::within(limits, None).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stalled = socket.connect(listening.address).await.unwrap();
    // More answers than the system keeps for both ends.
    let request =
        format!("GET /{} HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(100), listening.address);
    let flood = async { while stalled.write_all(request.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(20), flood).await.expect("the server hangs up");
}

/// Reads a stream until it has this text.
async fn read_until(stream: &mut TcpStream, text: &str) {
    let mut read = vec![];
    while !read.windows(text.len()).any(|window| window == text.as_bytes()) {
        // The text may be cut in two by a read.
        let kept = read.len().saturating_sub(text.len());
        read.drain(..kept);
        let more = stream.read_buf(&mut read).await.unwrap();
        assert_ne!(more, 0, "the stream has ended before {text}");
    }
}

#[tokio::test]
async fn reader_that_stops_reading_is_closed_and_delays_no_other() {
    let stalled = Duration::from_millis(500);
    let listening = Listening::within(Limits { connections: 8, stalled }, None).await;
    let cookie = listening.server.sign_in(&listening.server.token).await;
    let request =
        format!("GET {STREAM} HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", listening.address);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stopped = socket.connect(listening.address).await.unwrap();
    let mut reader = TcpStream::connect(listening.address).await.unwrap();
    for stream in [&mut stopped, &mut reader] {
        stream.write_all(request.as_bytes()).await.unwrap();
        read_until(stream, "event: snapshot").await;
    }
    let deltas = &listening.server.hub.deltas;
    assert_eq!(deltas.receiver_count(), 2);

    let mut sent: Vec<Weak<str>> = vec![];
    let follow = async {
        for count in 10.. {
            let json: Arc<str> = "x".repeat(256 * 1024).into();
            sent.push(Arc::downgrade(&json));
            let frame = Frame { revision: revision(count), kind: FrameKind::Delta, json };
            deltas.send(frame).unwrap();
            read_until(&mut reader, &format!("id: {}\n", revision(count))).await;
            // The channel overwrites its oldest message, whether everybody has read it or not.
            let held = sent.iter().filter(|frame| frame.strong_count() > 0).count();
            assert!(held <= RING, "{held} messages are held for a reader that reads nothing");
            if deltas.receiver_count() == 1 {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), follow).await.expect("the server hangs up");
    assert!(sent.len() > RING, "the system keeps less for a connection than was sent");
}
