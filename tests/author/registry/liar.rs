//! A registry that does not do what it should.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;
use troupe_core::storage::digest;

use crate::support::plugin;
use crate::support::registry::{Place, encoded};

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";

/// An answer: what it says its length is, and what it then sends.
#[derive(Clone, Debug)]
struct Told {
    status: &'static str,
    headers: String,
    length: usize,
    body: Vec<u8>,
}

impl Told {
    fn all(body: &[u8]) -> Self {
        Told { status: "200 OK", headers: String::new(), length: body.len(), body: body.to_vec() }
    }
}

/// What it answers, by path, and the headers that said who asks.
#[derive(Default)]
struct Script {
    answers: BTreeMap<String, Told>,
    /// What has to be shown, if anything, and how that is asked for.
    wanted: Option<(String, String)>,
    shown: Vec<(String, String)>,
}

struct Liar {
    address: String,
    script: Arc<Mutex<Script>>,
}

impl Liar {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let script = Arc::new(Mutex::new(Script::default()));
        let own = script.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = own.clone();
                thread::spawn(move || answer(stream, &script));
            }
        });
        Liar { address, script }
    }

    fn says(&self, path: &str, told: Told) {
        self.script.lock().unwrap().answers.insert(path.to_owned(), told);
    }

    /// A manifest of a component with this digest and size, at tag 0.1.0 and its own digest.
    fn names(&self, component: &str, size: u64) -> String {
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "config": { "mediaType": "application/vnd.wasm.config.v0+json",
                        "digest": format!("sha256:{}", digest(b"{}")), "size": 2 },
            "layers": [{ "mediaType": "application/wasm",
                         "digest": format!("sha256:{component}"), "size": size }],
        })
        .to_string();
        self.shows(&manifest)
    }

    /// A manifest, at tag 0.1.0 and its own digest.
    fn shows(&self, manifest: &str) -> String {
        let told = Told {
            headers: format!("Content-Type: {IMAGE}\r\n"),
            ..Told::all(manifest.as_bytes())
        };
        let digest = digest(manifest.as_bytes());
        self.says("/v2/math/manifests/0.1.0", told.clone());
        self.says(&format!("/v2/math/manifests/sha256:{digest}"), told);
        digest
    }

    fn reference(&self) -> String {
        format!("oci://{}/math:0.1.0", self.address)
    }
}

/// Answers one request and hangs up.
fn answer(stream: TcpStream, script: &Mutex<Script>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let shown = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
    });
    let told = {
        let mut script = script.lock().unwrap();
        script.shown.push((path.clone(), shown.clone().unwrap_or_default()));
        let bare = path.split('?').next()?;
        let refused = script
            .wanted
            .clone()
            .filter(|(wanted, _)| bare.starts_with("/v2") && shown.as_ref() != Some(wanted));
        match refused {
            Some((_, asked)) => Told {
                status: "401 Unauthorized",
                headers: format!("WWW-Authenticate: {asked}\r\n"),
                ..Told::all(b"")
            },
            None if bare == "/v2/" => Told::all(b"{}"),
            None => script
                .answers
                .get(bare)
                .cloned()
                .unwrap_or(Told { status: "404 Not Found", ..Told::all(b"") }),
        }
    };
    let Told { status, headers, length, body } = told;
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(&body).ok()
}

fn math() -> (Vec<u8>, String) {
    let bytes = fs::read(plugin("math")).unwrap();
    let digest = digest(&bytes);
    (bytes, digest)
}

/// Of a component with this digest and size, as `wkg oci push` 0.16.1 left it in a registry.
fn manifest_by_wkg(component: &str, size: usize) -> String {
    format!(
        "{{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\
         \"config\":{{\"mediaType\":\"application/vnd.wasm.config.v0+json\",\"digest\":\
         \"sha256:299af95c8f31cbdadd075bb4bdc48625f2862b628042351bddd90ab7895062ae\",\
         \"size\":331}},\"layers\":[{{\"mediaType\":\"application/wasm\",\"digest\":\
         \"sha256:{component}\",\"size\":{size},\"annotations\":{{\
         \"org.opencontainers.image.title\":\"math.wasm\"}}}}]}}"
    )
}

#[test]
fn what_wkg_pushed_is_pulled() {
    let (bytes, component) = math();
    let (registry, place) = (Liar::start(), Place::new());
    registry.shows(&manifest_by_wkg(&component, bytes.len()));
    registry.says(&format!("/v2/math/blobs/sha256:{component}"), Told::all(&bytes));
    let told = place.done(&["plugin", "pull", &registry.reference()]);
    assert!(told.contains("whoever pushed it names no licence"), "{told}");
    assert_eq!(place.kept().len(), 1);
}

