//! Several environments side by side, and the pages that people open.

use std::fs;

use serde_json::{Value, json};

use super::socket::Socket;
use super::{reset, serve, step};
use crate::support::client::Server;
use crate::support::{plugin, run};

/// A browser, as far as the page's scripts look at one: it prints what they send.
const BROWSER: &str = r#"
class Element {
  value = ""; textContent = ""; hidden = false; children = []; classList = { toggle() {} };
  addEventListener(name, listener) { this[name] = listener; }
  append(...more) { this.children.push(...more); }
  replaceChildren(...all) { this.children = all; }
  get childElementCount() { return this.children.length; }
  get lastElementChild() { return this.children.at(-1); }
  focus() {}
  scrollIntoView() {}
}
const elements = { split: Object.assign(new Element(), { value: "train" }) };
globalThis.document = {
  getElementById: (id) => elements[id] ||= new Element(),
  createElement: () => new Element(),
};
globalThis.sessionStorage = { getItem: () => null, setItem() {} };
globalThis.location = { href: "http://localhost/", pathname: "/" };
globalThis.URL = class { constructor(path) { this.path = path; this.protocol = "http:"; } };
globalThis.fetch = async (path) => ({ status: 200, ok: true, json: async () => answers[path] });
globalThis.WebSocket = class {
  constructor(address) {
    console.log(JSON.stringify(address.path));
    Promise.resolve().then(() => this.open());
  }
  addEventListener(name, listener) { this[name] = listener; }
  send(text) { console.log(text); }
};
"#;

/// A server of these.
fn several(names: &[&str], more: &[&str]) -> Server {
    let files: Vec<String> = names.iter().map(|name| plugin(name).display().to_string()).collect();
    let named: Vec<&str> = files.iter().flat_map(|file| ["--environment", file]).collect();
    Server::of(&[&named, more].concat())
}

