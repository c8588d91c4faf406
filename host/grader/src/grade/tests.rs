//! The logic of verdicts, over a runner that plays from a script.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::program::SandboxError;

/// Answers runs in order, and remembers what it was asked.
struct Script {
    answers: Mutex<Vec<Result<Execution, SandboxError>>>,
    asked: Mutex<Vec<(Program, Vec<u8>, RunLimits)>>,
}

impl Runner for Script {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        self.asked.lock().unwrap().push((program.clone(), stdin.to_vec(), *limits));
        self.answers.lock().unwrap().remove(0).map(Arc::new)
    }
}

fn script(answers: Vec<Result<Execution, SandboxError>>) -> Script {
    Script { answers: Mutex::new(answers), asked: Mutex::new(Vec::new()) }
}

fn ended(ending: Ending, stdout: &str) -> Result<Execution, SandboxError> {
    Ok(Execution {
        ending,
        stdout: stdout.as_bytes().to_vec(),
        stderr: Vec::new(),
        fuel: 10,
        memory_bytes: stdout.len() as u64,
        wall: Duration::from_millis(3),
    })
}

fn wrote(stdout: &str) -> Result<Execution, SandboxError> {
    ended(Ending::Exited { code: 0 }, stdout)
}

fn program() -> Program {
    Program::new("python", b"solve()".as_slice())
}

fn two_tests() -> Problem {
    Problem::new("p", vec![Test::stdin("1", "a\n"), Test::stdin("2", "bb\n")])
}

