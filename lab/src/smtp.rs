//! A strict mail server: it takes mail only after STARTTLS, from one user if a password is set, keeps what it
//! took, and can refuse. RFC 5321, RFC 3207 (STARTTLS), RFC 4954 (AUTH PLAIN and LOGIN).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::authority::Authority;
use crate::webhook::listen;
use crate::{LabError, background};

/// A mail that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The envelope's sender.
    pub from: String,
    /// The envelope's recipients.
    pub to: Vec<String>,
    /// Headers and body as they came, dots unstuffed, lines by `\n`.
    pub text: String,
    /// Who was logged in.
    pub user: Option<String>,
}

impl Mail {
    /// A header's value, its folded lines joined.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.text.split("\n\n").next()?;
        let mut lines =
            head.lines().skip_while(|line| line.split_once(':').is_none_or(|(found, _)| !found.eq_ignore_ascii_case(name)));
        let mut value = lines.next()?.split_once(':')?.1.trim().to_owned();
        for line in lines.take_while(|line| line.starts_with([' ', '\t'])) {
            value.push(' ');
            value.push_str(line.trim());
        }
        Some(value)
    }

    /// What follows the headers.
    pub fn body(&self) -> &str {
        self.text.split_once("\n\n").map_or("", |(_, body)| body)
    }
}

/// How the server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Manner {
    /// Takes mail.
    #[default]
    Fine,
    /// Does not offer STARTTLS, and takes mail in the clear: who sends to it has leaked it.
    Plain,
    /// Answers every recipient with this code (450 later, 550 never).
    Refuse(u16),
    /// Says nothing after the connection is made.
    Hang,
}

#[derive(Debug, Default)]
struct State {
    manner: Manner,
    mails: Vec<Mail>,
    /// Mail commands that came before STARTTLS, logins with a wrong password.
    refused: Vec<String>,
}

/// A running server; gone when dropped.
#[derive(Debug)]
pub struct Smtp {
    port: u16,
    authority: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

/// What a connection needs to know.
#[derive(Clone)]
struct Shared {
    acceptor: TlsAcceptor,
    login: Option<(String, String)>,
    state: Arc<Mutex<State>>,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Smtp {
    /// A server for everybody.
    pub fn start() -> Result<Smtp, LabError> {
        Smtp::start_with(None)
    }

    /// A server that wants this user and password first.
    pub fn with_login(user: &str, password: &str) -> Result<Smtp, LabError> {
        Smtp::start_with(Some((user.to_owned(), password.to_owned())))
    }

    fn start_with(login: Option<(String, String)>) -> Result<Smtp, LabError> {
        let authority = Authority::new()?;
        let acceptor = authority.server(&["127.0.0.1", "localhost"])?.acceptor()?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Shared { acceptor, login, state: Arc::clone(&state) };
        let listener = listen()?;
        let port = listener.local_addr().map_err(LabError::file("127.0.0.1"))?.port();
        let task = background()?.spawn(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            let mut open = tokio::task::JoinSet::new();
            loop {
                let Ok((client, _)) = listener.accept().await else { continue };
                while open.try_join_next().is_some() {}
                let shared = shared.clone();
                open.spawn(async move {
                    let _ = serve(client, &shared).await; // the client may go at any time
                });
            }
        });
        Ok(Smtp { port, authority: authority.pem(), state, task })
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The authority that signed its certificate, as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }

    /// Changes how it behaves, for connections made from now on.
    pub fn answer(&self, manner: Manner) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).manner = manner;
    }

    /// The mails that it took, in order.
    pub fn mails(&self) -> Vec<Mail> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).mails.clone()
    }

    /// Commands that it did not take: mail before STARTTLS, a wrong password.
    pub fn refused(&self) -> Vec<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).refused.clone()
    }

    /// Waits until `n` mails have come in, or gives what there is after `limit`.
    pub async fn wait_for(&self, n: usize, limit: Duration) -> Vec<Mail> {
        let until = Instant::now() + limit;
        while self.mails().len() < n && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.mails()
    }
}

