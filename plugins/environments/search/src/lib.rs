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
        .action("query", "words to search for, or `answer: ` and the answer")
        .action("answer", "the answer, in as few words as it takes")
        .action("plan", "the answer to be given, in as few words as it takes")
        .formats(&["query", "answer", "plan"])
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
        self.format.asked_for(rules)
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
        match action.kind.as_str() {
            "query" => match stated(&text) {
                Some(answer) => Ok(self.answer(answer)),
                None => self.search(reading::bare(answer)),
            },
            "answer" => Ok(self.answer(stated(&text).unwrap_or(answer))),
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
        Some(self.format.written(match untried {
            Some(query) => Action::new("query", query),
            None => Action::new("answer", format!("{ANSWER} {answer}")),
        }))
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
mod tests {
    use super::*;
    use plugin_sdk::Random;
    use plugin_sdk::environment::{Split, Status};

    fn in_text(split: Split, seed: u32) -> Task {
        Task::of::<Search>(split, seed).with("observation", "text").with("documents", 3)
    }

    fn task(seed: u32) -> Task {
        in_text(Split::Test, seed)
    }

    fn start(seed: u32) -> Search {
        Search::start(&task(seed)).expect("a task")
    }

    fn act(game: &mut Search, kind: &str, text: &str) -> Outcome {
        game.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn every_needed_document_pays_once_and_the_answer_ends_the_episode() {
        let mut game = start(0);
        let hops = game.question.hops.clone();
        let share = (100.0 * DOCUMENTS / hops.len() as f64).round() / 100.0;
        for (title, query) in &hops {
            let outcome = act(&mut game, "query", query);
            assert_eq!(worth(&outcome), share, "{query}");
            assert!(game.observe(&Seat::new("player")).contains(&format!("[{title}]")));
            assert_eq!(worth(&act(&mut game, "query", title)), 0.0);
        }
        let answer = format!("I know.\n\\boxed{{{}}}", game.question.answers[0].to_uppercase());
        let outcome = act(&mut game, "query", &answer);
        assert_eq!((worth(&outcome), outcome.status), (ANSWERED, Status::Solved));
    }

    #[test]
    fn what_somebody_asks_can_be_searched_for_and_no_answer_is_judged() {
        let entry = Some(plugin_questions::entry("Who is the mayor?"));
        let asked = Task { entry, ..task(0) };
        let mut game = Search::start(&asked).expect("a question");
        assert!(game.observe(&Seat::new("player")).contains("Question: Who is the mayor?"));
        assert_eq!((game.demonstrate(&Seat::new("player")), game.reveal()), (None, None));
        for (kind, text) in [("query", "mayor"), ("plan", "Ada"), ("answer", "Ada")] {
            let outcome = act(&mut game, kind, text);
            assert_eq!((worth(&outcome), outcome.told()), (0.0, ""), "{kind}");
        }
        let in_words = Task { settings: Task::of::<Search>(Split::Test, 0).settings, ..asked };
        let refused = Search::start(&in_words).err().expect("a refusal").sentence();
        assert!(refused.contains("set observation = \"text\""), "{refused}");
    }

    #[test]
    fn mistakes_cost_and_say_why_and_a_wrong_answer_ends_the_episode() {
        let mut game = start(0);
        act(&mut game, "query", "rivers");
        for (kind, text, worth_of_it, told) in [
            ("query", "", -0.38, "There is nothing to search for."),
            ("query", "?!", -0.38, "There is nothing to search for."),
            ("query", "{\"query\": \"rivers\"}", -0.38, "A query is a few words."),
            ("query", "Rivers", REPEATED, "This was searched for before."),
            ("answer", " ... ", -0.38, "There is no answer."),
            ("query", "answer:", -0.38, "There is no answer."),
            ("plan", "", -0.38, "There is no answer."),
        ] {
            let outcome = act(&mut game, kind, text);
            assert_eq!((worth(&outcome), outcome.told()), (worth_of_it, told), "{text}");
        }
        for index in 0..5 {
            act(&mut game, "query", &format!("town {index}"));
        }
        assert_eq!(act(&mut game, "query", "mayor").told(), "No queries are left.");
        let outcome = act(&mut game, "answer", "some words");
        assert_eq!((worth(&outcome), outcome.status), (0.0, Status::Failed));
    }

    #[test]
    fn plans_are_paid_for_what_they_add_to_the_last_one() {
        let mut game = start(0);
        let right = game.question.answers[0].clone();
        let worths = ["x", &right, &right, "x", &format!("answer: {right}")]
            .map(|plan| worth(&act(&mut game, "plan", plan)));
        assert_eq!(worths, [0.0, PLANNED, 0.0, -PLANNED, PLANNED]);
    }

    /// What was earned, and whether the question was answered.
    fn play(game: &mut Search, mut say: impl FnMut(&Search) -> (String, String)) -> (f64, bool) {
        let mut total = 0.0;
        for _ in 0..8 {
            let (kind, text) = say(game);
            let outcome = act(game, &kind, &text);
            total += outcome.for_team() + outcome.for_mover(0);
            if outcome.status != Status::Ongoing {
                return (total, outcome.status == Status::Solved);
            }
        }
        (total, false)
    }

    fn expert(game: &Search) -> (String, String) {
        let Action { kind, text } = game.demonstrate(&Seat::new("player")).expect("an expert");
        (kind, text)
    }

    #[test]
    fn the_expert_answers_every_question_in_time_alone_and_by_queries() {
        for seed in 0..300 {
            let (earned, solved) = play(&mut start(seed), expert);
            assert!(solved && (earned - DOCUMENTS - ANSWERED).abs() < 1e-9, "{seed} {earned}");
            let by_queries = |game: &Search| ("query".to_owned(), expert(game).1);
            assert!(play(&mut start(seed), by_queries).1, "{seed}");
        }
    }

    #[test]
    fn nobody_earns_by_anything_but_the_answer_what_the_worst_solution_pays() {
        for seed in 0..120 {
            for text in ["", "answer: some words", "some words", "river", "the"] {
                for kind in ["query", "answer", "plan"] {
                    let said = |_: &Search| (kind.to_owned(), text.to_owned());
                    let (earned, solved) = play(&mut start(seed), said);
                    assert!(!solved && earned < ANSWERED, "{seed} {text}");
                }
            }
            // Searches well, plans well, and never answers.
            let mut game = start(seed);
            let plan = game.question.answers[0].clone();
            let planned = worth(&act(&mut game, "plan", &plan));
            let (earned, solved) = play(&mut game, |game| match expert(game) {
                (kind, text) if kind == "query" => (kind, text),
                _ => ("query".to_owned(), game.queries[0].clone()),
            });
            assert!(!solved && planned + earned < ANSWERED, "{seed}");
        }
    }

    /// Tasks stay what they are for ever.
    #[test]
    fn the_first_tasks_of_every_split_are_these() {
        let questions = Split::ALL.map(|split| {
            let task = in_text(split, 0);
            Search::start(&task).expect("a task").question.text
        });
        assert_eq!(
            questions,
            [
                "Who is the mayor of the birthplace of the teacher of Thea Kelorgdane?",
                "Who is the mayor of the town with the seat of Wesurbia?",
                "What is the sea that receives the river that runs through Ulimbhaven?",
            ]
        );
    }

    #[test]
    fn the_first_fifty_tasks_of_every_split_have_these_digests() {
        let digests = Split::ALL.map(|split| {
            let start = |seed| Search::start(&in_text(split, seed)).expect("a task");
            let looks: Vec<String> =
                (0..50).map(|seed| start(seed).observe(&Seat::new("player"))).collect();
            // Chance that is seeded by a text is a digest of it.
            format!("{:016x}", Random::new(split, 0, &looks.join("\n")).bits())
        });
        assert_eq!(digests, ["7dada197b3956c82", "9087afe48d284f05", "3b9a1774a17ad047"]);
    }
}
