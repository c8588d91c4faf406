//! As much of HTTP/1.1 as a client of the protocol speaks.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The next one of a connection; nothing at its end.
    pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Request { method, path, headers, body })
    }
}

impl Response {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Response {
        let (kind, location) = ("application/json", None);
        Response { status, kind, location, body: body.to_string().into_bytes() }
    }

    pub(crate) fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let Response { status, kind, location, body } = self;
        let location = location.as_ref().map(|it| format!("location: {it}\r\n"));
        let head = format!(
            "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\n{}content-length: {}\r\n\r\n",
            location.unwrap_or_default(),
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat())
    }
}
