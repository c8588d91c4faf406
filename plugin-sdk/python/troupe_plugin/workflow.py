"""Workflows: who speaks when, what they are told, and what becomes of their
answers."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import Any, ClassVar, Iterable, Mapping, Sequence, TypeVar

from . import state
from .reading import WHITE
from .settings import Setting
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
    Picture,
    Problem,
    Seat,
    Settings,
    Status,
    Text,
    text_of,
)

__all__ = [
    "Action",
    "ActionKind",
    "Briefing",
    "Call",
    "Configuration",
    "Consequence",
    "Description",
    "Image",
    "Message",
    "Move",
    "Needs",
    "Problem",
    "Reply",
    "Request",
    "Returned",
    "Role",
    "Seat",
    "Setting",
    "Settings",
    "Status",
    "Step",
    "View",
    "Workflow",
    "act",
    "act_together",
    "action_kind",
    "ask",
    "call",
    "finish",
    "seen_by",
    "wait",
]

W = TypeVar("W", bound="Workflow")


@dataclass
class Description:
    """What a workflow is. `actions` are the kinds of action it sends; none when it
    takes what the environment offers first. `reusable` says that sessions leave
    nothing behind, so that the next one may begin in a used instance. `tools` are
    those it calls, such as `run`, which its user has to grant."""

    name: str
    version: str
    summary: str
    actions: Sequence[str] = ()
    settings: Sequence[Setting] = ()
    needs: Needs = Needs()
    reusable: InitVar[bool] = False
    tools: InitVar[Sequence[str]] = ()
    extras: list[Extra] = field(default_factory=list)

    def __post_init__(self, reusable: bool, tools: Sequence[str]) -> None:
        if reusable:
            self.extras.append(REUSABLE)
        if tools:
            self.extras.append(Extra("tools", " ".join(tools)))
        self.actions, self.settings = list(self.actions), list(self.settings)


@dataclass
class Role:
    """A role, what it is for, and how many seats it has at most."""

    name: str
    summary: str
    seats: int = 1


@dataclass
class Configuration:
    """What follows from the settings: the roles (or a summary for each name), and
    every word that the workflow adds to user messages and demonstrated answers."""

    roles: Mapping[str, str] | list[Role]
    vocabulary: list[str] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)

    def __post_init__(self) -> None:
        if isinstance(self.roles, Mapping):
            self.roles = [Role(name, summary) for name, summary in self.roles.items()]
        self.vocabulary = list(dict.fromkeys(self.vocabulary))


@dataclass
class Tool:
    """What can be called by name; `parameters` is a JSON schema."""

    name: str
    summary: str
    parameters: str


class Briefing:
    """What a session is told at its start."""

    def __init__(
        self,
        environment: str,
        rules: list[tuple[Seat | None, str]],
        actions: list[ActionKind],
        settings: Mapping[str, Any] | Iterable[Any],
        max_turns: int,
        tools: list[Tool],
        revealed: str | None,
    ) -> None:
        given = isinstance(settings, Mapping)
        self.environment = environment
        self.rules = rules
        self.actions = actions
        self.settings = Settings(settings) if given else Settings.given(settings)
        self.max_turns = max_turns
        self.tools = tools
        self.revealed = revealed

    def rules_for(self, seat: Seat) -> str:
        """The environment's rules and notation, as the seat is told them."""
        return next((told for whose, told in self.rules if whose in (None, seat)), "")

    def instructions(self, role: str, task: str, kind: str | None = None) -> str:
        """Standing instructions for a role that is to send this kind of action, or
        the first: the rules, its task, and what the end of its answer must look
        like."""
        format = action_kind(self.actions, kind).summary
        end = f"{task} You may think first. End your answer with {format}, and nothing after it."
        return f"{self.rules_for(Seat(role))}\n\n{end.lstrip()}"


def action_kind(kinds: Sequence[ActionKind], name: str | None = None) -> ActionKind:
    """The kind of action with this name, or the first."""
    if name is None and kinds:
        return kinds[0]
    for kind in kinds:
        if kind.name == name:
            return kind
    known = ", ".join(f"`{kind.name}`" for kind in kinds)
    raise Problem.settings(f"the environment understands no action `{name}`, only {known}")


class Author(Enum):
    """Who wrote a message of a prompt."""

    SYSTEM = 0
    USER = 1
    ASSISTANT = 2
    TOOL = 3


