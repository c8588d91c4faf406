//! What is found of rows that came out in one way or another.

use super::*;

/// An experiment in which all is done: what each row solves of eight tasks, seed by seed, before
/// and after.
pub(super) struct Done {
    _temporary: tempfile::TempDir,
    pub(super) folder: Folder,
    pub(super) plan: Plan,
    pub(super) states: Vec<State>,
}

pub(super) type Solved<'s> = [&'s [u32]; 2];

pub(super) const ALL: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];
const MOST: &[u32] = &[0, 1, 2, 3, 4, 5, 6];
const MANY: &[u32] = &[0, 1, 2, 3, 4, 5];
pub(super) const HALF: &[u32] = &[0, 1, 2, 3];
pub(super) const FEW: &[u32] = &[0, 1];
pub(super) const ONE: &[u32] = &[0];
pub(super) const NONE: &[u32] = &[];

impl Done {
    pub(super) fn new(text: &str, solved: &[(&str, &[Solved])]) -> Self {
        Done::of(parse(text).unwrap(), solved)
    }

    pub(super) fn of(file: ExperimentFile, solved: &[(&str, &[Solved])]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(temporary.path()).unwrap();
        let (mut jobs, mut rows): (Vec<Job>, Vec<PlannedRow>) = (Vec::new(), Vec::new());
        for row in expand(&file).unwrap() {
            let (_, own) = solved.iter().find(|(name, _)| *name == row.name).unwrap();
            let mut cells = Vec::new();
            for (&seed, solved) in file.seeds.iter().zip(*own) {
                cells.push(cell(&row, seed, *solved, &rows, &mut jobs, &folder));
            }
            let config = config(&[]);
            rows.push(PlannedRow {
                row,
                exam_config: config.clone(),
                config,
                lenders: BTreeMap::new(),
                cells,
                kept: Vec::new(),
            });
        }
        let states = vec![State::Done; jobs.len()];
        let families = families(&file.compare, &expand(&file).unwrap());
        let plan = Plan { file, rows, families, jobs };
        Done { _temporary: temporary, folder, plan, states }
    }

    pub(super) fn results(&self) -> Result<Results, String> {
        Results::read(&self.plan, &self.states, &self.folder).map_err(|error| error.to_string())
    }

    pub(super) fn fail(&mut self, address: &str) {
        let place = self.plan.jobs.iter().position(|job| job.address == address).unwrap();
        let message = "it moved too far".to_owned();
        self.states[place] = State::Failed(Failure { code: Some(6), message });
    }
}

/// One seed of a row: a run, or an exam of other rows' runs.
fn cell(
    row: &Row,
    seed: u64,
    solved: Solved,
    rows: &[PlannedRow],
    jobs: &mut Vec<Job>,
    folder: &Folder,
) -> Cell {
    let run_of = |name: &String| {
        let other = rows.iter().find(|other| other.row.name == *name).unwrap();
        other.cells.iter().find(|cell| cell.seed == seed).unwrap().run.unwrap()
    };
    let address = format!("{}-{seed}", row.name);
    let needs: Vec<usize> = match &row.source {
        Source::Of(other) => vec![run_of(other)],
        Source::Combined(parts) => parts.values().map(run_of).collect(),
        _ => Vec::new(),
    };
    let place = jobs.len();
    if needs.is_empty() {
        write_run(folder, &address, solved, (0.5, 0));
        fs::write(
            folder.run(&address).join("outcomes.jsonl"),
            lines(0, solved[0]) + &lines(1, solved[1]),
        )
        .unwrap();
        jobs.push(job(&address, &row.label(), seed));
        return Cell { seed, run: Some(place), exam: None };
    }
    fs::write(folder.exam(&address), lines(1, solved[1])).unwrap();
    let run = matches!(row.source, Source::Of(_)).then(|| needs[0]);
    let exam = ExperimentFile::parse(FILE, Path::new("x.toml"), &[]).unwrap().exam;
    let work = Work::Exam {
        run: None,
        config: "rows/a.toml".into(),
        policies: Vec::new(),
        sets: Vec::new(),
        exam,
    };
    jobs.push(Job { address, label: row.label(), seed, work, needs });
    Cell { seed, run, exam: Some(place) }
}

/// What became of eight tasks.
fn lines(step: usize, solved: &[u32]) -> String {
    let later = |line: &str| line.replace("\"task\":", "\"task\":1");
    let of = |tasks: std::ops::Range<u32>| -> Vec<u32> {
        solved.iter().filter(|task| tasks.contains(task)).map(|task| task % 4).collect()
    };
    outcomes(step, &of(0..4))
        + &outcomes(step, &of(4..8)).lines().map(|line| later(line) + "\n").collect::<String>()
}

