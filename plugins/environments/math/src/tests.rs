//! What is paid, and that tasks stay what they are.

use plugin_sdk::environment::{Split, Status};

use super::*;

fn start(form: &str) -> Math {
    let task = Task::of::<Math>(Split::Train, 0).with("observation", form);
    Math::start(&task).expect("a task")
}

fn say(math: &mut Math, role: &str, kind: &str, text: &str) -> Outcome {
    math.act(&Seat::new(role), &Action::new(kind, text)).expect("an outcome")
}

fn earned(outcome: &Outcome) -> (f64, f64) {
    let rounded = |worth: f64| (100.0 * worth).round() / 100.0;
    (rounded(outcome.for_team()), rounded(outcome.for_mover(0)))
}

fn right(math: &Math) -> String {
    math.demonstrate(&Seat::new("solo")).expect("an expert").text
}

#[test]
fn a_right_answer_is_paid_to_the_team_and_to_who_gave_it() {
    for form in ["text", "words", "plain"] {
        let mut math = start(form);
        let text = right(&math);
        let outcome = say(&mut math, "reasoner", "answer", &text);
        assert_eq!((earned(&outcome), outcome.status), ((1.0, 0.8), Status::Solved));
    }
}

#[test]
fn proposals_are_paid_for_what_they_add_and_tell_nobody_anything() {
    let mut math = start("text");
    math.near = 0.0;
    let (seen, text) = (math.observe(&Seat::new("reasoner")), right(&math));
    let worths = ["\\boxed{0}", &text, &text, "\\boxed{1}", "nothing"].map(|plan| {
        let outcome = say(&mut math, "tool", "plan", plan);
        assert!(outcome.status == Status::Ongoing && outcome.for_team() == 0.0);
        earned(&outcome).1
    });
    assert_eq!(worths, [0.0, 0.8, 0.0, -0.8, -0.2]);
    assert_eq!(math.observe(&Seat::new("reasoner")), seen);
    say(&mut math, "tool", "plan", "\\boxed{1}");
    assert_eq!(math.observe(&Seat::new("tool")), format!("{seen}\n\nYou said: 1"));
    // Who proposed what it answers has been paid for it.
    say(&mut math, "tool", "plan", &text);
    assert_eq!(earned(&say(&mut math, "tool", "answer", &text)), (1.0, 0.0));
}

#[test]
fn lazy_players_earn_less_than_the_worst_solution() {
    for form in ["text", "words"] {
        for seed in 0..200 {
            let task = Task::of::<Math>(Split::Train, seed).with("observation", form);
            let example = if form == "text" { "\\boxed{-17}" } else { "7 1" };
            for text in ["", "0", "\\boxed{0}", "1 2", example, &task_text(&task)] {
                let mut math = Math::start(&task).expect("a task");
                let mut total = 0.0;
                for _ in 0..10 {
                    let outcome = say(&mut math, "reasoner", "plan", text);
                    total += outcome.for_team() + outcome.for_mover(0);
                }
                let outcome = say(&mut math, "reasoner", "answer", text);
                total += outcome.for_team() + outcome.for_mover(0);
                let solves = outcome.status == Status::Solved;
                assert!(solves || total <= 0.6 + 1e-9, "{text} earned {total}");
            }
        }
    }
}

/// The question itself, as an answer.
fn task_text(task: &Task) -> String {
    let seen = Math::start(task).expect("a task").observe(&Seat::new("reasoner"));
    seen.replace("Compute ", "").replace(['.', '?'], "")
}

#[test]
fn the_oracle_solves_every_task_of_every_kind_and_difficulty() {
    for seed in 0..1_000 {
        let kind = ["arithmetic", "algebra", "number-theory", "mixed"][seed as usize % 4];
        let form = ["text", "words"][seed as usize / 4 % 2];
        let task = Task::of::<Math>(Split::Test, seed).with("kind", kind).with("observation", form);
        let task = task.with("difficulty", 1 + seed as i32 / 8 % 5).with("operators", "+-*/");
        let mut math = Math::start(&task.with("operands", 2 + seed as i32 % 5)).expect("a task");
        let text = right(&math);
        assert_eq!(say(&mut math, "solo", "answer", &text).status, Status::Solved, "{seed}");
    }
}

