//! The server as a process.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a start may take.
const START: Duration = Duration::from_secs(120);

/// One at a time: each wants all processors.
static TURN: Mutex<()> = Mutex::new(());

/// A server; it ends when dropped, its engine too.
pub struct Server {
    process: Child,
    port: u16,
    _turn: MutexGuard<'static, ()>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Whether there is one to start.
pub fn is_installed() -> bool {
    let there = root().join(".deps/engine/installed").exists();
    if !there {
        eprintln!("SkyRL's server is not installed: `cargo xtask engine-check` brings it");
    }
    there
}

impl Server {
    /// Over the base in a folder, with what it keeps in another.
    pub fn start(base: &Path, state: &Path, port: u16) -> Server {
        // A test that failed with its server has ended it.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let backend = "{\"max_lora_adapters\":4,\"max_lora_rank\":8,\"train_micro_batch_size\":16,\
                       \"sample_max_num_sequences\":16}";
        let mut command = Command::new(root().join("tests/engine/serve.sh"));
        command
            .arg(root().join(".deps/engine/venv"))
            .args([base, state])
            .args([&port.to_string(), backend])
            .env("JAX_PLATFORMS", "cpu")
            .env("JAX_COMPILATION_CACHE_DIR", root().join("target/engine/jax-cache"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut process = command.spawn().unwrap();
        let (begun, address) = (Instant::now(), SocketAddr::from(([127, 0, 0, 1], port)));
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            assert!(process.try_wait().unwrap().is_none(), "the server ended as it began");
            assert!(begun.elapsed() < START, "the server does not answer");
            thread::sleep(Duration::from_millis(200));
        }
        Server { process, port, _turn: turn }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The processes of its group whose command line holds a word.
    fn members(&self, word: &str) -> Vec<String> {
        let group = self.process.id().to_string();
        let listed = Command::new("ps").args(["-eo", "pid=,pgid=,args="]).output().unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let own =
            |line: &&str| line.split_whitespace().nth(1) == Some(&group) && line.contains(word);
        let pid = |line: &str| line.split_whitespace().next().map(str::to_owned);
        listed.lines().filter(own).filter_map(pid).collect()
    }

    /// End some of its processes without a word.
    pub fn kill(&self, word: &str) {
        let members = self.members(word);
        assert!(!members.is_empty(), "no process of the server is `{word}`");
        for pid in members {
            Command::new("kill").args(["-KILL", &pid]).status().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = format!("-{}", self.process.id());
        // What has ended already cannot be ended again.
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.process.wait();
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    }
}
