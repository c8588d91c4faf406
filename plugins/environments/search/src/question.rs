//! A question, what answers it, and which documents it takes.

use plugin_sdk::environment::{Problem, Split, Task};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};

use crate::world::{Relation, Thing, Value, World};

/// Questions to draw before the settings are called impossible.
const ATTEMPTS: usize = 2000;
/// Bytes of a record's question, of an answer or a title, and how many of them.
const QUESTION_BYTES: usize = 4096;
const ANSWER_BYTES: usize = 512;
const ENTRIES: usize = 32;

/// A question with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// What counts as the answer, the usual form first.
    pub answers: Vec<String>,
    /// The titles of the documents that it takes, in order, and what an expert
    /// searches for to find them.
    pub hops: Vec<(String, String)>,
}

/// A record, as data sets like HotpotQA have it.
#[derive(Deserialize)]
struct Record {
    question: String,
    answer: Answer,
    #[serde(default)]
    hops: Hops,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    One(String),
    Several(Vec<String>),
}

/// Titles of the documents that are needed; some data sets only count them.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Hops {
    #[default]
    Unknown,
    Titles(Vec<String>),
    Count(#[allow(dead_code, reason = "a count says nothing about documents")] u32),
}

impl Question {
    /// The question of a task: its record, if it has one, or one about the world.
    pub fn of(task: &Task) -> Result<Self, Problem> {
        match &task.entry {
            Some(entry) => Question::from_record(entry),
            None => Question::draw(task),
        }
    }

    fn from_record(entry: &str) -> Result<Self, Problem> {
        let form = r#"`{"question": "...", "answer": "..."}`"#;
        let record: Record = serde_json::from_str(entry).map_err(|error| {
            Problem::task(format!("the record is not one like {form}: {error}"))
        })?;
        let answers = match record.answer {
            Answer::One(answer) => vec![answer],
            Answer::Several(answers) => answers,
        };
        let hops = match record.hops {
            Hops::Titles(titles) => {
                titles.into_iter().map(|title| (title.clone(), title)).collect()
            }
            Hops::Unknown | Hops::Count(_) => Vec::new(),
        };
        let question = Question { text: record.question, answers, hops };
        question.check().map_err(|fault| Problem::task(format!("the record {fault}")))?;
        Ok(question)
    }

    fn check(&self) -> Result<(), String> {
        let Question { text, answers, hops } = self;
        if text.trim().is_empty() || text.len() > QUESTION_BYTES {
            return Err(format!("has no question of at most {QUESTION_BYTES} bytes"));
        }
        if answers.is_empty() || answers.len() > ENTRIES || hops.len() > ENTRIES {
            return Err(format!("has no answer, or more than {ENTRIES} answers or hops"));
        }
        let titles = hops.iter().map(|(title, _)| title);
        if answers.iter().chain(titles).any(|text| text.len() > ANSWER_BYTES) {
            return Err(format!("has an answer or a title of more than {ANSWER_BYTES} bytes"));
        }
        match answers.iter().all(|answer| normalized(answer).is_empty()) {
            true => Err("has no answer that could be given".to_owned()),
            false => Ok(()),
        }
    }

    /// Draw a question. It belongs to the split that its text decides, so none is
    /// in two splits.
    fn draw(task: &Task) -> Result<Self, Problem> {
        let world = World::new();
        let (fewest, most): (usize, usize) =
            (task.settings.integer("min_hops")?, task.settings.integer("max_hops")?);
        let mut random = Random::new(task.split, task.seed, "question");
        let things = world.things();
        (0..ATTEMPTS)
            .filter_map(|_| {
                let hops = fewest + random.below(most + 1 - fewest);
                let start = *random.choose(&things)?;
                ask(&world, start, hops, &mut random)
            })
            .find(|question| Split::owning(question.text.as_bytes()) == task.split)
            .ok_or_else(|| Problem::settings(format!("no question in {ATTEMPTS} attempts")))
    }

    /// Whether this is the answer, but for articles, case and punctuation.
    pub fn is_answered_by(&self, text: &str) -> bool {
        let said = normalized(text);
        !said.is_empty() && self.answers.iter().any(|answer| normalized(answer) == said)
    }
}