#[test]
fn records_are_questions_with_the_rules_of_their_data_set() {
    let mut task = Task::of::<Math>(Split::Test, 0).with("observation", "text");
    task.entry = Some(r#"{"problem": "Half of 1?", "answer": "0.5", "data_set": "math"}"#.into());
    let mut math = Math::start(&task).expect("a question");
    assert_eq!(math.observe(&Seat::new("solo")), "Half of 1?");
    assert_eq!(say(&mut math, "solo", "answer", "\\boxed{\\frac12}").status, Status::Solved);
    let olympiad =
        r#"{"problem": "P", "answer": "4.2", "data_set": "olympiadbench", "error": "1e-1"}"#;
    task.entry = Some(olympiad.into());
    for (answer, is_right) in [("4.29", true), ("4.31", false)] {
        let mut math = Math::start(&task).expect("a question");
        let status = say(&mut math, "solo", "answer", &format!("\\boxed{{{answer}}}")).status;
        assert_eq!(status == Status::Solved, is_right, "{answer}");
    }
    let refused = |task: &Task| Math::start(task).err().expect("no question").sentence();
    task.entry = Some(r#"{"problem": "P"}"#.into());
    assert!(refused(&task).contains("it has no `answer`"));
    task.entry = Some(olympiad.replace("1e-1", "about"));
    assert!(refused(&task).contains("no tolerance"));
    for (column, reason) in [
        (r#""error": [0.1]"#, "`error` is no text"),
        (r#""data_set": ["math"]"#, "`data_set` is no text"),
        (r#""answer": []"#, "`answer` is no text"),
    ] {
        task.entry = Some(format!(r#"{{"problem": "P", "answer": "1", {column}}}"#));
        assert!(refused(&task).contains(reason), "{}", refused(&task));
    }
    task.entry = Some("{".to_owned());
    assert!(refused(&task).starts_with("invalid task: the record is not one like"));
    assert!(refused(&task.with("observation", "words")).starts_with("invalid settings"));
}

#[test]
fn what_somebody_asks_is_posed_like_a_task_and_no_answer_to_it_is_judged() {
    let asked = |form: &str, question: &str| {
        let mut task = Task::of::<Math>(Split::Test, 0).with("observation", form);
        task.entry = Some(plugin_questions::entry(question));
        Math::start(&task)
    };
    let solo = Seat::new("solo");
    for (form, question, seen, answer) in [
        ("text", "What is half of 1?", "What is half of 1?", "\\boxed{2}"),
        ("plain", "What is 1+1?", "What is 1+1?", "It is 2."),
        ("words", "5 + 3 ; 8 + 6 ?", "5 + 3 ; 8 + 6 ?", "8 4 1"),
        ("words", "85 + 63", "5 + 3 ; 8 + 6 ?", "8 4 1"),
        ("words", "gcd ( 12 , 8 )", "gcd ( 2 1 , 8 ) ?", "4"),
    ] {
        let mut math = asked(form, question).expect("a question");
        assert_eq!((math.observe(&solo).as_str(), math.demonstrate(&solo)), (seen, None));
        assert_eq!(math.reveal(), None);
        let plan = say(&mut math, "solo", "plan", answer);
        let outcome = say(&mut math, "solo", "answer", answer);
        assert_eq!((earned(&plan), earned(&outcome)), ((0.0, 0.0), (0.0, 0.0)), "{form}");
        assert!(outcome.is_accepted() && outcome.status == Status::Failed);
        assert_eq!(outcome.told(), "", "nobody says that it is wrong");
        assert!(!say(&mut asked(form, question).expect("one"), "solo", "answer", "").is_accepted());
    }
    for (form, question, reason) in [
        ("words", "two + two", "`two` is no word"),
        ("words", "?", "empty"),
        ("text", " ", "empty"),
    ] {
        let refused = asked(form, question).err().expect("no question").sentence();
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn tasks_are_the_same_for_ever() {
    let mut drawn = String::new();
    for kind in ["arithmetic", "algebra", "number-theory"] {
        for split in Split::ALL {
            let task = Task::of::<Math>(split, 1).with("kind", kind).with("difficulty", 3);
            let task = task.with("operators", "+-*/").with("operands", 3);
            let question = draw::draw(&task).expect("a question");
            drawn += &format!("{} {}\n", question.text, question.gold);
        }
    }
    assert_eq!(drawn, GOLDEN);
}

const GOLDEN: &str = "\
Compute 32 - 43 + 34. 23
Compute 297 ÷ 27 + 73. 84
Compute 36 × 68 - 73. 2375
Find both solutions, separated by a comma, of x^2 - 7x - 18 = 0. -2, 9
Find both solutions, separated by a comma, of x^2 + 26x + 168 = 0. -14, -12
Solve for x: 11x - 9 = 15. 24/11
What is the smallest prime number greater than 11? 13
Find the least common multiple of 121 and 191. 23111
What is the smallest prime number greater than 219? 223
";

#[test]
fn form_alone_earns_nothing_and_what_cannot_be_read_is_named() {
    let mut math = start("text");
    math.near = 0.0;
    let named = |outcome: &Outcome| outcome.awards.iter().any(|award| award.name == "unreadable");
    let plans = ["\\boxed{-12345}", "nothing", "nothing at all", "\\boxed{-12345}"];
    let heard = plans.map(|plan| {
        let outcome = say(&mut math, "tool", "plan", plan);
        (earned(&outcome).1, named(&outcome))
    });
    assert_eq!(heard, [(0.0, false), (-0.2, true), (0.0, true), (0.2, false)]);
}

#[test]
fn where_one_form_is_asked_for_only_that_counts() {
    for (format, text) in [
        ("tagged", "<answer>GOLD</answer>"),
        ("boxed", "\\boxed{GOLD}"),
        ("fenced", "```\nGOLD\n```"),
        ("last-line", "I think so:\nGOLD"),
        ("hashes", "#### GOLD"),
        ("json", "{\"answer\": \"GOLD\"}"),
    ] {
        for other in ["tagged", "boxed", "fenced", "hashes", "json"] {
            let task = Task::of::<Math>(Split::Train, 0).with("observation", "text");
            let mut math = Math::start(&task.with("format", other)).expect("a task");
            assert!(math.rules(&Seat::new("solo")).contains("An answer counts only "));
            let text = text.replace("GOLD", &math.question.gold);
            let outcome = say(&mut math, "solo", "answer", &text);
            assert_eq!(outcome.is_accepted(), format == other, "{other}: {text}");
        }
    }
}
