//! Pages about components, and the index that is searched, through the real program.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::registry::{DebianRegistry, Place};
use crate::support::{fixture, plugin, run};

/// The page of a component.
fn page(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let out = file.display().to_string();
    let (code, _, stderr) = run(&[&["plugin", "page"], arguments, &["--out", &out]].concat());
    assert_eq!(code, 0, "{stderr}");
    fs::read_to_string(file).unwrap()
}

/// A page without its style, images, and what another build or machine has otherwise.
fn text_of(page: &str) -> String {
    let mut text = page.to_owned();
    for (start, end, left) in [
        ("sha256-", "'", "sha256-…'"),
        ("<style>", "</style>", "<style>…</style>"),
        ("base64,", "\"", "base64,…\""),
        ("<ul class=\"findings\">", "</ul>", "<ul class=\"findings\">…</ul>"),
        ("<code>sha256:", "</code>", "<code>sha256:…</code>"),
        ("<dt>size</dt>", "</dd>", "<dt>size</dt><dd>…</dd>"),
        ("<span title=\"on one thread", "</span>", "<span>… acts per second</span>"),
    ] {
        let mut rest = text.as_str();
        let mut cut = String::new();
        while let Some((before, after)) = rest.split_once(start) {
            let (_, after) = after.split_once(end).unwrap();
            cut = cut + before + left;
            rest = after;
        }
        text = cut + rest;
    }
    let size = text.find(" kB</span>").unwrap();
    let digits = text[..size].rfind('>').unwrap() + 1;
    text.replace_range(digits..size, "…");
    text.replace("><", ">\n<")
}

/// Elements that a browser would load or run something for.
fn assert_harmless(page: &str) {
    for word in ["<script", "<iframe", "<object", "<link", "http:", "https:"] {
        assert!(!page.contains(word), "{word}");
    }
    for image in page.split("<img ").skip(1) {
        let (tag, _) = image.split_once('>').unwrap();
        assert!(tag.starts_with("class=\"board"), "{tag}");
        assert!(tag.contains("src=\"data:image/svg+xml;base64,"), "{tag}");
    }
    assert!(page.contains("content=\"default-src 'none'; style-src 'sha256-"));
    assert!(!page.contains('\u{202e}'), "what turns the direction of writing is written out");
}

#[test]
fn a_page_says_what_an_environment_asks_pays_and_allows_and_how_an_episode_looks() {
    let name = file("countdown");
    let page = page(&[&name, "--license", "MIT", "--tasks", "2"]);
    assert_harmless(&page);
    let text = text_of(&page).replace(&name, "countdown.wasm");
    insta::assert_snapshot!("page_of_countdown", text);
}

#[test]
fn what_a_component_writes_is_a_text_of_bounded_length_on_its_page() {
    let name = fixture("loud-environment").display().to_string();
    let page = page(&[&name, "--tasks", "1"]);
    assert_harmless(&page);
    assert!(page.contains("&lt;/script&gt;&lt;/style&gt;&lt;img src=x onerror=alert(1)&gt;&quot;"));
    assert!(page.contains("more bytes]"));
    // It says some forty megabytes.
    assert!(page.len() < 2 << 20, "{}", page.len());
    let tags = ["&lt;img src=x onerror=", "&lt;img/onerror=", "&lt;img onerror="];
    let escaped: usize = tags.iter().map(|tag| page.matches(tag).count()).sum();
    assert_eq!(page.matches("onerror=").count(), escaped);
}

#[test]
fn what_wants_a_grant_is_not_tried_without_it() {
    let page = page(&[&file("code")]);
    assert!(page.contains("needs <strong>sandbox</strong>"), "{}", text_of(&page));
    assert!(page.contains("It was not tried: that takes a grant (`--grant code=sandbox`)."));
    assert!(page.contains("class=\"badge truncated\">not checked</span>"));
    for set in ["nonsense=1", "environment.nonsense=1"] {
        let (code, _, stderr) = run(&["plugin", "page", &file("code"), "--set", set]);
        assert!(code == 2 && stderr.contains("nonsense"), "{set}: {code} {stderr}");
    }
}

