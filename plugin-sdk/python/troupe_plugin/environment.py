"""Environments: the rules of a task and what its outcomes are worth."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Mapping, Sequence, TypeVar

from . import state
from .chance import Random
from .rendering import Rendering
from .settings import Setting, chosen, written
from .state import dataclass_transform
from .types import (
    REUSABLE,
    Action,
    ActionKind,
    Extra,
    Image,
    Move,
    Needs,
    Part,
    Problem,
    Seat,
    Settings,
    Split,
    Status,
    Task,
    parts_of,
)

__all__ = [
    "Action",
    "Configuration",
    "Description",
    "Environment",
    "Image",
    "Move",
    "Needs",
    "Outcome",
    "Problem",
    "Random",
    "Rendering",
    "Seat",
    "Setting",
    "Settings",
    "Split",
    "Status",
    "Task",
]

E = TypeVar("E", bound="Environment")


@dataclass
class Description:
    """What an environment is.

    `actions` says of every kind of action what its text must look like; a single
    role sends the first kind. `workflows` are those that suit it, best first.
    `reusable` says that episodes leave nothing behind, in globals or caches, so
    that the next one may begin in a used instance, which is much cheaper.
    `presets` are values of several settings under one name, with a summary.
    """

    name: str
    version: str
    summary: str
    actions: Mapping[str, str] | list[ActionKind]
    settings: Sequence[Setting] = ()
    workflows: Sequence[str] = ("solo",)
    needs: Needs = Needs()
    reusable: dataclasses.InitVar[bool] = False
    presets: dataclasses.InitVar[Mapping[str, tuple[str, Mapping[str, Any]]]] = {}
    extras: list[Extra] = field(default_factory=list)

    def __post_init__(self, reusable: bool, presets: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
        if isinstance(self.actions, Mapping):
            self.actions = [ActionKind(name, summary) for name, summary in self.actions.items()]
        self.settings, self.workflows = list(self.settings), list(self.workflows)
        if reusable:
            self.extras.append(REUSABLE)
        for name, (summary, values) in presets.items():
            lines = [f"{key} = {written(value)}" for key, value in values.items()]
            self.extras.append(Extra("preset", "\n".join([name, summary, *lines])))


@dataclass
class Configuration:
    """What follows from the settings.

    `vocabulary` is every word that observations and actions may contain, split
    at white space; empty when the language is open-ended. `private` says that
    roles are told or see different things, `seats` for whom it is made.
    """

    vocabulary: list[str] = field(default_factory=list)
    max_turns: int = 10
    is_private: bool = False
    needs_records: bool = False
    takes_records: dataclasses.InitVar[bool] = False
    seats: dataclasses.InitVar[Sequence[str]] = ()
    extras: list[Extra] = field(default_factory=list)

    def __post_init__(self, takes_records: bool, seats: Sequence[str]) -> None:
        self.vocabulary = list(self.vocabulary)
        if takes_records:
            self.extras.append(Extra("records", "optional"))
        if seats:
            self.extras.append(Extra("seats", " ".join(seats)))


@dataclass(frozen=True)
class Team:
    """Whom an award is for: everybody."""


@dataclass(frozen=True)
class Mover:
    """Whom an award is for: the seat of this move, counted from 0."""

    value: int


@dataclass(frozen=True)
class OneSeat:
    """Whom an award is for: one seat, whether it acted or not."""

    value: Seat


Recipient = Team | Mover | OneSeat


@dataclass
class Award:
    """A named share of what an outcome is worth."""

    to: Recipient
    name: str
    value: float


@dataclass
class Effect:
    """What became of one move."""

    accepted: bool
    feedback: str


@dataclass
class Outcome:
    """What moves led to.

    Awards are summed without discount, so shaping must be a difference of
    potentials: no sequence of moves that returns to a state may earn.

    >>> outcome = Outcome.accepted("closer").team("progress", 0.5).local("slow", -0.1)
    >>> outcome.solved().worth()
    0.4
    """

    effects: list[Effect]
    awards: list[Award] = field(default_factory=list)
    status: Status = Status.ONGOING

    @classmethod
    def accepted(cls, feedback: str = "") -> Outcome:
        """The action was understood and carried out in full."""
        return cls([Effect(True, feedback)])

    @classmethod
    def rejected(cls, feedback: str = "") -> Outcome:
        """The action was not understood, or not carried out in full."""
        return cls([Effect(False, feedback)])

    def team(self, name: str, value: float) -> Outcome:
        """Reward everybody, under this name. A reward of 0 leaves no trace."""
        return self.award(Team(), name, value)

    def local(self, name: str, value: float) -> Outcome:
        """Reward the acting seat alone, under this name."""
        return self.award(Mover(0), name, value)

    def seat(self, seat: Seat, name: str, value: float) -> Outcome:
        """Reward one seat, under this name, whether it acted or not."""
        return self.award(OneSeat(seat), name, value)

    def award(self, to: Recipient, name: str, value: float) -> Outcome:
        """Reward somebody, under this name."""
        if value != 0:
            self.awards.append(Award(to, name, float(value)))
        return self

    def solved(self) -> Outcome:
        """The task is solved."""
        self.status = Status.SOLVED
        return self

    def failed(self) -> Outcome:
        """The task can no longer be solved."""
        self.status = Status.FAILED
        return self

    @property
    def is_accepted(self) -> bool:
        """Whether every move was carried out in full."""
        return all(effect.accepted for effect in self.effects)

    @property
    def feedback(self) -> str:
        """What the seat of the first move is told."""
        return self.effects[0].feedback

    def worth(self) -> float:
        """All that is awarded, to whomever."""
        return sum(award.value for award in self.awards)

    def _append(self, other: Outcome, place: int) -> None:
        """Add the outcome of one more move, which has this place among all."""
        self.effects += other.effects
        self.status = other.status
        for award in other.awards:
            to = Mover(place) if isinstance(award.to, Mover) else award.to
            self.awards.append(Award(to, award.name, award.value))


@dataclass_transform()
class Environment:
    """One task being worked on, and everything a component says about its tasks.

    A subclass is a dataclass: what is declared in it is the state of an episode,
    which is saved and resumed field by field. Everything it computes must follow
    from the task and the actions; chance comes from `task.random`.
    """

    description: ClassVar[Description]
    """What this environment is."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        dataclass(eq=False)(cls)

    @classmethod
    def configure(cls, settings: Settings) -> Configuration:
        """Check settings, before anything else is called with them, and say what
        follows from them."""
        return Configuration()

    @classmethod
    def start(cls: type[E], task: Task) -> E:
        """Begin a task."""
        raise NotImplementedError(f"{cls.__name__}.start")

    def rules(self, seat: Seat) -> str:
        """What the rules and the notation are, for a seat that knows neither."""
        raise NotImplementedError(f"{type(self).__name__}.rules")

    def observe(self, seat: Seat) -> str | list[str | Image]:
        """What the seat can see now: text, or text and pictures."""
        raise NotImplementedError(f"{type(self).__name__}.observe")

    def act(self, seat: Seat, action: Action) -> Outcome:
        """Carry out an action. Text that cannot be read is rejected, and no
        problem. It is not called after the end."""
        raise NotImplementedError(f"{type(self).__name__}.act")

    def act_together(self, moves: list[Move]) -> Outcome:
        """Carry out moves at the same time; by default one after the other, until
        one ends the episode."""
        all = Outcome([])
        for place, move in enumerate(moves):
            if all.status is Status.ONGOING:
                all._append(self.act(move.seat, move.action), place)
            else:
                all.effects.append(Effect(False, "The episode is over."))
        return all

    def demonstrate(self, seat: Seat) -> Action | None:
        """The expert's next action for the seat, if there is an expert."""
        return None

    def reveal(self) -> str | None:
        """What only a critic may see, such as the solution."""
        return None

    def save(self) -> bytes | None:
        """Everything that `resume` needs; by default all fields."""
        return state.codec(type(self)).encode(self)

    @classmethod
    def resume(cls: type[E], saved: bytes) -> E:
        """Go on from what `save` returned."""
        return state.codec(cls).decode(saved)

    # An environment that is to be drawn for people defines, besides,
    # `def render(self) -> Rendering`.

    @classmethod
    def task(
        cls, seed: int = 0, split: Split = Split.TRAIN, entry: str | None = None, **settings: Any
    ) -> Task:
        """A task with the default settings but for these, for tests."""
        return Task(split, seed, chosen(cls.description.settings, settings), entry=entry)


