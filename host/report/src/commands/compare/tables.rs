//! What was compared, as tables.

use super::Seen;
use crate::turnover::{Comparison, Crossing, Difficulty, Figure, Floor, Point, Turnover};
use troupe_core::outcome::Answers;
use troupe_core::statistics::{DRAWS, Measured};
use troupe_terminal as terminal;

/// Of one evaluator, and of a second with what it sees more than the first.
pub(super) fn show(seen: &Seen, also: Option<&(Seen, Vec<Point>)>) {
    show_one(seen);
    let Some((second, change)) = also else { return };
    terminal::line("\n  the second evaluator");
    show_one(second);
    terminal::line("\n  what it sees more than the first");
    show_figures(change);
}

fn show_one(seen: &Seen) {
    show_sets(&seen.compared);
    terminal::line("");
    show_figures(&seen.curve);
    show_floor(&seen.compared, &seen.curve);
    if let [_, _, ..] = seen.curve[..] {
        terminal::line("");
        show_curve(&seen.curve);
        let k = seen.compared.k;
        terminal::line(&format!("  {}", crossing(&seen.crossing, k)));
    }
}

fn show_sets(compared: &Comparison) {
    let cells = |name: &str, own: &Turnover| {
        let of = |count: usize| {
            format!("{count} ({})", terminal::percent(count as f64 / own.tasks.max(1) as f64))
        };
        let ratio = match own.expansion_to_shrinkage() {
            Some(ratio) => format!("{ratio:.2}"),
            None if own.gained > 0 => "none lost".to_owned(),
            None => "–".to_owned(),
        };
        let counts = [own.preserved, own.gained, own.lost, own.never].map(of);
        [name.to_owned(), own.tasks.to_string()].into_iter().chain(counts).chain([ratio]).collect()
    };
    let mut rows: Vec<Vec<String>> = vec![cells("all", &compared.all)];
    if compared.families.len() > 1 {
        rows.extend(compared.families.iter().map(|(name, own)| cells(name, own)));
    }
    rows.extend(
        compared
            .difficulties
            .iter()
            .map(|(difficulty, own)| cells(difficulty_name(*difficulty), own)),
    );
    let header =
        ["family or difficulty", "tasks", "preserved", "gained", "lost", "never", "gained / lost"];
    terminal::table(&header, &rows);
    if !compared.difficulties.is_empty() {
        terminal::line("  difficulty: by how many episodes before and after solved it, in thirds");
    }
    terminal::line(&match compared.answers {
        Answers::Greedy => "  solved: by the likeliest answers".to_owned(),
        Answers::Sampled => {
            format!("  solved: by one of {} sampled episodes of a task", compared.k)
        }
    });
}

pub(super) fn difficulty_name(difficulty: Difficulty) -> &'static str {
    match difficulty {
        Difficulty::Easy => "easy",
        Difficulty::Medium => "medium",
        Difficulty::Hard => "hard",
    }
}

/// The figures of all episodes, and, where chance can be told, of fewer beside it.
fn show_figures(curve: &[Point]) {
    let Some(all) = curve.last() else { return };
    let halves = halves(curve);
    let mut header = vec!["figure".to_owned(), String::new(), format!("at k = {}", all.k)];
    if let Some((k, ..)) = halves {
        let more = [format!("at k = {k}"), "by chance".to_owned(), "beyond chance".to_owned()];
        header.extend(more);
    }
    let row = |&figure: &Figure| {
        let (name, meaning) = label(figure);
        let mut cells = vec![name.to_owned(), meaning.to_owned()];
        cells.push(with_interval(figure, &all.sets));
        if let Some((_, sets, floor)) = halves {
            let more = [sets, &floor.by_chance, &floor.beyond];
            cells.extend(more.map(|figures| with_interval(figure, figures)));
        }
        cells
    };
    let rows: Vec<Vec<String>> = Figure::ALL.iter().map(row).collect();
    terminal::table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}

/// The largest k at which chance can be told, with what is seen there.
fn halves(curve: &[Point]) -> Option<(usize, &[Measured], &Floor)> {
    curve.iter().rev().find_map(|point| Some((point.k, &point.sets[..], point.floor.as_ref()?)))
}

