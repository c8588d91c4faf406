"""Puts every generator under `host plugin check`, two at a time, and prints a table of
what was found. What was looked at is kept beside the component; a generator that is in
there is not looked at again, so it may be stopped at any time and go on later.

    python3 tests/check_all.py --host host reasoning-gym.wasm [GENERATOR ...]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# What the plugin says it needs, granted.
SET = ["--set", "plugins.limits.memory_mib=256", "--set", "plugins.limits.fuel=20000000000"]
Verdict = dict[str, Any]


def names(host: str, component: Path) -> list[str]:
    """The generators that there are, as it says when it is asked for another."""
    command = [host, "plugin", "check", str(component), "--json", "--tasks", "1", *SET]
    command += ["--set", "environment.task=none"]
    told = subprocess.run(command, capture_output=True, text=True).stdout
    listed = re.search(r"; there are ([\w, ]+)", told)
    if listed is None:
        sys.exit(f"error: it does not say which generators there are: {told[:400]}")
    return listed[1].split(", ")


def check(host: str, component: Path, name: str, tasks: int) -> Verdict:
    """What the check says of one generator."""
    command = [host, "plugin", "check", str(component), "--json", "--tasks", str(tasks)]
    command += ["--set", f"environment.task={name}", *SET]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    verdict = {"name": name, "code": done.returncode, "seconds": round(time.monotonic() - began)}
    if done.returncode not in (0, 7):
        return verdict | {"found": [done.stderr.strip()[-400:]]}
    report = json.loads(done.stdout)["reports"][0]
    told = {kind: [] for kind in ("failed", "skipped")}
    for finding in report["findings"]:
        if finding["verdict"] in told:
            told[finding["verdict"]].append(f"{finding['check']}: {finding['sentence']}")
    tried = report["tried"]
    return verdict | {"found": told["failed"], "skipped": told["skipped"], "tasks": tried["tasks"]}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("component", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--host", default="host")
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="look again at what is known")
    given = parser.parse_intermixed_args()
    digest = hashlib.sha256(given.component.read_bytes()).hexdigest()
    kept = given.component.with_suffix(".checked.jsonl")
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {each["name"]: each for each in map(json.loads, lines) if each["of"] == digest}
    wanted = given.names or names(given.host, given.component)
    due = [name for name in wanted if given.again or name not in known]
    with ThreadPoolExecutor(given.jobs) as pool, kept.open("a") as log:
        looks = pool.map(lambda name: check(given.host, given.component, name, given.tasks), due)
        for verdict in looks:
            known[verdict["name"]] = verdict
            print(json.dumps(verdict | {"of": digest}), file=log, flush=True)
    told = [known[name] for name in wanted]
    for verdict in told:
        found = "; ".join(verdict["found"]) or "clean"
        print(f"{verdict['name']:28} {verdict['seconds']:4} s  {found}")
    clean = sum(not verdict["found"] for verdict in told)
    print(f"{clean} of {len(told)} are clean")
    return 0 if clean == len(told) else 7


if __name__ == "__main__":
    sys.exit(main())
