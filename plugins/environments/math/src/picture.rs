//! How an episode looks to a person: the question on a sheet, and the answer
//! below it.

use plugin_sdk::rendering::{Rendering, escaped};

use crate::question::Question;

/// Letters in a line, and lines on the sheet.
const COLUMNS: usize = 60;
const LINES: usize = 24;
/// Pixels between two lines, and across a letter.
const LEADING: usize = 22;
const LETTER: usize = 9;

/// Draw the question, and the answer if there is one.
pub fn draw(question: &Question, answered: Option<&(String, bool)>) -> Rendering {
    let mut lines = wrapped(&question.text);
    lines.truncate(LINES);
    let verdict = match answered {
        None => "?".to_owned(),
        Some((answer, true)) => format!("{} ✓", brief(answer)),
        Some((answer, false)) => format!("{} ✗", brief(answer)),
    };
    lines.extend([String::new(), format!("= {verdict}")]);
    let (width, height) = (LETTER * (COLUMNS + 4), LEADING * (lines.len() + 2));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"15\"><rect width=\"{width}\" height=\"{height}\" \
         fill=\"#fdfcf7\"/>"
    );
    for (index, line) in lines.iter().enumerate() {
        let (y, text) = (LEADING * (index + 2), escaped(line));
        svg += &format!("<text x=\"{}\" y=\"{y}\">{text}</text>", 2 * LETTER);
    }
    Rendering { text: lines.join("\n"), svg: svg + "</svg>" }
}

fn brief(text: &str) -> String {
    text.chars().take(COLUMNS - 6).collect()
}

/// The text in lines of so many letters, broken between words where that can be.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().take(LINES * COLUMNS) {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(COLUMNS) {
            let line = lines.last().map_or(0, |line| line.chars().count());
            if line > 0 && line + 1 + piece.len() > COLUMNS {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.extend(
                    (!line.is_empty()).then_some(' ').into_iter().chain(piece.iter().copied()),
                );
            }
        }
        if lines.len() > LINES {
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_of_hostile_text_is_only_looked_at() {
        let text = "<script>1</script> href url(x) onload=1 F HREF javascript:1 ".repeat(2_000);
        let mut question = Question::generated(text, String::new(), "1".to_owned());
        question.text.push_str(&"x".repeat(100_000));
        let answered = ("href=\"&\u{7}".repeat(99), false);
        assert_eq!(draw(&question, Some(&answered)).check(), Ok(()));
        assert_eq!(draw(&question, None).check(), Ok(()));
    }

    #[test]
    fn the_answer_stands_below_the_question() {
        let question =
            Question::generated("Compute 1 + 2.".to_owned(), String::new(), "3".to_owned());
        let drawn = draw(&question, Some(&("3".to_owned(), true)));
        assert_eq!(drawn.text, "Compute 1 + 2.\n\n= 3 ✓");
    }
}
