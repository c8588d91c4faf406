//! The package as Python has it.

use crate::venv::{Venv, root, said};

#[test]
fn the_package_trains_looks_at_runs_grades_and_plays() {
    assert_eq!(Venv::shared().script("use.py", &[]), "used\n");
}

#[test]
fn the_package_and_what_uses_it_pass_strict_mypy() {
    let venv = Venv::shared();
    let mut mypy = venv.program("python3");
    mypy.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(venv.work().join("mypy"));
    mypy.arg("--package").arg("troupe");
    said(&mut mypy);
    let mut mypy = venv.program("python3");
    mypy.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(venv.work().join("mypy"));
    said(mypy.arg(root().join("tests/install/use.py")));
}
