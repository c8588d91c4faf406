//! Debian's `docker-registry`, which `cargo xtask test` brings, on a port of its own, and people
//! who use it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::{host, plugin};
use troupe_core::installation::user_cache;

/// A registry that lasts as long as this.
pub struct DebianRegistry {
    child: Child,
    /// Host and port.
    pub address: String,
    _folder: tempfile::TempDir,
}

impl DebianRegistry {
    /// For all, or for those who are in this file of passwords.
    pub fn start(passwords: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let data = folder.path().join("data");
        let mut settings = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
             http: {{addr: '{address}'}}\n",
            data.display()
        );
        if !passwords.is_empty() {
            let file = folder.path().join("passwords");
            fs::write(&file, passwords).unwrap();
            settings += &format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", file.display());
        }
        let file = folder.path().join("settings.yml");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(program());
        command.arg("serve").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("docker-registry; `cargo xtask test` brings it");
        while TcpStream::connect(&address).is_err() {
            sleep(Duration::from_millis(20));
        }
        DebianRegistry { child, address, _folder: folder }
    }

    /// What is called so there.
    pub fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.address)
    }
}

impl Drop for DebianRegistry {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The one that was brought, or the system's.
fn program() -> PathBuf {
    let brought = user_cache().unwrap().join("docker-registry/usr/bin/docker-registry");
    if brought.is_file() { brought } else { PathBuf::from("docker-registry") }
}

/// A folder to work in, with a cache and docker's settings of its own.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::create_dir(folder.path().join("docker")).unwrap();
        Place { folder }
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn log_in(&self, registry: &str, name_and_password: &str) {
        let settings = serde_json::json!({
            "auths": { registry: { "auth": encoded(name_and_password) } },
        });
        fs::write(self.folder.path().join("docker/config.json"), settings.to_string()).unwrap();
    }

    /// Have docker's settings name a program of ours, as in a keychain's place.
    pub fn ask_helper(&self, registry: &str, program: &str) {
        let settings = serde_json::json!({ "credHelpers": { registry: "ours" } });
        fs::write(self.folder.path().join("docker/config.json"), settings.to_string()).unwrap();
        let file = self.work().join("docker-credential-ours");
        fs::write(&file, program).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = host(arguments);
        command
            .current_dir(self.work())
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("DOCKER_CONFIG", self.folder.path().join("docker"));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    pub fn done(&self, arguments: &[&str]) -> String {
        self.both(arguments).0
    }

    /// What was told beside the results.
    pub fn told(&self, arguments: &[&str]) -> String {
        self.both(arguments).1
    }

    fn both(&self, arguments: &[&str]) -> (String, String) {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stdout}{stderr}");
        (stdout, stderr)
    }

    pub fn refused(&self, arguments: &[&str], code: i32) -> String {
        let (found, stdout, stderr) = self.run(arguments);
        assert_eq!(found, code, "{arguments:?}: {stdout}{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        stderr
    }

    pub fn lock(&self) -> String {
        fs::read_to_string(self.work().join("host.lock")).unwrap_or_default()
    }

    /// The components that were kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("cache/troupe/components");
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// In base 64.
pub fn encoded(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |bytes: &[u8]| {
        let bits =
            bytes.iter().chain(&[0, 0]).take(3).fold(0, |all, byte| all << 8 | u32::from(*byte));
        let letter = |at: usize| LETTERS[(bits >> (18 - 6 * at)) as usize & 63] as char;
        (0..4).map(|at| if at <= bytes.len() { letter(at) } else { '=' }).collect::<String>()
    };
    text.as_bytes().chunks(3).map(group).collect()
}

/// A component that does the same as another and is not it.
pub fn altered(name: &str, folder: &Path) -> PathBuf {
    let mut bytes = fs::read(plugin(name)).unwrap();
    // A section without meaning, called `x`.
    bytes.extend([0, 2, 1, b'x']);
    let file = folder.join(format!("{name}.wasm"));
    fs::write(&file, bytes).unwrap();
    file
}

/// What `push` says: the reference with its digest.
pub fn push(place: &Place, file: &Path, reference: &str) -> String {
    place.done(&["plugin", "push", &file.display().to_string(), reference]).trim().to_owned()
}
