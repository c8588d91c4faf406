//! Walks that look for an income without a solution: short sequences of
//! actions over and over, and whatever pays best at once.

use super::{Examination, ROUNDING};
use crate::environment::{Action, Problem, Seat, Split, Status};
use crate::testing::pace::Pace;
use crate::testing::report::{Objection, Seen};
use crate::testing::team::Team;
use crate::testing::walk::{Contests, Deed, Walk};

/// Sequences that are tried in a task, for every task per split of the scope.
const SEQUENCES_PER_TASK: usize = 24;
/// Texts among which a greedy walk chooses, for everybody.
const GREEDY_TEXTS: usize = 6;
/// How long a sequence is repeated that pays, as a multiple of the expert's way.
const ENOUGH: usize = 3;
/// Rounds of a sequence in which it has to pay at least once, to be gone on with: an income may
/// come with every third action only.
const RAREST: usize = 6;
/// Ways to take turns that are tried at most.
const PATTERNS: usize = 64;

/// A turn order: acts one after the other, and the seats that take part in each.
type Pattern<'t> = Vec<Vec<(Seat, &'t str)>>;

/// Search the first task of every split.
pub fn search(examination: &Examination) -> Result<Vec<Walk>, Objection> {
    let Examination { team, scope, pace, phrasebook, .. } = examination;
    let texts = phrasebook.short_texts();
    let patterns = patterns(team);
    let budget = (SEQUENCES_PER_TASK * scope.tasks as usize).div_ceil(patterns.len().max(1));
    let mut walks = Vec::new();
    for expert in examination.experts.iter().take(Split::ALL.len()) {
        let limit = scope.steps.max(ENOUGH * expert.steps.len());
        let search = Search { team, pace, texts: &texts, expert, limit };
        walks.extend(search.lazy()?);
        for pattern in &patterns {
            if !pace.goes_on(walks.len()) {
                break;
            }
            walks.extend(search.laps(pattern, budget)?);
        }
        if pace.goes_on(walks.len()) {
            walks.push(search.greedy(scope.steps / 2)?);
        }
    }
    Ok(walks)
}

/// Everybody alone, all at the same time, or two by turns.
fn patterns<'t>(team: &'t Team<'_>) -> Vec<Pattern<'t>> {
    let voices = team.voices();
    let alone = voices.iter().map(|one| vec![vec![one.clone()]]);
    let together = team.chorus().map(|all| vec![all]);
    let pairs = voices.iter().flat_map(|one| {
        let others = voices.iter().filter(move |other| *other != one);
        others.map(move |other| vec![vec![one.clone()], vec![other.clone()]])
    });
    alone.chain(together).chain(pairs).take(PATTERNS).collect()
}

/// How a sequence goes on after its first action.
enum Tail<'t> {
    /// Not at all.
    Nothing,
    /// As the expert says there: often by taking it back.
    Advice,
    /// With the first action's words in reverse.
    Reverse,
    /// With another text, said in all acts of the pattern or in its last alone.
    Text(&'t str, bool),
}

struct Search<'s> {
    team: &'s Team<'s>,
    pace: &'s Pace,
    texts: &'s [String],
    expert: &'s Walk,
    limit: usize,
}