/// A question that takes so many steps from the thing and comes back to nothing.
fn ask(world: &World, start: Thing, hops: usize, random: &mut Random) -> Option<Question> {
    let mut phrase = world.name(start).to_owned();
    let mut value = Value::Thing(start);
    let mut path = Vec::new();
    for left in (0..hops).rev() {
        let Value::Thing(here) = value else { return None };
        let leads_on = |relation: &&Relation| match world.follow(here, **relation) {
            Some(Value::Thing(next)) => !path.contains(&next) && next != here,
            Some(Value::Words(_)) => left == 0,
            None => false,
        };
        let relations: Vec<&Relation> = Relation::ALL.iter().filter(leads_on).collect();
        let relation = **random.choose(&relations)?;
        value = world.follow(here, relation)?;
        phrase = relation.phrase(&phrase);
        path.push(here);
        // What is searched for has the thing's name and a word of what is asked.
        if left == 0 {
            let hops = searches(world, &path, start, relation);
            let word = if let Value::Thing(Thing::Person(_)) = value { "Who" } else { "What" };
            let text = format!("{word} is {phrase}?");
            return Some(Question { text, answers: vec![world.words(value).to_owned()], hops });
        }
    }
    None
}

/// For every thing on the way its title, and what finds it.
fn searches(world: &World, path: &[Thing], start: Thing, last: Relation) -> Vec<(String, String)> {
    let nexts = path.iter().skip(1).map(Some).chain([None]);
    let hop = |(thing, next): (&Thing, Option<&Thing>)| {
        let leads = |relation: &&Relation| match (world.follow(*thing, **relation), next) {
            (Some(Value::Thing(to)), Some(next)) => to == *next,
            _ => false,
        };
        let relation = Relation::ALL.iter().find(leads).copied().unwrap_or(last);
        let name = world.name(*thing).to_owned();
        let query = format!("{name} {}", relation.keyword());
        (name, query)
    };
    debug_assert_eq!(path.first(), Some(&start));
    path.iter().zip(nexts).map(hop).collect()
}

/// The text in small letters, without punctuation and articles; articles alone
/// are kept.
pub fn normalized(text: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || letter.is_whitespace();
    let plain: String = text.to_lowercase().chars().filter(kept).collect();
    let all: Vec<&str> = plain.split_whitespace().collect();
    let words: Vec<&str> =
        all.iter().copied().filter(|word| !["a", "an", "the"].contains(word)).collect();
    if words.is_empty() { all.join(" ") } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Search;

    #[test]
    fn an_answer_is_compared_without_articles_case_and_punctuation() {
        let question = Question {
            text: "?".to_owned(),
            answers: vec!["The Gray Sea".to_owned(), "Gray Ocean".to_owned()],
            hops: Vec::new(),
        };
        for text in ["gray sea", "the Gray Sea.", "\"Gray  Sea\"", "gray ocean"] {
            assert!(question.is_answered_by(text), "{text}");
        }
        for text in ["", "the", "sea", "It is the Gray Sea", "gray sea or gray ocean"] {
            assert!(!question.is_answered_by(text), "{text}");
        }
    }

    #[test]
    fn records_are_read_and_refused_in_a_sentence() {
        let read = |entry: &str| Question::from_record(entry);
        let one = read(r#"{"question": "Q?", "answer": "A", "type": "bridge"}"#).expect("a record");
        assert_eq!((one.answers.len(), one.hops.len()), (1, 0));
        let many = read(r#"{"question": "Q?", "answer": ["A", "B"], "hops": ["T", "U"]}"#);
        let many = many.expect("a record");
        assert_eq!((many.answers.len(), many.hops[1].0.as_str()), (2, "U"));
        read(r#"{"question": "Q?", "answer": "A", "hops": 2}"#).expect("a record");
        for entry in [
            "[",
            r#"{"question": "Q?"}"#,
            r#"{"question": "", "answer": "A"}"#,
            r#"{"question": "Q?", "answer": []}"#,
            r#"{"question": "Q?", "answer": "?!"}"#,
        ] {
            let problem = read(entry).expect_err(entry).sentence();
            assert!(problem.starts_with("invalid task: the record "), "{problem}");
        }
    }

    #[test]
    fn questions_take_as_many_documents_as_wanted_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..100 {
                let hops = 1 + seed as i32 % 4;
                let task = Task::of::<Search>(split, seed);
                let task = task.with("min_hops", hops).with("max_hops", hops);
                let question = Question::draw(&task).expect("a question");
                assert_eq!(question.hops.len(), hops as usize, "{}", question.text);
                assert_eq!(Split::owning(question.text.as_bytes()), split);
                assert!(!question.text.contains(&question.answers[0]), "{}", question.text);
            }
        }
    }
}
