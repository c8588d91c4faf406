//! Search: questions that take several documents of a corpus.
//!
//! Every document that is needed pays once, the answer pays most. The corpus is
//! the user's; without records, questions are about an invented world whose
//! documents lie in `configs/search/corpus.jsonl`. Tiny policies are asked in single
//! words, of little worlds whose documents are here.

pub mod library;
pub mod picture;
pub mod question;
pub mod spoken;
pub mod world;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::preset::LANGUAGE_MODEL;
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Rendered, Setting, Settings, reading};
use serde::{Deserialize, Serialize};
use serde_json::json;

use library::Found;
use question::Question;
use world::Document;

/// For nothing to search for, or no answer.
const UNREADABLE: f64 = -0.3;
/// For a query that was made before, or one too many.
const REPEATED: f64 = -0.1;
/// For all documents that are needed, in equal shares.
const DOCUMENTS: f64 = 0.5;
/// For the answer.
const ANSWERED: f64 = 1.0;
/// What a right plan is worth; with all documents, less than the answer.
const PLANNED: f64 = 0.4;
/// Bytes of a query.
const QUERY_BYTES: usize = 512;
/// What stands before an answer where only queries can be said.
const ANSWER: &str = "answer:";
/// The kinds of action that search and that answer; tags and JSON call them so, too.
const SEARCHING: &str = "query";
const ANSWERING: &str = "answer";
/// How it is told, and in single words.
const OBSERVATION: &str = "observation";
const WORDS: &str = "words";

/// One question being looked into.
#[derive(Serialize, Deserialize)]
pub struct Search {
    question: Question,
    /// Which of the documents that it takes were found.
    found: Vec<bool>,
    /// What was searched for so far.
    queries: Vec<String>,
    /// Queries that may be made, and documents that are shown of each.
    most_queries: usize,
    documents: u32,
    /// What the last query found.
    shown: Vec<Found>,
    proposals: Proposals,
    /// What was wrong with the last action.
    refused: String,
    format: Format,
    /// The documents, where all is said in single words.
    spoken: Option<Vec<Document>>,
}

