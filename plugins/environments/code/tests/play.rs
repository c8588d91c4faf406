//! What is paid for programs and tests, and what is told.

mod stand_in;

use code::challenge::Counts;
use code::recipe::Kind;
use code::{Code, generated, suite};
use plugin_sdk::Environment;
use plugin_sdk::environment::{Action, Episode, Move, Outcome, Seat, Split, Status, Task};
use plugin_sdk::types::Fault;

fn task() -> Task {
    Task::of::<Code>(Split::Train, 3)
}

fn start(task: &Task) -> Code {
    stand_in::install(8, None, |task| task);
    Code::start(task).expect("a problem")
}

fn team() -> Task {
    Task { seats: ["coder", "tester"].map(Seat::new).to_vec(), ..task() }
}

fn say(code: &mut Code, role: &str, kind: &str, text: &str) -> Outcome {
    code.act(&Seat::new(role), &Action::new(kind, text)).expect("an outcome")
}

fn earned(outcome: &Outcome) -> (f64, f64) {
    let rounded = |worth: f64| (100.0 * worth).round() / 100.0;
    (rounded(outcome.for_team()), rounded(outcome.for_mover(0)))
}

fn advice(code: &Code, role: &str) -> String {
    code.demonstrate(&Seat::new(role)).expect("an expert").text
}

#[test]
fn one_who_is_alone_is_done_when_all_tests_pass() {
    let mut code = start(&task());
    let program = advice(&code, "solo");
    let outcome = say(&mut code, "solo", "program", "```python\nwhile int(1): pass\n```");
    assert_eq!((earned(&outcome), outcome.status), ((0.0, 0.1), Status::Ongoing));
    assert!(code.observe(&Seat::new("solo")).contains("Example 1: out of fuel"));
    for nothing in ["no program", "word", "7"] {
        let outcome = say(&mut code, "solo", "program", nothing);
        assert!(!outcome.is_accepted(), "{nothing}");
    }
    let outcome = say(&mut code, "solo", "program", &format!("So:\n{program}\nDone."));
    assert_eq!((earned(&outcome), outcome.status), ((1.5, 0.9), Status::Solved));
}

