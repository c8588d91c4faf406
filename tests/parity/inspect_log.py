"""Read logs of `host eval --inspect-log` with Inspect's own package (`pip install inspect_ai`).

    python inspect_log.py LOG...

Nothing of a log may be lost, changed or refused, and the figures in it have to be those that
Inspect computes from its samples. With --outcomes FILE, samples are compared with what
`host eval --outcomes` says became of their episodes.
"""

import argparse
import json
import math
import tempfile
import zipfile
from pathlib import Path

from inspect_ai.log import EvalLog, read_eval_log, read_eval_log_sample_summaries, write_eval_log
from inspect_ai.scorer import SampleScore, Score, accuracy, mean, stderr


def raw(path):
    """A log as it was written: its header, its samples."""
    if path.suffix == ".json":
        whole = json.loads(path.read_text())
        return whole, whole.pop("samples")
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if name.startswith("samples/")]
    return json.loads(archive.read("header.json")), [json.loads(archive.read(n)) for n in names]


def same(written, read, at):
    """All that was written was read, as it was written."""
    if isinstance(written, dict):
        for key, value in written.items():
            assert key in read, f"{at}: Inspect does not know `{key}`"
            same(value, read[key], f"{at}/{key}")
    elif isinstance(written, list):
        assert len(written) == len(read), at
        for index, value in enumerate(written):
            same(value, read[index], f"{at}/{index}")
    else:
        assert written == read, f"{at}: {written!r} was read as {read!r}"


def plain(model):
    return json.loads(model.model_dump_json())


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def check_results(log):
    """The figures are what Inspect makes of the samples."""
    reported = {(score.scorer, score.name): score for score in log.results.scores}
    epochs = log.eval.config.epochs

    def of(values):
        return [SampleScore(score=Score(value=value)) for value in values]

    solved = {}
    for sample in log.samples:
        solved.setdefault(sample.id, []).append(sample.scores["solved"].value == "C")
    shares = [sum(of_task) / epochs for of_task in solved.values()]
    metrics = reported["solved", "solved"].metrics
    assert close(metrics["accuracy"].value, accuracy()(of(shares)))
    assert close(metrics["stderr"].value, stderr()(of(shares)))
    for (scorer, name), score in reported.items():
        if scorer == "solved":
            continue
        counted = [s.scores[scorer].value for s in log.samples if scorer in s.scores]
        values = [
            value.get(name) if isinstance(value, dict) else value
            for value in counted
            if not isinstance(value, dict) or name in value
        ]
        assert len(values) == score.scored_samples
        assert close(score.metrics["mean"].value, mean()(of(values))), name


def check_sample(sample, summary):
    assert sample.turn_count == sum(event.event == "model" for event in sample.events)
    assert sample.error or sample.limit or sample.scores["solved"].explanation in (
        "solved", "failed", "finished")
    spoken = [message for message in sample.messages if message.role == "assistant"]
    calls = [event for event in sample.events if event.event == "model"]
    assert [message.metadata["role"] for message in spoken] == [call.role for call in calls]
    assert [message.text for message in spoken] == [call.output.completion for call in calls]
    expected = plain(sample.summary())
    for key, value in plain(summary).items():
        assert key == "input" or value == expected[key], f"summary of {sample.id}: {key}"


def check_outcomes(log, outcomes):
    assert len(outcomes) == len(log.samples)
    for outcome, sample in zip(outcomes, sorted(log.samples, key=lambda s: (s.id, s.epoch))):
        assert (sample.id, sample.epoch) == (outcome["task"], outcome["sample"] + 1)
        assert (sample.scores["solved"].value == "C") == outcome["solved"]
        assert (sample.limit is not None) == (outcome["ending"] == "truncated")
        assert (sample.error is not None) == (outcome["ending"] == "void")
        assert math.isclose(sample.scores["team_reward"].value, outcome["reward"], abs_tol=1e-6)
        used = sum(usage.output_tokens for usage in sample.model_usage.values())
        assert used == outcome["completion_tokens"]


def check(path, outcomes):
    header, samples = raw(path)
    EvalLog.model_validate_json(json.dumps({**header, "samples": samples}), strict=True)
    log = read_eval_log(str(path))
    same(header, plain(log), "header")
    read = {(sample.id, sample.epoch): sample for sample in log.samples}
    for sample in samples:
        key = (sample["id"], sample["epoch"])
        same(sample, plain(read[key]), f"sample {key}")
    if path.suffix == ".eval":
        listed = read_eval_log_sample_summaries(str(path))
        assert len(listed) == len(samples)
        for summary in listed:
            check_sample(read[summary.id, summary.epoch], summary)
    check_results(log)
    if outcomes:
        check_outcomes(log, [json.loads(line) for line in outcomes.read_text().splitlines()])
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".eval", ".json"):
            copy = str(Path(folder) / f"copy{suffix}")
            write_eval_log(log, copy)
            again = read_eval_log(copy, resolve_attachments=True)
            for sample in again.samples:
                sample.attachments = {}
            assert plain(again) == plain(log), "it is not what was written"
    print(f"{path}: {len(samples)} samples, {len(log.results.scores)} scores")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--outcomes", type=Path)
    given = parser.parse_args()
    for log in given.logs:
        check(log, given.outcomes)
