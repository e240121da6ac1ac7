//! A connection that ends when its peer reads nothing, and whose every answer has the security headers.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_io_timeout::TimeoutStream;

use super::headers;

/// A stream under hyper. Hyper itself answers a request that it cannot parse, with a status and no header that we could
/// set; the headers are added here, where that answer leaves.
pub(super) struct GuardedStream<S> {
    stream: Pin<Box<TimeoutStream<S>>>,
    /// The rest of such an answer.
    pending: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite> GuardedStream<S> {
    /// A stream that fails once nothing could be written for `stalled`.
    pub(super) fn new(stream: S, stalled: Duration) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(stalled));
        Self { stream: Box::pin(stream), pending: vec![] }
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(self.stream.as_mut().poll_write(cx, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

/// The parser's answer with the headers; none for any other text. Our own answers all have the headers already, and no
/// body of ours looks like an answer without a body.
fn refusal_with_headers(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(bytes).ok()?;
    let is_refusal = ["HTTP/1.1 400 ", "HTTP/1.1 414 ", "HTTP/1.1 431 "]
        .iter()
        .any(|status| text.starts_with(status))
        && text.find("\r\n\r\n") == Some(text.len() - 4)
        && !text.contains("x-content-type-options");
    let (status, rest) = text.split_once("\r\n").filter(|_| is_refusal)?;
    Some(format!("{status}\r\n{}{rest}", headers::lines()).into_bytes())
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.as_mut().poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        match bufs.first().and_then(|first| Some((first.len(), refusal_with_headers(first)?))) {
            Some((length, refusal)) => {
                // It is ours from here on; what does not fit now leaves with the next flush.
                self.pending = refusal;
                Poll::Ready(Ok(length))
            }
            None => self.stream.as_mut().poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        self.stream.as_mut().poll_shutdown(cx)
    }
}
