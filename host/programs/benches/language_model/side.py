"""What the sides in Python have in common: the work, and lines to answer.

A side reads a checkpoint and `work.json` from the folder given, and then a
line at a time from standard input: the name of one of its methods and
numbers for it. It answers each with a line of JSON: tokens, seconds and the
largest resident memory of this process in MiB, or on a GPU what it has taken
of it.
"""

import json
import sys
import time
from pathlib import Path


def resident_mebibytes():
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        return torch.cuda.memory_reserved() / 2**20
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def count(answers, end):
    """Sampled tokens, the end-of-text token included."""
    return sum(a.index(end) + 1 if end in a else len(a) for a in answers)


def share(work, rows=None):
    """As many prompts, and answers to each, as are `rows` answers."""
    if rows is None:
        return work["prompts"], work["answers"]
    answers = min(rows, work["answers"])
    return work["prompts"][: max(1, rows // answers)], answers


def serve(make):
    """Answer lines by the side that `make` makes of the folder and the work."""
    folder = Path(sys.argv[1])
    side = make(folder, json.loads((folder / "work.json").read_text()))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        name, *numbers = line.split()
        start = time.perf_counter()
        try:
            answer = getattr(side, name)(*map(int, numbers))
            answer = answer if isinstance(answer, dict) else {"tokens": answer}
        except Exception as error:  # what it cannot do is an answer, too
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        answer.setdefault("seconds", time.perf_counter() - start)
        answer["resident"] = resident_mebibytes()
        print(json.dumps(answer), flush=True)