const TWO: &str = "seeds = [1, 2, 3]\n[[rows]]\nname = 'a'\n[[rows]]\nname = 'b'\n";

pub(super) fn compare(extra: &str) -> String {
    format!("{TWO}[[compare]]\nbetter = 'a'\nthan = 'b'\n{extra}\n")
}

#[test]
fn a_row_with_a_failed_seed_has_no_mean_and_no_claim_and_says_which_and_why() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, FEW]; 3])];
    let mut done = Done::new(&compare(""), &rows);
    assert_eq!(done.results().unwrap().claims[0].verdict, Verdict::Shown);
    done.fail("b-2");
    let results = done.results().unwrap();
    let failed = &results.rows[1];
    assert_eq!((&failed.solved, failed.failed, &failed.seeds[..]), (&None, true, &[1, 3][..]));
    assert_eq!(failed.notes[0], "seed 2 failed: it moved too far (exit code 6)");
    assert_eq!(results.claims[0].said(), "no verdict; seed 2 of `b` failed");
    let table = results.markdown();
    assert!(table.contains("| b | – | – | – | 25.0, 25.0 | – |"), "{table}");
    done.fail("b-3");
    assert_eq!(done.results().unwrap().claims[0].said(), "no verdict; seeds 2, 3 of `b` failed");
    // What is still to come is waited for.
    let last = done.states.len() - 1;
    done.states = vec![State::Done; last + 1];
    done.states[last] = State::Waiting;
    let claim = &done.results().unwrap().claims[0];
    assert_eq!(claim.said(), "no verdict; seed 3 of `b` is still to come");
    // What there is of it is shown, of the seeds that both have.
    assert_eq!(claim.difference.as_ref().unwrap().seeds, [0.75, 0.75]);
    assert_eq!(claim.chance, None);
}

#[test]
fn a_row_names_its_seeds_that_are_still_to_come_in_one_note() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, FEW]; 3])];
    let mut done = Done::new(&compare(""), &rows);
    for said in ["seed 3 is missing", "seeds 2, 3 are missing", "not run yet"] {
        let last = done.states.iter().rposition(|state| *state == State::Done).unwrap();
        done.states[last] = State::Waiting;
        let results = done.results().unwrap();
        assert_eq!((&results.rows[0].notes, results.rows[0].missing), (&vec![], false));
        assert_eq!(
            (&results.rows[1].notes[..], results.rows[1].missing),
            (&[said.to_owned()][..], true)
        );
    }
}

#[test]
fn three_seeds_in_a_row_are_named_by_the_first_and_the_last() {
    let said =
        |seeds: &[u64]| crate::results::named(seeds).map(|(seeds, are)| format!("{seeds} {are}"));
    assert_eq!(said(&[]), None);
    assert_eq!(said(&[4]).as_deref(), Some("seed 4 is"));
    assert_eq!(said(&[1, 2]).as_deref(), Some("seeds 1, 2 are"));
    assert_eq!(said(&[1, 3, 4, 5, 8, 9]).as_deref(), Some("seeds 1, 3 to 5, 8, 9 are"));
    assert_eq!(said(&[u64::MAX, 0]).as_deref(), Some(&*format!("seeds {}, 0 are", u64::MAX)));
}

#[test]
fn a_claim_whose_other_side_ended_below_its_own_start_says_so() {
    let said = |rows: &[(&str, &[Solved])], text: &str| {
        Done::new(text, rows).results().unwrap().claims[0].said()
    };
    let ruined: [(&str, &[Solved]); 2] =
        [("a", &[[HALF, ALL]; 3]), ("b", &[[HALF, ONE], [HALF, ONE], [HALF, FEW]])];
    let told = said(&ruined, &compare(""));
    assert!(told.starts_with("shown; `b` ended 33.3 points below its own start (−"), "{told}");
    let joined = compare("").replace("'b'", "'b-c'");
    let told = said(&[ruined[0], ("b-c", ruined[1].1)], &joined);
    assert!(told.starts_with("shown; `b-c` ended 33.3 points below its own start (−"), "{told}");
    let sound: [(&str, &[Solved]); 2] = [("a", &[[HALF, ALL]; 3]), ("b", &[[HALF, HALF]; 3])];
    assert_eq!(said(&sound, &compare("")), "shown");
    // The side that is said to be better is another matter.
    let reverse = compare("").replace("better = 'a'\nthan = 'b'", "better = 'b'\nthan = 'a'");
    assert_eq!(said(&ruined, &reverse), "the opposite");
    // Policies that are taken from a run are that run's.
    for source in ["of = 'b'", "combine = { x = 'b', y = 'a' }"] {
        let text =
            format!("{TWO}[[rows]]\nname = 'c'\n{source}\n[[compare]]\nbetter = 'a'\nthan = 'c'\n");
        let rows = [ruined[0], ruined[1], ("c", &[[NONE, FEW]; 3][..])];
        let told = said(&rows, &text);
        assert!(told.contains("; `b` ended 33.3 points below its own start"), "{source}: {told}");
        assert!(!told.contains("`a` ended"), "{told}");
    }
}

