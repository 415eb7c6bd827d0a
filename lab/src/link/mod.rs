//! The network between us and a server: slow, cut, silent or refusing.

mod pump;
pub mod tls;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use crate::webhook::listen;
use crate::{LabError, background};

/// What the link does to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Carries them.
    #[default]
    Pass,
    /// Resets each connection as soon as it is made.
    Refuse,
    /// Takes connections and bytes, and gives nothing back.
    Hang,
    /// Resets each connection after this many bytes of the server's answers.
    CutAfter(u64),
    /// As `CutAfter`, but only the next connection; then carries them.
    CutOnce(u64),
}

/// Delay and rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    /// Each byte takes this long one way (half of a round trip).
    pub one_way: Duration,
    /// Bytes per second for each connection and direction; none is no limit.
    pub bytes_per_second: Option<u64>,
}

impl Shape {
    /// A round trip of this long, and bytes per second for each connection.
    pub fn wide_area(round_trip: Duration, bytes_per_second: u64) -> Shape {
        Shape { one_way: round_trip / 2, bytes_per_second: Some(bytes_per_second) }
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    mode: Mode,
    shape: Shape,
    connections: u64,
}

/// A TCP proxy on a free loopback port; gone when dropped, its open connections with it.
#[derive(Debug)]
pub struct Link {
    port: u16,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Link {
    /// A link to a server (`127.0.0.1:8333` or `http://127.0.0.1:8333`).
    pub fn start(upstream: &str, shape: Shape) -> Result<Link, LabError> {
        Link::start_on(listen()?, upstream, shape)
    }

    /// The same on a port of one's choice.
    pub fn start_at(port: u16, upstream: &str, shape: Shape) -> Result<Link, LabError> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).map_err(LabError::file(format!("127.0.0.1:{port}")))?;
        listener.set_nonblocking(true).map_err(LabError::file("127.0.0.1"))?;
        Link::start_on(listener, upstream, shape)
    }

    fn start_on(listener: std::net::TcpListener, upstream: &str, shape: Shape) -> Result<Link, LabError> {
        let upstream = address(upstream)?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let state = Arc::new(Mutex::new(State { shape, ..State::default() }));
        let shared = Arc::clone(&state);
        let task = background()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                accept(&listener, upstream, &shared).await;
            }
        });
        Ok(Link { port, state, task })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:<port>`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Changes what it does, for open connections too.
    pub fn set(&self, mode: Mode) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).mode = mode;
    }

    /// Changes delay and rate for connections made from now on.
    pub fn shape(&self, shape: Shape) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).shape = shape;
    }

    /// How many connections were made.
    pub fn connections(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).connections
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The socket address in an endpoint.
pub(crate) fn address(upstream: &str) -> Result<SocketAddr, LabError> {
    let text = upstream.trim_start_matches("http://").trim_start_matches("https://").trim_end_matches('/');
    text.parse().map_err(|e| LabError::Other(format!("{upstream}: not host:port: {e}")))
}

/// Connections live in a set that is dropped with this future: a dropped link cuts what it carries.
async fn accept(listener: &TcpListener, upstream: SocketAddr, state: &Arc<Mutex<State>>) {
    let mut open = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while open.try_join_next().is_some() {}
        let (mode, shape) = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.connections += 1;
            let mode = state.mode;
            if matches!(mode, Mode::CutOnce(_)) {
                state.mode = Mode::Pass;
            }
            (mode, state.shape)
        };
        open.spawn(carry(client, upstream, mode, shape, Arc::clone(state)));
    }
}

async fn carry(client: TcpStream, upstream: SocketAddr, mode: Mode, shape: Shape, state: Arc<Mutex<State>>) {
    if mode == Mode::Refuse {
        reset(&client);
        return;
    }
    let Ok(server) = TcpStream::connect(upstream).await else {
        reset(&client);
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let cut = match mode {
        Mode::CutAfter(bytes) | Mode::CutOnce(bytes) => Some(bytes),
        _ => None,
    };
    let (mut client_read, mut client_write) = client.into_split();
    let (mut server_read, mut server_write) = server.into_split();
    let end = {
        let up = pump::pump(&mut client_read, &mut server_write, shape, None, Arc::clone(&state));
        let down = pump::pump(&mut server_read, &mut client_write, shape, cut, state);
        let (mut up, mut down) = (std::pin::pin!(up), std::pin::pin!(down));
        // A half-closed request side is fine (the answer still comes); a cut answer ends all.
        tokio::select! {
            end = &mut down => end,
            end = &mut up => if end == pump::End::Cut { end } else { down.await },
        }
    };
    if end == pump::End::Cut
        && let Ok(whole) = client_read.reunite(client_write)
    {
        reset(&whole);
    }
}

/// Closes with a reset instead of a polite end.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}