#[test]
fn opening_the_page_begins_an_episode_without_a_click() {
    let server = serve("plan-path", &[]);
    let page = server.get("/").body;
    let answers = json!({
        "metadata": server.get("/metadata").json(),
        "schema": server.get("/schema").json(),
    });
    let mut program = format!("const answers = {answers};\n{BROWSER}");
    for script in ["token.js", "page.js"] {
        assert!(page.contains(&format!("<script src=\"{script}\" defer></script>")), "{script}");
        program += &server.get(&format!("/{script}")).body;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.js");
    fs::write(&file, program).unwrap();
    // Node's stand-in is our own interpreter.
    let (code, sent, stderr) = run(&["run", "--quiet", &file.display().to_string()]);
    assert_eq!(code, 0, "{stderr}");
    let sent: Vec<Value> = sent.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(sent[0], "ws", "{sent:?}");
    // What it sends begins an episode, in which one can act.
    let mut socket = Socket::open(&server);
    let begun = socket.ask(&sent[1]);
    assert_eq!((&begun["type"], &begun["data"]["done"]), (&json!("observation"), &json!(false)));
    assert_eq!(begun["data"]["metadata"]["split"], "train");
    assert!(socket.ask(&step("D"))["data"]["reward"].is_f64());
    assert_eq!(sent.len(), 2);
}

#[test]
fn several_environments_are_served_below_their_names_and_a_page_leads_to_them() {
    let server = several(&["sudoku", "plan-path"], &["--sessions", "2"]);
    assert_eq!(server.get("/list_environments").json(), json!(["sudoku", "plan-path"]));
    let cards = server.get("/gallery").json();
    for (card, name) in cards.as_array().unwrap().iter().zip(["sudoku", "plan-path"]) {
        assert_eq!((&card["name"], &card["path"]), (&json!(name), &json!(format!("{name}/"))));
        assert!(card["picture"]["svg"].as_str().unwrap().starts_with("<svg"), "{card}");
        assert_eq!(
            card["description"],
            server.get(&format!("/{name}/metadata")).json()["description"]
        );
        let moved = server.get(&format!("/{name}"));
        assert_eq!((moved.status, moved.header("location")), (308, Some(&*format!("/{name}/"))));
        let alone = serve(name, &[]);
        for path in ["", "page.js", "page.css", "token.js", "schema", "openapi.json"] {
            let (here, there) =
                (server.get(&format!("/{name}/{path}")), alone.get(&format!("/{path}")));
            assert_eq!((here.status, here.body), (200, there.body), "{name} {path}");
        }
        // What has the name in its path already has it once.
        let splits = format!("/{name}/splits");
        assert_eq!(server.get(&splits).body, alone.get(&splits).body);
        let mut socket = Socket::at(&server, &format!("/{name}/ws"), "").unwrap();
        assert_eq!(socket.ask(&reset(3)), Socket::open(&alone).ask(&reset(3)));
    }
    let page = server.get("/");
    assert!(page.body.contains("gallery.js") && page.header("content-security-policy").is_some());
    assert_eq!(server.get("/gallery.js").status, 200);
    for path in ["/ws", "/schema", "/sudok", "/chess/ws"] {
        let refused = server.get(path);
        assert_eq!(refused.status, 404);
        assert!(refused.body.contains("below /sudoku/, /plan-path/ all that"), "{}", refused.body);
    }
    assert_eq!(server.get("/sudoku/nowhere").status, 404);
}

#[test]
fn a_session_is_known_only_where_it_was_begun() {
    let server = several(&["sudoku", "plan-path"], &["--sessions", "1"]);
    let call = |name: &str, method: &str, parameters: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        server.post(&format!("/{name}/mcp"), &request.to_string()).json()
    };
    let created = call("sudoku", "openenv/session/create", json!({}));
    let id = created["result"]["session_id"].as_str().unwrap();
    let begin = json!({"session_id": id, "name": "begin", "arguments": {"seed": 1}});
    let close = json!({"session_id": id});
    for (method, parameters) in [("tools/call", &begin), ("openenv/session/close", &close)] {
        let unknown = call("plan-path", method, parameters.clone());
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        assert!(unknown.to_string().contains("there is no session"), "{unknown}");
    }
    let at = |name: &str| Socket::at(&server, &format!("/{name}/ws?session_id={id}"), "").unwrap();
    assert_eq!(at("plan-path").hear()["data"]["code"], "SESSION_ERROR");
    let full = call("plan-path", "openenv/session/create", json!({}));
    assert_eq!(full["error"]["data"]["code"], "CAPACITY_REACHED", "places are shared: {full}");
    assert_eq!(call("sudoku", "tools/call", begin)["result"]["isError"], false);
    assert_eq!(at("sudoku").ask(&json!({"type": "state"}))["data"]["seed"], 1);
    assert_eq!(call("sudoku", "openenv/session/close", close)["result"]["closed"], true);
}

#[test]
fn environments_side_by_side_share_their_sessions_and_their_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token.txt");
    fs::write(&file, "0123456789abcdef").unwrap();
    let path = file.display().to_string();
    let server = several(&["sudoku", "plan-path"], &["--token-file", &path, "--sessions", "1"]);
    for path in ["/", "/health", "/gallery.js", "/sudoku/"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for path in ["/gallery", "/list_environments", "/sudoku/metadata"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    let right = "Authorization: Bearer 0123456789abcdef\r\n";
    let mut first = Socket::at(&server, "/sudoku/ws", right).unwrap();
    first.ask(&reset(1));
    assert_eq!(server.health()["active_sessions"], 1);
    let mut second = Socket::at(&server, "/plan-path/ws", right).unwrap();
    assert_eq!(second.hear()["data"]["code"], "CAPACITY_REACHED");
    let sudoku = plugin("sudoku").display().to_string();
    let (code, _, stderr) = run(&["serve", "--environment", &format!("{sudoku},{sudoku}")]);
    assert!(code == 2 && stderr.contains("two environments are called `sudoku`"), "{stderr}");
}