#[test]
fn a_row_may_be_judged_by_sampled_answers_beside_others_that_are_not() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, MANY]; 3]), ("b", &[[NONE, FEW]; 3])];
    let text = compare("").replacen("name = 'b'", "name = 'b'\nanswers = 'sampled'", 1);
    assert!(parse(&text).unwrap_err().to_string().contains("exam.samples"), "none is drawn");
    let done = Done::new(&format!("exam = {{ samples = 1 }}\n{text}"), &rows);
    for address in ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"] {
        let path = done.folder.run(address).join("outcomes.jsonl");
        let sampled = lines(0, NONE) + &lines(1, ALL);
        let all = fs::read_to_string(&path).unwrap() + &sampled.replace("greedy", "sampled");
        fs::write(&path, all).unwrap();
    }
    let results = done.results().unwrap();
    let means: Vec<f64> =
        results.rows.iter().map(|row| row.solved.as_ref().unwrap().mean).collect();
    assert_eq!(means, [0.75, 1.0]);
    assert_eq!(results.rows[1].notes, ["of sampled answers"]);
    assert_eq!(results.claims[0].difference.as_ref().unwrap().mean, -0.25);
}

#[test]
fn claims_of_a_part_are_corrected_for_each_other_and_those_of_a_named_family_apart() {
    // Seven tasks of eight more, seven and six: a chance between 1 and 5 % by itself.
    let rows: [(&str, &[Solved]); 2] =
        [("a", &[[NONE, MOST], [NONE, MANY], [NONE, HALF]]), ("b", &[[NONE, ONE]; 3])];
    let claim = "[[compare]]\nbetter = 'a'\nthan = 'b'\n";
    let chances = |text: &str| -> Vec<f64> {
        let results = Done::new(text, &rows).results().unwrap();
        results.claims.iter().map(|claim| claim.chance.unwrap()).collect()
    };
    let alone = chances(&compare(""))[0];
    assert!((0.01..0.05).contains(&alone), "{alone}");
    let four = chances(&format!("{}{claim}{claim}{claim}", compare("")));
    assert!(four.iter().all(|chance| (chance - 4.0 * alone).abs() < 1e-12), "{four:?} of {alone}");
    let verdict = |text: &str| Done::new(text, &rows).results().unwrap().claims[0].verdict;
    assert_eq!(verdict(&compare("")), Verdict::Shown);
    assert_eq!(verdict(&format!("{}{claim}{claim}{claim}", compare(""))), Verdict::NotShown);
    let named = format!("{}{claim}{claim}{claim}", compare("family = 'first'"));
    let found = chances(&named);
    assert!(
        (found[0] - alone).abs() < 1e-12 && (found[1] - 3.0 * alone).abs() < 1e-12,
        "{found:?}"
    );
    let results = Done::new(&named, &rows).results().unwrap();
    assert_eq!(
        (results.claims[0].family.as_str(), results.claims[1].family.as_str()),
        ("first", "")
    );
}

#[test]
fn rows_that_differ_by_less_than_the_margin_are_equivalent() {
    let alike: [(&str, &[Solved]); 2] = [
        ("a", &[[NONE, MOST], [NONE, MANY], [NONE, MOST]]),
        ("b", &[[NONE, MANY], [NONE, MOST], [NONE, MANY]]),
    ];
    let said = |extra: &str, before: &str| {
        let text = format!("{before}{}", compare(extra));
        Done::new(&text, &alike).results().unwrap().claims[0].said()
    };
    assert_eq!(said("", ""), "not shown");
    assert_eq!(said("margin = 0.6", ""), "equivalent; they differ by less than 60.0 points");
    assert_eq!(said("margin = 0.05", ""), "not shown");
    assert_eq!(said("", "margin = 0.6\n"), "equivalent; they differ by less than 60.0 points");
    assert_eq!(said("margin = 0.05", "margin = 0.6\n"), "not shown");
    // What is there and small is both.
    let apart: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, HALF]; 3])];
    let found = Done::new(&compare("margin = 0.999"), &apart).results().unwrap();
    assert_eq!(found.claims[0].said(), "shown; but by less than 99.9 points");
    for wrong in ["margin = 0", "margin = 3.0", "margin = -0.1"] {
        let refused = parse(&compare(wrong)).unwrap_err().to_string();
        assert!(refused.contains("`compare[0].margin` cannot be used: it is a share"), "{refused}");
    }
}