#[test]
fn nothing_is_kept_of_what_is_not_what_was_asked_for() {
    let (bytes, component) = math();
    let blob = format!("/v2/math/blobs/sha256:{component}");
    let size = bytes.len();
    let half = bytes[..size / 2].to_vec();
    let mut other = bytes.clone();
    other[size / 2] ^= 1;
    let more = [&bytes[..], b"more"].concat();
    let lies = [
        // It hangs up in the middle.
        ("cut", size as u64, Told { length: size, ..Told::all(&half) }),
        ("half", size as u64, Told::all(&half)),
        ("other bytes", size as u64, Told::all(&other)),
        ("more", size as u64, Told::all(&more)),
        ("a wrong size", size as u64 - 1, Told::all(&bytes)),
    ];
    for (lie, said, told) in lies {
        let (liar, place) = (Liar::start(), Place::new());
        liar.names(&component, said);
        liar.says(&blob, told);
        let stderr = place.refused(&["plugin", "pull", &liar.reference()], 3);
        assert!(stderr.contains("sent something else than `oci://"), "{lie}: {stderr}");
        assert_eq!(place.kept(), Vec::<std::path::PathBuf>::new(), "{lie}");
        assert_eq!(place.lock(), "", "{lie}");
        // Once it is honest, all is well.
        liar.names(&component, size as u64);
        liar.says(&blob, Told::all(&bytes));
        place.done(&["plugin", "pull", &liar.reference()]);
    }
}

#[test]
fn another_manifest_than_the_one_that_was_named_is_refused() {
    let (bytes, component) = math();
    let (liar, place) = (Liar::start(), Place::new());
    let named = liar.names(&"ab".repeat(32), 7);
    let other = liar.names(&component, bytes.len() as u64);
    assert_ne!(named, other);
    let told = liar.script.lock().unwrap().answers["/v2/math/manifests/0.1.0"].clone();
    liar.says(&format!("/v2/math/manifests/sha256:{named}"), told);
    let pinned = format!("{}@sha256:{named}", liar.reference());
    let stderr = place.refused(&["plugin", "pull", &pinned], 3);
    assert!(stderr.contains("sent something else than"), "{stderr}");
}

#[test]
fn what_is_too_large_or_no_component_is_refused_before_any_of_it_comes() {
    let (liar, place) = (Liar::start(), Place::new());
    liar.names(&"ab".repeat(32), 1 << 40);
    let stderr = place.refused(&["plugin", "pull", &liar.reference()], 3);
    assert!(stderr.contains("it has 1099511627776 bytes, and 268435456 are the most"), "{stderr}");
    for (manifest, said) in [
        ("[]", "it is no manifest of an image"),
        (r#"{"layers": []}"#, "it has not one layer"),
        (
            r#"{"layers": [{"mediaType": "text/plain", "digest": "sha256:00", "size": 1}]}"#,
            "no WebAssembly",
        ),
    ] {
        let headers = format!("Content-Type: {IMAGE}\r\n");
        let told = Told { headers, ..Told::all(manifest.as_bytes()) };
        liar.says("/v2/math/manifests/0.1.0", told.clone());
        let digest = digest(manifest.as_bytes());
        liar.says(&format!("/v2/math/manifests/sha256:{digest}"), told);
        let stderr = place.refused(&["plugin", "pull", &liar.reference()], 3);
        assert!(stderr.contains(said), "{stderr}");
    }
    let asked = liar.script.lock().unwrap().shown.iter().any(|(path, _)| path.contains("/blobs/"));
    assert!(!asked);
}

#[test]
fn a_component_of_another_name_or_version_than_its_tag_is_not_trusted() {
    let (liar, place) = (Liar::start(), Place::new());
    let bytes = fs::read(plugin("plan-path")).unwrap();
    let component = digest(&bytes);
    liar.names(&component, bytes.len() as u64);
    liar.says(&format!("/v2/math/blobs/sha256:{component}"), Told::all(&bytes));
    let stderr = place.refused(&["plugin", "pull", &liar.reference()], 2);
    assert!(
        stderr.contains("is no name for `plan-path`, as this component calls itself"),
        "{stderr}"
    );
    assert_eq!(place.lock(), "");
}

#[test]
fn a_token_is_fetched_with_dockers_credentials_and_shown() {
    let (bytes, component) = math();
    let (liar, place) = (Liar::start(), Place::new());
    liar.names(&component, bytes.len() as u64);
    liar.says(&format!("/v2/math/blobs/sha256:{component}"), Told::all(&bytes));
    let asked = format!("Bearer realm=\"http://{}/token\",service=\"liar\"", liar.address);
    liar.script.lock().unwrap().wanted = Some(("Bearer ticket".to_owned(), asked));
    let stderr = place.refused(&["plugin", "pull", &liar.reference()], 3);
    assert!(stderr.contains("docker login 127.0.0.1:"), "{stderr}");

    liar.says("/token", Told::all(br#"{"token": "ticket"}"#));
    place.log_in(&liar.address, "somebody:secret");
    place.done(&["plugin", "pull", &liar.reference()]);
    let basic = format!("Basic {}", encoded("somebody:secret"));
    let shown = &liar.script.lock().unwrap().shown;
    assert!(shown.iter().any(|(path, header)| path.starts_with("/token?") && *header == basic));
    // The password goes to whoever gives tokens, and nowhere else.
    assert!(shown.iter().all(|(path, header)| path.starts_with("/token") || *header != basic));
}
