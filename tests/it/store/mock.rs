//! A small HTTP server on loopback that answers as it is told, byte for byte, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use dalsegno::domain::{Prefix, Secret, StoreId};
use dalsegno::store::{Store, StoreConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub query: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    pub fn param(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")).map(decode))
    }
}

fn decode(text: &str) -> String {
    dalsegno::store::keys::decode(text).unwrap()
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// What Content-Length says; more than the body has = cut.
    pub promised: Option<usize>,
    /// Wait so long before the answer.
    pub delay: std::time::Duration,
    /// Close without a word.
    pub hang_up: bool,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), promised: None, delay: std::time::Duration::ZERO, hang_up: false }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = format!(
            "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message><RequestId>r-1</RequestId></Error>"
        );
        Self::new(status, body).with("content-type", "application/xml")
    }
}

type Handler = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

pub struct Mock {
    pub endpoint: String,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Mock {
    pub async fn start(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let handler: Handler = Arc::new(handler);
        let log = asked.clone();
        let task = tokio::spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                tokio::spawn(serve(socket, handler.clone(), log.clone()));
            }
        });
        Self { endpoint, asked, task }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// A store on this server: one attempt, short times, may write under `dalsegno/`.
    pub fn store(&self) -> Store {
        Store::open(self.config()).unwrap()
    }

    pub fn config(&self) -> StoreConfig {
        let mut config = config(&self.endpoint, "bucket");
        config.attempts = 1;
        config
    }
}

pub fn config(endpoint: &str, bucket: &str) -> StoreConfig {
    let mut config = StoreConfig::new(
        StoreId("mock".into()),
        endpoint,
        bucket,
        Secret::new("AKIDEXAMPLE".into()),
        Secret::new("very-secret".into()),
    );
    config.own_prefix = Some(Prefix::new("dalsegno"));
    config.read_timeout = std::time::Duration::from_secs(2);
    config
}

async fn serve(mut socket: TcpStream, handler: Handler, log: Arc<Mutex<Vec<Asked>>>) {
    let mut buffer = Vec::new();
    loop {
        let Some(asked) = read(&mut socket, &mut buffer).await else { return };
        let head = asked.method == "HEAD";
        let reply = handler(&asked);
        log.lock().unwrap().push(asked);
        tokio::time::sleep(reply.delay).await;
        if reply.hang_up {
            return;
        }
        let mut text = format!("HTTP/1.1 {} X\r\n", reply.status);
        for (name, value) in &reply.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !reply.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) && reply.status != 204 {
            text.push_str(&format!("content-length: {}\r\n", reply.promised.unwrap_or(reply.body.len())));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        if !head {
            bytes.extend_from_slice(&reply.body);
        }
        if socket.write_all(&bytes).await.is_err() {
            return;
        }
        if reply.promised.is_some_and(|promised| promised != reply.body.len()) {
            let _ = socket.shutdown().await;
            return;
        }
    }
}

async fn read(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Asked> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if !more(socket, buffer).await {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    while buffer.len() < length {
        if !more(socket, buffer).await {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Asked { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

async fn more(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    let mut chunk = vec![0; 16_384];
    match socket.read(&mut chunk).await {
        Ok(0) | Err(_) => false,
        Ok(got) => {
            buffer.extend_from_slice(&chunk[..got]);
            true
        }
    }
}

/// A page of ListObjectsV2, keys as they stand.
pub fn list_page(rows: &[(&str, &str)], encoded: bool, next: Option<&str>) -> Reply {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><Name>bucket</Name>");
    if encoded {
        text.push_str("<EncodingType>url</EncodingType>");
    }
    text.push_str(&format!("<IsTruncated>{}</IsTruncated>", next.is_some()));
    if let Some(token) = next {
        text.push_str(&format!("<NextContinuationToken>{token}</NextContinuationToken>"));
    }
    for (key, size) in rows {
        text.push_str(&format!(
            "<Contents><Key>{key}</Key><LastModified>2026-09-30T02:00:00.000Z</LastModified><ETag>&quot;abc&quot;</ETag><Size>{size}</Size></Contents>"
        ));
    }
    text.push_str("</ListBucketResult>");
    Reply::new(200, text).with("content-type", "application/xml")
}