class Episode:
    """An environment that knows when it is over: what the host talks to."""

    kind: ClassVar[type[Environment]]

    def __init__(self, environment: Environment, over: bool) -> None:
        self.environment = environment
        self.over = over

    @classmethod
    def of(cls, kind: type[Environment]) -> type[Episode]:
        """Episodes of this environment."""
        return type("Episode", (cls,), {"kind": kind})

    @classmethod
    def start(cls, task: Task) -> Episode:
        return cls(cls.kind.start(task), False)

    def rules(self, seat: Seat) -> str:
        return self.environment.rules(seat)

    def observe(self, seat: Seat) -> list[Part]:
        return parts_of(self.environment.observe(seat))

    def act(self, moves: list[Move]) -> Outcome:
        if self.over:
            raise Problem.order("the episode is over")
        if not moves:
            raise Problem.order("nobody moves")
        described = {kind.name for kind in self.kind.description.actions}
        for move in moves:
            if move.action.kind not in described:
                raise unknown_kind(move.action)
        if len(moves) == 1:
            outcome = self.environment.act(moves[0].seat, moves[0].action)
        else:
            outcome = self.environment.act_together(moves)
        self.over = outcome.status is not Status.ONGOING
        return outcome

    def demonstrate(self, seat: Seat) -> Action | None:
        return None if self.over else self.environment.demonstrate(seat)

    def reveal(self) -> str | None:
        return self.environment.reveal()

    def save(self) -> bytes | None:
        saved = self.environment.save()
        return None if saved is None else saved + (b"\1" if self.over else b"\0")

    @classmethod
    def resume(cls, saved: bytes) -> Episode:
        over = saved[-1:]
        if over not in (b"\0", b"\1"):
            raise Problem.state("not a saved state of this version: it does not end as one")
        return cls(cls.kind.resume(saved[:-1]), over == b"\1")


def unknown_kind(action: Action) -> Problem:
    """The workflow sent a kind of action that the environment never described."""
    return Problem.order(f"there is no action of kind `{action.kind}` here")
