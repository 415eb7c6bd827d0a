//! An HTTP/1.1 server before another one, one request to a connection: it reads the head, and then
//! answers itself or joins the two sides byte by byte, so that watches and upgraded connections pass.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::authority::loopback;
use crate::webhook::listen;
use crate::{LabError, background};

/// The head of a request may have so many bytes.
const HEAD: usize = 64 * 1024;
/// The body of a request that we answer ourselves is read up to this.
const BODY: u64 = 1024 * 1024;

/// The head of a request.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// GET, POST, …
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// The header lines as they came, without the request line.
    lines: Vec<String>,
}

impl Head {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    fn upgrades(&self) -> bool {
        self.header("upgrade").is_some()
    }

    /// As it goes on: the connection carries no second request, unless it turns into something else.
    fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for line in &self.lines {
            if self.upgrades() || !line.to_ascii_lowercase().starts_with("connection:") {
                text.push_str(line);
                text.push_str("\r\n");
            }
        }
        text.push_str(if self.upgrades() { "\r\n" } else { "Connection: close\r\n\r\n" });
        text.into_bytes()
    }
}

/// What is done with a request.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// An answer of our own.
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// No answer, ever.
    Hang,
    /// The connection is closed without an answer.
    Drop,
    /// It goes on, so much later.
    Pass(Duration),
    /// It goes on, and the answer ends after so many bytes (of head and body).
    Cut(u64),
}

/// Who decides.
pub(crate) type Judge = Arc<dyn Fn(&Head) -> Verdict + Send + Sync>;

/// The server behind.
#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<TlsConnector>,
}

/// A running front; gone when dropped, its open connections with it.
#[derive(Debug)]
pub(crate) struct Front {
    port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Front {
    /// Starts one on a free port; with an acceptor it speaks TLS.
    pub(crate) fn start(tls: Option<TlsAcceptor>, upstream: Option<Upstream>, judge: Judge) -> Result<Front, LabError> {
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                accept(&listener, tls, upstream, judge).await;
            }
        });
        Ok(Front { port, task })
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: &TcpListener, tls: Option<TlsAcceptor>, upstream: Option<Upstream>, judge: Judge) {
    let mut open = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while open.try_join_next().is_some() {}
        let _ = client.set_nodelay(true);
        let (tls, upstream, judge) = (tls.clone(), upstream.clone(), Arc::clone(&judge));
        open.spawn(async move {
            match tls {
                Some(acceptor) => {
                    if let Ok(client) = acceptor.accept(client).await {
                        serve(client, upstream, &judge).await;
                    }
                }
                None => serve(client, upstream, &judge).await,
            }
        });
    }
}

async fn serve<C: AsyncRead + AsyncWrite + Unpin>(mut client: C, upstream: Option<Upstream>, judge: &Judge) {
    let Some((head, rest)) = read_head(&mut client).await else { return };
    let mut limit = None;
    match judge(&head) {
        Verdict::Answer { status, headers, body } => {
            drain(&mut client, &head, rest.len() as u64).await;
            let _ = answer(&mut client, status, &headers, &body).await; // the client may have gone
            return;
        }
        Verdict::Hang => std::future::pending().await,
        Verdict::Drop => return,
        Verdict::Pass(late) => tokio::time::sleep(late).await,
        Verdict::Cut(bytes) => limit = Some(bytes),
    }
    let Some(upstream) = upstream else {
        let _ = answer(&mut client, 502, &[], b"nothing is behind this front").await;
        return;
    };
    let Ok(server) = TcpStream::connect(upstream.address).await else {
        let _ = answer(&mut client, 502, &[], b"the server behind this front is gone").await;
        return;
    };
    let _ = server.set_nodelay(true);
    match upstream.tls {
        Some(connector) => {
            if let Ok(server) = connector.connect(loopback(), server).await {
                join(client, server, &head, &rest, limit).await;
            }
        }
        None => join(client, server, &head, &rest, limit).await,
    }
}

/// The head, and what came of the body with it.
async fn read_head<C: AsyncRead + Unpin>(client: &mut C) -> Option<(Head, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(4096);
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > HEAD || client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let rest = bytes.get(end + 4..).unwrap_or_default().to_vec();
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let mut lines = text.split("\r\n").map(str::to_owned);
    let first = lines.next()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((Head { method, target, lines: lines.collect() }, rest))
}

/// Reads the request's body, so that closing the connection does not reset it under the answer.
async fn drain<C: AsyncRead + Unpin>(client: &mut C, head: &Head, already: u64) {
    let length: u64 = head.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut left = length.min(BODY).saturating_sub(already);
    let mut buffer = vec![0; 16 * 1024];
    while left > 0 {
        match client.read(&mut buffer).await {
            Ok(n) if n > 0 => left = left.saturating_sub(n as u64),
            _ => return,
        }
    }
}

async fn answer<C: AsyncWrite + Unpin>(
    client: &mut C,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} as the lab says\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    for (name, value) in headers {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    client.write_all(text.as_bytes()).await?;
    client.write_all(body).await?;
    client.shutdown().await
}

async fn join<C, S>(client: C, mut server: S, head: &Head, rest: &[u8], limit: Option<u64>)
where
    C: AsyncRead + AsyncWrite,
    S: AsyncRead + AsyncWrite + Unpin,
{
    if server.write_all(&head.bytes()).await.is_err() || server.write_all(rest).await.is_err() {
        return;
    }
    let _ = server.flush().await;
    let (mut client_read, mut client_write) = tokio::io::split(client);
    let (server_read, mut server_write) = tokio::io::split(server);
    let mut server_read = server_read.take(limit.unwrap_or(u64::MAX));
    let up = async {
        let _ = tokio::io::copy(&mut client_read, &mut server_write).await;
        let _ = server_write.shutdown().await;
        std::future::pending::<()>().await;
    };
    let down = async {
        let _ = tokio::io::copy(&mut server_read, &mut client_write).await;
        // A cut answer ends without a polite end of TLS either.
        if limit.is_none() {
            let _ = client_write.shutdown().await;
        }
    };
    tokio::select! { () = up => {}, () = down => {} }
}