#[test]
fn a_row_that_is_put_together_spends_what_its_parts_spend_together() {
    let text = "seeds = [1]\n[[rows]]\nname = 'whole'\n[[rows]]\nname = 'one'\n[[rows]]\n\
                name = 'other'\n[[rows]]\nname = 'apart'\ncombine = { x = 'one', y = 'other' }\n\
                [[compare]]\nbetter = 'whole'\nthan = 'apart'\n";
    let file = parse(text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host");
    fs::write(&program, "program").unwrap();
    let check = |budgets: [&[&str]; 3]| {
        let budgets = [budgets[0], budgets[1], budgets[2], &[]];
        let rows = expand(&file).unwrap().into_iter().zip(budgets).map(|(row, budget)| {
            let config = config(budget);
            PlannedRow {
                row,
                exam_config: config.clone(),
                config,
                lenders: BTreeMap::new(),
                cells: Vec::new(),
                kept: Vec::new(),
            }
        });
        let rows: Vec<PlannedRow> = rows.collect();
        let mut addresses = Addresses::new(&program, "cpu").unwrap();
        check_claims(&file, &rows, false, &mut addresses).map_err(|error| error.to_string())
    };
    for name in ["completion_tokens", "samples", "seconds"] {
        let set = |amount: u32| format!("train.budget.{name}={amount}");
        let (whole, half) = (set(400), set(200));
        let (whole, half): (&[&str], &[&str]) = (&[&whole], &[&half]);
        assert_eq!(check([whole, half, half]), Ok(()));
        let refused = check([half, half, half]).unwrap_err();
        assert!(
            refused.contains(&format!(
                "of `train.budget.{name}` `whole` has 200, and `apart` has 400"
            )),
            "{refused}"
        );
        assert!(refused.contains("(`one` and `other` together)"), "{refused}");
        let refused = check([whole, half, &[]]).unwrap_err();
        assert!(refused.contains("has a limit that another has not"), "{refused}");
    }
    let refused = check([&[], &[], &[]]).unwrap_err();
    assert!(refused.contains("one trains for 100 steps and one for 200"), "{refused}");
    assert_eq!(check([&["train.steps=30"], &["train.steps=10"], &["train.steps=20"]]), Ok(()));
}

#[test]
fn a_part_whose_runs_are_of_several_builds_or_of_none_is_refused_by_name() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, FEW]; 3])];
    let done = Done::new(&compare(""), &rows);
    let results = done.results().unwrap();
    assert_eq!(results.builds[""], [build("a1")]);
    let said = "Made by host 1.2.3 (commit c0ffee, program a1).";
    assert!(results.markdown().contains(said), "{}", results.markdown());
    let other = build("b2");
    for (builds, plugin, expected) in [
        (&[][..], "11", "does not say which build of Troupe made it"),
        (&[Build::unknown("1.2.3")][..], "11", "does not say which build of Troupe made it"),
        (&[other.clone()][..], "11", "(a, seed 1), beside which it would stand, by 1.2.3"),
        (&[build("a1"), other.clone()][..], "11", "continued by 1.2.3 (commit c0ffee, program b2)"),
        (&[build("a1")][..], "22", "another file of the plugin `maze` than a, seed 1"),
    ] {
        write_manifest(&done.folder, "b-2", builds, plugin);
        let refused = done.results().unwrap_err();
        let expected = expected.replace("(a, seed 1)", "a, seed 1");
        assert!(refused.contains(&expected) && refused.contains("remove"), "{refused}");
        assert!(refused.contains("runs/b-2") && refused.contains("(b, seed 2)"), "{refused}");
    }
}

#[test]
fn seeds_that_were_examined_on_other_tasks_are_not_put_together() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, FEW]; 3])];
    let done = Done::new(&compare(""), &rows);
    let path = done.folder.run("a-2").join("outcomes.jsonl");
    let all = fs::read_to_string(&path).unwrap();
    fs::write(&path, all.replace("\"task\":13", "\"task\":99")).unwrap();
    let refused = done.results().unwrap_err();
    assert!(
        refused.contains("`a` was not examined on the same tasks with the seeds 1 and 2"),
        "{refused}"
    );
}

#[test]
fn chances_are_corrected_for_claims_about_rows_that_are_left_out() {
    let rows: [(&str, &[Solved]); 2] = [("a", &[[NONE, ALL]; 3]), ("b", &[[NONE, FEW]; 3])];
    let mut done = Done::new(&compare("[[compare]]\nbetter = 'b'\nthan = 'a'"), &rows);
    assert_eq!(done.plan.families, BTreeMap::from([(String::new(), 2)]));
    let whole = done.results().unwrap().claims;
    // As `--only` leaves it: one of the two claims is not looked at.
    done.plan.file.compare.pop();
    let part = done.results().unwrap().claims;
    assert_eq!((part.len(), part[0].chance), (1, whole[0].chance));
    assert!(part[0].chance.is_some());
}
