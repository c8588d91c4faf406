"""The package as a user has it; `mypy --strict` reads this file as well."""

import os
import signal
import threading
from pathlib import Path
from unittest.mock import patch

import troupe
from troupe.websocket import WebSocket


class Float64(float):
    """A number that writes its type beside its value, as NumPy's do."""

    def __repr__(self) -> str:
        return f"np.float64({super().__repr__()})"


SMALL = {
    "imitation": {"max_steps": 3, "success": Float64(0.0), "tasks": 16},
    "validation.tasks": 8,
    "validation.tasks_during_training": 8,
    "rollout": {"tasks_per_step": 2, "branches": 2},
}
QUICKSTART = "configs/plan-path/quickstart.toml"

heard: list[str] = []
with troupe.train(
    QUICKSTART, run={"name": "small"}, train={"steps": 2}, say=heard.append, settings=SMALL
) as training:
    steps = [metrics["step"] for metrics in training]
assert steps == [0, 1, 2], steps
assert training.exit_code == 0 and any("warm start" in line for line in heard), heard

run = training.run
assert run.path == Path.cwd() / "runs/small", run
assert run.series("validation.greedy.success")[0][0] == 0 and run.series("no.such") == []
assert run.summary is not None and run.summary["after"]["tasks"] == 8
assert {outcome["split"] for outcome in run.outcomes} == {"validation", "test"}
assert run.manifest["plugins"]
episodes = list(run.episodes(step=1))
assert episodes and all(episode["events"] for episode in episodes)
table = run.table(columns=["step", "role", "team", "local"])
assert sorted(set(table["step"])) == [1, 2] and set(table["role"]) == {"planner", "executor"}

# Ctrl-C: the step is finished, everything is saved, and the run can be gone on with. A shell has
# what it starts in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
training = troupe.train(QUICKSTART, run={"name": "long"}, train={"steps": 1000}, settings=SMALL)
try:
    for metrics in training:
        if metrics["step"] == 1:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
except KeyboardInterrupt:
    assert training.exit_code == 130, training.said
else:
    raise AssertionError("it was not interrupted")
saved = training.run.metrics[-1]["step"]
with troupe.train(resume=training.run.path) as training:
    assert next(iter(m["step"] for m in training if m["step"] > saved)) == saved + 1
assert training.exit_code == 143, training.said

# The program's own words, and its code.
for faulty, code, words in (
    (lambda: troupe.train("nowhere.toml").wait(), 2, "`nowhere.toml`"),
    (lambda: troupe.train(QUICKSTART, train={"step": 1}).wait(), 2, "train.step"),
    (lambda: troupe.Environment("nothing").start(), 3, "there is no plugin `nothing`"),
    (lambda: troupe.call("data"), 2, "Usage"),
):
    try:
        faulty()
    except troupe.ProgramError as error:
        assert error.exit_code == code and words in error.message, error
    else:
        raise AssertionError(words)

with troupe.Grader() as grader:
    tests = [{"input": "4", "output": "8"}, {"input": "-1", "output": "-2"}]
    good, bad = "print(int(input()) * 2)", "print(8)"
    assert grader.grade(program=good, tests=tests)["verdict"] == "passed"
    verdicts = grader.grade_all(programs=[good, bad, None], tests=tests, all_tests=True)
    assert [verdict["passed"] for verdict in verdicts] == [2, 1, 0], verdicts
    assert grader.run("print(6 * 7)")["run_result"]["stdout"] == "42\n"
    try:
        grader.grade(program=good, tests=tests, nonsense=1)
    except troupe.RequestError as refused:
        assert refused.code == "unprocessable" and "`nonsense`" in refused.message, refused
    address = grader.address
try:
    grader.address
except troupe.TroupeError:
    pass
else:
    raise AssertionError("the server was stopped")

with troupe.Environment("sudoku", size=4) as sudoku:
    seen = sudoku.reset(seed=3)
    assert seen.text == sudoku.reset(seed=3).text and seen.status == "ongoing"
    picture = sudoku.render()
    assert picture is not None and picture.svg is not None and "<svg" in picture.svg
    done = sudoku.step("nonsense")
    assert done.reward is not None and done.reward < 0 and not done.done, done
    assert sudoku.state()["step_count"] == 1
    try:
        sudoku.step("pass", nonsense=1)
    except troupe.RequestError as refused:
        assert refused.code == "VALIDATION_ERROR", refused
    # Interrupted while it waits: the next question does not get this one's answer.
    with patch.object(WebSocket, "_receive", side_effect=KeyboardInterrupt):
        try:
            sudoku.step("pass")
        except KeyboardInterrupt:
            pass
    try:
        sudoku.step("pass")
    except troupe.RequestError as refused:
        assert "reset" in refused.message, refused
    else:
        raise AssertionError("the episode was given up")
    assert sudoku.reset(seed=3).text == seen.text
with troupe.Environment("plan-path", workflow="planner-executor", walls=0) as team:
    assert team.reset(seed=1).observation["role"] == "planner"
    # Longer than a small frame of the protocol.
    assert team.step("D" * 70_000).observation["role"] == "executor"
print("used")
