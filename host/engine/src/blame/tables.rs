//! What was found, as tables.

use std::collections::BTreeMap;

use super::report;
use troupe_core::blame::{Blame, Effect, Measure, Turn};
use troupe_core::statistics::Interval;

/// Examples of a kind of turn that loses tasks.
const EXAMPLES: usize = 3;
/// Letters of an answer that a cell shows.
const LETTERS: usize = 24;

/// An episode: its turning points, or all of its turns.
pub fn episode(blame: &Blame, margin: f64, whole: bool) {
    let Blame { episode, outcome, start, .. } = blame;
    let number = match episode.episode {
        0 => String::new(),
        number => format!(", sample {number}"),
    };
    report::line(&format!(
        "{} task {}{number}: {}; outcome {}, its start was worth {} ± {}",
        episode.split,
        episode.seed,
        episode.ending.word(),
        worth(blame, *outcome),
        worth(blame, start.mean),
        worth(blame, 1.96 * start.error),
    ));
    let mut turns: Vec<(usize, &Turn)> = blame.turns().collect();
    if !whole {
        turns.retain(|(_, turn)| turn.effect.mean.abs() > margin);
        turns.sort_by(|(_, one), (_, other)| {
            other.effect.mean.abs().total_cmp(&one.effect.mean.abs())
        });
    }
    if turns.is_empty() {
        return report::line(&format!("  no turn changed more than {margin}"));
    }
    let rows: Vec<Vec<String>> =
        turns.into_iter().map(|(round, turn)| row(blame, round, turn)).collect();
    report::table(&["round", "role", "turn", "worth", "changed (95 %)", "answered", "else"], &rows);
}

fn row(blame: &Blame, round: usize, turn: &Turn) -> Vec<String> {
    let of_round = blame.rounds.iter().find(|other| other.round == round);
    let values = of_round.map_or(String::new(), |values| {
        format!("{} → {}", worth(blame, values.before.mean), worth(blame, values.after.mean))
    });
    let seat = match turn.instance {
        0 => turn.role.clone(),
        instance => format!("{} {}", turn.role, instance + 1),
    };
    vec![
        (round + 1).to_string(),
        seat,
        (turn.turn + 1).to_string(),
        values,
        changed(&turn.effect),
        short(&turn.text),
        instead(blame, round, turn),
    ]
}

/// The likeliest answer that is another, and what came of it.
fn instead(blame: &Blame, round: usize, turn: &Turn) -> String {
    let forks = blame.rounds.iter().find(|other| other.round == round);
    let forks = forks.map_or(0, |round| round.before.forks);
    let other = turn.alternatives.iter().find(|other| other.text != turn.text);
    other.map_or("–".to_owned(), |other| {
        let outcome = worth(blame, other.outcome);
        format!("{} {} of {forks}: {outcome}", short(&other.text), other.drawn)
    })
}

fn worth(blame: &Blame, value: f64) -> String {
    match blame.measure {
        Measure::Solved => format!("{value:.2}"),
        Measure::Reward => format!("{value:+.2}"),
    }
}

fn changed(effect: &Effect) -> String {
    let Effect { mean, interval: Interval { low, high }, .. } = effect;
    format!("{mean:+.2} ({low:+.2} to {high:+.2})")
}

fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(LETTERS).collect();
    if text.chars().count() > LETTERS {
        shown.push('…');
    }
    format!("“{shown}”")
}

/// What each role changed.
pub fn roles(found: &[Blame], margin: f64) {
    let mut roles: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    for (_, turn) in found.iter().flat_map(Blame::turns) {
        roles.entry(&turn.role).or_default().push(&turn.effect);
    }
    let episodes = found.len() as f64;
    let rows = roles.into_iter().map(|(role, effects)| {
        let sum = |of: &dyn Fn(&Effect) -> f64| effects.iter().map(|e| of(e)).sum::<f64>();
        let half = 1.96 * sum(&|effect| effect.error.powi(2)).sqrt();
        let mean = sum(&|effect| effect.mean);
        let [low, high] = [mean - half, mean + half].map(|bound| bound / episodes);
        let lost = effects.iter().filter(|effect| effect.loses(margin)).count();
        let won = effects.iter().filter(|effect| effect.mean > margin).count();
        vec![
            role.to_owned(),
            effects.len().to_string(),
            format!("{:+.3} ({low:+.3} to {high:+.3})", mean / episodes),
            won.to_string(),
            lost.to_string(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    report::line("");
    let [more, less] = [format!("gained > {margin}"), format!("lost > {margin}")];
    report::table(&["role", "turns", "changed an episode by (95 %)", &more, &less], &rows);
}

/// A turn, the number of its round, and its episode.
type Found<'f> = (&'f Blame, usize, &'f Turn);

/// Which role loses tasks in which situation.
pub fn failures(found: &[Blame], margin: f64) {
    let mut kinds: BTreeMap<(&str, String), Vec<Found>> = BTreeMap::new();
    let mut all: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for blame in found {
        for (round, turn) in blame.turns() {
            let situation =
                turn.situation.clone().unwrap_or_else(|| format!("turn {}", turn.turn + 1));
            let kind = (turn.role.as_str(), situation);
            *all.entry(kind.clone()).or_default() += 1;
            if turn.effect.loses(margin) {
                kinds.entry(kind).or_default().push((blame, round, turn));
            }
        }
    }
    let lost = |turns: &[Found]| turns.iter().map(|(_, _, turn)| -turn.effect.mean).sum::<f64>();
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|(_, one), (_, other)| lost(other).total_cmp(&lost(one)));
    let rows: Vec<Vec<String>> = kinds
        .iter()
        .map(|(kind, turns)| {
            let (role, situation) = kind;
            let count = format!("{} of {}", turns.len(), all[kind]);
            vec![(*role).to_owned(), situation.clone(), count, format!("{:.2}", lost(turns))]
        })
        .collect();
    report::line("");
    report::table(&["role", "situation", "turns that lost", "lost in all"], &rows);
    for ((role, situation), mut turns) in kinds {
        turns.sort_by(|(.., one), (.., other)| one.effect.mean.total_cmp(&other.effect.mean));
        report::line(&format!("{role}, {situation}:"));
        for (blame, round, turn) in turns.into_iter().take(EXAMPLES) {
            report::line(&format!(
                "  task {}, round {}: {} {}; else {}",
                blame.episode.seed,
                round + 1,
                short(&turn.text),
                changed(&turn.effect),
                instead(blame, round, turn)
            ));
        }
    }
}

/// Whether what rounds changed comes to what episodes came to.
pub fn adds_up(found: &[Blame]) -> String {
    let remainders = found.iter().map(Blame::remainder);
    let within = remainders.filter(|(left, error)| left.abs() <= 1.96 * error).count();
    format!(
        "what the rounds changed adds up to outcome − start within its 95 % interval in {within} of \
         {} episodes",
        found.len()
    )
}
