//! Boxoban and other levels in the common text format: a line `; N` before each level.

use super::Entry;
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const COLUMNS: &[&str] = &["id", "level"];

/// The longest side of a level.
const MOST: usize = 64;

/// One level of a text: its name, the line it begins on, and its rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// What stands behind its `;`.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// The rows, one a line.
    pub rows: String,
}

/// The levels of a text.
pub(crate) fn levels(text: &str) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix(';') {
            let name = name.trim().to_owned();
            levels.push(Level { name, line: index + 1, rows: String::new() });
        } else if !line.is_empty() {
            if levels.is_empty() {
                levels.push(Level { name: String::new(), line: 1, rows: String::new() });
            }
            if let Some(level) = levels.last_mut() {
                level.rows.push_str(line);
                level.rows.push('\n');
            }
        }
    }
    levels
}

pub(super) fn read(row: &Row) -> Result<Entry, Refusal> {
    let level = row.required(&["level"])?.trim_end_matches('\n');
    check(level)?;
    let mut entry = Entry { id: row.name(&["id"])?, problem: level.to_owned(), ..Entry::default() };
    entry.text("level", Some(level));
    Ok(entry)
}

fn check(level: &str) -> Result<(), Refusal> {
    if level.lines().count() > MOST || level.lines().any(|row| row.chars().count() > MOST) {
        return Err(Refusal::plain(format!("the level is larger than {MOST} by {MOST}")));
    }
    let count = |wanted: &str| level.chars().filter(|tile| wanted.contains(*tile)).count();
    if let Some(other) = level.chars().find(|tile| !"# @$.*+\n".contains(*tile)) {
        return Err(Refusal::new("a tile is none of `# @$.*+`", format!("{other:?}")));
    }
    match (count("@+"), count("$*"), count(".+*")) {
        (1, 0, _) => Err(Refusal::plain("the level has no box")),
        (1, boxes, goals) if boxes == goals => Ok(()),
        (1, boxes, goals) => {
            let detail = format!("{boxes} boxes, {goals} goals");
            Err(Refusal::new("the level has not as many goals as boxes", detail))
        }
        (players, ..) => {
            let detail = format!("it has {players}");
            Err(Refusal::new("the level has not one player", detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn levels_are_told_apart_by_their_numbers() {
        let read = levels("; 0\r\n####\r\n#@ #\r\n\r\n; 12\n#.$#\n");
        let level =
            |name: &str, line, rows: &str| Level { name: name.into(), line, rows: rows.into() };
        assert_eq!(read, [level("0", 1, "####\n#@ #\n"), level("12", 5, "#.$#\n")]);
        assert_eq!(levels("#@$.#\n"), [level("", 1, "#@$.#\n")]);
    }

    #[test]
    fn a_level_has_one_player_and_as_many_goals_as_boxes() {
        let reason = |level: &str| check(level).map_err(|refusal| refusal.reason);
        assert_eq!(reason("#@$.#"), Ok(()));
        assert_eq!(reason("#+$*#"), Ok(()));
        assert!(reason("#@@$.#").unwrap_err().contains("one player"));
        assert!(reason("#@$#").unwrap_err().contains("goals"));
        assert!(reason("#@ #").unwrap_err().contains("no box"));
        assert!(reason("#@$.x#").unwrap_err().contains("tile"));
        assert!(reason(&"#".repeat(65)).unwrap_err().contains("larger"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[;# @$.*+\n\r0é]{0,60}") {
            for level in levels(&text) {
                _ = check(&level.rows);
            }
        }
    }
}
