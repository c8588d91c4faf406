//! Which rows may be compared.

use super::*;

fn planned(name: &str, sets: &[&str]) -> PlannedRow {
    let entry = r#"seeds = [1]
[[rows]]
name = "NAME"
"#;
    let file = parse(&entry.replace("NAME", name)).unwrap();
    let config = config(sets);
    let row = expand(&file).unwrap().remove(0);
    PlannedRow {
        row,
        exam_config: config.clone(),
        config,
        lenders: BTreeMap::new(),
        cells: Vec::new(),
        kept: Vec::new(),
    }
}

#[test]
fn rows_of_other_tasks_budgets_or_files_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        format!("plugins.files=['{}']", path.display())
    };
    let (maze, other_maze) = (file("a/maze.wasm", "1"), file("b/maze.wasm", "2"));
    let text = "seeds = [1]\nexam = { ignore = ['environment.view'] }\n[[rows]]\nname = 'a'\n\
                [[compare]]\nbetter = 'a'\nthan = 'b'";
    let check = |sets: &[&str]| {
        let common = [maze.as_str(), "plugins.environment=maze", "environment.walls=3"];
        let rows = [planned("a", &common), planned("b", &[&common[..], sets].concat())];
        let mut addresses = Addresses::new(&folder.path().join("a/maze.wasm"), "cpu").unwrap();
        check_claims(&parse(text).unwrap(), &rows, false, &mut addresses)
            .map_err(|error| error.to_string())
    };
    assert_eq!(check(&["advantage.alpha=2.0", "environment.view=3"]), Ok(()));
    let said = |sets: &[&str]| check(sets).unwrap_err();
    assert_eq!(
        said(&["environment.walls=4"]),
        "`a` cannot be compared with `b`: `environment.walls` is not the same, so their tasks may \
         differ; if it does not change which tasks there are, add it to exam.ignore"
    );
    assert!(
        said(&["plugins.environment=sums"]).contains("they are examined on `maze` and on `sums`")
    );
    assert!(said(&[&other_maze]).contains("two different files are called `maze`"));
    assert!(said(&["train.budget.samples=9"]).contains("their budgets differ"));
    assert!(said(&["train.steps=9"]).contains("one trains for 100 steps and one for 9"));
    assert!(said(&["tasks.limit=9"]).contains("tasks.limit"));
}

#[test]
fn two_policies_may_spend_twice_as_much_if_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host");
    fs::write(&program, "program").unwrap();
    let one = ["policies.shared.layers=2", "train.budget.samples=100"];
    let two = ["policies.a.layers=2", "policies.b.layers=2", "train.budget.samples=200"];
    let frozen = [&two[..], &["policies.b.train=false"]].concat();
    let check = |than: &[&str], equal: &str| {
        let text = format!(
            "seeds = [1]\n[[rows]]\nname = 'a'\n[[compare]]\nbetter = 'a'\nthan = 'b'\n{equal}"
        );
        let rows = [planned("a", &one), planned("b", than)];
        let mut addresses = Addresses::new(&program, "cpu").unwrap();
        check_claims(&parse(&text).unwrap(), &rows, false, &mut addresses)
            .map_err(|error| error.to_string())
    };
    assert_eq!(check(&two, "budget = 'policy'"), Ok(()));
    assert!(check(&two, "").unwrap_err().contains("their budgets differ"));
    let refused = check(&frozen, "budget = 'policy'").unwrap_err();
    assert!(refused.contains("each policy of `b` has 200"), "{refused}");
}
