//! What grading programs takes.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::measured::{Host, Taken};

/// Programs that are graded.
pub const PROGRAMS: usize = 1500;

/// Grade many short programs, no two of them alike, with one job a processor.
pub fn trace(host: &Host, folder: &Path) -> Result<Taken> {
    let (problems, programs) = (folder.join("problems.jsonl"), folder.join("programs.jsonl"));
    let problem = r#"{"id": "sum", "tests": [{"input": "1 2\n", "output": "3\n"}]}"#;
    fs::write(&problems, format!("{problem}\n"))?;
    let program = |number: usize| {
        format!(
            "{{\"id\": \"sum\", \"sample\": {number}, \"program\": \"# {number}\\nprint(sum(map(int, \
             input().split())))\"}}\n"
        )
    };
    fs::write(&programs, (0..PROGRAMS).map(program).collect::<String>())?;
    let path = |path: &Path| path.display().to_string();
    let verdicts = path(&folder.join("verdicts.jsonl"));
    let arguments = [
        "grade",
        "--problems",
        &path(&problems),
        "--programs",
        &path(&programs),
        "--out",
        &verdicts,
        "--quiet",
    ];
    host.run(&arguments.map(str::to_owned))
}