#[test]
fn a_page_of_a_reference_says_how_to_take_it_and_an_index_finds_it() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let reference = registry.reference("solo:0.1.0");
    let told = place.done(&["plugin", "push", &file("solo"), &reference, "--license", "MIT"]);
    let pinned = told.trim();
    place.done(&["plugin", "pull", &reference]);
    let beside = file("plan-path");
    let options = ["--index", "index.json", "--beside", &beside, "--out", "page.html"];
    place.done(&[&["plugin", "page", &reference], &options[..]].concat());
    let page = fs::read_to_string(place.work().join("page.html")).unwrap();
    assert_harmless(&page);
    assert!(page.contains(&format!("host plugin pull {pinned}")), "{}", text_of(&page));
    assert!(page.contains("<dt>licence</dt><dd>MIT</dd>"));
    // Its expert's conversation.
    assert!(page.contains("class=\"said role1\"") && page.contains("badge solved\">solved<"));
    let told = place.done(&["plugin", "search", "ROLE", "--index", "index.json"]);
    let expected = format!(
        "solo 0.1.0, workflow: One role acts on what it sees.\n  contract 0.2.0; MIT\n  files = [\"{pinned}\"]\n"
    );
    assert_eq!(told, expected);
    // The same name may be taken as it stands there.
    place.done(&["plugin", "inspect", pinned]);
    // What nobody else has is in no index.
    let own = file("solo");
    let stderr = place.refused(&["plugin", "page", &own, "--index", "index.json"], 2);
    assert!(stderr.contains("is a file that nobody else has; push it"), "{stderr}");
}

fn file(name: &str) -> String {
    plugin(name).display().to_string()
}

#[test]
fn a_catalogue_leads_to_the_pages_of_its_components_and_names_them_as_a_push_would() {
    let registry = DebianRegistry::start("");
    let place = Place::new();
    let prefix = registry.reference("games");
    let told = place.done(&[
        "plugin",
        "catalogue",
        &file("countdown"),
        &file("solo"),
        "--out",
        "all",
        "--tasks",
        "1",
        "--registry",
        &prefix,
        "--beside",
        &file("countdown"),
        "--license",
        "countdown=MIT",
    ]);
    assert!(told.ends_with("kB\n") && told.contains("all/index.html: "), "{told}");
    let folder = place.work().join("all");
    let contents = fs::read_to_string(folder.join("index.html")).unwrap();
    assert_harmless(&contents);
    for (name, kind) in [("countdown", "environment"), ("solo", "workflow")] {
        assert!(contents.contains(&format!("<li class=\"tile {kind}\"><a href=\"{name}.html\">")));
        assert!(contents.contains(&format!("id=\"only-{kind}\"")));
        let page = fs::read_to_string(folder.join(format!("{name}.html"))).unwrap();
        assert!(page.contains("<a href=\"index.html\">All components</a>"));
    }
    assert!(!contents.contains("id=\"only-interpreter\""), "there is none");
    let index: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("index.json")).unwrap()).unwrap();
    let reference = format!("{prefix}/countdown:0.1.0");
    let pushed =
        place.done(&["plugin", "push", &file("countdown"), &reference, "--license", "MIT"]);
    let [countdown, solo] = [&index["components"][0], &index["components"][1]];
    assert_eq!(
        (&countdown["reference"], &countdown["licence"]),
        (&json!(pushed.trim()), &json!("MIT"))
    );
    assert_eq!((&solo["name"], &solo["licence"]), (&json!("solo"), &Value::Null));
}

/// Search an index with this content.
fn search(folder: &Path, name: &str, content: &str, words: &[&str]) -> (i32, String, String) {
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    let index = file.display().to_string();
    run(&[&["plugin", "search"], words, &["--index", &index]].concat())
}

fn known(name: &str, reference: &str) -> Value {
    json!({
        "name": name, "reference": reference, "sentence": "A game \u{1b}[2J with boards.",
        "contract": "0.2.0", "licence": "MIT"
    })
}

