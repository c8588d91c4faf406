"""The nouns that environments and workflows share.

They have the names and the fields that the contract gives them; in a component
they are what is handed over, without being converted.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Iterable, Mapping, TypeVar

from .chance import Random, hash_of

T = TypeVar("T")


class Split(Enum):
    """Which part of the tasks is meant. No task is in two splits."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2

    @staticmethod
    def owning(problem: bytes) -> Split:
        """The split that a generated problem belongs to: eight in ten belong to
        `TRAIN`, one each to the others."""
        return _OWNERS.get(hash_of(problem) % 10, Split.TRAIN)

    def __str__(self) -> str:
        return self.name.lower()


_OWNERS = {0: Split.VALIDATION, 1: Split.TEST}


class Status(Enum):
    """Where an episode stands."""

    ONGOING = 0
    SOLVED = 1
    FAILED = 2


class Fault(Enum):
    """Why a call could not be served."""

    SETTINGS = 0
    TASK = 1
    STATE = 2
    ORDER = 3
    INTERNAL = 4


class Problem(Exception):
    """A call that could not be served, to be raised. It is never a reward: the
    host counts the episode as void and keeps it out of training.

    Any other exception becomes one, too, of the fault `INTERNAL`.
    """

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message

    @classmethod
    def of(cls, error: BaseException) -> Problem:
        """What is told of an exception: where it was raised in the author's files,
        unless it was raised on purpose."""
        if isinstance(error, Problem):
            return error
        place, trace = "", error.__traceback__
        while trace:
            code = trace.tb_frame.f_code
            if os.path.dirname(code.co_filename) != os.path.dirname(__file__):
                file = os.path.basename(code.co_filename)
                place = f" ({file}:{trace.tb_lineno}, in `{code.co_name}`)"
            trace = trace.tb_next
        return cls.internal(f"{type(error).__name__}: {error}{place}")

    @classmethod
    def settings(cls, message: str) -> Problem:
        """The settings contradict each other, cannot be met, or do not fit the
        plugin on the other side."""
        return cls(Fault.SETTINGS, message)

    @classmethod
    def task(cls, message: str) -> Problem:
        """The task cannot be built: a bad record, say."""
        return cls(Fault.TASK, message)

    @classmethod
    def state(cls, message: str) -> Problem:
        """The saved state is not one of this version's."""
        return cls(Fault.STATE, message)

    @classmethod
    def order(cls, message: str) -> Problem:
        """The call cannot follow those before it."""
        return cls(Fault.ORDER, message)

    @classmethod
    def internal(cls, message: str) -> Problem:
        """The plugin itself went wrong."""
        return cls(Fault.INTERNAL, message)


@dataclass(unsafe_hash=True)
class Seat:
    """One who plays: a role, and which of those that play it, from 0."""

    role: str
    instance: int = 0

    def __str__(self) -> str:
        return f"{self.role} {self.instance + 1}" if self.instance else self.role


@dataclass(frozen=True)
class ActionKind:
    """A form of action an environment understands."""

    name: str
    summary: str


@dataclass(unsafe_hash=True)
class Action:
    """What a role does."""

    kind: str
    text: str


@dataclass(unsafe_hash=True)
class Move:
    """An action and who carries it out."""

    seat: Seat
    action: Action


@dataclass(frozen=True)
class Image:
    """A picture: its media type, such as `image/png`, the file, and what it
    shows for readers who cannot see it."""

    media_type: str
    data: bytes
    description: str


@dataclass(frozen=True)
class Extra:
    """Something a later contract may say more about."""

    key: str
    value: str


REUSABLE = Extra("reusable", "")
"""What a plugin says that keeps nothing between episodes."""


@dataclass(frozen=True)
class Needs:
    """What one call may use, where the usual limits are too low."""

    memory_mib: int | None = None
    fuel: float | None = None


@dataclass(unsafe_hash=True)
class Text:
    """A piece of what somebody is told: text."""

    value: str


@dataclass(frozen=True)
class Picture:
    """A piece of what somebody is told: a picture."""

    value: Image


Part = Text | Picture
"""A piece of what somebody is told."""


def parts_of(shown: str | Iterable[str | Image]) -> list[Part]:
    """What is shown, in the contract's form."""
    if isinstance(shown, str):
        return [Text(shown)]
    return [Text(part) if isinstance(part, str) else Picture(part) for part in shown]


def text_of(parts: Iterable[Part]) -> str:
    """The parts as text, pictures by their descriptions."""
    told = (part.value if isinstance(part, Text) else part.value.description for part in parts)
    return "\n".join(told)


class Settings(dict[str, Any]):
    """The settings of a run by name: `int`, `float`, `bool` and `str`. The host
    has checked them and filled in the defaults."""

    @classmethod
    def given(cls, configured: Iterable[Any]) -> Settings:
        """Those that the host hands over."""
        return cls((setting.name, setting.value.value) for setting in configured)

    def __missing__(self, name: str) -> Any:
        raise Problem.settings(f"setting `{name}` is not declared")


class Task:
    """One problem instance.

    `seed` says which task of the split it is; `entry` is a record of a data set,
    one line of JSON.
    """

    def __init__(
        self,
        split: Split,
        seed: int,
        settings: Mapping[str, Any] | Iterable[Any] = (),
        seats: Iterable[Seat] = (Seat("player"),),
        entry: str | None = None,
    ) -> None:
        given = isinstance(settings, Mapping)
        self.split = split
        self.seed = seed
        self.settings = Settings(settings) if given else Settings.given(settings)
        self.seats = list(seats)
        self.entry = entry

    def random(self, purpose: str) -> Random:
        """The task's numbers for one purpose, such as `"walls"`."""
        return Random.of(self.split.value, self.seed, purpose)

    def owned(self, draw: Callable[[], T], key: Callable[[T], bytes] | None = None) -> T:
        """What `draw` draws as soon as it belongs to the task's split, so that no
        problem is in two splits.

        `key` says what makes it this problem; by default its `repr` does.
        """
        for _ in range(1000):
            problem = draw()
            if Split.owning(key(problem) if key else repr(problem).encode()) is self.split:
                return problem
        raise Problem.settings(f"too few problems for the split `{self.split}`")