@dataclass
class Message:
    """One message of a prompt."""

    author: Author
    parts: list[Part]

    @property
    def text(self) -> str:
        """It as text."""
        return text_of(self.parts)


@dataclass
class Request:
    """A seat to ask and what to tell it.

    For small policies: what varies belongs into `user` messages, what explains
    into the `system` message, which a policy too small to read prose may leave
    out. `is_open` says that what the answer is worth shows only later.

    >>> Request("player").system("Guess.").user("higher").messages[1].text
    'higher'
    """

    seat: Seat
    messages: list[Message] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    thread: str = ""
    caller: int | None = None
    is_open: bool = False
    situation: str | None = None

    def __post_init__(self) -> None:
        self.seat = seat_of(self.seat)

    def system(self, text: str) -> Request:
        """Add standing instructions."""
        return self._say(Author.SYSTEM, text)

    def user(self, text: str) -> Request:
        """Add what the role is told now."""
        return self._say(Author.USER, text)

    def assistant(self, text: str) -> Request:
        """Add what the role itself said before."""
        return self._say(Author.ASSISTANT, text)

    def tool(self, text: str) -> Request:
        """Add what a tool answered."""
        return self._say(Author.TOOL, text)

    def image(self, image: Image) -> Request:
        """Add a picture to the last message."""
        self.messages[-1].parts.append(Picture(image))
        return self

    def _say(self, author: Author, text: str) -> Request:
        self.messages.append(Message(author, [Text(text)]))
        return self


def seat_of(seat: Seat | str) -> Seat:
    """The seat, or the first one of a role."""
    return Seat(seat) if isinstance(seat, str) else seat


@dataclass
class Reply:
    """What a seat answered; `number` is the answer's number in the session."""

    seat: Seat
    number: int
    thread: str
    text: str
    complete: bool

    @property
    def answer(self) -> str:
        """What the role says when it has thought: what follows the last
        `</think>`, or all of it. Of thinking that came to no end nothing counts,
        nor of an answer that the limit cut: an ellipsis stands for it, which
        cannot be read."""
        if not self.complete:
            return "…"
        said = self.text.rpartition("</think>")[2].strip(WHITE)
        return "" if said.startswith("<think>") else said

    @property
    def last_line(self) -> str:
        """The last line that is not blank."""
        return self.answer.rpartition("\n")[2].strip(WHITE)


@dataclass
class View:
    """What can be seen from a seat; without a seat, what all see."""

    seat: Seat | None
    parts: list[Part]


def seen_by(views: Iterable[View], seat: Seat | str) -> str:
    """What the seat sees, as text."""
    seat = seat_of(seat)
    return next((text_of(view.parts) for view in views if view.seat in (None, seat)), "")


@dataclass
class ResultOfMove:
    """What became of a move."""

    seat: Seat
    accepted: bool
    feedback: str


@dataclass
class Consequence:
    """What moves led to, and what can be seen now."""

    results: list[ResultOfMove]
    views: list[View]
    revealed: str | None
    status: Status

    @property
    def is_ongoing(self) -> bool:
        """Whether the episode goes on."""
        return self.status is Status.ONGOING

    @property
    def feedback(self) -> str:
        """What the seat of the first move is told."""
        return self.results[0].feedback if self.results else ""

    def seen_by(self, seat: Seat | str) -> str:
        """What the seat sees now, as text."""
        return seen_by(self.views, seat)


@dataclass
class Returned:
    """What a tool answered: a JSON object."""

    seat: Seat
    tool: str
    succeeded: bool
    answer: str


@dataclass
class Begun:
    value: list[View]


@dataclass
class Replied:
    value: Reply


@dataclass
class Acted:
    value: Consequence


@dataclass
class ToolsReturned:
    value: list[Returned]


Event = Begun | Replied | Acted | ToolsReturned


@dataclass
class Call:
    """A call of a tool; `arguments` is a JSON object."""

    seat: Seat
    tool: str
    arguments: str

    def __post_init__(self) -> None:
        self.seat = seat_of(self.seat)


@dataclass
class Credit:
    """What an earlier answer was worth."""

    answer: int
    name: str
    value: float
    is_last: bool


@dataclass
class Ask:
    value: list[Request]


@dataclass
class Act:
    value: list[Move]


@dataclass
class CallTools:
    value: list[Call]


