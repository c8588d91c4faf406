//! A question, what answers it, and which documents it takes.

use plugin_sdk::environment::{Problem, Split, Task};
use plugin_sdk::{Random, Settings};
use serde::{Deserialize, Serialize};

use crate::world::{Relation, Thing, Value, World};

/// Questions to draw before the settings are called impossible.
pub const ATTEMPTS: usize = 2000;
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
    /// Whether somebody asks it who does not know the answer: none is judged.
    #[serde(default)]
    pub is_asked: bool,
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
        match (plugin_questions::asked(task), &task.entry) {
            (Some(question), _) => Question::asked(question),
            (None, Some(entry)) => Question::from_record(entry),
            (None, None) => Question::draw(task),
        }
    }

    fn asked(text: String) -> Result<Self, Problem> {
        match text.is_empty() || text.len() > QUESTION_BYTES {
            true => Err(Problem::task("the question is empty, or too long")),
            false => Ok(Question { text, answers: Vec::new(), hops: Vec::new(), is_asked: true }),
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
        let question = Question { text: record.question, answers, hops, is_asked: false };
        question.check().map_err(|fault| Problem::task(format!("the record {fault}")))?;
        Ok(question)
    }

    fn check(&self) -> Result<(), String> {
        let Question { text, answers, hops, .. } = self;
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
                Some(Path::draw(&world, start, hops, &mut random)?.question(&world))
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

/// A way through a world: where one begins, what is followed, and what that comes to.
pub struct Path {
    /// Where one begins.
    pub start: Thing,
    /// What is followed, one after the other.
    pub relations: Vec<Relation>,
    /// The things on the way; the first one is the start.
    pub things: Vec<Thing>,
    /// What the last relation leads to.
    pub value: Value,
}

impl Path {
    /// One that takes so many steps from the thing and comes back to nothing.
    pub fn draw(world: &World, start: Thing, hops: usize, random: &mut Random) -> Option<Path> {
        let mut path =
            Path { start, relations: Vec::new(), things: Vec::new(), value: Value::Thing(start) };
        for left in (0..hops).rev() {
            let Value::Thing(here) = path.value else { return None };
            let leads_on = |relation: &&Relation| match world.follow(here, **relation) {
                Some(Value::Thing(next)) => !path.things.contains(&next) && next != here,
                Some(Value::Words(_)) => left == 0,
                None => false,
            };
            let relations: Vec<&Relation> = Relation::ALL.iter().filter(leads_on).collect();
            let relation = **random.choose(&relations)?;
            path.value = world.follow(here, relation)?;
            path.relations.push(relation);
            path.things.push(here);
        }
        (hops > 0).then_some(path)
    }

    /// The question in English, what answers it, and what finds the things on the way: their
    /// name and a word of what is asked of them.
    fn question(&self, world: &World) -> Question {
        let name = world.name(self.start).to_owned();
        let phrase = self.relations.iter().fold(name, |inner, relation| relation.phrase(&inner));
        let word = match self.value {
            Value::Thing(Thing::Person(_)) => "Who",
            _ => "What",
        };
        let hop = |(thing, relation): (&Thing, &Relation)| {
            let name = world.name(*thing).to_owned();
            let query = format!("{name} {}", relation.keyword());
            (name, query)
        };
        Question {
            text: format!("{word} is {phrase}?"),
            answers: vec![world.words(self.value).to_owned()],
            hops: self.things.iter().zip(&self.relations).map(hop).collect(),
            is_asked: false,
        }
    }
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
            is_asked: false,
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
