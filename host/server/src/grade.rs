//! `POST /grade`: verdicts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{JoinSet, spawn_blocking};

use super::grade_request::GradeRequest;
use super::queue::Place;
use super::refusal::Refusal;
use troupe_core::program::{Execution, Program, RunLimits, Runner, SandboxError};
use troupe_grading::{VerdictLine, grade};

/// Grades the programs of a request, at most `jobs` at a time; in their order.
///
/// When this is dropped because the client has left, programs that wait are
/// not begun, and one that runs is left after its present test.
pub(super) async fn grade_all(
    place: &Arc<Place>,
    request: Arc<GradeRequest>,
    runner: &Arc<dyn Runner>,
    jobs: usize,
) -> Result<Vec<VerdictLine>, Refusal> {
    let leaving = Leaving::default();
    let mut lines = vec![None; request.programs.len()];
    let mut samples = 0..lines.len();
    let mut at_work = JoinSet::new();
    loop {
        while at_work.len() < jobs {
            let Some(sample) = samples.next() else { break };
            let (place, request) = (place.clone(), request.clone());
            let runner = Abandonable { runner: runner.clone(), left: leaving.left.clone() };
            at_work.spawn(async move {
                let turn = place.turn().await.ok_or_else(Refusal::stopping)?;
                let work = spawn_blocking(move || {
                    let line = verdict(&request, sample, &runner);
                    drop(turn);
                    (sample, line)
                });
                work.await.map_err(Refusal::internal)
            });
        }
        let Some(done) = at_work.join_next().await else { break };
        let (sample, line) = done.map_err(Refusal::internal)??;
        lines[sample] = Some(line);
    }
    Ok(lines.into_iter().flatten().collect())
}

fn verdict(request: &GradeRequest, sample: usize, runner: &dyn Runner) -> VerdictLine {
    let program = request.programs[sample].as_ref();
    let graded = grade(&request.problem, program, &request.options, runner);
    VerdictLine::new(&request.problem.id, sample, request.language, &request.interpreter, &graded)
}

/// When dropped, says that the client has left.
#[derive(Default)]
struct Leaving {
    left: Arc<AtomicBool>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.left.store(true, Ordering::Relaxed);
    }
}

/// Runs nothing more once the client has left. The rest is void, and
/// is never seen.
struct Abandonable {
    runner: Arc<dyn Runner>,
    left: Arc<AtomicBool>,
}

impl Runner for Abandonable {
    fn run(
        &self,
        program: &Program,
        stdin: &Arc<[u8]>,
        limits: &RunLimits,
    ) -> Result<Arc<Execution>, SandboxError> {
        if self.left.load(Ordering::Relaxed) {
            return Err(SandboxError::harness("the client has left"));
        }
        self.runner.run(program, stdin, limits)
    }
}
