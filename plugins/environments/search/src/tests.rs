//! What an answer and its documents are worth, and that tasks stay what they are.

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
fn in_every_form_a_query_is_told_from_an_answer() {
    let start = |format: &str| Search::start(&task(0).with("format", format)).expect("a task");
    let by_queries = |game: &Search| ("query".to_owned(), expert(game).1);
    for format in Format::ALL.map(Format::name) {
        assert!(play(&mut start(format), expert).1, "{format}");
        assert!(play(&mut start(format), by_queries).1, "{format}, where all is a query");
    }
    for (format, text, told) in [
        ("tagged", "I know: <answer>GOLD</answer>", "`<query>`"),
        ("json", "{\"answer\": \"GOLD\"}", "`{\"query\": \"…\"}`"),
        ("boxed", "\\boxed{answer: GOLD}", "has `answer:` before it there"),
        ("last-line", "So:\nanswer: GOLD", "has `answer:` before it there"),
    ] {
        let mut game = start(format);
        assert!(game.rules(&Seat::new("player")).contains(told), "{format}");
        let text = text.replace("GOLD", &game.question.answers[0]);
        assert_eq!(act(&mut game, "query", &text).status, Status::Solved, "{format}");
    }
    let mut game = start("tagged");
    let gold = &game.question.answers[0];
    let both = format!("<answer>{gold}</answer>? First <query>{gold}</query>");
    assert_eq!(act(&mut game, "query", &both).status, Status::Ongoing);
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

/// What asks the wrong thing of the right one finds its document, and nothing that is needed.
#[test]
fn in_single_words_the_wrong_question_about_the_right_thing_is_not_paid() {
    for seed in 0..50 {
        let mut game = Search::start(&Task::of::<Search>(Split::Test, seed)).expect("a task");
        let (title, query) = game.question.hops[0].clone();
        let share = (100.0 * DOCUMENTS / game.question.hops.len() as f64).round() / 100.0;
        let other = if query.ends_with(" profession") { "flows" } else { "profession" };
        for (query, paid) in [(format!("{title} {other}"), 0.0), (title, 0.0), (query, share)] {
            assert_eq!(worth(&act(&mut game, "query", &query)), paid, "{seed} {query}");
        }
    }
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