@dataclass
class Wait:
    pass


@dataclass
class Finish:
    pass


Directive = Ask | Act | CallTools | Wait | Finish


@dataclass
class Step:
    """What a session answers to an event: what to do next, and what earlier
    answers were worth, as far as it shows now."""

    directive: Directive
    credits: list[Credit] = field(default_factory=list)

    def credit(self, answer: int, name: str, value: float) -> Step:
        """And the answer with this number was worth this much; nothing more will
        be said of it."""
        self.credits.append(Credit(answer, name, float(value), True))
        return self


def ask(*requests: Request) -> Step:
    """Ask these seats; their answers do not depend on each other."""
    return Step(Ask(list(requests)))


def act(seat: Seat | str, kind: str, text: str) -> Step:
    """Let the seat carry out an action in the environment."""
    return act_together([Move(seat_of(seat), Action(kind, text))])


def act_together(moves: Iterable[Move]) -> Step:
    """Let several seats act at the same time."""
    return Step(Act(list(moves)))


def call(*calls: Call) -> Step:
    """Have tools called."""
    return Step(CallTools(list(calls)))


def wait() -> Step:
    """Nothing until the next of the answers that are still due."""
    return Step(Wait())


def finish() -> Step:
    """The session is over."""
    return Step(Finish())


@dataclass_transform()
class Workflow:
    """A state machine beside one episode: the host reports what happened, the
    session answers with what is to be done.

    A subclass is a dataclass: what is declared in it is the state of a session,
    which is saved and resumed field by field.
    """

    description: ClassVar[Description]
    """What this workflow is."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        dataclass(eq=False)(cls)

    @classmethod
    def configure(cls, settings: Settings, environment: list[ActionKind]) -> Configuration:
        """Check settings and whether the environment's actions suit, and say what
        follows: the roles, and the words."""
        raise NotImplementedError(f"{cls.__name__}.configure")

    @classmethod
    def start(cls: type[W], briefing: Briefing) -> W:
        """Take the seats."""
        raise NotImplementedError(f"{cls.__name__}.start")

    def begun(self, views: list[View]) -> Step:
        """The episode begins; this can be seen."""
        raise Problem.order("the session has already begun")

    def replied(self, reply: Reply) -> Step:
        """A seat answered."""
        raise Problem.order(f"`{reply.seat}` was not asked")

    def acted(self, consequence: Consequence) -> Step:
        """The environment carried out moves. When they ended the episode, nothing
        more can be done in it, but a judge can still be asked."""
        raise Problem.order("nobody was to act")

    def returned(self, answers: list[Returned]) -> Step:
        """Tools answered, in the order of the calls."""
        raise Problem.order("no tool was called")

    def advance(self, event: Event) -> Step:
        """Take in what happened and say what to do next."""
        match event:
            case Begun(views):
                return self.begun(views)
            case Replied(reply):
                return self.replied(reply)
            case Acted(consequence):
                return self.acted(consequence)
            case ToolsReturned(answers):
                return self.returned(answers)
        raise Problem.order(f"unknown event {event!r}")

    def demonstrate(self, seat: Seat, expert: Action) -> str | None:
        """How the seat, which has just been asked, would phrase the expert's
        action; nothing if it would not speak to it."""
        return None

    def save(self) -> bytes | None:
        """Everything that `resume` needs; by default all fields."""
        return state.codec(type(self)).encode(self)

    @classmethod
    def resume(cls: type[W], saved: bytes) -> W:
        """Go on from what `save` returned."""
        return state.codec(cls).decode(saved)


class Session:
    """A workflow beside an episode: what the host talks to."""

    kind: ClassVar[type[Workflow]]

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow

    @classmethod
    def of(cls, kind: type[Workflow]) -> type[Session]:
        """Sessions of this workflow."""
        return type("Session", (cls,), {"kind": kind})

    @classmethod
    def start(cls, briefing: Briefing) -> Session:
        return cls(cls.kind.start(briefing))

    def advance(self, event: Event) -> Step:
        return self.workflow.advance(event)

    def demonstrate(self, seat: Seat, expert: Action) -> str | None:
        return self.workflow.demonstrate(seat, expert)

    def save(self) -> bytes | None:
        return self.workflow.save()

    @classmethod
    def resume(cls, saved: bytes) -> Session:
        return cls(cls.kind.resume(saved))