#[test]
fn where_parts_are_not_paid_only_all_tests_count_and_what_fails_is_not_tried_further() {
    let start_of = |record: &str| {
        let mut task = task().with("partial", false);
        task.entry = Some(record.to_owned());
        start(&task)
    };
    let record = r#"{"id": 1, "text": "S", "public": 1, "solution": "print(\"a\")", "tests": [{"input": "1", "output": "a"}, {"input": "2", "output": "a"}, {"input": "3", "output": "LAST"}]}"#;
    let mut code = start_of(&record.replace("LAST", "b"));
    let outcome = say(&mut code, "solo", "program", "print(\"a\")");
    assert_eq!((earned(&outcome), outcome.status), ((0.0, 0.0), Status::Ongoing));
    let mut code = start_of(&record.replace("LAST", "a"));
    let outcome = say(&mut code, "solo", "program", "print(\"a\")");
    assert_eq!((earned(&outcome), outcome.status), ((1.5, 0.8), Status::Solved));
    // The stand-in dies of this input, should it ever get there.
    let mut code = start_of(&record.replace(r#""input": "3""#, r#""input": "SECRET""#));
    let outcome = say(&mut code, "solo", "program", "print(\"b\")");
    assert_eq!((earned(&outcome), outcome.status), ((0.0, 0.0), Status::Ongoing));
}

#[test]
fn what_somebody_asks_for_has_no_tests_and_no_program_is_judged() {
    let asked = |task: Task, question: &str| {
        let entry = Some(plugin_questions::entry(question));
        Task { entry, ..task }
    };
    let mut code = start(&asked(task(), "Print the sum of two numbers."));
    assert!(code.observe(&Seat::new("solo")).contains("Print the sum"));
    assert_eq!((code.demonstrate(&Seat::new("solo")), code.reveal()), (None, None));
    let outcome = say(&mut code, "solo", "program", "print(\"a\")");
    assert_eq!((earned(&outcome), outcome.status), ((0.0, 0.0), Status::Failed));
    assert_eq!(outcome.told(), "", "nobody says that it fails");
    // A team with a tester goes on until its own tests agree.
    let mut code = start(&asked(team(), "Print a."));
    let outcome = say(&mut code, "coder", "program", "print(\"a\")");
    assert_eq!((earned(&outcome), outcome.status), ((0.0, 0.0), Status::Ongoing));
    assert!(!code.observe(&Seat::new("tester")).contains("first test"));
    let tests = r#"[{"input": "1", "output": "a"}]"#;
    assert_eq!(say(&mut code, "tester", "tests", tests).status, Status::Failed);
    let words = |question| Code::start(&asked(task().with("observation", "words"), question));
    assert!(words("add:3 print").is_ok());
    let refused = words("sort my list").err().expect("a refusal").sentence();
    assert!(refused.contains("`my` is no word"), "{refused}");
}

#[test]
fn a_team_ends_when_program_and_tests_agree_and_hidden_tests_decide() {
    let mut code = start(&team());
    let (program, tests) = (advice(&code, "coder"), advice(&code, "tester"));
    let outcome = say(&mut code, "coder", "program", &program);
    assert_eq!((earned(&outcome), outcome.status), ((1.0, 1.0), Status::Ongoing));
    let wrong = r#"[{"input": "77", "output": "nothing at all"}]"#;
    let outcome = say(&mut code, "tester", "tests", wrong);
    assert_eq!(outcome.status, Status::Ongoing);
    let seen = code.observe(&Seat::new("coder"));
    assert!(seen.contains("The program does not agree: expected"), "{seen}");
    let outcome = say(&mut code, "tester", "tests", &tests);
    assert_eq!((outcome.for_team(), outcome.status), (0.5, Status::Solved));

    let mut code = start(&team());
    say(&mut code, "coder", "program", "print(\"7\")");
    let trivial = r#"[{"input": "77", "output": "7"}, {"input": "78", "output": "7"}]"#;
    assert_eq!(say(&mut code, "tester", "tests", trivial).status, Status::Failed);
}

#[test]
fn what_is_written_at_the_same_time_is_judged_together() {
    let mut code = start(&team());
    let (program, tests) = (advice(&code, "coder"), advice(&code, "tester"));
    say(&mut code, "tester", "tests", &tests);
    // The program agrees with the last tests, but there are new ones.
    let new = r#"[{"input": "77", "output": "nothing at all"}]"#;
    let moves = [Move::new("coder", "program", &program), Move::new("tester", "tests", new)];
    let outcome = code.act_together(&moves).expect("an outcome");
    assert_eq!((outcome.status, outcome.effects.len()), (Status::Ongoing, 2));
    let rounded = |index| (100.0 * outcome.for_mover(index)).round() / 100.0;
    assert_eq!((outcome.for_team(), rounded(0), rounded(1)), (1.0, 1.0, -0.93));
}

#[test]
fn tests_are_paid_for_what_a_right_program_says_of_them_and_once() {
    let mut code = start(&team());
    let tests = advice(&code, "tester");
    let inputs: Vec<&str> = tests.split("{\"input\": ").skip(1).take(3).collect();
    let one = format!("[{{\"input\": {}]", inputs[0].trim_end_matches([',', ' ', ']']));
    let thrice = format!("[{0}, {0}, {0}]", one.trim_matches(['[', ']']));
    let worths = [&one, &thrice, &tests, &one, &"[]".to_owned()]
        .map(|text| earned(&say(&mut code, "tester", "tests", text)).1);
    assert_eq!(worths, [0.33, 0.0, 0.67, -0.67, -0.13]);
    let shown = code.observe(&Seat::new("tester"));
    let (input, output) = shown
        .split_once("Input:\n")
        .and_then(|(_, rest)| rest.split_once("\nOutput:\n"))
        .map(|(input, rest)| (input, rest.lines().next().unwrap_or_default()))
        .expect("an example");
    let echo = format!("```input\n{input}\n```\n```output\n{output}\n```");
    assert!(!say(&mut code, "tester", "tests", &echo).is_accepted());
}

#[test]
fn without_a_right_program_tests_are_paid_for_their_form_alone() {
    let mut task = team();
    let record = r#"{"id": 1, "text": "S", "tests": [{"input": "1", "output": "a"}, {"input": "2", "output": "SECRET"}]}"#;
    task.entry = Some(record.to_owned());
    let mut code = start(&task);
    let tests = r#"[{"input": "5", "output": "a"}, {"input": "6", "output": "b"}, {"input": "7", "output": "c"}]"#;
    assert_eq!(earned(&say(&mut code, "tester", "tests", tests)), (0.0, 0.2));
    assert_eq!(code.demonstrate(&Seat::new("coder")), None);
    // The stand-in dies of what is expected, should it ever get there.
    let outcome = say(&mut code, "coder", "program", "print(\"a\")");
    assert_eq!(earned(&outcome), (0.0, 0.2));
    let seen = code.observe(&Seat::new("coder"));
    assert!(!seen.contains("SECRET") && seen.contains("It passes 1 of 1 examples."), "{seen}");
}

#[test]
fn where_only_code_says_what_is_right_nobody_is_asked_for_tests_or_paid_or_charged() {
    let mut task = team();
    let record = r#"{"task_id": 2, "text": "T", "code": "x", "test_list": ["assert f(1) == 1", "assert f(2) == 2"]}"#;
    task.entry = Some(record.to_owned());
    let mut code = start(&task);
    let silent = r#"[{"input": "1", "output": ""}]"#;
    let outcome = say(&mut code, "tester", "tests", silent);
    assert_eq!((earned(&outcome), outcome.is_accepted()), ((0.0, 0.0), false));
    let rules = code.rules(&Seat::new("tester"));
    assert!(rules.contains("define what they call"), "{rules}");
    assert!(rules.contains("No tests can be written"), "{rules}");
    assert!(!rules.contains("standard input") && !rules.contains("input()"), "{rules}");
}

#[test]
fn a_tester_is_told_how_many_tests_are_wanted_and_looked_at() {
    let rules =
        |wanted: i32| start(&team().with("wanted_tests", wanted)).rules(&Seat::new("tester"));
    assert!(rules(3).contains("writes 3 to 8 of them."), "{}", rules(3));
    assert!(rules(8).contains("writes 8 of them."), "{}", rules(8));
}

#[test]
fn a_run_that_did_not_take_place_is_nobodys_zero() {
    let mut code = start(&task());
    for kind in ["program", "plan"] {
        let lost = code.act(&Seat::new("solo"), &Action::new(kind, "lost()"));
        let problem = lost.expect_err("a problem");
        assert_eq!(problem.fault, Fault::Internal);
        assert!(problem.message.contains("a worker was lost"), "{}", problem.message);
    }
}

#[test]
fn plans_and_repeated_programs_add_up_to_the_worth_of_the_last_one() {
    let mut code = start(&task());
    let program = advice(&code, "solo");
    let plans = ["print(\"x\")", &program, &program, "print(\"x\")"]
        .map(|plan| earned(&say(&mut code, "planner", "plan", plan)));
    assert_eq!(plans, [(0.0, 0.2), (0.0, 0.8), (0.0, 0.0), (0.0, -0.8)]);
    let worths = ["print(\"x\")", "print(\"x\")", "while int(1): pass", "print(\"x\")"]
        .map(|text| earned(&say(&mut code, "solo", "program", text)));
    assert_eq!(worths, [(0.0, 0.2), (0.0, 0.0), (0.0, -0.1), (0.0, 0.1)]);
}

/// A held-out task with these tests, all of one output, of which the first is shown.
fn held_out(inputs: &[String]) -> Task {
    let test = |input: &String| format!(r#"{{"input": "{input}", "output": "a"}}"#);
    let tests: Vec<String> = inputs.iter().map(test).collect();
    let record = format!(
        r#"{{"id": 1, "text": "S", "public": 1, "solution": "print(\"a\")", "tests": [{}]}}"#,
        tests.join(",")
    );
    Task { split: Split::Test, entry: Some(record), ..team() }
}

#[test]
fn where_tests_are_too_long_to_be_saved_the_same_moves_lead_to_the_same_place() {
    stand_in::install(8, None, |task| task);
    let begin = |task: &Task| Episode::<Code>::start(task).expect("a problem");
    let short = begin(&held_out(&["1".to_owned(), "2".to_owned()])).save().expect("a state");
    assert!(Episode::<Code>::resume(&short).is_ok());
    let long = held_out(&["1".to_owned(), "2".repeat(2 << 20)]);
    let tests = r#"[{"input": "5", "output": "b"}]"#;
    let moves = [
        Move::new("coder", "program", "print(\"b\")"),
        Move::new("tester", "tests", tests),
        Move::new("coder", "program", "while int(1): pass"),
        Move::new("coder", "program", "print(\"a\")"),
    ];
    // What the host does for each branch: it begins anew, and does the same again.
    let played = |ends: &[usize]| {
        let mut episode = begin(&long);
        let mut seen = Vec::new();
        for &index in ends {
            assert!(episode.save().is_none());
            let outcome = episode.act(&moves[index..=index]).expect("an outcome");
            let shown = episode.environment().observe(&Seat::new("coder"));
            seen.push((earned(&outcome), outcome.status, shown));
        }
        seen
    };
    let (one, other) = (played(&[3, 1, 2]), played(&[3, 1, 0]));
    assert_eq!(one[..2], other[..2]);
    assert_eq!((one[2].1, other[2].1), (Status::Ongoing, Status::Failed));
    assert_eq!((played(&[3, 1, 2]), played(&[3, 1, 0])), (one, other));
}

#[test]
fn an_expert_writes_no_more_tests_than_are_looked_at() {
    let long = "1".repeat(5000);
    let input = |n: usize| if n == 1 { long.clone() } else { format!("{n}{}", "0".repeat(999)) };
    let mut code = start(&held_out(&(0..200).map(input).collect::<Vec<_>>()));
    let tests = advice(&code, "tester");
    assert!(tests.len() < 16 << 10 && !tests.contains(&long), "{} bytes", tests.len());
    assert_eq!(earned(&say(&mut code, "tester", "tests", &tests)), (0.0, 1.0));
}

#[test]
fn lazy_players_earn_less_than_the_worst_solution() {
    stand_in::install(200, None, |task| task);
    for seed in 0..200 {
        let task = Task::of::<Code>(Split::Train, seed);
        let shown = Code::start(&task).expect("a problem").observe(&Seat::new("solo"));
        let output = shown.split("Output:\n").nth(1).and_then(|rest| rest.lines().next());
        let constant = format!("print(\"{}\")", output.unwrap_or_default());
        let example = "name = input()\nprint(\"Hello, \" + name)";
        for text in ["", "print(\"0\")", "print(\"none\")", &constant, example] {
            let mut code = Code::start(&task).expect("a problem");
            let mut total = 0.0;
            for _ in 0..5 {
                let outcome = say(&mut code, "solo", "program", text);
                total += outcome.for_team() + outcome.for_mover(0);
                assert_eq!(outcome.status, Status::Ongoing, "{text}");
            }
            assert!(total < 1.2, "{text} earned {total}");
        }
    }
}

#[test]
fn tasks_are_the_same_for_ever() {
    let mut digests = Vec::new();
    for kind in [Kind::Lists, Kind::Words, Kind::Numbers] {
        for split in Split::ALL {
            let task = Task::of::<Code>(split, 1);
            let counts = Counts { shown: 2, hidden: Some(8), generated: 8 };
            let drawn = generated::draw(&task, Some(kind), 2, counts).expect("a problem");
            let text = drawn.statement + &suite::written(&drawn.problem.tests);
            // FNV-1a.
            let fold =
                |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            digests
                .push(format!("{:016x}", text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fold)));
        }
    }
    assert_eq!(digests.join(" "), GOLDEN);
}

const GOLDEN: &str = "8f7928e0f019a43b 1ad7734efe3a8acd 297cec91f376dafe \
    3e36b15a0384fa84 26e41c5bd641e365 8e315c6e05250f3d \
    1781acf0cadaee7b fd865a191ae0deec 98d6e466dae6165a";

#[test]
fn in_words_a_program_is_one_line_and_a_test_is_digits() {
    stand_in::install(8, Some(Kind::Spoken), |task| task.with("observation", "words"));
    let mut code = Code::start(&team().with("observation", "words")).expect("a problem");
    let words = code::spoken::vocabulary();
    let is_spoken =
        |text: &str| text.split_whitespace().all(|word| words.contains(&word.to_owned()));
    let (program, tests) = (advice(&code, "coder"), advice(&code, "tester"));
    assert!(is_spoken(&program) && is_spoken(&tests), "{program} | {tests}");
    assert!(program.starts_with("n = int(input()) ; n = "), "{program}");
    say(&mut code, "coder", "program", "print(\"7\")");
    say(&mut code, "tester", "tests", &tests);
    let seen = code.observe(&Seat::new("coder"));
    assert!(is_spoken(&seen) && seen.ends_with(" fails disagrees"), "{seen}");
    let outcome = say(&mut code, "coder", "program", &program);
    assert_eq!(outcome.status, Status::Solved);
    assert!(code.observe(&Seat::new("coder")).ends_with(" passes agrees"));
}
