use std::collections::BTreeMap;
use std::path::Path;

use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use troupe_core::config::Config;
use troupe_core::forecast::{FILE, Forecast};
use troupe_core::storage::write_json;

/// A run of three steps of one role, whose name would move a cursor.
fn run(folder: &Path) {
    std::fs::write(folder.join("config.toml"), Config::default().to_toml()).unwrap();
    let line = |step: usize, success: f64| {
        let role = serde_json::json!({
            "reward": { "mean": step, "std": 0.5 }, "accepted": 0.25, "cut": 0.125,
            "groups": { "spread": 0.75, "dropped": 0.5 },
        });
        let updates =
            serde_json::json!({ "shared": { "entropy": 1.5, "compared": 7, "kl": 0.4321 } });
        serde_json::json!({
            "step": step,
            "validation": { "greedy": { "success": success } },
            "roles": { "pla/n\u{1b}[2Jner": role },
            "updates": updates,
            "warnings": [format!("warning {step}\u{202e}")],
        })
    };
    let lines: Vec<String> =
        (1..=3).map(|step| line(step, step as f64 / 4.0).to_string()).collect();
    std::fs::write(folder.join("metrics.jsonl"), lines.join("\n") + "\n{\"step\":4,").unwrap();
}

/// The lines of a view in a terminal of this size.
fn lines(sight: &Sight, view: View, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(sight, view, frame.area(), frame.buffer_mut())).unwrap();
    terminal.backend().to_string()
}

#[test]
fn each_view_shows_its_part_and_nothing_that_a_terminal_would_obey() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let sight = Sight::of(folder.path()).unwrap();
    for (view, parts) in [
        (View::Curves, &["likeliest answers 75.0 %", "pla/n\\u001b[2Jner 3.000"][..]),
        (View::Figures, &["25.0 %", "12.5 %", "0.7500", "50.0 %", "shared", "1.5000", "7"]),
        (View::Episodes, &["the last episodes"]),
        (View::Warnings, &["step 3: warning 3\\u202e", "step 1: warning 1"]),
    ] {
        let lines = lines(&sight, view, (110, 30));
        assert!(lines.contains("step 3 of 100, not finished, 3 warnings"), "{lines}");
        parts.iter().for_each(|part| assert!(lines.contains(part), "{part}: {lines}"));
        assert!(!lines.contains(['\u{1b}', '\u{202e}']), "{lines}");
    }
}

/// A run that has come to its third step of 100, by a clock, after a look and the test tasks.
fn timed(folder: &Path) {
    std::fs::write(folder.join("config.toml"), Config::default().to_toml()).unwrap();
    let family = serde_json::json!({ "episodes": 8, "solved": 0.5, "turns": 4, "turns_solved": 2 });
    let line = |step: u64| {
        serde_json::json!({
            "step": step,
            "families": { "maze": family },
            "totals": { "samples": 100 * step, "completion_tokens": 1000 * step },
            "timing": { "seconds": {}, "totals": { "seconds": 60 + 10 * step } },
        })
    };
    let lines: Vec<serde_json::Value> = (0..=3).map(line).collect();
    let forecast = Forecast::of(&lines, &Config::default(), &BTreeMap::new()).unwrap();
    write_json(&folder.join(FILE), &forecast).unwrap();
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    std::fs::write(folder.join("metrics.jsonl"), lines.join("\n") + "\n").unwrap();
}

#[test]
fn what_was_to_be_expected_stands_beside_what_came() {
    let folder = tempfile::tempdir().unwrap();
    timed(folder.path());
    let sight = Sight::of(folder.path()).unwrap();
    let told = lines(&sight, View::Curves, (120, 30));
    let expected = "forecast after two steps: 10 min 23 s (8 min 20 s to 16 min 40 s); 30.0 s so \
                    far, 16 min 10 s left at this pace";
    assert!(told.contains(expected), "{told}");
    std::fs::write(folder.path().join("summary.json"), "{}").unwrap();
    let told = lines(&Sight::of(folder.path()).unwrap(), View::Curves, (120, 30));
    assert!(told.contains("to 16 min 40 s); it took 30.0 s"), "{told}");
}

#[test]
fn what_is_left_is_told_by_the_configuration_as_it_is_now() {
    let folder = tempfile::tempdir().unwrap();
    timed(folder.path());
    let told = |config: &str| {
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        lines(&Sight::of(folder.path()).unwrap(), View::Curves, (120, 30))
    };
    let longer = told("[train]\nsteps = 137\n");
    assert!(longer.contains("step 3 of 137, not finished"), "{longer}");
    assert!(longer.contains("30.0 s so far, 22 min 20 s left at this pace"), "{longer}");
    assert!(!longer.contains("forecast"), "it was for 100 steps: {longer}");
    let budgeted = told("[train.budget]\nsamples = 600\n");
    assert!(budgeted.contains("step 3, not finished"), "{budgeted}");
    assert!(budgeted.contains("30.0 s so far, 30.0 s left at this pace"), "{budgeted}");
}

#[test]
fn a_divergence_is_shown_only_where_there_is_a_reference() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let figures = || lines(&Sight::of(folder.path()).unwrap(), View::Figures, (110, 30));
    assert!(!figures().contains("0.4321"), "{}", figures());
    let config = "[train]\nkl_coefficient = 0.1\n";
    std::fs::write(folder.path().join("config.toml"), config).unwrap();
    assert!(figures().contains("0.4321"), "{}", figures());
}

#[test]
fn all_that_a_run_said_is_printed_however_much_it_is() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let long = "x".repeat(300);
    let line = |step: usize| {
        serde_json::json!({ "step": step, "warnings": [format!("{long} {step}")] }).to_string()
    };
    let said: Vec<String> = (0..90).map(line).collect();
    std::fs::write(folder.path().join("metrics.jsonl"), said.join("\n") + "\n").unwrap();
    let lines = printed(&Sight::of(folder.path()).unwrap());
    for step in 0..90 {
        assert!(lines.contains(&format!("step {step}: {long} {step}")), "{step}: {lines:?}");
    }
}

#[test]
fn a_terminal_of_any_size_can_be_drawn_on() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let sight = Sight::of(folder.path()).unwrap();
    for size in [(1, 1), (3, 2), (20, 5), (300, 100)] {
        for (view, _) in View::TABS.into_iter().chain([(View::Everything, "")]) {
            lines(&sight, view, size);
        }
    }
}

#[test]
fn one_goes_round_the_views_in_both_directions() {
    let mut view = View::Curves;
    for (expected, _) in View::TABS.into_iter().skip(1).chain([View::TABS[0]]) {
        view = view.next(1);
        assert_eq!(view, expected);
    }
    assert_eq!(View::Curves.next(-1), View::Warnings);
}
