"""Forks of an environment per second: the component against the same rules in Python.

    cargo build --release && cargo xtask plugins && python3 host/benches/python_environments.py

Both sides run in one go, one thread each. A fork is a copy in which one action is carried out
and looked at: of the component in a fresh instance, of the Python class by `copy.deepcopy`.
"""

import copy
import random
import re
import subprocess
import sys
import time
from collections import deque

STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
SECONDS = 0.7


class PlanPath:
    """`plan-path` with its default settings, as one would write it in Python."""

    def __init__(self, seed, size=10, walls=12):
        chance = random.Random(seed)
        self.size = size
        while True:
            order = list(range(size * size))
            chance.shuffle(order)
            self.walls = [False] * (size * size)
            for index in order[2 : 2 + walls]:
                self.walls[index] = True
            self.goal, self.here = divmod(order[0], size), divmod(order[1], size)
            if 3 <= (self.distances()[order[1]] or 0) <= 14:
                break
        self.visited = [self.here]

    def free(self, row, column):
        inside = 0 <= row < self.size and 0 <= column < self.size
        return inside and not self.walls[row * self.size + column]

    def distances(self):
        steps = [None] * (self.size * self.size)
        steps[self.goal[0] * self.size + self.goal[1]] = 0
        reached = deque([(self.goal, 0)])
        while reached:
            (row, column), distance = reached.popleft()
            for down, right in STEPS.values():
                y, x = row + down, column + right
                if self.free(y, x) and steps[y * self.size + x] is None:
                    steps[y * self.size + x] = distance + 1
                    reached.append(((y, x), distance + 1))
        return steps

    def act(self, text):
        awards, entered, here = [], [], self.here
        for word in text.split():
            if word not in STEPS:
                return [("unreadable", -0.3), ("idle", -0.3)]
            there = here[0] + STEPS[word][0], here[1] + STEPS[word][1]
            if not self.free(*there):
                awards.append(("illegal", -0.1))
                break
            here = there
            entered.append(here)
            if here == self.goal:
                break
        if not entered:
            return awards + [("idle", -0.3)]
        steps = self.distances()
        nearer = steps[self.here[0] * self.size + self.here[1]] - steps[here[0] * self.size + here[1]]
        awards.append(("progress", nearer / 3))
        if here in self.visited:
            awards.append(("revisit", -0.1))
        for cell in entered:
            if cell in self.visited:
                self.visited.remove(cell)
            self.visited.append(cell)
        self.here = here
        return awards + [("reached", 0.5)] * (here == self.goal)

    def observe(self):
        row, column = self.here
        near = [(y, x) for y in range(-3, 4) for x in range(-3, 4)]
        walls = [(y, x) for y, x in near if not self.free(row + y, column + x)]
        walls.sort(key=lambda at: abs(at[0]) + abs(at[1]))
        seen = [(y - row, x - column) for y, x in reversed(self.visited)]
        seen = [at for at in seen if at != (0, 0) and max(abs(at[0]), abs(at[1])) <= 3]
        words = [f"row{self.goal[0] - row:+}", f"col{self.goal[1] - column:+}"]
        words += [f"W({y:+},{x:+})" for y, x in walls[:12]]
        return " ".join(words + [f"V({y:+},{x:+})" for y, x in seen[:4]])


def python_forks():
    game = PlanPath(1)
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        fork = copy.deepcopy(game)
        fork.act("D R U")
        fork.observe()
        count += 1
    return count / (time.perf_counter() - started)


def component_forks(host):
    shown = subprocess.run(
        [host, "plugin", "bench", "plan-path"], check=True, capture_output=True, text=True
    ).stdout
    return float(re.search(r"fork: .*?([0-9]+)\s*$", shown, re.MULTILINE).group(1))


def main():
    host = sys.argv[1] if len(sys.argv) > 1 else "target/release/host"
    component, python = component_forks(host), python_forks()
    print(f"forks of plan-path per second and thread: component {component:,.0f}, Python {python:,.0f}")
    print(f"ratio {component / python:.1f}")


if __name__ == "__main__":
    main()
