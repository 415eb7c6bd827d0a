//! A real HTTP server of one file: answers what it is told to, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How it answers.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Status line and headers after the version, then a body.
    With(&'static str, &'static str),
    /// Takes the request and never answers.
    Hang,
    /// Echoes the request line in a refusal.
    Echo,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) head: String,
    pub(super) body: String,
}

pub(super) struct Listener {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Mutex<Answer>>,
}

impl Listener {
    pub(super) async fn start(answer: Answer) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(answer)));
        let (asks, answers) = (Arc::clone(&asked), Arc::clone(&answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&asks), Arc::clone(&answers)));
            }
        });
        Self { url, asked, answer }
    }

    pub(super) fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<Asked>>>, answer: Arc<Mutex<Answer>>) {
    let Some(request) = read(&mut stream).await else { return };
    let line = request.line.clone();
    asked.lock().unwrap().push(request);
    let answer = answer.lock().unwrap().clone();
    let (status, body) = match answer {
        Answer::With(status, body) => (status.to_owned(), body.to_owned()),
        Answer::Echo => ("404 Not Found".to_owned(), format!("nothing at {line}")),
        Answer::Hang => {
            tokio::time::sleep(std::time::Duration::from_mins(10)).await;
            return;
        }
    };
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.unwrap();
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, value)| value.parse::<usize>().unwrap());
            if body.len() >= length {
                let line = head.lines().next().unwrap_or_default().to_owned();
                return Some(Asked { line, head: head.to_owned(), body: body.to_owned() });
            }
        }
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}
