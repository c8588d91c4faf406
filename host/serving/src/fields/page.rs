//! The lists on `docs/serve-policies.md`, written from the code.

use std::path::Path;

use super::*;

const BEGIN: &str = "<!-- The lists from here on are written from the code. -->\n";
const END: &str = "<!-- Up to here. -->\n";

fn list(title: &str, fields: &[Field]) -> String {
    let head = format!("\n### {title}\n\n| field | | |\n|---|---|---|\n");
    fields.iter().map(row).fold(head, |text, row| text + &row)
}

fn row(field: &Field) -> String {
    let of = match field.of {
        [] => String::new(),
        of => format!(" ({})", of.join(", ")),
    };
    let does = match field.does {
        Heeded => "heeded".to_owned(),
        Nothing => "without effect".to_owned(),
        Only([]) => "refused".to_owned(),
        Only(fine) => {
            let fine: Vec<String> = fine.iter().map(|text| format!("`{text}`")).collect();
            format!("only {}", fine.join(", "))
        }
        If(_) => "heeded, or refused".to_owned(),
    };
    format!("| `{}`{of} | {does} | {} |\n", field.name, field.note)
}

fn lists() -> String {
    [
        list("A request", REQUEST),
        list("A question to a team, where it differs", TEAM),
        list("`stream_options`", STREAM),
        list("A message", MESSAGE),
        list("A part of its content", PART),
        list("One of its `tool_calls`", CALL),
        list("Its `function`", FUNCTION),
    ]
    .concat()
}

#[test]
fn the_page_lists_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve-policies.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&path, [before, BEGIN, &lists(), "\n", END, after].concat()).unwrap();
    } else {
        assert!(
            written == lists() + "\n",
            "docs/serve-policies.md is not what the code does; write it again with \
             INSTA_UPDATE=always"
        );
    }
}
