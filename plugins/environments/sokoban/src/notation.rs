//! Levels as text: the common format, and the one of reasoning-gym.

use plugin_sdk::environment::Problem;
use serde_json::Value;

use crate::level::{Cell, Level, Position};

/// Rows and columns that a level has at most, and boxes.
const MOST_ROWS: usize = 24;
const MOST_BOXES: usize = 24;

/// Letters of the common format, and what they stand for: whether there is a
/// wall, a goal, a box, the player.
const COMMON: [(char, [bool; 4]); 9] = [
    ('#', [true, false, false, false]),
    (' ', [false, false, false, false]),
    ('-', [false, false, false, false]),
    ('_', [false, false, false, false]),
    ('.', [false, true, false, false]),
    ('$', [false, false, true, false]),
    ('*', [false, true, true, false]),
    ('@', [false, false, false, true]),
    ('+', [false, true, false, true]),
];

/// Letters that reasoning-gym uses instead.
const GYM: [(char, [bool; 4]); 7] = [
    ('+', [true, false, false, false]),
    ('-', [false, false, false, false]),
    ('X', [false, true, false, false]),
    ('@', [false, false, true, false]),
    ('$', [false, true, true, false]),
    ('*', [false, false, false, true]),
    ('%', [false, true, false, true]),
];

/// The level of a record: `level` or `puzzle`, as one text or a list of rows, or
/// reasoning-gym's `gamestr`, perhaps inside of `metadata`.
pub fn of_record(entry: &str) -> Result<(Level, Position), Problem> {
    let record: Value = serde_json::from_str(entry)
        .map_err(|error| Problem::task(format!("the record is not JSON: {error}")))?;
    let places = [&record, &record["metadata"]];
    let named = ["level", "puzzle", "gamestr"];
    let mut found = places.iter().flat_map(|place| named.map(|name| &place[name]));
    let text = found.find_map(rows).ok_or_else(|| {
        Problem::task("the record has no `level` that is a text or a list of rows")
    })?;
    parse(&text).map_err(|reason| Problem::task(format!("the level {reason}")))
}

fn rows(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(rows) => rows.iter().map(rows_of_row).collect::<Option<String>>(),
        _ => None,
    }
}

/// One row, which may itself be a list of letters.
fn rows_of_row(row: &Value) -> Option<String> {
    match row {
        Value::String(text) => Some(format!("{text}\n")),
        Value::Array(letters) => {
            let letters = letters.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(format!("{}\n", letters.concat()))
        }
        _ => None,
    }
}

/// Read a level, or say what is wrong with it. Where no `#` is and walls are
/// `+`, the letters are reasoning-gym's.
pub fn parse(text: &str) -> Result<(Level, Position), String> {
    let is_gym = !text.contains('#') && text.contains('+');
    let spaced = |line: &str| line.chars().filter(|letter| !letter.is_whitespace()).collect();
    let lines = text.lines().map(|line| if is_gym { spaced(line) } else { line.to_owned() });
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    let is_blank = |line: &&String| line.is_empty();
    let above = lines.iter().take_while(is_blank).count();
    let below = lines.iter().rev().take_while(is_blank).count();
    let lines = lines.get(above..lines.len() - below).unwrap_or_default();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    if width == 0 {
        return Err("is empty".to_owned());
    }
    if width.max(lines.len()) > MOST_ROWS {
        return Err(format!(
            "has {} rows and {width} columns; {MOST_ROWS} is the most",
            lines.len()
        ));
    }
    let known: &[(char, [bool; 4])] = if is_gym { &GYM } else { &COMMON };
    let mut cells = Vec::new();
    for line in lines {
        let padded = line.chars().chain(std::iter::repeat(if is_gym { '-' } else { ' ' }));
        for letter in padded.take(width) {
            let cell = known.iter().find(|(other, _)| *other == letter);
            cells.push(cell.ok_or_else(|| format!("has a {letter:?}, which means nothing"))?.1);
        }
    }
    assemble(width, &cells)
}

