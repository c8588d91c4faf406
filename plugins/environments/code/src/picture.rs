//! How an episode looks to a person: what the roles see, and below it a box for
//! each example and each of the team's tests.

use plugin_sdk::rendering::{Rendering, escaped};

use crate::game::Attempt;
use crate::suite::Suite;
use crate::trial::Trial;

/// Letters in a line, and lines of the sheet.
const COLUMNS: usize = 90;
const LINES: usize = 60;
/// Pixels between two lines, across a letter, and of a box.
const LEADING: usize = 18;
const LETTER: usize = 8;
const BOX: usize = 16;

/// Draw what is seen, and what tests said.
pub fn draw(seen: &str, attempt: Option<&Attempt>, suite: &Suite) -> Rendering {
    let lines: Vec<String> = seen.lines().take(LINES).map(cut).collect();
    let examples = attempt.map_or(&[][..], |attempt| &attempt.examples);
    let rows = [("examples", examples), ("tests", &suite.trials)];
    let (width, height) = (LETTER * (COLUMNS + 4), LEADING * (lines.len() + 5));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\"><rect width=\"{width}\" height=\"{height}\" \
         fill=\"#fdfcf7\"/>"
    );
    for (index, line) in lines.iter().enumerate() {
        svg += &written(line, LEADING * (index + 2));
    }
    let mut text = lines.join("\n");
    for (index, (name, trials)) in rows.into_iter().enumerate() {
        let y = LEADING * (lines.len() + 3 + index);
        svg += &written(name, y);
        svg += &boxes(trials, y - BOX / 2 - LETTER / 2);
        let marks: String =
            trials.iter().map(|trial| if trial.passed { '✓' } else { '✗' }).collect();
        text += &format!("\n{name} {marks}");
    }
    Rendering { text, svg: svg + "</svg>" }
}

fn written(line: &str, y: usize) -> String {
    format!("<text x=\"{}\" y=\"{y}\" xml:space=\"preserve\">{}</text>", 2 * LETTER, escaped(line))
}

fn boxes(trials: &[Trial], y: usize) -> String {
    let one = |(index, trial): (usize, &Trial)| {
        let (x, color) =
            (LETTER * 14 + index * (BOX + 4), if trial.passed { "#4a9d5b" } else { "#c8553d" });
        format!("<rect x=\"{x}\" y=\"{y}\" width=\"{BOX}\" height=\"{BOX}\" fill=\"{color}\"/>")
    };
    trials.iter().enumerate().map(one).collect()
}

fn cut(line: &str) -> String {
    line.chars().take(COLUMNS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_of_hostile_text_is_only_looked_at() {
        let seen = "<script>1</script> href url(x) onload=1 javascript:1 \u{1}\n".repeat(2_000);
        let trial = |passed| Trial { passed, builds: true, ran: true, detail: seen.clone() };
        let suite = Suite { tests: Vec::new(), trials: vec![trial(true), trial(false)] };
        let drawn = draw(&seen, None, &suite);
        assert_eq!(drawn.check(), Ok(()));
        assert!(drawn.text.ends_with("tests ✓✗"), "{}", drawn.text);
    }
}
