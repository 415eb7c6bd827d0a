//! A TLS front for a plain server, with a certificate of chosen virtue.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::address;
use crate::authority::{Authority, Identity};
use crate::webhook::listen;
use crate::{LabError, background};

/// The certificate that the front shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    /// For 127.0.0.1 and localhost, good for this many days more.
    GoodFor(i64),
    /// Right name, ended yesterday.
    Expired,
    /// Right name, begins tomorrow.
    NotYet,
    /// Good, but for another host.
    OtherName,
}

/// A running front; gone when dropped.
#[derive(Debug)]
pub struct TlsFront {
    port: u16,
    authority: String,
    task: tokio::task::JoinHandle<()>,
}

impl TlsFront {
    /// Puts TLS before a plain server.
    pub fn start(upstream: &str, certificate: Certificate) -> Result<TlsFront, LabError> {
        let upstream = address(upstream)?;
        let (identity, authority) = identity(certificate)?;
        let acceptor = identity.acceptor()?;
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                accept(&listener, upstream, &acceptor).await;
            }
        });
        Ok(TlsFront { port, authority, task })
    }

    /// `https://127.0.0.1:<port>`.
    pub fn endpoint(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The authority that signed the certificate, as PEM. Who does not trust it must refuse.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn identity(certificate: Certificate) -> Result<(Identity, String), LabError> {
    let authority = Authority::new()?;
    let (names, from, to) = match certificate {
        Certificate::GoodFor(days) => (["127.0.0.1", "localhost"], -30, days),
        Certificate::Expired => (["127.0.0.1", "localhost"], -30, -1),
        Certificate::NotYet => (["127.0.0.1", "localhost"], 1, 30),
        Certificate::OtherName => (["s3.elsewhere.invalid", "minio.elsewhere.invalid"], -30, 30),
    };
    Ok((authority.server_between(&names, from, to)?, authority.pem()))
}

async fn accept(listener: &TcpListener, upstream: SocketAddr, acceptor: &TlsAcceptor) {
    let mut open = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while open.try_join_next().is_some() {}
        let acceptor = acceptor.clone();
        open.spawn(async move {
            let Ok(mut client) = acceptor.accept(client).await else { return };
            let Ok(mut server) = TcpStream::connect(upstream).await else { return };
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        });
    }
}
