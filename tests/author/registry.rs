//! Components in registries, through the real program.

mod liar;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::support::plugin;
use crate::support::registry::{DebianRegistry, Place, altered, push};

#[test]
fn what_is_pushed_is_pulled_checked_locked_and_used_when_the_registry_is_gone() {
    let registry = DebianRegistry::start("");
    let (author, user) = (Place::new(), Place::new());
    let reference = registry.reference("math:0.1.0");
    let pinned = push(&author, &plugin("math"), &reference);
    assert!(pinned.starts_with(&format!("{reference}@sha256:")), "{pinned}");
    // The same component is the same artifact, whoever pushes it.
    assert_eq!(push(&user, &plugin("math"), &reference), pinned);

    let told = user.done(&["plugin", "pull", &reference]);
    for said in [
        &pinned,
        "math 0.1.0: ",
        "contract 0.2.0",
        "names no licence",
        "imports nothing",
        "grade    strict: pass",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
    let digest = pinned.split_once("@sha256:").unwrap().1;
    assert!(user.lock().contains(&format!("manifest = \"{digest}\"")), "{}", user.lock());
    drop(registry);
    for named in [&reference, &pinned] {
        let told = user.done(&["plugin", "inspect", named]);
        assert!(told.contains("environment math 0.1.0"), "{told}");
    }
    let stderr = author.refused(&["plugin", "inspect", &pinned], 3);
    assert!(stderr.contains("is not on this machine; `host plugin pull "), "{stderr}");
}

#[test]
fn what_is_pulled_for_a_run_is_shown_beside_the_runs_own_results() {
    let registry = DebianRegistry::start("");
    let (author, user) = (Place::new(), Place::new());
    let pinned = push(&author, &plugin("math"), &registry.reference("math:0.1.0"));
    let asked = ["train", "--plugins", &pinned, "--print-config"];
    let (code, first, stderr) = user.run(&asked);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("names no licence") && stderr.contains("grade "), "{stderr}");
    // Nothing has to be pulled for the second.
    assert_eq!(first, user.done(&asked));
}

#[test]
fn a_tag_that_moved_is_named_and_refused_until_one_asks_for_it() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let reference = registry.reference("math:0.1.0");
    let old = push(&place, &plugin("math"), &reference);
    place.done(&["plugin", "pull", &reference]);
    let lock = place.lock();
    let new = push(&place, &altered("math", &place.work()), &reference);
    assert_ne!(old, new);

    let stderr = place.refused(&["plugin", "pull", &reference], 2);
    for said in ["has moved", &old, new.split_once('@').unwrap().1, "--update"] {
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
    assert_eq!(place.lock(), lock);
    // Who names the digest has it, and the tag is still what it was.
    place.done(&["plugin", "pull", &new]);
    assert_eq!(place.lock(), lock);
    place.done(&["plugin", "inspect", &old]);
    place.done(&["plugin", "pull", &reference, "--update"]);
    assert_ne!(place.lock(), lock);
    assert_eq!(place.kept().len(), 2);
}

#[test]
fn a_component_under_a_name_or_version_that_it_does_not_have_is_not_pushed() {
    let place = Place::new();
    for (name, said) in [
        ("math:0.2.0", "says that it is version 0.1.0"),
        ("math:1", "says that it is version 0.1.0"),
        ("chess:0.1.0", "as this component calls itself: end the repository in /math"),
    ] {
        // Nobody listens there.
        let reference = format!("oci://127.0.0.1:9/{name}");
        let stderr = place.refused(&["plugin", "push", "math", &reference], 2);
        assert!(stderr.contains(said), "{stderr}");
    }
    let stderr = place.refused(&["plugin", "push", "math", "oci://127.0.0.1:9/math:0.1.0"], 3);
    assert!(stderr.contains("`127.0.0.1:9` cannot be used: "), "{stderr}");
}

#[test]
fn what_is_kept_is_compared_each_time_that_it_is_used() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let pinned = push(&place, &plugin("math"), &registry.reference("math:0.1.0"));
    place.done(&["plugin", "pull", &pinned]);
    let kept = place.kept().pop().unwrap();
    let file = kept.join("math.wasm");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, fs::read(plugin("plan-path")).unwrap()).unwrap();
    let stderr = place.refused(&["plugin", "inspect", &pinned], 3);
    assert!(stderr.contains("is not what was pulled (the component has the digest"), "{stderr}");
    fs::write(&file, whole).unwrap();
    place.done(&["plugin", "inspect", &pinned]);
    let manifest = kept.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text} ")).unwrap();
    let stderr = place.refused(&["plugin", "inspect", &pinned], 3);
    assert!(stderr.contains("its manifest has the digest"), "{stderr}");
}