fn failure(graded: &Graded) -> (Option<usize>, &'static str) {
    match &graded.verdict {
        Verdict::Failed(failure) => (failure.test, failure.cause),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_passes_when_every_test_accepts() {
    let runner = script(vec![wrote("a"), wrote("bb")]);
    let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
    assert_eq!(graded.verdict, Verdict::Passed);
    assert_eq!((graded.passed, graded.run, graded.total, graded.share()), (2, 2, 2, 1.0));
    assert_eq!((graded.fuel, graded.memory_bytes, graded.wall.as_millis()), (20, 2, 6));
    let inputs: Vec<_> =
        runner.asked.lock().unwrap().iter().map(|(_, stdin, _)| stdin.clone()).collect();
    assert_eq!(inputs, [b"1", b"2"]);
}

#[test]
fn the_first_failure_ends_it_unless_all_tests_are_asked_for() {
    let runner = script(vec![wrote("wrong")]);
    let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
    assert_eq!(failure(&graded), (Some(0), "wrong_answer"));
    assert_eq!((graded.passed, graded.run), (0, 1));

    let runner = script(vec![wrote("wrong"), wrote("bb")]);
    let options = GradeOptions { stop: Stop::AllTests, ..GradeOptions::default() };
    let graded = grade(&two_tests(), Some(&program()), &options, &runner);
    assert_eq!(failure(&graded), (Some(0), "wrong_answer"));
    assert_eq!((graded.passed, graded.run, graded.share()), (1, 2, 0.5));
}

#[test]
fn a_wrong_answer_shows_both_sides() {
    let runner = script(vec![wrote("x\n")]);
    let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
    let Verdict::Failed(failure) = graded.verdict else { panic!("not failed") };
    assert_eq!(failure.detail, "expected line 1: \"a\\n\"; found line 1: \"x\\n\"");
}

#[test]
fn a_run_that_does_not_end_well_fails_whatever_it_wrote() {
    for ending in [
        Ending::Exited { code: 1 },
        Ending::Failed { error: "E".to_owned(), trace: String::new() },
        Ending::Malformed { message: String::new() },
        Ending::OutOfFuel,
        Ending::OutOfTime,
        Ending::OutOfMemory,
        Ending::OutputFlood,
        Ending::Crashed { message: String::new() },
    ] {
        let word = ending.word();
        let runner = script(vec![ended(ending, "a")]);
        let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
        assert_eq!(failure(&graded), (Some(0), word));
    }
}

#[test]
fn rules_of_in_process_graders_forgive_exit_codes() {
    for (rule, passes) in [
        (Rule::Lcb, true),
        (Rule::Apps, true),
        (Rule::Prime, true),
        (Rule::Tokens, false),
        (Rule::FusionOj, false),
    ] {
        let runner = script(vec![ended(Ending::Exited { code: 3 }, "a"), wrote("bb")]);
        let options = GradeOptions { rule: Some(rule), ..GradeOptions::default() };
        let graded = grade(&two_tests(), Some(&program()), &options, &runner);
        assert_eq!(graded.verdict == Verdict::Passed, passes, "{rule}");
    }
}

#[test]
fn a_failing_sandbox_gives_no_verdict() {
    let broken = SandboxError::Harness { message: "no memory".to_owned() };
    let runner = script(vec![wrote("a"), Err(broken)]);
    let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
    let Verdict::Void { reason } = &graded.verdict else { panic!("{graded:?}") };
    assert!(reason.contains("test 1: the sandbox failed: no memory"), "{reason}");

    let broken = SandboxError::Harness { message: "no memory".to_owned() };
    let runner = script(vec![wrote("wrong"), Err(broken)]);
    let options = GradeOptions { stop: Stop::AllTests, ..GradeOptions::default() };
    assert_eq!(grade(&two_tests(), Some(&program()), &options, &runner).verdict.word(), "void");
}

#[test]
fn without_tests_there_is_no_verdict_and_without_a_program_no_run() {
    let runner = script(Vec::new());
    let empty = grade(&Problem::new("p", Vec::new()), None, &GradeOptions::default(), &runner);
    assert_eq!(empty.verdict.word(), "void");
    let none = grade(&two_tests(), None, &GradeOptions::default(), &runner);
    assert_eq!(failure(&none), (None, "no_code"));
    assert_eq!((none.total, none.run), (2, 0));
}

#[test]
fn one_of_several_right_outputs_is_enough() {
    let outputs = vec![b"yes".to_vec(), b"no".to_vec()];
    let problem = Problem::new("p", vec![Test::Stdin { input: [].as_slice().into(), outputs }]);
    let graded = |text| {
        grade(&problem, Some(&program()), &GradeOptions::default(), &script(vec![wrote(text)]))
    };
    assert_eq!(graded("no").verdict, Verdict::Passed);
    assert_eq!(failure(&graded("maybe")), (Some(0), "wrong_answer"));
}

#[test]
fn the_callers_rule_counts_before_the_problems_and_limits_only_shrink() {
    let mut problem = two_tests();
    problem.compare = Some(Rule::Exact);
    problem.limits.fuel = Some(7);
    problem.limits.memory_mib = Some(1 << 30);
    let runner = script(vec![wrote("a")]);
    let graded = grade(&problem, Some(&program()), &GradeOptions::default(), &runner);
    assert_eq!(failure(&graded), (Some(0), "wrong_answer"));
    let limits = runner.asked.lock().unwrap()[0].2;
    assert_eq!(limits, RunLimits { fuel: 7, ..RunLimits::default() });

    let runner = script(vec![wrote("A"), wrote("BB")]);
    let options = GradeOptions { rule: Some(Rule::FusionOj), ..GradeOptions::default() };
    assert_eq!(grade(&problem, Some(&program()), &options, &runner).verdict, Verdict::Passed);
}

#[test]
fn a_checker_decides_in_a_run_of_its_own_and_only_there_is_the_answer() {
    let mut problem = Problem::new("p", vec![Test::stdin("in", "secret")]);
    problem.checker = Some(Program::new("python", b"check()".as_slice()));
    let verdict = |code| {
        let runner = script(vec![wrote("other"), ended(Ending::Exited { code }, "why")]);
        let graded = grade(&problem, Some(&program()), &GradeOptions::default(), &runner);
        let asked = runner.asked.into_inner().unwrap();
        assert_eq!(asked[0], (program(), b"in".to_vec(), RunLimits::default()));
        assert_eq!(asked[1].1, b"2 5 6\ninothersecret");
        assert!(String::from_utf8_lossy(&asked[1].0.source).contains("\"check()\""));
        assert_eq!(graded.fuel, 10);
        graded
    };
    assert_eq!(verdict(0).verdict, Verdict::Passed);
    assert_eq!(failure(&verdict(1)), (Some(0), "wrong_answer"));
    assert_eq!(failure(&verdict(2)), (Some(0), "presentation"));
    assert_eq!(failure(&verdict(7)), (Some(0), "partial"));
}

#[test]
fn a_checker_that_dies_of_the_output_fails_it_if_it_can_judge_the_answer() {
    let died = || Ending::Failed { error: "ValueError".to_owned(), trace: String::new() };
    let judge = |answer: &str, endings: Vec<Ending>| {
        let mut problem = Problem::new("p", vec![Test::stdin("in", answer)]);
        problem.checker = Some(Program::new("python", b"check()".as_slice()));
        let runs = endings.into_iter().map(|ending| ended(ending, ""));
        let runner = script([wrote("junk")].into_iter().chain(runs).collect());
        let graded = grade(&problem, Some(&program()), &GradeOptions::default(), &runner);
        let asked: Vec<Vec<u8>> =
            runner.asked.into_inner().unwrap().into_iter().map(|(_, stdin, _)| stdin).collect();
        (graded, asked)
    };
    for code in [0, 1, 2, 7] {
        let (graded, asked) = judge("right", vec![died(), Ending::Exited { code }]);
        assert_eq!(failure(&graded), (Some(0), "presentation"));
        assert_eq!(asked[1], b"2 4 5\ninjunkright", "first the output");
        assert_eq!(asked[2], b"2 5 5\ninrightright", "then the answer itself");
    }
    for again in [died(), Ending::Exited { code: 3 }, Ending::OutOfFuel] {
        let (graded, _) = judge("right", vec![died(), again]);
        assert_eq!(graded.verdict.word(), "void");
    }
    // By its code it says that it is at fault, and is asked no more; also without a reference.
    for answer in ["right", ""] {
        let (graded, asked) = judge(answer, vec![Ending::Exited { code: 3 }]);
        assert_eq!((graded.verdict.word(), asked.len()), ("void", 2));
    }
    // Without a reference, or void would be for whoever wants it.
    let (graded, asked) = judge(" \n", vec![died()]);
    assert_eq!((failure(&graded), asked.len()), ((Some(0), "presentation"), 2));
    // Neither is it void to print what makes the checker meet what the interpreter lacks: an
    // output of nothing tells that from a checker that can never run.
    let lacks = || Ending::Unsupported { message: "a 32-bit limit".to_owned() };
    for (answer, then) in [
        ("right", Ending::Exited { code: 0 }),
        ("right", Ending::Exited { code: 1 }),
        ("", Ending::Exited { code: 2 }),
        ("", died()),
    ] {
        let (graded, asked) = judge(answer, vec![lacks(), then]);
        assert_eq!((failure(&graded), asked.len()), ((Some(0), "presentation"), 3), "{answer}");
    }
    for (answer, then) in [("right", lacks()), ("right", died()), ("", lacks())] {
        let (graded, _) = judge(answer, vec![lacks(), then]);
        let Verdict::Void { reason } = &graded.verdict else { panic!("{graded:?}") };
        assert!(reason.contains("unsupported (a 32-bit limit)"), "{reason}");
    }
    let broken = Ending::Malformed { message: String::new() };
    assert_eq!(judge("", vec![broken]).0.verdict.word(), "void");
}

#[test]
fn what_the_interpreter_lacks_is_no_verdict() {
    let lacks = Ending::Unsupported { message: "a 32-bit limit".to_owned() };
    let runner = script(vec![ended(lacks, "a")]);
    let graded = grade(&two_tests(), Some(&program()), &GradeOptions::default(), &runner);
    let Verdict::Void { reason } = &graded.verdict else { panic!("{graded:?}") };
    assert_eq!(reason, "test 0: unsupported: a 32-bit limit");
    assert_eq!(graded.fuel, 10);
}

/// What the two sides of an examination write.
fn result_line(line: &str) -> Result<Execution, SandboxError> {
    wrote(&format!("\u{1}troupe-result {line}\n"))
}

fn examined(answers: Vec<Result<Execution, SandboxError>>) -> (Graded, Vec<(Program, Vec<u8>)>) {
    let mut problem =
        Problem::new("p", vec![Test::Code { code: "assert f(1) == 77777".to_owned() }]);
    problem.function = Some("f".to_owned());
    let runner = script(answers);
    let graded = grade(&problem, Some(&program()), &GradeOptions::default(), &runner);
    let asked = runner.asked.into_inner().unwrap();
    (graded, asked.into_iter().map(|(program, stdin, _)| (program, stdin)).collect())
}

#[test]
fn test_code_and_the_program_never_meet() {
    let ask = "{\"ask\": [\"c\"], \"keep\": 0}";
    let (graded, asked) = examined(vec![
        result_line(ask),
        result_line("{\"value\": 5}"),
        result_line("{\"passed\": 1}"),
    ]);
    assert_eq!(graded.verdict, Verdict::Passed);
    assert_eq!(graded.fuel, 10, "the test code's work is not the program's");
    let text = |index: usize| String::from_utf8_lossy(&asked[index].0.source).into_owned();
    assert!(text(0).contains("77777") && !text(0).contains("solve()"));
    assert!(text(1).contains("solve()") && !text(1).contains("77777"));
    assert_eq!(asked[0].1, b"[true, []]\n");
    assert_eq!(asked[1].1, b"[\"c\"]\n");
    assert_eq!(asked[2].1, b"[true, [[\"c\", {\"value\": 5}]]]\n");
}

#[test]
fn an_examination_ends_in_every_way() {
    let ask = "{\"ask\": [\"c\"], \"keep\": 0}";
    let end = |line: &str| examined(vec![result_line(ask), result_line("5"), result_line(line)]).0;
    assert_eq!(failure(&end("{\"failed\": \"x\"}")), (Some(0), "wrong_answer"));
    assert_eq!(failure(&end("{\"raised\": \"x\"}")), (Some(0), "error"));
    assert_eq!(end("{\"void\": \"x\"}").verdict.word(), "void");
    let gone = |run| examined(vec![result_line(ask), run, result_line("{\"gone\": true}")]).0;
    assert_eq!(failure(&gone(wrote(""))), (Some(0), "no_result"));
    assert_eq!(failure(&gone(ended(Ending::OutOfFuel, ""))), (Some(0), "out_of_fuel"));
    let silent = || ended(Ending::OutOfMemory, "");
    assert_eq!(examined(vec![silent(), silent()]).0.verdict.word(), "void");
    let led_astray = examined(vec![
        result_line(ask),
        result_line("5"),
        silent(),
        result_line("{\"passed\": 1}"),
    ]);
    assert_eq!(led_astray.0.verdict, Verdict::Passed);
    let swamped = examined(vec![result_line(ask), result_line("5"), silent(), silent()]).0;
    assert_eq!(failure(&swamped), (Some(0), "out_of_memory"));
    assert_eq!(examined(vec![result_line("{\"passed\": 0}")]).0.verdict.word(), "void");
}

#[test]
fn what_the_interpreter_lacks_in_a_tested_function_is_no_verdict_if_the_call_counts() {
    let ask = "{\"ask\": [\"c\", \"d\"], \"keep\": 0}";
    let marked = |line: &str| format!("\u{1}troupe-result {line}\n");
    let lacks = |lines: &str| {
        let message = "the interpreter lacks the module lzma".to_owned();
        ended(Ending::Unsupported { message }, lines)
    };
    let one = marked("1");
    // It was met over the second call, which the test asks for.
    let (graded, _) =
        examined(vec![result_line(ask), lacks(&one), result_line("{\"gone\": true}")]);
    let Verdict::Void { reason } = &graded.verdict else { panic!("{graded:?}") };
    assert_eq!(reason, "test 0: unsupported: the interpreter lacks the module lzma");
    // The second call was a guess: the test goes another way.
    let (graded, asked) = examined(vec![
        result_line(ask),
        lacks(&one),
        result_line("{\"ask\": [\"e\"], \"keep\": 1}"),
        wrote(&(one.clone() + &marked("2"))),
        result_line("{\"passed\": 2}"),
    ]);
    assert_eq!(graded.verdict, Verdict::Passed);
    assert_eq!(asked[3].1, b"[\"c\", \"e\"]\n");
    // It was met beside the calls, as by threads that take turns: no answer can be trusted.
    let (graded, asked) = examined(vec![result_line(ask), lacks(&(one + &marked("2")))]);
    assert_eq!((graded.verdict.word(), asked.len()), ("void", 2));
}

#[test]
fn all_runs_of_a_test_share_what_four_may_use() {
    let problem = Problem::new("p", vec![Test::Code { code: "assert f(1)".to_owned() }]);
    let answer = |n: usize| result_line(&format!("{{\"value\": {n}}}"));
    let ask = || result_line("{\"ask\": [\"c\"], \"keep\": 0}");
    let graded = |limits: RunLimits, rounds: usize| {
        let runner = script((0..rounds).flat_map(|n| [ask(), answer(n)]).collect());
        let options = GradeOptions { limits, ..GradeOptions::default() };
        let graded = grade(&problem, Some(&program()), &options, &runner);
        let asked = runner.asked.into_inner().unwrap();
        (graded, asked.into_iter().map(|(.., limits)| limits).collect::<Vec<_>>())
    };
    // Each run takes 10 units and 3 ms.
    let (by_fuel, asked) = graded(RunLimits { fuel: 11, ..RunLimits::default() }, 3);
    assert_eq!(failure(&by_fuel), (Some(0), "out_of_fuel"));
    assert_eq!(asked.iter().map(|limits| limits.fuel).collect::<Vec<_>>(), [11, 11, 11, 11, 4]);
    let (by_time, asked) = graded(RunLimits { timeout_ms: 4, ..RunLimits::default() }, 3);
    assert_eq!(failure(&by_time), (Some(0), "out_of_time"));
    let times: Vec<u64> = asked.iter().map(|limits| limits.timeout_ms).collect();
    assert_eq!(times, [4, 4, 4, 4, 4, 1]);
    // However little each of them takes, there is an end.
    let (by_rounds, asked) = graded(RunLimits::default(), crate::examination::ROUNDS);
    assert_eq!(failure(&by_rounds), (Some(0), "out_of_fuel"));
    assert_eq!(asked.len(), 2 * crate::examination::ROUNDS);
}

#[test]
fn a_test_that_is_told_nothing_new_is_over() {
    let exit = || ended(Ending::Exited { code: 7 }, "");
    // It swallows that the first call never returns, and asks for the next.
    let (graded, asked) = examined(vec![
        result_line("{\"ask\": [\"c\"], \"keep\": 0}"),
        exit(),
        result_line("{\"ask\": [\"d\"], \"keep\": 1}"),
        exit(),
    ]);
    assert_eq!((failure(&graded), asked.len()), ((Some(0), "nonzero_exit"), 4));
}

#[test]
fn a_checker_that_is_asked_for_but_not_there_gives_no_verdict() {
    let options = GradeOptions { rule: Some(Rule::Checker), ..GradeOptions::default() };
    let graded = grade(&two_tests(), Some(&program()), &options, &script(Vec::new()));
    assert_eq!(graded.verdict.word(), "void");
}

#[test]
fn a_call_sends_arguments_only_and_compares_what_is_returned() {
    let number = |n: &str| Value::Int(n.to_owned());
    let mut problem =
        Problem::new("p", vec![Test::call(vec![number("1"), number("2")], number("77777"))]);
    let graded = |problem: &Problem, output: Result<Execution, SandboxError>| {
        let runner = script(vec![output]);
        let graded = grade(problem, Some(&program()), &GradeOptions::default(), &runner);
        for (program, stdin, _) in runner.asked.into_inner().unwrap() {
            assert_eq!(stdin, b"[1, 2]");
            assert!(!String::from_utf8_lossy(&program.source).contains("77777"));
        }
        graded
    };
    assert_eq!(graded(&problem, wrote("")).verdict.word(), "void");
    problem.function = Some("f".to_owned());
    let result = |value| wrote(&format!("noise\n\u{1}troupe-result {value}\n"));
    assert_eq!(graded(&problem, result("77777.0")).verdict, Verdict::Passed);
    assert_eq!(failure(&graded(&problem, result("[77777]"))), (Some(0), "wrong_answer"));
    assert_eq!(failure(&graded(&problem, wrote("77777"))), (Some(0), "no_result"));
    let brackets = format!("\u{1}troupe-result [{}0]\n", "[[]],".repeat(1 << 18));
    let endless = graded(&problem, wrote(&brackets));
    let Verdict::Failed(failed) = &endless.verdict else { panic!("{endless:?}") };
    assert_eq!((failed.cause, failed.detail.contains("could be right")), ("wrong_answer", true));
    let exited = ended(Ending::Exited { code: 1 }, "\u{1}troupe-result 77777\n");
    assert_eq!(failure(&graded(&problem, exited)), (Some(0), "nonzero_exit"));
}
#[test]
fn what_is_far_longer_than_what_is_expected_is_wrong_by_every_rule_and_no_matter_for_a_checker() {
    let mut problem = Problem::new("p", vec![Test::stdin("in", "secret")]);
    let graded = |problem: &Problem, outputs: Vec<Result<Execution, SandboxError>>| {
        grade(problem, Some(&program()), &GradeOptions::default(), &script(outputs))
    };
    let padded = |spaces: usize| wrote(&format!("secret{}", " ".repeat(spaces)));
    for rule in [Rule::Lines, Rule::Tokens, Rule::Apps] {
        problem.compare = Some(rule);
        assert_eq!(graded(&problem, vec![padded(4000)]).verdict, Verdict::Passed, "{rule:?}");
        let failed = failure(&graded(&problem, vec![padded(5000)]));
        assert_eq!(failed, (Some(0), "wrong_answer"), "{rule:?}");
    }
    problem.compare = Some(Rule::Checker);
    problem.checker = Some(Program::new("python", b"check()".as_slice()));
    assert_eq!(graded(&problem, vec![padded(5000), wrote("")]).verdict, Verdict::Passed);
}