/// Its name in tables, and what it is.
fn label(figure: Figure) -> (&'static str, &'static str) {
    match figure {
        Figure::Preserved => ("P", "preserved"),
        Figure::Gained => ("E", "gained"),
        Figure::Lost => ("S", "lost"),
        Figure::Never => ("O", "never"),
        Figure::Esr => ("ESR", "E / S"),
        Figure::Srr => ("SRR", "P / (P + S)"),
        Figure::Ndr => ("NDR", "E / (P + E)"),
        Figure::Sds => ("SDS", "harmonic mean of SRR and NDR"),
        Figure::Nscr => ("NSCR", "(E − S) / (P + E + S)"),
    }
}

fn show_floor(compared: &Comparison, curve: &[Point]) {
    terminal::line(&format!("  in brackets: 95 % of {DRAWS} draws of the tasks; ∞: no end"));
    let unknown =
        |of: &str| format!("not known of {of}; measure with `host eval --samples K`, K at least 2");
    let by_chance = match (halves(curve), compared.answers) {
        (Some((k, ..)), _) => format!(
            "{k} sampled episodes beside {k} others of the same side, the mean of both sides"
        ),
        (None, Answers::Greedy) => unknown("the likeliest answers"),
        (None, Answers::Sampled) => unknown("one episode of a task"),
    };
    terminal::line(&format!("  by chance: {by_chance}"));
}

fn show_curve(curve: &[Point]) {
    let header = [
        "k",
        "before",
        "after",
        "preserved",
        "gained",
        "lost",
        "never",
        "by chance",
        "ESR",
        "SRR",
        "NDR",
        "SDS",
        "NSCR",
    ];
    let known = |value: Option<f64>, digits: usize| {
        value.map_or("–".to_owned(), |value| number(value, digits))
    };
    let row = |point: &Point| {
        let share = |one: &Measured| one.value.map_or("–".to_owned(), terminal::percent);
        let sets = |figures: &[Figure]| -> Vec<String> {
            let cell = |&figure: &Figure| known(point.sets[figure.place()].value, digits(figure));
            figures.iter().map(cell).collect()
        };
        let moved = point.floor.as_ref().map(|floor| floor.by_chance[Figure::Gained.place()]);
        let by_chance = known(moved.and_then(|moved| moved.value), 1);
        let start = [vec![point.k.to_string()], point.pass.iter().map(share).collect()];
        let counts = [sets(Figure::COUNTS), vec![by_chance]];
        [start.concat(), counts.concat(), sets(Figure::RATIOS)].concat()
    };
    terminal::table(&header, &curve.iter().map(row).collect::<Vec<_>>());
    terminal::line("  by chance: so many are gained, and as many lost");
}

/// `2.41 (1.10 to 5.00)`.
fn with_interval(figure: Figure, figures: &[Measured]) -> String {
    let Measured { value, low, high } = figures[figure.place()];
    let Some(value) = value else { return "not defined".to_owned() };
    let end = |end: Option<f64>, none: &str| {
        end.map_or(none.to_owned(), |end| number(end, digits(figure)))
    };
    format!("{} ({} to {})", number(value, digits(figure)), end(low, "−∞"), end(high, "∞"))
}

fn digits(figure: Figure) -> usize {
    if Figure::RATIOS.contains(&figure) { 2 } else { 1 }
}

/// With a sign that is one, and none of 0.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_negative = value < 0.0 && text.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    if is_negative { format!("−{text}") } else { text }
}

fn crossing(crossing: &Crossing, last: usize) -> String {
    let k = |value: Option<f64>, none: &str| value.map_or(none.to_owned(), |k| format!("{k}"));
    let found = match crossing.k.value {
        None => format!("before passes after at no k up to {last}"),
        Some(1.0) => "before passes after at k = 1 already".to_owned(),
        Some(first) => format!("before passes after from k = {first} on"),
    };
    let Some(ahead) = crossing.ahead_at_last else { return found };
    let (low, high) = (k(crossing.k.low, "none"), k(crossing.k.high, "none"));
    format!(
        "{found} (95 %: {low} to {high}); at k = {last} it is ahead in {} of the draws",
        terminal::percent(ahead)
    )
}
