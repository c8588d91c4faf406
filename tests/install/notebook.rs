//! The notebooks of the documentation, as Jupyter runs them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::venv::{Venv, root};

#[test]
fn the_first_notebook_trains_and_draws_the_board_of_an_episode() {
    let venv = Venv::shared();
    let notebook = root().join("docs/notebooks/first-run.ipynb");
    let executed = venv.work().join("executed.ipynb");
    // Fewer of its steps.
    let fewer = [r#""steps": 20=>"steps": 4"#, "step=20=>step=4", r#"tasks": 64=>tasks": 8"#];
    let fewer = fewer.map(Path::new);
    venv.script("notebook.py", &[&[&*notebook, &*executed], &fewer[..]].concat());
    let executed: Value = serde_json::from_slice(&fs::read(executed).unwrap()).unwrap();
    let cells = executed["cells"].as_array().unwrap().iter();
    let outputs: Vec<&Value> =
        cells.filter_map(|cell| cell["outputs"].as_array()).flatten().collect();
    let printed: String = outputs.iter().map(|output| text(&output["text"])).collect();
    assert!(printed.contains(env!("CARGO_PKG_VERSION")), "{printed}");
    assert!(printed.contains("after: ") && printed.contains("planner: "), "{printed}");
    let images: Vec<&Value> =
        outputs.iter().filter_map(|output| output["data"].get("image/svg+xml")).collect();
    assert_eq!(images.len(), 1, "{outputs:?}");
    assert!(images[0].to_string().contains("<svg"));
}

/// A text, which notebooks keep line by line.
fn text(lines: &Value) -> String {
    lines.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