#[test]
fn a_search_ranks_what_it_finds_and_shows_so_much_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<Value> =
        (0..30).map(|index| known(&format!("game{index}"), &format!("game{index}"))).collect();
    let index = json!({ "components": many }).to_string();
    let (code, stdout, stderr) = search(folder.path(), "a.json", &index, &["boards", "game7"]);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "game7: A game \\u001b[2J with boards.");
    assert_eq!(lines[2], "  files = [\"game7\"]");
    assert_eq!(lines[3], "game0: A game \\u001b[2J with boards.", "of equals the first");
    assert_eq!(lines.len(), 60);
    assert!(
        stderr.contains("and 10 more; with more words, what fits best comes first"),
        "{stderr}"
    );

    let toml = "[[components]]\nname = \"chess\"\nreference = \"chess\"\nsentence = \"Boards.\"\ncontract = \"0.2.0\"\n";
    let both = folder.path().join("a.json").display().to_string();
    let (code, stdout, stderr) =
        search(folder.path(), "b.toml", toml, &["chess", "game3", "--index", &both]);
    assert_eq!(code, 0, "{stderr}");
    let firsts: Vec<&str> = stdout.lines().step_by(3).take(2).collect();
    assert_eq!(firsts, ["game3: A game \\u001b[2J with boards.", "chess: Boards."]);

    let (code, stdout, stderr) = search(folder.path(), "a.json", &index, &["nothing"]);
    assert_eq!((code, &*stdout), (0, ""));
    assert!(stderr.contains("none of 30 components fits"), "{stderr}");
}

#[test]
fn what_is_no_index_is_refused_with_the_line_and_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let digest = "ab".repeat(32);
    let of = |change: &dyn Fn(&mut Value)| {
        let mut second = known("two", &format!("oci://r.example/two:1.0.0@sha256:{digest}"));
        change(&mut second);
        serde_json::to_string_pretty(&json!({ "components": [known("one", "one"), second] }))
            .unwrap()
    };
    let cases: [(&str, String, &str); 9] = [
        ("a.json", "{".to_owned(), "line 1"),
        ("a.json", "{\"components\": [], \"more\": 1}".to_owned(), "unknown field `more`"),
        ("a.json", of(&|it| it["url"] = json!("x")), "unknown field `url`"),
        ("a.json", of(&|it| it["contract"] = json!(2)), "`components[1].contract`: invalid type"),
        (
            "a.json",
            of(&|it| it["name"] = json!("A b")),
            "`components[1].name`: a name is in kebab-case",
        ),
        (
            "a.json",
            of(&|it| it["reference"] = json!("oci://r.example/two:1")),
            "`oci://r.example/two:1` has no digest",
        ),
        (
            "a.json",
            of(&|it| it["reference"] = json!("https://x")),
            "a reference is oci://registry/name",
        ),
        ("a.json", of(&|it| it["sentence"] = json!("x".repeat(401))), "at most 400 characters"),
        (
            "b.toml",
            "[[components]]\nname = \"one\"\n\n[[components]]\nname = 3\n".to_owned(),
            "line ",
        ),
    ];
    for (name, content, said) in cases {
        let (code, stdout, stderr) = search(folder.path(), name, &content, &["one"]);
        assert_eq!((code, &*stdout), (2, ""), "{content}");
        assert!(stderr.contains(said) && stderr.contains("is no index of components"), "{stderr}");
        assert!(stderr.contains("line "), "{stderr}");
    }
    let (code, _, stderr) = search(folder.path(), "a.json", &" ".repeat(9 << 20), &["one"]);
    assert!(code == 2 && stderr.contains("larger than 8 MiB"), "{code}: {stderr}");
    assert!(fs::remove_file(folder.path().join("a.json")).is_ok());
    let gone = folder.path().join("a.json").display().to_string();
    let (code, _, stderr) = run(&["plugin", "search", "one", "--index", &gone]);
    assert!(code == 5 && stderr.contains("cannot read `"), "{code}: {stderr}");
}