impl Environment for Search {
    fn describe() -> Description {
        Description::new(
            "search",
            env!("CARGO_PKG_VERSION"),
            "Answer questions that take several documents of a corpus.",
        )
        .reusable()
        .setting(Setting::integer("min_hops", "Documents a question takes at least.", 1..=4, 2))
        .setting(Setting::integer("max_hops", "Documents a question takes at most.", 1..=4, 3))
        .setting(Setting::integer("queries", "Queries that may be made.", 1..=20, 6))
        .setting(Setting::integer("documents", "Documents shown of a query.", 1..=10, 1))
        .setting(Setting::choice(
            OBSERVATION,
            "Single words about a little world for tiny policies, or text about the corpus.",
            [WORDS, "text"],
        ))
        .action(SEARCHING, "words to search for, or `answer: ` and the answer")
        .action(ANSWERING, "the answer, in as few words as it takes")
        .action("plan", "the answer to be given, in as few words as it takes")
        .formats(&[SEARCHING, ANSWERING, "plan"])
        .workflows(&["solo", "searcher-reasoner"])
        .preset(
            LANGUAGE_MODEL,
            "Text to read; taken when language models play, below any other preset.",
            &[(OBSERVATION, "text".into()), ("documents", 3.into())],
        )
        .preset(
            "paper",
            "Two to three documents, the five best of each query, for language models.",
            &[("documents", 5.into()), (OBSERVATION, "text".into())],
        )
        .preset("easy", "A single document.", &[("min_hops", 1.into()), ("max_hops", 1.into())])
        .preset(
            "hard",
            "Four documents, one of each query, no query to spare.",
            &[
                ("min_hops", 4.into()),
                ("max_hops", 4.into()),
                ("queries", 4.into()),
                ("documents", 1.into()),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        let (fewest, most): (i32, i32) =
            (settings.integer("min_hops")?, settings.integer("max_hops")?);
        if fewest > most {
            return Err(Problem::settings("`min_hops` is greater than `max_hops`"));
        }
        let queries: i32 = settings.integer("queries")?;
        if queries < most {
            return Err(Problem::settings("`queries` is less than `max_hops`"));
        }
        let configuration = Configuration::default().max_turns(queries as u32 + 2);
        Ok(match settings.text(OBSERVATION)? == WORDS {
            true => {
                let words = Format::of(settings)?.words(spoken::vocabulary());
                configuration.vocabulary(words)
            }
            false => plugin_questions::taken(configuration.takes_records(), &["answer", "query"]),
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let (question, spoken) = match (task.settings.text(OBSERVATION)? == WORDS, &task.entry) {
            (true, Some(_)) => return Err(spoken::no_records()),
            (true, None) => {
                let (question, documents) = spoken::draw(task)?;
                (question, Some(documents))
            }
            (false, _) => (Question::of(task)?, None),
        };
        Ok(Search {
            found: vec![false; question.hops.len()],
            question,
            queries: Vec::new(),
            most_queries: task.settings.integer("queries")?,
            documents: task.settings.integer("documents")?,
            shown: Vec::new(),
            proposals: Proposals::default(),
            refused: String::new(),
            format: Format::of(&task.settings)?,
            spoken,
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let rules = format!(
            "Answer a question from a corpus of documents. A query is a few words; you are shown \
             the {} documents that fit best, and until the next query only those. The question \
             may take several documents one after the other. At most {} queries are possible. The \
             answer ends the episode; it counts when its words are right, whatever their case, \
             punctuation and articles.",
            self.documents, self.most_queries,
        );
        self.format.asked_for(rules) + told_apart(self.format)
    }

    fn observe(&self, _seat: &Seat) -> String {
        let left = self.most_queries - self.queries.len();
        if self.spoken.is_some() {
            let found = (!self.queries.is_empty()).then_some(&self.shown[..]);
            return spoken::show(&self.question, found, left);
        }
        let mut parts = Vec::new();
        if !self.refused.is_empty() {
            parts.push(self.refused.clone());
        }
        if let Some(query) = self.queries.last() {
            let found = self.shown.iter().map(|one| format!("\n[{}] {}", one.title, one.text));
            let found: String = found.collect();
            let found = if found.is_empty() { "\nNothing was found.".to_owned() } else { found };
            parts.push(format!("Found for `{query}`:{found}"));
        }
        parts.push(format!("Question: {}", self.question.text));
        parts.push(format!(
            "Queries left: {left}. Say what to search for, or answer with a line such as `answer: \
             some words`."
        ));
        parts.join("\n\n")
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let text = match self.format.find(&action.kind, &action.text) {
            Ok(found) => found,
            Err(why) => {
                why.why().clone_into(&mut self.refused);
                return Ok(Outcome::unreadable(why, UNREADABLE));
            }
        };
        if self.spoken.is_some() && !spoken::knows(&text) {
            return Ok(Outcome::unreadable(
                "There are words in this that are not known.",
                UNREADABLE,
            ));
        }
        let answer = last_line(&text);
        let named = || self.is_named_answer(action).then_some(answer);
        match action.kind.as_str() {
            SEARCHING => match stated(&text).or_else(named) {
                Some(answer) => Ok(self.answer(answer)),
                None => self.search(reading::bare(answer)),
            },
            ANSWERING => Ok(self.answer(stated(&text).unwrap_or(answer))),
            "plan" => Ok(self.consider(seat, stated(&text).unwrap_or(answer))),
            _ => Err(Problem::unknown_kind(action)),
        }
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let answer = self.question.answers.first()?;
        let missing = self.found.iter().position(|found| !found);
        let queries = self.question.hops.iter().map(|(title, query)| [query, title]);
        let next = missing.and_then(|index| queries.into_iter().nth(index));
        let next = next.filter(|_| self.queries.len() < self.most_queries);
        let untried = next.and_then(|texts| {
            texts.into_iter().find(|text| !self.queries.contains(&text.to_lowercase()))
        });
        Some(match untried {
            Some(query) => self.asking(query),
            None => self.format.written(Action::new(ANSWERING, format!("{ANSWER} {answer}"))),
        })
    }

    fn reveal(&self) -> Option<String> {
        (!self.question.is_asked).then(|| self.question.answers.join(" / "))
    }
}

impl Rendered for Search {
    fn render(&self) -> Rendering {
        let mark = |found: bool| if found { "[x]" } else { "[ ]" };
        let hops = self.question.hops.iter().zip(&self.found);
        let hops: String =
            hops.map(|((title, _), found)| format!("\n{} {title}", mark(*found))).collect();
        Rendering {
            text: format!("{}{hops}", self.question.text),
            svg: picture::svg(&self.question, &self.found),
        }
    }
}

impl Search {
    /// A query in the form that is asked for.
    fn asking(&self, query: &str) -> Action {
        match self.format {
            Format::Tagged => Action::new(SEARCHING, format!("<{SEARCHING}>{query}</{SEARCHING}>")),
            Format::Json => Action::new(SEARCHING, json!({ SEARCHING: query }).to_string()),
            format => format.written(Action::new(SEARCHING, query)),
        }
    }

    /// Whether what counts of a query stands where the form calls it an answer.
    fn is_named_answer(&self, Action { kind, text }: &Action) -> bool {
        let found = |kind: &str| self.format.find(kind, text).ok();
        match self.format {
            // The same words may stand in both places.
            Format::Tagged => {
                let place = |kind: &str| found(kind).map(|found| found.as_ptr());
                place(kind) == place(ANSWERING)
            }
            Format::Json => found(kind) == found(ANSWERING),
            _ => false,
        }
    }

    fn search(&mut self, query: &str) -> Result<Outcome, Problem> {
        let end = query.floor_char_boundary(QUERY_BYTES);
        let query = query[..end].trim().to_lowercase();
        let unreadable = |why: &str| Some(Outcome::unreadable(why, UNREADABLE));
        let repeated = |why: &str| Some(Outcome::rejected(why).local("repeated", REPEATED));
        let refusal = if !query.chars().any(char::is_alphanumeric) {
            unreadable("There is nothing to search for.")
        } else if self.queries.len() >= self.most_queries {
            repeated("No queries are left.")
        } else if query.contains(['[', ']', '{', '}', '<', '>']) {
            unreadable("A query is a few words.")
        } else if self.queries.contains(&query) {
            repeated("This was searched for before.")
        } else {
            None
        };
        if let Some(outcome) = refusal {
            outcome.told().clone_into(&mut self.refused);
            return Ok(outcome);
        }
        self.shown = match &self.spoken {
            Some(documents) => spoken::search(documents, &query, self.documents),
            None => library::search(&query, self.documents)?,
        };
        self.queries.push(query);
        self.refused.clear();
        let before = self.progress();
        for (index, (title, query)) in self.question.hops.iter().enumerate() {
            let tells = |one: &Found| self.spoken.is_none() || spoken::tells(one, query);
            self.found[index] |= self.shown.iter().any(|one| one.title == *title && tells(one));
        }
        Ok(Outcome::accepted().team("documents", self.progress() - before))
    }

    /// What the documents that were found are worth.
    fn progress(&self) -> f64 {
        let found = self.found.iter().filter(|found| **found).count();
        DOCUMENTS * found as f64 / self.found.len().max(1) as f64
    }

    fn answer(&mut self, text: &str) -> Outcome {
        let text = reading::bare(text);
        if question::normalized(text).is_empty() {
            "There is no answer.".clone_into(&mut self.refused);
            return Outcome::unreadable("There is no answer.", UNREADABLE);
        }
        match self.question.is_answered_by(text) {
            true => Outcome::accepted().team("answered", ANSWERED).solved(),
            false => Outcome::accepted().failed(),
        }
    }

    /// Score a plan without answering.
    fn consider(&mut self, seat: &Seat, text: &str) -> Outcome {
        let text = reading::bare(text);
        let outcome = match question::normalized(text).is_empty() {
            true => Outcome::unreadable("There is no answer.", UNREADABLE),
            false => Outcome::accepted(),
        };
        let worth = if self.question.is_answered_by(text) { PLANNED } else { 0.0 };
        outcome.local("plan", self.proposals.pay(seat, worth))
    }
}

/// Behind the sentence that asks for a form: how a query is told from an answer there.
fn told_apart(format: Format) -> &'static str {
    match format {
        Format::Any => "",
        Format::Tagged => " A query counts only between `<query>` and `</query>`.",
        Format::Json => " A query counts only in JSON, as the text in `{\"query\": \"…\"}`.",
        Format::Boxed | Format::Fenced | Format::LastLine | Format::Hashes => {
            " So does a query: where both can be said, an answer has `answer:` before it there."
        }
    }
}

/// The answer, where a text says that it is one.
fn stated(text: &str) -> Option<&str> {
    let line = last_line(text);
    let line = line.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let labeled = |label: &str| {
        let (start, rest) = line.split_at_checked(label.len())?;
        start.eq_ignore_ascii_case(label).then_some(rest)
    };
    reading::marked(text).or_else(|| labeled(ANSWER)).or_else(|| labeled("final answer:"))
}

/// The last line that is not blank.
fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default().trim()
}

plugin_sdk::export!(environment: Search, rendering: Search);

#[cfg(test)]
mod tests;