#[test]
fn what_the_registry_does_not_have_and_whom_it_does_not_know_is_said() {
    // `name:secret`, by bcrypt.
    const SOMEBODY: &str =
        "somebody:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
    let registry = DebianRegistry::start(SOMEBODY);
    let place = Place::new();
    let reference = registry.reference("math:0.1.0");
    let stderr = place.refused(&["plugin", "push", "math", &reference], 3);
    assert!(stderr.contains("docker login 127.0.0.1:"), "{stderr}");
    place.log_in(&registry.address, "somebody:wrong");
    place.refused(&["plugin", "push", "math", &reference], 3);
    place.log_in(&registry.address, "somebody:secret");
    let pinned = push(&place, &plugin("math"), &reference);
    place.done(&["plugin", "pull", &pinned]);

    for name in ["math:0.1", "nothing:1.0.0"] {
        let stderr = place.refused(&["plugin", "pull", &registry.reference(name)], 3);
        assert!(stderr.contains(&format!("has no `{}`", registry.reference(name))), "{stderr}");
    }
    let other = format!("{}@sha256:{}", registry.reference("math"), "ab".repeat(32));
    let stderr = place.refused(&["plugin", "pull", &other], 3);
    assert!(stderr.contains("has no `"), "{stderr}");
}

#[test]
fn those_who_pull_at_once_into_one_cache_all_have_it_and_the_lock_names_each() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let [pinned, other] = ["math", "plan-path"]
        .map(|name| push(&place, &plugin(name), &registry.reference(&format!("{name}:0.1.0"))));
    let all = [&pinned, &pinned, &other].map(|reference| {
        let mut pull = place.command(&["plugin", "pull", reference]);
        pull.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for one in all {
        let ended = one.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let kept = place.kept();
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert_eq!(place.lock().matches("[[plugin]]").count(), 2, "{}", place.lock());
    place.done(&["plugin", "inspect", &pinned]);
}

#[test]
fn dockers_helpers_are_asked_for_credentials() {
    // `somebody:secret`, by bcrypt.
    const SOMEBODY: &str =
        "somebody:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";
    let registry = DebianRegistry::start(SOMEBODY);
    let place = Place::new();
    let reference = registry.reference("math:0.1.0");
    let with_helper = |helper: &str| {
        place.ask_helper(&registry.address, helper);
        let mut push = place.command(&["plugin", "push", "math", &reference]);
        let path = std::env::var("PATH").unwrap();
        push.env("PATH", format!("{}:{path}", place.work().display()));
        let output = push.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let helper = "#!/bin/sh\nread server\n[ \"$1\" = get ] && echo \
                  '{\"ServerURL\":\"x\",\"Username\":\"somebody\",\"Secret\":\"secret\"}'\n";
    let (code, stderr) = with_helper(helper);
    assert_eq!(code, 0, "{stderr}");
    let (code, stderr) = with_helper("#!/bin/sh\necho locked\nexit 1\n");
    assert!(code == 3 && stderr.contains("docker's `config.json` cannot be used"), "{stderr}");
}

#[test]
fn references_are_served_and_run_programs() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let environment = push(&place, &plugin("math"), &registry.reference("math:0.1.0"));
    let reference = registry.reference("javascript:2025");
    push(&place, &plugin("javascript"), &reference);
    place.refused(&["serve", "--environment", &environment], 3);
    place.done(&["plugin", "pull", &environment]);
    place.done(&["plugin", "pull", &reference]);

    let mut serve = place.command(&["serve", "--environment", &environment]);
    serve.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut child = serve.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET /metadata HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("math"), "{told}");

    let write = |name: &str, text: &str| fs::write(place.work().join(name), text).unwrap();
    write("problems", "{\"id\":\"a\",\"tests\":[{\"input\":\"\",\"output\":\"3\"}]}\n");
    write("programs", "{\"id\":\"a\",\"program\":\"console.log(1 + 2)\"}\n");
    let files = ["--problems", "problems", "--programs", "programs", "--out", "verdicts"];
    let how = ["--language", "javascript", "--interpreter", &reference];
    place.done(&[&["grade"][..], &files, &how].concat());
    let verdicts = fs::read_to_string(place.work().join("verdicts")).unwrap();
    assert!(verdicts.contains("\"verdict\":\"passed\""), "{verdicts}");
}
