//! A server that listens on a real port.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use server::http::{Limits, listen, serve};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

use super::test_server::TestServer;

pub(crate) const LIMITS: Limits = Limits { connections: 64, stalled: Duration::from_secs(5) };

/// A server that listens, and the task that serves.
pub(crate) struct Listening {
    pub(crate) server: TestServer,
    pub(crate) address: SocketAddr,
    pub(crate) serving: JoinHandle<()>,
}

impl Listening {
    pub(crate) async fn new() -> Self {
        Self::within(LIMITS, None).await
    }

    /// Within these limits; sessions are kept in `state`.
    pub(crate) async fn within(limits: Limits, state: Option<&Path>) -> Self {
        let listener = listen(Ipv4Addr::LOCALHOST.into(), Some(0), None).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = TestServer::signed_out_at(address, state);
        let serving =
            tokio::spawn(serve(listener, server.router.clone(), limits, server.drain.clone()));
        Self { server, address, serving }
    }

    /// Sends text over a new connection and reads all that comes back.
    pub(crate) async fn say(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![];
        let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
            .await
            .unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) async fn status(&self, request: &str) -> String {
        self.say(request).await.split(' ').nth(1).unwrap_or("closed").to_owned()
    }
}
