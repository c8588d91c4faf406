//! How often the tasks of an exam were solved, task by task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::estimates::ByTask;
use troupe_core::outcome::{Answers, Outcome};
use troupe_core::statistics::chance_of_one;

/// How often the tasks of an exam were solved: by the likeliest answers, and by sampled ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Examined {
    greedy: Tallies,
    sampled: Tallies,
    /// Episodes that ended void.
    void: usize,
}

/// Episodes that solved their task, and all of it, by family and task.
type Tallies = BTreeMap<(String, u32), (usize, usize)>;

impl Examined {
    /// What came of the episodes of an exam.
    pub fn of<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Self {
        let mut examined = Examined::default();
        for outcome in outcomes {
            let tallies = match outcome.answers {
                Answers::Greedy => &mut examined.greedy,
                Answers::Sampled => &mut examined.sampled,
            };
            let tally = tallies.entry((outcome.family.clone(), outcome.task)).or_default();
            tally.0 += usize::from(outcome.solved);
            tally.1 += 1;
            examined.void += usize::from(outcome.ending == "void");
        }
        examined
    }

    fn tallies(&self, answers: Answers) -> &Tallies {
        match answers {
            Answers::Greedy => &self.greedy,
            Answers::Sampled => &self.sampled,
        }
    }

    /// The share of a task's episodes that solve it, by task.
    pub fn solved_shares(&self, answers: Answers) -> ByTask {
        let share = |(solved, all): (usize, usize)| solved as f64 / all as f64;
        let tallies = self.tallies(answers).iter();
        tallies.map(|(task, tally)| (task.clone(), share(*tally))).collect()
    }

    /// The chance that one of k sampled episodes of a task solves it, by task.
    pub fn chances(&self, k: usize) -> ByTask {
        let enough = self.sampled.iter().filter(|(_, (_, all))| *all >= k);
        enough
            .map(|(task, (solved, all))| (task.clone(), chance_of_one(*all, *solved, k)))
            .collect()
    }

    /// Episodes, and those of them that ended void.
    pub fn episodes(&self) -> (usize, usize) {
        let of = |tallies: &Tallies| tallies.values().map(|(_, all)| all).sum::<usize>();
        (of(&self.greedy) + of(&self.sampled), self.void)
    }
}

/// The same as a cell's file has it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// By family: for each task in its order, how many of its episodes solved it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    greedy: BTreeMap<String, Counts>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sampled: BTreeMap<String, Counts>,
    #[serde(default, skip_serializing_if = "troupe_core::totals::is_zero")]
    void: usize,
}

/// Of each task from 0 on, how many episodes solved it, and of how many; none of a task that was
/// not examined.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Counts {
    of: usize,
    solved: Vec<Option<usize>>,
}

impl From<Examined> for Written {
    fn from(examined: Examined) -> Self {
        let of = |tallies: &Tallies| {
            let mut families: BTreeMap<String, Counts> = BTreeMap::new();
            for ((family, task), (solved, all)) in tallies {
                let counts = families.entry(family.clone()).or_default();
                counts.of = counts.of.max(*all);
                counts.solved.resize(*task as usize, None);
                counts.solved.push(Some(*solved));
            }
            families
        };
        Written {
            greedy: of(&examined.greedy),
            sampled: of(&examined.sampled),
            void: examined.void,
        }
    }
}

impl From<Written> for Examined {
    fn from(written: Written) -> Self {
        let of = |families: BTreeMap<String, Counts>| {
            let of_family = |(family, counts): (String, Counts)| {
                let tally = move |(task, solved): (usize, Option<usize>)| {
                    // A file has no more tasks than an exam, whose number has 32 bits.
                    let task = u32::try_from(task).unwrap_or(u32::MAX);
                    solved.map(|solved| ((family.clone(), task), (solved, counts.of)))
                };
                counts.solved.into_iter().enumerate().filter_map(tally)
            };
            families.into_iter().flat_map(of_family).collect()
        };
        Examined { greedy: of(written.greedy), sampled: of(written.sampled), void: written.void }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(task: u32, answers: Answers, solved: bool) -> Outcome {
        let ending = if solved { "solved" } else { "void" };
        let line = serde_json::json!({
            "step": 0, "split": "test", "answers": answers, "family": "maze", "task": task,
            "sample": 0, "ending": ending, "solved": solved, "turns": 1, "completion_tokens": 1,
            "prompt_tokens": 1, "reward": 0.0, "last": null,
        });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn what_is_written_of_an_exam_says_all_that_is_known_of_its_tasks() {
        let outcomes = [
            outcome(0, Answers::Greedy, true),
            outcome(2, Answers::Greedy, false),
            outcome(0, Answers::Sampled, true),
            outcome(0, Answers::Sampled, false),
        ];
        let examined = Examined::of(&outcomes);
        assert_eq!(examined.episodes(), (4, 2));
        let task = |task| ("maze".to_owned(), task);
        let greedy = [(task(0), 1.0), (task(2), 0.0)].into();
        assert_eq!(examined.solved_shares(Answers::Greedy), greedy);
        assert_eq!(examined.solved_shares(Answers::Sampled), [(task(0), 0.5)].into());
        assert_eq!(examined.chances(2), [(task(0), 1.0)].into());
        let text = serde_json::to_string(&examined).unwrap();
        assert!(text.starts_with(r#"{"greedy":{"maze":{"of":1,"solved":[1,null,0]}}"#), "{text}");
        assert_eq!(serde_json::from_str::<Examined>(&text).unwrap(), examined);
    }
}
