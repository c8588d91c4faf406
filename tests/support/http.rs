//! As much of an HTTP server as a test needs to stand in for one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

/// What is said to a request's path and body: a status and JSON, or nothing, and then the
/// connection ends.
pub type Answer = dyn Fn(&str, &Value) -> Option<(u16, Value)> + Send + Sync;

/// Answer at an address of its own, for as long as the tests run.
pub fn listen(answer: Arc<Answer>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || {
                let stream = stream.unwrap();
                while serve(&stream, &*answer).is_some() {}
            });
        }
    });
    address
}

/// Answer one request of a connection; nothing when there are no more.
fn serve(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1).unwrap();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, reply) = answer(path, &serde_json::from_slice(&body).unwrap_or_default())?;
    let reply = reply.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Any\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{reply}",
        reply.len()
    )
    .ok()
}
