//! What a job's commands are, and what becomes of one whose child fails.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::kept::KeptCells;
use crate::setup::resolve;

#[test]
fn an_exam_is_of_the_last_step_of_its_run_greedily_and_then_sampled() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let mut exam = parse(FILE).unwrap().exam;
    (exam.tasks, exam.samples) = (9, 3);
    let work = Work::Exam {
        run: Some("abc".to_owned()),
        config: "rows/a.toml".into(),
        policies: Vec::new(),
        sets: vec!["roles.a=b".to_owned()],
        exam,
    };
    let label = "exam of a".to_owned();
    let job = Job { address: "def".to_owned(), label, seed: 7, work, needs: Vec::new() };
    let program = Program { host: "host".into(), device: None, threads: 1 };
    let root = temporary.path().display().to_string();
    let lines = job.lines(&folder, &program).into_iter().map(|line| line.replace(&root, "."));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        ["", "--samples 3 "].iter().enumerate().map(|(place, samples)| format!(
            "host eval --step last --run ./runs/abc --set 'run.seed=7' --set 'roles.a=b' --split test \
             --tasks 9 {samples}--outcomes ./exams/.def-{place}"
        )).collect::<Vec<_>>()
    );
}

#[test]
fn what_failed_by_itself_is_tried_again_and_what_a_run_ended_is_not() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let mut jobs = ["a", "b", "c", "d"].map(|name| job(name, name, 1));
    jobs[3].needs = vec![1];
    let note = |address: &str, code| {
        let failure = Failure { code: Some(code), message: "no".to_owned() };
        troupe_core::storage::write_json(&folder.failure(address), &failure).unwrap();
    };
    note("a", 5);
    note("b", 6);
    let program = Program { host: "/bin/false".into(), device: None, threads: 1 };
    let children = Children::default();
    let schedule =
        Schedule { jobs: &jobs, folder: &folder, program: &program, children: &children };
    let states = schedule.earlier().unwrap();
    assert_eq!((&states[0], &states[2]), (&State::Waiting, &State::Waiting));
    assert!(matches!(&states[1], State::Failed(failure) if failure.code == Some(6)));
    assert_eq!(states[3], State::Skipped, "what needs it is not to come");
    let states = schedule.run(2, |_| (), |_| ()).unwrap();
    assert!(matches!(&states[0], State::Failed(failure) if failure.code == Some(1)), "{states:?}");
    assert!(matches!(&states[1], State::Failed(failure) if failure.code == Some(6)));
}

/// A `host` that trains until its guard ends the run, and examines, unless it is not to.
fn guarded_host(folder: &Path, examines: bool) -> PathBuf {
    let host = folder.join("host");
    let exam = folder.join("exam.jsonl");
    fs::write(&exam, outcomes(1, &[2])).unwrap();
    let examine =
        if examines { format!("cp {} \"$last\"", exam.display()) } else { "exit 5".into() };
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\ncase $1 in\n\
         train) echo 'error: nothing is learned any more; try more'; exit 6 ;;\n\
         eval) {examine} ;;\nesac\n"
    );
    fs::write(&host, text).unwrap();
    fs::set_permissions(&host, fs::Permissions::from_mode(0o755)).unwrap();
    host
}

#[test]
fn a_run_that_ended_itself_counts_as_what_it_left_and_says_so() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let (mut plan, _) = filled(&folder);
    for job in &mut plan.jobs {
        let Work::Train { policies, .. } = &mut job.work else { panic!("a run") };
        policies.clear();
    }
    let ended = &plan.jobs[5].address;
    write_run(&folder, ended, [&[0, 1], &[]], (0.5, 0));
    fs::remove_file(folder.run(ended).join("summary.json")).unwrap();
    let host = guarded_host(temporary.path(), true);
    let program = Program { host, device: None, threads: 1 };
    let children = Children::default();
    let schedule =
        Schedule { jobs: &plan.jobs, folder: &folder, program: &program, children: &children };
    let states = schedule.run(1, |_| (), |_| ()).unwrap();
    assert_eq!(states, vec![State::Done; 6]);
    assert_eq!(schedule.earlier().unwrap(), states, "and another call has nothing left to do");
    let results = Results::read(&plan, &states, &folder).unwrap();
    let flat = &results.rows[1];
    // One of four tasks after two of four; the other seeds' figures are what they were.
    assert_eq!(flat.solved.as_ref().unwrap().seeds, [0.25, 0.25, 0.25]);
    assert_eq!(flat.gained.as_ref().unwrap().seeds[2], -0.25);
    let note = "seed 3: ended after step 1, and examined as it was: nothing is learned any more";
    assert!(flat.notes.iter().any(|said| said == note), "{:?}", flat.notes);
    assert!(!results.has_failed());
    // A cell keeps it.
    let kept = KeptCells::below(&temporary.path().join("cells"));
    plan.keep_cells(&kept, &folder).unwrap();
    let cells = kept.of(&plan.rows[1], &plan.file).unwrap();
    assert_eq!(cells[2].sitting.ended.as_deref(), Some("nothing is learned any more"));
}

#[test]
fn a_run_that_ended_itself_and_cannot_be_examined_has_failed_by_what_ended_it() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::create(temporary.path()).unwrap();
    let mut jobs = [job("a", "a", 1)];
    let Work::Train { policies, .. } = &mut jobs[0].work else { panic!("a run") };
    policies.clear();
    let host = guarded_host(temporary.path(), false);
    let program = Program { host, device: None, threads: 1 };
    let children = Children::default();
    let schedule =
        Schedule { jobs: &jobs, folder: &folder, program: &program, children: &children };
    let states = schedule.run(1, |_| (), |_| ()).unwrap();
    let State::Failed(failure) = &states[0] else { panic!("{states:?}") };
    assert!(failure.code == Some(6) && failure.message.starts_with("nothing is learned"));
}

#[test]
fn a_process_that_ends_before_all_rows_are_resolved_blames_none_of_them() {
    let temporary = tempfile::tempdir().unwrap();
    let (host, rows) = (temporary.path().join("host"), rows());
    let program = Program { host: host.clone(), device: None, threads: 1 };
    let of_all: Vec<&Row> = rows.iter().collect();
    let ends = [
        ("echo 'error: it is full' >&2; exit 0", "exit status: 0): it is full"),
        ("echo 'error: it is full' >&2; exit 5", "exit status: 5): it is full"),
        (
            "kill -9 $$",
            "signal: 9 (SIGKILL)): it did not say why; who runs out of memory is killed so",
        ),
    ];
    for (end, reason) in ends {
        let answer = "cat > /dev/null\necho '{\"resolved\":\"\"}'";
        fs::write(&host, format!("#!/bin/sh\n{answer}\n{end}\n")).unwrap();
        fs::set_permissions(&host, fs::Permissions::from_mode(0o755)).unwrap();
        let error = resolve(&of_all, &parse(FILE).unwrap().exam, &program).unwrap_err();
        let said = "the rows' configurations cannot be resolved (";
        assert_eq!(error.to_string(), format!("{said}{reason}"));
    }
}