impl Drop for Smtp {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(client: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let manner = shared.state().manner;
    if manner == Manner::Hang {
        std::future::pending::<()>().await;
    }
    let mut stream = BufStream::new(client);
    say(&mut stream, "220 lab.invalid ESMTP").await?;
    let secure = manner == Manner::Plain;
    if !talk(&mut stream, shared, manner, secure, manner != Manner::Plain).await? {
        return Ok(());
    }
    // What was sent in the clear behind STARTTLS is thrown away (RFC 3207, section 4.2).
    let mut stream = BufStream::new(shared.acceptor.accept(stream.into_inner()).await?);
    talk(&mut stream, shared, manner, true, false).await?;
    Ok(())
}

/// One session until QUIT (false) or STARTTLS (true).
async fn talk<S>(stream: &mut BufStream<S>, shared: &Shared, manner: Manner, secure: bool, offer: bool) -> std::io::Result<bool>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut from, mut to, mut user): (Option<String>, Vec<String>, Option<String>) = (None, Vec::new(), None);
    while let Some(line) = read(stream).await? {
        let upper = line.to_ascii_uppercase();
        let word = upper.split(' ').next().unwrap_or_default();
        let allowed = secure && (shared.login.is_none() || user.is_some());
        match word {
            "EHLO" | "HELO" => {
                let mut lines = vec!["lab.invalid".to_owned(), "8BITMIME".to_owned(), "SMTPUTF8".to_owned()];
                if offer {
                    lines.push("STARTTLS".to_owned());
                }
                if secure && shared.login.is_some() {
                    lines.push("AUTH PLAIN LOGIN".to_owned());
                }
                let last = lines.len() - 1;
                for (n, text) in lines.iter().enumerate() {
                    say(stream, &format!("250{}{text}", if n == last { ' ' } else { '-' })).await?;
                }
            }
            "STARTTLS" if offer => {
                say(stream, "220 go ahead").await?;
                return Ok(true);
            }
            "AUTH" if secure => user = login(stream, shared, &line).await?,
            "MAIL" | "RCPT" | "DATA" if !allowed => {
                shared.state().refused.push(line.clone());
                let text = if secure { "530 log in first" } else { "530 Must issue a STARTTLS command first" };
                say(stream, text).await?;
            }
            "MAIL" => {
                from = Some(address(&line));
                to.clear();
                say(stream, "250 fine").await?;
            }
            "RCPT" => {
                if let Manner::Refuse(code) = manner {
                    say(stream, &format!("{code} as the lab was told")).await?;
                } else {
                    to.push(address(&line));
                    say(stream, "250 fine").await?;
                }
            }
            "DATA" if from.is_none() || to.is_empty() => say(stream, "503 nobody to send to").await?,
            "DATA" => {
                say(stream, "354 end with a dot").await?;
                let text = data(stream).await?;
                let mail = Mail { from: from.take().unwrap_or_default(), to: std::mem::take(&mut to), text, user: user.clone() };
                shared.state().mails.push(mail);
                say(stream, "250 taken").await?;
            }
            "RSET" => {
                (from, to) = (None, Vec::new());
                say(stream, "250 fine").await?;
            }
            "NOOP" => say(stream, "250 fine").await?,
            "QUIT" => {
                say(stream, "221 bye").await?;
                return Ok(false);
            }
            _ => say(stream, "502 not here").await?,
        }
    }
    Ok(false)
}

async fn login<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufStream<S>,
    shared: &Shared,
    line: &str,
) -> std::io::Result<Option<String>> {
    let mut words = line.split(' ').skip(1);
    let way = words.next().unwrap_or_default().to_ascii_uppercase();
    let given = if way == "LOGIN" {
        say(stream, "334 VXNlcm5hbWU6").await?;
        let user = read(stream).await?.unwrap_or_default();
        say(stream, "334 UGFzc3dvcmQ6").await?;
        let password = read(stream).await?.unwrap_or_default();
        (plain(&user), plain(&password))
    } else {
        let text = if let Some(text) = words.next() {
            text.to_owned()
        } else {
            say(stream, "334 ").await?;
            read(stream).await?.unwrap_or_default()
        };
        let text = plain(&text);
        let mut parts = text.split('\0').skip(1).map(str::to_owned);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    };
    if shared.login.as_ref() == Some(&given) {
        say(stream, "235 welcome").await?;
        return Ok(Some(given.0));
    }
    shared.state().refused.push(format!("AUTH {way} as {}", given.0));
    say(stream, "535 wrong user or password").await?;
    Ok(None)
}

/// The address between `<` and `>`.
fn address(line: &str) -> String {
    line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or_else(String::new, |(inside, _)| inside.to_owned())
}

async fn data<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufStream<S>) -> std::io::Result<String> {
    let mut text = String::new();
    while let Some(line) = read(stream).await? {
        if line == "." {
            break;
        }
        text.push_str(line.strip_prefix('.').unwrap_or(&line));
        text.push('\n');
    }
    Ok(text)
}

async fn read<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufStream<S>) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if stream.read_until(b'\n', &mut bytes).await? == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

async fn say<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufStream<S>, line: &str) -> std::io::Result<()> {
    stream.write_all(format!("{line}\r\n").as_bytes()).await?;
    stream.flush().await
}

/// Base64 without a crate: what is not of its alphabet ends it.
fn plain(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0u32, 0u32, Vec::new());
    for byte in text.bytes() {
        let Some(value) = ALPHABET.iter().position(|b| *b == byte).and_then(|at| u32::try_from(at).ok()) else { break };
        bits = (bits << 6) | value;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