fn assemble(width: usize, cells: &[[bool; 4]]) -> Result<(Level, Position), String> {
    let layer = |index: usize| cells.iter().map(|cell| cell[index]).collect::<Vec<bool>>();
    let where_set = |index: usize| -> Vec<Cell> {
        let set = layer(index).into_iter().enumerate().filter(|(_, set)| *set);
        set.map(|(cell, _)| cell as Cell).collect()
    };
    let (boxes, goals) = (where_set(2), where_set(1).len());
    let [player] = where_set(3)[..] else {
        return Err(format!("has {} players, not one", where_set(3).len()));
    };
    match boxes.len() {
        0 => Err("has no box".to_owned()),
        count if count > MOST_BOXES => Err(format!("has {count} boxes; {MOST_BOXES} is the most")),
        count if count > goals => Err(format!("has {count} boxes but {goals} goals")),
        _ => Ok((
            Level::new(width as u16, layer(0), layer(1)),
            Position { player, boxes: boxes.into() },
        )),
    }
}

/// The letter for a cell in the common format, with `-` for floor.
pub fn letter(level: &Level, position: &Position, cell: Cell) -> char {
    let content = [
        !level.is_floor(cell),
        level.is_goal(cell),
        position.has_box(cell),
        position.player == cell,
    ];
    let known = COMMON.iter().find(|(letter, other)| *other == content && *letter != ' ');
    known.map_or('#', |&(letter, _)| letter)
}

/// The level in the common format, with `-` for floor.
pub fn drawn(level: &Level, position: &Position, between: &str) -> String {
    let cells: Vec<String> =
        level.cells().map(|cell| letter(level, position, cell).to_string()).collect();
    let rows = cells.chunks(usize::from(level.width())).map(|row| row.join(between));
    rows.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn read(text: &str) -> (Level, Position) {
        parse(text).expect("a level")
    }

    #[test]
    fn what_is_drawn_is_what_was_read() {
        let text = "#######\n#@$-*.#\n#--##-#\n###-+##".replace('+', "-");
        let (level, position) = read(&text);
        assert_eq!(drawn(&level, &position, ""), text);
        let (ragged, start) =
            read("\n\n  ####\n###  ####\n#     $ #\n# #  #$ #\n# . .#@ #\n#########\n");
        assert_eq!((ragged.width(), ragged.height()), (9, 6));
        assert_eq!(ragged.place(start.player), (4, 6));
        assert!(ragged.is_floor(0), "what lies outside is floor that nobody reaches");
    }

    #[test]
    fn what_is_no_level_is_refused_with_a_sentence() {
        for (entry, message) in [
            ("{", "the record is not JSON"),
            ("{\"board\": 3}", "the record has no `level`"),
            ("{\"level\": \" \\n\"}", "the level is empty"),
            ("{\"level\": \"#@ .#\"}", "the level has no box"),
            ("{\"level\": \"#@$#\"}", "the level has 1 boxes but 0 goals"),
            ("{\"level\": \"#@$.@#\"}", "the level has 2 players, not one"),
            ("{\"level\": \"#@$.x#\"}", "the level has a 'x', which means nothing"),
        ] {
            let sentence = of_record(entry).expect_err("no level").sentence();
            assert!(sentence.contains(message), "{sentence}");
        }
        let wide = format!("{{\"level\": \"{}\"}}", "#".repeat(25));
        assert!(of_record(&wide).expect_err("too wide").sentence().contains("25 columns"));
    }

    #[test]
    fn both_notations_and_all_layouts_give_the_same_level() {
        let (level, start) = read("#####\n#@$.#\n#####");
        for entry in [
            r######"{"level": "#####\n#@$.#\n#####\n"}"######,
            r######"{"puzzle": ["#####", "#@$.#", "#####"]}"######,
            r######"{"puzzle": [["#","#","#","#","#"],["#","@","$",".","#"],["#","#","#","#","#"]]}"######,
            r#"{"gamestr": "+ + + + +  \n+ * @ X +  \n+ + + + +  \n\n"}"#,
            r#"{"question": "?", "metadata": {"gamestr": "+ + + + +\n+ * @ X +\n+ + + + +"}}"#,
        ] {
            assert_eq!(
                of_record(entry).expect("a level"),
                (level.clone(), start.clone()),
                "{entry}"
            );
        }
    }
}