impl Search<'_> {
    /// One of several players says nothing, or always the same, while the others
    /// do as the expert does.
    fn lazy(&self) -> Result<Vec<Walk>, Objection> {
        let players = self.team.players();
        let mut walks = Vec::new();
        for (player, seat) in players.iter().enumerate().filter(|_| players.len() > 1) {
            let first = self.expert.deeds_of(seat).next();
            let sayings = [first.cloned(), first.map(|one| Action::new(&one.kind, ""))];
            for said in sayings.into_iter().flatten() {
                let walk = Walk::take(self.team, &self.expert.task, self.limit, |walk| {
                    self.with_a_lazy(walk, player, &said)
                });
                walks.push(walk?);
            }
        }
        Ok(walks)
    }

    /// What the expert has every player do, but for one.
    fn with_a_lazy(&self, walk: &Walk, player: usize, said: &Action) -> Option<Deed> {
        let advice = walk.now().advice.iter().enumerate();
        let advised = advice.filter_map(|(who, action)| {
            let action = if who == player { said } else { action.as_ref()? };
            Some((self.team.players().get(who)?.clone(), action.clone()))
        });
        let advised: Vec<(Seat, Action)> = advised.collect();
        if self.team.is_joint {
            return (!advised.is_empty()).then(|| Deed::of(advised));
        }
        let turn = walk.steps.len() % advised.len().max(1);
        advised.into_iter().nth(turn).map(|one| Deed::of([one]))
    }

    /// Sequences of two texts, each repeated as long as it earns anything.
    fn laps(&self, pattern: &Pattern, budget: usize) -> Result<Vec<Walk>, Objection> {
        let mut walks = Vec::new();
        let mut heads = Vec::new();
        for text in self.texts {
            let walk = self.lap(pattern, text, &Tail::Nothing)?;
            let begun =
                walk.steps.get(pattern.len() - 1).is_some_and(|step| step.outcome.is_accepted());
            heads.extend(begun.then_some(text.as_str()));
            walks.push(walk);
        }
        for tail in self.tails() {
            for head in &heads {
                if walks.len() >= budget || !self.pace.goes_on(walks.len()) {
                    return Ok(walks);
                }
                walks.push(self.lap(pattern, head, &tail)?);
            }
        }
        Ok(walks)
    }

    fn tails(&self) -> Vec<Tail<'_>> {
        let fully = self.texts.iter().map(|text| Tail::Text(text, true));
        let briefly = self.texts.iter().map(|text| Tail::Text(text, false));
        let others = briefly.zip(fully).flat_map(|(brief, full)| [brief, full]);
        [Tail::Advice, Tail::Reverse].into_iter().chain(others).collect()
    }

    fn lap(&self, pattern: &Pattern, head: &str, tail: &Tail) -> Result<Walk, Objection> {
        let mut cycle: Vec<Deed> = pattern.iter().map(|act| Deed::saying(act, head)).collect();
        Walk::take(self.team, &self.expert.task, self.limit, |walk| {
            let steps = walk.steps.len();
            if steps == pattern.len() {
                if !walk.steps.last().is_some_and(|step| step.outcome.is_accepted()) {
                    return None;
                }
                cycle.extend(tail.deeds(self.team, pattern, head, walk));
            }
            let recent = RAREST * cycle.len();
            let pays = steps <= recent || has_income(walk, recent);
            pays.then(|| cycle[steps % cycle.len()].clone())
        })
    }

    /// Always what pays best at once, but for solving the task.
    fn greedy(&self, limit: usize) -> Result<Walk, Objection> {
        let mut trouble = None;
        let walk = Walk::take(self.team, &self.expert.task, limit, |walk| {
            self.best(walk).unwrap_or_else(|problem| {
                trouble = Some(problem);
                None
            })
        })?;
        match trouble {
            None => Ok(walk),
            Some(problem) => Err(Objection::from(problem)).seen(|| walk.reproducer()),
        }
    }

    fn best(&self, walk: &Walk) -> Result<Option<Deed>, Problem> {
        let Some(saved) = &walk.now().saved else { return Ok(None) };
        let contests = Contests::default();
        let mut best: Option<(f64, Deed)> = None;
        // The first texts come last and first by turns, so that equals alternate.
        let count = self.texts.len().max(1);
        let texts = self.texts.iter().cycle().skip(walk.steps.len() % count);
        for text in texts.take(GREEDY_TEXTS.min(self.texts.len())) {
            for voices in self.team.choices().into_iter().take(PATTERNS) {
                let deed = Deed::saying(&voices, text);
                let outcome = deed.carry_out(&mut *self.team.environment.resume(saved)?)?;
                let players = self.team.players().iter();
                let worth = players.map(|seat| deed.income(&outcome, seat, &contests)).sum();
                let better = best.as_ref().is_none_or(|(most, _)| worth > *most);
                if outcome.status == Status::Ongoing && better {
                    best = Some((worth, deed));
                }
            }
        }
        Ok(best.map(|(_, deed)| deed))
    }
}

impl Tail<'_> {
    fn deeds(&self, team: &Team, pattern: &Pattern, head: &str, walk: &Walk) -> Vec<Deed> {
        let last = &pattern[pattern.len() - 1..];
        let say = |acts: &[Vec<(Seat, &str)>], text: &str| -> Vec<Deed> {
            acts.iter().map(|act| Deed::saying(act, text)).collect()
        };
        match self {
            Tail::Nothing => Vec::new(),
            Tail::Advice => {
                let advice = walk.now().advice.iter().enumerate();
                let advice = advice.filter_map(|(player, action)| {
                    let action = action.clone()?;
                    Some((team.speaker(player, &action.kind), action))
                });
                let deed = Deed::of(advice.take(if team.is_joint { usize::MAX } else { 1 }));
                if deed.0.is_empty() { Vec::new() } else { vec![deed] }
            }
            Tail::Reverse => {
                let words: Vec<&str> = head.split_whitespace().rev().collect();
                say(last, &words.join(" "))
            }
            Tail::Text(text, fully) => say(if *fully { pattern } else { last }, text),
        }
    }
}

/// Whether a seat earned something in the last steps.
fn has_income(walk: &Walk, steps: usize) -> bool {
    let recent = &walk.steps[walk.steps.len().saturating_sub(steps)..];
    let contests = Contests::default();
    let income = |seat: &Seat| recent.iter().map(|step| step.income(seat, &contests)).sum::<f64>();
    walk.seats().iter().any(|seat| income(seat) > ROUNDING)
}
