"""Acts and forks of environments per second: components against the same rules in Python.

    cargo build --release && cargo xtask plugins && python3 host/benches/python_environments.py

Takes the program and, if need be, the folder of plugins: `… target/release/host target/plugins`.
Both sides run in turn in one go, one thread each; of each the median of the rounds counts. They
draw the same tasks and their experts play the same moves. `host plugin bench` measures the
component.

- An act is one action of the expert, of episode after episode.
- A fork is `copy.deepcopy` of the game at its start, for the component the resume of its state.
- A branch is a fork, one action of the expert, and a look. The component saves its state besides,
  which a Python object need not.

All is per second of processor time, so that other work on the machine counts little: what the
component prints is divided by the share of a core that its process had.
"""

import copy
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from plain_python.plan_path import PlanPath
from plain_python.sokoban import Sokoban

SECONDS = 0.3
ROUNDS = 7
EPISODES = 100
ROWS = {
    "act": "act, as the expert does",
    "fork": "resume: a fork",
    "branch": "resume, act, observe, save",
}


def episodes_of(kind):
    """Games at their start, each with the actions that the expert takes."""
    for seed in range(EPISODES):
        start = kind(seed)
        game, actions, status = copy.deepcopy(start), [], "ongoing"
        while status == "ongoing":
            actions.append(game.expert())
            *_, status = game.act(actions[-1])
        yield start, actions


def acts(episodes):
    """Acts a second; what is between them is not counted."""
    count, spent = 0, 0.0
    while spent < SECONDS:
        for start, actions in episodes:
            game = copy.deepcopy(start)
            for action in actions:
                began = time.process_time()
                game.act(action)
                spent += time.process_time() - began
                count += 1
    return count / spent


def calls(call):
    count, began = 0, time.process_time()
    while time.process_time() - began < SECONDS:
        call()
        count += 1
    return count / (time.process_time() - began)


def python(episodes):
    start, actions = episodes[0]

    def branch():
        fork = copy.deepcopy(start)
        fork.act(actions[0])
        fork.observe()

    return {
        "act": acts(episodes),
        "fork": calls(lambda: copy.deepcopy(start)),
        "branch": calls(branch),
    }


def component(host, plugin):
    command = [host, "plugin", "bench", plugin]
    began, spent = time.perf_counter(), time_of_children()
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    share = (time_of_children() - spent) / (time.perf_counter() - began)
    cells = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
    per_second = {row[0]: row[2] for row in cells if len(row) == 4}
    return {what: float(per_second[row]) / share for what, row in ROWS.items()}


def time_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def middle(rounds):
    return {what: statistics.median(rates[what] for rates in rounds) for what in ROWS}


def main():
    host = sys.argv[1] if len(sys.argv) > 1 else "target/release/host"
    plugins = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    version = sys.version.split()[0]
    print(f"per second of processor time, median of {ROUNDS} rounds; Python {version}")
    print(f"{'':20} {'component':>12} {'Python':>12} {'ratio':>7}")
    for name, kind in (("plan-path", PlanPath), ("sokoban", Sokoban)):
        episodes = list(episodes_of(kind))
        plugin = str(plugins / f"{name}.wasm") if plugins else name
        rounds = [(component(host, plugin), python(episodes)) for _ in range(ROUNDS)]
        ours, theirs = (middle(side) for side in zip(*rounds))
        for what in ROWS:
            ratio = ours[what] / theirs[what]
            print(f"{name + ': ' + what:20} {ours[what]:12,.0f} {theirs[what]:12,.0f} {ratio:7.1f}")


if __name__ == "__main__":
    main()
