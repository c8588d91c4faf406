//! The server as a child process, and as much of HTTP as it takes to ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::host;

/// Ends a test that would wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// A grader on a port of its own.
    pub fn start(arguments: &[&str]) -> Self {
        Server::of(&[&["--grader"], arguments].concat())
    }

    /// What these arguments say, on a port of its own.
    pub fn of(arguments: &[&str]) -> Self {
        Server::by(host, arguments)
    }

    /// The same by a program in another environment.
    pub fn by(program: fn(&[&str]) -> Command, arguments: &[&str]) -> Self {
        let mut command = program(&["serve", "--listen", "127.0.0.1:0"]);
        let command = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap();
        let address = address.trim_end_matches("/v1").to_owned();
        Server { child, address }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends all of this and reads the answer.
    pub fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        Answer::read(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        Answer::read(&mut self.send(path, body))
    }

    /// A request whose answer is not read yet.
    pub fn send(&self, path: &str, body: &str) -> TcpStream {
        let mut stream = self.begin(path, body.len());
        stream.write_all(body.as_bytes()).unwrap();
        stream
    }

    /// A request whose body is not sent yet.
    pub fn begin(&self, path: &str, length: usize) -> TcpStream {
        let mut stream = self.connect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn health(&self) -> Value {
        self.get("/health").json()
    }

    /// Waits until the server says so of itself.
    pub fn wait_for(&self, condition: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        loop {
            let health = self.health();
            if condition(&health) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "waited in vain: {health}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// KiB of memory that it has now.
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Its exit code, once it has ended.
    pub fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Answer {
    pub status: u16,
    pub body: String,
    headers: Vec<(String, String)>,
}

impl Answer {
    /// Reads until the server closes the connection.
    pub fn read(stream: &mut TcpStream) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer { status, body: body.to_owned(), headers: lines.map(header).collect() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}
