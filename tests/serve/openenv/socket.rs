//! As much of a WebSocket client as it takes to ask a server, and to vex it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::support::client::Server;

pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;

pub struct Socket {
    stream: TcpStream,
}

impl Socket {
    /// A session.
    pub fn open(server: &Server) -> Self {
        Socket::at(server, "/ws", "").unwrap()
    }

    /// A socket at this path, with further headers; or the status that was answered.
    pub fn at(server: &Server, path: &str, headers: &str) -> Result<Self, u16> {
        let mut stream = server.connect();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: keep-alive, Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n",
            server.address()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        if status != 101 {
            return Err(status);
        }
        let accept = "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert!(answer.lines().any(|line| line.eq_ignore_ascii_case(accept)), "{answer}");
        Ok(Socket { stream })
    }

    /// Sends a message and reads its answer.
    pub fn ask(&mut self, message: &Value) -> Value {
        self.say(message);
        self.hear()
    }

    pub fn say(&mut self, message: &Value) {
        self.send(TEXT, message.to_string().as_bytes());
    }

    /// The next message; pings and pongs are passed over.
    pub fn hear(&mut self) -> Value {
        loop {
            match self.receive() {
                Some((TEXT, payload)) => return serde_json::from_slice(&payload).unwrap(),
                Some((PING | PONG, _)) => {}
                other => panic!("no message came, but {other:?}"),
            }
        }
    }

    /// Sends one frame, masked with zeros.
    pub fn send(&mut self, kind: u8, payload: &[u8]) {
        let mut frame = self.head(kind, payload.len());
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).unwrap();
    }

    /// Sends the head of a frame of this length.
    pub fn send_head(&mut self, kind: u8, length: usize) {
        let head = self.head(kind, length);
        self.stream.write_all(&head).unwrap();
    }

    /// Sends these bytes; whether they were taken.
    pub fn send_raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    fn head(&self, kind: u8, length: usize) -> Vec<u8> {
        let mut head = vec![0x80 | kind];
        match length {
            0..126 => head.push(0x80 | length as u8),
            126..65536 => {
                head.push(0x80 | 126);
                head.extend((length as u16).to_be_bytes());
            }
            _ => {
                head.push(0x80 | 127);
                head.extend((length as u64).to_be_bytes());
            }
        }
        head.extend([0; 4]);
        head
    }

    /// The next frame; nothing once the server has closed the connection.
    pub fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        match self.stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("nothing came"),
            Err(_) => return None,
        }
        assert_eq!(head[1] & 0x80, 0, "a server does not mask");
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(self.bytes())),
            127 => u64::from_be_bytes(self.bytes()),
            length => u64::from(length),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).unwrap();
        Some((head[0] & 0x0f, payload))
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The code and the reason of the server's farewell.
    pub fn farewell(&mut self) -> (u16, String) {
        loop {
            match self.receive() {
                Some((CLOSE, payload)) => {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    return (code, String::from_utf8(payload[2..].to_vec()).unwrap());
                }
                Some(_) => {}
                None => panic!("it closed without a word"),
            }
        }
    }
}
