//! From a GGUF file to a policy that plays, by the commands that the docs name.

use std::fs;

use crate::gguf_file::tiny;
use crate::support::{plugins, run};

#[test]
fn an_imported_model_can_be_looked_at_asked_and_played_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, out) = (path("tiny.gguf"), path("tiny"));
    fs::write(&file, tiny("llama", "smollm").bytes()).unwrap();

    let (code, stdout, stderr) = run(&["policy", "import", &file, "--out", &out]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("F32 (20)") && stdout.contains("float32"), "{stdout}");

    let (code, stdout, _) = run(&["policy", "render", &out, "hello", "--system", "Be kind."]);
    let prompt = "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n";
    assert!(code == 0 && stdout.starts_with(prompt), "{stdout}");
    assert!(stdout.contains("tokens: [258,"), "{stdout}");

    let ask = ["policy", "ask", &out, "hello", "--samples", "2", "--temperature", "1"];
    let answers = |seed: &str| run(&[&ask[..], &["--max-tokens", "8", "--seed", seed]].concat()).1;
    let first = answers("1");
    assert!(first.contains("[1]\n") && first.contains("[2]\n"), "{first}");
    assert_eq!(answers("1"), first);
    assert_ne!(answers("2"), first);

    let (files, policy) = (plugins(&["math", "solo"]), format!("policies.shared.path=\"{out}\""));
    let play = ["play", "--plugins", &files, "--set", &policy];
    let (code, stdout, stderr) =
        run(&[&play[..], &["--set", "environment.observation=plain"]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("player (turn 1)"), "{stdout}");
}

#[test]
fn a_file_that_cannot_be_imported_is_named_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, out) = (path("bad.gguf"), path("out"));
    fs::write(&file, &tiny("llama", "smollm").bytes()[..5_000]).unwrap();
    let (code, _, stderr) = run(&["policy", "import", &file, "--out", &out]);
    assert!(code == 4 && stderr.contains("bad.gguf`: it is cut off"), "{code} {stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    // As `tiny`, but its weights are no numbers: only the loader sees that.
    let mut bytes = tiny("llama", "smollm").bytes();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&file, &bytes).unwrap();
    let (code, _, stderr) = run(&["policy", "import", &file, "--out", &out]);
    assert!(code == 4 && stderr.contains("infinities or NaN"), "{code} {stderr}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let (code, _, stderr) = run(&["policy", "import", &path("none.gguf"), "--out", &out]);
    assert!(code == 5 && stderr.contains("none.gguf"), "{code} {stderr}");
    fs::create_dir_all(folder.path().join("out/kept")).unwrap();
    let (code, _, stderr) = run(&["policy", "import", &file, "--out", &out]);
    assert!(code == 5 && stderr.contains("it holds something already"), "{code} {stderr}");
}

#[test]
fn who_names_a_gguf_file_as_a_policy_is_told_how_to_import_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.gguf");
    fs::write(&file, "GGUF").unwrap();
    for named in [file.as_path(), folder.path()] {
        let (code, _, stderr) = run(&["policy", "inspect", named.to_str().unwrap()]);
        assert!(code == 4 && stderr.contains("host policy import"), "{stderr}");
        assert!(stderr.contains("model.gguf"), "{stderr}");
    }
}
