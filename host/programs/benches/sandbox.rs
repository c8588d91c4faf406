//! `cargo bench -p host --bench sandbox`: programs a second in the sandbox and
//! in fresh Python processes, side by side, with as many at a time.
//!
//! Every run is a different program (a comment makes it so): nothing is
//! remembered from an earlier one. `PYTHON` chooses another interpreter to
//! compare with, `SECONDS` how long each cell is measured.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use troupe_core::program::{Program, RunLimits, Runner};
use troupe_sandbox::Sandbox;

/// The program whose workers run the programs; the interpreters lie beside it.
const HOST: &str = env!("CARGO_BIN_EXE_host");

/// The flags that make Python start fastest.
const BARE: [&str; 3] = ["-I", "-S", "-E"];

struct Sample {
    source: String,
    stdin: Arc<[u8]>,
    expected: Vec<u8>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --all-targets` runs benchmarks, too, but without this.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run `cargo bench`");
        return Ok(());
    }
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    let span = Duration::from_secs_f64(seconds);
    let python = interpreter()?;
    let plugins = Path::new(HOST).with_file_name("../plugins");
    let count = AtomicUsize::new(0);
    println!("runs a second; the ratio is sandbox / python3\n");
    println!("mix      jobs  sandbox  python3  ratio  python3 -I -S -E  ratio");
    for mix in ["short", "contest", "heavy"] {
        let samples = load(mix, &python)?;
        let mut alone = 0.0;
        for jobs in [1, 2] {
            let sandbox =
                Sandbox::with_worker(Path::new(HOST), jobs, std::slice::from_ref(&plugins));
            sandbox.interpreter("python")?;
            let in_sandbox = |sample: &Sample, n| run_in_sandbox(&sandbox, sample, n);
            rate(&samples, jobs, &count, span / 4, in_sandbox);
            // Each side in turn, twice, so that both meet the same machine.
            let mut rates = [0.0; 3];
            for _ in 0..2 {
                rates[0] += rate(&samples, jobs, &count, span / 2, in_sandbox) / 2.0;
                for (flags, rate_of) in [(&[][..], 1), (&BARE[..], 2)] {
                    let in_process = |sample: &Sample, _| run_in_process(&python, flags, sample);
                    rates[rate_of] += rate(&samples, jobs, &count, span / 2, in_process) / 2.0;
                }
            }
            let [sandboxed, plain, bare] = rates;
            println!(
                "{mix:<8} {jobs:>4} {sandboxed:>8.1} {plain:>8.1} {:>6.2} {bare:>17.1} {:>6.2}",
                sandboxed / plain,
                sandboxed / bare
            );
            if jobs == 1 {
                alone = sandboxed;
            } else {
                println!("{mix:<8} two jobs / one job in the sandbox: {:.2}", sandboxed / alone);
            }
        }
    }
    Ok(())
}

/// The program behind `python3`: a version manager's wrapper would cost more
/// than what it starts.
fn interpreter() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(python).args(["-c", "import sys; print(sys.executable)"]).output()?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn load(mix: &str, python: &Path) -> Result<Vec<Sample>, Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs").join(mix);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
    files.sort();
    let mut samples = Vec::new();
    for file in files {
        let source = std::fs::read_to_string(&file)?;
        let stdin: Arc<[u8]> = std::fs::read(file.with_extension("in"))?.into();
        let mut sample = Sample { source, stdin, expected: Vec::new() };
        sample.expected = process(python, &[], &sample)?;
        samples.push(sample);
    }
    Ok(samples)
}

/// Runs a second of `jobs` threads that take samples in turn.
fn rate(
    samples: &[Sample],
    jobs: usize,
    count: &AtomicUsize,
    span: Duration,
    run: impl Fn(&Sample, usize) -> Vec<u8> + Sync,
) -> f64 {
    let done = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                // Whole rounds only: every side does the same work.
                while began.elapsed() < span {
                    for sample in samples {
                        let output = run(sample, count.fetch_add(1, Ordering::Relaxed));
                        assert_eq!(output, sample.expected, "{}", sample.source);
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    done.into_inner() as f64 / began.elapsed().as_secs_f64()
}

fn run_in_sandbox(sandbox: &Sandbox, sample: &Sample, number: usize) -> Vec<u8> {
    let source = format!("{}# {number}\n", sample.source);
    let program = Program::new("python", source.into_bytes());
    let run = sandbox.run(&program, &sample.stdin, &RunLimits::default());
    run.map(|execution| execution.stdout.clone()).unwrap_or_default()
}

fn run_in_process(python: &Path, flags: &[&str], sample: &Sample) -> Vec<u8> {
    process(python, flags, sample).unwrap_or_default()
}

/// As graders do it: the program on the command line, the input in a pipe.
fn process(python: &Path, flags: &[&str], sample: &Sample) -> std::io::Result<Vec<u8>> {
    let mut child = Command::new(python)
        .args(flags)
        .args(["-c", &sample.source])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&sample.stdin)?;
    }
    Ok(child.wait_with_output()?.stdout)
}
