"""The procedural tasks of the Python package reasoning-gym: a question, and an
answer that a program scores."""

from __future__ import annotations

import functools
import marshal
from typing import Any

import package
from troupe_plugin.environment import (
    Action,
    Configuration,
    Description,
    Environment,
    Needs,
    Outcome,
    Problem,
    Random,
    Seat,
    Setting,
    Settings,
    Split,
    Task,
)
from troupe_plugin.types import Extra

MIX = "mix"
# What anybody can say.
_BLIND = ("", "?", "{}", "[]")
# The longest answers that questions ask for have some thousand letters.
_LONGEST = 20_000
# They take long to draw from, and have so many tasks that none comes twice.
_LARGE = {"acre", "advanced_geometry", "countdown", "futoshiki", "sokoban", "zebra_puzzles"}
# They give no answer.
_WITHOUT_EXPERT = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
_DRAWS = 400


class ReasoningGym(Environment):
    description = Description(
        "reasoning-gym",
        "0.1.25",
        "The procedural tasks of the Python package reasoning-gym: one question an episode.",
        actions={"answer": "the answer alone, in the form that the question asks for"},
        settings=[
            # As one of a choice, every check of any would go through all of them.
            Setting.text("task", "Which generator; `mix` for several of them.", "chain_sum"),
            Setting.text(
                "mix", "With `mix`: generators and weights, as `gcd=2 dice=1`; empty for all alike."
            ),
            Setting.text("options", "The generator's own settings, as a JSON object.", "{}"),
            Setting.integer("attempts", "How many answers may be given.", 1, 16, 1),
            Setting.number("solved_at", "The score from which on it is solved.", 0.1, 1.0, 1.0),
        ],
        needs=Needs(memory_mib=256, fuel=2e10),
        reusable=True,
    )

    name: str
    options: str
    entry: bytes
    number: int
    floor: float
    solved_at: float
    left: int
    best: float = 0.0

    @classmethod
    def configure(cls, settings: Settings) -> Configuration:
        weights(settings)
        return Configuration(max_turns=settings["attempts"], extras=[Extra("awards", "0 1")])

    @classmethod
    def start(cls, task: Task) -> ReasoningGym:
        chosen, options = weights(task.settings), task.settings["options"]
        name = pick(chosen, task.random("generator"))
        number, entry, floor = find(name, options, task)
        return cls(
            name,
            options,
            packed(entry),
            number,
            floor,
            task.settings["solved_at"],
            task.settings["attempts"],
        )

    def rules(self, seat: Seat) -> str:
        return "Answer the question. Only the answer counts, and it must have the form asked for."

    def observe(self, seat: Seat) -> str:
        return self.known["question"]

    def act(self, seat: Seat, action: Action) -> Outcome:
        self.left -= 1
        answer = action.text.strip()
        if not answer:
            return self.after(Outcome.rejected("There is no answer."))
        if len(answer) > _LONGEST:
            return self.after(Outcome.rejected("The answer is too long."))
        told = package.worth(self.name, self.options, answer, self.known)
        # What an empty answer earns is no merit.
        worth = max(0.0, told - self.floor) / (1.0 - self.floor)
        outcome = Outcome.accepted().team("score", max(0.0, worth - self.best))
        self.best = max(self.best, worth)
        return outcome.solved() if told >= self.solved_at and worth else self.after(outcome)

    def after(self, outcome: Outcome) -> Outcome:
        """It goes on as long as there are attempts."""
        return outcome if self.left else outcome.failed()

    def demonstrate(self, seat: Seat) -> Action | None:
        """The package's own answer, where its own scorer takes it."""
        entry = self.known
        answer = entry["answer"]
        if not isinstance(answer, str) or not answer.strip():
            return None
        worth = package.worth(self.name, self.options, answer.strip(), entry)
        return Action("answer", answer) if worth >= self.solved_at else None

    def reveal(self) -> str | None:
        answer = self.known["answer"]
        return answer if isinstance(answer, str) else None

    @functools.cached_property
    def known(self) -> dict[str, Any]:
        """Question, answer and what the scorer needs besides."""
        if self.entry:
            return marshal.loads(self.entry)
        return package.draw(self.name, self.options, self.number)


def is_answered(name: str, options: str, entry: dict[str, Any]) -> bool:
    """Whether the generator's own answer is one. Now and then it is not."""
    answer = entry["answer"]
    return isinstance(answer, str) and package.score(name, options, answer.strip(), entry) >= 1.0


def packed(entry: dict[str, Any]) -> bytes:
    """The entry as bytes, if it consists of nothing but builtins; else it is drawn
    again when it is needed."""
    try:
        return marshal.dumps(entry, 2)
    except ValueError:
        return b""


def weights(settings: Settings) -> dict[str, int]:
    """The generators that tasks are drawn from."""
    words = settings["mix"].split()
    if settings["task"] != MIX:
        chosen = {known(settings["task"]): 1}
        if words:
            raise Problem.settings(f"`mix` counts only where `task` is `{MIX}`")
    elif words:
        chosen = dict(map(weight, words))
        if len(chosen) < len(words):
            raise Problem.settings("`mix` names a generator twice")
    else:
        chosen = dict.fromkeys(package.NAMES, 1)
    if settings["options"] != "{}":
        for name in chosen:
            check_options(name, settings["options"])
    return chosen


def weight(word: str) -> tuple[str, int]:
    """`gcd=2`."""
    name, _, count = word.partition("=")
    if not (count or "1").isdecimal() or not 0 < int(count or 1) < 10**6:
        raise Problem.settings(f"the weight of `{name[:40]}` is no number from 1")
    return known(name), int(count or 1)


def known(name: str) -> str:
    """The name, if there is such a generator."""
    if name not in package.NAMES:
        there = ", ".join(package.NAMES)
        raise Problem.settings(f"there is no generator `{name[:40]}`; there are {there}")
    return name


def check_options(name: str, options: str) -> None:
    try:
        package.generator(name, options)
    except Exception as error:
        raise Problem.settings(f"the options do not suit `{name}`: {error}") from None


def pick(chosen: dict[str, int], random: Random) -> str:
    """One of them, as often as its weight says."""
    at = random.below(sum(chosen.values()))
    for name, count in chosen.items():
        at -= count
        if at < 0:
            return name
    raise Problem.internal("the weights do not add up")


def find(name: str, options: str, task: Task) -> tuple[int, dict[str, Any], float]:
    """The task's entry, and what is paid for nothing. Every split has numbers of its own;
    where a generator has few tasks, an entry also has to belong to the split."""
    random = task.random("number")
    for _ in range(_DRAWS):
        # Python's generator gives some seeds that are not random the same numbers.
        number = (random.bits() >> 2) * 4 + task.split.value
        try:
            entry = package.draw(name, options, number)
        except Exception:
            # What fails is no task, and follows from the number as well.
            continue
        is_ours = name in _LARGE or Split.owning(package.identity(name, entry)) is task.split
        if is_ours and (name in _WITHOUT_EXPERT or is_answered(name, options, entry)):
            floor = max(package.score(name, options, blind, entry) for blind in _BLIND)
            # Else it is solved before anything is done: a cube that is turned back.
            if floor < 1.0:
                return number, entry, floor
    raise Problem.settings(f"`{name}` has too few tasks for the split `{task.split}`")
